package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/events/trace"
	tracefiles "github.com/covel/covel/events/trace/sqlite"
)

func traceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace SESSION",
		Short: "See what happened inside a turn: stages, runs, model calls, tools, hooks",
		Long: `Prints the tree of a turn: what ran in which stage, each step, each call of a model with its tokens, cost and time, each tool
and each hook. A turn may have several executions (a retry, another take, the opening): each is a tree of its own.

What began and has no end in the trace is "unknown": it runs still, or the process died. The trace is kept beside the log for
some days (covel serve --trace-retention-days); it is read also while a server writes it. What runtimes conceal is not in it.

With --json the trees are printed for programs; with --entries the entries themselves, one a line, with all prompts and replies.`,
		Example: `  covel trace low-water-4c3vx6qz
  covel trace low-water-4c3vx6qz --turn 3
  covel trace low-water-4c3vx6qz --turn 3 --entries | jq 'select(.type=="llm.calling").payload.messages'`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error { return showTrace(c, args[0]) },
	}
	c.Flags().String("turn", "", "number of the turn, or the id of an execution (default: the newest execution)")
	c.Flags().Bool("entries", false, "print the entries as they are kept, one JSON object a line")
	jsonFlag(c)
	c.MarkFlagsMutuallyExclusive("json", "entries")
	return c
}

func showTrace(c *cobra.Command, session string) error {
	dir := filepath.Join(dataDir(c), tracefiles.DirName)
	which, _ := c.Flags().GetString("turn")
	read := func(q trace.Query) ([]trace.Entry, error) {
		q.SessionID = session
		return readTrace(c.Context(), c.ErrOrStderr(), dir, q)
	}
	started, err := read(trace.Query{Types: []trace.Type{trace.TurnStarted}})
	if err != nil {
		return err
	}
	turns := chosen(started, which)
	if len(turns) == 0 && which == "" {
		return errors.Errorf("session %q has no trace: there is no such session, nothing was played in it, or its trace is older than what is kept", session)
	}
	if len(turns) == 0 {
		turns = []string{which} // an execution whose beginning is not kept
	}
	var entries []trace.Entry
	for _, turn := range turns {
		more, err := read(trace.Query{TurnID: turn})
		if err != nil {
			return err
		}
		entries = append(entries, more...)
	}
	if len(entries) == 0 {
		return errors.Errorf("session %q has no trace of a turn %q", session, which)
	}
	if all, _ := c.Flags().GetBool("entries"); all {
		for _, e := range entries {
			if err := printLine(c, e); err != nil {
				return err
			}
		}
		return nil
	}
	trees := trace.Tree(entries)
	if asJSON(c) {
		return printJSON(c, map[string]any{"sessionId": session, "turns": trees})
	}
	for _, t := range trees {
		printTree(c.OutOrStdout(), t, "")
	}
	return nil
}

// readTrace reads what can be read and says what is damaged.
func readTrace(ctx context.Context, warn io.Writer, dir string, q trace.Query) ([]trace.Entry, error) {
	entries, err := tracefiles.Read(ctx, dir, q)
	var damaged *trace.Damaged
	switch {
	case errors.As(err, &damaged):
		fmt.Fprintln(warn, damaged.Error())
		return entries, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.Errorf("%s: there is no trace: nothing was played there yet, its server keeps it in memory, or --data names another folder", dir)
	}
	return entries, err
}

// chosen gives the executions that are meant, oldest first: those of a turn's number, one by its id, or the newest.
func chosen(started []trace.Entry, which string) []string {
	var out []string
	number, err := strconv.Atoi(which)
	for i, e := range started {
		switch {
		case which == "":
			if i == len(started)-1 {
				out = append(out, e.TurnID)
			}
		case err == nil:
			if trace.LogicalTurn(e) == number {
				out = append(out, e.TurnID)
			}
		case e.TurnID == which:
			out = append(out, e.TurnID)
		}
	}
	return out
}

// printTree writes a node and what is in it, one a line. Text of others cannot steer the terminal.
func printTree(w io.Writer, n *trace.Node, indent string) {
	name := n.Name
	if n.Kind != trace.KindStage && n.Kind != trace.KindStep && n.Kind != trace.KindNote {
		name = string(n.Kind) + " " + name
	}
	parts := []string{name}
	if n.Kind == trace.KindTurn {
		parts = append(parts, when(n.At))
	}
	if n.Status != "" {
		parts = append(parts, n.Status)
	}
	if n.DurationMs > 0 || n.Kind == trace.KindModel && n.Status != trace.Unknown {
		parts = append(parts, duration(n.DurationMs))
	}
	if n.Calls > 1 {
		parts = append(parts, fmt.Sprintf("%d model calls", n.Calls))
	}
	if n.Usage != nil {
		parts = append(parts, tokens(*n.Usage, n.Calls > 1))
	}
	if n.Detail != "" {
		parts = append(parts, n.Detail)
	}
	for i, p := range parts {
		parts[i] = oneLine(p)
	}
	fmt.Fprintf(w, "%s%s\n", indent, strings.Join(parts, "  "))
	for _, child := range n.Children {
		printTree(w, child, indent+"  ")
	}
}

func duration(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

// tokens tells what was used. A cost that nobody knows is not told; a sum says how many calls are not in it.
func tokens(u trace.Usage, sum bool) string {
	out := fmt.Sprintf("%d in", u.InputTokens)
	if u.CachedInputTokens > 0 {
		out += fmt.Sprintf(" (%d cached)", u.CachedInputTokens)
	}
	out += fmt.Sprintf(", %d out", u.OutputTokens)
	if u.CostMicros != nil {
		out += fmt.Sprintf(", cost %.6f", float64(*u.CostMicros)/1e6)
		if sum && u.Unpriced > 0 {
			out += fmt.Sprintf(" without %d calls of unknown price", u.Unpriced)
		}
	}
	return out
}

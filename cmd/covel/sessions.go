package main

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/cmd/covel/terminal"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/blobfs"
	"github.com/covel/covel/events/offload"
	"github.com/covel/covel/events/sqlite"
	tracefiles "github.com/covel/covel/events/trace/sqlite"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	readmodels "github.com/covel/covel/projections/sql"
)

func sessionsCommand() *cobra.Command {
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the sessions, newest activity first",
		Example: "  covel sessions list\n  covel sessions list --data ./data --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return listSessions(c) },
	}
	jsonFlag(list)
	show := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one session: where it stands, who is in it, and its newest messages",
		Example: "  covel sessions show low-water-4c3vx6qz\n  covel sessions show low-water-4c3vx6qz --messages 50 --json",
		Args:    oneSession,
		RunE:    func(c *cobra.Command, args []string) error { return showSession(c, args[0]) },
	}
	show.Flags().Int("messages", 6, "how many of the newest messages to show")
	jsonFlag(show)
	remove := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a session for good",
		Long: `Deletes the events of a session and what was made of them, for good; its id is not used again. When a server runs on the
data folder it is asked to, else the folder is opened for it.`,
		Example: "  covel sessions delete low-water-4c3vx6qz",
		Args:    oneSession,
		RunE:    func(c *cobra.Command, args []string) error { return deleteSession(c, args[0]) },
	}
	jsonFlag(remove)
	resume := &cobra.Command{
		Use:   "resume-plugin ID PLUGIN",
		Short: "Let a plugin run again that was paused after repeated errors",
		Long: `Asks the server that runs on the data folder to let a plugin run again that it paused in a session: its errors in three inputs
in a row. Only the memory of the server knows of the pause. With no server running, nothing is paused.`,
		Example: "  covel sessions resume-plugin low-water-4c3vx6qz guide",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.Errorf("%s takes a session id and a plugin id, got %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return resumePlugin(c, args[0], args[1]) },
	}
	jsonFlag(resume)
	return group("sessions", "Sessions that were played", `Reads the log of the data folder (--data), also while a server writes it. Reading changes nothing.`, list, show, remove, resume)
}

func oneSession(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.Errorf("%s takes one session id, got %d arguments; covel sessions list shows the ids", c.CommandPath(), len(args))
	}
	return nil
}

// sessionRecord is a session for programs.
type sessionRecord struct {
	ID        string                     `json:"id"`
	WorldID   string                     `json:"worldId"`
	WorldName string                     `json:"worldName"`
	Locale    string                     `json:"locale"`
	Status    string                     `json:"status"`
	Phase     string                     `json:"phase"`
	Turns     uint32                     `json:"completedPlayerTurns"`
	Version   uint64                     `json:"version"` // of the newest event
	CreatedAt time.Time                  `json:"createdAt"`
	UpdatedAt time.Time                  `json:"updatedAt"`
	Open      *projections.Execution     `json:"open,omitempty"`
	Setup     []projections.SetupRuntime `json:"setup"`
	Plugins   []projections.PluginRef    `json:"plugins"`
	Error     string                     `json:"error,omitempty"` // the log cannot be read beyond version
}

func recordOf(s projections.Session, version events.Version, err error) sessionRecord {
	r := sessionRecord{
		ID: s.ID, WorldID: s.WorldID, WorldName: s.WorldName, Locale: s.Locale, Status: s.Status, Phase: s.Phase, Turns: s.CompletedPlayerTurns,
		Version: uint64(version), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Open: s.Open, Setup: s.Setup, Plugins: s.Plugins,
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func listSessions(c *cobra.Command) error {
	store, err := readLog(dataDir(c))
	if err != nil {
		return err
	}
	defer store.Close()
	folds, err := foldSessions(c.Context(), store)
	if err != nil {
		return err
	}
	records := make([]sessionRecord, len(folds))
	for i, f := range folds {
		records[i] = recordOf(f.Session(), f.Version(), f.err)
		records[i].ID = f.id
	}
	if asJSON(c) {
		return printJSON(c, map[string]any{"items": records})
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWORLD\tLANGUAGE\tSTATUS\tPHASE\tTURNS\tEVENTS\tLAST ACTIVITY")
	for _, r := range records {
		status := r.Status
		switch {
		case r.Error != "":
			status = "unreadable"
		case r.Open != nil:
			status += ", turn open"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", r.ID, oneLine(r.WorldName), r.Locale, status, r.Phase, r.Turns, r.Version, when(r.UpdatedAt))
	}
	return w.Flush()
}

// shownSession is a session with what is in it.
type shownSession struct {
	sessionRecord
	Characters []projections.Character     `json:"characters"`
	Questions  []projections.Interaction   `json:"openQuestions"`
	Last       *projections.EndedExecution `json:"lastExecution,omitempty"`
	Draft      *projections.Input          `json:"draft,omitempty"` // the player's line that did not commit
	Messages   []projections.Message       `json:"messages"`
}

func showSession(c *cobra.Command, id string) error {
	count, _ := c.Flags().GetInt("messages")
	store, err := readLog(dataDir(c))
	if err != nil {
		return err
	}
	defer store.Close()
	state, err := session.Fold(c.Context(), store, nil, id)
	if err == nil && state.Version == 0 {
		return noSession(id)
	}
	if err != nil {
		return errors.WithMessagef(err, "session %s can be read up to version %d only", id, state.Version)
	}
	out := shownSession{
		sessionRecord: recordOf(state.Session, state.Version, nil), Characters: state.Characters.List, Questions: state.Interactions.Open(""),
		Last: state.Session.Last, Draft: state.Session.Draft, Messages: state.History.Tail(max(0, count)),
	}
	if asJSON(c) {
		return printJSON(c, out)
	}
	printSession(c, state, out)
	return nil
}

func noSession(id string) error {
	return errors.Errorf("there is no session %q; covel sessions list shows the ids", id)
}

func printSession(c *cobra.Command, state projections.State, s shownSession) {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	line("session", "%s", s.ID)
	line("world", "%s (%s), %s", s.WorldName, s.WorldID, s.Locale)
	line("status", "%s, %s, %d turns, %d events", s.Status, s.Phase, s.Turns, s.Version)
	line("created", "%s", when(s.CreatedAt))
	line("last activity", "%s", when(s.UpdatedAt))
	for _, seat := range state.Session.Seats {
		if ch, ok := state.Characters.Find(seat.CurrentCharacterID); ok {
			line("player", "%s (%s)", ch.Name, seat.Role)
		}
	}
	line("characters", "%d", len(s.Characters))
	for _, su := range s.Setup {
		line("set-up", "%s: %s%s", su.RuntimeID, su.Status, reason(su.LastError))
	}
	for _, q := range s.Questions {
		line("open question", "%s %s", q.Type, q.InteractionID)
	}
	switch {
	case s.Open != nil:
		line("turn", "%s is open since %s", s.Open.ID, when(s.Open.StartedAt))
	case s.Last != nil:
		line("last turn", "%s %s%s", s.Last.ID, s.Last.End, reason(s.Last.Reason+s.Last.Error))
	}
	if s.Draft != nil {
		line("kept line", "%s", s.Draft.Rendered)
	}
	_ = w.Flush()
	for _, m := range s.Messages {
		fmt.Fprintf(c.OutOrStdout(), "\n[%d] %s\n%s\n", m.Version, m.Source, terminal.Printable(m.Text))
	}
}

func reason(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func deleteSession(c *cobra.Command, id string) error {
	data := dataDir(c)
	if api, _, ok := runningServer(c.Context(), data); ok {
		defer api.Close()
		if err := api.Delete(c.Context(), id); err != nil {
			return err
		}
	} else if err := deleteFromFolder(c.Context(), data, id); err != nil {
		return err
	}
	if asJSON(c) {
		return printJSON(c, map[string]any{"ok": true, "id": id})
	}
	fmt.Fprintf(c.OutOrStdout(), "Deleted %s.\n", id)
	return nil
}

// resumePlugin is the operator's way out of a pause (decisions: "Fault latch").
func resumePlugin(c *cobra.Command, id, plugin string) error {
	api, _, ok := runningServer(c.Context(), dataDir(c))
	if !ok {
		return errors.Errorf("no server runs on %s, so no plugin is paused: a pause ends with the server", dataDir(c))
	}
	defer api.Close()
	if err := api.ResumePlugin(c.Context(), id, plugin); err != nil {
		return err
	}
	if asJSON(c) {
		return printJSON(c, map[string]any{"ok": true, "id": id, "pluginId": plugin})
	}
	fmt.Fprintf(c.OutOrStdout(), "%s runs again in %s.\n", plugin, id)
	return nil
}

// deleteFromFolder opens the folder like a server would, so that no server can run meanwhile.
func deleteFromFolder(ctx context.Context, data, id string) error {
	if probe, err := sqlite.OpenReadOnly(data); err != nil { // Open would make a new log
		return noLog(data, err)
	} else if err := probe.Close(); err != nil {
		return err
	}
	log, err := sqlite.Open(data, sqlite.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	blobs, err := blobfs.Open(data)
	if err != nil {
		return err
	}
	defer blobs.Close()
	store := offload.New(log, blobs)
	stream := kernel.StreamOf(id)
	if v, err := store.StreamVersion(ctx, stream); err != nil || v == 0 {
		if err == nil {
			err = noSession(id)
		}
		return err
	}
	if err := store.DeleteStream(ctx, stream); err != nil {
		return err
	}
	reads, err := readmodels.Open(filepath.Join(data, readsFile))
	if err != nil {
		return err
	}
	defer reads.Close()
	if err := reads.Forget(ctx, id); err != nil {
		return err
	}
	traces, err := tracefiles.Open(filepath.Join(data, tracefiles.DirName), tracefiles.Options{})
	if err != nil {
		return err
	}
	defer traces.Close()
	return errors.WithMessage(traces.Forget(ctx, id), "the session is deleted, but not all of its trace")
}

package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/session"
)

func allowanceFlags(c *cobra.Command) {
	d := allowance.Default
	c.Flags().StringToInt("allowance", map[string]int{
		"model-calls": d.ModelCalls, "tool-calls": d.ToolCalls, "subagents": d.Subagents, "duration-ms": int(d.Duration.Milliseconds()),
	}, "the most one turn may spend, everything beneath it included; a session can lower it")
	c.Flags().Uint32("advance-limit", session.AdvanceLimit, "how many rounds the story may go on by itself after one input; a session can lower it")
}

// advanceLimit reads the flag. The limit has a budget of its own for each round, so it is none of the allowances (decisions:
// "Execution allowances").
func advanceLimit(c *cobra.Command) (uint32, error) {
	n, err := c.Flags().GetUint32("advance-limit")
	if err == nil && n == 0 {
		err = errors.New("expected a number above 0")
	}
	return n, errors.Wrap(err, "--advance-limit")
}

// allowances reads the flag; what it does not name takes the default.
func allowances(c *cobra.Command) (allowance.Limits, error) {
	given, err := c.Flags().GetStringToInt("allowance")
	if err != nil {
		return allowance.Limits{}, errors.Wrap(err, "--allowance")
	}
	var l allowance.Limits
	for _, name := range slices.Sorted(maps.Keys(given)) {
		n := given[name]
		if n < 1 {
			return l, errors.Errorf("--allowance %s=%d: expected a number above 0", name, n)
		}
		switch name {
		case "model-calls":
			l.ModelCalls = n
		case "tool-calls":
			l.ToolCalls = n
		case "subagents":
			l.Subagents = n
		case "duration-ms":
			l.Duration = min(time.Duration(n), longest/time.Millisecond) * time.Millisecond
		default:
			known := []string{"duration-ms", "model-calls", "subagents", "tool-calls"}
			return l, errors.Errorf("--allowance %s: there is no such allowance; use %s", name, strings.Join(known, ", "))
		}
	}
	return allowance.Of(l), nil
}

// longest is more than any turn takes and far from what a time.Duration holds.
const longest = 365 * 24 * time.Hour

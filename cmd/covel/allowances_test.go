package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/covel/covel/kernel/allowance"
)

// Rule DEC Execution allowances: each limit is set per host.
func TestAllowanceFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want allowance.Limits
		err  string
	}{
		{nil, allowance.Default, ""},
		{[]string{"--allowance", "model-calls=8,duration-ms=60000"}, allowance.Limits{ModelCalls: 8, ToolCalls: 256, Subagents: 32, Duration: time.Minute}, ""},
		{[]string{"--allowance", "tool-calls=1", "--allowance", "subagents=2"}, allowance.Limits{ModelCalls: 64, ToolCalls: 1, Subagents: 2, Duration: 10 * time.Minute}, ""},
		{[]string{"--allowance", "model-calls=0"}, allowance.Limits{}, "expected a number above 0"},
		{[]string{"--allowance", "龙=1"}, allowance.Limits{}, "there is no such allowance"},
	} {
		cmd := &cobra.Command{}
		allowanceFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		got, err := allowances(cmd)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v", c.args, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%v: %+v, %v", c.args, got, err)
		}
	}
}

// Rule DEC Execution allowances: the advancement limit is 12 rounds, set per host.
func TestAdvanceLimitFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want uint32
		err  string
	}{
		{nil, 12, ""},
		{[]string{"--advance-limit", "3"}, 3, ""},
		{[]string{"--advance-limit", "0"}, 0, "above 0"},
	} {
		cmd := &cobra.Command{}
		allowanceFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		got, err := advanceLimit(cmd)
		if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %d, %v", c.args, got, err)
		}
	}
}

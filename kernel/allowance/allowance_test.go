package allowance

import (
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	"pgregory.net/rapid"

	"github.com/covel/covel/projections"
)

// Rule DEC Execution allowances: 64 model calls, 256 tool calls, 32 sub-agents, 10 minutes.
// Rule DEC Execution allowances: each limit is set per host and lowered per session, never raised by it.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		host    Limits
		session projections.Allowances
		want    Limits
	}{
		"nothing set":          {Limits{}, projections.Allowances{}, Limits{64, 256, 32, 10 * time.Minute}},
		"the host's":           {Limits{ModelCalls: 100, Duration: time.Hour}, projections.Allowances{}, Limits{100, 256, 32, time.Hour}},
		"below zero":           {Limits{ModelCalls: -1, Duration: -time.Second}, projections.Allowances{}, Default},
		"lowered":              {Limits{}, projections.Allowances{ModelCalls: 3, ToolCalls: 4, Subagents: 5, DurationMs: 6}, Limits{3, 4, 5, 6 * time.Millisecond}},
		"not raised":           {Limits{}, projections.Allowances{ModelCalls: 65, ToolCalls: 1 << 31, Subagents: 33, DurationMs: 1 << 62}, Default},
		"lowered below a host": {Limits{Subagents: 2}, projections.Allowances{Subagents: 1}, Limits{64, 256, 1, 10 * time.Minute}},
	} {
		if got := Of(c.host).Lowered(c.session); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Rule DEC Execution allowances: past an allowance nothing more is admitted, and what it was is said.
// Rule TP:707: at most eight sub-agents at a time; a full pool refuses at once and costs nothing.
func TestAdmit(t *testing.T) {
	b := Budget{Limits: Limits{ModelCalls: 1, ToolCalls: 1, Subagents: 9, Duration: time.Minute}}
	for _, k := range []Kind{ModelCall, ToolCall} {
		var err error
		if b, err = b.Admit(k, 0); err != nil {
			t.Fatal(err)
		}
		if _, err = b.Admit(k, 0); !errors.Is(err, ErrExceeded) || !strings.Contains(err.Error(), string(k)+" (1)") {
			t.Errorf("%s: %v", k, err)
		}
	}
	for range MaxRunning {
		var err error
		if b, err = b.Admit(Subagent, 0); err != nil {
			t.Fatal(err)
		}
	}
	full, err := b.Admit(Subagent, 0)
	if !errors.Is(err, ErrPoolFull) || errors.Is(err, ErrExceeded) || full != b {
		t.Errorf("the ninth at once: %v", err)
	}
	if b, err = b.Ended().Admit(Subagent, 0); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	if _, err = b.Ended().Admit(Subagent, 0); !errors.Is(err, ErrExceeded) || !strings.Contains(err.Error(), "sub-agents (9)") {
		t.Errorf("the tenth: %v", err)
	}
	if _, err := (Budget{}).Admit(ModelCall, 0); !errors.Is(err, ErrExceeded) {
		t.Errorf("a budget of nothing: %v", err)
	}
}

// Rule DEC Execution allowances: the ten minutes go on counting after a suspension from where they stood.
func TestTime(t *testing.T) {
	b := Budget{Limits: Default, Spent: Before(projections.Spent{ModelCalls: 2, ToolCalls: 3, Subagents: 4, DurationMs: 540_000})}
	if got := b.Left(20 * time.Second); got != 40*time.Second {
		t.Errorf("left: %s", got)
	}
	if _, err := b.Admit(ToolCall, 59*time.Second); err != nil {
		t.Error(err)
	}
	if _, err := b.Admit(ToolCall, time.Minute); !errors.Is(err, ErrExceeded) || !strings.Contains(err.Error(), "time (10m0s)") {
		t.Errorf("after ten minutes: %v", err)
	}
	if got := b.Left(time.Hour); got != 0 {
		t.Errorf("left after an hour: %s", got)
	}
	if got, want := b.Total(10*time.Second), (Spent{2, 3, 4, 550 * time.Second}); got != want {
		t.Errorf("total: %+v", got)
	}
}

// Rule DEC Execution allowances: whatever asks in which order, what is admitted is exactly what is spent, never more than
// the limits allow, and nothing is refused while something is left.
func TestAdmissionNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			rapid.IntRange(0, 6).Draw(t, "models"), rapid.IntRange(0, 6).Draw(t, "tools"), rapid.IntRange(0, 12).Draw(t, "subagents"),
			time.Duration(rapid.IntRange(1, 50).Draw(t, "ms")) * time.Millisecond,
		}
		b := Budget{Limits: limits}
		admitted, running, now := map[Kind]int{}, 0, time.Duration(0)
		limit := map[Kind]int{ModelCall: limits.ModelCalls, ToolCall: limits.ToolCalls, Subagent: limits.Subagents}
		for range rapid.IntRange(0, 60).Draw(t, "asks") {
			now += time.Duration(rapid.IntRange(0, 2).Draw(t, "later")) * time.Millisecond
			if rapid.Bool().Draw(t, "a sub-agent ends") {
				b = b.Ended()
				running = max(running-1, 0)
			}
			k := rapid.SampledFrom([]Kind{ModelCall, ToolCall, Subagent}).Draw(t, "kind")
			left := admitted[k] < limit[k] && now < limits.Duration && (k != Subagent || running < MaxRunning)
			after, err := b.Admit(k, now)
			if (err == nil) != left {
				t.Fatalf("%s at %s with %v of %v and %d running: %v", k, now, admitted, limit, running, err)
			}
			if err != nil && after != b {
				t.Fatalf("a refusal changed %+v to %+v", b, after)
			}
			if b = after; err != nil {
				continue
			}
			admitted[k]++
			if k == Subagent {
				running++
			}
		}
		if got := (Spent{admitted[ModelCall], admitted[ToolCall], admitted[Subagent], 0}); b.Spent != got || b.Running != running {
			t.Fatalf("spent %+v, admitted %+v", b, got)
		}
	})
}

package commit

import (
	"slices"
	"testing"
	"time"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

var (
	begun   = allowance.Spent{ModelCalls: 3, ToolCalls: 7, Subagents: 1, Time: 4 * time.Second}
	further = allowance.Spent{ModelCalls: 5, ToolCalls: 7, Subagents: 2, Time: 9 * time.Second}
)

func spending(in In, s allowance.Spent) In {
	in.Spent = s
	return in
}

// waiting gives a state in which the runs oracle and seer of one execution wait for the player.
func waiting(t *testing.T) projections.State {
	t.Helper()
	s := playing(t)
	return activate(apply(t, s, "e1", Plan(spending(in(s, teller(), waits(ran("oracle")), waits(ran("seer"))), begun))))
}

func spentBy(t *testing.T, s projections.State, runtime string) allowance.Spent {
	t.Helper()
	x, ok := s.Suspensions.Of(runtime)
	if !ok {
		t.Fatalf("%s does not wait", runtime)
	}
	return allowance.Before(x.Spent)
}

// Rule TP:1176: a suspension saves what the root has spent: calls of models and tools, sub-agents, time.
// Rule TP:1176: a failed resume keeps what it spent, and siblings of the chain see the newest, also when one suspends again.
// Rule DEC Execution allowances: spent is spent, also across suspend and a failed resume.
func TestWhatAChainHasSpent(t *testing.T) {
	saved := waiting(t)
	for _, runtime := range []string{"oracle", "seer"} {
		if got := spentBy(t, saved, runtime); got != begun {
			t.Errorf("%s was saved with %+v", runtime, got)
		}
	}
	x, _ := saved.Suspensions.Of("oracle")
	for name, end := range map[string]struct {
		out   func(In) Out
		still bool // the resumed item waits on
	}{
		"a failed resume":   {func(i In) Out { return Plan(i) }, true},
		"a crash of a turn": {func(i In) Out { return Failure(i, ReasonInternal, "panic") }, true},
		"a stop":            {func(i In) Out { return Abort(i, "aborted-by-player") }, true},
		"a committed one":   {func(i In) Out { i.Results[0] = ran("oracle"); return Plan(i) }, false},
		"suspended again":   {func(i In) Out { i.Results[0] = waits(ran("oracle")); return Plan(i) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := resuming(t, saved, "e2", x.ID)
			failed := ran("oracle")
			failed.Status, failed.Error = turn.Failed, "the model failed"
			s = apply(t, s, "e2", end.out(spending(in(s, failed), further)))
			if got := spentBy(t, s, "seer"); got != further {
				t.Errorf("the sibling sees %+v", got)
			}
			if end.still {
				if got := spentBy(t, s, "oracle"); got != further {
					t.Errorf("the item itself has %+v", got)
				}
			}
			if y, ok := s.Suspensions.Of("oracle"); ok && y.Claim != nil {
				t.Error("the claim did not end with its execution")
			}
		})
	}
}

// Rule TP:1176: policy binding and the boundary of the history are those of the execution that began the chain, however often it
// suspends and whatever was told or chosen meanwhile; siblings have the same.
func TestWhatAChainHasFrozen(t *testing.T) {
	s := playing(t)
	first := in(s, teller(), waits(ran("oracle")), waits(ran("seer")))
	first.Policy = "dialogue/planner"
	s = activate(apply(t, s, "e1", Plan(first)))
	want := projections.FrozenStart{History: first.Execution.Version, Policy: "dialogue/planner"}
	for _, again := range []string{"", "e2", "e3"} {
		x, _ := s.Suspensions.Of("oracle")
		if again != "" {
			s = resuming(t, s, again, x.ID)
			next := in(s, waits(ran("oracle")))
			next.Policy = "tactics"
			s = apply(t, s, again, Plan(next))
		}
		for _, runtime := range []string{"oracle", "seer"} {
			if x, ok := s.Suspensions.Of(runtime); !ok || x.Frozen != want {
				t.Errorf("%s after %q: %+v", runtime, again, x.Frozen)
			}
		}
	}
}

// Rule TP:1176: what a resume comes to is kept only while it still holds the very claim with which it began.
func TestALostClaim(t *testing.T) {
	s := waiting(t)
	x, _ := s.Suspensions.Of("oracle")
	for name, claim := range map[string]*projections.Claim{"none": nil, "of another execution": {ExecutionID: "e9"}} {
		lost := resuming(t, s, "e2", x.ID)
		lost.Suspensions.Waiting = slices.Clone(lost.Suspensions.Waiting)
		for i := range lost.Suspensions.Waiting {
			lost.Suspensions.Waiting[i].Claim = claim
		}
		out := Plan(spending(in(lost, ran("oracle")), further))
		if failed, ok := out.Facts[0].Message.(*eventsv1.ExecutionFailed); !ok || len(out.Facts) != 1 || failed.Reason != ReasonOutOfDate {
			t.Errorf("%s: %s", name, brief(out))
		}
	}
}

// Rule TP:1176: a failed resume that spent nothing writes nothing of it.
// Rule TP:1176: completion and abandonment leave no permanent counter in the session.
func TestNothingIsCountedForEver(t *testing.T) {
	s := waiting(t)
	x, _ := s.Suspensions.Of("oracle")
	if got := spentByChain(spending(in(resuming(t, s, "e2", x.ID)), begun)); got != nil {
		t.Errorf("unchanged, and yet written: %v", got)
	}
	s = resuming(t, s, "e2", x.ID)
	s = apply(t, s, "e2", Plan(spending(in(s, ran("oracle")), further)))
	y, _ := s.Suspensions.Of("seer")
	s = apply(t, s, "", Out{Facts: EndSuspensions(s, Ending{ID: y.ID, End: projections.SuspensionAbandoned})})
	if len(s.Suspensions.Waiting) != 0 || len(s.Suspensions.Held) != 0 {
		t.Errorf("left over: %+v", s.Suspensions)
	}
	if got := spentByChain(spending(in(playing(t), ran("oracle")), further)); got != nil {
		t.Errorf("an execution of its own tells of a chain: %v", got)
	}
}

package commit

import (
	"strings"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func pending(id string, attempts, most uint32) *eventsv1.SetupRuntime {
	return &eventsv1.SetupRuntime{RuntimeId: id, Status: projections.SetupPending, Generation: 1, Attempts: attempts, MaxAttempts: most}
}

// settingUp is a session in the middle of a set-up execution.
func settingUp(t testing.TB, setup ...*eventsv1.SetupRuntime) projections.State {
	return fold(t, session(t, projections.PhaseSetup, setup...), "e1",
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: OriginPlayer, LogicalTurn: 1, LogicalTurnId: "turn-1", Phase: projections.PhaseSetup})
}

func step(id string, change ...func(*turn.Result)) turn.Result {
	r := ran(id)
	r.Stage = manifest.Setup
	for _, c := range change {
		c(&r)
	}
	return r
}

func done(r *turn.Result)   { r.Done = true }
func breaks(r *turn.Result) { r.Status, r.Error = turn.Failed, "超时" }
func guards(r *turn.Result) { r.Status, r.SkipReason = turn.Skipped, turn.SkipGuard }

// clockLines leaves out what is not the clock.
func clockLines(out Out) (got []string) {
	for _, l := range told(out) {
		for _, word := range []string{"setup", "phase", "count", "ledger", "committed", "failed"} {
			if strings.HasPrefix(l, word) {
				got = append(got, l)
			}
		}
	}
	return got
}

// Rule TP:156: the phase changes in the commit that completes the set-up, with no turn counted; if it is rolled back, so is what
// the steps reported. Rule TP:141: a failed step with tries left stays pending with its error. Rule TP:142: one without is
// blocked, and the session stays in the set-up. Rule TP:203: a rolled-back try is counted all the same.
//
// "The kernel changes phase from 'setup' to 'playing' in the setup commit transaction. completedPlayerTurns is still 0";
// "Failed, but retries are left: the runtime stays pending, and lastError is recorded"; "Retries used up (maxTriggerCount):
// it becomes blocked" (seed: turn-pipeline.txt §2.1).
func TestSetupClock(t *testing.T) {
	for _, c := range []struct {
		name    string
		setup   []*eventsv1.SetupRuntime
		results []turn.Result
		want    []string
	}{
		{"the last one is done", []*eventsv1.SetupRuntime{pending("a", 0, 0)}, []turn.Result{step("a", done)},
			[]string{"setup a done try 1 of 0 completed", "phase playing", "ledger a 1@0", "committed e1 opening"}},
		{"one of two is done", []*eventsv1.SetupRuntime{pending("a", 0, 0), pending("b", 0, 0)}, []turn.Result{step("a", done)},
			[]string{"setup a done try 1 of 0 completed", "ledger a 1@0", "committed e1"}},
		{"both at once", []*eventsv1.SetupRuntime{pending("a", 0, 0), pending("b", 2, 3)}, []turn.Result{step("a", done), step("b", done)},
			[]string{"setup a done try 1 of 0 completed", "setup b done try 3 of 3 completed", "phase playing", "ledger a 1@0 b 1@0", "committed e1 opening"}},
		{"by its guard", []*eventsv1.SetupRuntime{pending("a", 0, 0)}, []turn.Result{step("a", done, guards)},
			[]string{"setup a done try 1 of 0 completed", "phase playing", "committed e1 opening"}},
		{"waits for the player", []*eventsv1.SetupRuntime{pending("a", 1, 2)}, []turn.Result{step("a")}, []string{"ledger a 1@0", "committed e1"}},
		{"its guard waits for the player", []*eventsv1.SetupRuntime{pending("a", 1, 2)}, []turn.Result{step("a", guards)}, []string{"committed e1"}},
		{"fails with tries left", []*eventsv1.SetupRuntime{pending("a", 0, 2)}, []turn.Result{step("a", breaks)}, []string{"setup a pending try 1 of 2   超时", "committed e1"}},
		{"fails without a limit", []*eventsv1.SetupRuntime{pending("a", 9, 0)}, []turn.Result{step("a", breaks)}, []string{"setup a pending try 10 of 0   超时", "committed e1"}},
		{"fails for the last time", []*eventsv1.SetupRuntime{pending("a", 1, 2)}, []turn.Result{step("a", breaks)}, []string{"setup a blocked try 2 of 2  attempts-used-up 超时", "committed e1"}},
		{"fails without a word", []*eventsv1.SetupRuntime{pending("a", 0, 0)}, []turn.Result{step("a", func(r *turn.Result) { r.Status = turn.Failed })}, []string{"setup a pending try 1 of 0   it failed without a reason", "committed e1"}},
		{"fails, though it said done", []*eventsv1.SetupRuntime{pending("a", 0, 0)}, []turn.Result{step("a", done, breaks)}, []string{"setup a pending try 1 of 0   超时", "committed e1"}},
		{"skipped for a dependency", []*eventsv1.SetupRuntime{pending("a", 0, 1)}, []turn.Result{step("a", func(r *turn.Result) { r.Status, r.SkipReason = turn.Skipped, turn.SkipDependency })}, []string{"committed e1"}},
		{"is no set-up runtime of the session", []*eventsv1.SetupRuntime{pending("a", 0, 0)}, []turn.Result{step("x", done)}, []string{"ledger x 1@0", "committed e1"}},
		{"was done already", []*eventsv1.SetupRuntime{{RuntimeId: "a", Status: "done"}, pending("b", 0, 0)}, []turn.Result{step("a", done)}, []string{"ledger a 1@0", "committed e1"}},
		{"all but a blocked one", []*eventsv1.SetupRuntime{pending("a", 0, 0), {RuntimeId: "b", Status: "blocked"}}, []turn.Result{step("a", done)}, []string{"setup a done try 1 of 0 completed", "ledger a 1@0", "committed e1"}},
		{"nothing was left to do", []*eventsv1.SetupRuntime{{RuntimeId: "a", Status: "done"}}, nil, []string{"phase playing", "committed e1 opening"}},
		{"one refused, whatever else", []*eventsv1.SetupRuntime{pending("a", 0, 3), pending("b", 0, 0), pending("c", 0, 0)},
			[]turn.Result{step("a", done), step("b", func(r *turn.Result) { r.Proposals = []sdk.Proposal{bad} }), step("c", func(r *turn.Result) { r.Status, r.SkipReason = turn.Skipped, turn.SkipDependency })},
			[]string{`failed e1 proposal-failed: b: plugin.data: The namespace "_jobs" is reserved: a plugin writes its own namespaces and _hidden.<namespace>.; a try 1 "b: plugin.data: The namespace \"_jobs\" is reserved: a plugin writes its own namespaces and _hidden.<namespace>."; b try 1 "b: plugin.data: The namespace \"_jobs\" is reserved: a plugin writes its own namespaces and _hidden.<namespace>."`}},
		{"a rolled-back try for the last time", []*eventsv1.SetupRuntime{pending("a", 1, 2)}, []turn.Result{step("a", done, func(r *turn.Result) { r.Proposals = []sdk.Proposal{raw("x", "{}")} })},
			[]string{`failed e1 proposal-failed: a: x: unknown proposal type "x"; a try 2 "a: x: unknown proposal type \"x\"" blocked attempts-used-up`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(in(settingUp(t, c.setup...), c.results...))
			expect(t, "clock", lines(clockLines(out)), lines(c.want))
			if want := strings.HasSuffix(c.want[len(c.want)-1], "opening"); want != (out.Next == NextOpening) {
				t.Errorf("next is %q", out.Next)
			}
		})
	}
}

// "By the player's stop no attempt is used up; an execution that died with its process uses one for each setup runtime that
// was due." It blocks nothing: a crash is not the runtime's failure.
func TestInterruptedAttempts(t *testing.T) {
	s := settingUp(t, pending("a", 0, 1), pending("b", 0, 0), &eventsv1.SetupRuntime{RuntimeId: "c", Status: "done"}, &eventsv1.SetupRuntime{RuntimeId: "d", Status: "blocked"})
	var got []string
	for _, a := range InterruptedAttempts(s) {
		line := a.RuntimeId + " " + a.LastError
		if a.Blocked {
			line += " blocked"
		}
		got = append(got, line)
	}
	expect(t, "attempts", got, []string{"a interrupted", "b interrupted"})
	expect(t, "in play", len(InterruptedAttempts(playing(t))), 0)
	expect(t, "at rest", len(InterruptedAttempts(projections.State{})), 0)
	expect(t, "by the player's stop", told(Abort(in(s), "aborted-by-player")), []string{"aborted e1 aborted-by-player"})
}

// Rule TP:94: completedPlayerTurns is the number of player turns that were saved. Rule TP:173–182: of all origins only player
// counts; a turn that went on after a suspension is counted by its end. Rule TP:183: several executions of one logical turn
// count once. Rule TP:159: the opening counts none.
//
// "completedPlayerTurns counts only committed player turns … When several executions share one logical turn, it is counted
// only once"; "The opening … is not counted".
func TestTurnIsCountedOnce(t *testing.T) {
	line := func(s projections.State) projections.State {
		return fold(t, s, "e1", &eventsv1.ActionsSubmitted{RequestId: "r", ExecutionId: "e1", Rendered: "x", Actions: []*eventsv1.Action{{Kind: "say", Text: "x"}}})
	}
	start := func(s projections.State, origin, phase, logical string) projections.State {
		return fold(t, s, "e1", &eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: origin, LogicalTurnId: logical, Phase: phase})
	}
	fresh := session(t, projections.PhasePlaying)
	seventh := fold(t, fresh, "", &eventsv1.PlayerTurnCounted{LogicalTurnId: "turn-7", CompletedPlayerTurns: 7})
	for _, c := range []struct {
		name string
		s    projections.State
		want string
	}{
		{"the first", start(line(fresh), OriginPlayer, projections.PhasePlaying, "turn-1"), "count turn-1 1"},
		{"the eighth", start(line(seventh), OriginPlayer, projections.PhasePlaying, "turn-8"), "count turn-8 8"},
		{"the opening", start(fresh, OriginContinuation, projections.PhasePlaying, "turn-1"), "none"},
		{"an opening that is tried again", start(fold(t, fresh, "e1", &eventsv1.ActionsSubmitted{RequestId: "r", Type: "retry_turn", ExecutionId: "e1"}), OriginPlayer, projections.PhasePlaying, "turn-1"), "none"},
		{"the set-up", start(line(fresh), OriginPlayer, projections.PhaseSetup, "turn-1"), "none"},
		{"of the same logical turn", start(line(seventh), OriginPlayer, projections.PhasePlaying, "turn-7"), "none"},
		{"a manual run", start(line(fresh), "manual", projections.PhasePlaying, "turn-1"), "none"},
		{"a round of the same input", start(fresh, OriginContinuation, projections.PhasePlaying, "turn-7"), "none"},
		{"an execution that calls itself recursive", start(line(fresh), "recursive", projections.PhasePlaying, "turn-1"), "none"},
		{"a resume of nothing that is held", start(line(fresh), OriginResume, projections.PhasePlaying, "turn-1"), "none"},
		{"in the background", start(fresh, "background", projections.PhasePlaying, "turn-1"), "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := "none"
			for _, l := range told(Plan(in(c.s, teller()))) {
				if strings.HasPrefix(l, "count") {
					got = l
				}
			}
			expect(t, "count", got, c.want)
		})
	}
}

// "It records, per runtime, how many committed runs there have been and the completedPlayerTurns at the last run" (§6.3);
// "Dropped runtimes … do not count in the trigger ledger".
func TestLedger(t *testing.T) {
	s := fold(t, playing(t), "", &eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "a", Runs: 4, LastCompletedTurns: 0}}})
	out := Plan(in(s, ran("a"), teller(), ran("b", bad), needing(ran("c"), []string{"b"}), failed(ran("d")), skipped(ran("e"), turn.SkipGuard), ran("f")))
	expect(t, "clock", lines(clockLines(out)), "count turn-1 1\nledger a 5@1 narrator 1@1 f 1@1\ncommitted e1")
	out = Plan(in(s, skipped(ran("e"), turn.SkipGuard)))
	expect(t, "without a run", lines(clockLines(out)), "count turn-1 1\ncommitted e1")
}

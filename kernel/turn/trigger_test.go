package turn

import (
	"fmt"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// auto makes a runtime of a stage.
func auto(id string, stage manifest.Stage, change ...func(*manifest.Runtime)) manifest.Runtime {
	r := manifest.Runtime{ID: id, PluginID: id, Schedule: manifest.Schedule{Stage: stage, Trigger: manifest.TriggerAuto, Every: 1}}
	for _, c := range change {
		c(&r)
	}
	return r
}

// on makes a runtime that an event sets off.
func on(id, topic string, change ...func(*manifest.Runtime)) manifest.Runtime {
	return auto(id, "", append([]func(*manifest.Runtime){func(r *manifest.Runtime) {
		r.Schedule.Trigger, r.Schedule.Topic = manifest.TriggerEvent, topic
	}}, change...)...)
}

func needs(n ...manifest.Need) func(*manifest.Runtime) {
	return func(r *manifest.Runtime) { r.Schedule.Needs = append(r.Schedule.Needs, n...) }
}

func after(ids ...string) func(*manifest.Runtime) {
	return func(r *manifest.Runtime) {
		for _, id := range ids {
			r.Schedule.After = append(r.Schedule.After, manifest.Need{Runtime: id})
		}
	}
}

func gives(contract string) func(*manifest.Runtime) {
	return func(r *manifest.Runtime) { r.IO.OutputContract = contract }
}

func reads(name string, b manifest.Binding) func(*manifest.Runtime) {
	return func(r *manifest.Runtime) {
		if r.IO.Inputs == nil {
			r.IO.Inputs = map[string]manifest.Binding{}
		}
		r.IO.Inputs[name] = b
	}
}

func ids(list []manifest.Runtime) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// The decision tree of the seed (turn-pipeline.txt §4.3), first question: "setup runtime? → takes pending from the
// setupRuntimes mirror, and also bypasses shouldTrigger; done/blocked do not run". Manual runtimes are "selected by name
// match", so never here; "a schedule.subagentOnly runtime is not in this tree".
// Rule TP:667–699: the decision tree: setup by the mirror, the stages by their triggers; nobody by name, nobody that is a
// sub-agent only, and nothing at all in a session that is paused or has ended (TP:207).
func TestSelectTriggered(t *testing.T) {
	active := []manifest.Runtime{
		auto("z/pending", manifest.Setup), auto("a/pending", manifest.Setup, func(r *manifest.Runtime) { r.Schedule.StartTurn, r.Schedule.MaxTriggerCount = 9, 1 }),
		auto("done", manifest.Setup), auto("blocked", manifest.Setup), auto("unknown", manifest.Setup),
		auto("narrator", manifest.Narrative), auto("before", manifest.PreTurn), auto("later", manifest.Audit, func(r *manifest.Runtime) { r.Schedule.StartTurn = 2 }),
		auto("manual", "", func(r *manifest.Runtime) { r.Schedule.Trigger = manifest.TriggerManual }), on("follower", "scene.set"),
		auto("helper", manifest.PostTurn, func(r *manifest.Runtime) { r.Schedule.SubagentOnly = true }),
	}
	s := projections.Session{Status: projections.StatusActive, Setup: []projections.SetupRuntime{
		{RuntimeID: "a/pending", Status: projections.SetupPending, Attempts: 5}, {RuntimeID: "blocked", Status: projections.SetupBlocked},
		{RuntimeID: "done", Status: projections.SetupDone}, {RuntimeID: "z/pending", Status: projections.SetupPending},
	}, Ledger: []projections.LedgerEntry{{RuntimeID: "a/pending", Runs: 99}}}
	expect(t, "setup", ids(SelectTriggered(active, s, projections.PhaseSetup, 1)), []string{"a/pending", "z/pending"})
	// A session that plays already catches up on what became pending (reference: plugins.md §7.5).
	expect(t, "playing, turn 1", ids(SelectTriggered(active, s, projections.PhasePlaying, 1)), []string{"a/pending", "before", "narrator", "z/pending"})
	s.Setup = nil
	expect(t, "playing, turn 1", ids(SelectTriggered(active, s, projections.PhasePlaying, 1)), []string{"before", "narrator"})
	expect(t, "playing, turn 2", ids(SelectTriggered(active, s, projections.PhasePlaying, 2)), []string{"before", "later", "narrator"})
	// "When status === 'paused' | 'ended', the scheduler returns nothing directly."
	for _, status := range []string{projections.StatusPaused, projections.StatusEnded} {
		s.Status = status
		for _, phase := range []string{projections.PhaseSetup, projections.PhasePlaying} {
			expect(t, status+" "+phase, len(SelectTriggered(active, s, phase, 1)), 0)
		}
	}
}

// "startTurn? logical turn number < startTurn · maxTriggerCount? over the session's maximum count (trigger ledger) ·
// cooldownTurns? cooling down (trigger ledger) · auto → logical turn % every == 0 (every defaults to 1) · event → topic in
// pendingEvents". "A runtime that has never run is not blocked by cooldownTurns. This rule also applies when a cooldown
// value is over 999" (§6.3).
//
// Rule TP:998: maxTriggerCount and cooldownTurns read the ledger and nothing of the history.
// Rule TP:999: who has never run is not blocked by a cooldown, which begins with the first commit; TP:1000: also past 999.
// Rule TP:675–685: startTurn, maxTriggerCount and cooldownTurns are read from the trigger ledger, then the trigger decides.
func TestShouldTrigger(t *testing.T) {
	type ledger = projections.LedgerEntry
	for _, c := range []struct {
		name      string
		schedule  manifest.Schedule
		ledger    ledger
		completed uint32
		turn      int
		topics    []string
		want      bool
	}{
		{"auto", manifest.Schedule{Trigger: "auto", Every: 1}, ledger{}, 0, 1, nil, true},
		{"auto without every", manifest.Schedule{Trigger: "auto"}, ledger{}, 0, 1, nil, true},
		{"auto by default", manifest.Schedule{}, ledger{}, 0, 1, nil, true},
		{"every 3, turn 2", manifest.Schedule{Trigger: "auto", Every: 3}, ledger{}, 1, 2, nil, false},
		{"every 3, turn 3", manifest.Schedule{Trigger: "auto", Every: 3}, ledger{}, 2, 3, nil, true},
		{"every 3, turn 6", manifest.Schedule{Trigger: "auto", Every: 3}, ledger{}, 5, 6, nil, true},
		{"before startTurn", manifest.Schedule{Trigger: "auto", StartTurn: 4}, ledger{}, 2, 3, nil, false},
		{"at startTurn", manifest.Schedule{Trigger: "auto", StartTurn: 4}, ledger{}, 3, 4, nil, true},
		{"startTurn and every", manifest.Schedule{Trigger: "auto", StartTurn: 4, Every: 3}, ledger{}, 3, 4, nil, false},
		{"runs left", manifest.Schedule{Trigger: "auto", MaxTriggerCount: 2}, ledger{Runs: 1}, 9, 10, nil, true},
		{"no runs left", manifest.Schedule{Trigger: "auto", MaxTriggerCount: 2}, ledger{Runs: 2}, 9, 10, nil, false},
		{"more runs than allowed", manifest.Schedule{Trigger: "auto", MaxTriggerCount: 2}, ledger{Runs: 7}, 9, 10, nil, false},
		{"cooling down", manifest.Schedule{Trigger: "auto", CooldownTurns: 2}, ledger{Runs: 1, LastCompletedTurns: 5}, 6, 7, nil, false},
		{"cooled down", manifest.Schedule{Trigger: "auto", CooldownTurns: 2}, ledger{Runs: 1, LastCompletedTurns: 5}, 7, 8, nil, true},
		{"never ran", manifest.Schedule{Trigger: "auto", CooldownTurns: 2}, ledger{}, 0, 1, nil, true},
		{"never ran, cooldown 1000", manifest.Schedule{Trigger: "auto", CooldownTurns: 1000}, ledger{}, 0, 1, nil, true},
		{"ran, cooldown 1000", manifest.Schedule{Trigger: "auto", CooldownTurns: 1000}, ledger{Runs: 1}, 999, 1000, nil, false},
		{"ran in the opening, cooldown 1, first turn", manifest.Schedule{Trigger: "auto", CooldownTurns: 1}, ledger{Runs: 1}, 0, 1, nil, false},
		{"the ledger is ahead", manifest.Schedule{Trigger: "auto", CooldownTurns: 1}, ledger{Runs: 1, LastCompletedTurns: 9}, 2, 3, nil, false},
		{"event raised", manifest.Schedule{Trigger: "event", Topic: "scene.set"}, ledger{}, 0, 1, []string{"x.y", "scene.set"}, true},
		{"event not raised", manifest.Schedule{Trigger: "event", Topic: "scene.set"}, ledger{}, 0, 1, []string{"scene.sets"}, false},
		{"event before startTurn", manifest.Schedule{Trigger: "event", Topic: "a.b", StartTurn: 2}, ledger{}, 0, 1, []string{"a.b"}, false},
		{"event without runs left", manifest.Schedule{Trigger: "event", Topic: "a.b", MaxTriggerCount: 1}, ledger{Runs: 1}, 0, 1, []string{"a.b"}, false},
		{"event cooling down", manifest.Schedule{Trigger: "event", Topic: "a.b", CooldownTurns: 3}, ledger{Runs: 1}, 2, 3, []string{"a.b"}, false},
		{"manual", manifest.Schedule{Trigger: "manual"}, ledger{}, 0, 1, []string{""}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.ledger.RuntimeID = "r"
			s := projections.Session{CompletedPlayerTurns: c.completed, Ledger: []projections.LedgerEntry{c.ledger}}
			if got := ShouldTrigger(manifest.Runtime{ID: "r", Schedule: c.schedule}, s, c.turn, c.topics); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A cooldown of n keeps a runtime that runs in every turn it may out of n turns, whatever it is.
func TestCooldownCountsTurns(t *testing.T) {
	r := auto("r", manifest.PostTurn, func(r *manifest.Runtime) { r.Schedule.CooldownTurns = 3 })
	var s projections.Session
	var ran []int
	for turn := 1; turn <= 12; turn++ {
		triggered := ShouldTrigger(r, s, turn, nil)
		s.CompletedPlayerTurns++ // the turn commits
		if triggered {
			ran = append(ran, turn)
			s.Ledger = []projections.LedgerEntry{{RuntimeID: "r", Runs: uint32(len(ran)), LastCompletedTurns: s.CompletedPlayerTurns}}
		}
	}
	expect(t, "ran in turns", ran, []int{1, 5, 9})
}

package session

import (
	"fmt"
	"slices"
	"testing"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// faulty gives a session in play whose turns have, beside the story, a run of plugin 龙胆 that fails by its own fault as long as
// broken says so.
func faulty(t *testing.T, broken func(projections.Execution) bool) *sim {
	s := inPlayWith(t, func(projections.Execution) bool { return false })
	s.result = func(st StartTurn) TurnEnded {
		end := play(st)
		end.Digests = map[string]string{"龙胆": "d1"}
		if slices.Contains(st.Paused, "龙胆") {
			return end
		}
		r := turn.Result{RuntimeID: "龙胆/note", PluginID: "龙胆", RunID: st.Execution.ID + "/note", Stage: manifest.PostTurn, Status: turn.Succeeded}
		if broken(st.Execution) {
			r.Status, r.Error, r.Fault = turn.Failed, "它坏了", true
		}
		end.Results = append(end.Results, r)
		return end
	}
	return s
}

func (s *sim) lines(n int) {
	for range n {
		s.ids++
		s.request(line(fmt.Sprint("l", s.ids), "走。"))
	}
}

func (s *sim) change(c Change) Answer {
	s.token++
	c.ID, c.Token = fmt.Sprint("c", s.token), s.token
	s.feed(ChangeStatus{c})
	s.run()
	return s.heard[s.token][0]
}

// Rule DEC Fault latch: three inputs in a row pause the plugin in that session, from the next execution.
// Rule TP:1168: faults are counted after the commit, deduped by the input.
// Rule TP:1170: a paused plugin is filtered at the entry of an execution.
func TestAPluginIsPaused(t *testing.T) {
	s := faulty(t, always)
	s.lines(3)
	if len(s.paused) != 1 || s.paused[0] != (PluginPaused{"龙胆", true, "它坏了"}) || !s.state.Latch.Has("龙胆") {
		t.Fatalf("after three inputs: %+v, %v", s.paused, s.state.Latch.Paused())
	}
	s.lines(1)
	if got := s.fold().Latest.Runs; len(got) != 1 {
		t.Errorf("the next execution ran %+v", got)
	}
	if len(s.paused) != 1 {
		t.Errorf("told again: %+v", s.paused)
	}
}

// Rule DEC Fault latch: an input counts once however many executions it has; a clean one, judged when the request closes,
// resets.
// Rule TP:1186: foreground faults count immediately; clean verdicts wait until the request closes.
func TestRoundsAreOneInput(t *testing.T) {
	s := faulty(t, func(e projections.Execution) bool { return e.Round == 0 })
	plain := s.result
	s.result = func(st StartTurn) TurnEnded { // each input has three rounds after its first; only that one fails
		end := plain(st)
		if st.Execution.Round < 3 {
			end.Results[0].Output = []byte(`{"advance":{"reason":"继续"}}`)
		}
		return end
	}
	s.lines(2)
	if s.state.Latch.Has("龙胆") {
		t.Fatal("two inputs, eight executions, and it is paused")
	}
	s.result = plain
	s.lines(1)
	if !s.state.Latch.Has("龙胆") {
		t.Error("three inputs failed, and clean rounds of them have reset it")
	}
}

// Rule DEC Fault latch: player, operator or a new plugin digest resume it.
func TestAPausedPluginRunsAgain(t *testing.T) {
	paused := func() *sim {
		broken := true
		s := faulty(t, func(projections.Execution) bool { return broken })
		s.lines(3)
		broken = false
		return s
	}
	t.Run("by name", func(t *testing.T) {
		s := paused()
		if a := s.change(Change{Kind: ResumePlugin, PluginID: "teller"}); a.Refusal == nil || a.Refusal.Code != "plugin_not_paused" {
			t.Errorf("resuming another: %+v", a)
		}
		if a := s.change(Change{Kind: ResumePlugin, PluginID: "龙胆"}); a.Status != Accepted {
			t.Errorf("resuming it: %+v", a)
		}
		s.lines(1)
		if len(s.fold().Latest.Runs) != 2 || len(s.paused) != 2 || s.paused[1].Paused {
			t.Errorf("it ran %+v, told %+v", s.fold().Latest.Runs, s.paused)
		}
	})
	t.Run("by new code", func(t *testing.T) {
		s := paused()
		s.installed = &Installed{Versions: map[string]string{}, Digests: map[string]string{"龙胆": "d2"}}
		s.lines(1)
		if len(s.fold().Latest.Runs) != 2 {
			t.Errorf("it ran %+v", s.fold().Latest.Runs)
		}
	})
}

// A run that began before its plugin was paused may end with newer code: what was counted of the old code is forgotten, and
// everybody is told that the plugin runs again.
func TestOtherCodeFailsWhileThePluginIsPaused(t *testing.T) {
	s := faulty(t, always)
	s.lines(3)
	s.paused = nil
	s.result = func(st StartTurn) TurnEnded {
		end := play(st)
		end.Digests, end.Health = map[string]string{"龙胆": "d2"}, map[string]string{"龙胆": "它也坏了"}
		return end
	}
	s.lines(1)
	if !slices.Equal(s.paused, []PluginPaused{{PluginID: "龙胆"}}) || s.state.Latch.Has("龙胆") {
		t.Errorf("told %+v, paused %v", s.paused, s.state.Latch.Paused())
	}
}

// Rule DEC Fault latch: node memory only: not folded, kept over passivation, cleared by restart, session end.
func TestWhereTheLatchLives(t *testing.T) {
	s := faulty(t, always)
	s.lines(3)
	s.activate() // as after a passivation: the node still knows
	s.run()
	if !s.state.Latch.Has("龙胆") {
		t.Error("a passivation has cleared it")
	}
	s.latch = latch.Latch{} // as after a restart of the node
	s.activate()
	s.run()
	if s.state.Latch.Has("龙胆") {
		t.Error("it stands in the log")
	}
	s.lines(3)
	s.change(Change{Kind: End})
	if !s.latch.Clean() {
		t.Error("the end of the session has not cleared it")
	}
}

// Rule TP:1170: a resume and what names a paused plugin are checked too.
func TestWhatNamesAPausedPlugin(t *testing.T) {
	s := faulty(t, always)
	s.lines(3)
	cmd := Command{RequestID: "m", Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "龙胆/note"}}}
	st := step{State: s.state}
	if refusal := st.pausedPlugin(cmd); refusal == nil || refusal.Code != "plugin_paused" {
		t.Errorf("a run by name: %+v", refusal)
	}
	if refusal := st.pausedPlugin(Command{Targets: []projections.Target{{RuntimeID: "teller"}}}); refusal != nil {
		t.Errorf("a run of another: %+v", refusal)
	}
	st.Hot.Suspensions.Waiting = []projections.Suspension{{ID: "x", PluginID: "龙胆"}}
	if refusal := st.pausedPlugin(Command{SuspensionID: "x"}); refusal == nil {
		t.Error("its question may be answered")
	}
}

// Rule DEC Fault latch: what is a plugin's fault, and whose.
// Rule TP:1168: sub-agents through their caller's result, hooks against the plugin that registered them.
func TestWhoseFaultItIs(t *testing.T) {
	run := func(plugin string, status turn.Status, fault bool) turn.Result {
		return turn.Result{RuntimeID: plugin + "/r", PluginID: plugin, RunID: plugin, Status: status, Error: "坏", Fault: fault}
	}
	cases := []struct {
		name  string
		ended TurnEnded
		out   commit.Out
		fault string // plugin
		ran   string // without a fault
	}{
		{"an uncaught error", TurnEnded{Results: []turn.Result{run("a", turn.Failed, true)}}, commit.Out{}, "a", ""},
		{"a failure that is not its own", TurnEnded{Results: []turn.Result{run("a", turn.Failed, false)}}, commit.Out{}, "", "a"},
		{"a success", TurnEnded{Results: []turn.Result{run("a", turn.Succeeded, false)}}, commit.Out{}, "", "a"},
		{"its guard skipped it", TurnEnded{Results: []turn.Result{{PluginID: "a", Status: turn.Skipped, SkipReason: turn.SkipGuard}}}, commit.Out{}, "", "a"},
		{"it never ran", TurnEnded{Results: []turn.Result{{PluginID: "a", Status: turn.Skipped, SkipReason: turn.SkipDependency}}}, commit.Out{}, "", ""},
		{"a seed of a retry", TurnEnded{Results: []turn.Result{{PluginID: "a", Status: turn.Succeeded, Seed: true}}}, commit.Out{}, "", ""},
		{"a recursive call", TurnEnded{Results: []turn.Result{{PluginID: "a", Status: turn.Succeeded, Nested: []turn.Result{run("a", turn.Failed, true)}}}}, commit.Out{}, "a", ""},
		{"a sub-agent of another package", TurnEnded{Results: []turn.Result{{PluginID: "a", Status: turn.Succeeded, Subagents: []turn.SubagentRun{{PluginID: "b", Fault: true, Error: "坏"}}}}}, commit.Out{}, "b", "a"},
		{"a malformed proposal", TurnEnded{Results: []turn.Result{run("a", turn.Succeeded, false)}}, commit.Out{Malformed: map[string]string{"a": "坏"}}, "a", ""},
		{"a hook of another plugin", TurnEnded{Results: []turn.Result{run("a", turn.Succeeded, false)}, Health: map[string]string{"b": "hook TurnStop: 坏", "c": ""}}, commit.Out{}, "b", "ac"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := faults(c.ended, c.out)
			for _, plugin := range []string{"a", "b", "c"} {
				if why := r.Faults[plugin]; (why != "") != (plugin == c.fault) {
					t.Errorf("fault of %s: %q", plugin, why)
				}
				clean := r.Ran[plugin] && r.Faults[plugin] == ""
				if want := slices.Contains([]rune(c.ran), rune(plugin[0])); clean != want {
					t.Errorf("%s ran well: %v", plugin, clean)
				}
			}
		})
	}
}

// Rule TP:1168: when a resumed run fails before its commit, it counts; a stop of the player tells nothing of plugins.
func TestWhatCountsAndWhatDoesNot(t *testing.T) {
	s := faulty(t, always)
	plain := s.result
	s.result = func(st StartTurn) TurnEnded { // nothing commits, the fault counts all the same
		end := plain(st)
		end.Results[0].Status, end.Results[0].Error = turn.Failed, "the model failed"
		return end
	}
	s.lines(2)
	s.result = plain
	s.post(line("stopped", "走。"))
	for len(s.turns) == 0 {
		s.next()
	}
	s.feed(StopTurn{})
	s.run()
	if s.state.Latch.Has("龙胆") {
		t.Fatal("a stopped execution counted")
	}
	s.lines(1)
	if !s.state.Latch.Has("龙胆") {
		t.Error("three inputs failed")
	}
}

// Rule DEC Fault latch: detached jobs are outside of the foreground group: the job of an input and the input itself are two.
func TestJobsAreInputsOfTheirOwn(t *testing.T) {
	s := faulty(t, always)
	s.lines(2)
	st := &step{State: s.state}
	st.jobCounted(LiveJob{verdict: st.Latch.Begin(jobInput("1")), Ended: &TurnEnded{Results: []turn.Result{{PluginID: "龙胆", Status: turn.Failed, Fault: true, Error: "坏"}}}})
	if !st.Latch.Has("龙胆") {
		t.Error("two inputs and a job failed")
	}
}

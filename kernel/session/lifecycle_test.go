package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:89–95: a session begins active, with no turn counted and one pending state for each set-up runtime; with none it
// begins in play. Rule TP:100: a session with a set-up begins in it. What never runs by itself is no step of it.
func TestANewSession(t *testing.T) {
	auto := func(id string, stage manifest.Stage, change ...func(*manifest.Schedule)) manifest.Runtime {
		r := manifest.Runtime{ID: id, PluginID: "门", Schedule: manifest.Schedule{Stage: stage, Trigger: manifest.TriggerAuto}}
		for _, c := range change {
			c(&r.Schedule)
		}
		return r
	}
	for _, c := range []struct {
		name     string
		runtimes []manifest.Runtime
		phase    string
		setup    []projections.SetupRuntime
	}{
		{"two steps", []manifest.Runtime{auto("门/龙胆", manifest.Setup), auto("门/a", manifest.Setup, func(s *manifest.Schedule) { s.MaxTriggerCount = 3 }), auto("门/story", manifest.Narrative)}, "setup", []projections.SetupRuntime{
			{RuntimeID: "门/a", Status: "pending", Generation: 1, MaxAttempts: 3, PluginVersion: "2"}, {RuntimeID: "门/龙胆", Status: "pending", Generation: 1, PluginVersion: "2"},
		}},
		{"no step", []manifest.Runtime{auto("门/story", manifest.Narrative)}, "playing", nil},
		{"a helper", []manifest.Runtime{auto("门/helper", manifest.Setup, func(s *manifest.Schedule) { s.SubagentOnly = true })}, "playing", nil},
		{"by name only", []manifest.Runtime{auto("门/named", manifest.Setup, func(s *manifest.Schedule) { s.Trigger = manifest.TriggerManual })}, "playing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			evs, err := Create(Creation{SessionID: "s1", Incarnation: "inc", Pack: packView, Plugins: []projections.PluginRef{{ID: "门", Version: "2"}}, Runtimes: c.runtimes})
			if err != nil {
				t.Fatal(err)
			}
			var st projections.State
			for i, ev := range evs {
				if st, err = projections.Apply(st, events.Recorded{Event: ev, Version: events.Version(i + 1)}); err != nil {
					t.Fatal(err)
				}
			}
			if s := st.Session; s.Status != projections.StatusActive || s.Phase != c.phase || s.CompletedPlayerTurns != 0 || fmt.Sprint(s.Setup) != fmt.Sprint(c.setup) {
				t.Errorf("%s %s %d %+v", s.Status, s.Phase, s.CompletedPlayerTurns, s.Setup)
			}
		})
	}
}

// Rule TP:119–123: active → paused → active, active → ended, paused → ended; nothing leads out of ended, and to ask for what is
// so already changes nothing. Rule TP:187: whatever starts an execution is refused unless the session is active.
func TestPauseResumeEnd(t *testing.T) {
	turned := map[ChangeKind]string{Pause: "SessionPaused", Resume: "SessionResumed", End: "SessionEnded"}
	for _, c := range []struct {
		path   []ChangeKind
		answer string // to the last of them
		status string
		refuse string // what starts an execution
	}{
		{nil, "", "active", ""},
		{[]ChangeKind{Pause}, "accepted", "paused", "session_not_active"},
		{[]ChangeKind{Resume}, "repeat", "active", ""},
		{[]ChangeKind{End}, "accepted", "ended", "session_ended"},
		{[]ChangeKind{Pause, Pause}, "repeat", "paused", "session_not_active"},
		{[]ChangeKind{Pause, Resume}, "accepted", "active", ""},
		{[]ChangeKind{Pause, End}, "accepted", "ended", "session_ended"},
		{[]ChangeKind{End, Pause}, "session_ended", "ended", "session_ended"},
		{[]ChangeKind{End, Resume}, "session_ended", "ended", "session_ended"},
		{[]ChangeKind{End, End}, "repeat", "ended", "session_ended"},
	} {
		t.Run(fmt.Sprint(c.path), func(t *testing.T) {
			for _, cmd := range []Command{
				{Type: SubmitActions, Actions: []projections.Action{{Text: "我去码头。"}}}, {Type: StartSession}, {Type: RetryTurn}, {Type: Regenerate}, {Type: MoveHead},
				{Type: Interject, Actions: []projections.Action{{Text: "等"}}}, {Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "seer"}}},
			} {
				s := phases(t)["2 idle"]()
				answer := ""
				from := len(s.log)
				for _, kind := range c.path {
					from = len(s.log)
					a := s.ask(Change{Kind: kind})
					if answer = code(a); a.Repeat {
						answer = "repeat"
					}
				}
				want := ""
				if c.answer == "accepted" {
					want = turned[c.path[len(c.path)-1]]
				}
				if got := s.types(from); answer != c.answer || got != want || s.state.Hot.Session.Status != c.status {
					t.Fatalf("%q, wrote %q, is %s", answer, got, s.state.Hot.Session.Status)
				}
				cmd.RequestID = "new"
				from = len(s.log)
				got := code(s.send(cmd))
				refused := strings.HasPrefix(got, "session_")
				if refused != (c.refuse != "") || refused && (got != c.refuse || len(s.log) != from) {
					t.Errorf("%s: %s, %d events", cmd.Type, got, len(s.log)-from)
				}
			}
		})
	}
}

// Rule TP:173–179: each execution says where it comes from, and of these only a player's line is counted: the set-up has no
// count, the opening is a continuation, a job runs in the background. Rule TP:206: each has a record of its own, written before
// it runs and settled at its end.
func TestOriginsOfExecutions(t *testing.T) {
	s := playing(t, extract(false))
	s.jobResult = remembered
	s.say("l1", "我去码头。")
	s.run()
	var got []string
	open := ""
	for _, r := range s.log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *eventsv1.ExecutionStarted:
			got, open = append(got, fmt.Sprint(m.Phase, " ", m.Origin, " ", m.LogicalTurn)), m.ExecutionId
		case *eventsv1.PlayerTurnCounted:
			got[len(got)-1] += " counted"
		case *eventsv1.ExecutionCommitted:
			if m.ExecutionId != open {
				t.Errorf("%s ends, and %s is open", m.ExecutionId, open)
			}
			got[len(got)-1] += ", committed"
		}
	}
	want := []string{"setup player 1, committed", "setup player 1, committed", "playing continuation 1, committed", "playing player 1 counted, committed", "playing background 1, committed"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Rule TP:210: a snapshot is taken when everything of an execution is committed: it holds no open one, and is what the events up
// to its version say.
//
// However the turns fall, each stretch of SnapshotEvery versions has one by the end of the execution that enters it.
func TestWhenASnapshotIsTaken(t *testing.T) {
	s := playing(t, extract(false))
	var saved []projections.State
	s.onSave = func(st projections.State) { saved = append(saved, st) }
	s.jobResult = remembered
	var last events.Version
	for i := range 60 {
		s.say(fmt.Sprint("l", i), "我往前走。")
		if len(saved) > 0 {
			last = saved[len(saved)-1].Version
		}
		if h := s.state.Hot; h.Session.Open == nil && uint64(last)/SnapshotEvery != uint64(h.Version)/SnapshotEvery {
			t.Fatalf("version %d, and the newest is of %d", h.Version, last)
		}
	}
	for _, st := range saved {
		var again projections.State
		for _, r := range s.log[:st.Version] {
			var err error
			if again, err = projections.Apply(again, r); err != nil {
				t.Fatal(err)
			}
		}
		last := s.log[st.Version-1]
		if st.Session.Open != nil || uint64(last.Version) != last.Metadata.AppendEnd || fmt.Sprint(again.Session.Ledger, again.History.Len(), again.Session.Last) != fmt.Sprint(st.Session.Ledger, st.History.Len(), st.Session.Last) {
			t.Errorf("at version %d, after %s", st.Version, last.Type)
		}
	}
}

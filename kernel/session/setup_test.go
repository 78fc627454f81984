package session

import (
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:202, 204: what becomes of setup runtimes before an execution (a cycle that is blocked, a plugin of another version) is
// appended with its start, counts at once, and stands though the execution does not commit.
// Rule TP:206: the record of an execution is written at its start, before anything of it runs, and settled at its end.
func TestSetupBeforeAnExecution(t *testing.T) {
	s := phases(t)["3 settling"]()
	settled, ok := s.inbox[0].(Settled)
	if !ok {
		t.Fatalf("the inbox begins with %T", s.inbox[0])
	}
	need := func(id string) manifest.Schedule {
		return manifest.Schedule{Stage: manifest.Setup, Trigger: manifest.TriggerAuto, Needs: []manifest.Need{{Runtime: id, Scope: "session"}}}
	}
	settled.Installed = &Installed{
		Runtimes: []manifest.Runtime{{ID: "fresh/a", PluginID: "fresh", Schedule: need("fresh/b")}, {ID: "fresh/b", PluginID: "fresh", Schedule: need("fresh/a")}, {ID: "fresh/龙胆", PluginID: "fresh", Schedule: need("nobody")}},
		Versions: map[string]string{"fresh": "2"},
	}
	s.inbox[0] = settled
	from := len(s.log)
	s.next() // settled
	s.next() // appended
	var got []string
	for _, r := range s.log[from:] {
		line := r.Type
		if msg, err := events.Decode(r.Event); err == nil && r.Metadata.GetCausationId() == "" {
			if m, ok := msg.(*eventsv1.SetupRuntimeChanged); ok {
				line += " " + m.Setup.RuntimeId + " " + m.Setup.Status + " " + m.Setup.Reason + m.Setup.PluginVersion
			}
		}
		got = append(got, line)
	}
	want := []string{
		"SetupRuntimeChanged fresh/a blocked " + turn.ReasonSetupCycle + "2", "SetupRuntimeChanged fresh/b blocked " + turn.ReasonSetupCycle + "2",
		"SetupRuntimeChanged fresh/龙胆 pending 2", "SetupRuntimeChanged maker done ", "SetupRuntimeChanged opener done ", // of plugins that are gone
		"ActionsSubmitted", "ExecutionStarted",
	}
	if len(got) < len(want) {
		t.Fatalf("appended %q", got)
	}
	for i := range want {
		if tail := got[len(got)-len(want):]; tail[i] != want[i] {
			t.Errorf("event %d is %q, want %q", i, tail[i], want[i])
		}
	}
	if su, ok := s.state.Hot.Session.SetupOf("fresh/a"); !ok || su.Status != projections.SetupBlocked {
		t.Errorf("the execution begins with %+v", su)
	}
	s.feed(TurnEnded{ExecutionID: s.state.Execution, Crash: "坏了"})
	for len(s.inbox) > 0 {
		s.next()
	}
	if su, ok := s.state.Hot.Session.SetupOf("fresh/龙胆"); !ok || su.Status != projections.SetupPending || su.Generation != 1 {
		t.Errorf("after the failure %+v", su)
	}
}

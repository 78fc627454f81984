package turn

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// asking plays an execution whose hooks are asked.
func asking(t *testing.T, asks Asks, active ...manifest.Runtime) (State, []Effect) {
	t.Helper()
	return Step(New(Plan{
		ExecutionID: "exec", Phase: projections.PhasePlaying, LogicalTurn: 1, Session: projections.Session{}, Active: active, Asks: asks,
		RunID: func(id string, n int) string { return id },
	}), Begin{})
}

func started(effects []Effect) []string {
	var out []string
	for _, e := range effects {
		if e, ok := e.(StartRun); ok {
			out = append(out, e.Run.Runtime.ID)
		}
	}
	return out
}

var three = []manifest.Runtime{auto("a", manifest.Narrative), auto("b/龙", manifest.Narrative), auto("c", manifest.PostTurn)}

// Rule REF plugins.md §15: TurnStart: abort = the execution ends, no runtime runs.
func TestTurnStartCanRefuse(t *testing.T) {
	s, effects := asking(t, Asks{TurnStart: true, PreSchedule: true}, three...)
	if diff := cmp.Diff([]Effect{AskTurnStart{[]string{"a", "b/龙", "c"}}}, effects); diff != "" {
		t.Fatal(diff)
	}
	refused, effects := Step(s, TurnStartAnswered{Abort: true, Reason: "额度已用完"})
	if diff := cmp.Diff([]Effect{Finish{Refused: "额度已用完"}}, effects); diff != "" {
		t.Error(diff)
	}
	for _, late := range []Input{TurnStartAnswered{}, ScheduleAnswered{}, Cancel{}, Begin{}} {
		if _, effects := Step(refused, late); len(effects) != 0 {
			t.Errorf("%T after the end gives %v", late, effects)
		}
	}
	if _, effects := Step(s, TurnStartAnswered{Abort: true}); effects[0].(Finish).Refused == "" {
		t.Error("a refusal without a reason says nothing")
	}
}

// Rule TP:264: PreSchedule can narrow the runtime set for this turn.
func TestPreScheduleNarrows(t *testing.T) {
	s, effects := asking(t, Asks{PreSchedule: true}, three...)
	ask, ok := effects[0].(AskSchedule)
	if !ok || len(effects) != 1 || len(ask.Triggered) != 3 || ask.Triggered[2].Stage != "post-turn" {
		t.Fatalf("%+v", effects)
	}
	for name, c := range map[string]struct{ keep, want []string }{
		"reordered":    {[]string{"c", "b/龙", "a"}, []string{"b/龙", "a"}},
		"narrowed":     {[]string{"a", "c"}, []string{"a"}},
		"a later band": {[]string{"c"}, []string{"c"}},
		"nobody new":   {[]string{"ghost", "a"}, []string{"a"}},
	} {
		if _, effects := Step(s, ScheduleAnswered{Keep: c.keep}); !slices.Equal(started(effects), c.want) {
			t.Errorf("%s: %v started, want %v", name, started(effects), c.want)
		}
	}
	// Rule REF plugins.md §15: PreSchedule: an empty list schedules nothing.
	_, effects = Step(s, ScheduleAnswered{})
	if len(effects) != 1 {
		t.Fatalf("%v", effects)
	}
	if fin, ok := effects[0].(Finish); !ok || len(fin.Results) != 0 || fin.Refused != "" {
		t.Errorf("%+v", effects)
	}
}

// Rule REF plugins.md §15: TurnStart comes before PreSchedule; a stop while a hook is asked ends the execution.
func TestHooksAreAskedInOrder(t *testing.T) {
	s, _ := asking(t, Asks{TurnStart: true, PreSchedule: true}, three...)
	if _, effects := Step(s, ScheduleAnswered{Keep: []string{"a"}}); len(effects) != 0 {
		t.Errorf("an answer nobody asked for gives %v", effects)
	}
	s, effects := Step(s, TurnStartAnswered{})
	if _, ok := effects[0].(AskSchedule); !ok {
		t.Fatalf("%+v", effects)
	}
	s, effects = Step(s, Cancel{})
	if _, ok := effects[0].(Finish); !ok || len(effects) != 1 {
		t.Fatalf("%+v", effects)
	}
	if _, effects = Step(s, ScheduleAnswered{Keep: []string{"a"}}); len(effects) != 0 {
		t.Errorf("an answer after the end starts %v", effects)
	}
}

func TestWithoutHooksNothingIsAsked(t *testing.T) {
	if _, effects := asking(t, Asks{}, three...); !slices.Equal(started(effects), []string{"a", "b/龙"}) {
		t.Errorf("%+v", effects)
	}
}

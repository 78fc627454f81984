package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
)

// Rule TP:553–557: the loop moves through the seeds' phases, and no other change of phase is legal.
func TestTransitionsAreThoseOfTheSeeds(t *testing.T) {
	legal := map[string]bool{}
	for _, line := range []string{
		"preparing → awaiting-pre-step, finalizing",
		"awaiting-pre-step → requesting-model, finalizing",
		"requesting-model → reviewing, finalizing",
		"reviewing → running-tools, deciding, awaiting-pre-step, finalizing",
		"running-tools → deciding, suspended, finalizing",
		"deciding → awaiting-pre-step, finalizing",
		"finalizing → stopped",
		"suspended → running-tools, finalizing",
	} {
		from, to, _ := strings.Cut(line, " → ")
		for p := range strings.SplitSeq(to, ", ") {
			legal[from+" → "+p] = true
		}
	}
	for _, from := range Phases {
		for _, to := range Phases {
			if got := CanMove(from, to); got != legal[string(from)+" → "+string(to)] {
				t.Errorf("CanMove(%s, %s) = %v", from, to, got)
			}
		}
	}
}

// states are states that wait for something, by what they wait for.
func states(t *testing.T) map[string]State {
	tools := []ToolOffer{{Tool: model.Tool{Name: "roll"}}}
	config := Config{RuntimeID: "r", Profile: ResolveProfile(StoryProfile), Story: true, Hooks: Hooks{PreStep: true, PreCall: true, Review: true}, Tools: append(tools, ToolOffer{Tool: model.Tool{Name: Suspend}}), MaxSteps: 1, Locale: "en", Retry: DefaultRetryPolicy(1)}
	begin := Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "hi"}}}
	call := ModelReplied{Reply: model.Reply{ToolCalls: []model.ToolCall{{ID: "a", Name: "roll"}}, FinishReason: model.FinishToolCalls}}
	asks := ModelReplied{Reply: model.Reply{ToolCalls: []model.ToolCall{{ID: "s", Name: Suspend}}, FinishReason: model.FinishToolCalls}}
	waits := ToolsFinished{Outcomes: []ToolOutcome{{CallID: "s", OK: true, Content: json.RawMessage(`{"_covelSuspend":true}`)}}}
	said := ModelReplied{Reply: model.Reply{Text: "{}", FinishReason: model.FinishStop}}
	drive := func(ins ...Input) State {
		var s State
		for _, in := range ins {
			s, _ = Step(s, in)
		}
		return s
	}
	out := map[string]State{
		"preparing":            {},
		"awaiting-pre-step":    drive(begin),
		"requesting-model/ask": drive(begin, PreStepDone{}),
		"requesting-model":     drive(begin, PreStepDone{}, PreCallDone{}),
		"reviewing":            drive(begin, PreStepDone{}, PreCallDone{}, call),
		"running-tools":        drive(begin, PreStepDone{}, PreCallDone{}, call, ReviewDone{}),
		"suspended":            drive(begin, PreStepDone{}, PreCallDone{}, asks, ReviewDone{}, waits),
		"finalizing/ask":       drive(begin, PreStepDone{}, PreCallDone{}, call, ReviewDone{}, ToolsFinished{}),
		"finalizing/finalizer": drive(begin, PreStepDone{}, PreCallDone{}, call, ReviewDone{}, ToolsFinished{}, PreCallDone{}),
		"finalizing/review":    drive(begin, PreStepDone{}, PreCallDone{}, call, ReviewDone{}, ToolsFinished{}, PreCallDone{}, said),
		"finalizing/repair":    drive(begin, PreStepDone{}, PreCallDone{}, call, ReviewDone{}, ToolsFinished{}, PreCallDone{}, said, ReviewDone{}, PreCallDone{}),
		"stopped":              drive(begin, TimeUp{}),
	}
	for name, s := range out {
		if phase, _, _ := strings.Cut(name, "/"); string(s.Phase) != phase && name != "preparing" {
			t.Fatalf("state %s is in phase %s", name, s.Phase)
		}
	}
	return out
}

// Rule TP:553: an input that a phase does not wait for is a defect and throws at once.
// Every cell of the table: an input in a state leads to a phase, is ignored, or is a defect and panics.
func TestEveryInputInEveryState(t *testing.T) {
	inputs := map[string]Input{
		"begin":   Begin{Config: Config{Profile: ResolveProfile(StoryProfile), Story: true, Hooks: Hooks{PreStep: true}}, Messages: []model.Message{{Role: model.User, Content: "hi"}}},
		"prestep": PreStepDone{},
		"delta":   ModelDelta{Text: "a"},
		"replied": ModelReplied{Reply: model.Reply{Text: "a", FinishReason: model.FinishStop}},
		"failed":  ModelFailed{Err: &model.Error{Kind: model.Transient}},
		"nil":     ModelFailed{},
		"review":  ReviewDone{},
		"tools":   ToolsFinished{},
		"timeup":  TimeUp{},
		"cancel":  Cancel{},
		"precall": PreCallDone{},
		"refused": CallRefused{Stop: StopInvalidContext},
		"say":     Interject{ID: "1", Text: "等等"},
		"resume":  Resume{Answer: json.RawMessage(`{}`)},
	}
	const late = "late" // an interjection that is refused
	const defect, ignored = "defect", "ignored"
	type row map[string]string
	table := map[string]row{
		"preparing":            {"begin": "awaiting-pre-step", "say": late},
		"awaiting-pre-step":    {"prestep": "requesting-model", "say": "awaiting-pre-step"},
		"requesting-model/ask": {"precall": "requesting-model", "say": "requesting-model"},
		"requesting-model":     {"delta": "requesting-model", "replied": "reviewing", "failed": "requesting-model", "nil": "requesting-model", "refused": "stopped", "say": "requesting-model"},
		"reviewing":            {"review": "running-tools", "say": "reviewing"},
		"running-tools":        {"tools": "finalizing", "say": "running-tools"},
		"suspended":            {"prestep": ignored, "precall": ignored, "delta": ignored, "replied": ignored, "failed": ignored, "nil": ignored, "refused": ignored, "review": ignored, "tools": ignored, "timeup": ignored, "cancel": ignored, "say": late, "resume": "finalizing"},
		"finalizing/ask":       {"precall": "finalizing", "say": late},
		"finalizing/finalizer": {"delta": "finalizing", "replied": "finalizing", "failed": "finalizing", "nil": "finalizing", "refused": "stopped", "say": late},
		"finalizing/review":    {"review": "finalizing", "say": late},
		"finalizing/repair":    {"delta": "finalizing", "replied": "finalizing", "failed": "finalizing", "nil": "finalizing", "refused": "stopped", "say": late},
		"stopped":              {"prestep": ignored, "precall": ignored, "delta": ignored, "replied": ignored, "failed": ignored, "nil": ignored, "refused": ignored, "review": ignored, "tools": ignored, "timeup": ignored, "cancel": ignored, "say": late, "resume": ignored},
	}
	for stateName, s := range states(t) {
		for inputName, in := range inputs {
			want, ok := table[stateName][inputName]
			if anyTime := inputName == "timeup" || inputName == "cancel"; anyTime && !ok {
				want, ok = "stopped", true
			}
			if !ok {
				want = defect
			}
			t.Run(stateName+"/"+inputName, func(t *testing.T) {
				got := func() (got string) {
					defer func() {
						if v := recover(); v != nil {
							err, isErr := v.(error)
							if !isErr || !errors.Is(err, ErrIllegalTransition) {
								t.Fatalf("panicked with %v", v)
							}
							got = defect
						}
					}()
					next, effects := Step(s, in)
					if len(effects) == 1 && reflect.DeepEqual(effects[0], InterjectionRefused{ID: "1"}) {
						return late
					}
					if (s.Phase == Stopped || s.Phase == Waiting) && next.Phase == s.Phase && len(effects) == 0 {
						return ignored
					}
					return string(next.Phase)
				}()
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

func TestAnIllegalInputSaysWhatWasWrong(t *testing.T) {
	defer func() {
		var te *TransitionError
		if err, _ := recover().(error); !errors.As(err, &te) || te.Phase != Preparing || !strings.Contains(err.Error(), "loop.ToolsFinished") {
			t.Errorf("panicked with %v", err)
		}
	}()
	Step(State{}, ToolsFinished{})
}

func TestBeginRefusesAnUnusableContext(t *testing.T) {
	user := []model.Message{{Role: model.User, Content: "hi"}}
	for _, c := range []struct {
		name     string
		config   Config
		messages []model.Message
		stop     StopReason
	}{
		{"no messages", Config{}, nil, StopInvalidContext},
		{"ends on an assistant message", Config{}, append(user, model.Message{Role: model.Assistant, Content: "a"}), StopInvalidContext},
		{"broken tool schema", Config{Tools: []ToolOffer{{Tool: model.Tool{Name: "roll", Parameters: json.RawMessage(`{`)}}}}, user, StopInternal},
		{"broken output schema", Config{OutputSchema: json.RawMessage(`{`)}, user, StopInternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, effects := Step(State{}, Begin{Config: c.config, Messages: c.messages})
			if len(effects) != 1 || s.Outcome == nil || s.Outcome.Status != Failed || s.Outcome.Stop != c.stop || s.Outcome.Error == "" {
				t.Errorf("outcome %+v, effects %v", s.Outcome, effects)
			}
		})
	}
}

func TestDecodeRefusesOtherVersions(t *testing.T) {
	if _, err := Decode([]byte(`{"version":99}`)); !errors.Is(err, ErrStateVersion) {
		t.Errorf("error %v", err)
	}
	if _, err := Decode([]byte(`{`)); err == nil {
		t.Error("broken bytes passed")
	}
}

func TestEncodeKeepsTheBytesOfSchemas(t *testing.T) {
	config := Config{Profile: ResolveProfile(SystemProfile), Tools: []ToolOffer{{Tool: model.Tool{Name: "roll", Parameters: json.RawMessage(` { "description" : "a <b> & 龙胆" } `)}}}}
	s, _ := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "hi"}}})
	b, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(back.Config.Tools[0].Tool.Parameters); got != `{"description":"a <b> & 龙胆"}` {
		t.Errorf("schema became %s", got)
	}
}

// Rule DEC Stop reasons: there are seventeen, each with a name of its own.
func TestStopReasonsAreDistinct(t *testing.T) {
	seen := map[StopReason]bool{}
	for _, r := range StopReasons {
		if seen[r] || r == "" {
			t.Errorf("%q twice or empty", r)
		}
		seen[r] = true
	}
	if len(seen) != 17 {
		t.Errorf("%d stop reasons, the decisions name 17", len(seen))
	}
}

func TestShownTextGrowsWithoutTouchingOlderCopies(t *testing.T) {
	var all []shownText
	var text shownText
	var want strings.Builder
	for i := range 1000 {
		piece := fmt.Sprintf("%d龙", i)
		want.WriteString(piece)
		text = text.add(piece)
		all = append(all, text)
	}
	if text.String() != want.String() {
		t.Error("text lost or changed")
	}
	if len(text) > 20 {
		t.Errorf("%d pieces", len(text))
	}
	fork := all[500].add("other")
	if !strings.HasSuffix(fork.String(), "500龙other") || !strings.HasSuffix(all[501].String(), "501龙") {
		t.Error("a fork changed another copy")
	}
	if slices.ContainsFunc(all[10:], func(s shownText) bool { return len(s) == 0 }) {
		t.Error("empty")
	}
}

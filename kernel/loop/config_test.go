package loop

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

func ptr[T any](v T) *T { return &v }

// Rule REF plugins.md §9.1: the authorised names are those declared, deferred ones too; the completion mode says who ends the run.
// Rule DEC Loop profiles: agent.completion says require and afterTools.
func TestNewConfig(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"segments":{"type":"array"}}}`)
	save := []ToolOffer{{Tool: model.Tool{Name: "save"}}}
	for _, c := range []struct {
		name       string
		rt         manifest.Runtime
		completion Completion
		segments   bool
		choice     model.ToolChoice
		tools      []string
	}{
		{"narrator", manifest.Runtime{IO: manifest.IO{Visibility: "story", OutputSchema: schema}}, CompleteByStory, true, model.ToolChoice{}, []string{"save"}},
		{"story in prose", manifest.Runtime{IO: manifest.IO{Visibility: "story"}, Agent: manifest.Agent{AfterTools: []string{RuntimeDone}}}, CompleteByStory, false, model.ToolChoice{}, []string{"save"}},
		{"tool only", manifest.Runtime{Agent: manifest.Agent{ToolChoice: "required", Require: "tool-use", AfterTools: []string{"save"}}}, CompleteByTool, false, model.ToolChoice{Mode: "required"}, []string{"save"}},
		{"runtime-done among the completing tools", manifest.Runtime{Agent: manifest.Agent{Require: "tool-use", AfterTools: []string{"save", RuntimeDone}}}, CompleteByTool, false, model.ToolChoice{}, []string{"save", RuntimeDone}},
		{"named tool", manifest.Runtime{Agent: manifest.Agent{ToolChoice: "save"}}, CompleteByRuntimeDone, false, model.ToolChoice{Named: "save"}, []string{"save", RuntimeDone}},
		{"schema", manifest.Runtime{IO: manifest.IO{OutputSchema: schema}}, CompleteByOutput, false, model.ToolChoice{}, []string{"save"}},
		{"plain", manifest.Runtime{}, CompleteByRuntimeDone, false, model.ToolChoice{}, []string{"save", RuntimeDone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := NewConfig(c.rt, save, "en")
			var tools []string
			for _, o := range got.Tools {
				tools = append(tools, o.Tool.Name)
			}
			if got.CompletionMode() != c.completion || CompletionOf(c.rt) != c.completion {
				t.Errorf("completion %s, want %s", got.CompletionMode(), c.completion)
			}
			if got.Segments != c.segments || got.ToolChoice != c.choice || !reflect.DeepEqual(tools, c.tools) {
				t.Errorf("segments %v, choice %+v, tools %v", got.Segments, got.ToolChoice, tools)
			}
		})
	}
	if len(save) != 1 {
		t.Error("the caller's offers were changed")
	}
}

func TestLoopDetectionOfARuntime(t *testing.T) {
	for _, c := range []struct {
		written *int
		want    int
	}{{nil, 3}, {ptr(0), -1}, {ptr(5), 5}} {
		got, err := NewConfig(manifest.Runtime{Agent: manifest.Agent{LoopDetection: c.written}}, nil, "en").normalise()
		if err != nil || got.LoopDetection != c.want {
			t.Errorf("%v gives %d (%v), want %d", c.written, got.LoopDetection, err, c.want)
		}
	}
}

func TestToolChoice(t *testing.T) {
	offers := []ToolOffer{{Tool: model.Tool{Name: "look"}}, {Tool: model.Tool{Name: "save"}}}
	named, required, none := model.ToolChoice{Named: "save"}, model.ToolChoice{Mode: "required"}, model.ToolChoice{Mode: "none"}
	for _, c := range []struct {
		name string
		s    State
		want model.ToolChoice
	}{
		{"auto", State{}, model.ToolChoice{}},
		{"as configured", State{Config: Config{ToolChoice: named}}, named},
		{"a hook's", State{Config: Config{ToolChoice: named}, StepChoice: &model.ToolChoice{}}, model.ToolChoice{}},
		{"forced", State{ForceTool: true}, required},
		{"a named tool is kept when forced", State{Config: Config{ToolChoice: named}, ForceTool: true}, named},
		{"a named tool that is not on offer", State{Config: Config{ToolChoice: named}, Narrowed: true, Offer: []string{"look"}}, model.ToolChoice{}},
		{"off", State{Config: Config{ToolChoice: required}, ToolsOff: true}, none},
		{"off in a repair", State{Call: modelCall{Purpose: ForRepair}}, none},
		{"nothing on offer", State{ForceTool: true, Narrowed: true}, model.ToolChoice{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.s.Call.Purpose == "" {
				c.s.Call.Purpose = ForStep
			}
			c.s.Config.Tools = offers
			m := machine{s: c.s}
			if got := m.toolChoice(m.offered()); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Rule REF plugins.md §9.1: the private schema is the response format, unless a required completing tool gives the output.
// Rule REF plugins.md §9.1: a completing tool's result is the output where there is a schema, tool-use and afterTools, and no story.
func TestResponseFormat(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	save := manifest.Agent{Require: RequireToolUse, AfterTools: []string{"save"}}
	for name, c := range map[string]struct {
		rt       manifest.Runtime
		format   string
		fromTool bool
	}{
		"no schema":                {manifest.Runtime{}, "", false},
		"a schema":                 {manifest.Runtime{IO: manifest.IO{OutputSchema: schema}}, "output", false},
		"a completing tool":        {manifest.Runtime{IO: manifest.IO{OutputSchema: schema}, Agent: save}, "", true},
		"tool-use without a list":  {manifest.Runtime{IO: manifest.IO{OutputSchema: schema}, Agent: manifest.Agent{Require: RequireToolUse}}, "output", false},
		"a list without tool-use":  {manifest.Runtime{IO: manifest.IO{OutputSchema: schema}, Agent: manifest.Agent{AfterTools: []string{"save"}}}, "output", false},
		"a story":                  {manifest.Runtime{IO: manifest.IO{Visibility: manifest.VisibilityStory, OutputSchema: schema}}, "story", false},
		"a story with such a tool": {manifest.Runtime{IO: manifest.IO{Visibility: manifest.VisibilityStory, OutputSchema: schema}, Agent: save}, "story", false},
	} {
		config := NewConfig(c.rt, nil, "en")
		_, effects := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "嗯"}}})
		got := ""
		if f := effects[len(effects)-1].(CallModel).Request.ResponseFormat; f != nil {
			got = f.Name
		}
		if got != c.format || config.outputFromTool() != c.fromTool {
			t.Errorf("%s: format %q, output from the tool %v", name, got, config.outputFromTool())
		}
	}
}

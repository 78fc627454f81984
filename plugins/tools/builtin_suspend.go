package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

type suspendArgs struct {
	Reason string      `json:"reason" jsonschema:"minLength=1" describe:"Short explanation shown to the player."`
	Fields []FormField `json:"fields" jsonschema:"minItems=1" describe:"What the player is asked for."`
}

// suspendMark is the sentinel of suspend. Only a successful call of this tool suspends a run.
type suspendMark struct {
	Suspend      bool            `json:"_covelSuspend"`
	Reason       string          `json:"reason"`
	ResumeSchema json.RawMessage `json:"resumeSchema"`
}

var suspend = sdk.MustDefine(sdk.Tool{
	Name: Suspend,
	Description: "Pause this run until the player has answered, then continue with the answer. Ask only for what cannot be known " +
		"otherwise, and call it alone: calls after it are not run.",
}, func(_ context.Context, a suspendArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	var r report
	if strings.TrimSpace(a.Reason) == "" {
		r.add("reason", "is required")
	}
	names := map[string]bool{}
	for i, f := range a.Fields {
		at := fmt.Sprintf("fields[%d].", i)
		if names[f.Name] && f.Name != "" {
			r.add(at+"name", "%q is used twice; every field needs its own name", f.Name)
		}
		names[f.Name] = true
		f.check(&r, at)
	}
	if len(r.issues) > 0 {
		return sdk.ToolResult{}, issuesError(r.issues).WithHint(resend)
	}
	compiled, err := answerSchema(a.Fields)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	return sdk.ToolResult{Content: suspendMark{Suspend: true, Reason: a.Reason, ResumeSchema: compiled}}, nil
})

// property is what a field demands of its value. step and the labels of options are not part of it (seed: tools.txt,
// "suspend", table "Compiled property").
type property struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	MinLength int      `json:"minLength,omitempty"`
	Minimum   *float64 `json:"minimum,omitempty"`
	Maximum   *float64 `json:"maximum,omitempty"`
	Enum      []string `json:"enum,omitempty"`
	Default   any      `json:"default,omitempty"`
}

// answerSchema compiles the fields of a suspend call to the JSON Schema of the answer, an object keyed by field name. The
// properties keep the order of the fields, in which the player is asked.
func answerSchema(fields []FormField) (json.RawMessage, error) {
	var out bytes.Buffer
	var required []string
	out.WriteString(`{"type":"object","properties":{`)
	for i, f := range fields {
		name, err := plainjson.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := plainjson.Marshal(f.property())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	out.WriteString(`},"additionalProperties":false`)
	if len(required) > 0 {
		names, err := plainjson.Marshal(required)
		if err != nil {
			return nil, err
		}
		out.WriteString(`,"required":`)
		out.Write(names)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (f FormField) property() property {
	p := property{Type: "string", Title: f.Label, Default: f.DefaultValue}
	switch f.Type {
	case NumberField:
		p.Type, p.Minimum, p.Maximum = "number", f.Min, f.Max
	case CheckboxField:
		p.Type = "boolean"
	case SelectField:
		for _, o := range f.Options {
			p.Enum = append(p.Enum, o.Value)
		}
	default:
		if f.Required {
			p.MinLength = 1
		}
	}
	return p
}

package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// Interaction types.
const (
	FormInteraction         = "form"
	ChoiceInteraction       = "choice"
	ConfirmationInteraction = "confirmation"
)

// Field types of a form.
const (
	TextField     = "text"
	TextareaField = "textarea"
	SelectField   = "select"
	CheckboxField = "checkbox"
	NumberField   = "number"
)

// Interaction is a block that asks the player something, as it is stored, shown and answered (seed: tools.txt, "create-form"
// and "Interaction protocol"). Which fields are used depends on Type.
type Interaction struct {
	Type              string          `json:"type"`
	InteractionID     string          `json:"interactionId"`
	Title             string          `json:"title,omitempty"`   // form, confirmation
	Prompt            string          `json:"prompt,omitempty"`  // choice, confirmation
	Fields            []FormField     `json:"fields,omitempty"`  // form
	Choices           []Choice        `json:"choices,omitempty"` // choice
	SubmitLabel       string          `json:"submitLabel,omitempty"`
	NarrativeTemplate string          `json:"narrativeTemplate,omitempty"`
	Validation        *Validation     `json:"validation,omitempty"`
	SubmitBehavior    *SubmitBehavior `json:"submitBehavior,omitempty"`
	Notice            string          `json:"notice,omitempty"`
	ActionKind        string          `json:"actionKind,omitempty"`
}

// FormField is one field. DefaultValue is a finite number for number, a boolean for checkbox, else a string.
type FormField struct {
	Type         string   `json:"type" jsonschema:"enum=text,enum=textarea,enum=select,enum=checkbox,enum=number"`
	Name         string   `json:"name" jsonschema:"minLength=1" describe:"Unique field name; the template's placeholder."`
	Label        string   `json:"label" jsonschema:"minLength=1" describe:"Shown to the player, in the session's language."`
	Placeholder  string   `json:"placeholder,omitempty" describe:"Display only."`
	Options      []Option `json:"options,omitempty" describe:"For select."`
	Required     bool     `json:"required,omitempty"`
	DefaultValue any      `json:"defaultValue,omitempty" describe:"A number for number, true or false for checkbox, else a string. For select one of the options."`
	Min          *float64 `json:"min,omitempty" describe:"For number."`
	Max          *float64 `json:"max,omitempty" describe:"For number."`
	Step         *float64 `json:"step,omitempty" jsonschema:"exclusiveMinimum=0" describe:"For number; steps count from min, or from 0."`
}

// Option is one option of a select. A plain string is an option whose label is its value.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// UnmarshalJSON reads "fire" and {"value": "fire", "label": "Fire"}; a missing label is the value.
func (o *Option) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*o = Option{Value: text, Label: text}
		return nil
	}
	type plain Option
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("an option is a string or {value, label}")
	}
	if p.Label == "" {
		p.Label = p.Value
	}
	*o = Option(p)
	return nil
}

// JSONSchema lets a model write either form.
func (Option) JSONSchema() *jsonschema.Schema {
	props := jsonschema.NewProperties()
	props.Set("value", &jsonschema.Schema{Type: "string"})
	props.Set("label", &jsonschema.Schema{Type: "string"})
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"},
		{Type: "object", Properties: props, Required: []string{"value", "label"}},
	}}
}

// Choice is one option of a choice block.
type Choice struct {
	ID          string `json:"id" jsonschema:"minLength=1"`
	Label       string `json:"label" jsonschema:"minLength=1"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty" describe:"For example safe, aggressive, creative or wild."`
}

// Validation names a form validator of the plugin that emits the form. Data is sent to the client: nothing secret in it.
type Validation struct {
	Name string          `json:"name" jsonschema:"minLength=1"`
	Data json.RawMessage `json:"data,omitempty"`
}

// SubmitBehavior says what happens with an answer besides being stored.
type SubmitBehavior struct {
	EchoFilledNarrative *bool `json:"echoFilledNarrative,omitempty" describe:"false keeps the filled sentence out of the conversation."`
}

var actionKind = regexp.MustCompile(`^(say|act|command|[a-z][a-z0-9-]*/[A-Za-z][A-Za-z0-9_-]*)$`)

// Kind is the action kind an answer is submitted as: act for a form and a confirmation, say for a choice, when the block
// names none.
func (b Interaction) Kind() string {
	switch {
	case b.ActionKind != "":
		return b.ActionKind
	case b.Type == ChoiceInteraction:
		return "say"
	}
	return "act"
}

// Map is the block as data of an interaction.request.
func (b Interaction) Map() map[string]any {
	raw, err := json.Marshal(b)
	if err != nil { // every field was read from JSON
		return map[string]any{}
	}
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return map[string]any{}
	}
	return m
}

// ReadInteraction reads and checks a block: JSON as a tool or a handler returned it. Every issue is reported at once.
func ReadInteraction(raw json.RawMessage) (Interaction, []schema.Issue) {
	var b Interaction
	if err := json.Unmarshal(raw, &b); err != nil {
		issue := schema.Issue{Message: err.Error()}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			issue = schema.Issue{Path: wrong.Field, Message: "got " + wrong.Value + ", which does not belong there"}
		}
		return b, []schema.Issue{issue}
	}
	return b, b.Check()
}

// Check applies the rules of blocks and form fields (seed: tools.txt, "create-form", "Rules for field values").
func (b Interaction) Check() []schema.Issue {
	var r report
	if strings.TrimSpace(b.InteractionID) == "" {
		r.add("interactionId", "is required")
	}
	if b.ActionKind != "" && !actionKind.MatchString(b.ActionKind) {
		r.add("actionKind", "must be say, act, command or <pluginId>/<name>, got %q", b.ActionKind)
	}
	switch b.Type {
	case FormInteraction:
		if len(b.Fields) == 0 {
			r.add("fields", "a form needs at least one field")
		}
		if b.Validation != nil && b.Validation.Name == "" {
			r.add("validation.name", "is required")
		}
		names := map[string]bool{}
		for i, f := range b.Fields {
			at := fmt.Sprintf("fields[%d].", i)
			if names[f.Name] && f.Name != "" {
				r.add(at+"name", "%q is used twice; every field needs its own name", f.Name)
			}
			names[f.Name] = true
			f.check(&r, at)
		}
	case ChoiceInteraction:
		if len(b.Choices) < 2 {
			r.add("choices", "at least 2 choices are needed, got %d", len(b.Choices))
		}
		ids := map[string]bool{}
		for i, c := range b.Choices {
			at := fmt.Sprintf("choices[%d].", i)
			switch {
			case strings.TrimSpace(c.ID) == "":
				r.add(at+"id", "is required")
			case ids[c.ID]:
				r.add(at+"id", "%q is used twice; every choice needs its own id", c.ID)
			}
			ids[c.ID] = true
			if strings.TrimSpace(c.Label) == "" {
				r.add(at+"label", "is required")
			}
		}
	case ConfirmationInteraction:
	default:
		r.add("type", "must be form, choice or confirmation, got %q", b.Type)
	}
	return r.issues
}

type report struct{ issues []schema.Issue }

func (r *report) add(path, format string, args ...any) {
	r.issues = append(r.issues, schema.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
}

// check applies the rules of one field; at is its path with a dot at the end.
func (f FormField) check(r *report, at string) {
	if strings.TrimSpace(f.Name) == "" {
		r.add(at+"name", "is required; id cannot replace it")
	}
	if strings.TrimSpace(f.Label) == "" {
		r.add(at+"label", "is required")
	}
	values := map[string]bool{}
	for i, o := range f.Options {
		if values[o.Value] {
			r.add(fmt.Sprintf("%soptions[%d]", at, i), "%q is listed twice", o.Value)
		}
		values[o.Value] = true
	}
	switch f.Type {
	case NumberField:
		f.checkNumber(r, at)
	case CheckboxField:
		if _, ok := f.DefaultValue.(bool); f.DefaultValue != nil && !ok {
			r.add(at+"defaultValue", "a checkbox takes true or false, not a text")
		}
	case SelectField:
		if len(f.Options) == 0 {
			r.add(at+"options", "a select needs at least one option")
		}
		s, isText := f.DefaultValue.(string)
		switch {
		case f.DefaultValue == nil:
		case !isText:
			r.add(at+"defaultValue", "must be a string")
		case s != "" && !f.hasOption(s):
			r.add(at+"defaultValue", "%q is none of the options (%s)", s, f.optionList())
		}
	case TextField, TextareaField:
		if _, ok := f.DefaultValue.(string); f.DefaultValue != nil && !ok {
			r.add(at+"defaultValue", "must be a string")
		}
	default:
		r.add(at+"type", "must be text, textarea, select, checkbox or number, got %q", f.Type)
	}
	if f.Type != NumberField && (f.Min != nil || f.Max != nil || f.Step != nil) {
		r.add(at+"type", "min, max and step belong to number fields, not to %s", f.Type)
	}
}

func (f FormField) checkNumber(r *report, at string) {
	finite := true
	for _, b := range []struct {
		name  string
		value *float64
	}{{"min", f.Min}, {"max", f.Max}, {"step", f.Step}} {
		if b.value != nil && (math.IsNaN(*b.value) || math.IsInf(*b.value, 0)) {
			r.add(at+b.name, "must be a finite number")
			finite = false
		}
	}
	if f.Step != nil && *f.Step <= 0 {
		r.add(at+"step", "must be more than 0, got %s", sdk.TemplateText(*f.Step))
		finite = false
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		r.add(at+"min", "must not be more than max")
		finite = false
	}
	if f.DefaultValue == nil {
		return
	}
	n, ok := f.DefaultValue.(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		r.add(at+"defaultValue", "a number field takes a finite number, not a text")
		return
	}
	if finite {
		if wrong := f.numberProblem(n); wrong != numberFits {
			r.add(at+"defaultValue", "%s does not fit min, max or step", sdk.TemplateText(n))
		}
	}
}

func (f FormField) hasOption(value string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value })
}

func (f FormField) optionList() string {
	out := make([]string, len(f.Options))
	for i, o := range f.Options {
		out[i] = o.Value
	}
	return strings.Join(out, ", ")
}

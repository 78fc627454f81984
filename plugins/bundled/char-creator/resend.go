package charcreator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// Why an answer that was accepted can no longer be used.
type problemKind int

const (
	nameMissing problemKind = iota // no letter in it
	nameInUse                      // somebody of the world has the name by now
	askAgain                       // the attribute wants another answer than it did
	notAsked                       // the attribute can no longer be chosen by a player
)

type problem struct {
	field string
	kind  problemKind
}

// answerProblems says which values of an accepted answer the world takes no more. Values of attributes the world does not
// declare are kept: a character may have them.
func answerProblems(values map[string]any, schema sdk.CharacterSchema, rt *sdk.Runtime) []problem {
	var problems []problem
	name := text(values[nameField])
	if sdk.NameKey(name) == "" {
		problems = append(problems, problem{nameField, nameMissing})
	} else if _, taken := sdk.NameOwner(rt.Characters(), name, ""); taken {
		problems = append(problems, problem{nameField, nameInUse})
	}
	for _, a := range schema.Attributes {
		v, answered := values[a.ID]
		if !answered || unanswered(v) || nameAttributes[a.ID] {
			continue
		}
		if len(sdk.ValidateFields(schema, map[string]any{a.ID: v})) == 0 {
			continue
		}
		kind := notAsked
		if a.Type == sdk.AttrString || a.Type == sdk.AttrEnum {
			kind = askAgain
		}
		problems = append(problems, problem{a.ID, kind})
	}
	return problems
}

// sendAgain sends the form once more: with a notice that says what happened and what to do, and with the answers that are
// still good already filled in. The kernel voids the earlier form, which has the same interaction id, and with it the
// answer (seed: tools.txt, "Notice notice").
func sendAgain(values map[string]any, problems []problem, schema sdk.CharacterSchema, rt *sdk.Runtime) (sdk.GuardResult, error) {
	bad := map[string]bool{}
	for _, p := range problems {
		bad[p.field] = true
	}
	old := sentForm(values, schema, rt)
	again := form{
		Title:             old.Title,
		SubmitLabel:       old.SubmitLabel,
		NarrativeTemplate: old.NarrativeTemplate,
	}
	kept := false
	for _, f := range old.Fields {
		f, keep := fitted(f, schema)
		if !keep {
			continue
		}
		if bad[f.Name] {
			f.DefaultValue = ""
		} else if v := text(values[f.Name]); v != "" {
			f.DefaultValue, kept = v, true
		}
		if f.Type == typeSelect && !slices.Contains(f.Options, f.DefaultValue) {
			f.DefaultValue = ""
		}
		again.Fields = append(again.Fields, f)
	}
	if !usesOnlyItsFields(again) {
		again.NarrativeTemplate = sdk.Translate(rt.Messages, "My name is {{characterName}}.", nil)
	}
	why := reasons(problems, values, old, rt.Messages)
	if kept {
		why = append(why, sdk.Translate(rt.Messages, "Your other answers are already filled in.", nil))
	}
	again.Notice = paragraph(why)
	block, err := again.block(rt)
	if err != nil {
		return sdk.GuardResult{}, err
	}
	result := waiting()
	result.Effects.Interactions = []map[string]any{block}
	return result, nil
}

// sentForm is the form as it was sent. Without a record of it, it is drawn up from the answer.
func sentForm(values map[string]any, schema sdk.CharacterSchema, rt *sdk.Runtime) form {
	var f form
	if kept := rt.PluginData.Get(formsNamespace, formID); kept != nil && json.Unmarshal(kept, &f) == nil && f.field(nameField) != nil {
		return f
	}
	say := func(key string) string { return sdk.Translate(rt.Messages, key, nil) }
	f = form{
		Title:             say("Who are you?"),
		SubmitLabel:       say("Begin"),
		NarrativeTemplate: say("My name is {{characterName}}."),
		Fields:            []field{{Type: typeText, Name: nameField, Label: say("Name"), Required: true}},
	}
	for _, a := range collectable(schema) {
		if _, asked := values[a.ID]; asked && len(f.Fields) < maxFields {
			f.Fields = append(f.Fields, field{Type: typeText, Name: a.ID, Label: a.Name})
		}
	}
	return f
}

// fitted makes a field of an older form fit the schema of today; false when the field can no longer be asked for.
func fitted(f field, schema sdk.CharacterSchema) (field, bool) {
	if f.Name == nameField {
		return f, true
	}
	a, declared := attribute(schema, f.Name)
	switch {
	case !declared:
		return f, false
	case isChoice(a):
		f.Type = typeSelect
		if kept := within(f.Options, a.Options); len(kept) > 0 {
			f.Options = kept
		} else {
			f.Options = distinct(a.Options)
		}
	case a.Type == sdk.AttrString || a.Type == sdk.AttrEnum:
		f.Options = nil
		if f.Type == typeSelect {
			f.Type = typeText
		}
	default:
		return f, false
	}
	return f, true
}

// within gives the items of list that are in known.
func within(list, known []string) []string {
	var out []string
	for _, s := range list {
		if slices.Contains(known, s) {
			out = append(out, s)
		}
	}
	return out
}

func usesOnlyItsFields(f form) bool {
	for _, p := range piecesOf(f) {
		if p.field != "" && f.field(p.field) == nil {
			return false
		}
	}
	return true
}

// reasons says in the session's language why the form is back and what to do, one sentence or two for each problem.
func reasons(problems []problem, values map[string]any, old form, messages sdk.Messages) []string {
	var out []string
	for _, p := range problems {
		label := p.field
		if f := old.field(p.field); f != nil {
			label = f.Label
		}
		switch p.kind {
		case nameMissing:
			out = append(out, sdk.Translate(messages, "Please give the character a name.", nil))
		case nameInUse:
			out = append(out, nameTaken(messages, text(values[nameField])))
		case askAgain:
			out = append(out, sdk.Translate(messages, "Your answer to “{field}” no longer fits this world. Please answer it again.",
				map[string]any{"field": label}))
		case notAsked:
			out = append(out, sdk.Translate(messages, "“{field}” is now decided by the world itself and is no longer asked for.",
				map[string]any{"field": label}))
		}
	}
	return out
}

// paragraph joins sentences, with a space only after marks that do not bring their own.
func paragraph(sentences []string) string {
	var out strings.Builder
	for i, s := range sentences {
		if i > 0 && !strings.HasSuffix(sentences[i-1], "。") {
			out.WriteByte(' ')
		}
		out.WriteString(s)
	}
	return out.String()
}

// text reads a string answer without the space around it; "" for anything else.
func text(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// unanswered says whether a field was left empty.
func unanswered(v any) bool {
	s, isText := v.(string)
	return v == nil || isText && strings.TrimSpace(s) == ""
}

package terminal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	"github.com/covel/covel/plugins/tools"
)

// question is an open interaction with its block.
type question struct {
	client.InteractionRef
	Block tools.Interaction
}

// readQuestion reads an interaction; ok false when its block cannot be shown.
func readQuestion(i play.Interaction) (q question, ok bool) {
	q.InteractionRef = client.InteractionRef{TurnID: i.TurnID, InteractionID: i.InteractionID, Type: i.Type}
	if json.Unmarshal(i.Block, &q.Block) != nil {
		return q, false
	}
	return q, q.Type != tools.FormInteraction || len(q.Block.Fields) > 0
}

// answer is the action that answers the question.
func (q question) answer(fields map[string]any) client.Action {
	ref := q.InteractionRef
	return client.Action{Interaction: &ref, Fields: fields}
}

// choose gives the values that stand for a player's words: the number, id or label of a choice; yes or no.
func (q question) choose(words string) (fields map[string]any, ok bool) {
	words = strings.TrimSpace(words)
	switch q.Type {
	case tools.ConfirmationInteraction:
		yes, ok := yesOrNo(words)
		return map[string]any{"confirmed": yes}, ok
	case tools.ChoiceInteraction:
		var names []string
		for _, c := range q.Block.Choices {
			names = append(names, c.ID, c.Label)
		}
		if i, ok := pick(words, names, len(q.Block.Choices), 2); ok {
			return map[string]any{"selectedId": q.Block.Choices[i].ID}, true
		}
	}
	return nil, false
}

// pick finds a choice by number from 1, or by one of its names; each choice has so many names.
func pick(words string, names []string, choices, each int) (int, bool) {
	if n, err := strconv.Atoi(words); err == nil && n >= 1 && n <= choices {
		return n - 1, true
	}
	for i, name := range names {
		if name == words {
			return i / each, true
		}
	}
	for i, name := range names {
		if strings.EqualFold(strings.TrimSpace(name), words) {
			return i / each, true
		}
	}
	return 0, false
}

func yesOrNo(words string) (yes, ok bool) {
	switch strings.ToLower(words) {
	case "y", "yes", "true", "1", "是", "好", "确认":
		return true, true
	case "n", "no", "false", "0", "否", "不", "取消":
		return false, true
	}
	return false, false
}

// fieldValue reads what a player wrote into a field. Empty is no value: the server then takes the default. What a number
// or a text may be is the server's to say.
func fieldValue(f tools.FormField, words string, t *texts) (value any, err error) {
	words = strings.TrimSpace(words)
	if words == "" {
		return nil, nil
	}
	switch f.Type {
	case tools.SelectField:
		var names []string
		for _, o := range f.Options {
			names = append(names, o.Value, o.Label)
		}
		i, ok := pick(words, names, len(f.Options), 2)
		if !ok {
			return nil, fmt.Errorf("%s", t.notOption)
		}
		return f.Options[i].Value, nil
	case tools.CheckboxField:
		yes, ok := yesOrNo(words)
		if !ok {
			return nil, fmt.Errorf("%s", t.notYesNo)
		}
		return yes, nil
	}
	return words, nil
}

// fieldPrompt says what a field is and how it is answered, in one line.
func fieldPrompt(f tools.FormField, t *texts) string {
	var hints []string
	switch f.Type {
	case tools.SelectField:
		hints = append(hints, t.choose)
	case tools.CheckboxField:
		hints = append(hints, t.yesNo)
	}
	if f.Placeholder != "" {
		hints = append(hints, f.Placeholder)
	}
	switch value := defaultText(f, t); {
	case value != "":
		hints = append(hints, fmt.Sprintf(t.defaultValue, value))
	case f.Required:
		hints = append(hints, t.required)
	default:
		hints = append(hints, t.optional)
	}
	return Printable(oneLine(f.Label + t.open + strings.Join(hints, t.semicolon) + t.end))
}

func defaultText(f tools.FormField, t *texts) string {
	switch v := f.DefaultValue.(type) {
	case bool:
		if v {
			return t.yes
		}
		return t.no
	case string:
		for _, o := range f.Options {
			if o.Value == v {
				return o.Label
			}
		}
		return v
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// asking is a form being asked field by field.
type asking struct {
	question
	fields []tools.FormField // still to be asked; the first is being asked
	values map[string]any
	said   bool // the field being asked stands on the screen
}

func ask(q question) *asking {
	return &asking{question: q, fields: q.Block.Fields, values: map[string]any{}}
}

// again asks the fields that were refused once more, all of them when no field was named.
func (a *asking) again(issues []client.Issue) {
	refused := map[string]bool{}
	for _, is := range issues {
		refused[is.Field] = true
	}
	a.fields, a.said = nil, false
	for _, f := range a.Block.Fields {
		if refused[f.Name] {
			a.fields = append(a.fields, f)
		}
	}
	if a.fields == nil {
		a.fields = a.Block.Fields
	}
}

// take fills the field being asked; done says that it was the last.
func (a *asking) take(words string, t *texts) (done bool, err error) {
	f := a.fields[0]
	value, err := fieldValue(f, words, t)
	if err != nil {
		return false, err
	}
	delete(a.values, f.Name)
	if value != nil {
		a.values[f.Name] = value
	}
	a.fields, a.said = a.fields[1:], false
	return len(a.fields) == 0, nil
}

package tools

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seed: tools.txt, "Rules for field values", and the rules of choices.
func TestInteractionRules(t *testing.T) {
	form := func(fields string) string { return `{"type":"form","interactionId":"f","fields":[` + fields + `]}` }
	for name, c := range map[string]struct {
		block string
		want  string // issues joined, "" for none
	}{
		"text":     {form(`{"type":"text","name":"姓名","label":"姓名","defaultValue":"陆青云","placeholder":"…"}`), ""},
		"textarea": {form(`{"type":"textarea","name":"a","label":"A","required":true}`), ""},
		"select":   {form(`{"type":"select","name":"a","label":"A","options":["水",{"value":"火","label":"Fire"}],"defaultValue":"火"}`), ""},
		"checkbox": {form(`{"type":"checkbox","name":"a","label":"A","defaultValue":false}`), ""},
		"number":   {form(`{"type":"number","name":"a","label":"A","min":1,"max":10,"step":0.5,"defaultValue":0}`), "fields[0].defaultValue: 0 does not fit min, max or step"},
		"number 0": {form(`{"type":"number","name":"a","label":"A","defaultValue":0}`), ""},

		"a type that does not exist":        {form(`{"type":"date","name":"a","label":"A"}`), `fields[0].type: must be text, textarea, select, checkbox or number, got "date"`},
		"id cannot replace name":            {form(`{"type":"text","id":"a","label":"A"}`), "fields[0].name: is required; id cannot replace it"},
		"no label":                          {form(`{"type":"text","name":"a","label":" "}`), "fields[0].label: is required"},
		"two fields of one name":            {form(`{"type":"text","name":"a","label":"A"},{"type":"text","name":"a","label":"B"}`), `fields[1].name: "a" is used twice; every field needs its own name`},
		"a select default of no option":     {form(`{"type":"select","name":"a","label":"A","options":["水"],"defaultValue":"火"}`), `fields[0].defaultValue: "火" is none of the options (水)`},
		"a select without options":          {form(`{"type":"select","name":"a","label":"A"}`), "fields[0].options: a select needs at least one option"},
		"an option twice":                   {form(`{"type":"select","name":"a","label":"A","options":["水","水"]}`), `fields[0].options[1]: "水" is listed twice`},
		"a number default as text":          {form(`{"type":"number","name":"a","label":"A","defaultValue":"5"}`), "fields[0].defaultValue: a number field takes a finite number, not a text"},
		"a checkbox default as text":        {form(`{"type":"checkbox","name":"a","label":"A","defaultValue":"true"}`), "fields[0].defaultValue: a checkbox takes true or false, not a text"},
		"a text default as number":          {form(`{"type":"text","name":"a","label":"A","defaultValue":5}`), "fields[0].defaultValue: must be a string"},
		"a step of nothing":                 {form(`{"type":"number","name":"a","label":"A","step":0}`), "fields[0].step: must be more than 0, got 0"},
		"min above max":                     {form(`{"type":"number","name":"a","label":"A","min":3,"max":1}`), "fields[0].min: must not be more than max"},
		"min for a text":                    {form(`{"type":"text","name":"a","label":"A","min":3}`), "fields[0].type: min, max and step belong to number fields, not to text"},
		"a form without fields":             {form(``), "fields: a form needs at least one field"},
		"a validator without a name":        {`{"type":"form","interactionId":"f","fields":[{"type":"text","name":"a","label":"A"}],"validation":{}}`, "validation.name: is required"},
		"every issue at once":               {`{"type":"form","fields":[{"type":"x","name":"","label":""}]}`, `interactionId: is required; fields[0].name: is required; id cannot replace it; fields[0].label: is required; fields[0].type: must be text, textarea, select, checkbox or number, got "x"`},
		"an action kind of a plugin":        {`{"type":"form","interactionId":"f","actionKind":"dice-check/roll","fields":[{"type":"text","name":"a","label":"A"}]}`, ""},
		"an action kind that is none":       {`{"type":"form","interactionId":"f","actionKind":"Shout","fields":[{"type":"text","name":"a","label":"A"}]}`, `actionKind: must be say, act, command or <pluginId>/<name>, got "Shout"`},
		"choices":                           {`{"type":"choice","interactionId":"c","prompt":"?","choices":[{"id":"a","label":"跟随黑袍人"},{"id":"b","label":"B"}]}`, ""},
		"one choice":                        {`{"type":"choice","interactionId":"c","choices":[{"id":"a","label":"A"}]}`, "choices: at least 2 choices are needed, got 1"},
		"choices with one id":               {`{"type":"choice","interactionId":"c","choices":[{"id":"a","label":"A"},{"id":"a","label":""}]}`, `choices[1].id: "a" is used twice; every choice needs its own id; choices[1].label: is required`},
		"confirmation":                      {`{"type":"confirmation","interactionId":"c","title":"Leave?"}`, ""},
		"another type":                      {`{"type":"poll","interactionId":"c"}`, `type: must be form, choice or confirmation, got "poll"`},
		"fields that are no list":           {`{"type":"form","interactionId":"f","fields":"x"}`, "fields: got string, which does not belong there"},
		"an option that is neither of both": {form(`{"type":"select","name":"a","label":"A","options":[5]}`), "an option is a string or {value, label}"},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := ReadInteraction(json.RawMessage(c.block))
			var got []string
			for _, i := range issues {
				got = append(got, i.String())
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestInteractionKindAndMap(t *testing.T) {
	for _, c := range []struct {
		block Interaction
		want  string
	}{
		{Interaction{Type: FormInteraction}, "act"}, {Interaction{Type: ConfirmationInteraction}, "act"}, {Interaction{Type: ChoiceInteraction}, "say"},
		{Interaction{Type: ChoiceInteraction, ActionKind: "act"}, "act"},
	} {
		if got := c.block.Kind(); got != c.want {
			t.Errorf("%+v: %s", c.block, got)
		}
	}
	b, _ := ReadInteraction(json.RawMessage(`{"type":"form","interactionId":"f","fields":[{"type":"select","name":"a","label":"A","options":["水"]},{"type":"checkbox","name":"b","label":"B","defaultValue":false}]}`))
	want := map[string]any{"type": "form", "interactionId": "f", "fields": []any{
		map[string]any{"type": "select", "name": "a", "label": "A", "options": []any{map[string]any{"value": "水", "label": "水"}}},
		map[string]any{"type": "checkbox", "name": "b", "label": "B", "defaultValue": false},
	}}
	if diff := cmp.Diff(want, b.Map()); diff != "" {
		t.Error(diff)
	}
}

var sheetForm = Interaction{Type: FormInteraction, InteractionID: "char", NarrativeTemplate: "你叫{{姓名}}，{{age}}岁，{{root}}灵根。", Fields: []FormField{
	{Type: TextField, Name: "姓名", Label: "姓名", Required: true},
	{Type: NumberField, Name: "age", Label: "年龄", Min: num(10), Max: num(99), Step: num(0.5), DefaultValue: 20.0},
	{Type: NumberField, Name: "luck", Label: "Luck", Step: num(0.1)},
	{Type: NumberField, Name: "must", Label: "Must", Required: true, DefaultValue: 0.0},
	{Type: SelectField, Name: "root", Label: "灵根", Options: []Option{{"水", "水"}, {"火", "火"}}, DefaultValue: "水"},
	{Type: CheckboxField, Name: "ready", Label: "Ready", DefaultValue: false},
	{Type: CheckboxField, Name: "oath", Label: "Oath"},
	{Type: TextareaField, Name: "past", Label: "Past"},
}}

func num(f float64) *float64 { return &f }

// seed: tools.txt, "Rules for field values", and "The framework's own field checks fail".
func TestSubmitForm(t *testing.T) {
	base := map[string]any{"姓名": "陆青云", "age": 20.0, "must": 0.0, "root": "水", "ready": false}
	with := func(more map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range base {
			out[k] = v
		}
		for k, v := range more {
			if v == nil {
				delete(out, k)
				continue
			}
			out[k] = v
		}
		return out
	}
	for name, c := range map[string]struct {
		values string
		want   map[string]any
		issues []string // en
		zh     []string
	}{
		"fields that are not sent use their defaults": {`{"姓名":"陆青云"}`, base, nil, nil},
		"an empty text uses its default":              {`{"姓名":"陆青云","root":""}`, base, nil, nil},
		"0 and false are values":                      {`{"姓名":"陆青云","luck":0,"ready":false,"oath":true}`, with(map[string]any{"luck": 0.0, "oath": true}), nil, nil},
		"a number as text":                            {`{"姓名":"陆青云","age":" 21.5 ","luck":"-0.3"}`, with(map[string]any{"age": 21.5, "luck": -0.3}), nil, nil},
		"full-width digits":                           {`{"姓名":"陆青云","age":"２１"}`, with(map[string]any{"age": 21.0}), nil, nil},
		"a cleared number is neither 0 nor default":   {`{"姓名":"陆青云","age":""}`, with(map[string]any{"age": nil}), nil, nil},
		"a cleared number, null":                      {`{"姓名":"陆青云","age":null}`, with(map[string]any{"age": nil}), nil, nil},
		"a step in decimals":                          {`{"姓名":"陆青云","luck":0.3}`, with(map[string]any{"luck": 0.3}), nil, nil},
		"an optional text that is empty":              {`{"姓名":"陆青云","past":""}`, with(map[string]any{"past": ""}), nil, nil},
		"required text": {`{"姓名":"  "}`, nil,
			[]string{"姓名: “姓名” is required."}, []string{"姓名: 请填写“姓名”。"}},
		"a required number that was cleared": {`{"姓名":"龙胆","must":""}`, nil,
			[]string{"must: “Must” is required."}, []string{"must: 请填写“Must”。"}},
		"all checks at once": {`{"age":9,"luck":"much","root":"木","ready":"yes","past":5}`, nil,
			[]string{"姓名: “姓名” is required.", "age: “年龄” must be at least 10.", "luck: “Luck” must be a number.", "root: “灵根”: choose one of the listed options.", "ready: “Ready” must be yes or no.", "past: “Past” must be text."},
			[]string{"姓名: 请填写“姓名”。", "age: “年龄”不能小于 10。", "luck: “Luck”必须是数字。", "root: “灵根”：请选择列出的选项之一。", "ready: “Ready”只能选择“是”或“否”。", "past: “Past”必须是文字。"}},
		"above max": {`{"姓名":"a","age":100}`, nil, []string{"age: “年龄” must be at most 99."}, []string{"age: “年龄”不能大于 99。"}},
		"off the step, counted from min": {`{"姓名":"a","age":10.2,"luck":0.15}`, nil,
			[]string{"age: “年龄” must count from 10 in steps of 0.5.", "luck: “Luck” must be a multiple of 0.1."},
			[]string{"age: “年龄”必须从 10 起，每次增加 0.5。", "luck: “Luck”必须是 0.1 的倍数。"}},
		"not a number": {`{"姓名":"a","luck":"0x10","must":"Infinity","age":"1e999"}`, nil,
			[]string{"age: “年龄” must be a number.", "luck: “Luck” must be a number.", "must: “Must” must be a number."},
			[]string{"age: “年龄”必须是数字。", "luck: “Luck”必须是数字。", "must: “Must”必须是数字。"}},
		"an unknown field": {`{"姓名":"a","constructor":1}`, nil, []string{"constructor: There is no field “constructor”."}, []string{"constructor: 没有名为“constructor”的字段。"}},
	} {
		t.Run(name, func(t *testing.T) {
			var values map[string]any
			if err := json.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			for locale, want := range map[string][]string{"en": c.issues, "zh-CN": c.zh} {
				got, issues := SubmitForm(sheetForm, values, locale)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				var texts []string
				for _, i := range issues {
					texts = append(texts, i.Field+": "+i.Message)
					if (i.Code == IssueUnknown) != (i.Field == "constructor") {
						t.Errorf("code %q", i.Code)
					}
				}
				if diff := cmp.Diff(want, texts); diff != "" {
					t.Errorf("%s:\n%s", locale, diff)
				}
			}
		})
	}
	_, issues := SubmitForm(sheetForm, map[string]any{"姓名": strings.Repeat("长", MaxFieldChars+1)}, "zh")
	if len(issues) != 1 || !strings.Contains(issues[0].Message, "太长了") {
		t.Errorf("a text of more than a message: %v", issues)
	}
	if _, issues := SubmitForm(sheetForm, map[string]any{"姓名": "a", "luck": math.NaN()}, "en"); len(issues) != 1 {
		t.Errorf("NaN: %v", issues)
	}
}

// seed: tools.txt, "Interaction types".
func TestSubmitChoiceAndConfirmation(t *testing.T) {
	choice := Interaction{Type: ChoiceInteraction, Choices: []Choice{{ID: "a", Label: "跟随黑袍人"}, {ID: "b", Label: "B"}}}
	got, issues := Submit(choice, map[string]any{"selectedId": "a", "selectedLabel": "a lie"}, "en")
	if diff := cmp.Diff(map[string]any{"selectedId": "a", "selectedLabel": "跟随黑袍人"}, got); diff != "" || issues != nil {
		t.Errorf("%s%v", diff, issues)
	}
	for _, v := range []any{"c", nil, 5.0} {
		if _, issues := Submit(choice, map[string]any{"selectedId": v}, "zh-CN"); len(issues) != 1 || issues[0].Message != "请选择列出的选项之一。" {
			t.Errorf("%v: %v", v, issues)
		}
	}
	confirm := Interaction{Type: ConfirmationInteraction}
	if got, issues := Submit(confirm, map[string]any{"confirmed": false}, "en"); issues != nil || got["confirmed"] != false {
		t.Errorf("%v %v", got, issues)
	}
	if _, issues := Submit(confirm, map[string]any{"confirmed": "yes", "x": 1}, "en"); len(issues) != 2 || issues[1].Code != IssueUnknown {
		t.Errorf("%v", issues)
	}
}

func TestNarrative(t *testing.T) {
	choice := Interaction{Type: ChoiceInteraction}
	confirm := Interaction{Type: ConfirmationInteraction}
	asked := Interaction{Type: ConfirmationInteraction, NarrativeTemplate: "Leave the tower: {{confirmed}}."}
	thought := Interaction{Type: ChoiceInteraction, NarrativeTemplate: "你思考片刻后决定：{{selectedLabel}}。"}
	plain := Interaction{Type: FormInteraction, Fields: []FormField{{Name: "a", Label: "姓名"}, {Name: "b", Label: "年龄"}, {Name: "c", Label: "-"}}}
	for name, c := range map[string]struct {
		block  Interaction
		values map[string]any
		locale string
		want   string
	}{
		"form":                    {sheetForm, map[string]any{"姓名": "陆青云", "age": 21.5, "root": "水"}, "zh-CN", "你叫陆青云，21.5岁，水灵根。"},
		"form without a template": {plain, map[string]any{"a": "龙胆", "b": 20.0}, "zh", "姓名：龙胆；年龄：20"},
		"the same in English":     {plain, map[string]any{"a": "Élodie", "b": 20.0}, "en", "姓名: Élodie; 年龄: 20"},
		"choice":                  {choice, map[string]any{"selectedLabel": "跟随黑袍人"}, "zh", "跟随黑袍人"},
		"choice with a template":  {thought, map[string]any{"selectedLabel": "走吧。"}, "zh", "你思考片刻后决定：走吧。"},
		"confirmation":            {confirm, map[string]any{"confirmed": true}, "en", "Confirm"},
		"confirmation, Chinese":   {confirm, map[string]any{"confirmed": false}, "zh-TW", "取消"},
		"confirmation, template":  {asked, map[string]any{"confirmed": false}, "en", "Leave the tower: Cancel."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Narrative(c.block, c.values, c.locale); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if v, ok := c.values["confirmed"]; ok {
				if _, changed := v.(string); changed {
					t.Error("the saved values were changed")
				}
			}
		})
	}
}

// What Submit accepts, it accepts again unchanged: a stored answer can be shown in a form and sent once more.
func TestSubmitIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]any{}
		for _, f := range sheetForm.Fields {
			if rapid.Bool().Draw(t, "send "+f.Name) {
				values[f.Name] = rapid.SampledFrom([]any{"", "陆青云", "12", "0.5", 12.0, 10.5, 0.3, true, false, nil, "水"}).Draw(t, f.Name)
			}
		}
		first, issues := SubmitForm(sheetForm, values, "en")
		if issues != nil {
			return
		}
		second, issues := SubmitForm(sheetForm, first, "en")
		for _, f := range sheetForm.Fields { // a number that was cleared has its default the next time
			if _, kept := first[f.Name]; !kept && f.DefaultValue != nil {
				delete(second, f.Name)
			}
		}
		if diff := cmp.Diff(first, second); diff != "" || issues != nil {
			t.Fatalf("%s%v", diff, issues)
		}
	})
}

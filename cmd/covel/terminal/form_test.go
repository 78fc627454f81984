package terminal

import (
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

func TestFieldValues(t *testing.T) {
	mood := tools.FormField{Type: "select", Name: "mood", Label: "Mood", Options: []tools.Option{{Value: "wry", Label: "爱说笑"}, {Value: "tender", Label: "Tender"}}}
	for _, c := range []struct {
		field tools.FormField
		words string
		want  any
		fails bool
	}{
		{mood, "2", "tender", false}, {mood, "爱说笑", "wry", false}, {mood, " TENDER ", "tender", false}, {mood, "", nil, false}, {mood, "3", nil, true}, {mood, "sad", nil, true},
		{tools.FormField{Type: "text"}, "  陆青云 ", "陆青云", false}, {tools.FormField{Type: "textarea"}, "a; b", "a; b", false}, {tools.FormField{Type: "number"}, "５", "５", false},
		{tools.FormField{Type: "checkbox"}, "y", true, false}, {tools.FormField{Type: "checkbox"}, "否", false, false}, {tools.FormField{Type: "checkbox"}, "maybe", nil, true},
	} {
		got, err := fieldValue(c.field, c.words, &english)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s %q: %v, %v", c.field.Type, c.words, got, err)
		}
	}
}

func TestFieldPrompts(t *testing.T) {
	for _, c := range []struct {
		field tools.FormField
		t     *texts
		want  string
	}{
		{tools.FormField{Label: "Your name", Required: true}, &english, "Your name (required)"},
		{tools.FormField{Label: "Trade", DefaultValue: "maps", Required: true}, &english, "Trade (Enter: maps)"},
		{tools.FormField{Label: "Trade", Placeholder: "what you do"}, &english, "Trade (what you do; Enter leaves it empty)"},
		{tools.FormField{Type: "select", Label: "性情", DefaultValue: "wry", Options: []tools.Option{{Value: "wry", Label: "爱说笑"}}}, &chinese, "性情（输入编号或文字；回车：爱说笑）"},
		{tools.FormField{Type: "checkbox", Label: "Ready", DefaultValue: true}, &english, "Ready (y or n; Enter: yes)"},
		{tools.FormField{Type: "number", Label: "Age\x1b[2J", DefaultValue: 7.5}, &english, "Age[2J (Enter: 7.5)"},
	} {
		if got := fieldPrompt(c.field, c.t); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestChoices(t *testing.T) {
	choice, ok := readQuestion(play.Interaction{TurnID: "t", InteractionID: "i", Type: "choice", Block: projections.RawJSON(`{"choices":[{"id":"left","label":"Go left"},{"id":"right","label":"往右走"}]}`)})
	if !ok {
		t.Fatal("not read")
	}
	for words, want := range map[string]string{"1": "left", "right": "right", "往右走": "right", "go LEFT": "left", "3": "", "up": ""} {
		fields, ok := choice.choose(words)
		if ok != (want != "") || ok && fields["selectedId"] != want {
			t.Errorf("%q: %v %v", words, fields, ok)
		}
	}
	confirm, _ := readQuestion(play.Interaction{Type: "confirmation", Block: projections.RawJSON(`{}`)})
	if fields, ok := confirm.choose("是"); !ok || fields["confirmed"] != true {
		t.Errorf("%v %v", fields, ok)
	}
	if _, ok := confirm.choose("perhaps"); ok {
		t.Error("perhaps is no answer")
	}
	for _, block := range []string{`[`, `{"fields":[]}`, `{}`} {
		if _, ok := readQuestion(play.Interaction{Type: "form", Block: projections.RawJSON(block)}); ok {
			t.Errorf("a form of %s", block)
		}
	}
}

// A form is asked field by field; after a refusal only what was refused is asked again, and the rest is kept.
func TestAsking(t *testing.T) {
	q, _ := readQuestion(play.Interaction{Type: "form", Block: projections.RawJSON(`{"fields":[{"type":"text","name":"name","label":"Name"},{"type":"checkbox","name":"ok","label":"OK"},{"type":"text","name":"more","label":"More"}]}`)})
	a := ask(q)
	for i, words := range []string{"Old Tull", "what", "y", ""} {
		done, err := a.take(words, &english)
		if (err != nil) != (i == 1) || done != (i == 3) {
			t.Fatalf("%d: %v %v", i, done, err)
		}
	}
	if want := map[string]any{"name": "Old Tull", "ok": true}; !reflect.DeepEqual(a.values, want) {
		t.Errorf("%v", a.values)
	}
	a.again([]client.Issue{{Field: "name", Message: "taken"}})
	if len(a.fields) != 1 || a.fields[0].Name != "name" {
		t.Fatalf("%+v", a.fields)
	}
	if done, err := a.take("陆青云", &english); !done || err != nil || a.values["name"] != "陆青云" || a.values["ok"] != true {
		t.Errorf("%v %v %v", done, err, a.values)
	}
	a.again([]client.Issue{{Message: "something"}})
	if len(a.fields) != 3 {
		t.Errorf("%+v", a.fields)
	}
}

func TestTextsAreComplete(t *testing.T) {
	for name, set := range map[string]*texts{"English": &english, "Chinese": &chinese} {
		v := reflect.ValueOf(set).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() == reflect.String && strings.TrimSpace(f.String()) == "" || f.Kind() == reflect.Map && f.Len() != 5 {
				t.Errorf("%s: %s is empty", name, v.Type().Field(i).Name)
			}
			if f.Kind() == reflect.String {
				other := reflect.ValueOf(&english).Elem().Field(i).String()
				for _, verb := range []string{"%s", "%d"} {
					if strings.Count(f.String(), verb) != strings.Count(other, verb) {
						t.Errorf("%s: %s has other verbs", name, v.Type().Field(i).Name)
					}
				}
			}
		}
	}
	for locale, want := range map[string]bool{"zh": true, "zh-CN": true, "zh_CN.UTF-8": true, "ZH-Hans": true, "en": false, "zhuang": false, "": false, "C": false} {
		if Chinese(locale) != want {
			t.Errorf("%q: %v", locale, !want)
		}
	}
}

package sdk

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFillNarrativeTemplate(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		values   map[string]any
		want     string
	}{
		"values":                       {"你的名字叫 {{characterName}}，拥有 {{spiritRoot}} 灵根。", map[string]any{"characterName": "陆青云", "spiritRoot": "水"}, "你的名字叫 陆青云，拥有 水 灵根。"},
		"missing value is empty":       {"I am {{name}}, a {{calling}}.", map[string]any{"name": "Mira"}, "I am Mira, a ."},
		"null is empty":                {"({{name}})", map[string]any{"name": nil}, "()"},
		"no doubled full stop":         {"You say: {{line}}.", map[string]any{"line": "I am ready."}, "You say: I am ready."},
		"no doubled Chinese full stop": {"你说：{{line}}。", map[string]any{"line": "走吧。"}, "你说：走吧。"},
		"another full stop stays":      {"You say: {{line}}.", map[string]any{"line": "走吧。"}, "You say: 走吧。."},
		"ellipsis inside stays":        {"{{line}} and so on.", map[string]any{"line": "wait..."}, "wait... and so on."},
		"ellipsis before a full stop":  {"{{line}}.", map[string]any{"line": "wait..."}, "wait..."},
		"a full stop not right behind": {"{{line}} .", map[string]any{"line": "ready."}, "ready. ."},
		"only one is left out":         {"{{line}}..", map[string]any{"line": "ready."}, "ready.."},
		"empty value before a stop":    {"{{line}}.", nil, "."},
		"spaces in the placeholder":    {"{{ 姓名 }}来了。", map[string]any{"姓名": "龙胆"}, "龙胆来了。"},
		"marks in a value stay":        {"{{a}}{{b}}", map[string]any{"a": "{{b}}", "b": "x"}, "{{b}}x"},
		"numbers and truth values":     {"{{n}} {{f}} {{b}} {{big}} {{raw}}", map[string]any{"n": 12.0, "f": 0.5, "b": true, "big": 1e21, "raw": json.Number("3.10")}, "12 0.5 true 1e+21 3.10"},
		"lists are JSON":               {"{{l}}", map[string]any{"l": []any{"a", 1.0}}, `["a",1]`},
		"constructor is a key":         {"{{constructor}}", map[string]any{}, ""},
		"unclosed marks stay":          {"{{name} {{", map[string]any{"name": "x"}, "{{name} {{"},
		"emoji":                        {"{{a}}。", map[string]any{"a": "👩‍🌾。"}, "👩‍🌾。"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FillNarrativeTemplate(c.template, c.values); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzFillNarrativeTemplate(f *testing.F) {
	f.Add("你说：{{line}}。", "line", "走吧。")
	f.Add("{{a}}{{{a}}}", "a", "{{a}}")
	f.Fuzz(func(t *testing.T, template, key, value string) {
		got := FillNarrativeTemplate(template, map[string]any{key: value})
		if !strings.Contains(template, "{{") && got != template {
			t.Errorf("a template without placeholders changed: %q → %q", template, got)
		}
		if want := len(template) + strings.Count(template, "{{")*len(value); len(got) > want {
			t.Errorf("%d bytes out of at most %d", len(got), want)
		}
	})
}

func TestTranslate(t *testing.T) {
	zh := Messages{"The name {name} is taken.": "“{name}”这个名字已有人使用。", "Empty": ""}
	for _, c := range []struct {
		messages Messages
		key      string
		args     map[string]any
		want     string
	}{
		{zh, "The name {name} is taken.", map[string]any{"name": "龙胆"}, "“龙胆”这个名字已有人使用。"},
		{nil, "The name {name} is taken.", map[string]any{"name": "Élodie"}, "The name Élodie is taken."},
		{zh, "Unknown text.", nil, "Unknown text."},
		{zh, "Empty", nil, "Empty"},
		{nil, "{a} of {b}", map[string]any{"a": 2, "b": "{a}"}, "2 of {a}"},
		{nil, "{a} and {missing}", map[string]any{"a": 1.0}, "1 and {missing}"},
	} {
		if got := Translate(c.messages, c.key, c.args); got != c.want {
			t.Errorf("%q: got %q, want %q", c.key, got, c.want)
		}
	}
}

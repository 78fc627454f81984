package terminal

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseScript(t *testing.T) {
	s, err := ParseScript(strings.NewReader("\uFEFF# comment\n\nworld low-water\nlocale zh-CN\r\n" +
		`form characterName=陆青云; calling="clock; \"mender\"" ; keepsake=a = b` + "\n" +
		"expect committed\n  I look around.\nsay say it\nact 敲门。\nchoose go left\nsuggestion 2\nexpect contains \"the \\\"bell\\\"\"\nexpect contains plain words\nworld is wide and I say so\nForm a circle.\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Script{World: "low-water", Locale: "zh-CN", steps: []scriptStep{
		{line: 5, verb: "form", rest: `characterName=陆青云; calling="clock; \"mender\"" ; keepsake=a = b`, fields: []field{{"characterName", "陆青云"}, {"calling", `clock; "mender"`}, {"keepsake", "a = b"}}},
		{line: 6, verb: "expect"},
		{line: 7, verb: "say", rest: "I look around."},
		{line: 8, verb: "say", rest: "say it"},
		{line: 9, verb: "act", rest: "敲门。"},
		{line: 10, verb: "choose", rest: "go left"},
		{line: 11, verb: "suggestion", rest: "2"},
		{line: 12, verb: "expect", rest: `the "bell"`},
		{line: 13, verb: "expect", rest: "plain words"},
		{line: 14, verb: "say", rest: "world is wide and I say so"},
		{line: 15, verb: "say", rest: "Form a circle."},
	}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v\nwant %+v", s, want)
	}
}

func TestScriptErrors(t *testing.T) {
	for text, says := range map[string]string{
		"say":                           "line 1: say needs a text",
		"hello\nworld low-water":        "line 2: world comes before the first input",
		"\n\nform characterName":        "line 3: form",
		"form =x":                       "line 1: form",
		"form a=\"x":                    "line 1: form a: the value has no closing quote",
		"form a=\"x\" y":                "line 1: form a: expected ;",
		"suggestion 0":                  "line 1: suggestion",
		"expect":                        "line 1: expect",
		"expect failure":                "line 1: expect",
		"expect contains":               "line 1: expect",
		"expect contains \"x":           "line 1: expect contains",
		"expect committed now":          "line 1: expect",
		strings.Repeat("x", maxLine+10): "line 1",
	} {
		if _, err := ParseScript(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %q", text, err, says)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add("form a=\"b\";c=d\nexpect contains \"x\"\nsuggestion 3\nworld x")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript(strings.NewReader(text))
		if err == nil && len(s.steps) > strings.Count(text, "\n")+1 {
			t.Errorf("%d steps", len(s.steps))
		}
	})
}

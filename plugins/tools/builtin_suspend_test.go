package tools

import (
	"strings"
	"testing"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

func runSuspend(t *testing.T, args string) CallResult {
	t.Helper()
	var e Executor
	return e.Run(t.Context(), Call{Name: Suspend, Arguments: args, Authorised: []string{Suspend}})
}

// Rule TL:648–653: every field type compiles to its property; step and the labels of options are not stored.
// Rule TL:646: defaults that are empty, 0 or false are kept.
func TestSuspendCompilesItsFields(t *testing.T) {
	r := runSuspend(t, `{"reason":"你叫什么？","fields":[
		{"type":"text","name":"姓名","label":"名字","required":true,"placeholder":"…"},
		{"type":"textarea","name":"past","label":"Past","defaultValue":""},
		{"type":"number","name":"age","label":"Age","min":1,"max":99,"step":1,"defaultValue":21,"required":true},
		{"type":"number","name":"debt","label":"Debt","defaultValue":0},
		{"type":"checkbox","name":"mage","label":"Mage","defaultValue":false},
		{"type":"select","name":"home","label":"Home","options":["north",{"value":"south","label":"The South"}],"defaultValue":"south"}]}`)
	if r.Err != nil {
		t.Fatal(r.Envelope)
	}
	want := `{"_covelSuspend":true,"reason":"你叫什么？","resumeSchema":{"type":"object","properties":{` +
		`"姓名":{"type":"string","title":"名字","minLength":1},` +
		`"past":{"type":"string","title":"Past","default":""},` +
		`"age":{"type":"number","title":"Age","minimum":1,"maximum":99,"default":21},` +
		`"debt":{"type":"number","title":"Debt","default":0},` +
		`"mage":{"type":"boolean","title":"Mage","default":false},` +
		`"home":{"type":"string","title":"Home","enum":["north","south"],"default":"south"}},` +
		`"additionalProperties":false,"required":["姓名","age"]}}`
	if string(r.Content) != want {
		t.Errorf("got  %s\nwant %s", r.Content, want)
	}
}

// Rule TL:655: the required list is left out when it would be empty, and the schema is one an answer can be checked with.
func TestSuspendSchemaChecksAnswers(t *testing.T) {
	compiled, err := answerSchema([]FormField{{Type: TextField, Name: "a", Label: "A"}})
	if err != nil || strings.Contains(string(compiled), "required") {
		t.Fatalf("%s, %v", compiled, err)
	}
	s, err := schema.Compile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	for answer, fits := range map[string]bool{`{"a":"x"}`: true, `{}`: true, `{"a":1}`: false, `{"b":"x"}`: false, `[]`: false} {
		if failure := s.CheckJSON([]byte(answer)); (failure == nil) != fits {
			t.Errorf("%s: %v", answer, failure)
		}
	}
}

// Rule TL:641–644: a suspend call needs a reason and fields; names are unique, a select has an option, a default is one of them.
// Rule TL:655: a raw schema is no argument.
func TestSuspendRefuses(t *testing.T) {
	field := `{"type":"text","name":"a","label":"A"}`
	for args, says := range map[string]string{
		`{"fields":[` + field + `]}`:                                                      "reason",
		`{"reason":" ","fields":[` + field + `]}`:                                         "reason: is required",
		`{"reason":"?"}`:                                                                  "fields",
		`{"reason":"?","fields":[]}`:                                                      "fields",
		`{"reason":"?","fields":[` + field + `,` + field + `]}`:                           "fields[1].name",
		`{"reason":"?","fields":[{"type":"text","name":" ","label":"A"}]}`:                "fields[0].name",
		`{"reason":"?","fields":[{"type":"select","name":"s","label":"S","options":[]}]}`: "at least one option",
		`{"reason":"?","fields":[{"type":"select","name":"s","label":"S","options":["a"],"defaultValue":"b"}]}`: "none of the options",
		`{"reason":"?","resumeSchema":{"type":"object"}}`:                                                       "fields",
		`{"reason":"?","fields":[{"type":"number","name":"n","label":"N","min":5,"max":1}]}`:                    "must not be more than max",
		`{"reason":"?","fields":[{"type":"file","name":"n","label":"N"}]}`:                                      "type",
	} {
		if r := runSuspend(t, args); r.Err == nil || r.Err.Code != sdk.InvalidInput || !strings.Contains(r.Envelope, says) {
			t.Errorf("%s: %s", args, r.Envelope)
		}
	}
}

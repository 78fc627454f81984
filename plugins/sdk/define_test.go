package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type noteArgs struct {
	Title string            `json:"title" jsonschema:"minLength=1,maxLength=80" describe:"What it is called, in a few words."`
	Tags  []string          `json:"tags,omitempty"`
	Level string            `json:"level" jsonschema:"enum=info,enum=warning"`
	Count int               `json:"count,omitempty" jsonschema:"minimum=0"`
	Extra any               `json:"extra,omitempty"`
	Who   []notePerson      `json:"who,omitempty" describe:"The people, with roles."`
	Map   map[string]string `json:"map,omitempty"`
}

type notePerson struct {
	Name string `json:"name" describe:"Their name."`
}

func note(_ context.Context, a noteArgs, _ *Runtime) (ToolResult, error) {
	return ToolResult{Content: a}, nil
}

func TestDefineMakesAClosedSchemaOfTheType(t *testing.T) {
	tool, err := Define(Tool{Name: "write-note", Description: "Write a note."}, note)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{` +
		`"title":{"type":"string","maxLength":80,"minLength":1,"description":"What it is called, in a few words."},` +
		`"tags":{"items":{"type":"string"},"type":"array"},` +
		`"level":{"type":"string","enum":["info","warning"]},` +
		`"count":{"type":"integer","minimum":0},` +
		`"extra":{"description":"Any JSON value."},` +
		`"who":{"items":{"properties":{"name":{"type":"string","description":"Their name."}},"type":"object","required":["name"]},"type":"array","description":"The people, with roles."},` +
		`"map":{"additionalProperties":{"type":"string"},"type":"object"}},` +
		`"type":"object","required":["title","level"]}`
	if string(tool.Parameters) != want {
		t.Errorf("schema\n got %s\nwant %s", tool.Parameters, want)
	}
	for _, word := range []string{"$ref", "$defs", "$schema", "$id", `"additionalProperties":true`} {
		if strings.Contains(string(tool.Parameters), word) {
			t.Errorf("the schema contains %s", word)
		}
	}
}

func TestDefinedToolReadsItsArguments(t *testing.T) {
	tool := MustDefine(Tool{Name: "write-note", Description: "Write a note."}, note)
	res, err := tool.Execute(context.Background(), json.RawMessage(`{"title":"陆青云","level":"info","unknown":1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Content.(noteArgs); got.Title != "陆青云" || got.Level != "info" {
		t.Errorf("arguments %+v", got)
	}
	for _, c := range []struct{ args, want string }{
		{`{"title":5}`, "title: got number, expected a string."},
		{`{"who":[{"name":false}]}`, "who.name: got bool, expected a string."},
		{`{"count":1e300}`, "count: got number 1e300, expected an integer."},
		{`[]`, "(arguments): got array, expected an object."},
		{`{"title":`, "the arguments are not valid JSON: unexpected end of JSON input"},
	} {
		_, err := tool.Execute(context.Background(), json.RawMessage(c.args), nil)
		var te *ToolError
		if !errors.As(err, &te) || te.Code != InvalidInput || te.Message != c.want {
			t.Errorf("%s: got %v, want %q", c.args, err, c.want)
		}
	}
	if _, err := tool.Execute(context.Background(), nil, nil); err != nil {
		t.Errorf("no arguments are an empty object: %v", err)
	}
}

// seed: tools.txt, "Annotations and timeout".
func TestDefineRefusesContradictions(t *testing.T) {
	yes, no := true, false
	ok := Tool{Name: "look", Description: "Look."}
	with := func(edit func(*Tool)) Tool { c := ok; edit(&c); return c }
	for name, c := range map[string]struct {
		tool Tool
		want string // part of the error, "" for none
	}{
		"defaults":                        {ok, ""},
		"read-only":                       {with(func(t *Tool) { t.Annotations.ReadOnly = true }), ""},
		"read-only and concurrent":        {with(func(t *Tool) { t.Annotations = Annotations{ReadOnly: true, ConcurrencySafe: true} }), ""},
		"writes but stages nothing":       {with(func(t *Tool) { t.Annotations.StagesWrites = &no }), ""},
		"smallest timeout":                {with(func(t *Tool) { t.TimeoutMs = 1 }), ""},
		"largest timeout":                 {with(func(t *Tool) { t.TimeoutMs = 600_000 }), ""},
		"readOnly with stagesWrites":      {with(func(t *Tool) { t.Annotations = Annotations{ReadOnly: true, StagesWrites: &yes} }), "contradict"},
		"concurrencySafe without reading": {with(func(t *Tool) { t.Annotations.ConcurrencySafe = true }), "requires readOnly"},
		"timeout below":                   {with(func(t *Tool) { t.TimeoutMs = -1 }), "timeoutMs must be an integer in [1, 600000], got -1"},
		"timeout above":                   {with(func(t *Tool) { t.TimeoutMs = 600_001 }), "got 600001"},
		"no name":                         {with(func(t *Tool) { t.Name = "" }), "a tool name has"},
		"name in capitals":                {with(func(t *Tool) { t.Name = "Look" }), "a tool name has"},
		"name that is too long":           {with(func(t *Tool) { t.Name = strings.Repeat("a", 65) }), "a tool name has"},
		"no description":                  {with(func(t *Tool) { t.Description = " " }), "description is missing"},
		"parameters that are no schema":   {with(func(t *Tool) { t.Parameters = json.RawMessage(`[]`) }), "must be a JSON Schema object"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := Define(c.tool, note)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if tool.Annotations.StagesWrites == nil {
					t.Error("stagesWrites is not resolved")
				} else if want := !c.tool.Annotations.ReadOnly; c.tool.Annotations.StagesWrites == nil && *tool.Annotations.StagesWrites != want {
					t.Errorf("stagesWrites is %v, want !readOnly", *tool.Annotations.StagesWrites)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), `Tool "`+c.tool.Name+`":`) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that starts with the tool and says %q", err, c.want)
			}
		})
	}
	if _, err := Define[noteArgs](ok, nil); err == nil {
		t.Error("a tool without a function was accepted")
	}
}

type endless struct {
	Name  string    `json:"name"`
	Parts []endless `json:"parts,omitempty"`
}

func TestDefineRefusesTypesWithoutASchema(t *testing.T) {
	def := Tool{Name: "look", Description: "Look."}
	_, err := Define(def, func(context.Context, endless, *Runtime) (ToolResult, error) { return ToolResult{}, nil })
	if err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("a type that contains itself: %v", err)
	}
	_, err = Define(def, func(context.Context, string, *Runtime) (ToolResult, error) { return ToolResult{}, nil })
	if err == nil || !strings.Contains(err.Error(), "must be a struct") {
		t.Errorf("a string: %v", err)
	}
	_, err = Define(def, func(context.Context, struct{ F func() }, *Runtime) (ToolResult, error) { return ToolResult{}, nil })
	if err == nil || !strings.HasPrefix(err.Error(), `Tool "look":`) {
		t.Errorf("a function field: %v", err)
	}
	own := def
	own.Parameters = json.RawMessage(`{"type":"object","properties":{"parts":{"type":"array"}}}`)
	if _, err := Define(own, func(context.Context, endless, *Runtime) (ToolResult, error) { return ToolResult{}, nil }); err != nil {
		t.Errorf("an author's own schema: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustDefine did not panic")
		}
	}()
	MustDefine(Tool{Name: "x"}, note)
}

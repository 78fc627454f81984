package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/bundled"
	"github.com/covel/covel/plugins/sdk"
)

func generate(t *testing.T, req model.Request) model.Reply {
	t.Helper()
	reply, err := scripted.New(scripted.Script{Otherwise: scripted.BundledGame()}).Generate(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func fits(t *testing.T, schema, value string) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("covel:schema", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("covel:schema")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(value)))
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	if err := compiled.Validate(instance); err != nil {
		t.Errorf("%s does not fit %s: %v", value, schema, err)
	}
}

func system(locale string) []model.Message {
	return []model.Message{{Role: model.System, Content: "[RUNTIME] x · X\n[LANGUAGE] " + locale + " · …"}, {Role: model.User, Content: "(Run now.)"}}
}

func TestToolsOfTheBundledPluginsAcceptTheGame(t *testing.T) {
	tools := 0
	for _, p := range bundled.All() {
		var entry sdk.Covel
		p.Package.Register(&entry)
		for _, tool := range entry.Tools {
			tools++
			for _, locale := range []string{"en", "zh-CN"} {
				reply := generate(t, model.Request{
					Messages: system(locale), ToolChoice: model.ToolChoice{Mode: "required"},
					Tools: []model.Tool{{Name: "other", Parameters: json.RawMessage(`{}`)}, {Name: tool.Name, Parameters: tool.Parameters}},
				})
				if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != tool.Name {
					t.Fatalf("%s: got %+v", tool.Name, reply)
				}
				args := reply.ToolCalls[0].Arguments
				fits(t, string(tool.Parameters), args)
				rt := &sdk.Runtime{Locale: locale, World: sdk.World{}, NewID: func(prefix, _ string) string { return prefix + "-1" }}
				if _, err := tool.Execute(context.Background(), json.RawMessage(args), rt); err != nil {
					t.Errorf("%s refuses the game's arguments in %s: %v", tool.Name, locale, err)
				}
			}
		}
	}
	if tools < 2 {
		t.Errorf("only %d tools were tried", tools)
	}
}

func TestStoryOfTheGameFitsTheNarrator(t *testing.T) {
	for _, p := range bundled.All() {
		schema, err := fs.ReadFile(p.Package.FS, "schemas/story.json")
		if err != nil {
			continue
		}
		for _, locale := range []string{"en", "zh-Hans"} {
			reply := generate(t, model.Request{
				Messages: system(locale), Tools: []model.Tool{{Name: "get-character", Parameters: json.RawMessage(`{}`)}},
				ResponseFormat: &model.ResponseFormat{Name: "story", Schema: schema},
			})
			fits(t, string(schema), reply.Text)
			var page struct{ Segments []struct{ Kind, Text string } }
			if err := json.Unmarshal([]byte(reply.Text), &page); err != nil || len(page.Segments) != 3 {
				t.Errorf("got %s, %v", reply.Text, err)
			}
		}
		return
	}
	t.Error("no bundled plugin writes a story")
}

func TestOtherRequestsAreAnsweredToo(t *testing.T) {
	if r := generate(t, model.Request{Messages: system("zh")}); r.Text != "雨停了。" {
		t.Errorf("got %+v", r)
	}
	if r := generate(t, model.Request{}); r.Text != "The rain has stopped." {
		t.Errorf("got %+v", r)
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":3},"b":{"type":"integer","minimum":2.5},"c":{"type":"boolean"},"d":{"type":["null","number"],"exclusiveMinimum":4},
			"e":{"enum":["é","x"]},"f":{"const":{"k":1}},"g":{"type":"array","minItems":2,"items":{"$ref":"#/$defs/item"}},"h":{"anyOf":[{"type":"null"},{"type":"string"}]},
			"i":{"allOf":[{"$ref":"#/$defs/item"},{"required":["y"],"properties":{"y":{"type":"number","multipleOf":5,"minimum":7}}}]},"j":{"type":"number","maximum":-3}},
			"required":["a","b","c","d","e","f","g","h","i","j"],"$defs":{"item":{"type":"object","required":["z"],"properties":{"z":{"default":"d","type":"string"}}}}}`,
		`{"type":"array","items":{"type":"null"}}`,
		`{"type":"null"}`,
		`true`,
	} {
		fits(t, schema, generate(t, model.Request{ResponseFormat: &model.ResponseFormat{Name: "x", Schema: json.RawMessage(schema)}}).Text)
		if !strings.Contains(schema, `"object"`) {
			continue // not a schema of arguments
		}
		call := generate(t, model.Request{ToolChoice: model.ToolChoice{Named: "x"}, Tools: []model.Tool{{Name: "y"}, {Name: "x", Parameters: json.RawMessage(schema)}}})
		if len(call.ToolCalls) != 1 || call.ToolCalls[0].Name != "x" {
			t.Fatalf("got %+v", call)
		}
		fits(t, schema, call.ToolCalls[0].Arguments)
	}
}

func FuzzSmallestValueEnds(f *testing.F) {
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"type":"array","minItems":1e9,"items":{"$ref":"#"}}`)
	f.Add(`{"allOf":[{"$ref":"#/allOf/0"},{"type":["x",1]}]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		reply := generate(t, model.Request{Tools: []model.Tool{{Name: "x", Parameters: json.RawMessage(schema)}}, ToolChoice: model.ToolChoice{Mode: "required"}})
		if !json.Valid([]byte(reply.ToolCalls[0].Arguments)) {
			t.Errorf("got %s", reply.ToolCalls[0].Arguments)
		}
	})
}

func BenchmarkBundledGame(b *testing.B) {
	m := scripted.New(scripted.Script{Otherwise: scripted.BundledGame(), Forget: true})
	req := model.Request{Messages: system("en"), ResponseFormat: &model.ResponseFormat{Schema: json.RawMessage(`{"properties":{"segments":{}}}`)}}
	for b.Loop() {
		if _, err := m.Generate(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

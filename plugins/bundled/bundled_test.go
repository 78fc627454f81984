package bundled

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

// A folder and a line of the list belong together.
func TestEveryFolderIsListed(t *testing.T) {
	folders, err := filepath.Glob("*/PLUGIN.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, p := range All() {
		listed = append(listed, filepath.Join(p.ID, "PLUGIN.md"))
	}
	if !slices.Equal(folders, listed) {
		t.Errorf("folders %q, listed %q", folders, listed)
	}
}

// Plugins can be moved out of the repository: of ours they use only the SDK.
func TestPluginsImportOnlyTheSDK(t *testing.T) {
	for _, p := range All() {
		for _, f := range sources(t, p.ID) {
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(path, ".") && path != "github.com/covel/covel/plugins/sdk" {
					t.Errorf("%s imports %s", p.ID, path)
				}
			}
		}
	}
}

// No plugin names another: they meet in contracts.
func TestPluginsDoNotNameEachOther(t *testing.T) {
	all := All()
	for _, p := range all {
		names, err := filepath.Glob(filepath.Join(p.ID, "*"))
		if err != nil {
			t.Fatal(err)
		}
		more, err := filepath.Glob(filepath.Join(p.ID, "*", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(names, more...) {
			b, err := os.ReadFile(name)
			if err != nil || strings.HasSuffix(name, "_test.go") {
				continue // a folder
			}
			for _, other := range all {
				// "guide" and "narrator" are ordinary words too; what counts is an id where ids stand.
				for _, mark := range []string{`"` + other.ID + `"`, "runtime: " + other.ID, "[" + other.ID + "]", other.ID + "/"} {
					if other.ID != p.ID && bytes.Contains(b, []byte(mark)) {
						t.Errorf("%s names the plugin %s", name, other.ID)
					}
				}
			}
		}
	}
}

// entry is what a plugin registers.
func entry(p Plugin) sdk.Covel {
	covel := sdk.Covel{PluginID: p.ID}
	p.Package.Register(&covel)
	return covel
}

// schema compiles a JSON Schema file of a plugin.
func schema(t *testing.T, p Plugin, name string) *jsonschema.Schema {
	t.Helper()
	var doc any
	readJSON(t, p, name, &doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s/%s: %v", p.ID, name, err)
	}
	return s
}

func fits(t *testing.T, s *jsonschema.Schema, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %v", b, err)
	}
}

func plugin(t *testing.T, id string) Plugin {
	t.Helper()
	for _, p := range All() {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no plugin %s", id)
	return Plugin{}
}

// records is plugin data in memory.
type records map[string]json.RawMessage

func (r records) Get(namespace, key string) json.RawMessage { return r[namespace+"/"+key] }
func (r records) List(string) []sdk.Record                  { return nil }
func (r records) Update(string, string, ...sdk.DataOp) error {
	return errors.New("records knows no operations")
}
func (r records) Set(namespace, key string, value any) error {
	b, err := json.Marshal(value)
	r[namespace+"/"+key] = b
	return err
}

// sameAnswer is a model that knows one text.
type sameAnswer string

func (a sameAnswer) GenerateText(context.Context, sdk.TextRequest) (sdk.TextReply, error) {
	return sdk.TextReply{Text: string(a)}, nil
}

func (a sameAnswer) GenerateObject(context.Context, sdk.ObjectRequest) (json.RawMessage, error) {
	return json.Marshal(string(a))
}

// What the plugins give fits the contracts and record schemas they publish.
func TestOutputsFitTheirSchemas(t *testing.T) {
	ctx := context.Background()
	world := sdk.World{
		Record: sdk.WorldRecord{Name: "雾港"},
		DeclaredSchema: &sdk.CharacterSchema{Attributes: []sdk.AttributeDef{
			{ID: "calling", Name: "行当", Type: sdk.AttrString, Category: "bio"},
			{ID: "breath", Name: "气息", Type: sdk.AttrNumber, Category: "stats", DefaultValue: 7.0},
		}},
		Characters: []sdk.Character{{ID: "npc-lu", Name: "陆青云", Type: "npc"}},
	}
	run := func() *sdk.Runtime {
		return &sdk.Runtime{SessionID: "s", TurnID: "t", World: world, PluginData: records{}, NewID: func(p, l string) string { return p + "-" + l }}
	}
	write := func(t *testing.T, p sdk.Proposal) any {
		t.Helper()
		var w struct{ Value any }
		if err := json.Unmarshal(p.Payload, &w); err != nil {
			t.Fatal(err)
		}
		return w.Value
	}

	t.Run("pregame", func(t *testing.T) {
		p := plugin(t, "pregame")
		rt := run()
		got, err := entry(p).Handlers["open-session"](ctx, rt)
		if err != nil {
			t.Fatal(err)
		}
		fits(t, schema(t, p, "schemas/opening.json"), got.Value)
		fits(t, schema(t, p, "schemas/opening.json"), rt.PluginData.Get("opening", "greeting"))
	})
	t.Run("world-init", func(t *testing.T) {
		p := plugin(t, "world-init")
		contract := schema(t, p, "schemas/world-data.json")
		got, err := entry(p).Guards["schema-gen"](ctx, run())
		if err != nil {
			t.Fatal(err)
		}
		fits(t, contract, got.Output)
		args := map[string]any{"attributes": []any{
			map[string]any{"id": "calling", "name": map[string]any{"zh": "行当"}, "type": "string", "category": "bio"},
			map[string]any{"id": "灵根", "name": "灵根", "type": "enum", "category": "bio", "options": []any{"水", "火"}},
			map[string]any{"id": "past", "name": "过往", "type": "object", "category": "social", "subSchema": []any{map[string]any{"id": "home", "name": "家", "type": "string"}}},
		}}
		fits(t, schema(t, p, "schemas/initialize-world.json"), args)
		raw, _ := json.Marshal(args)
		made, err := entry(p).Tools[0].Execute(ctx, raw, run())
		if err != nil {
			t.Fatal(err)
		}
		fits(t, contract, made.Content)
	})
	t.Run("char-creator", func(t *testing.T) {
		p := plugin(t, "char-creator")
		contract := schema(t, p, "schemas/character-creation.json")
		raw := json.RawMessage(`{"title":"你是谁？","submitLabel":"开始","narrativeTemplate":"我叫{{characterName}}。","fields":[{"type":"text","name":"characterName","label":"姓名"}]}`)
		made, err := entry(p).Tools[0].Execute(ctx, raw, run())
		if err != nil {
			t.Fatal(err)
		}
		fits(t, contract, made.Content)
		fits(t, schema(t, p, "schemas/form.json"), write(t, made.Proposals[0]))
		for _, name := range []string{"龙胆", "陆青云"} {
			rt := run()
			rt.LastPlayerInput = &sdk.PlayerInput{FormID: "char-creation", Values: map[string]any{"characterName": name}}
			got, err := entry(p).Guards["player-init"](ctx, rt)
			if err != nil {
				t.Fatal(err)
			}
			fits(t, contract, got.Output)
		}
	})
	t.Run("narrator", func(t *testing.T) {
		p := plugin(t, "narrator")
		segments := []sdk.StorySegment{{Kind: "narration", Text: "雾起了。"}, {Kind: "dialogue", Speaker: "陆青云", Text: "“跟我来。”"}}
		fits(t, schema(t, p, "schemas/story.json"), map[string]any{"segments": segments})
		fits(t, schema(t, p, "schemas/narrative-engine.json"), map[string]any{"segments": segments, "narrativeOutput": "雾起了。\n\n“跟我来。”"})
	})
	t.Run("history-compaction", func(t *testing.T) {
		p := plugin(t, "history-compaction")
		point, ok := points.Find("history.compact@2")
		if !ok {
			t.Fatal("the point is gone")
		}
		in, _ := json.Marshal(sdk.CompactInput{
			Messages:          []sdk.HistoryMessage{{ID: "a", Role: "assistant", Content: strings.Repeat("陆青云点灯。", 60)}},
			ExistingSummaries: []sdk.Summary{}, Locale: "zh-CN", ContextWindow: 5000, InputWindow: 5000,
			SummaryBudget: sdk.SummaryBudget{MaxTokens: 600, MaxSegmentTokens: 200, MaxSegments: 8},
		})
		if err := point.CheckInput(in); err != nil {
			t.Fatal(err)
		}
		out, err := entry(p).Extensions[0].Handle(ctx, in, &sdk.ExtensionContext{Locale: "zh-CN", Gateway: sameAnswer("陆青云点了灯。")})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(out)
		if err := point.CheckOutput(b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	})
	t.Run("guide", func(t *testing.T) {
		p := plugin(t, "guide")
		raw := json.RawMessage(`{"scene":"石阶","recap":"灯亮着。","decision":"跟上去吗？","suggestions":[{"type":"ask","text":"问他去哪"},{"type":"act","text":"跟上去"},{"type":"observe","text":"看灯罩"}]}`)
		made, err := entry(p).Tools[0].Execute(ctx, raw, run())
		if err != nil {
			t.Fatal(err)
		}
		fits(t, schema(t, p, "schemas/message.json"), write(t, made.Proposals[0]))
	})
}

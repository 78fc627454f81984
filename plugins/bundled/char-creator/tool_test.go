package charcreator

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func create(t *testing.T, args any, rt *sdk.Runtime) (sdk.ToolResult, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return createCharacterForm.Execute(context.Background(), raw, rt)
}

func TestToolPublishesTheForm(t *testing.T) {
	rt := harbour()
	rt.Messages = chinese(t)
	got, err := create(t, goodForm(), rt)
	if err != nil {
		t.Fatal(err)
	}
	content := got.Content.(formResult)
	const preview = "I am [Name], a bell founder with the root of 水."
	if !content.Created || content.FilledNarrative != preview {
		t.Errorf("filledNarrative = %q, want %q", content.FilledNarrative, preview)
	}
	if got.View.Summary != "表单已为玩家备好。" || !reflect.DeepEqual(got.View.Data, map[string]any{"filledNarrative": preview}) {
		t.Errorf("the model reads %+v", got.View)
	}
	block := content.Interaction
	for key, want := range map[string]any{
		"type": "form", "interactionId": "char-creation", "formId": "char-creation", "title": "Who steps ashore?",
		"submitLabel": "Step ashore", "narrativeTemplate": goodForm().NarrativeTemplate,
		"submitBehavior": map[string]any{"echoFilledNarrative": true},
	} {
		if !reflect.DeepEqual(block[key], want) {
			t.Errorf("%s = %v, want %v", key, block[key], want)
		}
	}
	if _, there := block["notice"]; there {
		t.Error("a form sent for the first time has a notice")
	}
	if fields := block["fields"].([]any); len(fields) != 3 || fields[0].(map[string]any)["required"] != true {
		t.Errorf("fields = %v", block["fields"])
	}
	if len(got.Proposals) != 1 || got.Proposals[0].Type != "plugin.data" {
		t.Fatalf("proposals = %+v", got.Proposals)
	}
	var write sdk.PluginDataWrite
	if err := json.Unmarshal(got.Proposals[0].Payload, &write); err != nil {
		t.Fatal(err)
	}
	var kept form
	if err := json.Unmarshal(write.Value, &kept); err != nil || !reflect.DeepEqual(kept, goodForm()) {
		t.Errorf("kept %+v (%v), want the form", kept, err)
	}
}

// A validator or anything else that a model adds to the form is dropped.
func TestToolSetsTheValidatorItself(t *testing.T) {
	args := map[string]any{}
	b, _ := json.Marshal(goodForm())
	if err := json.Unmarshal(b, &args); err != nil {
		t.Fatal(err)
	}
	args["validation"] = map[string]any{"name": "none"}
	args["formId"] = "mine"
	args["notice"] = "Pay first."
	got, err := create(t, args, harbour())
	if err != nil {
		t.Fatal(err)
	}
	block := got.Content.(formResult).Interaction
	if v := block["validation"].(map[string]any); v["name"] != "player-name" {
		t.Errorf("validation = %v", v)
	}
	if block["formId"] != "char-creation" || block["notice"] != nil {
		t.Errorf("block = %v", block)
	}
}

func TestToolCompletesWhatAFormLeavesOpen(t *testing.T) {
	f := goodForm()
	f.Fields[0].Required = false
	f.Fields[0].Options = []string{"Mara"}
	f.Fields[1].Options = []string{"one"}
	f.Fields[2].Options, f.Fields[2].DefaultValue = nil, ""
	got, err := create(t, f, harbour())
	if err != nil {
		t.Fatal(err)
	}
	fields := got.Content.(formResult).Interaction["fields"].([]any)
	if name := fields[0].(map[string]any); name["required"] != true || name["options"] != nil {
		t.Errorf("name = %v", name)
	}
	if calling := fields[1].(map[string]any); calling["options"] != nil {
		t.Errorf("calling = %v", calling)
	}
	if root := fields[2].(map[string]any); !reflect.DeepEqual(root["options"], []any{"水", "火", "未知"}) {
		t.Errorf("root = %v", root)
	}
}

func TestToolUsesTheSchemaOfTheSameExecution(t *testing.T) {
	rt := harbour()
	rt.World.Schema = sdk.CharacterSchema{}
	rt.Inputs = map[string]sdk.Input{"worldSchema": {Cardinality: "one", Items: []sdk.InputItem{{
		Value: json.RawMessage(`{"types":["npc"],"attributes":[{"id":"calling","name":"Calling","type":"string"},{"id":"灵根","name":"灵根","type":"enum","options":["水","火"]}]}`),
	}}}}
	if _, err := create(t, goodForm(), rt); err != nil {
		t.Errorf("with the schema of the provider: %v", err)
	}
	rt.Inputs = nil
	if _, err := create(t, goodForm(), rt); err == nil {
		t.Error("without any schema the attributes were taken")
	}
}

func TestToolRefusals(t *testing.T) {
	const worldList = "Besides characterName this world lets a form ask for:\n- calling (Calling) string\n- 灵根 (灵根) enum: 水 | 火 | 未知\n- home (Home) string\n- mark (Mark) string"
	tests := map[string]struct {
		change func(f *form, rt *sdk.Runtime)
		want   string
	}{
		"no title": {func(f *form, _ *sdk.Runtime) { f.Title = " " }, "The form needs a title and a submitLabel."},
		"no name": {func(f *form, _ *sdk.Runtime) { f.Fields = f.Fields[1:] },
			`The form has no field "characterName". Every character form asks for the name: {"type":"text","name":"characterName","label":"…","required":true}.`},
		"fields that cannot be asked for": {func(f *form, _ *sdk.Runtime) {
			f.Fields = append(f.Fields[:1], field{Type: typeText, Name: "姓名", Label: "x"}, field{Type: "number", Name: "breath", Label: "x"},
				field{Type: typeText, Name: "bag", Label: "x"}, field{Type: typeText, Name: "weather", Label: "x"}, field{Type: typeText, Name: nameField, Label: "x"})
		}, "These fields cannot be asked for:\n- 姓名: takes the name that characterName asks for\n- breath: of type number, which keeps its default value\n- bag: of type array, which keeps its default value\n- weather: not an attribute of this world\n- characterName: there twice\n" + worldList},
		"a world that has nothing to choose": {func(_ *form, rt *sdk.Runtime) {
			rt.World.Schema.Attributes = rt.World.Schema.Attributes[5:6]
		}, "These fields cannot be asked for:\n- calling: not an attribute of this world\n- 灵根: not an attribute of this world\nThis world has no string or enum attributes: the form has the one field characterName."},
		"five fields": {func(f *form, _ *sdk.Runtime) {
			f.Fields = append(f.Fields, field{Type: typeText, Name: "home", Label: "x"}, field{Type: typeText, Name: "mark", Label: "x"})
		}, "The form has 5 fields, at most 4 are allowed: characterName and up to 3 attributes. Keep those that matter most for who the character is."},
		"no label":        {func(f *form, _ *sdk.Runtime) { f.Fields[1].Label = "" }, "calling: the label is empty; it is what the player reads above the field."},
		"the name chosen": {func(f *form, _ *sdk.Runtime) { f.Fields[0].Type = typeSelect }, "characterName: the name is a field of type text, got select."},
		"a default name that is taken": {func(f *form, _ *sdk.Runtime) { f.Fields[0].DefaultValue = "E\u0301LODIE" },
			"characterName: the default \"E\u0301LODIE\" is the name of a character of this world (Élodie (aka The Lamp)). Leave the default out or suggest another name."},
		"a string as select":      {func(f *form, _ *sdk.Runtime) { f.Fields[1].Type = typeSelect }, "calling: a string attribute is a field of type text or textarea, got select; options cannot be invented for it."},
		"an enum as text":         {func(f *form, _ *sdk.Runtime) { f.Fields[2].Type = typeText }, "灵根: an enum attribute is a field of type select, got text. Its options: 水 | 火 | 未知."},
		"invented options":        {func(f *form, _ *sdk.Runtime) { f.Fields[2].Options = []string{"水", "木", "金"} }, "灵根: these options are not the world's: 木 | 金. Use only: 水 | 火 | 未知."},
		"default not an option":   {func(f *form, _ *sdk.Runtime) { f.Fields[2].DefaultValue = "未知" }, `灵根: the default "未知" is not one of the options: 水 | 火.`},
		"two fields wrong":        {func(f *form, _ *sdk.Runtime) { f.Fields[1].Type, f.Fields[2].Type = typeSelect, typeText }, "calling: a string attribute is a field of type text or textarea, got select; options cannot be invented for it.\n灵根: an enum attribute is a field of type select, got text. Its options: 水 | 火 | 未知."},
		"a template without name": {func(f *form, _ *sdk.Runtime) { f.NarrativeTemplate = "I am a {{calling}}." }, "The narrativeTemplate does not contain {{characterName}}. It is the sentence by which the character enters the story, for example: My name is {{characterName}}."},
		"a placeholder of no field": {func(f *form, _ *sdk.Runtime) {
			f.NarrativeTemplate = "I am {{ characterName }} from {{home}}, {{age}}."
		}, "The narrativeTemplate has placeholders that are no fields of the form: {{home}}, {{age}}. Each placeholder is {{<field name>}}."},
		"a word twice": {func(f *form, _ *sdk.Runtime) {
			f.NarrativeTemplate = "I am {{characterName}}, bell {{calling}} Founder."
		}, "\"bell\" stands twice where {{calling}} meets the words around it.\n\"Founder\" stands twice where {{calling}} meets the words around it.\nThe sentence reads: I am [Name], bell bell founder Founder."},
		"a character twice": {func(f *form, _ *sdk.Runtime) {
			f.Fields[1].DefaultValue = "守灯人"
			f.NarrativeTemplate = "我叫{{characterName}}，是个{{calling}}人。"
		}, "\"人\" stands twice where {{calling}} meets the words around it.\nThe sentence reads: 我叫[Name]，是个守灯人人。"},
		"where two answers meet": {func(f *form, _ *sdk.Runtime) {
			f.Fields[1].DefaultValue = "雾港渡口"
			f.NarrativeTemplate = "{{characterName}}来自{{calling}}{{home}}。"
			f.Fields[2] = field{Type: typeText, Name: "home", Label: "Home", DefaultValue: "渡口码头"}
		}, "\"渡口\" stands twice where {{calling}} meets the words around it.\nThe sentence reads: [Name]来自雾港渡口渡口码头。"},
		"an undecided default": {func(f *form, _ *sdk.Runtime) { f.Fields[1].DefaultValue = "a calling (TBD)" },
			"calling: the default \"a calling (TBD)\" leaves the decision open (TBD). Give a concrete phrase from this world, or no default.\n\"a\" stands twice where {{calling}} meets the words around it.\nThe sentence reads: I am [Name], a a calling (TBD) with the root of 水."},
		"an undecided template": {func(f *form, _ *sdk.Runtime) { f.NarrativeTemplate = "我叫{{characterName}}，来历待定。" },
			"narrativeTemplate: \"待定\" leaves something to be decided.\nThe sentence reads: 我叫[Name]，来历待定。"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, rt := goodForm(), harbour()
			f.Fields = slices.Clone(f.Fields)
			tt.change(&f, rt)
			got, err := create(t, f, rt)
			var refused *sdk.ToolError
			if !errors.As(err, &refused) || refused.Code != sdk.InvalidInput {
				t.Fatalf("got %+v, %v, want invalid-input", got.Content, err)
			}
			if refused.Message != tt.want {
				t.Errorf("message\n got %s\nwant %s", refused.Message, tt.want)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"a lamp ", "lamp keeper", "lamp"},
		{"the keeper of ", "Keeper of lamps", "Keeper of"},
		{"a ", "a keeper", "a"},
		{"keeper, ", "keeper", "keeper"},
		{"I keep. ", "Keep well", ""},
		{"lamp", "lamp", ""}, // one word: lamplamp
		{"E\u0301lodie ", "E\u0301LODIE", "E\u0301LODIE"},
		{"的", "的", "的"},
		{"每天", "天不亮就起", ""}, // reduplication that is good Chinese
		{"来自雾港", "雾港的码头", "雾港"},
		{"雾港 ", "雾港", "雾港"},
		{"守灯人", "人", "人"},
		{"🐉", "🐉", ""},
		{"", "x", ""},
		{"x ", "", ""},
		{"…", "…", ""},
	}
	for _, tt := range tests {
		if got := overlap(tt.a, tt.b); got != tt.want {
			t.Errorf("overlap(%q, %q) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestUndecided(t *testing.T) {
	for _, text := range []string{"TBD", "tbd.", "name to be determined", "To be decided later", "N/A", " unknown ", "???", "？？？", "待定", "出身待定", "姓名（待填写）", "未知", "请填写", "某某", "—— 尚未决定", "…", "TODO: calling"} {
		if undecided(text) == "" {
			t.Errorf("%q passed as decided", text)
		}
	}
	for _, text := range []string{"", "lamp keeper", "a child of unknown parents", "等待定夺的囚徒", "未知海的水手", "婚事未定", "Tabadah", "none other than the bell founder", "渔民之子", "Legion XXX", "what?", "🐉"} {
		if hit := undecided(text); hit != "" {
			t.Errorf("%q was held to be undecided for %q", text, hit)
		}
	}
}

// A choice that the world itself declares is decided, whatever it is called.
func TestDeclaredChoicesAreDecided(t *testing.T) {
	f := goodForm()
	f.Fields[2].Options, f.Fields[2].DefaultValue = nil, "未知"
	if _, err := create(t, f, harbour()); err != nil {
		t.Error(err)
	}
}

// Whatever a model sends, what passes is a form of at most four fields whose sentence names the character and whose
// choices are the world's.
func FuzzCreateCharacterForm(f *testing.F) {
	seed, _ := json.Marshal(goodForm())
	f.Add(string(seed))
	f.Add(`{"title":"x","submitLabel":"y","fields":[{"name":"characterName","type":"text","label":"{{"}],"narrativeTemplate":"{{characterName}}{{characterName}}{{"}`)
	f.Fuzz(func(t *testing.T, args string) {
		rt := harbour()
		got, err := createCharacterForm.Execute(context.Background(), json.RawMessage(args), rt)
		if err != nil {
			return
		}
		var kept form
		b, _ := json.Marshal(got.Content.(formResult).Interaction)
		if err := json.Unmarshal(b, &kept); err != nil {
			t.Fatal(err)
		}
		if len(kept.Fields) > maxFields || !strings.Contains(kept.NarrativeTemplate, nameField) {
			t.Errorf("passed: %+v", kept)
		}
		for _, fl := range kept.Fields {
			if a, ok := attribute(rt.World.Schema, fl.Name); ok && isChoice(a) && len(without(fl.Options, a.Options)) > 0 {
				t.Errorf("options of %s passed: %q", fl.Name, fl.Options)
			}
		}
	})
}

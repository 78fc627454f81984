package worldinit

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func proposed(t *testing.T, list []sdk.Proposal) sdk.CharacterSchemaSet {
	t.Helper()
	if len(list) != 1 || list[0].Type != "character.schema.set" {
		t.Fatalf("proposals = %+v, want one character.schema.set", list)
	}
	var set sdk.CharacterSchemaSet
	if err := json.Unmarshal(list[0].Payload, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestGuardAdoptsTheAuthorsSchema(t *testing.T) {
	declared := &sdk.CharacterSchema{
		Types: []string{" spirit ", "player", "npc", "npc", ""},
		// A bio default and an odd one: what an author wrote is adopted as it is.
		Attributes: []sdk.AttributeDef{
			{ID: "灵根", Name: "灵根", Type: sdk.AttrEnum, Category: "bio", Options: []string{"水", "火"}, DefaultValue: "水"},
			{ID: "hp", Name: "HP", Type: sdk.AttrNumber, Category: "stats", DefaultValue: "many"},
		},
	}
	got, err := guardSchemaGen(context.Background(), &sdk.Runtime{World: sdk.World{DeclaredSchema: declared}})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Skip || !got.PreGameDone || got.Output["preGameDone"] != true {
		t.Errorf("guard = %+v, want skip and done", got)
	}
	set := proposed(t, got.Effects.Proposals)
	if want := []string{"spirit", "npc"}; !reflect.DeepEqual(set.Types, want) {
		t.Errorf("types = %q, want %q", set.Types, want)
	}
	if !reflect.DeepEqual(set.Attributes, declared.Attributes) {
		t.Errorf("attributes = %+v, want the author's", set.Attributes)
	}
	schema, ok := got.Output["worldSchema"].(sdk.CharacterSchema)
	if !ok || !reflect.DeepEqual(schema.Attributes, declared.Attributes) || schema.Version != 1 {
		t.Errorf("worldSchema = %+v", got.Output["worldSchema"])
	}
}

func TestGuard(t *testing.T) {
	session := sdk.CharacterSchema{Version: 3, Types: []string{"npc"}, Attributes: []sdk.AttributeDef{{ID: "calling", Type: sdk.AttrString}}}
	tests := map[string]struct {
		world     sdk.World
		skip      bool
		proposals int
		want      sdk.CharacterSchema
	}{
		"neither: the model draws one up":       {},
		"the session's own comes first":         {world: sdk.World{Schema: session, DeclaredSchema: &sdk.CharacterSchema{Types: []string{"ghost"}}}, skip: true, want: session},
		"an empty session schema has lists":     {world: sdk.World{Schema: sdk.CharacterSchema{Version: 1}}, skip: true, want: sdk.CharacterSchema{Version: 1, Types: []string{}, Attributes: []sdk.AttributeDef{}}},
		"a declared one without anything in it": {world: sdk.World{DeclaredSchema: &sdk.CharacterSchema{}}, skip: true, proposals: 1, want: sdk.CharacterSchema{Version: 1, Types: defaultTypes, Attributes: []sdk.AttributeDef{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := guardSchemaGen(context.Background(), &sdk.Runtime{World: tt.world})
			if err != nil {
				t.Fatal(err)
			}
			if got.Skip != tt.skip || got.PreGameDone != tt.skip || len(got.Effects.Proposals) != tt.proposals {
				t.Fatalf("guard = %+v", got)
			}
			if tt.skip && !reflect.DeepEqual(got.Output["worldSchema"], tt.want) {
				t.Errorf("worldSchema = %+v, want %+v", got.Output["worldSchema"], tt.want)
			}
		})
	}
}

const goodAttributes = `[
	{"id":"calling","name":{"en":"Calling","zh":"行当"},"type":"string","category":"bio","defaultValue":"lamp keeper"},
	{"id":"灵根","name":"灵根","type":"enum","category":"bio","options":["水"," 火 ","水",""],"defaultValue":"水"},
	{"id":"scars","name":"Scars","type":"array","category":"bio","itemType":"string","defaultValue":["left hand"]},
	{"id":"past","name":"Past","type":"object","category":"bio","defaultValue":{"home":"雾港"},"subSchema":[
		{"id":"home","name":"Home","type":"string","defaultValue":"Fogharbour"},
		{"id":"age","name":"Age","type":"number","min":0,"defaultValue":20}]},
	{"id":"ties","name":"Ties","type":"map","category":"bio","valueType":"number","defaultValue":{"Mara":2}},
	{"id":"free","name":"Free","type":"boolean","category":"bio","defaultValue":true},
	{"id":"breath","name":"Breath","type":"number","category":"stats","min":0,"max":10,"defaultValue":7,"options":["no"],"itemType":"string"}
]`

func initialize(t *testing.T, args string, rt *sdk.Runtime) (sdk.ToolResult, error) {
	t.Helper()
	return initializeWorld.Execute(context.Background(), json.RawMessage(args), rt)
}

func TestInitializeWorld(t *testing.T) {
	rt := &sdk.Runtime{Locale: "zh-CN", Messages: sdk.Messages{"World initialized: {count} attributes.": "世界已初始化：{count} 项属性。"}}
	got, err := initialize(t, `{"attributes":`+goodAttributes+`}`, rt)
	if err != nil {
		t.Fatal(err)
	}
	ten, zero := 10.0, 0.0
	want := []sdk.AttributeDef{
		{ID: "calling", Name: "行当", Type: "string", Category: "bio", DefaultValue: ""},
		{ID: "灵根", Name: "灵根", Type: "enum", Category: "bio", Options: []string{"水", "火"}},
		{ID: "scars", Name: "Scars", Type: "array", Category: "bio", ItemType: "string", DefaultValue: []any{}},
		{ID: "past", Name: "Past", Type: "object", Category: "bio", DefaultValue: map[string]any{}, SubSchema: []sdk.AttributeDef{
			{ID: "home", Name: "Home", Type: "string", Category: "bio", DefaultValue: ""},
			{ID: "age", Name: "Age", Type: "number", Category: "bio", Min: &zero, DefaultValue: 20.0},
		}},
		{ID: "ties", Name: "Ties", Type: "map", Category: "bio", ValueType: "number", DefaultValue: map[string]any{}},
		{ID: "free", Name: "Free", Type: "boolean", Category: "bio", DefaultValue: true},
		{ID: "breath", Name: "Breath", Type: "number", Category: "stats", Min: &zero, Max: &ten, DefaultValue: 7.0},
	}
	content, ok := got.Content.(initialized)
	if !ok {
		t.Fatalf("content is %T", got.Content)
	}
	if !reflect.DeepEqual(content.WorldSchema.Attributes, want) {
		t.Errorf("attributes\n got %+v\nwant %+v", content.WorldSchema.Attributes, want)
	}
	if !content.Success || !content.PreGameDone || content.AttributeCount != 7 {
		t.Errorf("content = %+v", content)
	}
	if !reflect.DeepEqual(content.WorldSchema.Types, defaultTypes) {
		t.Errorf("types = %q", content.WorldSchema.Types)
	}
	if got.View == nil || got.View.Summary != "世界已初始化：7 项属性。" || got.View.Data != nil {
		t.Errorf("the model reads %+v", got.View)
	}
	if set := proposed(t, got.Proposals); len(set.Attributes) != 7 {
		t.Errorf("proposed %d attributes", len(set.Attributes))
	}
}

func TestInitializeWorldRefuses(t *testing.T) {
	const pair = `{"id":"a","name":"A","type":"string","category":"bio"},{"id":"b","name":"B","type":"number","category":"stats"},`
	nested := `{"id":"o","name":"O","type":"object","category":"bio","subSchema":[{"id":"o","name":"O","type":"object","subSchema":[{"id":"o","name":"O","type":"object","subSchema":[{"id":"x","name":"X","type":"string"}]}]}]}`
	var thirteen []string
	for _, id := range "abcdefghijklm" {
		thirteen = append(thirteen, `{"id":"`+string(id)+`","name":"N","type":"string","category":"bio"}`)
	}
	tests := map[string]struct{ attributes, want string }{
		"none":                   {`[]`, "attributes: there are 0, expected 3 to 12.\nattributes: at least one must be a string or an enum, so that a player can say who the character is."},
		"thirteen":               {`[` + strings.Join(thirteen, ",") + `]`, "attributes: there are 13, expected 3 to 12."},
		"nothing to choose":      {`[{"id":"a","name":"A","type":"number","category":"stats"},{"id":"b","name":"B","type":"boolean","category":"stats"},{"id":"c","name":"C","type":"map","category":"social"}]`, "attributes: at least one must be a string or an enum, so that a player can say who the character is."},
		"bad id":                 {`[` + pair + `{"id":"1 b","name":"C","type":"string","category":"bio"}]`, `attributes[2].id: "1 b" is no id: a letter first, then letters, digits, _ and -, at most 64 in all.`},
		"a prototype key":        {`[` + pair + `{"id":"__proto__","name":"C","type":"string","category":"bio"}]`, `attributes[2].id: "__proto__" is no id: a letter first, then letters, digits, _ and -, at most 64 in all.`},
		"twice":                  {`[` + pair + `{"id":"a","name":"C","type":"string","category":"bio"}]`, `attributes[2].id: "a" is there twice.`},
		"no name":                {`[` + pair + `{"id":"c","name":" ","type":"string","category":"bio"}]`, `attributes[2].name: is empty.`},
		"unknown type":           {`[` + pair + `{"id":"c","name":"C","type":"text","category":"bio"}]`, `attributes[2].type: "text" is not one of string, number, boolean, enum, array, object, map.`},
		"unknown category":       {`[` + pair + `{"id":"c","name":"C","type":"string","category":"magic"}]`, `attributes[2].category: "magic" is not one of stats, bio, abilities, equipment, social.`},
		"min above max":          {`[` + pair + `{"id":"c","name":"C","type":"number","category":"stats","min":5,"max":1}]`, `attributes[2]: min 5 is above max 1.`},
		"default out of range":   {`[` + pair + `{"id":"c","name":"C","type":"number","category":"stats","max":5,"defaultValue":9}]`, `attributes[2].defaultValue: must be at most 5, got 9.`},
		"default of other type":  {`[` + pair + `{"id":"c","name":"C","type":"number","category":"stats","defaultValue":"强"}]`, `attributes[2].defaultValue: must be a finite number, got the string "强".`},
		"one option":             {`[` + pair + `{"id":"c","name":"C","type":"enum","category":"social","options":["水","水"]}]`, `attributes[2].options: there are 1 different ones, expected 2 to 24.`},
		"default not an option":  {`[` + pair + `{"id":"c","name":"C","type":"enum","category":"social","options":["水","火"],"defaultValue":"木"}]`, `attributes[2].defaultValue: must be one of "水", "火", got "木".`},
		"item type":              {`[` + pair + `{"id":"c","name":"C","type":"array","category":"equipment","itemType":"map"}]`, `attributes[2].itemType: "map" is not one of string, number.`},
		"value type":             {`[` + pair + `{"id":"c","name":"C","type":"map","category":"equipment","valueType":"enum"}]`, `attributes[2].valueType: "enum" is not one of string, number, boolean.`},
		"objects without end":    {`[` + pair + nested + `]`, `attributes[2].subSchema[0].subSchema[0].subSchema: is too deep, objects go at most 3 levels down.`},
		"several things at once": {`[` + pair + `{"id":"","name":"","type":"string","category":"bio"}]`, "attributes[2].id: \"\" is no id: a letter first, then letters, digits, _ and -, at most 64 in all.\nattributes[2].name: is empty."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := initialize(t, `{"attributes":`+tt.attributes+`}`, &sdk.Runtime{})
			var refused *sdk.ToolError
			if !errors.As(err, &refused) || refused.Code != sdk.InvalidInput {
				t.Fatalf("err = %v, want invalid-input", err)
			}
			if refused.Message != tt.want {
				t.Errorf("message\n got %q\nwant %q", refused.Message, tt.want)
			}
		})
	}
}

func TestInitializeWorldRefusesANameThatIsNoText(t *testing.T) {
	_, err := initialize(t, `{"attributes":[{"id":"a","name":7,"type":"string","category":"bio"}]}`, &sdk.Runtime{})
	var refused *sdk.ToolError
	if !errors.As(err, &refused) || refused.Code != sdk.InvalidInput || !strings.Contains(refused.Message, "a name or description is a string") {
		t.Errorf("err = %v", err)
	}
}

func TestLabelPicksTheLanguage(t *testing.T) {
	tests := map[string]struct{ raw, locale, want string }{
		"plain":           {`" 行当 "`, "en", "行当"},
		"exact":           {`{"zh-CN":"行当","zh":"职业","en":"Calling"}`, "zh-CN", "行当"},
		"language":        {`{"zh":"职业","en":"Calling"}`, "zh-TW", "职业"},
		"English":         {`{"zh":"职业","en":"Calling"}`, "fr", "Calling"},
		"first by locale": {`{"ja":"職","de":"Beruf"}`, "fr", "Beruf"},
		"empty":           {`{}`, "fr", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var l label
			if err := json.Unmarshal([]byte(tt.raw), &l); err != nil {
				t.Fatal(err)
			}
			if got := l.in(tt.locale); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Whatever a model sends, what passes is a schema whose defaults fit it.
func FuzzInitializeWorld(f *testing.F) {
	f.Add(`{"attributes":` + goodAttributes + `}`)
	f.Add(`{"types":["player"],"attributes":[{"id":"a","name":{"en":null},"type":"object","subSchema":[{}]}]}`)
	f.Fuzz(func(t *testing.T, args string) {
		got, err := initializeWorld.Execute(context.Background(), json.RawMessage(args), &sdk.Runtime{Locale: "zh"})
		if err != nil {
			return
		}
		schema := got.Content.(initialized).WorldSchema
		if n := len(schema.Attributes); n < minAttributes || n > maxAttributes {
			t.Errorf("%d attributes passed", n)
		}
		for _, a := range schema.Attributes {
			if a.DefaultValue == nil {
				continue
			}
			if issues := sdk.ValidateFields(schema, map[string]any{a.ID: a.DefaultValue}); len(issues) > 0 {
				t.Errorf("default of %s passed: %v", a.ID, issues)
			}
		}
	})
}

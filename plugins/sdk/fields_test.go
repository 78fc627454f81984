package sdk

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func ptr(f float64) *float64 { return &f }

var attributes = CharacterSchema{Types: []string{"player", "npc"}, Attributes: []AttributeDef{
	{ID: "hp", Type: AttrNumber, Min: ptr(0), Max: ptr(100), DefaultValue: 100.0},
	{ID: "calling", Type: AttrString, DefaultValue: "渡夫"},
	{ID: "root", Type: AttrEnum, Options: []string{"水", "火"}, DefaultValue: "水"},
	{ID: "mood", Type: AttrEnum},
	{ID: "alive", Type: AttrBoolean, DefaultValue: true},
	{ID: "bag", Type: AttrArray, ItemType: AttrString},
	{ID: "scores", Type: AttrArray, ItemType: AttrNumber},
	{ID: "any", Type: AttrArray},
	{ID: "body", Type: AttrObject, SubSchema: []AttributeDef{{ID: "height", Type: AttrNumber, Min: ptr(1)}, {ID: "eyes", Type: AttrString, DefaultValue: "grey"}}},
	{ID: "notes", Type: AttrObject},
	{ID: "ties", Type: AttrMap},
	{ID: "debts", Type: AttrMap, ValueType: AttrNumber},
	{ID: "flags", Type: AttrMap, ValueType: AttrBoolean},
}}

// reference: worlds-and-story.md §12.3, "Value validation".
func TestValidateFields(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   []FieldIssue
	}{
		"nothing is required":            {`{}`, nil},
		"undeclared keys are accepted":   {`{"陌生":{"a":[1]},"constructor":1}`, nil},
		"all good":                       {`{"hp":0,"calling":"","root":"火","mood":"anything","alive":false,"bag":["灯"],"scores":[1,2.5],"any":["a",1],"body":{"height":1,"other":true},"notes":{"x":1},"ties":{"Mira":"sister"},"debts":{"Mira":-3},"flags":{"a":true}}`, nil},
		"number as text":                 {`{"hp":"60"}`, []FieldIssue{{"hp", `must be a finite number, got the string "60"`}}},
		"null is no value":               {`{"hp":null}`, []FieldIssue{{"hp", "must be a finite number, got null"}}},
		"below min":                      {`{"hp":-1}`, []FieldIssue{{"hp", "must be at least 0, got -1"}}},
		"above max":                      {`{"hp":100.5}`, []FieldIssue{{"hp", "must be at most 100, got 100.5"}}},
		"string":                         {`{"calling":5}`, []FieldIssue{{"calling", "must be a string, got the number 5"}}},
		"enum not listed":                {`{"root":"木"}`, []FieldIssue{{"root", `must be one of "水", "火", got "木"`}}},
		"enum without options is a text": {`{"mood":3}`, []FieldIssue{{"mood", "must be a string, got the number 3"}}},
		"boolean":                        {`{"alive":"yes"}`, []FieldIssue{{"alive", `must be true or false, got the string "yes"`}}},
		"array items":                    {`{"bag":["灯",1],"scores":["x"],"any":[true]}`, []FieldIssue{{"bag[1]", "must be a string, got the number 1"}, {"scores[0]", `must be a finite number, got the string "x"`}, {"any[0]", "must be a string or a number, got true"}}},
		"array":                          {`{"bag":"灯"}`, []FieldIssue{{"bag", `must be an array, got the string "灯"`}}},
		"nested object":                  {`{"body":{"height":0,"eyes":1}}`, []FieldIssue{{"body.height", "must be at least 1, got 0"}, {"body.eyes", "must be a string, got the number 1"}}},
		"object":                         {`{"body":[],"notes":1}`, []FieldIssue{{"body", "must be an object, got an array"}, {"notes", "must be an object, got the number 1"}}},
		"map values are strings":         {`{"ties":{"b":1,"a":null}}`, []FieldIssue{{"ties.a", "must be a string, got null"}, {"ties.b", "must be a string, got the number 1"}}},
		"map of numbers, of booleans":    {`{"debts":{"x":"1"},"flags":{"y":0}}`, []FieldIssue{{"debts.x", `must be a finite number, got the string "1"`}, {"flags.y", "must be true or false, got the number 0"}}},
		"map":                            {`{"ties":true}`, []FieldIssue{{"ties", "must be an object, got true"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(c.fields), &fields); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ValidateFields(attributes, fields)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, n := range []any{math.NaN(), math.Inf(1), json.Number("1e999")} {
		if got := ValidateFields(attributes, map[string]any{"hp": n}); len(got) != 1 {
			t.Errorf("%v passed as a number", n)
		}
	}
	for _, n := range []any{7, int64(7), float32(7), json.Number("7"), uint64(7)} {
		if got := ValidateFields(attributes, map[string]any{"hp": n}); got != nil {
			t.Errorf("%T: %v", n, got)
		}
	}
}

func TestApplyDefaults(t *testing.T) {
	given := map[string]any{"hp": 3.0, "other": "stays", "body": map[string]any{"height": 2.0}}
	got := ApplyDefaults(attributes, given)
	want := map[string]any{
		"hp": 3.0, "other": "stays", "calling": "渡夫", "root": "水", "alive": true, "body": map[string]any{"height": 2.0, "eyes": "grey"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, changed := given["calling"]; changed || len(given["body"].(map[string]any)) != 1 {
		t.Errorf("the given fields were changed: %v", given)
	}
	if got := ApplyDefaults(attributes, nil); got["body"].(map[string]any)["eyes"] != "grey" {
		t.Errorf("an object that is missing is made of its own defaults: %v", got)
	}
}

// seed: tools.txt, "When a world attribute's default value does not match its own type, that default is not written".
func TestApplyDefaultsLeavesBrokenDefaultsOut(t *testing.T) {
	broken := CharacterSchema{Attributes: []AttributeDef{
		{ID: "hp", Type: AttrNumber, DefaultValue: "viel"}, {ID: "root", Type: AttrEnum, Options: []string{"水"}, DefaultValue: "火"},
		{ID: "bag", Type: AttrArray, ItemType: AttrString, DefaultValue: []any{"灯"}},
	}}
	got := ApplyDefaults(broken, map[string]any{})
	if diff := cmp.Diff(map[string]any{"bag": []any{"灯"}}, got); diff != "" {
		t.Error(diff)
	}
	got["bag"].([]any)[0] = "changed"
	if broken.Attributes[2].DefaultValue.([]any)[0] != "灯" {
		t.Error("a character shares its default value with the schema")
	}
}

func TestCollectableAttributes(t *testing.T) {
	var ids []string
	for _, a := range CollectableAttributes(attributes) {
		ids = append(ids, a.ID)
	}
	if diff := cmp.Diff([]string{"calling", "root", "mood"}, ids); diff != "" {
		t.Error(diff)
	}
}

func attributeGen(depth int) *rapid.Generator[AttributeDef] {
	return rapid.Custom(func(t *rapid.T) AttributeDef {
		kinds := []string{AttrString, AttrNumber, AttrBoolean, AttrEnum, AttrArray, AttrMap}
		if depth > 0 {
			kinds = append(kinds, AttrObject)
		}
		a := AttributeDef{ID: rapid.SampledFrom([]string{"a", "b", "c", "龙胆", "é"}).Draw(t, "id"), Type: rapid.SampledFrom(kinds).Draw(t, "type")}
		a.DefaultValue = rapid.SampledFrom([]any{nil, "x", 1.0, true, []any{"x"}, map[string]any{"a": "y"}}).Draw(t, "default")
		a.ItemType = rapid.SampledFrom([]string{"", AttrString, AttrNumber}).Draw(t, "item")
		if a.Type == AttrObject {
			a.SubSchema = rapid.SliceOfNDistinct(attributeGen(depth-1), 0, 3, attributeID).Draw(t, "sub")
		}
		return a
	})
}

func TestDefaultsAlwaysFitTheSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(attributeGen(2), 0, 5, attributeID).Draw(t, "attributes")
		schema := CharacterSchema{Attributes: list}
		got := ApplyDefaults(schema, nil)
		if issues := ValidateFields(schema, got); len(issues) > 0 {
			t.Fatalf("%v does not fit: %v", got, issues)
		}
		if diff := cmp.Diff(got, ApplyDefaults(schema, got)); diff != "" {
			t.Fatalf("a second time changes something:\n%s", diff)
		}
	})
}

func attributeID(a AttributeDef) string { return a.ID }

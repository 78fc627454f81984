package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference: worlds-and-story.md §12.2, §12.3.
func TestCheckSchema(t *testing.T) {
	hp := AttributeDef{ID: "hp", Name: "生命", Type: AttrNumber, Category: "stats", Min: ptr(0), Max: ptr(9), DefaultValue: "not a number"}
	deep := AttributeDef{ID: "x", Name: "X", Type: AttrString}
	for range maxAttributeDepth {
		deep = AttributeDef{ID: "o", Name: "O", Type: AttrObject, Category: "bio", SubSchema: []AttributeDef{deep}}
	}
	with := func(edit func(*AttributeDef)) []AttributeDef { a := hp; edit(&a); return []AttributeDef{a} }
	for name, c := range map[string]struct {
		schema CharacterSchema
		want   []FieldIssue
	}{
		"good":                {CharacterSchema{Types: []string{"npc", "同伴"}, Attributes: []AttributeDef{hp, {ID: "b", Name: "B", Type: AttrObject, Category: "bio", SubSchema: []AttributeDef{{ID: "hp", Name: "H", Type: AttrEnum, Options: []string{"a"}}}}}}, nil},
		"player is reserved":  {CharacterSchema{Types: []string{"player"}}, []FieldIssue{{"types[0]", `must not be "player": every session has it already`}}},
		"types":               {CharacterSchema{Types: []string{"", " npc", "a", "a"}}, []FieldIssue{{"types[0]", "must be a word without surrounding space"}, {"types[1]", "must be a word without surrounding space"}, {"types[3]", `"a" is listed twice`}}},
		"ids":                 {CharacterSchema{Attributes: []AttributeDef{hp, hp, {Name: "N", Type: AttrString, Category: "bio"}}}, []FieldIssue{{"hp", "the id is used twice"}, {"[2]", "needs an id"}}},
		"name":                {CharacterSchema{Attributes: with(func(a *AttributeDef) { a.Name = " " })}, []FieldIssue{{"hp", "needs a name"}}},
		"type and category":   {CharacterSchema{Attributes: with(func(a *AttributeDef) { a.Type, a.Category = "text", "" })}, []FieldIssue{{"hp", `the type must be one of string, number, boolean, enum, array, object, map, got "text"`}, {"hp", `the category must be one of stats, bio, abilities, equipment, social, got ""`}}},
		"bounds":              {CharacterSchema{Attributes: with(func(a *AttributeDef) { a.Min = ptr(10) })}, []FieldIssue{{"hp", "min 10 is more than max 9"}}},
		"options":             {CharacterSchema{Attributes: with(func(a *AttributeDef) { a.Type, a.Options = AttrEnum, []string{"水", "火", "水"} })}, []FieldIssue{{"hp", "an option is listed twice"}}},
		"item and value type": {CharacterSchema{Attributes: with(func(a *AttributeDef) { a.ItemType, a.ValueType = "boolean", "object" })}, []FieldIssue{{"hp", `itemType must be string or number, got "boolean"`}, {"hp", `valueType must be string, number or boolean, got "object"`}}},
		"inside an object":    {CharacterSchema{Attributes: []AttributeDef{{ID: "o", Name: "O", Type: AttrObject, Category: "bio", SubSchema: []AttributeDef{{ID: "x", Name: "X", Type: "?"}}}}}, []FieldIssue{{"o.x", `the type must be one of string, number, boolean, enum, array, object, map, got "?"`}}},
		"depth":               {CharacterSchema{Attributes: []AttributeDef{deep}}, []FieldIssue{{"o.o.o.o.o.o.o.o", "objects are nested more than 8 deep"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, CheckSchema(c.schema)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

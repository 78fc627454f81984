package charcreator

import (
	"encoding/json"
	"errors"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/covel/covel/plugins/sdk"
)

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

// chinese are the plugin's own translations.
func chinese(t *testing.T) sdk.Messages {
	t.Helper()
	b, err := files.ReadFile("locales/zh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var locale struct{ Messages sdk.Messages }
	if err := yaml.Unmarshal(b, &locale); err != nil {
		t.Fatal(err)
	}
	return locale.Messages
}

// harbour is a world in the middle of its set-up: 陆青云 and Élodie live in it, the player is still to come.
func harbour() *sdk.Runtime {
	return &sdk.Runtime{
		SessionID: "harbour-1",
		TurnID:    "turn-2",
		World: sdk.World{
			Schema: sdk.CharacterSchema{Version: 1, Types: []string{"npc"}, Attributes: []sdk.AttributeDef{
				{ID: "姓名", Name: "姓名", Type: sdk.AttrString, Category: "bio", DefaultValue: "无名氏"},
				{ID: "calling", Name: "Calling", Type: sdk.AttrString, Category: "bio"},
				{ID: "灵根", Name: "灵根", Type: sdk.AttrEnum, Category: "bio", Options: []string{"水", "火", "未知"}},
				{ID: "home", Name: "Home", Type: sdk.AttrString, Category: "bio", DefaultValue: "the lower quays"},
				{ID: "mark", Name: "Mark", Type: sdk.AttrEnum, Category: "bio"},
				{ID: "breath", Name: "Breath", Type: sdk.AttrNumber, Category: "stats", DefaultValue: 7.0},
				{ID: "luck", Name: "Luck", Type: sdk.AttrNumber, Category: "stats", DefaultValue: "some"},
				{ID: "bag", Name: "Bag", Type: sdk.AttrArray, Category: "equipment", ItemType: "string", DefaultValue: []any{"knife"}},
			}},
			Characters: []sdk.Character{
				{ID: "npc-lu", Name: "陆青云", Aliases: []string{"陆师兄"}, Type: "npc"},
				{ID: "npc-elodie", Name: "Élodie", Aliases: []string{"The Lamp"}, Type: "npc"},
			},
		},
		PluginData: records{},
		NewID:      func(prefix, label string) string { return prefix + "-" + label },
	}
}

// goodForm is a form the tool takes as it is.
func goodForm() form {
	return form{
		Title: "Who steps ashore?",
		Fields: []field{
			{Type: typeText, Name: nameField, Label: "Name", Required: true},
			{Type: typeText, Name: "calling", Label: "Calling", DefaultValue: "bell founder", Required: true},
			{Type: typeSelect, Name: "灵根", Label: "Root", Options: []string{"水", "火"}, DefaultValue: "水"},
		},
		SubmitLabel:       "Step ashore",
		NarrativeTemplate: "I am {{characterName}}, a {{calling}} with the root of {{灵根}}.",
	}
}

package charcreator

import (
	"encoding/json"
	"fmt"

	"github.com/covel/covel/plugins/sdk"
)

// The one form of this plugin.
const (
	formID    = "char-creation"
	nameField = "characterName"
	maxFields = 4 // the name and three attributes (seed: tools.txt, "Character creation form")
)

// Field types of a character form (seed: tools.txt, "create-form").
const (
	typeText     = "text"
	typeTextarea = "textarea"
	typeSelect   = "select"
)

// field is one field of the form as the page draws it.
type field struct {
	Type         string   `json:"type" jsonschema:"enum=text,enum=textarea,enum=select" describe:"text or textarea for a string attribute, select for an enum attribute."`
	Name         string   `json:"name" jsonschema:"minLength=1,maxLength=64" describe:"characterName, or the id of a string or enum attribute of the world."`
	Label        string   `json:"label" jsonschema:"minLength=1,maxLength=80" describe:"What the player reads above the field."`
	Placeholder  string   `json:"placeholder,omitempty" jsonschema:"maxLength=160" describe:"A hint inside the empty field."`
	Options      []string `json:"options,omitempty" describe:"select only: options of the world's attribute, word for word. Leave out to offer all of them."`
	Required     bool     `json:"required,omitempty" describe:"Whether the player must answer. characterName always is."`
	DefaultValue string   `json:"defaultValue,omitempty" jsonschema:"maxLength=200" describe:"A short phrase that fits its place in the sentence; for a select one of its options."`
}

// form is what the plugin chooses of a character form; the rest of the block is always the same.
type form struct {
	Title             string  `json:"title"`
	Fields            []field `json:"fields"`
	SubmitLabel       string  `json:"submitLabel"`
	NarrativeTemplate string  `json:"narrativeTemplate"`
	Notice            string  `json:"notice,omitempty"`
}

// block is the form as it is published: the interaction that the kernel commits, the page draws and the submit endpoint
// checks. It carries the name validator with digests of the names that are taken.
func (f form) block(rt *sdk.Runtime) (map[string]any, error) {
	whole := struct {
		form
		Type           string         `json:"type"`
		InteractionID  string         `json:"interactionId"`
		FormID         string         `json:"formId"`
		Validation     validation     `json:"validation"`
		SubmitBehavior map[string]any `json:"submitBehavior"`
	}{
		form:           f,
		Type:           "form",
		InteractionID:  formID,
		FormID:         formID,
		Validation:     validation{Name: validatorName, Data: takenNames(rt)},
		SubmitBehavior: map[string]any{"echoFilledNarrative": true},
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("the character form cannot be written as JSON: %w", err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("the character form cannot be read back: %w", err)
	}
	return out, nil
}

// field finds a field by name, nil when the form has none.
func (f form) field(name string) *field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// nameAttributes are attributes that hold the character's own name. They are never asked for: they take the name of the
// form (seed: tools.txt, "Character creation form").
var nameAttributes = map[string]bool{"name": true, nameField: true, "playerName": true, "姓名": true}

// attribute finds an attribute of the schema by id.
func attribute(schema sdk.CharacterSchema, id string) (sdk.AttributeDef, bool) {
	for _, a := range schema.Attributes {
		if a.ID == id {
			return a, true
		}
	}
	return sdk.AttributeDef{}, false
}

// collectable are the attributes a form may ask for: strings and enums that are not the character's name.
func collectable(schema sdk.CharacterSchema) []sdk.AttributeDef {
	var out []sdk.AttributeDef
	for _, a := range sdk.CollectableAttributes(schema) {
		if !nameAttributes[a.ID] {
			out = append(out, a)
		}
	}
	return out
}

// isChoice says whether the attribute is one of given options. An enum without options is a free string
// (reference: worlds-and-story.md §12.3).
func isChoice(a sdk.AttributeDef) bool { return a.Type == sdk.AttrEnum && len(a.Options) > 0 }

// schemaOf is the character schema a form is made for: the one that the world's data provider gave in this execution, else
// the session's own.
func schemaOf(rt *sdk.Runtime) sdk.CharacterSchema {
	if given := rt.Inputs["worldSchema"].Value(); given != nil {
		var schema sdk.CharacterSchema
		if json.Unmarshal(given, &schema) == nil && len(schema.Attributes) > 0 {
			return schema
		}
	}
	return rt.CharacterSchema()
}

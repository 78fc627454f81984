package worlds

import (
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// PlayerType is the character type that always exists; a world's schema may not declare it.
const PlayerType = "player"

var (
	defaultTypes   = []string{"npc", "companion"}
	attributeKinds = []string{"string", "number", "boolean", "enum", "array", "object", "map"}
	categories     = []string{"stats", "bio", "abilities", "equipment", "social"}

	attributeID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

const (
	maxAttributes  = 100
	maxOptions     = 100
	maxTypes       = 50
	maxNameRunes   = 80
	maxShortRunes  = 600
	maxLongRunes   = 8_000
	maxFieldsRunes = 4_000
)

// readSchema reads characterSchema (reference: worlds-and-story.md §12.2, §12.3). main is the schema of defaultLocale when
// a translation is read, so that values can follow their options; nil for defaultLocale itself.
func readSchema(c cursor, main *sdk.CharacterSchema) *sdk.CharacterSchema {
	if !c.present() {
		return nil
	}
	o := c.object("types", "attributes")
	schema := &sdk.CharacterSchema{Version: 1, Types: readTypes(o.get("types"))}
	var mainAttributes []sdk.AttributeDef
	if main != nil {
		mainAttributes = main.Attributes
	}
	schema.Attributes = readAttributes(o.get("attributes"), mainAttributes)
	return schema
}

func readTypes(c cursor) []string {
	types := c.labels(maxTypes, maxNameRunes)
	if !c.present() || len(types) == 0 {
		return slices.Clone(defaultTypes)
	}
	if slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, PlayerType) }) {
		c.fail("remove it from the list.", "%q is always a type and may not be declared.", PlayerType)
	}
	return types
}

func readAttributes(c cursor, main []sdk.AttributeDef) []sdk.AttributeDef {
	out := []sdk.AttributeDef{}
	seen := map[string]bool{}
	for _, item := range c.items(maxAttributes) {
		o := item.object("id", "name", "type", "category", "description", "min", "max", "defaultValue", "itemType", "options", "subSchema", "valueType")
		if o.noMap {
			continue
		}
		var a sdk.AttributeDef
		if id := o.get("id"); id.require() {
			a.ID = id.matching(attributeID, "a letter, then letters, digits, - or _, at most 64")
			switch {
			case reservedKey(a.ID):
				id.fail("choose another id.", "%q is reserved.", a.ID)
			case a.ID != "" && seen[a.ID]:
				id.fail("choose another id.", "another attribute has the id %q.", a.ID)
			}
			seen[a.ID] = true
		}
		if name := o.get("name"); name.require() {
			a.Name = name.label(maxNameRunes)
		}
		if kind := o.get("type"); kind.require() {
			a.Type = kind.oneOf("", attributeKinds...)
		}
		if category := o.get("category"); category.require() {
			a.Category = category.oneOf("", categories...)
		}
		a.Description = o.get("description").prose(maxShortRunes)
		var mainA *sdk.AttributeDef
		if i := slices.IndexFunc(main, func(m sdk.AttributeDef) bool { return m.ID == a.ID }); i >= 0 {
			mainA = &main[i]
		}
		readShape(o, &a, mainA)
		if d := o.get("defaultValue"); d.present() && a.Type != "" {
			a.DefaultValue = fitValue(d, a, mainA)
		}
		out = append(out, a)
	}
	return out
}

// readShape reads the keys that belong to one attribute type each.
func readShape(o object, a, main *sdk.AttributeDef) {
	owner := map[string]string{"min": "number", "max": "number", "options": "enum", "itemType": "array", "subSchema": "object", "valueType": "map"}
	for _, key := range []string{"min", "max", "options", "itemType", "subSchema", "valueType"} {
		c := o.get(key)
		if !c.present() || a.Type == "" {
			continue
		}
		if a.Type != owner[key] {
			c.fail("remove it, or make the type "+owner[key]+".", "it belongs to the type %s, this attribute is of the type %s.", owner[key], a.Type)
			continue
		}
		switch key {
		case "min":
			if v, ok := c.number(); ok {
				a.Min = &v
			}
		case "max":
			if v, ok := c.number(); ok {
				a.Max = &v
			}
			if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
				c.fail("swap them.", "max is below min.")
			}
		case "options":
			a.Options = c.labels(maxOptions, maxNameRunes)
		case "itemType":
			a.ItemType = c.oneOf("", "string", "number")
		case "subSchema":
			var mainSub []sdk.AttributeDef
			if main != nil {
				mainSub = main.SubSchema
			}
			a.SubSchema = readAttributes(c, mainSub)
		case "valueType":
			a.ValueType = c.oneOf("", "string", "number", "boolean")
		}
	}
	if a.Type == "enum" && len(a.Options) == 0 {
		o.get("options").warn("list the options, or make the type string.", "an enum without options takes any text.")
	}
	if a.Type == "array" && a.ItemType == "" {
		a.ItemType = "string"
	}
}

// fitValue reads a value of an attribute and checks it against the definition. It gives the value as encoding/json
// would, nil when it does not fit. A value of an enum that was not translated follows its option.
func fitValue(c cursor, a sdk.AttributeDef, main *sdk.AttributeDef) any {
	switch a.Type {
	case "string":
		return orNil(c, c.prose(maxFieldsRunes))
	case "enum":
		return orNil(c, fitOption(c, a, main))
	case "number":
		v, ok := c.number()
		switch {
		case !ok:
			return nil
		case a.Min != nil && v < *a.Min:
			c.fail("raise it, or lower min.", "%s is below min.", c.node.Value)
		case a.Max != nil && v > *a.Max:
			c.fail("lower it, or raise max.", "%s is above max.", c.node.Value)
		}
		return v
	case "boolean":
		if v, ok := c.flag(); ok {
			return v
		}
		return nil
	case "array":
		out := []any{}
		for _, item := range c.items(maxListItems) {
			out = append(out, fitScalar(item, a.ItemType))
		}
		return out
	case "map":
		kind := a.ValueType
		if kind == "" {
			kind = "string"
		}
		out := map[string]any{}
		members := c.members()
		for _, key := range members.order {
			out[key] = fitScalar(members.get(key), kind)
		}
		return out
	case "object":
		var mainSub []sdk.AttributeDef
		if main != nil {
			mainSub = main.SubSchema
		}
		return fitFields(c, a.SubSchema, mainSub, false)
	}
	return nil
}

func fitOption(c cursor, a sdk.AttributeDef, main *sdk.AttributeDef) string {
	text := c.label(maxNameRunes)
	if text == "" || len(a.Options) == 0 {
		return text
	}
	if main != nil && !c.translated() && len(main.Options) == len(a.Options) {
		if i := slices.Index(main.Options, text); i >= 0 {
			return a.Options[i]
		}
	}
	if !slices.Contains(a.Options, text) {
		c.fail("use one of: "+strings.Join(a.Options, ", ")+".", "%q is not an option of %s.", clip(text, 40), a.ID)
	}
	return text
}

func fitScalar(c cursor, kind string) any {
	if !c.require() {
		return nil
	}
	return fitValue(c, sdk.AttributeDef{Type: kind}, nil)
}

// fitFields reads a map of attribute values. Keys that no attribute declares are kept; with warn they are reported.
func fitFields(c cursor, attributes, main []sdk.AttributeDef, warn bool) map[string]any {
	out := map[string]any{}
	members := c.members()
	for _, key := range members.order {
		value := members.get(key)
		if !value.present() {
			continue
		}
		i := slices.IndexFunc(attributes, func(a sdk.AttributeDef) bool { return a.ID == key })
		if i < 0 {
			if warn {
				value.warn("declare it in characterSchema.attributes or remove it.", "no attribute has this id; the value is kept as it is.")
			}
			out[key] = value.any()
			continue
		}
		var mainA *sdk.AttributeDef
		if j := slices.IndexFunc(main, func(a sdk.AttributeDef) bool { return a.ID == key }); j >= 0 {
			mainA = &main[j]
		}
		if v := fitValue(value, attributes[i], mainA); v != nil {
			out[key] = v
		}
	}
	return out
}

// orNil keeps an empty text apart from a text that was reported.
func orNil(c cursor, text string) any {
	if text == "" && strings.TrimSpace(c.node.Value) != "" {
		return nil
	}
	return text
}

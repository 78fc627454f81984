package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/plugins/sdk"
)

// Limits of character profiles, in characters (reference: worlds-and-story.md §12.6).
const (
	maxProfilePart = 400
	maxProfiles    = 8000
)

// sheet is a character as its own block shows it.
type sheet struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Aliases     []string `json:"aliases,omitempty"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Fields      any      `json:"fields"`
}

func (in In) sheet() sheet {
	c := in.Player
	fields := modelFacing(decode(c.Fields))
	if fields == nil {
		fields = map[string]any{}
	}
	return sheet{ID: c.ID, Name: c.Name, Aliases: c.Aliases, Type: c.Type, Description: c.Description, Fields: fields}
}

// playerSheet is the sheet as a value that template variables can walk.
func (in In) playerSheet() any { return decode(json.RawMessage(toJSON(in.sheet(), false))) }

func (in In) playerBlock() string {
	if in.Player == nil {
		return ""
	}
	return block("player-character", Escape(toJSON(in.sheet(), true)))
}

// profiles describe everybody but the player's character, one line each. Who no longer fits is only named.
func (in In) profiles() string {
	var lines, named []string
	size, schema := 0, schemaKey(in.Schema)
	for _, c := range in.Characters {
		if in.Player != nil && c.ID == in.Player.ID {
			continue
		}
		line := remembered(profileKey{characterKey(c), schema}, func() string { return in.profile(c) })
		if n := utf8.RuneCountInString(line) + 1; len(named) == 0 && size+n <= maxProfiles {
			size += n
			lines = append(lines, line)
			continue
		}
		named = append(named, oneLine(c.Name))
	}
	if len(named) > 0 {
		lines = append(lines, in.say().in("- Also here, without details: ", "- 其他人物（仅列名）：")+strings.Join(named, in.say().in(", ", "、")))
	}
	return strings.Join(lines, "\n")
}

func (in In) profile(c sdk.Character) string {
	line := "- " + label(c)
	if c.Type != "" {
		line += " [" + oneLine(c.Type) + "]"
	}
	if d := oneLine(c.Description); d != "" {
		line += " " + cutRunes(d, maxProfilePart)
	}
	for _, a := range attributes(c, in.Schema) {
		line += " · " + cutRunes(a, maxProfilePart)
	}
	return line
}

// label names a character: Name (aka A, B).
func label(c sdk.Character) string {
	if len(c.Aliases) == 0 {
		return oneLine(c.Name)
	}
	return oneLine(c.Name + " (aka " + strings.Join(c.Aliases, ", ") + ")")
}

// attributes are "<name>: <value>" of the fields that are set, first those of the schema in its order.
func attributes(c sdk.Character, schema sdk.CharacterSchema) []string {
	fields := fieldsOf(c.Fields)
	var out []string
	add := func(name string, v any, def sdk.AttributeDef) {
		if t := valueText(v, def); t != "" {
			out = append(out, oneLine(name)+": "+t)
		}
	}
	for _, def := range schema.Attributes {
		if i := slices.IndexFunc(fields, func(f field) bool { return f.key == def.ID }); i >= 0 {
			add(def.Name, fields[i].value, def)
			fields[i].declared = true
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.key, b.key) })
	for _, f := range fields {
		if !f.declared {
			add(f.key, f.value, sdk.AttributeDef{})
		}
	}
	return out
}

// field is a field of a character as the model may see it.
type field struct {
	key      string
	value    any
	declared bool
}

// fieldsOf reads the fields of a character. It runs for every character of every turn, so it does not build the whole
// value: most fields are texts and numbers.
func fieldsOf(raw json.RawMessage) []field {
	fields := gjson.ParseBytes(raw)
	if !fields.IsObject() || !gjson.ValidBytes(raw) {
		return nil
	}
	var out []field
	fields.ForEach(func(k, r gjson.Result) bool {
		f := field{key: k.String()}
		switch r.Type {
		case gjson.String:
			f.value = r.String()
		case gjson.Number:
			f.value = json.Number(r.Raw)
		case gjson.True, gjson.False:
			f.value = r.Bool()
		case gjson.JSON:
			f.value = decode(json.RawMessage(r.Raw))
		}
		if isBookkeeping(f.key, f.value) {
			return true
		}
		f.value = modelFacing(f.value)
		if i := slices.IndexFunc(out, func(o field) bool { return o.key == f.key }); i >= 0 {
			out[i] = f // the last of two keys counts, as everywhere
		} else {
			out = append(out, f)
		}
		return true
	})
	return out
}

// valueText shows a value on one line. A number with a maximum shows it, with a minimum other than 0 its range.
func valueText(v any, def sdk.AttributeDef) string {
	switch v := v.(type) {
	case nil:
		return ""
	case json.Number:
		switch {
		case def.Max == nil:
			return v.String()
		case def.Min != nil && *def.Min != 0:
			return fmt.Sprintf("%s (%v–%v)", v, *def.Min, *def.Max)
		}
		return fmt.Sprintf("%s/%v", v, *def.Max)
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			if t := valueText(item, sdk.AttributeDef{}); t != "" {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		if len(v) == 0 {
			return ""
		}
		return oneLine(toJSON(v, false))
	}
	return oneLine(variableText(v))
}

// oneLine collapses white space, so that data cannot begin a line of its own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

package sdk

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Attribute types (reference: worlds-and-story.md §12.3).
const (
	AttrString  = "string"
	AttrNumber  = "number"
	AttrBoolean = "boolean"
	AttrEnum    = "enum"
	AttrArray   = "array"
	AttrObject  = "object"
	AttrMap     = "map"
)

// FieldIssue says what is wrong with one attribute value. Field is the attribute's id, with .sub and [i] for what lies
// inside it; Message is English and says what is expected.
type FieldIssue struct {
	Field   string
	Message string
}

func (i FieldIssue) Error() string { return i.Field + ": " + i.Message }

// ValidateFields checks a character's attribute values. Every declared attribute is optional and keys that are not declared
// are accepted, but a declared key that is there must have a value of its type: null, a number that is not finite, and text
// for a number do not pass. Issues come in the order of the schema, all at once; none means the fields are good.
func ValidateFields(schema CharacterSchema, fields map[string]any) []FieldIssue {
	return checkAttributes("", schema.Attributes, fields)
}

func checkAttributes(prefix string, attrs []AttributeDef, values map[string]any) []FieldIssue {
	var issues []FieldIssue
	for _, a := range attrs {
		v, ok := values[a.ID]
		if !ok {
			continue
		}
		issues = append(issues, checkAttribute(prefix+a.ID, a, v)...)
	}
	return issues
}

// checkAttribute checks one value against its definition.
func checkAttribute(path string, a AttributeDef, v any) []FieldIssue {
	wrong := func(format string, args ...any) []FieldIssue {
		return []FieldIssue{{Field: path, Message: fmt.Sprintf(format, args...)}}
	}
	switch a.Type {
	case AttrNumber:
		n, ok := number(v)
		switch {
		case !ok:
			return wrong("must be a finite number, got %s", kindOf(v))
		case a.Min != nil && n < *a.Min:
			return wrong("must be at least %s, got %s", TemplateText(*a.Min), TemplateText(n))
		case a.Max != nil && n > *a.Max:
			return wrong("must be at most %s, got %s", TemplateText(*a.Max), TemplateText(n))
		}
	case AttrBoolean:
		if _, ok := v.(bool); !ok {
			return wrong("must be true or false, got %s", kindOf(v))
		}
	case AttrString:
		if _, ok := v.(string); !ok {
			return wrong("must be a string, got %s", kindOf(v))
		}
	case AttrEnum:
		s, ok := v.(string)
		switch {
		case !ok:
			return wrong("must be a string, got %s", kindOf(v))
		case len(a.Options) > 0 && !slices.Contains(a.Options, s):
			return wrong("must be one of %s, got %q", quoteAll(a.Options), s)
		}
	case AttrArray:
		items, ok := list(v)
		if !ok {
			return wrong("must be an array, got %s", kindOf(v))
		}
		var issues []FieldIssue
		for i, item := range items {
			issues = append(issues, checkScalar(path+"["+strconv.Itoa(i)+"]", a.ItemType, item)...)
		}
		return issues
	case AttrObject:
		o, ok := v.(map[string]any)
		if !ok {
			return wrong("must be an object, got %s", kindOf(v))
		}
		return checkAttributes(path+".", a.SubSchema, o)
	case AttrMap:
		o, ok := v.(map[string]any)
		if !ok {
			return wrong("must be an object, got %s", kindOf(v))
		}
		valueType := a.ValueType
		if valueType == "" {
			valueType = AttrString
		}
		keys := make([]string, 0, len(o))
		for k := range o {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var issues []FieldIssue
		for _, k := range keys {
			issues = append(issues, checkScalar(path+"."+k, valueType, o[k])...)
		}
		return issues
	}
	return nil
}

// checkScalar checks an item of an array or a map. Without a type, strings and numbers pass.
func checkScalar(path, kind string, v any) []FieldIssue {
	_, isNumber := number(v)
	_, isString := v.(string)
	_, isBool := v.(bool)
	var ok bool
	var want string
	switch kind {
	case AttrNumber:
		ok, want = isNumber, "a finite number"
	case AttrBoolean:
		ok, want = isBool, "true or false"
	case AttrString:
		ok, want = isString, "a string"
	default:
		ok, want = isNumber || isString, "a string or a number"
	}
	if ok {
		return nil
	}
	return []FieldIssue{{Field: path, Message: "must be " + want + ", got " + kindOf(v)}}
}

// ApplyDefaults gives a copy of fields in which attributes that are missing have the schema's default values, inside
// objects too. A default that does not fit its own attribute is left out (seed: tools.txt, "Character creation form").
func ApplyDefaults(schema CharacterSchema, fields map[string]any) map[string]any {
	return withDefaults(schema.Attributes, fields)
}

func withDefaults(attrs []AttributeDef, values map[string]any) map[string]any {
	out := make(map[string]any, len(values)+len(attrs))
	for k, v := range values {
		out[k] = v
	}
	for _, a := range attrs {
		v, given := out[a.ID]
		if !given && a.DefaultValue != nil && len(checkAttribute(a.ID, a, a.DefaultValue)) == 0 {
			v, given = cloneJSON(a.DefaultValue), true
		}
		if a.Type == AttrObject && len(a.SubSchema) > 0 {
			if o, isObject := v.(map[string]any); isObject || !given {
				if inner := withDefaults(a.SubSchema, o); given || len(inner) > 0 {
					v, given = inner, true
				}
			}
		}
		if given {
			out[a.ID] = v
		}
	}
	return out
}

// CollectableAttributes are the attributes a character form may ask the player for: strings and enums, in the schema's
// order. Numbers and composite attributes keep their defaults (seed: tools.txt, "Opening character form").
func CollectableAttributes(schema CharacterSchema) []AttributeDef {
	var out []AttributeDef
	for _, a := range schema.Attributes {
		if a.Type == AttrString || a.Type == AttrEnum {
			out = append(out, a)
		}
	}
	return out
}

// number reads a JSON number that is finite, in any of the Go types it comes in.
func number(v any) (float64, bool) {
	var n float64
	switch x := v.(type) {
	case float64:
		n = x
	case float32:
		n = float64(x)
	case int:
		n = float64(x)
	case int64:
		n = float64(x)
	case uint64:
		n = float64(x)
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			return 0, false
		}
		n = f
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

func list(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case []string:
		out := make([]any, len(x))
		for i, s := range x {
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

// kindOf names a JSON value's kind for a message.
func kindOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case string:
		if len([]rune(x)) > 40 {
			x = string([]rune(x)[:40]) + "…"
		}
		return "the string " + strconv.Quote(x)
	case map[string]any:
		return "an object"
	case []any, []string:
		return "an array"
	}
	if n, ok := number(v); ok {
		return "the number " + TemplateText(n)
	}
	return "something that is not a JSON value"
}

func quoteAll(options []string) string {
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = strconv.Quote(o)
	}
	return strings.Join(quoted, ", ")
}

// cloneJSON copies a JSON value so that a record does not share memory with the schema.
func cloneJSON(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = cloneJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = cloneJSON(e)
		}
		return out
	}
	return v
}

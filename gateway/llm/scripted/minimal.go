package scripted

import (
	"maps"
	"math"
	"strconv"
	"strings"
)

const (
	maxDepth  = 32     // a schema that refers to itself ends here
	maxItems  = 1000   // of a list or text that a schema demands
	maxValues = 10_000 // in all
)

// minimal makes a small value that fits a JSON Schema: what is required and nothing else. It knows the keywords that tool
// parameters use; a pattern it cannot satisfy.
func minimal(schema any) any {
	m := minimizer{root: schema}
	return m.value(schema, 0)
}

type minimizer struct {
	root any
	made int
}

func (m *minimizer) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if m.made++; !ok || depth > maxDepth || m.made > maxValues {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.value(resolve(ref, m.root), depth+1)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	if v, ok := s["default"]; ok {
		return v
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if list, ok := s[choice].([]any); ok && len(list) > 0 {
			return m.value(list[0], depth+1)
		}
	}
	if list, ok := s["allOf"].([]any); ok {
		return m.all(list, s, depth)
	}
	return m.ofType(typeOf(s), s, depth)
}

// typeOf is the first type that is not null, or what the keywords suggest.
func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
		return "null"
	}
	switch {
	case s["properties"] != nil || s["required"] != nil:
		return "object"
	case s["items"] != nil:
		return "array"
	}
	return "string"
}

func (m *minimizer) ofType(name string, s map[string]any, depth int) any {
	switch name {
	case "object":
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, r := range required {
			if key, ok := r.(string); ok {
				out[key] = m.value(properties[key], depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		for range count(s, "minItems") {
			out = append(out, m.value(s["items"], depth+1))
		}
		return out
	case "number", "integer":
		return smallNumber(name, s)
	case "boolean":
		return false
	case "string":
		return strings.Repeat("x", max(count(s, "minLength"), 1))
	}
	return nil
}

func smallNumber(name string, s map[string]any) float64 {
	least, ok := s["minimum"].(float64)
	if above, exclusive := s["exclusiveMinimum"].(float64); exclusive {
		least, ok = math.Floor(above)+1, true
	}
	if most, bounded := s["maximum"].(float64); !ok && bounded && most < 0 {
		least = most
	}
	if name == "integer" {
		least = math.Ceil(least)
	}
	if step, ok := s["multipleOf"].(float64); ok && step > 0 {
		least = math.Ceil(least/step) * step
	}
	if math.IsInf(least, 0) || math.IsNaN(least) {
		return 0
	}
	return least
}

// all joins the objects that the parts demand, the schema's own keywords being a part too.
func (m *minimizer) all(parts []any, s map[string]any, depth int) any {
	own := maps.Clone(s)
	delete(own, "allOf")
	if len(own) > 0 {
		parts = append([]any{own}, parts...)
	}
	var only any
	joined := map[string]any{}
	for _, part := range parts {
		switch value := m.value(part, depth+1).(type) {
		case map[string]any:
			maps.Copy(joined, value)
		default:
			only = value
		}
	}
	if len(joined) == 0 && only != nil {
		return only
	}
	return joined
}

func count(s map[string]any, key string) int {
	n, _ := s[key].(float64)
	return int(max(0, min(n, maxItems)))
}

// resolve follows a reference inside the document: #/$defs/name.
func resolve(ref string, root any) any {
	at := root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

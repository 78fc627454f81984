package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// Bounds of a dimension's schema, value and table (reference: worlds-and-story.md §13.2).
const (
	maxDimensionDepth = 32
	maxDimensionNodes = 10_000
	maxDimensionBytes = 262_144
)

// DimensionID is what a dimension may be called.
var dimensionID = regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]{0,63}$`)

// schemaKeywords are the keywords of the closed subset; any other one is refused.
var schemaKeywords = []string{
	"type", "title", "description", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
	"items", "minItems", "maxItems", "properties", "required", "additionalProperties", "x-i18n", "x-enumLabels", "x-derive",
}

var dimensionSchemas schema.Cache

// CheckDimension holds a definition against the rules of dimensions; the initial value fits the schema.
func CheckDimension(id string, d sdk.DimensionDefinition) error {
	switch {
	case !dimensionID.MatchString(id) || slices.Contains([]string{"__proto__", "prototype", "constructor"}, id):
		return reject("definitions: the id %q is none: it begins with a small letter and has letters, digits, _ and -, at most 64", id)
	case strings.TrimSpace(d.Name) == "":
		return reject("definitions.%s.name: is empty", id)
	case len(d.InitialValue) == 0:
		return reject("definitions.%s.initialValue: is missing", id)
	}
	if err := checkBounds("definitions."+id+".schema", d.Schema); err != nil {
		return err
	}
	var s any
	if err := json.Unmarshal(d.Schema, &s); err != nil {
		return reject("definitions.%s.schema: %v", id, err)
	}
	if err := checkSubset("definitions."+id+".schema", s); err != nil {
		return err
	}
	return CheckDimensionValue("definitions."+id+".initialValue", d.Schema, d.InitialValue)
}

// CheckDimensionValue holds a value against the schema of its dimension, without any conversion; at names the value.
func CheckDimensionValue(at string, schema, value json.RawMessage) error {
	if err := checkBounds(at, value); err != nil {
		return err
	}
	compiled, err := dimensionSchemas.Compile(schema)
	if err != nil {
		return reject("%s: its schema cannot be used: %v", at, err)
	}
	if failure := compiled.CheckJSON(value); failure != nil {
		return reject("%s: %v", at, failure)
	}
	return nil
}

// checkSubset walks the places of a schema where another schema stands.
func checkSubset(at string, s any) error {
	object, ok := s.(map[string]any)
	if !ok {
		return reject("%s: must be an object", at)
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(schemaKeywords, k) {
			return reject("%s.%s: is no keyword of a dimension's schema", at, k)
		}
	}
	if _, ok := object["type"]; !ok && object["enum"] == nil && object["const"] == nil {
		return reject("%s.type: is missing", at)
	}
	if items, ok := object["items"]; ok {
		if err := checkSubset(at+".items", items); err != nil {
			return err
		}
	}
	if more, ok := object["additionalProperties"]; ok {
		if _, isBool := more.(bool); !isBool {
			if err := checkSubset(at+".additionalProperties", more); err != nil {
				return err
			}
		}
	}
	properties, _ := object["properties"].(map[string]any)
	if object["properties"] != nil && properties == nil {
		return reject("%s.properties: must be an object", at)
	}
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		if err := checkSubset(at+".properties."+k, properties[k]); err != nil {
			return err
		}
	}
	required, _ := object["required"].([]any)
	for i, r := range required {
		name, _ := r.(string)
		if _, declared := properties[name]; !declared {
			return reject("%s.required[%d]: %v is no property", at, i, r)
		}
	}
	return nil
}

func checkBounds(at string, value json.RawMessage) error {
	switch {
	case len(value) == 0:
		return reject("%s: is missing", at)
	case len(value) > maxDimensionBytes:
		return reject("%s: has %d bytes of JSON, the limit is %d", at, len(value), maxDimensionBytes)
	}
	depth, deepest, nodes := 0, 0, 0
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		nodes++
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
			nodes--
		}
	}
	switch {
	case deepest > maxDimensionDepth:
		return reject("%s: is %d levels deep, the limit is %d", at, deepest, maxDimensionDepth)
	case nodes > maxDimensionNodes:
		return reject("%s: has %d parts, the limit is %d", at, nodes, maxDimensionNodes)
	}
	return nil
}

// SameJSON compares two values whatever the order of their keys.
func SameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(orNull(a), &x) != nil || json.Unmarshal(orNull(b), &y) != nil {
		return false
	}
	return fmt.Sprintf("%#v", x) == fmt.Sprintf("%#v", y)
}

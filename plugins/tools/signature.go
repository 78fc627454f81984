package tools

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

const maxSignature = 500 // characters

// signature says in a line what a tool takes: {"quest": string, "state"?: string}. A model whose arguments cannot be read
// is told by it what would be.
func signature(parameters json.RawMessage) string {
	required := map[string]bool{}
	for _, name := range gjson.GetBytes(parameters, "required").Array() {
		required[name.String()] = true
	}
	var parts []string
	gjson.GetBytes(parameters, "properties").ForEach(func(name, field gjson.Result) bool {
		part := `"` + name.String() + `"`
		if !required[name.String()] {
			part += "?"
		}
		kind := field.Get("type").String()
		if kind == "" || field.Get("type").IsArray() {
			kind = "value"
		}
		parts = append(parts, part+": "+kind)
		return true
	})
	return cut("{"+strings.Join(parts, ", ")+"}", maxSignature)
}

// needsNothing: a call without any arguments is a whole call of the tool.
func needsNothing(parameters json.RawMessage) bool {
	return len(gjson.GetBytes(parameters, "required").Array()) == 0
}

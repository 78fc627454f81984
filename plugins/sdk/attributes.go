package sdk

import (
	"fmt"
	"slices"
	"strings"
)

// PlayerType is the character type that every schema has without naming it.
const PlayerType = "player"

var (
	attributeTypes      = []string{AttrString, AttrNumber, AttrBoolean, AttrEnum, AttrArray, AttrObject, AttrMap}
	attributeCategories = []string{"stats", "bio", "abilities", "equipment", "social"}
)

// maxAttributeDepth is how deep objects may be nested.
const maxAttributeDepth = 8

// CheckSchema checks the definitions of a character schema (reference: worlds-and-story.md §12.2, §12.3): types are words of
// their own without "player", attributes have unique ids, a name, a known type and category, and bounds and options that
// make sense. A default value that does not fit is no issue: it is not used. Issues come all at once; Field is
// types[i] or the path of the attribute.
func CheckSchema(s CharacterSchema) []FieldIssue {
	var issues []FieldIssue
	seen := map[string]bool{}
	for i, name := range s.Types {
		at := fmt.Sprintf("types[%d]", i)
		switch {
		case name == "" || strings.TrimSpace(name) != name:
			issues = append(issues, FieldIssue{at, "must be a word without surrounding space"})
		case name == PlayerType:
			issues = append(issues, FieldIssue{at, `must not be "player": every session has it already`})
		case seen[name]:
			issues = append(issues, FieldIssue{at, fmt.Sprintf("%q is listed twice", name)})
		}
		seen[name] = true
	}
	return append(issues, checkDefinitions("", s.Attributes, 1)...)
}

func checkDefinitions(prefix string, attrs []AttributeDef, depth int) []FieldIssue {
	var issues []FieldIssue
	seen := map[string]bool{}
	for i, a := range attrs {
		path := prefix + a.ID
		if strings.TrimSpace(a.ID) == "" {
			path = fmt.Sprintf("%s[%d]", prefix, i)
		}
		add := func(format string, args ...any) {
			issues = append(issues, FieldIssue{path, fmt.Sprintf(format, args...)})
		}
		switch {
		case strings.TrimSpace(a.ID) == "":
			add("needs an id")
		case seen[a.ID]:
			add("the id is used twice")
		}
		seen[a.ID] = true
		if strings.TrimSpace(a.Name) == "" {
			add("needs a name")
		}
		if !slices.Contains(attributeTypes, a.Type) {
			add("the type must be one of %s, got %q", strings.Join(attributeTypes, ", "), a.Type)
		}
		if !slices.Contains(attributeCategories, a.Category) && (depth == 1 || a.Category != "") {
			add("the category must be one of %s, got %q", strings.Join(attributeCategories, ", "), a.Category)
		}
		if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
			add("min %s is more than max %s", TemplateText(*a.Min), TemplateText(*a.Max))
		}
		if a.Type == AttrEnum && len(slices.Compact(slices.Sorted(slices.Values(a.Options)))) != len(a.Options) {
			add("an option is listed twice")
		}
		if a.ItemType != "" && a.ItemType != AttrString && a.ItemType != AttrNumber {
			add("itemType must be string or number, got %q", a.ItemType)
		}
		if a.ValueType != "" && !slices.Contains([]string{AttrString, AttrNumber, AttrBoolean}, a.ValueType) {
			add("valueType must be string, number or boolean, got %q", a.ValueType)
		}
		switch {
		case len(a.SubSchema) > 0 && depth == maxAttributeDepth:
			add("objects are nested more than %d deep", maxAttributeDepth)
		case len(a.SubSchema) > 0:
			issues = append(issues, checkDefinitions(path+".", a.SubSchema, depth+1)...)
		}
	}
	return issues
}

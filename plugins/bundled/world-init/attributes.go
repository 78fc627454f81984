package worldinit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// How many attributes a generated schema has: enough to tell people apart, few enough for a sheet that is read at a glance.
const (
	minAttributes = 3
	maxAttributes = 12
	maxDepth      = 3  // objects inside objects
	maxInside     = 12 // attributes of one object
	maxOptions    = 24
)

var (
	attributeTypes = []string{sdk.AttrString, sdk.AttrNumber, sdk.AttrBoolean, sdk.AttrEnum, sdk.AttrArray, sdk.AttrObject, sdk.AttrMap}
	categories     = []string{"stats", "bio", "abilities", "equipment", "social"}
	itemTypes      = []string{sdk.AttrString, sdk.AttrNumber}
	valueTypes     = []string{sdk.AttrString, sdk.AttrNumber, sdk.AttrBoolean}

	attributeID = regexp.MustCompile(`^[\p{L}_][\p{L}\p{M}\p{N}_-]{0,63}$`)
	reservedIDs = []string{"__proto__", "constructor", "prototype"}
)

// bio is the category of identity: its defaults would make every newcomer the same person.
const bio = "bio"

// attributesOf checks the attributes a model drew up and gives them as the schema has them. Problems name the place and
// come all at once; with any, the attributes are not to be used.
func attributesOf(args []attributeArgs, locale string) ([]sdk.AttributeDef, []string) {
	r := reader{locale: locale}
	attributes := r.list("attributes", args, "", 1)
	if n := len(args); n < minAttributes || n > maxAttributes {
		r.problem("attributes", "there are %d, expected %d to %d", n, minAttributes, maxAttributes)
	}
	if len(sdk.CollectableAttributes(sdk.CharacterSchema{Attributes: attributes})) == 0 {
		r.problem("attributes", "at least one must be a string or an enum, so that a player can say who the character is")
	}
	return attributes, r.problems
}

// reader turns arguments into definitions and collects what is wrong with them.
type reader struct {
	locale   string
	problems []string
}

func (r *reader) problem(path, format string, args ...any) {
	r.problems = append(r.problems, path+": "+fmt.Sprintf(format, args...)+".")
}

// list reads the attributes of one level. category is that of the object they are in.
func (r *reader) list(path string, args []attributeArgs, category string, depth int) []sdk.AttributeDef {
	out := make([]sdk.AttributeDef, 0, len(args))
	seen := map[string]bool{}
	for i, a := range args {
		at := fmt.Sprintf("%s[%d]", path, i)
		def := r.one(at, a, category, depth)
		if seen[def.ID] {
			r.problem(at+".id", "%q is there twice", def.ID)
		}
		seen[def.ID] = true
		out = append(out, def)
	}
	return out
}

// one reads one attribute. What does not belong to its type is left out.
func (r *reader) one(at string, a attributeArgs, category string, depth int) sdk.AttributeDef {
	def := sdk.AttributeDef{
		ID:           strings.TrimSpace(a.ID),
		Name:         a.Name.in(r.locale),
		Type:         a.Type,
		Category:     a.Category,
		Description:  a.Description.in(r.locale),
		DefaultValue: a.DefaultValue,
	}
	if def.Category == "" {
		def.Category = category
	}
	if !attributeID.MatchString(def.ID) || slices.Contains(reservedIDs, def.ID) {
		r.problem(at+".id", "%q is no id: a letter first, then letters, digits, _ and -, at most 64 in all", def.ID)
	}
	if def.Name == "" {
		r.problem(at+".name", "is empty")
	}
	r.oneOf(at+".category", def.Category, categories)
	if !r.oneOf(at+".type", def.Type, attributeTypes) {
		return def
	}
	r.shape(at, a, &def, depth)
	if def.Category == bio {
		def.DefaultValue = neutral(def.Type, def.DefaultValue)
	}
	if def.DefaultValue != nil {
		schema := sdk.CharacterSchema{Attributes: []sdk.AttributeDef{def}}
		for _, issue := range sdk.ValidateFields(schema, map[string]any{def.ID: def.DefaultValue}) {
			r.problem(at+".defaultValue", "%s", issue.Message)
		}
	}
	return def
}

// shape reads what belongs to the type.
func (r *reader) shape(at string, a attributeArgs, def *sdk.AttributeDef, depth int) {
	switch def.Type {
	case sdk.AttrNumber:
		def.Min, def.Max = a.Min, a.Max
		if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
			r.problem(at, "min %s is above max %s", sdk.TemplateText(*a.Min), sdk.TemplateText(*a.Max))
		}
	case sdk.AttrEnum:
		def.Options = options(a.Options)
		if n := len(def.Options); n < 2 || n > maxOptions {
			r.problem(at+".options", "there are %d different ones, expected 2 to %d", n, maxOptions)
		}
	case sdk.AttrArray:
		if def.ItemType = a.ItemType; def.ItemType != "" {
			r.oneOf(at+".itemType", def.ItemType, itemTypes)
		}
	case sdk.AttrMap:
		if def.ValueType = a.ValueType; def.ValueType != "" {
			r.oneOf(at+".valueType", def.ValueType, valueTypes)
		}
	case sdk.AttrObject:
		switch n := len(a.SubSchema); {
		case n == 0:
		case depth == maxDepth:
			r.problem(at+".subSchema", "is too deep, objects go at most %d levels down", maxDepth)
		case n > maxInside:
			r.problem(at+".subSchema", "has %d attributes, at most %d are allowed", n, maxInside)
		default:
			def.SubSchema = r.list(at+".subSchema", a.SubSchema, def.Category, depth+1)
		}
	}
}

// oneOf reports a value that is not in the list.
func (r *reader) oneOf(at, value string, list []string) bool {
	if slices.Contains(list, value) {
		return true
	}
	r.problem(at, "%q is not one of %s", value, strings.Join(list, ", "))
	return false
}

// options trims and drops what is empty or there twice.
func options(given []string) []string {
	var out []string
	for _, o := range given {
		if o = strings.TrimSpace(o); o != "" && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// neutral is the starting value of an attribute of identity: empty, and for an enum none at all. Numbers and booleans stay
// (seed: tools.txt, "initialize-world").
func neutral(kind string, value any) any {
	if value == nil {
		return nil
	}
	switch kind {
	case sdk.AttrString:
		return ""
	case sdk.AttrEnum:
		return nil
	case sdk.AttrArray:
		return []any{}
	case sdk.AttrObject, sdk.AttrMap:
		return map[string]any{}
	}
	return value
}

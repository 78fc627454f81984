package charcreator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// checkForm checks the form a model made and completes it: all options of an enum where it gave none, the name required.
// The errors are invalid-input; each lists everything of its kind that is wrong, so that one correction is enough
// (seed: tools.txt, "Opening character form").
func checkForm(f form, schema sdk.CharacterSchema, characters []sdk.Character) (form, error) {
	f.Title, f.SubmitLabel = strings.TrimSpace(f.Title), strings.TrimSpace(f.SubmitLabel)
	f.NarrativeTemplate = strings.TrimSpace(f.NarrativeTemplate)
	if f.Title == "" || f.SubmitLabel == "" {
		return form{}, invalid("The form needs a title and a submitLabel.")
	}
	if err := checkFieldSet(f, schema); err != nil {
		return form{}, err
	}
	fields := make([]field, len(f.Fields))
	var problems []string
	for i, given := range f.Fields {
		var p []string
		fields[i], p = checkField(given, schema, characters)
		problems = append(problems, p...)
	}
	if len(problems) > 0 {
		return form{}, invalid("%s", strings.Join(problems, "\n"))
	}
	f.Fields = fields
	if err := checkTemplate(f, schema); err != nil {
		return form{}, err
	}
	return f, nil
}

// checkFieldSet checks which fields there are: the name, and at most three that the world lets a player choose.
func checkFieldSet(f form, schema sdk.CharacterSchema) error {
	if f.field(nameField) == nil {
		return invalid(`The form has no field %q. Every character form asks for the name: {"type":"text","name":%q,"label":"…","required":true}.`, nameField, nameField)
	}
	var rejected []string
	seen := map[string]bool{}
	for _, fl := range f.Fields {
		why := ""
		switch a, declared := attribute(schema, fl.Name); {
		case seen[fl.Name]:
			why = "there twice"
		case fl.Name == nameField:
		case nameAttributes[fl.Name]:
			why = "takes the name that " + nameField + " asks for"
		case !declared:
			why = "not an attribute of this world"
		case a.Type != sdk.AttrString && a.Type != sdk.AttrEnum:
			why = "of type " + a.Type + ", which keeps its default value"
		}
		if why != "" {
			rejected = append(rejected, fmt.Sprintf("- %s: %s", fl.Name, why))
		}
		seen[fl.Name] = true
	}
	if len(rejected) > 0 {
		return invalid("These fields cannot be asked for:\n%s\n%s", strings.Join(rejected, "\n"), collectableList(schema))
	}
	if len(f.Fields) > maxFields {
		return invalid("The form has %d fields, at most %d are allowed: %s and up to %d attributes. Keep those that matter most for who the character is.",
			len(f.Fields), maxFields, nameField, maxFields-1)
	}
	return nil
}

// collectableList tells the model what it may ask for in this world.
func collectableList(schema sdk.CharacterSchema) string {
	attrs := collectable(schema)
	if len(attrs) == 0 {
		return fmt.Sprintf("This world has no string or enum attributes: the form has the one field %s.", nameField)
	}
	lines := make([]string, len(attrs))
	for i, a := range attrs {
		kind := sdk.AttrString
		if isChoice(a) {
			kind = "enum: " + strings.Join(a.Options, " | ")
		}
		lines[i] = fmt.Sprintf("- %s (%s) %s", a.ID, a.Name, kind)
	}
	return fmt.Sprintf("Besides %s this world lets a form ask for:\n%s", nameField, strings.Join(lines, "\n"))
}

// checkField checks one field against its attribute.
func checkField(f field, schema sdk.CharacterSchema, characters []sdk.Character) (field, []string) {
	var problems []string
	add := func(format string, args ...any) {
		problems = append(problems, f.Name+": "+fmt.Sprintf(format, args...))
	}
	f.Label, f.DefaultValue = strings.TrimSpace(f.Label), strings.TrimSpace(f.DefaultValue)
	if f.Label == "" {
		add("the label is empty; it is what the player reads above the field.")
	}
	a, _ := attribute(schema, f.Name)
	switch {
	case f.Name == nameField:
		f.Required, f.Options = true, nil
		if f.Type != typeText {
			add("the name is a field of type %s, got %s.", typeText, f.Type)
		}
		if who, taken := sdk.NameOwner(characters, f.DefaultValue, ""); taken && f.DefaultValue != "" {
			add("the default %q is the name of a character of this world (%s). Leave the default out or suggest another name.", f.DefaultValue, who.Label())
		}
	case isChoice(a):
		if f.Type != typeSelect {
			add("an enum attribute is a field of type %s, got %s. Its options: %s.", typeSelect, f.Type, strings.Join(a.Options, " | "))
			break
		}
		f.Placeholder = strings.TrimSpace(f.Placeholder)
		if len(f.Options) == 0 {
			f.Options = a.Options
		}
		f.Options = distinct(f.Options)
		if invented := without(f.Options, a.Options); len(invented) > 0 {
			add("these options are not the world's: %s. Use only: %s.", strings.Join(invented, " | "), strings.Join(a.Options, " | "))
		} else if f.DefaultValue != "" && !slices.Contains(f.Options, f.DefaultValue) {
			add("the default %q is not one of the options: %s.", f.DefaultValue, strings.Join(f.Options, " | "))
		}
	default:
		f.Options = nil
		if f.Type != typeText && f.Type != typeTextarea {
			add("a string attribute is a field of type %s or %s, got %s; options cannot be invented for it.", typeText, typeTextarea, f.Type)
		}
	}
	return f, problems
}

// without gives the items of list that are not in known.
func without(list, known []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(known, s) {
			out = append(out, s)
		}
	}
	return out
}

// distinct copies a list without repetitions.
func distinct(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func invalid(format string, args ...any) *sdk.ToolError {
	return sdk.Fail(sdk.InvalidInput, format, args...)
}

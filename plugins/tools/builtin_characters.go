package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// Limits of list-characters (seed: tools.txt, "list-characters").
const (
	maxListed           = 50
	maxDescriptionChars = 120
)

var readsCharacters = sdk.Annotations{ReadOnly: true, Idempotent: true, ConcurrencySafe: true}

type listArgs struct {
	Type string `json:"type,omitempty" jsonschema:"minLength=1" describe:"Only characters of this type. Leave it out for all."`
}

// characterList is the content of list-characters: Count is how many match, Characters those that are listed.
type characterList struct {
	Count      int             `json:"count"`
	Characters []sdk.Character `json:"characters"`
}

var listCharacters = sdk.MustDefine(sdk.Tool{
	Name:        "list-characters",
	Description: "List the characters of this session: id, name, type, version and a short description. Read one in full with get-character.",
	Annotations: readsCharacters,
}, func(_ context.Context, a listArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
	all := charactersOf(rt)
	var found []sdk.Character
	for _, c := range all {
		if a.Type == "" || c.Type == a.Type {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return sdk.WithModelView(characterList{Characters: []sdk.Character{}}, sdk.ModelView{Summary: noneFound(a.Type, all)}), nil
	}
	slices.SortStableFunc(found, func(x, y sdk.Character) int {
		return cmp.Or(cmp.Compare(y.Version, x.Version), cmp.Compare(y.UpdatedAt, x.UpdatedAt))
	})
	listed := found[:min(len(found), maxListed)]
	lines := []string{fmt.Sprintf("Characters in session (%d total, sorted by frequency then recency):", len(found))}
	for i, c := range listed {
		line := fmt.Sprintf("%d. %s [%s] %s (v%d)", i+1, c.Label(), c.Type, c.ID, c.Version)
		if d := oneLine(c.Description); d != "" {
			line += " — " + cut(d, maxDescriptionChars)
		}
		lines = append(lines, line)
	}
	if more := len(found) - len(listed); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more are not listed. Filter by type, or find a character by name with get-character.", more))
	}
	return sdk.WithModelView(characterList{Count: len(found), Characters: listed}, sdk.ModelView{Summary: strings.Join(lines, "\n")}), nil
})

func charactersOf(rt *sdk.Runtime) []sdk.Character {
	if rt == nil {
		return nil
	}
	return rt.Characters()
}

func noneFound(kind string, all []sdk.Character) string {
	if len(all) == 0 {
		return "There are no characters in this session yet."
	}
	types := map[string]bool{}
	for _, c := range all {
		types[c.Type] = true
	}
	return fmt.Sprintf("No characters of type %q. Types in this session: %s.", kind, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

type getArgs struct {
	ID   string `json:"id,omitempty" describe:"Character id."`
	Name string `json:"name,omitempty" describe:"Character name or alias; part of a name works too."`
}

type characterFound struct {
	Character sdk.Character `json:"character"`
}

var getCharacter = sdk.MustDefine(sdk.Tool{
	Name:        "get-character",
	Description: "Read one character in full, by id or by name or alias. Part of a name works when only one character fits.",
	Annotations: readsCharacters,
}, func(_ context.Context, a getArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
	query := cmp.Or(strings.TrimSpace(a.ID), strings.TrimSpace(a.Name))
	if query == "" {
		return sdk.ToolResult{}, sdk.Fail(sdk.InvalidInput, "Pass id or name.")
	}
	found := sdk.ResolveCharacter(charactersOf(rt), query, true)
	switch {
	case found.Found():
		return sdk.WithModelView(characterFound{*found.Character}, sdk.ModelView{Summary: sheet(*found.Character, rt.CharacterSchema())}), nil
	case found.Ambiguous():
		return sdk.ToolResult{}, sdk.Fail(sdk.Ambiguous, "%s", found.Problem())
	}
	return sdk.ToolResult{}, sdk.Fail(sdk.NotFound, "%s", found.Problem())
})

// sheet is a character as a model reads it: attributes in the schema's order, then the others by name, without bookkeeping.
func sheet(c sdk.Character, schema sdk.CharacterSchema) string {
	lines := []string{fmt.Sprintf("Character: %s [%s] %s", c.Label(), c.Type, c.ID)}
	if c.Description != "" {
		lines = append(lines, "Description: "+c.Description)
	}
	lines = append(lines, fmt.Sprintf("Version: %d", c.Version))
	var fields map[string]json.RawMessage
	if json.Unmarshal(ModelFacingJSON(c.Fields), &fields) != nil || len(fields) == 0 {
		return strings.Join(lines, "\n")
	}
	lines = append(lines, "", "Attributes:")
	for _, a := range schema.Attributes {
		if v, ok := fields[a.ID]; ok {
			lines = append(lines, "  "+a.ID+": "+fieldText(v))
			delete(fields, a.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, "  "+name+": "+fieldText(fields[name]))
	}
	return strings.Join(lines, "\n")
}

// fieldText shows strings without quotes and everything else as JSON.
func fieldText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return text
	}
	return string(raw)
}

package worldinit

import (
	"context"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// guardSchemaGen spares the model where there is nothing to invent. The session's own schema comes first, then what the
// author declared; only a world with neither needs one drawn up (reference: worlds-and-story.md §12.2, source priority). The
// author's attributes are adopted as they are.
func guardSchemaGen(_ context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
	if schema := rt.CharacterSchema(); schema.Version > 0 {
		return provided(schema), nil
	}
	declared := rt.World.DeclaredSchema
	if declared == nil {
		return sdk.GuardResult{}, nil
	}
	schema := sdk.CharacterSchema{Version: 1, Types: typesOf(declared.Types), Attributes: declared.Attributes}
	set, err := sdk.Propose(sdk.CharacterSchemaSet{Types: schema.Types, Attributes: schema.Attributes})
	if err != nil {
		return sdk.GuardResult{}, err // the payload names what JSON cannot hold
	}
	result := provided(schema)
	result.Effects.Proposals = []sdk.Proposal{set}
	return result, nil
}

// provided is the value of world-data-provider@1 together with the sign that this runtime has finished.
func provided(schema sdk.CharacterSchema) sdk.GuardResult {
	// The contract promises lists, also where there is nothing in them.
	if schema.Types == nil {
		schema.Types = []string{}
	}
	if schema.Attributes == nil {
		schema.Attributes = []sdk.AttributeDef{}
	}
	return sdk.GuardResult{
		Skip:        true,
		PreGameDone: true,
		Output:      map[string]any{"worldSchema": schema, "preGameDone": true},
	}
}

// defaultTypes are the character types of a world that names none (seed: tools.txt, "initialize-world").
var defaultTypes = []string{"npc", "companion"}

// typesOf tidies a list of character types. "player" is always a type and may not be declared.
func typesOf(given []string) []string {
	out := []string{}
	for _, t := range given {
		if t = strings.TrimSpace(t); t != "" && t != "player" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return slices.Clone(defaultTypes)
	}
	return out
}

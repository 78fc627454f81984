package charcreator

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/covel/covel/plugins/sdk"
)

const playerType = "player"

// guardPlayerInit decides whether a form has to be made at all (seed: turn-pipeline.txt, "The full form interaction"):
//
//  1. a player character exists: this runtime has finished;
//  2. the form was answered and the answer is good: it becomes the character, without a model;
//  3. the answer is no longer good: the form is sent again, with the reason and what is still good;
//  4. the form waits for its answer: nothing to do, not finished;
//  5. otherwise the model makes the form.
func guardPlayerInit(_ context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
	for _, c := range rt.Characters() {
		if c.Type == playerType {
			return finished(c.ID), nil
		}
	}
	if answer := rt.LastPlayerInput; answer != nil && (answer.FormID == formID || answer.InteractionID == formID) {
		schema := schemaOf(rt)
		problems := answerProblems(answer.Values, schema, rt)
		switch {
		case len(problems) == 0:
			return createPlayer(answer.Values, schema, rt)
		case !formIsOpen(rt):
			return sendAgain(answer.Values, problems, schema, rt)
		}
	}
	if formIsOpen(rt) {
		return waiting(), nil
	}
	return sdk.GuardResult{}, nil
}

func formIsOpen(rt *sdk.Runtime) bool {
	return slices.ContainsFunc(rt.OpenInteractions, func(o sdk.OpenInteraction) bool { return o.InteractionID == formID })
}

func finished(characterID string) sdk.GuardResult {
	return sdk.GuardResult{
		Skip:        true,
		PreGameDone: true,
		Output:      map[string]any{"preGameDone": true, "characterId": characterID},
	}
}

func waiting() sdk.GuardResult {
	return sdk.GuardResult{Skip: true, Output: map[string]any{"preGameDone": false}}
}

// createPlayer turns the answer into the character. The name of the form stands in every name attribute the world
// declares, whatever default that has; other attributes that were not asked for, or left empty, get their defaults.
func createPlayer(values map[string]any, schema sdk.CharacterSchema, rt *sdk.Runtime) (sdk.GuardResult, error) {
	name := text(values[nameField])
	fields := map[string]any{}
	for key, v := range values {
		if key != nameField && !nameAttributes[key] && !unanswered(v) {
			fields[key] = v
		}
	}
	for _, a := range schema.Attributes {
		if a.Type == sdk.AttrString && nameAttributes[a.ID] {
			fields[a.ID] = name
		}
	}
	encoded, err := json.Marshal(sdk.ApplyDefaults(schema, fields))
	if err != nil {
		return sdk.GuardResult{}, err
	}
	id := rt.NewID("pc", name)
	upsert, err := sdk.Propose(sdk.CharacterUpsert{ID: id, Name: name, Type: playerType, Fields: encoded})
	if err != nil {
		return sdk.GuardResult{}, err
	}
	result := finished(id)
	result.Effects.Proposals = []sdk.Proposal{upsert}
	return result, nil
}

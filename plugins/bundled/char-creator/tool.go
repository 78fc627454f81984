package charcreator

import (
	"context"
	"encoding/json"

	"github.com/covel/covel/plugins/sdk"
)

// Where the form that was sent is kept, so that it can be sent again as it was (schemas/form.json).
const formsNamespace = "forms"

type formArgs struct {
	Title             string  `json:"title" jsonschema:"minLength=1,maxLength=80" describe:"The heading of the form, in the tone of the world."`
	Fields            []field `json:"fields" jsonschema:"minItems=1,maxItems=4" describe:"characterName and up to three string or enum attributes of the world."`
	SubmitLabel       string  `json:"submitLabel" jsonschema:"minLength=1,maxLength=40" describe:"The text on the button."`
	NarrativeTemplate string  `json:"narrativeTemplate" jsonschema:"minLength=1,maxLength=600" describe:"One or two sentences in which the player introduces the character, with {{characterName}} and a {{field name}} for each answer."`
}

// formResult is the content of the tool: the kernel publishes the interaction.
type formResult struct {
	Created         bool           `json:"created"`
	FilledNarrative string         `json:"filledNarrative"`
	Interaction     map[string]any `json:"interaction"`
}

// createCharacterForm is create-form with the rules of character creation (seed: tools.txt, "Character creation form").
var createCharacterForm = sdk.MustDefine(sdk.Tool{
	Name: "create-character-form",
	Description: "Create the form by which the player makes a character. It asks for characterName (required) and up to three " +
		"string or enum attributes of the world; numbers and composite attributes keep their defaults. The result shows the " +
		"filled sentence as it reads with the defaults.",
}, func(_ context.Context, args formArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
	f, err := checkForm(form{
		Title: args.Title, Fields: args.Fields, SubmitLabel: args.SubmitLabel, NarrativeTemplate: args.NarrativeTemplate,
	}, schemaOf(rt), rt.Characters())
	if err != nil {
		return sdk.ToolResult{}, err
	}
	block, err := f.block(rt)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	kept, err := json.Marshal(f)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	keep, err := sdk.Propose(sdk.PluginDataWrite{Namespace: formsNamespace, Key: formID, Value: kept})
	if err != nil {
		return sdk.ToolResult{}, err
	}
	content := formResult{Created: true, FilledNarrative: preview(f), Interaction: block}
	return sdk.WithModelView(
		sdk.WithPendingProposals(content, []sdk.Proposal{keep}),
		sdk.ModelView{
			Summary: sdk.Translate(rt.Messages, "The form is ready for the player.", nil),
			Data:    map[string]any{"filledNarrative": content.FilledNarrative},
		},
	), nil
})

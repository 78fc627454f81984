package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

type formArgs struct {
	FormID            string          `json:"formId" jsonschema:"minLength=1" describe:"Unique id of the form."`
	Title             string          `json:"title" jsonschema:"minLength=1"`
	Fields            []FormField     `json:"fields" jsonschema:"minItems=1"`
	SubmitLabel       string          `json:"submitLabel" jsonschema:"minLength=1" describe:"Text on the submit button."`
	NarrativeTemplate string          `json:"narrativeTemplate" describe:"The sentence the answer becomes, with {{fieldName}} placeholders."`
	Validation        *Validation     `json:"validation,omitempty"`
	SubmitBehavior    *SubmitBehavior `json:"submitBehavior,omitempty"`
	Notice            string          `json:"notice,omitempty" describe:"Shown above the fields, in the session's language: why the form appears again."`
	ActionKind        string          `json:"actionKind,omitempty" describe:"The action kind of the answer: say, act (default), command or <pluginId>/<name>."`
}

// asked is the content of the tools that ask the player something.
type asked struct {
	Created     bool        `json:"created"`
	Interaction Interaction `json:"interaction"`
}

var createForm = sdk.MustDefine(sdk.Tool{
	Name: CreateForm,
	Description: "Create a form the player fills in. Ask only for what cannot be known otherwise; write labels and texts in the " +
		"session's language. The answer arrives with the next turn.",
}, func(_ context.Context, a formArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	return ask(Interaction{
		Type: FormInteraction, InteractionID: a.FormID, Title: a.Title, Fields: a.Fields, SubmitLabel: a.SubmitLabel,
		NarrativeTemplate: a.NarrativeTemplate, Validation: a.Validation, SubmitBehavior: a.SubmitBehavior, Notice: a.Notice,
		ActionKind: a.ActionKind,
	}, fmt.Sprintf("The form %q will be shown to the player.", a.Title))
})

type choicesArgs struct {
	ChoiceID   string   `json:"choiceId" jsonschema:"minLength=1" describe:"Unique id of the group of choices."`
	Prompt     string   `json:"prompt" jsonschema:"minLength=1" describe:"Guiding text, for example: What will you do?"`
	Choices    []Choice `json:"choices" jsonschema:"minItems=2"`
	ActionKind string   `json:"actionKind,omitempty" describe:"The action kind of the answer: say (default), act, command or <pluginId>/<name>."`
}

var createChoices = sdk.MustDefine(sdk.Tool{
	Name:        "create-choices",
	Description: "Offer the player a list of choices: a decision, a branch of the story, what to say to someone.",
}, func(_ context.Context, a choicesArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	return ask(Interaction{
		Type: ChoiceInteraction, InteractionID: a.ChoiceID, Prompt: a.Prompt, Choices: a.Choices, ActionKind: a.ActionKind,
	}, fmt.Sprintf("The player will be asked: %s", a.Prompt))
})

// argumentNames are the names the tools' arguments have for fields of a block.
var argumentNames = map[string]map[string]string{
	FormInteraction:   {"interactionId": "formId"},
	ChoiceInteraction: {"interactionId": "choiceId"},
}

// ask checks the block the model asked for; every rule it breaks is an issue with its field.
func ask(b Interaction, summary string) (sdk.ToolResult, error) {
	if issues := b.Check(); len(issues) > 0 {
		for i := range issues {
			if name, ok := argumentNames[b.Type][issues[i].Path]; ok {
				issues[i].Path = name
			}
		}
		return sdk.ToolResult{}, issuesError(issues).WithHint(resend)
	}
	return sdk.WithModelView(asked{Created: true, Interaction: b}, sdk.ModelView{Summary: summary}), nil
}

func issuesError(issues []schema.Issue) *sdk.ToolError {
	return sdk.Fail(sdk.InvalidInput, "%s.", (&schema.Failure{Issues: issues}).Error())
}

type notificationArgs struct {
	Level   string `json:"level" jsonschema:"enum=info,enum=success,enum=warning,enum=error"`
	Title   string `json:"title" jsonschema:"minLength=1"`
	Message string `json:"message" jsonschema:"minLength=1"`
}

// shown is the content of the tools that show something.
type shown struct {
	UI []sdk.UIRender `json:"ui"`
}

var createNotification = sdk.MustDefine(sdk.Tool{
	Name:        "create-notification",
	Description: "Show the player a notification: a change of state, an item received, an event that began.",
}, func(_ context.Context, a notificationArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	block, err := NotificationBlock(sdk.Notification(a))
	if err != nil {
		return sdk.ToolResult{}, err
	}
	return sdk.WithModelView(shown{UI: []sdk.UIRender{block}}, sdk.ModelView{Summary: fmt.Sprintf("The notification %q will be shown.", a.Title)}), nil
})

// NotificationBlock is how a notification is shown. The error names the field that is wrong.
func NotificationBlock(n sdk.Notification) (sdk.UIRender, error) {
	switch {
	case !slices.Contains([]string{"info", "success", "warning", "error"}, n.Level):
		return sdk.UIRender{}, sdk.Fail(sdk.InvalidInput, "level: %q is none of info, success, warning, error.", n.Level)
	case strings.TrimSpace(n.Title) == "":
		return sdk.UIRender{}, sdk.Fail(sdk.InvalidInput, "title: it is empty.")
	case strings.TrimSpace(n.Message) == "":
		return sdk.UIRender{}, sdk.Fail(sdk.InvalidInput, "message: it is empty.")
	}
	alert := map[string]any{"component": "Alert", "props": map[string]any{"level": n.Level, "title": n.Title, "message": n.Message}}
	return sdk.UIRender{Parts: []sdk.UIPart{{ID: "notification", Type: "spec", Status: "success", Content: alert}}}, nil
}

type renderArgs struct {
	Parts  []renderPart `json:"parts" jsonschema:"minItems=1"`
	Layout string       `json:"layout,omitempty" jsonschema:"enum=stream,enum=split,enum=overlay"`
}

type renderPart struct {
	ID      string       `json:"id" jsonschema:"minLength=1"`
	Type    string       `json:"type" jsonschema:"minLength=1"`
	Status  string       `json:"status" jsonschema:"enum=pending,enum=streaming,enum=success,enum=error,enum=paused"`
	Content any          `json:"content" describe:"What the part shows."`
	Retry   *sdk.UIRetry `json:"retry,omitempty"`
}

var renderUI = sdk.MustDefine(sdk.Tool{
	Name:        "render-ui",
	Description: "Show a block of parts, each with its own state: text, pictures, cards, sound.",
}, func(_ context.Context, a renderArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	block := sdk.UIRender{Layout: a.Layout}
	seen := map[string]bool{}
	var r report
	for i, p := range a.Parts {
		if seen[p.ID] {
			r.add(fmt.Sprintf("parts[%d].id", i), "%q is used twice; every part needs its own id", p.ID)
		}
		seen[p.ID] = true
		block.Parts = append(block.Parts, sdk.UIPart(p))
	}
	if len(r.issues) > 0 {
		return sdk.ToolResult{}, issuesError(r.issues).WithHint(resend)
	}
	return sdk.WithModelView(shown{UI: []sdk.UIRender{block}}, sdk.ModelView{Summary: "The block will be shown."}), nil
})

type doneArgs struct {
	Reason string `json:"reason,omitempty" describe:"Optional note for the trace."`
}

// Done is the content of a successful runtime-done: only this call's own success ends a run (seed: tools.txt, "runtime-done").
type Done struct {
	Done   bool   `json:"done"`
	Reason string `json:"reason,omitempty"`
}

var runtimeDone = sdk.MustDefine(sdk.Tool{
	Name: RuntimeDone,
	Description: "End this run. Call it last, only after every needed tool call has succeeded or when nothing needs doing. It " +
		"records nothing. The run ends after this response; make no more calls and write no more text.",
}, func(_ context.Context, a doneArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	return sdk.WithModelView(Done{Done: true, Reason: strings.TrimSpace(a.Reason)}, sdk.ModelView{}), nil
})

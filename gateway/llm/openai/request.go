package openai

import (
	"encoding/json"
	"regexp"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
)

// params says a request in the words of the API. Cache marks are dropped: these servers cache prefixes by themselves.
func (p *Provider) params(req model.Request) (sdk.ChatCompletionNewParams, error) {
	out := sdk.ChatCompletionNewParams{Model: p.model, ReasoningEffort: effort(req.ReasoningEffort)}
	for i, m := range req.Messages {
		msg, err := message(m)
		if err != nil {
			return out, errors.WithMessagef(err, "messages[%d]", i)
		}
		out.Messages = append(out.Messages, msg)
	}
	for _, t := range req.Tools {
		tool, err := function(t)
		if err != nil {
			return out, errors.WithMessagef(err, "tool %q", t.Name)
		}
		out.Tools = append(out.Tools, tool)
	}
	if len(req.Tools) > 0 { // servers refuse a choice without tools
		out.ToolChoice = choice(req.ToolChoice)
	}
	if f := req.ResponseFormat; f != nil {
		if !json.Valid(f.Schema) {
			return out, errors.Errorf("response format %q: the schema is not JSON", f.Name)
		}
		out.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			// Not strict: strict servers demand that every property is required, and our schemas have optional ones.
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: formatName(f.Name), Schema: f.Schema},
		}
	}
	if req.MaxOutputTokens > 0 {
		limit := sdk.Int(int64(req.MaxOutputTokens))
		if p.official {
			out.MaxCompletionTokens = limit
		} else {
			out.MaxTokens = limit
		}
	}
	if req.Stream {
		out.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	return out, nil
}

func message(m model.Message) (sdk.ChatCompletionMessageParamUnion, error) {
	switch m.Role {
	case model.System:
		return sdk.SystemMessage(m.Content), nil
	case model.User:
		return sdk.UserMessage(m.Content), nil
	case model.ToolRole:
		return sdk.ToolMessage(m.Content, m.ToolCallID), nil
	case model.Assistant:
		out := sdk.AssistantMessage(m.Content)
		if m.Content == "" && len(m.ToolCalls) > 0 {
			out.OfAssistant.Content = sdk.ChatCompletionAssistantMessageParamContentUnion{}
		}
		for _, c := range m.ToolCalls {
			arguments := c.Arguments
			if !json.Valid([]byte(arguments)) {
				// Many servers parse the arguments of past calls and fail on text that is not JSON. What was wrong with
				// it stands in the result that answers this call.
				arguments = "{}"
			}
			out.OfAssistant.ToolCalls = append(out.OfAssistant.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID:       c.ID,
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
				},
			})
		}
		return out, nil
	}
	return sdk.ChatCompletionMessageParamUnion{}, errors.Errorf("role %q is none of system, user, assistant, tool", m.Role)
}

func function(t model.Tool) (sdk.ChatCompletionToolUnionParam, error) {
	definition := struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"` // as written: property order matters to models
	}{t.Name, t.Description, t.Parameters}
	raw, err := json.Marshal(definition)
	if err != nil {
		return sdk.ChatCompletionToolUnionParam{}, errors.New("parameters are not JSON")
	}
	return sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](json.RawMessage(raw))), nil
}

func choice(c model.ToolChoice) (out sdk.ChatCompletionToolChoiceOptionUnionParam) {
	switch {
	case c.Named != "":
		return sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: c.Named})
	case c.Mode == "none" || c.Mode == "required":
		out.OfAuto = sdk.String(c.Mode)
	}
	return out
}

// effort: our "disabled" is their "none" (reference: plugins.md §11, gateway options).
func effort(e string) shared.ReasoningEffort {
	if e == "disabled" {
		return shared.ReasoningEffortNone
	}
	return shared.ReasoningEffort(e)
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// formatName fits a name to what servers allow: letters, digits, _ and -, at most 64.
func formatName(name string) string {
	name = notInNames.ReplaceAllString(name, "_")
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

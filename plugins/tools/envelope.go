package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// Limits of texts a model reads (seed: tools.txt, "Unified result format and error codes").
const (
	maxInternalChars = 300   // of an unexpected error
	maxMessageChars  = 2_000 // of a message or hint an author wrote
)

// Texts in the instruction language: how a model is told that its writes wait, and that there is nothing to tell.
var (
	stagedNotice = map[string]string{
		"en": "Staged: it takes effect when the turn ends and may still be rejected.",
		"zh": "已暂存，回合结束时生效（可能被拒绝）。",
	}
	doneNotice = map[string]string{"en": "Done.", "zh": "完成。"}
)

func inLanguage(texts map[string]string, language string) string {
	if t, ok := texts[language]; ok {
		return t
	}
	return texts["en"]
}

// success is the JSON object the model reads: summary, data, staged, in this order.
type success struct {
	Summary string          `json:"summary,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Staged  *staged         `json:"staged,omitempty"`
}

type staged struct {
	Count  int      `json:"count"`
	Kinds  []string `json:"kinds"`
	Notice string   `json:"notice"`
}

// Envelope writes a successful result for the model. content is the tool's content as JSON (nil for none). With a view only
// what the view names is sent; without one the content, less its top-level ui array. language is the instruction language,
// "en" or "zh". A view's data that is no JSON value is an error.
func Envelope(content json.RawMessage, view *sdk.ModelView, proposals []sdk.Proposal, events []sdk.EmittedEvent, language string) (string, error) {
	var s success
	switch {
	case view == nil:
		s.Data = ModelFacingJSON(withoutUI(content))
	default:
		s.Summary = view.Summary
		if view.Data != nil {
			data, err := plainjson.Marshal(view.Data)
			if err != nil {
				return "", err
			}
			s.Data = ModelFacingJSON(data)
		}
	}
	if len(proposals)+len(events) > 0 {
		s.Staged = &staged{Count: len(proposals) + len(events), Kinds: kinds(proposals, events), Notice: inLanguage(stagedNotice, language)}
	}
	if s.Summary == "" && s.Data == nil && s.Staged == nil {
		s.Summary = inLanguage(doneNotice, language)
	}
	b, err := plainjson.Marshal(s)
	return string(b), err
}

// withoutUI is the content without its ui array, nil when nothing else is in it.
func withoutUI(content json.RawMessage) json.RawMessage {
	switch text := string(bytes.TrimSpace(content)); {
	case text == "" || text == "null":
		return nil
	case !gjson.Parse(text).IsObject() || !gjson.Get(text, "ui").IsArray():
		return content
	}
	rest, err := sjson.DeleteBytes(content, "ui")
	if err != nil {
		return content
	}
	if len(gjson.ParseBytes(rest).Map()) == 0 {
		return nil
	}
	return rest
}

// kinds are the distinct types of the proposals as they were first seen, then "event" when there are events.
func kinds(proposals []sdk.Proposal, events []sdk.EmittedEvent) []string {
	var out []string
	for _, p := range proposals {
		if !slices.Contains(out, p.Type) {
			out = append(out, p.Type)
		}
	}
	if len(events) > 0 {
		out = append(out, "event")
	}
	return out
}

// ErrorEnvelope writes a failure for the model.
func ErrorEnvelope(e *sdk.ToolError) string {
	b, err := plainjson.Marshal(map[string]*sdk.ToolError{"error": bounded(e)})
	if err != nil {
		return `{"error":{"code":"internal","message":"The failure could not be written."}}`
	}
	return string(b)
}

// bounded cuts an author's texts to their limit.
func bounded(e *sdk.ToolError) *sdk.ToolError {
	c := *e
	c.Message = cut(c.Message, maxMessageChars)
	c.Hint = cut(c.Hint, maxMessageChars)
	return &c
}

// internalError is what a model may know of an unexpected failure: the first line, UUIDs replaced, at most 300 characters.
func internalError(tool string, err error) *sdk.ToolError {
	text, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(err.Error(), "�")), "\n")
	text = cut(anyUUID.ReplaceAllString(strings.TrimSpace(text), "<id>"), maxInternalChars)
	return &sdk.ToolError{Code: sdk.Internal, Message: fmt.Sprintf("Tool %q failed: %s", tool, text)}
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

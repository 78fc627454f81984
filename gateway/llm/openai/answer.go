package openai

import (
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/tidwall/gjson"

	"github.com/covel/covel/gateway/llm/border"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// answer is what has arrived of one reply.
type answer struct {
	req  model.Request
	emit func(model.Delta)

	textIn      text.Cleaner
	jsonIn      border.JSON // behind textIn, for an answer that is JSON
	reasoningIn text.Cleaner
	refusalIn   text.Cleaner

	said    strings.Builder // exactly what the deltas added up to
	refusal strings.Builder
	calls   calls
	finish  string // as the server says it; "" while it has not
	ended   bool   // the end mark came
	usage   model.Usage
	model   string
}

func newAnswer(req model.Request, onDelta func(model.Delta)) *answer {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	return &answer{req: req, emit: onDelta}
}

// whole reports whether the server said that it is done.
func (a *answer) whole() bool { return a.ended || a.finish != "" }

func (a *answer) chunk(c sdk.ChatCompletionChunk) {
	if c.Model != "" {
		a.model = text.Clean(c.Model)
	}
	a.count(c.Usage)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		a.reason(d.JSON.ExtraFields)
		a.write(content(d.JSON.Content))
		a.refuse(plain(d.JSON.Refusal))
		for _, t := range d.ToolCalls {
			a.calls.add(fragment{
				index: t.Index, hasIndex: t.JSON.Index.Valid(),
				id: t.ID, name: t.Function.Name, arguments: arguments(t.Function.JSON.Arguments),
			})
			a.emit(model.Delta{})
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
}

// completion takes an answer that came in one piece.
func (a *answer) completion(c sdk.ChatCompletion) {
	a.model = text.Clean(c.Model)
	a.count(c.Usage)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		m := choice.Message
		a.reason(m.JSON.ExtraFields)
		a.write(content(m.JSON.Content))
		a.refuse(plain(m.JSON.Refusal))
		for _, t := range m.ToolCalls {
			a.calls.add(fragment{id: t.ID, name: t.Function.Name, arguments: arguments(t.Function.JSON.Arguments)})
		}
		a.finish = string(choice.FinishReason)
	}
	a.end()
}

// plain is the string of a field, bytes and lone surrogates as they came; "" when it is none.
func plain(f respjson.Field) string {
	s, _ := border.Unquote(f.Raw())
	return s
}

// content is the text of a message: a string, or by some servers a list of parts of which only type text is text.
func content(f respjson.Field) string {
	if s, ok := border.Unquote(f.Raw()); ok {
		return s
	}
	var out strings.Builder
	for _, part := range gjson.Get(f.Raw(), `#(type=="text")#.text`).Array() {
		s, _ := border.Unquote(part.Raw)
		out.WriteString(s)
	}
	return out.String()
}

// arguments are text; servers that send them as an object get its JSON taken for it.
func arguments(f respjson.Field) string {
	if s, ok := border.Unquote(f.Raw()); ok || f.Raw() == respjson.Null {
		return s
	}
	return f.Raw()
}

func (a *answer) write(piece string) { a.give(a.textIn.Write(piece)) }

func (a *answer) give(clean string) {
	if a.req.ResponseFormat != nil { // a text that is JSON: its escapes are a border too
		clean = a.jsonIn.Write(clean)
	}
	a.deliver(clean)
}

func (a *answer) deliver(clean string) {
	if clean != "" {
		a.said.WriteString(clean)
		a.emit(model.Delta{Text: clean})
	}
}

// reason reads the two names under which compatible servers send the model's thinking.
func (a *answer) reason(extra map[string]respjson.Field) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		s, ok := border.Unquote(extra[name].Raw())
		if !ok || s == "" {
			continue
		}
		if clean := a.reasoningIn.Write(s); clean != "" {
			a.emit(model.Delta{Reasoning: clean})
		}
		return
	}
}

func (a *answer) refuse(piece string) { a.refusal.WriteString(a.refusalIn.Write(piece)) }

func (a *answer) count(u sdk.CompletionUsage) {
	if u.JSON.PromptTokens.Valid() || u.JSON.CompletionTokens.Valid() {
		a.usage = model.Usage{
			InputTokens:       int(u.PromptTokens),
			OutputTokens:      int(u.CompletionTokens),
			CachedInputTokens: int(u.PromptTokensDetails.CachedTokens),
		}
	}
}

// end gives out what the cleaners still hold. Call it only when the answer is whole: half a character at the end of a
// broken stream is not worth a replacement mark.
func (a *answer) end() {
	a.ended = true
	a.give(a.textIn.Close())
	a.deliver(a.jsonIn.Flush())
	if rest := a.reasoningIn.Close(); rest != "" {
		a.emit(model.Delta{Reasoning: rest})
	}
	a.refusal.WriteString(a.refusalIn.Close())
}

// judge finds nothing in an answer that claims to be whole. A refusal or a used-up budget is an answer: its finish reason
// says why there is no text.
func (a *answer) judge() *model.Error {
	if a.said.Len() > 0 || len(a.calls.list) > 0 {
		return nil
	}
	switch a.finishReason() {
	case model.FinishLength, model.FinishContentFilter:
		return nil
	}
	return &model.Error{Kind: model.Empty, Message: "the server answered without any text or tool call"}
}

func (a *answer) reply() model.Reply {
	r := model.Reply{Text: a.said.String(), FinishReason: a.finishReason(), Usage: a.usage, Model: a.model}
	if a.whole() { // half a call is not a call
		r.ToolCalls = a.calls.finish(a.req.Messages)
	}
	if r.Text == "" {
		r.Text = a.refusal.String()
	}
	return r
}

// finishReason unifies finish reasons (reference: plugins.md §9.4). Several servers say "stop" though there are calls.
func (a *answer) finishReason() model.FinishReason {
	switch {
	case !a.whole():
		return model.FinishError
	case a.refusal.Len() > 0:
		return model.FinishContentFilter
	}
	switch strings.ToLower(a.finish) {
	case "length", "max_tokens":
		return model.FinishLength
	case "content_filter", "safety", "refusal":
		return model.FinishContentFilter
	case "error":
		return model.FinishError
	case "tool_calls", "function_call", "tool_use", "stop", "end_turn", "eos", "":
		if len(a.calls.list) > 0 {
			return model.FinishToolCalls
		}
		return model.FinishStop
	}
	return model.FinishOther
}

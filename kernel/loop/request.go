package loop

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// normalise fills in defaults and gives JSON values the form in which they survive serialisation.
func (c Config) normalise() (Config, error) {
	if c.MaxSteps <= 0 {
		c.MaxSteps = c.Profile.MaxSteps
	}
	if c.MaxSteps <= 0 {
		c.MaxSteps = ResolveProfile(SystemProfile).MaxSteps
	}
	if c.LoopDetection == 0 {
		c.LoopDetection = DefaultLoopDetection
	}
	var err error
	if c.OutputSchema, err = compact(c.OutputSchema); err != nil {
		return c, errors.Wrap(err, "output schema")
	}
	if c.Tools, err = normaliseOffers(c.Tools); err != nil {
		return c, err
	}
	c.Deferred, err = normaliseOffers(c.Deferred)
	return c, err
}

func normaliseOffers(offers []ToolOffer) ([]ToolOffer, error) {
	var out []ToolOffer
	for _, t := range offers {
		if len(t.Tool.Parameters) == 0 {
			t.Tool.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		t.Tool.Description = text.Clean(t.Tool.Description)
		var err error
		if t.Tool.Parameters, err = compact(t.Tool.Parameters); err != nil {
			return nil, errors.Wrapf(err, "parameters of tool %s", t.Tool.Name)
		}
		out = append(out, t)
	}
	return out, nil
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text.Clean(string(raw)))); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func cleanMessages(in []model.Message) []model.Message {
	out := make([]model.Message, len(in))
	for i, msg := range in {
		msg.Content = text.Clean(msg.Content)
		msg.ToolCalls = cleanCalls(msg.ToolCalls)
		out[i] = msg
	}
	return out
}

func cleanReply(r model.Reply) model.Reply {
	r.Text = text.Clean(r.Text)
	r.ToolCalls = cleanCalls(r.ToolCalls)
	return r
}

func cleanCalls(calls []model.ToolCall) []model.ToolCall {
	var out []model.ToolCall
	for _, c := range calls {
		out = append(out, model.ToolCall{ID: text.Clean(c.ID), Name: text.Clean(c.Name), Arguments: text.Clean(c.Arguments)})
	}
	return out
}

// call makes a new request and asks the PreLLMCall hooks about it.
func (m *machine) call(p Purpose) {
	m.s.Call, m.s.Because = modelCall{Purpose: p, Reason: m.s.Because}, ""
	m.s.Reply = nil
	if m.s.Config.Hooks.PreCall {
		m.s.Await = AwaitPreCall
		m.emit(PreCall{Purpose: p, Step: m.s.Step, Request: m.request(), PromptSegments: m.s.PromptSegments})
		return
	}
	m.attempt("", 0)
}

func (m *machine) preCallDone(in PreCallDone) {
	m.setLeft(in.Left)
	m.setSegments(in.PromptSegments)
	if in.Request != nil {
		req, err := cleanRequest(*in.Request)
		if err != nil {
			m.failCall(StopInternal, "a PreLLMCall hook gave an unusable request: "+err.Error(), nil)
			return
		}
		if n := len(req.Messages); n == 0 || req.Messages[n-1].Role == model.Assistant {
			m.failCall(StopInvalidContext, "after a PreLLMCall hook "+noContext, nil)
			return
		}
		m.s.Call.Rewritten = &req
	}
	m.s.Call.Silent = in.Stream != nil && !*in.Stream || in.Request != nil && m.s.Config.Stream && !in.Request.Stream
	m.attempt("", 0)
}

// setSegments takes the prompt segments of the turn. What is no JSON changes nothing.
func (m *machine) setSegments(raw json.RawMessage) {
	if segments, err := compact(raw); err == nil && len(segments) > 0 {
		m.s.PromptSegments = segments
	}
}

// cleanRequest gives a hook's request the form in which it survives serialisation.
func cleanRequest(req model.Request) (model.Request, error) {
	req.Messages = cleanMessages(req.Messages)
	offers := make([]ToolOffer, len(req.Tools))
	for i, t := range req.Tools {
		offers[i].Tool = t
	}
	offers, err := normaliseOffers(offers)
	if err != nil {
		return req, err
	}
	req.Tools = nil
	for _, o := range offers {
		req.Tools = append(req.Tools, o.Tool)
	}
	if f := req.ResponseFormat; f != nil {
		schema, err := compact(f.Schema)
		if err != nil {
			return req, errors.Wrap(err, "response format")
		}
		req.ResponseFormat = &model.ResponseFormat{Name: f.Name, Schema: schema}
		if len(schema) == 0 {
			req.ResponseFormat = nil
		}
	}
	req.Limits = model.Limits{}
	return req, nil
}

const noContext = "the context is empty or ends on an assistant message"

// attempt sends the present request, once more with a hint when an earlier answer was unusable.
func (m *machine) attempt(hint string, after time.Duration) {
	m.s.Call.Attempt++
	m.s.Call.Hint, m.s.Call.SentLeft = hint, max(m.s.Left-after, 0)
	m.s.Stream, m.s.Reply = SegmentStream{}, nil
	m.s.Await = AwaitModel
	m.countUsage(func(u *Usage) { u.ModelCalls++ })
	req := m.sent()
	req.Limits = m.limits(req.Stream, after)
	m.emit(CallModel{
		Request: req, Purpose: m.s.Call.Purpose, Step: m.s.Step, Attempt: m.s.Call.Attempt, After: after, Reason: m.s.Call.Reason,
		Trim: m.s.Ending != nil && m.s.Ending.Stop == StopContextOverflow,
	})
}

// sent is the request as the model gets it: the hooks' or the loop's own, with the hint of a repeated attempt. What a hook
// rewrote does not switch tools on that are off.
func (m *machine) sent() model.Request {
	req := m.request()
	if r := m.s.Call.Rewritten; r != nil {
		req = *r
		if len(req.Tools) == 0 {
			req.ToolChoice = model.ToolChoice{}
		} else if m.s.ToolsOff || m.s.Call.Purpose != ForStep {
			req.ToolChoice = model.ToolChoice{Mode: "none"}
		}
	}
	req.Stream = m.s.Config.Stream && !m.s.Call.Silent
	if hint := m.s.Call.Hint; hint != "" { // never the same twice: a server that keeps answers would give the bad one again
		hint += strings.Repeat(" ", m.s.Call.Attempt-2)
		req.Messages = append(slices.Clip(req.Messages), model.Message{Role: model.System, Content: hint})
	}
	return req
}

// request is the loop's own request: a copy, which a policy or a hook may change.
func (m *machine) request() model.Request {
	c := m.s.Config
	messages := slices.Clone(m.s.Messages)
	if messages[len(messages)-1].Role == model.Assistant {
		m.defect("a request would end on an assistant message")
	}
	tools := m.offered()
	req := model.Request{
		Slot: c.Slot, Messages: messages, Tools: tools, ToolChoice: m.toolChoice(tools), Stream: c.Stream,
		MaxOutputTokens: c.MaxOutputTokens, ReasoningEffort: c.ReasoningEffort, Subject: c.RuntimeID,
		Take: c.Take,
	}
	if len(c.OutputSchema) > 0 && (!c.outputFromTool() || m.s.Call.Purpose != ForStep) {
		req.ResponseFormat = &model.ResponseFormat{Name: "output", Schema: c.OutputSchema}
		if c.Story {
			req.ResponseFormat.Name = "story"
		}
	}
	return req
}

// offered are the tools of this step, in a fixed order, so that the prefix stays the same: the runtime's own, search-tools,
// then those it has found.
func (m *machine) offered() []model.Tool {
	var tools []model.Tool
	add := func(t model.Tool) {
		if !m.s.Narrowed || slices.Contains(m.s.Offer, t.Name) {
			tools = append(tools, t)
		}
	}
	for _, t := range m.s.Config.Tools {
		add(t.Tool)
	}
	if len(m.s.Config.Deferred) > 0 {
		add(m.s.Config.searchTool())
	}
	for _, name := range m.s.Activated {
		if t, ok := m.s.Config.deferred(name); ok {
			add(t.Tool)
		}
	}
	return tools
}

func names(tools []model.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

// toolChoice: tools that are off stay in the request, since they stand in the cached prefix and in the history, and are
// forbidden by the choice.
func (m *machine) toolChoice(tools []model.Tool) model.ToolChoice {
	choice := m.s.Config.ToolChoice
	switch {
	case len(tools) == 0:
		return model.ToolChoice{}
	case m.s.ToolsOff || m.s.Call.Purpose != ForStep:
		return model.ToolChoice{Mode: "none"}
	case m.s.StepChoice != nil:
		choice = *m.s.StepChoice
	}
	named := slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == choice.Named })
	if choice.Named != "" && !named {
		choice = model.ToolChoice{}
	}
	if m.s.ForceTool && choice.Named == "" {
		choice = model.ToolChoice{Mode: "required"}
	}
	return choice
}

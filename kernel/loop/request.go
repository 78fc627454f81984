package loop

import (
	"bytes"
	"encoding/json"
	"slices"
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
	tools := make([]ToolOffer, len(c.Tools))
	for i, t := range c.Tools {
		if len(t.Tool.Parameters) == 0 {
			t.Tool.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		t.Tool.Description = text.Clean(t.Tool.Description)
		if t.Tool.Parameters, err = compact(t.Tool.Parameters); err != nil {
			return c, errors.Wrapf(err, "parameters of tool %s", t.Tool.Name)
		}
		tools[i] = t
	}
	c.Tools = tools
	return c, nil
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

// call makes a new request.
func (m *machine) call(p Purpose) {
	m.s.Call = modelCall{Purpose: p}
	m.attempt("", 0)
}

// attempt sends the present request, once more with a hint when an earlier answer was unusable.
func (m *machine) attempt(hint string, after time.Duration) {
	m.s.Call.Attempt++
	m.s.Call.Hint = hint
	m.s.Stream, m.s.Reply = SegmentStream{}, nil
	m.s.Await = AwaitModel
	m.countUsage(func(u *Usage) { u.ModelCalls++ })
	m.emit(CallModel{
		Request: m.request(), Purpose: m.s.Call.Purpose, Step: m.s.Step, Attempt: m.s.Call.Attempt, After: after,
	})
}

func (m *machine) request() model.Request {
	c := m.s.Config
	messages := slices.Clone(m.s.Messages)
	if m.s.Call.Hint != "" {
		messages = append(messages, model.Message{Role: model.System, Content: m.s.Call.Hint})
	}
	if messages[len(messages)-1].Role == model.Assistant {
		m.defect("a request would end on an assistant message")
	}
	tools := m.offered()
	req := model.Request{
		Slot: c.Slot, Messages: messages, Tools: tools, ToolChoice: m.toolChoice(tools), Stream: c.Stream,
		MaxOutputTokens: c.MaxOutputTokens, ReasoningEffort: c.ReasoningEffort, Subject: c.RuntimeID,
	}
	if len(c.OutputSchema) > 0 && (!c.outputFromTool() || m.s.Call.Purpose != ForStep) {
		req.ResponseFormat = &model.ResponseFormat{Name: "output", Schema: c.OutputSchema}
		if c.Story {
			req.ResponseFormat.Name = "story"
		}
	}
	return req
}

func (m *machine) offered() []model.Tool {
	var tools []model.Tool
	for _, t := range m.s.Config.Tools {
		if !m.s.Narrowed || slices.Contains(m.s.Offer, t.Tool.Name) {
			tools = append(tools, t.Tool)
		}
	}
	return tools
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

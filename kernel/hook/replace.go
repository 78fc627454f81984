package hook

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// merge makes the replace function of an event from one that works on its types.
func merge[P, R any](apply func(p *P, with R, o *Outcome) error) func(payload, with json.RawMessage, o *Outcome) (json.RawMessage, error) {
	return func(payload, with json.RawMessage, o *Outcome) (json.RawMessage, error) {
		var p P
		var r R
		if err := json.Unmarshal(payload, &p); err != nil {
			return payload, errors.Wrap(err, "payload")
		}
		if err := strict(with, &r); err != nil {
			return payload, errors.Wrap(err, "replace")
		}
		if err := apply(&p, r, o); err != nil {
			return payload, errors.WithMessage(err, "replace")
		}
		out, err := plainjson.Marshal(p)
		if err != nil {
			return payload, errors.Wrap(err, "replace")
		}
		return out, nil
	}
}

// schedule narrows and reorders by name: nothing can be added or edited. A name stands alone or in a manifest as the payload
// has it.
func schedule(payload, with json.RawMessage, _ *Outcome) (json.RawMessage, error) {
	var p sdk.Schedule
	if err := json.Unmarshal(payload, &p); err != nil {
		return payload, errors.Wrap(err, "payload")
	}
	var r struct {
		Triggered *[]json.RawMessage `json:"triggered"`
	}
	if err := strict(with, &r); err != nil {
		return payload, errors.Wrap(err, "replace")
	}
	if r.Triggered == nil {
		return payload, nil
	}
	kept := []sdk.RuntimeInfo{}
	for i, item := range *r.Triggered {
		name, err := nameOf(item)
		if err != nil {
			return payload, errors.Wrapf(err, "replace.triggered[%d]", i)
		}
		same := func(t sdk.RuntimeInfo) bool { return t.Name == name }
		if n := slices.IndexFunc(p.Triggered, same); n >= 0 && !slices.ContainsFunc(kept, same) {
			kept = append(kept, p.Triggered[n])
		}
	}
	p.Triggered = kept
	return plainjson.Marshal(p)
}

func nameOf(item json.RawMessage) (string, error) {
	var name string
	if json.Unmarshal(item, &name) == nil {
		return name, nil
	}
	var info struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(item, &info); err != nil || info.Name == "" {
		return "", errors.New("must be the name of a runtime")
	}
	return info.Name, nil
}

func assembledContext(p *sdk.AssembledContext, with sdk.ContextChange, _ *Outcome) error {
	if with.Messages != nil {
		if err := checkMessages(*with.Messages, "messages"); err != nil {
			return err
		}
		p.Messages = *with.Messages
	}
	if with.SystemPrompt != nil {
		p.SystemPrompt = *with.SystemPrompt
	}
	return nil
}

// step narrows; a choice that is no tool of the step is ignored (seed: turn-pipeline.txt, "it can narrow this step's tools,
// change its tool choice, lower the steps left").
func step(p *sdk.StepStarting, with sdk.StepChange, _ *Outcome) error {
	if with.Tools != nil {
		p.Tools = narrowed(p.Tools, *with.Tools)
	}
	if c := with.ToolChoice; c != nil && (*c == "" || *c == "none" || *c == "required" || slices.Contains(p.Tools, *c)) {
		p.ToolChoice = *c
	}
	if with.StepsLeft != nil {
		p.StepsLeft = max(0, min(p.StepsLeft, *with.StepsLeft))
	}
	return nil
}

// narrowed keeps of the tools those that are named, in their own order.
func narrowed(tools, named []string) []string {
	out := []string{}
	for _, t := range tools {
		if slices.Contains(named, t) {
			out = append(out, t)
		}
	}
	return out
}

func modelCall(p *sdk.ModelCall, with sdk.ModelCallChange, _ *Outcome) error {
	if with.Messages != nil {
		if err := checkMessages(*with.Messages, "messages"); err != nil {
			return err
		}
		p.Messages = *with.Messages
	}
	if with.Model != nil {
		if strings.TrimSpace(*with.Model) == "" {
			return errors.New("model: name a slot")
		}
		p.Model = *with.Model
	}
	if with.Tools != nil {
		p.Tools = narrowed(p.Tools, *with.Tools)
	}
	if with.Stream != nil && !*with.Stream {
		p.Stream = false
	}
	if s := bytes.TrimSpace(with.PromptSegments); len(s) > 0 && string(s) != "null" {
		if s[0] != '[' {
			return errors.New("promptSegments: must be a list")
		}
		p.PromptSegments = with.PromptSegments
	}
	return nil
}

// checkMessages refuses what no provider would take.
func checkMessages(list []sdk.ChatMessage, where string) error {
	for i, m := range list {
		switch m.Role {
		case "system", "user", "assistant", "tool":
		default:
			return errors.Errorf("%s[%d].role: %q is none of system, user, assistant, tool", where, i, m.Role)
		}
		if m.Role == "tool" && m.ToolCallID == "" {
			return errors.Errorf("%s[%d]: a tool message names the call it answers", where, i)
		}
	}
	switch n := len(list); {
	case n == 0:
		return errors.Errorf("%s: is empty", where)
	case list[n-1].Role == "assistant":
		return errors.Errorf("%s: must not end on an assistant message", where)
	}
	return nil
}

func modelResponse(p *sdk.ModelResponse, with sdk.ModelResponseChange, o *Outcome) error {
	if r := with.Response; r != nil {
		for i, c := range r.ToolCalls {
			if c.Name == "" {
				return errors.Errorf("response.toolCalls[%d].name: is missing", i)
			}
		}
		r.FinishReason = p.Response.FinishReason
		p.Response = *r
	}
	if c := strings.TrimSpace(with.Correction); c != "" {
		if o.Rejected != "" {
			c = o.Rejected + "\n\n" + c
		}
		o.Rejected = c
	}
	return nil
}

// runtimeEnded replaces a result. Whose it is and what it waits for stay (reference: plugins.md §15, "IDs and suspension
// fields kept").
func runtimeEnded(p *sdk.RuntimeEnded, with sdk.RuntimeEndedChange, _ *Outcome) error {
	if with.Result == nil {
		return nil
	}
	was, now := p.Result, *with.Result
	now.RuntimeID, now.PluginID, now.RunID, now.Suspended = was.RuntimeID, was.PluginID, was.RunID, was.Suspended
	if was.Suspended {
		now.Status = was.Status
	}
	switch {
	case was.Suspended, now.Status == "success", now.Status == "failed", now.Status == "skipped":
	default:
		return errors.Errorf("result.status: %q is none of success, failed, skipped", now.Status)
	}
	if len(now.Output) > 0 && !object(now.Output) {
		return errors.New("result.output: must be a JSON object; a value of another kind is the canonicalValue")
	}
	p.Result = now
	return nil
}

func toolUse(p *sdk.ToolUse, with sdk.ToolUseChange, _ *Outcome) error {
	if n := with.ToolCall.Name; n != nil {
		if strings.TrimSpace(*n) == "" {
			return errors.New("toolCall.name: is empty")
		}
		p.ToolCall.Name = *n
	}
	if a := with.ToolCall.Arguments; a != nil {
		p.ToolCall.Arguments = *a
	}
	return nil
}

func toolUsed(p *sdk.ToolUsed, with sdk.ToolUsedChange, o *Outcome) error {
	if len(with.Result) > 0 {
		if !object(with.Result) {
			return errors.New("result: must be a JSON object")
		}
		p.Result = with.Result
	}
	o.End = o.End || with.Terminate
	return nil
}

func committing(p *sdk.Committing, with sdk.CommittingChange, _ *Outcome) error {
	if with.Proposal.Payload == nil {
		return nil
	}
	if !object(with.Proposal.Payload) {
		return errors.New("proposal.payload: must be a JSON object")
	}
	p.Proposal.Payload = with.Proposal.Payload
	return nil
}

func object(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

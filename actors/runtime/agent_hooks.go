package runtime

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/sdk"
)

// hooksAnswered brings back what the hooks of a point in the loop came to. in gets the time that is left.
type hooksAnswered struct {
	call uint64
	in   func(left time.Duration) loop.Input
}

// hooks says which points of this run's loop have handlers; where there are none the loop does not ask.
func (a *agent) hooks() loop.Hooks {
	h := a.r.run.frozen.Hooks
	return loop.Hooks{PreStep: h.Has(sdk.OnPreStep.Name), PreCall: h.Has(sdk.OnPreLLMCall.Name), Review: h.Has(sdk.OnPostLLMResponse.Name)}
}

// ask runs hooks outside of Receive and steps the loop with what they came to. If the code around them panics, the loop goes
// on with otherwise.
func (a *agent) ask(c actor.Context, what string, otherwise loop.Input, run func(ctx context.Context) func(time.Duration) loop.Input) {
	call, ctx := a.begins()
	self, root := c.Self(), c.ActorSystem().Root
	safego.Go(what, func() {
		done := hooksAnswered{call, func(time.Duration) loop.Input { return otherwise }}
		defer func() { root.Send(self, done) }()
		done.in = run(ctx)
	})
}

// assembled lets the PostContextAssembly hooks replace the system prompt and the messages; the framework's head stays in
// front (reference: plugins.md §15).
func (a *agent) assembled(c actor.Context, cfg loop.Config, in prompt.In, messages []model.Message) {
	begin := func(m []model.Message) func(time.Duration) loop.Input {
		return func(left time.Duration) loop.Input { return loop.Begin{Config: cfg, Messages: m, Left: left} }
	}
	hooks, about := a.r.run.frozen.Hooks, a.r.run.scope()
	if !hooks.Has(sdk.OnPostContextAssembly.Name) || len(messages) == 0 {
		a.step(c, begin(messages)(a.clock.left()))
		return
	}
	head := prompt.Head(in)
	system, rest := messages[0], messages
	if system.Role == model.System {
		rest = messages[1:]
	} else {
		system = model.Message{Role: model.System}
	}
	payload := sdk.AssembledContext{
		FrameworkHead: head, SystemPrompt: strings.TrimPrefix(strings.TrimPrefix(system.Content, head), "\n\n"), Messages: chat(rest),
		OutputKind: in.Runtime.IO.Visibility, PromptTemplate: in.Runtime.Body.In(in.InstructionLocale), InputSlots: in.Inputs, Characters: in.Characters,
	}
	a.ask(c, "PostContextAssembly", begin(messages)(0), func(ctx context.Context) func(time.Duration) loop.Input {
		changed, o := hook.Run(ctx, hooks, sdk.OnPostContextAssembly, about, payload)
		if !o.Rewrote {
			return begin(messages)
		}
		if changed.SystemPrompt != payload.SystemPrompt {
			system.Content, system.CacheAt = strings.TrimSpace(head+"\n\n"+changed.SystemPrompt), nil
		}
		return begin(append([]model.Message{system}, messagesOf(changed.Messages, rest)...))
	})
}

func (a *agent) preStep(c actor.Context, e loop.PreStep) {
	hooks, about := a.r.run.frozen.Hooks, a.r.run.scope()
	payload := sdk.StepStarting{Step: e.Step, StepsLeft: e.StepsLeft, Tools: append([]string{}, e.Tools...), ToolChoice: choice(e.ToolChoice)}
	a.ask(c, "PreStep", loop.PreStepDone{}, func(ctx context.Context) func(time.Duration) loop.Input {
		changed, o := hook.Run(ctx, hooks, sdk.OnPreStep, about, payload)
		done := loop.PreStepDone{End: o.Aborted, Reason: o.Reason}
		if o.Rewrote {
			if !slices.Equal(changed.Tools, payload.Tools) {
				done.Tools = append([]string{}, changed.Tools...)
			}
			if changed.ToolChoice != payload.ToolChoice {
				done.ToolChoice = choiceOf(changed.ToolChoice)
			}
			done.StepsLeft = &changed.StepsLeft
		}
		return func(left time.Duration) loop.Input { done.Left = left; return done }
	})
}

func (a *agent) preCall(c actor.Context, e loop.PreCall) {
	hooks, about := a.r.run.frozen.Hooks, a.r.run.scope()
	payload := sdk.ModelCall{
		Messages: chat(e.Request.Messages), Model: orElse(e.Request.Slot, "story"), Tools: []string{}, Stream: e.Request.Stream, PromptSegments: e.PromptSegments,
	}
	for _, t := range e.Request.Tools {
		payload.Tools = append(payload.Tools, t.Name)
	}
	a.ask(c, "PreLLMCall", loop.PreCallDone{}, func(ctx context.Context) func(time.Duration) loop.Input {
		changed, o := hook.Run(ctx, hooks, sdk.OnPreLLMCall, about, payload)
		var done loop.PreCallDone
		if o.Rewrote {
			done = changedCall(e.Request, payload, changed)
		}
		return func(left time.Duration) loop.Input { done.Left = left; return done }
	})
}

// changedCall is the request as the hooks left it.
func changedCall(req model.Request, was, now sdk.ModelCall) loop.PreCallDone {
	req.Messages = messagesOf(now.Messages, req.Messages)
	if now.Model != was.Model {
		req.Slot = now.Model
	}
	req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool { return !slices.Contains(now.Tools, t.Name) })
	if named := req.ToolChoice.Named; len(req.Tools) == 0 || named != "" && !slices.Contains(now.Tools, named) {
		req.ToolChoice = model.ToolChoice{}
	}
	done := loop.PreCallDone{Request: &req}
	if was.Stream && !now.Stream {
		req.Stream = false
		done.Stream = &req.Stream
	}
	if string(now.PromptSegments) != string(was.PromptSegments) {
		done.PromptSegments = now.PromptSegments
	}
	return done
}

func (a *agent) review(c actor.Context, e loop.Review) {
	hooks, about := a.r.run.frozen.Hooks, a.r.run.scope()
	payload := sdk.ModelResponse{
		Response: sdk.ModelText{Text: e.Reply.Text, ToolCalls: calls(e.Reply.ToolCalls), FinishReason: string(e.Reply.FinishReason)}, Messages: chat(e.Sent),
	}
	a.ask(c, "PostLLMResponse", loop.ReviewDone{}, func(ctx context.Context) func(time.Duration) loop.Input {
		changed, o := hook.Run(ctx, hooks, sdk.OnPostLLMResponse, about, payload)
		done := loop.ReviewDone{Correction: o.Rejected}
		if o.Rewrote && (changed.Response.Text != payload.Response.Text || !slices.Equal(changed.Response.ToolCalls, payload.Response.ToolCalls)) {
			reply := e.Reply
			reply.Text, reply.ToolCalls = changed.Response.Text, nil
			for _, tc := range changed.Response.ToolCalls {
				reply.ToolCalls = append(reply.ToolCalls, model.ToolCall(tc))
			}
			done.Reply = &reply
		}
		return func(time.Duration) loop.Input { return done }
	})
}

// chat gives messages as hooks read them.
func chat(list []model.Message) []sdk.ChatMessage {
	out := make([]sdk.ChatMessage, len(list))
	for i, m := range list {
		out[i] = sdk.ChatMessage{Role: string(m.Role), Content: m.Content, ToolCalls: calls(m.ToolCalls), ToolCallID: m.ToolCallID}
	}
	return out
}

func calls(list []model.ToolCall) []sdk.ToolCall {
	var out []sdk.ToolCall
	for _, c := range list {
		out = append(out, sdk.ToolCall(c))
	}
	return out
}

// messagesOf gives the messages that hooks left. What hooks do not read of a message, its pictures and what it is to the
// host, stays with those that are as they were.
func messagesOf(list []sdk.ChatMessage, was []model.Message) []model.Message {
	before := chat(was)
	next := 0 // of those that were: hooks drop and add, they seldom reorder
	out := make([]model.Message, len(list))
	for i, m := range list {
		kept := slices.IndexFunc(before[next:], func(b sdk.ChatMessage) bool {
			return m.Role == b.Role && m.Content == b.Content && m.ToolCallID == b.ToolCallID && slices.Equal(m.ToolCalls, b.ToolCalls)
		})
		if kept >= 0 {
			next += kept + 1
			out[i] = was[next-1]
			continue
		}
		out[i] = model.Message{Role: model.Role(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out[i].ToolCalls = append(out[i].ToolCalls, model.ToolCall(c))
		}
	}
	return out
}

func choice(c model.ToolChoice) string { return orElse(c.Named, c.Mode) }

func choiceOf(s string) *model.ToolChoice {
	switch s {
	case "", "none", "required":
		return &model.ToolChoice{Mode: s}
	}
	return &model.ToolChoice{Named: s}
}

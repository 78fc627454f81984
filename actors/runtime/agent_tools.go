package runtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

type toolsFinished struct {
	call     uint64
	outcomes []loop.ToolOutcome
	exceeded string // why no further call was admitted, "" when all were
}

// offers gives the tools of the runtime. A declared tool that its plugin did not register fails the run before the model
// is called; a builtin this host lacks is left out with a warning (seed: tools.txt, "is not installed on this host").
func (a *agent) offers() ([]loop.ToolOffer, error) {
	rt, plugin := a.r.run.start.Runtime, a.r.run.plugin
	var out []loop.ToolOffer
	add := func(t sdk.Tool) {
		o := tools.Offer(t, tools.Session{Topics: a.r.run.frozen.Topics})
		out = append(out, loop.ToolOffer{
			Tool:     model.Tool{Name: o.Name, Description: o.Description, Parameters: o.Parameters},
			Parallel: t.Annotations.ReadOnly && t.Annotations.ConcurrencySafe,
		})
	}
	for _, name := range rt.Agent.BuiltinTools {
		if name == tools.Suspend && len(a.r.run.start.Callers) > 0 {
			continue // nobody could answer a run that another one waits for
		}
		t, ok := tools.Builtin(name)
		if ok && a.withholds(t) {
			continue
		}
		if !ok {
			a.r.Log.Warn("builtin tool \"" + name + "\" is not installed on this host — not offered")
			continue
		}
		add(t)
	}
	for _, name := range rt.Agent.PluginTools {
		t, ok := plugin.Tools[name]
		if !ok {
			return nil, errors.Errorf("runtime %q declares plugin tool %q, but its plugin did not register it", rt.ID, name)
		}
		if a.withholds(t) {
			continue
		}
		add(t)
	}
	return out, nil
}

// runTools runs the batches one after another, the calls of a batch at the same time; what they stage is taken over in
// model order, whichever ends first. A call that suspends the run, or whose hook ends it, is the last one that runs.
func (a *agent) runTools(c actor.Context, e loop.RunTools) {
	call, ctx := a.begins()
	self, root, parent := c.Self(), c.ActorSystem().Root, c.Parent()
	concealed := a.r.run.start.Runtime.IO.Concealed
	b := batches{a: a, ctx: ctx, config: a.state.Config, told: func(kind kernelsession.ProgressKind, id, name, failure string) {
		if !concealed && name != tools.RuntimeDone && name != tools.SearchTools { // those are between the loop and its model
			root.Send(parent, a.r.about(kernelsession.Progress{Kind: kind, ToolName: name, ToolCallID: id, Error: failure}))
		}
	}}
	safego.Go("tools", func() {
		defer func() { root.Send(self, toolsFinished{call, b.outcomes, b.exceeded}) }()
		for _, batch := range e.Batches {
			b.run(batch.Calls)
		}
	})
}

// batches are the calls of one reply as they run, outside of Receive.
type batches struct {
	a      *agent
	ctx    context.Context
	config loop.Config
	told   func(kind kernelsession.ProgressKind, id, name, failure string)

	outcomes []loop.ToolOutcome
	exceeded string
	over     bool // nothing more is run; the loop answers the calls that did not run
}

// run runs a batch. Its hooks come first, in model order: a call that they rename to a tool that runs alone does so.
func (b *batches) run(asked []model.ToolCall) {
	calls := make([]toolCall, len(asked))
	final := make([]model.ToolCall, len(asked))
	for i, tc := range asked {
		if b.over {
			b.a.r.emitTool(b.a.r.run.scope(), tc.ID, skipped(tc.Name, tc.Arguments), time.Now())
			continue
		}
		b.told(kernelsession.ToolCalling, tc.ID, tc.Name, "")
		job := b.a.r.run.call(tc.Name, tc.Arguments, b.a.authorised)
		job.Delegate = b.a.r.delegator(tc.ID)
		calls[i] = b.a.r.preTool(b.ctx, tc.ID, job)
		calls[i].deferred = b.config.Searchable()
		final[i] = model.ToolCall{ID: tc.ID, Name: calls[i].Name}
	}
	if b.over {
		return
	}
	for _, part := range b.config.Batches(final) {
		n := len(part.Calls)
		b.together(calls[:n])
		calls = calls[n:]
	}
}

// together runs calls at the same time; most often it is one, which needs no goroutine of its own.
func (b *batches) together(calls []toolCall) {
	results := make([]tools.CallResult, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		call.Emitted = b.a.emitted
		if b.over {
			done := skipped(call.Name, call.Arguments)
			call.done = &done
		}
		if len(calls) == 1 {
			results[i] = b.a.r.execute(b.ctx, call)
			continue
		}
		wg.Add(1)
		safego.Go("tool", func() {
			defer wg.Done()
			results[i] = tools.Skipped(call.Name, call.Arguments, "the call failed unexpectedly")
			results[i] = b.a.r.execute(b.ctx, call)
		})
	}
	wg.Wait()
	for i, res := range results {
		o := b.a.outcome(calls[i].id, res)
		b.outcomes = append(b.outcomes, o)
		b.over = b.over || o.Terminate || loop.IsSuspension(o)
		if errors.Is(res.Cause, allowance.ErrExceeded) {
			b.over, b.exceeded = true, res.Cause.Error()
		}
		if res.Err != nil {
			b.told(kernelsession.ToolFailed, calls[i].id, res.Name, res.Err.Message)
		} else {
			b.told(kernelsession.ToolCompleted, calls[i].id, res.Name, "")
		}
	}
}

func skipped(name, arguments string) tools.CallResult {
	return tools.Skipped(name, arguments, "an earlier call ended or suspended the run")
}

func (a *agent) outcome(id string, res tools.CallResult) loop.ToolOutcome {
	a.noteWithheld(res.Name)
	out := loop.ToolOutcome{CallID: id, Name: res.Name, Arguments: res.Arguments, Result: res.Envelope, Refused: res.Refused, Skipped: res.Skipped, Terminate: res.Terminate}
	if res.Cause != nil && !res.Skipped {
		a.r.Log.Error("tool failed", "tool", res.Name, "runtime", a.r.run.start.Runtime.ID, "error", res.Cause)
	}
	if res.Err != nil {
		out.ErrorCode = string(res.Err.Code)
		return out
	}
	if err := a.r.run.accept(res); err != nil {
		out.ErrorCode, out.Result = string(sdk.Internal), tools.ErrorEnvelope(sdk.Fail(sdk.Internal, "%s", err.Error()))
		return out
	}
	for _, ev := range res.Events {
		a.emitted = append(slices.Clone(a.emitted), ev.Topic)
	}
	out.OK, out.Content, out.Wrote = true, res.Content, res.Wrote
	return out
}

// call is a tool call as the executor takes it.
func (r *run) call(name, arguments string, authorised []string) tools.Call {
	return tools.Call{
		Name: name, Arguments: arguments, Authorised: authorised, Own: r.plugin.Tools, Runtime: r.view(), Topics: r.frozen.Topics,
		Language: r.frozen.Instructions,
	}
}

// accept takes over what a successful call staged.
func (r *run) accept(res tools.CallResult) error {
	for _, e := range res.Events {
		if err := r.mayEmit(e); err != nil {
			return err
		}
	}
	if err := r.stage(res.Proposals, res.Events); err != nil {
		return err
	}
	if res.Interaction != nil {
		r.ask(*res.Interaction)
	}
	for _, ui := range res.UI {
		if err := r.propose(ui); err != nil {
			return err
		}
	}
	return nil
}

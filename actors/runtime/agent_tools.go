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
	rt := a.r.run.start.Runtime
	told := func(kind kernelsession.ProgressKind, tc model.ToolCall, failure string) {
		if !rt.IO.Concealed {
			root.Send(parent, a.r.about(kernelsession.Progress{Kind: kind, ToolName: tc.Name, ToolCallID: tc.ID, Error: failure}))
		}
	}
	safego.Go("tools", func() {
		done := toolsFinished{call: call}
		defer func() { root.Send(self, done) }()
		over := false
		for _, b := range e.Batches {
			if over { // the loop answers the calls that did not run
				for _, tc := range b.Calls {
					a.r.emitTool(a.r.run.scope(), tc.ID, tools.Skipped(tc.Name, tc.Arguments, "an earlier call ended or suspended the run"), time.Now())
				}
				continue
			}
			results := make([]tools.CallResult, len(b.Calls))
			jobs := make([]tools.Call, len(b.Calls))
			for i, tc := range b.Calls {
				told(kernelsession.ToolCalling, tc, "")
				jobs[i] = a.r.run.call(tc.Name, tc.Arguments, a.authorised)
				jobs[i].Emitted = a.emitted
				jobs[i].Delegate = a.r.delegator(tc.ID)
			}
			a.runBatch(ctx, b.Calls, jobs, results)
			for i, res := range results {
				o := a.outcome(b.Calls[i], res)
				done.outcomes = append(done.outcomes, o)
				over = over || o.Terminate || loop.IsSuspension(o)
				if errors.Is(res.Cause, allowance.ErrExceeded) {
					over, done.exceeded = true, res.Cause.Error()
				}
				if res.Err != nil {
					told(kernelsession.ToolFailed, b.Calls[i], res.Err.Message)
				} else {
					told(kernelsession.ToolCompleted, b.Calls[i], "")
				}
			}
		}
	})
}

// runBatch runs the calls of a batch at the same time; most batches are one call, which needs no goroutine of its own.
func (a *agent) runBatch(ctx context.Context, calls []model.ToolCall, jobs []tools.Call, results []tools.CallResult) {
	if len(jobs) == 1 {
		results[0] = a.r.runTool(ctx, calls[0].ID, jobs[0])
		return
	}
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Add(1)
		safego.Go("tool", func() {
			defer wg.Done()
			results[i] = tools.Skipped(calls[i].Name, calls[i].Arguments, "the call failed unexpectedly")
			results[i] = a.r.runTool(ctx, calls[i].ID, job)
		})
	}
	wg.Wait()
}

func (a *agent) outcome(tc model.ToolCall, res tools.CallResult) loop.ToolOutcome {
	a.noteWithheld(res.Name)
	out := loop.ToolOutcome{CallID: tc.ID, Name: res.Name, Arguments: res.Arguments, Result: res.Envelope, Refused: res.Refused, Skipped: res.Skipped, Terminate: res.Terminate}
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

// Package runtime is the shell around one run of a runtime: its guard, then its handler or its agent loop. Plugin code and
// the model run outside of Receive, so that a cancel never waits; the pure loop of kernel/loop decides every step.
package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// Time limits of a run that names none (decisions: "Loop profiles").
const (
	DefaultFunctionTimeout = 60 * time.Second
	guardTimeout           = 10 * time.Second
)

// Deps is what a runtime actor needs from outside.
type Deps struct {
	Model model.Provider
	Tools *tools.Executor
	Trace *trace.Writer // may be nil
	Log   *slog.Logger
}

// Props makes the actor of one run. It tells its parent kernelsession.Progress and, once, Ended.
func Props(d Deps, f Frozen, start turn.Run, plugin *registry.Loaded) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &runtime{Deps: d, run: newRun(f, start, plugin), label: label(plugin, start, f.Locale())}
	})
}

type runtime struct {
	Deps
	run    *run
	label  string
	ctx    context.Context
	cancel context.CancelFunc
	begun  time.Time
	agent  *agent      // set once the model loop runs
	timer  *time.Timer // the limit of plugin code that runs
	// budgetTimer ends the run with the execution's allowance of time; nil without one.
	budgetTimer *time.Timer
	ended       bool
	deltas      int // pieces of text that were shown
}

type guardDone struct {
	result sdk.GuardResult
	err    error
}

type handlerDone struct {
	result sdk.Result
	err    error
}

// overdue: plugin code did not come back within its limit, whether it heeds its context or not. What it still returns is
// discarded.
type overdue struct{ what string }

func (r *runtime) Receive(c actor.Context) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("runtime panicked", "runtime", r.run.start.Runtime.ID, "panic", p, "stack", string(debug.Stack()))
			panic(p)
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		r.ctx, r.cancel = context.WithCancel(context.Background())
		r.begun = time.Now()
		r.watchTime(c)
		if r.run.start.Resumed != nil { // its guard let it run when it began
			r.begin(c)
			return
		}
		r.preRuntime(c)
	case *actor.Stopped:
		r.release()
		if r.budgetTimer != nil {
			r.budgetTimer.Stop()
		}
		r.cancel()
	case overdue:
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "timeout", Error: m.what + " did not end within its time limit"})
	case timeSpent:
		r.outOfTime(c, m)
	case Cancel:
		if r.ended { // only hooks are still asked
			r.cancel()
			return
		}
		if r.agent != nil {
			r.agent.stop(c, m.Reason)
			return
		}
		r.cancel()
		r.end(c, turn.Result{Status: turn.Failed, StopReason: m.Reason, Error: m.Reason})
	case allowed:
		r.allowed(c, m)
	case settled:
		r.report(c, m.result)
	case guardDone:
		r.guarded(c, m)
	case handlerDone:
		r.handled(c, m)
	case Interject:
		if r.agent == nil || r.ended { // a guard or a handler reads no interjections
			c.Send(c.Parent(), Interjected{RunID: r.run.start.RunID, ID: m.ID})
			return
		}
		r.agent.receive(c, m)
	default:
		if r.agent != nil && !r.ended {
			r.agent.receive(c, m)
		}
	}
}

// guard lets the runtime's guard answer in its place (seed: turn-pipeline.txt §2.2).
func (r *runtime) guard(c actor.Context) {
	guard := r.run.plugin.Entry.Guards[r.run.start.Runtime.Guard]
	if r.run.start.Runtime.Guard == "" {
		r.begin(c)
		return
	}
	self, root, view := c.Self(), c.ActorSystem().Root, r.run.view()
	r.limit(c, guardTimeout, "the guard")
	safego.Go("guard", func() {
		done := guardDone{err: errors.New("the guard panicked")}
		defer func() { root.Send(self, done) }()
		ctx, cancel := context.WithTimeout(r.ctx, guardTimeout)
		defer cancel()
		done.result, done.err = guard(ctx, view)
	})
}

func (r *runtime) guarded(c actor.Context, m guardDone) {
	if r.ended {
		return
	}
	r.release()
	if m.err != nil {
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "internal", Error: "guard: " + m.err.Error()})
		return
	}
	if !m.result.Skip {
		r.begin(c)
		return
	}
	res := turn.Result{Status: turn.Skipped, SkipReason: turn.SkipGuard, Done: m.result.PreGameDone}
	if err := r.run.effects(m.result.Effects); err != nil {
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "invalid-output", Error: "guard: " + err.Error()})
		return
	}
	if m.result.Output != nil {
		b, err := json.Marshal(m.result.Output)
		if err != nil {
			r.end(c, turn.Result{Status: turn.Failed, StopReason: "invalid-output", Error: "guard output: " + err.Error()})
			return
		}
		res.Output = b
	}
	r.end(c, res)
}

// begin starts the handler or the agent loop.
func (r *runtime) begin(c actor.Context) {
	r.progress(c, kernelsession.Progress{Kind: kernelsession.RuntimeStarted})
	rt := r.run.start.Runtime
	r.emit(trace.RuntimeStarted, trace.Runtime{Label: r.label, Stage: string(rt.Schedule.Stage), Kind: rt.Type})
	if rt.Type == "function" {
		r.function(c)
		return
	}
	r.agent = newAgent(r)
	r.agent.begin(c)
}

func (r *runtime) function(c actor.Context) {
	rt := r.run.start.Runtime
	handler := r.run.plugin.Entry.Handlers[rt.Function.Handler]
	self, root, view := c.Self(), c.ActorSystem().Root, r.run.view()
	timeout := DefaultFunctionTimeout
	if rt.Function.TimeoutMs > 0 {
		timeout = time.Duration(rt.Function.TimeoutMs) * time.Millisecond
	}
	calls := &caller{run: r.run, runtime: r, authorised: append(append([]string{}, rt.Function.BuiltinTools...), rt.Function.PluginTools...)}
	view.Tools = calls
	r.limit(c, timeout, "the handler")
	safego.Go("handler", func() {
		done := handlerDone{err: errors.New("the handler panicked")}
		defer func() { root.Send(self, done) }()
		ctx, cancel := context.WithTimeout(r.ctx, timeout)
		defer cancel()
		done.result, done.err = handler(ctx, view)
		if done.err == nil {
			// One failed call fails the runtime even if the handler caught the error.
			done.err = calls.failed
		}
	})
}

func (r *runtime) handled(c actor.Context, m handlerDone) {
	if r.ended {
		return
	}
	switch {
	case errors.Is(m.err, allowance.ErrExceeded):
		r.end(c, turn.Result{Status: turn.Failed, StopReason: string(loop.StopBudgetExceeded), Error: m.err.Error()})
	case m.err != nil:
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "internal", Error: m.err.Error()})
	case m.result.Outcome == sdk.Failed:
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "internal", Error: orElse(m.result.Error, "the handler reported a failure")})
	case m.result.Outcome == sdk.Suspended:
		r.suspended(c, m.result)
	case m.result.Outcome == sdk.Skipped:
		r.end(c, turn.Result{Status: turn.Skipped, SkipReason: turn.HandlerSkip(m.result.SkipReason), StopReason: "completed"})
	case m.result.Outcome != sdk.Success:
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "invalid-output", Error: fmt.Sprintf("unknown outcome %q", m.result.Outcome)})
	default:
		res := turn.Result{Status: turn.Succeeded, StopReason: "completed", Done: m.result.Done}
		if m.result.Value != nil {
			b, err := json.Marshal(m.result.Value)
			if err != nil {
				r.end(c, turn.Result{Status: turn.Failed, StopReason: "invalid-output", Error: "value: " + err.Error()})
				return
			}
			res.Output = b
		}
		if err := r.run.effects(m.result.Effects); err != nil {
			r.end(c, turn.Result{Status: turn.Failed, StopReason: "invalid-output", Error: err.Error()})
			return
		}
		r.end(c, res)
	}
}

// limit ends the run when plugin code takes longer than d.
func (r *runtime) limit(c actor.Context, d time.Duration, what string) {
	self, root := c.Self(), c.ActorSystem().Root
	r.timer = time.AfterFunc(d, func() { root.Send(self, overdue{what}) })
}

func (r *runtime) release() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// end reports the result, once, and stops.
func (r *runtime) end(c actor.Context, res turn.Result) {
	if r.ended {
		return
	}
	r.ended = true
	r.release()
	r.postRuntime(c, res)
}

// report checks the result as it is after the hooks, tells the parent, and stops.
func (r *runtime) report(c actor.Context, res turn.Result) {
	res = r.run.result(res)
	if err := checkContract(r.run.plugin, r.run.start.Runtime, res); err != nil {
		res.Status, res.StopReason, res.Error, res.Proposals, res.Events = turn.Failed, "invalid-output", err.Error(), nil, nil
	}
	r.emitEnd(res)
	p := kernelsession.Progress{Status: string(res.Status), Error: res.Error, SkipReason: res.SkipReason, DurationMs: time.Since(r.begun).Milliseconds()}
	switch res.Status {
	case turn.Succeeded:
		p.Kind = kernelsession.RuntimeCompleted
	case turn.Skipped:
		p.Kind = kernelsession.RuntimeSkipped
	case turn.Suspended:
		p.Kind = kernelsession.RuntimeSuspended
	default:
		p.Kind = kernelsession.RuntimeFailed
	}
	if r.run.start.Runtime.IO.Concealed && p.Error != "" {
		p.Error = "it failed"
	}
	r.progress(c, p)
	c.Send(c.Parent(), Ended{res})
	r.cancel()
	c.Stop(c.Self())
}

func (r *runtime) progress(c actor.Context, p kernelsession.Progress) {
	rt := r.run.start.Runtime
	if p.Kind == kernelsession.NarrativeDelta {
		r.deltas++
	}
	p.RuntimeID, p.PluginID, p.RunID, p.Label, p.Stage = rt.ID, rt.PluginID, r.run.start.RunID, r.label, string(rt.Schedule.Stage)
	c.Send(c.Parent(), p)
}

// label says in the player's language what the runtime does.
func label(plugin *registry.Loaded, start turn.Run, locale string) string {
	return sdk.Translate(plugin.Manifest.MessagesIn(locale), start.Runtime.Description.In("en"), nil)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

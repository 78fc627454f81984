package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// code is a guard or a handler that runs: what it sees, what it may do, and what came of it.
type code struct {
	access
	r    *runtime
	view *sdk.Runtime
	// order lets calls of tools and of other runs go one after another, whoever in the plugin makes them.
	order sync.Mutex

	authorised []string // tools
	tools      int      // calls of tools so far
	terminated bool     // a hook ended the run after a call
	failed     error    // of a tool call: it fails the run even if the code caught it
}

// end is safe where no code ever ran.
func (k *code) end() {
	if k != nil {
		k.access.end()
	}
}

// newCode hands the run to plugin code. toolNames are what ctx.tools may call; nil offers no tools.
func (r *runtime) newCode(toolNames []string) *code {
	k := &code{r: r, authorised: toolNames}
	k.access.run = r.run
	k.view = r.run.view()
	k.view.PluginData = ownRecords{r.run, &k.access}
	k.view.RecursiveCall, k.view.Gateway = k.recurse, k.modelGateway()
	if toolNames != nil {
		k.view.Tools, k.view.Agents = k, &agentCaller{code: k}
	}
	r.code = k
	return k
}

// look shows the code the world as it is now that calls have written to it.
func (k *code) look() { k.view.World = k.run.world }

type guardDone struct {
	result sdk.GuardResult
	err    error
}

type handlerDone struct {
	result sdk.Result
	err    error
}

// late tells code that came back because its time was up from code that failed: either way it was too slow.
func late(ctx context.Context) bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }

// guard lets the runtime's guard answer in its place (seed: turn-pipeline.txt §2.2).
func (r *runtime) guard(c actor.Context) {
	if r.run.start.Runtime.Guard == "" {
		r.begin(c)
		return
	}
	guard, ok := r.run.plugin.Entry.Guards[r.run.start.Runtime.Guard]
	if !ok {
		r.end(c, failure("internal", "its plugin registered no guard "+r.run.start.Runtime.Guard))
		return
	}
	self, root, k := c.Self(), c.ActorSystem().Root, r.newCode(nil)
	r.limit(c, guardTimeout, "the guard")
	safego.Go("guard", func() {
		var done any = guardDone{err: errors.New("the guard panicked")}
		defer func() { root.Send(self, done) }()
		defer k.end()
		ctx, cancel := context.WithTimeout(r.ctx, guardTimeout)
		defer cancel()
		result, err := guard(ctx, k.view)
		if done = (guardDone{result, err}); late(ctx) {
			done = overdue{"the guard"}
		}
	})
}

func (r *runtime) guarded(c actor.Context, m guardDone) {
	if r.ended {
		return
	}
	r.release()
	if m.err != nil {
		r.end(c, uncaught("guard: ", m.err))
		return
	}
	h := turn.GuardResult(m.result)
	if h.Result.Status == "" { // it runs
		r.note(h)
		r.begin(c)
		return
	}
	r.settle(c, h, "guard: ")
}

// function calls the runtime's handler.
func (r *runtime) function(c actor.Context) {
	rt := r.run.start.Runtime
	handler, ok := r.run.plugin.Entry.Handlers[rt.Function.Handler]
	if !ok {
		r.end(c, failure("internal", "its plugin registered no handler "+rt.Function.Handler))
		return
	}
	timeout := DefaultFunctionTimeout
	if rt.Function.TimeoutMs > 0 {
		timeout = time.Duration(rt.Function.TimeoutMs) * time.Millisecond
	}
	self, root := c.Self(), c.ActorSystem().Root
	k := r.newCode(append(append([]string{}, rt.Function.BuiltinTools...), rt.Function.PluginTools...))
	r.limit(c, timeout, "the handler")
	r.emit(trace.FunctionExecuting, trace.Function{Handler: rt.Function.Handler})
	safego.Go("handler", func() {
		began := time.Now()
		var done any = handlerDone{err: errors.New("the handler panicked")}
		defer func() {
			r.emit(trace.FunctionCompleted, functionEnd(rt.Function.Handler, done, time.Since(began)))
			root.Send(self, done)
		}()
		defer k.end()
		ctx, cancel := context.WithTimeout(r.ctx, timeout)
		defer cancel()
		result, err := handler(ctx, k.view)
		if k.end(); err == nil { // nothing changes any more
			err = k.failed
		}
		if done = (handlerDone{result, err}); late(ctx) {
			done = overdue{"the handler"}
		}
	})
}

// functionEnd tells how a handler came back.
func functionEnd(handler string, done any, took time.Duration) trace.FunctionEnd {
	end := trace.FunctionEnd{Handler: handler, DurationMs: took.Milliseconds(), Outcome: "timeout"}
	if m, ok := done.(handlerDone); ok {
		if end.Outcome = string(m.result.Outcome); m.err != nil {
			end.Outcome, end.Error = string(sdk.Failed), m.err.Error()
		}
	}
	return end
}

func (r *runtime) handled(c actor.Context, m handlerDone) {
	if r.ended {
		return
	}
	if m.err != nil {
		r.end(c, uncaught("", m.err))
		return
	}
	h := turn.HandlerResult(m.result)
	if h.Result.Status == turn.Suspended {
		s, err := suspensionOf(m.result)
		if err != nil {
			r.end(c, malformed(err.Error()))
			return
		}
		h.Result.Suspension = s
	}
	r.settle(c, h, "")
}

// settle takes over the effects of an answer and ends the run with it. who begins the errors.
func (r *runtime) settle(c actor.Context, h turn.Handled, who string) {
	h = r.hidden(h)
	r.note(h)
	if h.Result.Status == turn.Failed {
		h.Result.Error = who + h.Result.Error
		r.end(c, h.Result)
		return
	}
	if err := r.run.effects(h.Effects); err != nil {
		r.end(c, malformed(who+err.Error()))
		return
	}
	r.end(c, h.Result)
}

// stopOf says why code stopped with an error.
func stopOf(err error) string {
	if errors.Is(err, allowance.ErrExceeded) {
		return string(loop.StopBudgetExceeded)
	}
	return string(loop.StopInternal)
}

// uncaught is the end of code that failed with an error. It is the plugin's fault unless it came from outside of its code: a
// tool's or a service's failure, a model's, the limit of an allowance, a stop (decisions: "Fault latch").
func uncaught(who string, err error) turn.Result {
	res := failure(stopOf(err), who+err.Error())
	var tool *sdk.ToolError
	var called *model.Error
	res.Fault = !errors.As(err, &tool) && !errors.As(err, &called) && !errors.Is(err, allowance.ErrExceeded) && !errors.Is(err, context.Canceled)
	return res
}

// malformed is the end of code whose answer cannot be read.
func malformed(why string) turn.Result {
	res := failure("invalid-output", why)
	res.Fault = true
	return res
}

func failure(stop, why string) turn.Result {
	return turn.Result{Status: turn.Failed, StopReason: stop, Error: why}
}

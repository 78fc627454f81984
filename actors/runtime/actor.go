// Package runtime is the shell around one run of a runtime: its guard, then its handler or its agent loop. Plugin code and
// the model run outside of Receive, so that a cancel never waits; the pure loop of kernel/loop decides every step.
package runtime

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
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
	}, actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective }))) // a called run that panics has failed
}

type runtime struct {
	Deps
	run    *run
	label  string
	ctx    context.Context
	cancel context.CancelFunc
	begun  time.Time
	agent  *agent // set once the model loop runs
	self   mailbox
	work   *reports
	code   *code       // the plugin code that runs or ran last
	calls  nested      // recursive calls
	faulty atomic.Bool // a tool of the plugin's own crashed
	timer  *time.Timer // the limit of plugin code that runs
	// budgetTimer ends the run with the execution's allowance of time; nil without one.
	budgetTimer *time.Timer
	ended       bool
	deltas      int // pieces of text that were shown
	subagents   subagents
	said        []Interject // lines of the player that came before the loop began

	spending    sync.Mutex
	spent       trace.Usage // of the model calls that have ended
	spentInStep trace.Usage // of those of the newest step
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
		r.self = mailbox{c.Self(), c.ActorSystem().Root}
		r.equip(c)
		if r.run.start.Resumed != nil || r.run.start.Subagent != nil { // its guard let it run when it began; a sub-agent has none
			r.begin(c)
			return
		}
		r.preRuntime(c)
	case *actor.Stopped:
		r.release()
		r.subagents.lost(r.run.frozen.Account)
		if r.budgetTimer != nil {
			r.budgetTimer.Stop()
		}
		r.cancel()
	case overdue:
		r.end(c, turn.Result{Status: turn.Failed, StopReason: "timeout", Error: m.what + " did not end within its time limit", Fault: true})
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
	case callRun, callOff, Ended, *actor.Terminated, gone:
		r.calls.receive(c, r, m)
		r.subagents.receive(c, r, m)
	case startSubagent, cancelSubagent:
		r.subagents.receive(c, r, m)
	case kernelsession.Progress: // of a called run or a sub-agent
		c.Send(c.Parent(), m)
	case Interject:
		switch {
		case r.ended || r.run.start.Runtime.Type != "agent": // a handler reads no interjections
			c.Send(c.Parent(), Interjected{RunID: r.run.start.RunID, ID: m.ID})
		case r.agent == nil || !r.agent.begun(): // its guard, its hooks, its context come first
			r.said = append(r.said, m)
		default:
			r.agent.receive(c, m)
		}
	default:
		if r.agent != nil && !r.ended {
			r.agent.receive(c, m)
		}
	}
}

// begin starts the handler or the agent loop.
func (r *runtime) begin(c actor.Context) {
	r.progress(c, kernelsession.Progress{Kind: kernelsession.RuntimeStarted})
	rt := r.run.start.Runtime
	r.emit(trace.RuntimeStarted, trace.Runtime{Label: r.label, Stage: string(rt.Schedule.Stage), Kind: rt.Type})
	if rt.Type == manifest.TypeFunction {
		r.function(c)
		return
	}
	r.agent = newAgent(r)
	r.agent.begin(c)
}

// mailbox reaches the actor from goroutines.
type mailbox struct {
	pid  *actor.PID
	root *actor.RootContext
}

func (m mailbox) send(msg any) { m.root.Send(m.pid, msg) }

// equip gives the views of plugin code what only the actor has.
func (r *runtime) equip(c actor.Context) {
	root, parent := c.ActorSystem().Root, c.Parent()
	log := &runLog{emit: r.emit}
	r.work = &reports{tell: func(p kernelsession.Progress) { root.Send(parent, r.about(p)) }}
	r.run.equip = func(v *sdk.Runtime) { v.Log, v.Progress, v.AssetProgress = log, r.work.report, r.work.asset }
}

// within ends ctx when the run ends.
func (r *runtime) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.ctx, cancel)
	return ctx, func() { stop(); cancel() }
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
	for _, m := range r.said { // the loop never began
		c.Send(c.Parent(), Interjected{RunID: r.run.start.RunID, ID: m.ID})
	}
	r.said = nil
	r.release()
	r.code.end()
	r.calls.cancel(c, "the run that called it has ended")
	r.drain(c, res)
}

// report checks the result as it is after the hooks, tells the parent, and stops.
func (r *runtime) report(c actor.Context, res turn.Result) {
	res = r.run.result(res)
	res.Usage = usageOf(r.total(), res.Usage)
	if r.run.start.Subagent != nil {
		res = r.withoutWrites(res)
	}
	res.Subagents = r.subagents.ended
	if err := checkContract(r.run.plugin, r.run.start.Runtime, res); err != nil {
		res.Status, res.StopReason, res.Error, res.Proposals, res.Events, res.Operations = turn.Failed, "invalid-output", err.Error(), nil, nil, nil
		res.Fault = res.Fault || r.run.start.Runtime.Type == manifest.TypeFunction // an agent's answer is its model's
	}
	res.Fault = res.Fault || r.faulty.Load()
	r.emitEnd(res)
	r.work.close(res)
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
	r.progress(c, p)
	c.Send(c.Parent(), Ended{res})
	r.cancel()
	c.Stop(c.Self())
}

func (r *runtime) progress(c actor.Context, p kernelsession.Progress) {
	if p.Kind == kernelsession.NarrativeDelta {
		r.deltas++
	}
	c.Send(c.Parent(), r.about(p))
}

// about fills in whose progress it is. Of a concealed runtime nothing is told but that it runs and how it ended.
func (r *runtime) about(p kernelsession.Progress) kernelsession.Progress {
	rt := r.run.start.Runtime
	p.RuntimeID, p.PluginID, p.RunID, p.Label, p.Stage = rt.ID, rt.PluginID, r.run.start.RunID, r.label, string(rt.Schedule.Stage)
	p.ParentRunID = r.run.start.ParentRunID()
	if rt.IO.Concealed {
		p = p.WithoutContents()
	}
	return p
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

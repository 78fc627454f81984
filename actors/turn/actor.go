// Package turn is the shell of kernel/turn: the actor of one execution. It starts each run as a child, watches it, and
// reports the results to its session.
package turn

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/commit"
	kernelsession "github.com/covel/covel/kernel/session"
	kernel "github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
)

// Deps is what a turn actor needs from outside.
type Deps struct {
	// Run gives the actor of one run: runtime.Props with its own needs.
	Run func(runtime.Frozen, kernel.Run, *registry.Loaded) *actor.Props
	// Freeze fixes what the execution reads: world pack, plugin generation, active runtimes. It may block.
	Freeze func(context.Context, kernelsession.StartTurn) (runtime.Frozen, error)
	Trace  *trace.Writer // may be nil
	Log    *slog.Logger
}

// Cancel stops the execution; it still reports kernelsession.TurnEnded.
type Cancel struct{ Reason string }

// Props makes the actor of one execution.
func Props(d Deps, start kernelsession.StartTurn) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &turn{Deps: d, start: start, runs: map[string]child{}} },
		// A run that panics is not restarted: it has failed.
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })))
}

// Say hands a line of a player to the execution. The session hears kernelsession.InterjectionRefused when nobody will read
// it; what was merged stands in the results.
type Say struct{ kernel.Interjection }

type turn struct {
	Deps
	start     kernelsession.StartTurn
	frozen    runtime.Frozen
	state     kernel.State
	runs      map[string]child // by run id
	said      []Say            // before the execution was ready
	n         uint64           // transient events so far
	cancelled string
	ready     bool
	done      bool
	begun     time.Time
	ctx       context.Context // of the hooks of this execution
	cancel    context.CancelFunc
}

type child struct {
	pid *actor.PID
	run kernel.Run
}

type gone struct{ pid *actor.PID }

type frozen struct {
	value runtime.Frozen
	err   error
}

func (t *turn) Receive(c actor.Context) {
	defer func() {
		if p := recover(); p != nil {
			t.Log.Error("turn panicked", "execution", t.start.Execution.ID, "panic", p, "stack", string(debug.Stack()))
			panic(p)
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		t.begun = time.Now()
		t.ctx, t.cancel = context.WithCancel(context.Background())
		self, root := c.Self(), c.ActorSystem().Root
		safego.Go("freeze", func() {
			done := frozen{err: errors.New("freezing the execution panicked")}
			defer func() { root.Send(self, done) }()
			done.value, done.err = t.Freeze(context.Background(), t.start)
		})
	case *actor.Stopped:
		t.cancel()
	case frozen:
		t.begin(c, m)
	case Cancel:
		if t.cancelled == "" {
			t.cancelled = m.Reason
			t.cancel()
		}
		if t.ready {
			t.step(c, kernel.Cancel{})
		}
	case Say:
		if !t.ready {
			t.said = append(t.said, m)
			return
		}
		if t.done {
			c.Send(c.Parent(), kernelsession.InterjectionRefused{ExecutionID: t.start.Execution.ID, ID: m.ID})
			return
		}
		t.step(c, kernel.Interject{Interjection: m.Interjection})
	case runtime.Interjected:
		t.step(c, kernel.InterjectionTold{RunID: m.RunID, ID: m.ID, Merged: m.Merged})
	case kernelsession.Progress:
		t.progress(c, m)
	case runtime.Ended:
		delete(t.runs, m.Result.RunID)
		t.step(c, kernel.RunEnded{Result: m.Result})
	case *actor.Terminated: // overtakes what the child sent before it ended
		c.Send(c.Self(), gone{m.Who})
	case gone:
		t.stopped(c, m.pid)
	case answered:
		t.step(c, m.in)
	case concluded:
		t.report(c, m.ended)
	}
}

func (t *turn) begin(c actor.Context, m frozen) {
	t.ready = true
	if m.err != nil {
		ended := kernelsession.TurnEnded{Crash: m.err.Error()}
		if stale := (*kernelsession.StaleJob)(nil); errors.As(m.err, &stale) {
			ended.Stale = stale.Reason
		}
		t.report(c, ended)
		return
	}
	t.frozen = m.value
	resume, err := t.resumption()
	if err != nil {
		t.report(c, kernelsession.TurnEnded{Crash: err.Error()})
		return
	}
	t.state = kernel.New(kernel.Plan{
		Resume:      resume,
		ExecutionID: t.start.Execution.ID, Phase: t.start.Execution.Phase, LogicalTurn: int(t.start.Execution.LogicalTurn),
		Session: t.frozen.State.Session, Active: kernel.Awake(t.frozen.Active, t.frozen.State.Suspensions), Asks: asks(t.frozen.Hooks),
		Targets: t.start.Execution.Targets, Seeds: kernel.SeedsOf(t.frozen.State.Latest, t.start.Execution), SourceTurnID: t.start.Execution.SourceTurnID,
		Contracts: t.frozen.Contracts, Exports: t.frozen.State.Exports, Interactions: t.frozen.State.Interactions, PlayerMessage: t.frozen.PlayerMessage(),
		RunID: func(runtimeID string, n int) string { return kernel.RunID(t.start.Execution.ID, runtimeID, n) },
	})
	if t.cancelled != "" {
		t.step(c, kernel.Cancel{})
		return
	}
	for _, m := range t.said {
		t.step(c, kernel.Interject{Interjection: m.Interjection})
	}
	t.step(c, kernel.Begin{})
}

func (t *turn) step(c actor.Context, in kernel.Input) {
	if t.done || !t.ready {
		return
	}
	var effects []kernel.Effect
	t.state, effects = kernel.Step(t.state, in)
	for _, e := range effects {
		switch e := e.(type) {
		case kernel.StartRun:
			_, plugin, ok := t.frozen.Generation.Runtime(e.Run.Runtime.ID)
			if !ok {
				panic("turn: selected runtime " + e.Run.Runtime.ID + " is not in the frozen generation")
			}
			pid := c.Spawn(t.Run(t.frozen, e.Run, plugin))
			c.Watch(pid)
			t.runs[e.Run.RunID] = child{pid, e.Run}
		case kernel.SkipRun:
			kind, traced := kernelsession.RuntimeSkipped, trace.RuntimeSkipped
			if e.Result.Status == kernel.Failed {
				kind, traced = kernelsession.RuntimeFailed, trace.RuntimeFailed
			}
			t.progress(c, kernelsession.Progress{
				Kind: kind, RuntimeID: e.Result.RuntimeID, PluginID: e.Result.PluginID, RunID: e.Result.RunID,
				Stage: string(e.Result.Stage), Status: string(e.Result.Status), SkipReason: e.Result.SkipReason, Error: e.Result.ShownError(e.Result.Error),
			})
			t.Trace.Emit(t.scope(e.Result), traced, trace.RuntimeEnd{Stage: string(e.Result.Stage), Status: string(e.Result.Status), StopReason: e.Result.StopReason, SkipReason: e.Result.SkipReason, Error: e.Result.Error})
		case kernel.Report:
			t.progress(c, kernelsession.Progress{
				Kind: kernelsession.SchedulingHazard, RuntimeID: e.Diagnostic.RuntimeID, PluginID: manifest.PluginOf(e.Diagnostic.RuntimeID), Hazard: &e.Diagnostic,
			})
			hazard := trace.Hazard{Code: e.Diagnostic.Code, Topic: e.Diagnostic.Data["topic"], RuntimeID: e.Diagnostic.RuntimeID, Message: e.Diagnostic.Message}
			if with := e.Diagnostic.Data["with"]; with != "" {
				hazard.Runtimes = []string{with, e.Diagnostic.RuntimeID}
			}
			t.Trace.Emit(t.about(), trace.SchedulingHazard, hazard)
		case kernel.CancelRuns:
			for _, id := range e.RunIDs {
				if ch, ok := t.runs[id]; ok {
					c.Send(ch.pid, runtime.Cancel{Reason: t.cancelled})
				}
			}
		case kernel.TellRun:
			if ch, ok := t.runs[e.RunID]; ok {
				c.Send(ch.pid, runtime.Interject{ID: e.ID, Text: e.Text})
			}
		case kernel.RefuseInterjection:
			c.Send(c.Parent(), kernelsession.InterjectionRefused{ExecutionID: t.start.Execution.ID, ID: e.ID})
		case kernel.Finish:
			t.conclude(c, kernelsession.TurnEnded{Results: e.Results, Deferred: e.Deferred, Diagnostics: e.Diagnostics, Refused: e.Refused})
		case kernel.AskTurnStart:
			t.askTurnStart(c, e)
		case kernel.AskSchedule:
			t.askSchedule(c, e)
		}
	}
}

// stopped sees a run's actor end. If it did not report, it panicked: that run has failed and nothing else.
func (t *turn) stopped(c actor.Context, who *actor.PID) {
	for id, ch := range t.runs {
		if !ch.pid.Equal(who) {
			continue
		}
		delete(t.runs, id)
		res := kernel.Ended(ch.run, "internal", "the runtime stopped unexpectedly")
		t.progress(c, kernelsession.Progress{
			Kind: kernelsession.RuntimeFailed, RuntimeID: res.RuntimeID, PluginID: res.PluginID, RunID: id, Stage: string(res.Stage),
			Status: string(res.Status), Error: res.Error,
		})
		t.Trace.Emit(t.scope(res), trace.RuntimeFailed,
			trace.RuntimeEnd{Stage: string(res.Stage), Status: string(res.Status), StopReason: res.StopReason, Error: res.Error})
		t.step(c, kernel.RunEnded{Result: res})
		return
	}
}

func (t *turn) progress(c actor.Context, p kernelsession.Progress) {
	if t.done {
		return
	}
	t.n++
	p.ExecutionID, p.N = t.start.Execution.ID, t.n
	c.Send(c.Parent(), p)
}

func (t *turn) report(c actor.Context, ended kernelsession.TurnEnded) {
	t.done = true
	ended.Compaction = t.frozen.Shared.Compaction()
	ended.Spent, ended.Usage, ended.Policy = t.frozen.Account.Spent(), t.frozen.Shared.Usage(), t.frozen.Policy
	ended.ExecutionID, ended.Pack, ended.Topics = t.start.Execution.ID, t.frozen.Pack, t.frozen.Declared
	ended.Digests, ended.Health = t.frozen.Digests(), t.health()
	ended.DimensionProvider = commit.DimensionProvider(t.frozen.Active)
	t.afterCommit(c, ended)
	c.Send(c.Parent(), ended)
	c.Stop(c.Self())
}

package runtime

import (
	"context"
	"encoding/json"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/prompt/budget"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
)

// agent carries out the effects of the tool loop.
type agent struct {
	r          *runtime
	state      loop.State
	clock      *clock
	authorised []string
	call       uint64 // number of the model call or tool batch under way; answers of older ones are late
	callCancel context.CancelFunc
	emitted    []string // topics this loop emitted
	withheld   []string // tools that write, which a sub-agent does not have
	ledger     budget.Ledger
}

type timeUp struct{}

// Interject hands a line of the player to a run that may read it. The run answers its parent with Interjected, once: at the
// latest when it ends.
type Interject struct{ ID, Text string }

// Interjected tells the parent what became of a line: it stands in the run's conversation, or nobody reads it any more.
type Interjected struct {
	RunID  string
	ID     string
	Merged bool
}

func newAgent(r *runtime) *agent { return &agent{r: r} }

func (a *agent) begin(c actor.Context) {
	rt := a.r.run.start.Runtime
	self, root := c.Self(), c.ActorSystem().Root
	a.clock = startClock(loop.DeadlineOf(rt), func() { root.Send(self, timeUp{}) })

	offers, err := a.offers()
	if err != nil {
		a.fail(c, loop.StopInternal, err.Error())
		return
	}
	cfg := loop.NewConfig(rt, offers, a.r.run.frozen.Instructions)
	cfg.Take = a.r.run.frozen.State.Tree.Told()
	cfg.Hooks = a.hooks()
	cfg.NoSuspend = cfg.NoSuspend || len(a.r.run.start.Callers) > 0
	if b := a.r.run.start.Subagent; b != nil && b.MaxSteps > 0 {
		cfg.MaxSteps = min(cfg.MaxSteps, b.MaxSteps)
	}
	a.authorised = cfg.Authorised()
	if from := a.r.run.start.Resumed; from != nil {
		a.resume(c, cfg, from.Loop, from.Answer)
		return
	}
	a.assemble(c, cfg)
}

// resume goes on where the loop stopped: the context is the conversation that was saved, and is not built again.
func (a *agent) resume(c actor.Context, cfg loop.Config, saved []byte, answer json.RawMessage) {
	state, err := loop.Decode(saved)
	if err != nil {
		a.fail(c, loop.StopInternal, "the suspended run cannot be continued: "+err.Error())
		return
	}
	state.Config.Hooks = cfg.Hooks // of the plugins that are active now
	a.state = state
	a.step(c, loop.Resume{Answer: answer, Offers: true, Tools: cfg.Tools, Deferred: cfg.Deferred, Left: a.clock.left()})
}

func (a *agent) fail(c actor.Context, stop loop.StopReason, why string) {
	a.clock.stop()
	a.r.end(c, turn.Result{Status: turn.Failed, StopReason: string(stop), Error: why})
}

func (a *agent) receive(c actor.Context, msg any) {
	switch m := msg.(type) {
	case contextBuilt:
		a.built(c, m)
	case modelQueued:
		if m.call == a.call {
			a.clock.run(!m.waiting)
		}
	case modelDelta:
		if m.call == a.call {
			a.clock.run(false) // a model that writes is not charged for it
			if m.text != "" {
				a.step(c, loop.ModelDelta{Text: m.text})
			}
		}
	case modelReplied:
		if m.call != a.call {
			return
		}
		a.clock.run(true)
		if m.err != nil {
			a.step(c, loop.ModelFailed{Err: asModelError(m.err), Left: a.clock.left()})
			return
		}
		a.step(c, loop.ModelReplied{Reply: m.reply, Left: a.clock.left()})
	case toolsFinished:
		if m.call == a.call {
			a.step(c, loop.ToolsFinished{Outcomes: m.outcomes, Exceeded: m.exceeded, Left: a.clock.left()})
		}
	case hooksAnswered:
		if m.call == a.call {
			a.step(c, m.in(a.clock.left()))
		}
	case Interject:
		a.step(c, loop.Interject(m))
	case timeUp:
		a.step(c, loop.TimeUp{})
	}
}

func (a *agent) stop(c actor.Context, reason string) {
	stop := loop.StopAbortedByPlayer
	if reason != kernelsession.AbortPlayer {
		stop = loop.StopCancelledParent
	}
	a.step(c, loop.Cancel{Reason: stop, Detail: reason})
}

func (a *agent) step(c actor.Context, in loop.Input) {
	if a.r.ended {
		return
	}
	var effects []loop.Effect
	a.state, effects = loop.Step(a.state, in)
	for _, e := range effects {
		switch e := e.(type) {
		case loop.PreStep:
			a.preStep(c, e)
		case loop.PreCall:
			a.preCall(c, e)
		case loop.Review:
			a.review(c, e)
		case loop.StepStarted:
			a.r.stepBegins()
			a.r.emit(trace.StepStarted, trace.Step{Step: e.Step})
		case loop.StepCompleted:
			a.r.emit(trace.StepCompleted, trace.StepEnd{Step: e.Step, ToolCalls: e.ToolCalls, Failed: e.Failed, Usage: a.r.stepTotal()})
		case loop.CallModel:
			a.callModel(c, e)
		case loop.RunTools:
			a.runTools(c, e)
		case loop.EmitDelta:
			a.r.progress(c, kernelsession.Progress{Kind: kernelsession.NarrativeDelta, Delta: e.Text})
		case loop.EmitReset:
			a.r.progress(c, kernelsession.Progress{Kind: kernelsession.NarrativeDelta, Reset: true})
		case loop.InterjectionMerged:
			c.Send(c.Parent(), Interjected{RunID: a.r.run.start.RunID, ID: e.ID, Merged: true})
		case loop.InterjectionRefused:
			c.Send(c.Parent(), Interjected{RunID: a.r.run.start.RunID, ID: e.ID})
		case loop.Finish:
			a.finish(c, e.Outcome)
		}
	}
	if said := a.r.said; len(said) > 0 && a.begun() {
		a.r.said = nil
		for _, m := range said {
			a.step(c, loop.Interject(m))
		}
	}
}

// begun says whether the loop has its conversation: before, a line of the player has no place to go.
func (a *agent) begun() bool { return a.state.Phase != "" && a.state.Phase != loop.Preparing }

func (a *agent) begins() (uint64, context.Context) {
	a.release()
	a.call++
	ctx, cancel := context.WithCancel(a.r.ctx)
	a.callCancel = cancel
	return a.call, ctx
}

func (a *agent) release() {
	if a.callCancel != nil {
		a.callCancel()
	}
}

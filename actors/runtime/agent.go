package runtime

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// agent carries out the effects of the tool loop.
type agent struct {
	r          *runtime
	state      loop.State
	deadline   time.Time
	timer      *time.Timer
	authorised []string
	parallel   map[string]bool
	call       uint64 // number of the model call or tool batch under way; answers of older ones are late
	callCancel context.CancelFunc
	emitted    []string // topics this loop emitted
}

type modelDelta struct {
	call uint64
	text string
}

type modelReplied struct {
	call  uint64
	reply model.Reply
	err   error
}

type toolsFinished struct {
	call     uint64
	outcomes []loop.ToolOutcome
}

type timeUp struct{}

func newAgent(r *runtime) *agent { return &agent{r: r, parallel: map[string]bool{}} }

func (a *agent) begin(c actor.Context) {
	rt := a.r.run.start.Runtime
	timeout := DefaultAgentTimeout
	if rt.Agent.TimeoutMs > 0 {
		timeout = time.Duration(rt.Agent.TimeoutMs) * time.Millisecond
	}
	self, root := c.Self(), c.ActorSystem().Root
	a.deadline = time.Now().Add(timeout)
	a.timer = time.AfterFunc(timeout, func() { root.Send(self, timeUp{}) })

	offers, err := a.offers()
	if err != nil {
		a.r.end(c, turn.Result{Status: turn.Failed, StopReason: "internal", Error: err.Error()})
		return
	}
	in := a.r.run.prompt()
	cfg := loop.NewConfig(rt, offers, in.InstructionLocale)
	a.step(c, loop.Begin{Config: cfg, Messages: prompt.Build(in), Left: a.left()})
}

// offers gives the tools of the runtime. A declared tool that its plugin did not register fails the run before the model
// is called; a builtin this host lacks is left out with a warning (seed: tools.txt, "is not installed on this host").
func (a *agent) offers() ([]loop.ToolOffer, error) {
	rt, plugin := a.r.run.start.Runtime, a.r.run.plugin
	var out []loop.ToolOffer
	add := func(t sdk.Tool) {
		o := tools.Offer(t, tools.Session{Topics: a.r.run.frozen.Topics})
		safe := t.Annotations.ReadOnly && t.Annotations.ConcurrencySafe
		a.parallel[t.Name] = safe
		a.authorised = append(a.authorised, t.Name)
		out = append(out, loop.ToolOffer{Tool: model.Tool{Name: o.Name, Description: o.Description, Parameters: o.Parameters}, Parallel: safe})
	}
	for _, name := range rt.Agent.BuiltinTools {
		t, ok := tools.Builtin(name)
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
		add(t)
	}
	return out, nil
}

func (a *agent) left() time.Duration { return max(time.Until(a.deadline), time.Millisecond) }

func (a *agent) receive(c actor.Context, msg any) {
	switch m := msg.(type) {
	case modelDelta:
		if m.call == a.call {
			a.step(c, loop.ModelDelta{Text: m.text})
		}
	case modelReplied:
		if m.call != a.call {
			return
		}
		if m.err != nil {
			a.step(c, loop.ModelFailed{Err: asModelError(m.err), Left: a.left()})
			return
		}
		a.step(c, loop.ModelReplied{Reply: m.reply, Left: a.left()})
	case toolsFinished:
		if m.call == a.call {
			a.step(c, loop.ToolsFinished{Outcomes: m.outcomes, Left: a.left()})
		}
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
	inputs := []loop.Input{in}
	for len(inputs) > 0 && !a.r.ended {
		var effects []loop.Effect
		a.state, effects = loop.Step(a.state, inputs[0])
		inputs = inputs[1:]
		for _, e := range effects {
			switch e := e.(type) {
			case loop.PreStep: // no hooks yet: nothing is changed
				inputs = append(inputs, loop.PreStepDone{Left: a.left()})
			case loop.CallModel:
				a.callModel(c, e)
			case loop.RunTools:
				a.runTools(c, e)
			case loop.EmitDelta:
				a.r.progress(c, kernelsession.Progress{Kind: kernelsession.NarrativeDelta, Delta: e.Text})
			case loop.EmitReset:
				a.r.progress(c, kernelsession.Progress{Kind: kernelsession.NarrativeDelta, Reset: true})
			case loop.Finish:
				a.finish(c, e.Outcome)
			}
		}
	}
}

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

// callModel asks the model outside of Receive. Cancelling closes its connection.
func (a *agent) callModel(c actor.Context, e loop.CallModel) {
	call, ctx := a.begins()
	self, root := c.Self(), c.ActorSystem().Root
	safego.Go("model", func() {
		done := modelReplied{call: call, err: errors.New("the model adapter panicked")}
		defer func() { root.Send(self, done) }()
		if d := wait(e.After, e.Attempt); d > 0 {
			pause := time.NewTimer(d)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-ctx.Done():
				done.err = ctx.Err()
				return
			}
		}
		done.reply, done.err = a.r.Model.Generate(ctx, e.Request, func(d model.Delta) {
			if d.Text != "" {
				root.Send(self, modelDelta{call, d.Text})
			}
		})
	})
}

// runTools runs the batches one after another, the calls of a batch at the same time; what they stage is taken over in
// model order, whichever ends first.
func (a *agent) runTools(c actor.Context, e loop.RunTools) {
	call, ctx := a.begins()
	self, root, parent := c.Self(), c.ActorSystem().Root, c.Parent()
	rt := a.r.run.start.Runtime
	told := func(kind kernelsession.ProgressKind, tc model.ToolCall, failure string) {
		p := kernelsession.Progress{Kind: kind, ToolName: tc.Name, ToolCallID: tc.ID, Error: failure}
		p.RuntimeID, p.PluginID, p.RunID, p.Label, p.Stage = rt.ID, rt.PluginID, a.r.run.start.RunID, a.r.label, string(rt.Schedule.Stage)
		if !rt.IO.Concealed {
			root.Send(parent, p)
		}
	}
	safego.Go("tools", func() {
		done := toolsFinished{call: call}
		defer func() { root.Send(self, done) }()
		for _, b := range e.Batches {
			results := make([]tools.CallResult, len(b.Calls))
			jobs := make([]tools.Call, len(b.Calls))
			for i, tc := range b.Calls {
				told(kernelsession.ToolCalling, tc, "")
				jobs[i] = a.r.run.call(tc.Name, tc.Arguments, a.authorised)
				jobs[i].Emitted = a.emitted
			}
			a.runBatch(ctx, b.Calls, jobs, results)
			for i, res := range results {
				done.outcomes = append(done.outcomes, a.outcome(b.Calls[i], res))
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
		results[0] = a.r.Tools.Run(ctx, jobs[0])
		return
	}
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Add(1)
		safego.Go("tool", func() {
			defer wg.Done()
			results[i] = tools.Skipped(calls[i].Name, calls[i].Arguments, "the call failed unexpectedly")
			results[i] = a.r.Tools.Run(ctx, job)
		})
	}
	wg.Wait()
}

func (a *agent) outcome(tc model.ToolCall, res tools.CallResult) loop.ToolOutcome {
	out := loop.ToolOutcome{CallID: tc.ID, Name: res.Name, Arguments: res.Arguments, Result: res.Envelope, Refused: res.Refused}
	if res.Cause != nil {
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
	out.OK, out.Content = true, res.Content
	return out
}

func (a *agent) finish(c actor.Context, o loop.Outcome) {
	a.release()
	a.call++
	a.timer.Stop()
	rt := a.r.run.start.Runtime
	res := turn.Result{
		StopReason: string(o.Stop), Finalizer: o.Finalizer, Error: o.Error, Draft: o.PartialText, Truncated: o.Truncated,
		Usage: turn.Usage{
			InputTokens: o.Usage.InputTokens, OutputTokens: o.Usage.OutputTokens, CachedInputTokens: o.Usage.CachedInputTokens,
			ModelCalls: o.Usage.ModelCalls, ToolCalls: o.Usage.ToolCalls,
		},
	}
	if o.Status != loop.Success {
		res.Status = turn.Failed
		a.r.end(c, res)
		return
	}
	res.Status = turn.Succeeded
	if rt.IO.Visibility == manifest.VisibilityStory {
		for _, s := range o.Segments {
			res.Segments = append(res.Segments, sdk.StorySegment(s))
		}
		// The story stands before what its tools staged, as the reader sees it.
		if p, err := sdk.Propose(sdk.NarrativeAppend{Segments: res.Segments, Kind: "story", Truncated: o.Truncated}); err == nil {
			a.r.run.proposals = append([]sdk.Proposal{p}, a.r.run.proposals...)
		}
		res.Output, _ = json.Marshal(map[string]any{"narrativeOutput": o.Text, "segments": res.Segments})
		a.r.end(c, res)
		return
	}
	res.Output = o.Output
	var signal struct {
		PreGameDone bool `json:"preGameDone"`
	}
	if json.Unmarshal(o.Output, &signal) == nil {
		res.Done = signal.PreGameDone
	}
	if o.Text != "" && len(rt.IO.OutputSchema) == 0 && rt.IO.Visibility != manifest.VisibilitySystem {
		if err := a.r.run.propose(sdk.MessageAppend{Content: o.Text}); err != nil {
			res.Status, res.Error = turn.Failed, err.Error()
		}
	}
	a.r.end(c, res)
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

func asModelError(err error) *model.Error {
	var me *model.Error
	if errors.As(err, &me) {
		return me
	}
	kind := model.Transient
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = model.Cancelled
	}
	return &model.Error{Kind: kind, Message: err.Error(), Err: err}
}

func storyText(segments []sdk.StorySegment) string {
	out := make([]loop.Segment, len(segments))
	for i, s := range segments {
		out[i] = loop.Segment(s)
	}
	return loop.DeriveNarrative(out)
}

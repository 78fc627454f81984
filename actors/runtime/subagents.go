package runtime

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/tidwall/gjson"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/prompt"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// subagents are the sub-agents that a run has started (seed: turn-pipeline.txt §4.4). Code outside of Receive asks by
// message and waits; the actor starts the children and ends them with itself.
type subagents struct {
	running map[string]startSubagent // by run id
	started int
	waits   *turn.Result // the run has ended with this and waits for its sub-agents to end

	ended []turn.SubagentRun // in the order in which they ended
}

// startSubagent asks the actor for a sub-agent; answer gets its result, once.
type startSubagent struct {
	who    manifest.Runtime
	plugin *registry.Loaded
	brief  turn.Brief
	above  []turn.Result // called runs whose writes the caller sees
	answer chan subagentAnswer
	run    turn.Run   // set when it is started
	pid    *actor.PID // as run
}

// subagentAnswer is a result, or why there was no start.
type subagentAnswer struct {
	result  turn.Result
	refused *sdk.ToolError
}

// cancelSubagent: who asked with this call does not wait any more.
type cancelSubagent struct{ callID string }

// prepare finds who is asked and what it reads. It is called outside of Receive, by one goroutine at a time.
func (r *runtime) prepare(ask sdk.AgentRequest, callID string) (startSubagent, *sdk.ToolError) {
	m := startSubagent{answer: make(chan subagentAnswer, 1)}
	failure := turn.CheckRequest(ask)
	if failure == nil {
		m.who, failure = turn.FindSubagent(r.run.frozen.Active, r.run.frozen.Policy, r.run.start.Runtime.PluginID, ask.Target)
	}
	if failure == nil {
		m.brief, failure = turn.BriefOf(ask, m.who, r.run.world.Characters)
	}
	if failure != nil {
		return m, failure
	}
	if m.brief.CharacterID != "" {
		r.run.reads.Note(r.run.shown[sdk.PartCharacters]...)
	}
	var ok bool
	if _, m.plugin, ok = r.run.frozen.Generation.Runtime(m.who.ID); !ok {
		return m, sdk.Fail(sdk.Unavailable, "The sub-agent is not installed any more.")
	}
	m.above = r.run.nested
	m.brief.ParentRunID, m.brief.ParentCallID = r.run.start.RunID, callID
	return m, nil
}

// await starts a sub-agent and gives its answer. It blocks, at most until ctx or the run ends. accept does something to the run
// while nothing else does.
func (r *runtime) await(ctx context.Context, m startSubagent, accept func(func() error) error) (turn.Result, tools.Delegated, error) {
	r.self.send(m)
	var got subagentAnswer
	select {
	case got = <-m.answer:
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
	var none tools.Delegated
	switch {
	case ctx.Err() != nil || r.ctx.Err() != nil: // what it did in the meantime is taken back
		r.self.send(cancelSubagent{m.brief.ParentCallID})
		return turn.Result{}, none, sdk.Fail(sdk.Cancelled, "The call of the sub-agent was cancelled.")
	case got.refused != nil:
		return turn.Result{}, none, got.refused
	}
	res := got.result
	if failure := turn.SubagentFailure(res, m.who.IO.Concealed); failure != nil {
		return res, none, failure
	}
	if err := accept(func() error {
		r.run.reads.Note(res.Reads...)
		r.run.operations = append(r.run.operations, res.Operations...)
		return nil
	}); err != nil {
		return res, none, sdk.Fail(sdk.Cancelled, "The run has ended.")
	}
	done := tools.Delegated{Output: res.Output, Kept: turn.Handed(m.who, res.Output)}
	for _, op := range res.Operations {
		for _, p := range op.Proposals {
			done.Staged = append(done.Staged, p.Type)
		}
	}
	return res, done, nil
}

// delegator answers a call of delegate; nil for a sub-agent, which cannot go one level deeper.
func (r *runtime) delegator(callID string) func(context.Context, sdk.AgentRequest) (tools.Delegated, error) {
	if r.run.start.Subagent != nil {
		return nil
	}
	return func(ctx context.Context, ask sdk.AgentRequest) (tools.Delegated, error) {
		m, failure := r.prepare(ask, callID)
		if failure != nil {
			return tools.Delegated{}, failure
		}
		// A call of delegate runs alone, so that nothing else does anything to the run.
		_, done, err := r.await(ctx, m, func(do func() error) error { return do() })
		return done, err
	}
}

// agentCaller is ctx.agents of a function runtime.
type agentCaller struct {
	code  *code
	calls int
}

// Run implements sdk.Agents.
func (a *agentCaller) Run(ctx context.Context, ask sdk.AgentRequest) (sdk.AgentAnswer, error) {
	r := a.code.r
	var m startSubagent
	var failure *sdk.ToolError
	err := a.code.do(func() error {
		a.calls++
		m, failure = r.prepare(ask, fmt.Sprintf("%s-agents-%d", r.run.start.RunID, a.calls))
		return nil
	})
	if err != nil {
		return sdk.AgentAnswer{}, sdk.Fail(sdk.Cancelled, "%s", err)
	}
	if failure != nil {
		return sdk.AgentAnswer{}, failure
	}
	res, _, err := r.await(ctx, m, a.code.do)
	if err != nil {
		return sdk.AgentAnswer{}, err
	}
	return sdk.AgentAnswer{Output: slices.Clone(res.Output), StopReason: res.StopReason, Usage: sdk.AgentUsage{
		InputTokens: res.Usage.InputTokens, OutputTokens: res.Usage.OutputTokens, ModelCalls: res.Usage.ModelCalls, ToolCalls: res.Usage.ToolCalls,
	}}, nil
}

func (s *subagents) receive(c actor.Context, r *runtime, msg any) {
	switch m := msg.(type) {
	case startSubagent:
		r.startSubagent(c, m)
	case cancelSubagent:
		r.cancelSubagent(c, m)
	case Ended:
		r.subagentEnded(c, m.Result)
	case gone:
		r.subagentGone(c, m)
	}
}

// startSubagent starts a child: the caller's frozen view and what it saw of upstream, a run of its own.
func (r *runtime) startSubagent(c actor.Context, m startSubagent) {
	if r.ended {
		m.answer <- subagentAnswer{refused: sdk.Fail(sdk.Cancelled, "The run has ended.")}
		return
	}
	if err := r.run.frozen.Account.admit(allowance.Subagent); err != nil {
		m.answer <- subagentAnswer{refused: sdk.Fail(sdk.Unavailable, "The sub-agent cannot start: %s.", err)}
		return
	}
	r.subagents.started++
	m.run = turn.Run{
		RunID:   turn.RunID(r.run.start.RunID, m.who.ID, r.subagents.started),
		Runtime: m.who, Upstream: slices.Concat(r.run.start.Upstream, m.above), Subagent: &m.brief,
	}
	m.pid = c.Spawn(Props(r.Deps, r.run.frozen, m.run, m.plugin))
	c.Watch(m.pid)
	if r.subagents.running == nil {
		r.subagents.running = map[string]startSubagent{}
	}
	r.subagents.running[m.run.RunID] = m
}

func (r *runtime) cancelSubagent(c actor.Context, m cancelSubagent) {
	for _, s := range r.subagents.running {
		if s.brief.ParentCallID == m.callID {
			c.Send(s.pid, Cancel{Reason: "the caller does not wait any more"})
		}
	}
}

// subagentEnded takes the result of a child, once.
func (r *runtime) subagentEnded(c actor.Context, res turn.Result) {
	m, ok := r.subagents.running[res.RunID]
	if !ok {
		return
	}
	delete(r.subagents.running, res.RunID)
	r.run.frozen.Account.subagentEnded()
	r.subagents.ended = append(r.subagents.ended, turn.SubagentRunOf(res, m.brief))
	m.answer <- subagentAnswer{result: res}
	if res := r.subagents.waits; res != nil && len(r.subagents.running) == 0 {
		r.subagents.waits = nil
		r.postRuntime(c, *res)
	}
}

// subagentGone sees a child end without a result: it panicked, and nothing but it has failed.
func (r *runtime) subagentGone(c actor.Context, m gone) {
	for _, s := range r.subagents.running {
		if s.pid.Equal(m.pid) {
			r.subagentEnded(c, turn.Ended(s.run, string(loop.StopInternal), "the sub-agent stopped unexpectedly"))
		}
	}
}

// drain ends the sub-agents of a run that has ended, and goes on when the last has (seed: turn-pipeline.txt, "Cancellation").
func (r *runtime) drain(c actor.Context, res turn.Result) {
	if len(r.subagents.running) == 0 {
		r.postRuntime(c, res)
		return
	}
	r.subagents.waits = &res
	reason := "the caller has ended"
	if res.StopReason == string(loop.StopAbortedByPlayer) {
		reason = kernelsession.AbortPlayer
	}
	for _, s := range r.subagents.running {
		c.Send(s.pid, Cancel{Reason: reason})
	}
}

// lost gives the places of sub-agents back that end with the actor itself.
func (s *subagents) lost(a *Account) {
	for range s.running {
		a.subagentEnded()
	}
}

// asksPrivately: what is asked of and answered by this call's sub-agent stays out of the trace.
func (r *runtime) asksPrivately(call tools.Call) bool {
	if call.Name != tools.Delegate {
		return false
	}
	target := gjson.Get(call.Arguments, "target")
	who, failure := turn.FindSubagent(r.run.frozen.Active, r.run.frozen.Policy, r.run.start.Runtime.PluginID, sdk.AgentTarget{
		Contract: target.Get("contract").String(), RuntimeID: target.Get("runtimeId").String(),
	})
	return failure == nil && turn.IsPrivate(who)
}

// withholds: a sub-agent keeps only tools that read; it can neither wait for the player nor start others.
func (a *agent) withholds(t sdk.Tool) bool {
	if a.r.run.start.Subagent == nil || t.Annotations.ReadOnly || t.Name == tools.RuntimeDone {
		return false
	}
	a.withheld = append(a.withheld, t.Name)
	return true
}

// noteWithheld remembers that a sub-agent tried to write.
func (a *agent) noteWithheld(name string) {
	if slices.Contains(a.withheld, name) && !slices.Contains(a.r.run.attempted, name) {
		a.r.run.attempted = append(a.r.run.attempted, name)
	}
}

// withoutWrites is the result of a sub-agent: it has no commit unit, so what it staged itself is dropped, and told. What it
// staged through write services goes to its caller, if it succeeded.
func (r *runtime) withoutWrites(res turn.Result) turn.Result {
	var dropped trace.WritesDropped
	for _, p := range res.Proposals {
		dropped.Types = append(dropped.Types, p.Type)
	}
	dropped.Tools = r.run.attempted
	if len(dropped.Types)+len(dropped.Tools) > 0 {
		r.emit(trace.SubagentWritesDropped, dropped)
	}
	res.Proposals, res.Events, res.Done, res.RecordAs = nil, nil, false, ""
	if res.Status != turn.Succeeded {
		res.Operations = nil
	}
	for i := range res.Operations {
		if res.Operations[i].InvokedBy == (turn.InvokedBy{}) {
			res.Operations[i].InvokedBy = turn.InvokedBy{RuntimeID: res.RuntimeID, PluginID: res.PluginID, RunID: res.RunID}
		}
	}
	return res
}

func (r *runtime) emitSubagentEnd(res turn.Result) {
	r.emit(trace.SubagentCompleted, trace.SubagentEnd{
		Status: string(res.Status), StopReason: res.StopReason, Error: res.Error, Output: res.Output, DurationMs: time.Since(r.begun).Milliseconds(),
		Usage: r.total(),
	})
}

// briefed gives the sub-agent its brief in place of the player's line, and no history of the session: a character actor
// reads the stories it has witnessed (seed: turn-pipeline.txt §4.4, "no session history").
func (r *runtime) briefed(in prompt.In, b turn.Brief) prompt.In {
	in.PlayerMessage, in.History, in.Summaries, in.Story = b.Text, nil, nil, ""
	if len(b.Payload) > 0 {
		in.Activation = &prompt.Activation{Source: "subagent", Payload: b.Payload}
	}
	if b.CharacterID == "" {
		return in
	}
	for _, m := range conversationOf(r.run.frozen).witnessed(b.CharacterID, maxWitnessed) {
		in.History = append(in.History, prompt.HistoryRow{Role: m.Role, Text: m.Shown()})
	}
	return in
}

package simulation

import (
	"fmt"
	"slices"

	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// child is a turn or a job at work: the pure machine of the turn, and runs that end when the script says so.
type child struct {
	s         *shell
	exec      projections.Execution
	view      projections.State
	job       *projections.Job
	digest    string
	state     turn.State
	begun     bool
	cancelled bool
	runs      []turn.Run
	paused    []string                       // plugins that do not run
	asked     turn.Effect                    // the hooks whose answer is awaited
	said      []turn.Interjection            // before it began
	told      []toldLine                     // lines that a run was told and has not answered for
	merged    map[string][]turn.Interjection // by run: lines that stand in its conversation
}

type toldLine struct {
	runID string
	turn.Interjection
}

func (s *shell) newChild(exec projections.Execution, view projections.State, paused []string, j *projections.Job) *child {
	if !slices.Equal(paused, s.paused) {
		s.w.book.Blame("%s starts %s with %v paused, everybody was told %v", s.name, exec.ID, paused, s.paused)
	}
	return &child{s: s, exec: exec, view: view, job: j, digest: s.w.digest, paused: paused, merged: map[string][]turn.Interjection{}}
}

// begin freezes the execution, as the node does for the turn actor.
func (c *child) begin() string {
	c.begun = true
	var resume *turn.Run
	view := c.view
	switch {
	case c.job != nil:
		rt, _ := runtimeOf(c.job.RuntimeID)
		if c.digest != c.job.PluginDigest {
			return c.report(session.TurnEnded{Crash: "stale", Stale: job.ReasonPluginChanged})
		}
		frozen, err := job.Thaw(c.job.Input)
		if err != nil {
			return c.report(session.TurnEnded{Crash: err.Error(), Stale: job.ReasonInput})
		}
		run := frozen.Run(rt)
		resume = &run
	case c.exec.SuspensionID != "":
		x, ok := view.Suspensions.Find(c.exec.SuspensionID)
		if !ok {
			return c.report(session.TurnEnded{Crash: "it does not wait any more"})
		}
		rt, _ := runtimeOf(x.RuntimeID)
		run, err := turn.Resumption(x, rt)
		if err != nil {
			return c.report(session.TurnEnded{Crash: err.Error()})
		}
		resume = &run
	}
	message := ""
	if in := view.Session.Input; in != nil && in.ExecutionID == c.exec.ID {
		message = in.Rendered
	}
	active := slices.DeleteFunc(slices.Clone(turn.Awake(cast, view.Suspensions)), func(r manifest.Runtime) bool { return slices.Contains(c.paused, r.PluginID) })
	c.state = turn.New(turn.Plan{
		Asks:   turn.Asks{TurnStart: c.s.w.hooks, PreSchedule: c.s.w.hooks},
		Resume: resume, ExecutionID: c.exec.ID, Phase: c.exec.Phase, LogicalTurn: int(c.exec.LogicalTurn), Session: view.Session,
		Active: active, Targets: c.exec.Targets, Seeds: turn.SeedsOf(view.Latest, c.exec), SourceTurnID: c.exec.SourceTurnID,
		Exports: view.Exports, Interactions: view.Interactions, PlayerMessage: message,
		RunID: func(runtimeID string, n int) string { return turn.RunID(c.exec.ID, runtimeID, n) },
	})
	for _, line := range c.said {
		c.step(turn.Interject{Interjection: line})
	}
	if c.cancelled {
		return c.step(turn.Cancel{})
	}
	return c.step(turn.Begin{})
}

func (c *child) step(in turn.Input) (remark string) {
	var effects []turn.Effect
	c.state, effects = turn.Step(c.state, in)
	for _, e := range effects {
		switch e := e.(type) {
		case turn.StartRun:
			c.runs = append(c.runs, e.Run)
			remark += " " + e.Run.Runtime.ID
			if slices.Contains(c.paused, e.Run.Runtime.PluginID) && c.job == nil && c.exec.SuspensionID == "" {
				c.s.w.book.Blame("%s of a paused plugin runs", e.Run.Runtime.ID)
			}
		case turn.AskTurnStart, turn.AskSchedule:
			c.asked = e
		case turn.TellRun:
			c.told = append(c.told, toldLine{e.RunID, e.Interjection})
		case turn.RefuseInterjection:
			c.s.ops = append(c.s.ops, op{input: session.InterjectionRefused{ExecutionID: c.exec.ID, ID: e.ID}})
		case turn.Finish:
			return remark + c.report(session.TurnEnded{Results: e.Results, Deferred: e.Deferred, Diagnostics: e.Diagnostics, Refused: e.Refused})
		}
	}
	if remark != "" {
		remark = "; starts" + remark
	}
	return remark
}

func (c *child) cancel() {
	c.cancelled = true
	if c.begun {
		c.step(turn.Cancel{})
	}
}

// advance moves the child on: it begins, or one of its runs ends.
func (c *child) advance(pick, how uint32) string {
	if !c.begun {
		return "begins" + c.begin()
	}
	if c.asked != nil {
		return c.answerHooks(pick, how)
	}
	if len(c.runs) == 0 {
		return ""
	}
	i := int(pick) % len(c.runs)
	run := c.runs[i]
	c.runs = slices.Delete(slices.Clone(c.runs), i, i+1)
	if how%50 == 49 {
		return run.Runtime.ID + " takes the execution with it" + c.report(session.TurnEnded{Crash: "it panicked"})
	}
	r, remark := perform(c.view, run, c.exec, newDice(pick, how))
	if c.s.w.hooks {
		remark += hooked(&r, run, how)
	}
	for k, line := range c.toldTo(run.RunID) { // it has read them, or says that it did not, or ends without a word
		if n := (int(how) + k) % 3; n < 2 {
			c.answerFor(line, n == 0)
		}
	}
	r.Interjections = c.merged[run.RunID]
	if c.cancelled {
		r = turn.Result{RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID, Stage: r.Stage, Story: r.Story, Status: turn.Failed, Error: "cancelled"}
		remark = "is cancelled"
	}
	return run.Runtime.ID + " " + remark + c.step(turn.RunEnded{Result: r})
}

// report sends the outcome on its way to the session.
func (c *child) report(ended session.TurnEnded) string {
	ended.ExecutionID, ended.Pack, ended.Topics = c.exec.ID, pack, topics
	ended.Digests = digests(c.digest)
	if c.s.w.sick != "" && !slices.Contains(c.paused, c.s.w.sick) {
		ended.Health = map[string]string{c.s.w.sick: "its hook threw", "dice": ""}
	}
	c.s.ops = append(c.s.ops, op{input: ended})
	if c.job != nil {
		delete(c.s.jobs, c.job.ID)
	} else {
		c.s.turns = slices.DeleteFunc(c.s.turns, func(x *child) bool { return x == c })
	}
	return "; " + c.exec.ID + " has ended"
}

// answerHooks ends what the execution waits for: hooks let it go on, leave something out, or refuse it.
func (c *child) answerHooks(pick, how uint32) string {
	asked := c.asked
	c.asked = nil
	if c.cancelled {
		return "the hooks are too late"
	}
	ask, ok := asked.(turn.AskSchedule)
	if !ok {
		abort := how%9 == 4
		return fmt.Sprintf("the hooks of its start refuse it: %v", abort) + c.step(turn.TurnStartAnswered{Abort: abort, Reason: "夜ではない"})
	}
	var keep []string
	for i, r := range ask.Triggered {
		if (uint32(i)*7+pick+how)%6 > 0 {
			keep = append(keep, r.Name)
		}
	}
	if how%2 == 0 {
		slices.Reverse(keep)
	}
	return fmt.Sprintf("the hooks keep %v", keep) + c.step(turn.ScheduleAnswered{Keep: keep})
}

// hooked is what hooks make of a run: it was refused before it began, or one of its proposals was, or was written anew.
func hooked(r *turn.Result, run turn.Run, how uint32) string {
	switch {
	case how%11 == 3 && run.Resumed == nil:
		*r = turn.Result{
			RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID, Stage: r.Stage, Story: r.Story, Contract: r.Contract,
			Status: turn.Skipped, SkipReason: turn.SkipHook, Needs: r.Needs, Reads: r.Reads,
		}
		return ", no: a hook refuses it"
	case how%5 == 1 && len(r.Proposals) > 0:
		r.Refused = map[int]string{int(how/5) % len(r.Proposals): "一度だけ"}
		return ", a hook refuses a proposal"
	case how%5 == 2 && len(r.Proposals) > 0 && r.Proposals[0].Type == "message.append":
		r.Proposals = slices.Clone(r.Proposals)
		r.Proposals[0].Payload = []byte(`{"content":"換えた言葉。"}`)
		return ", a hook writes it anew"
	}
	return ""
}

func (c *child) toldTo(runID string) (out []toldLine) {
	for _, line := range c.told {
		if line.runID == runID {
			out = append(out, line)
		}
	}
	return out
}

// answerFor is a run that has put a line into its conversation, or says that it reads no more.
func (c *child) answerFor(line toldLine, merged bool) {
	c.told = slices.DeleteFunc(slices.Clone(c.told), func(x toldLine) bool { return x == line })
	if merged {
		c.merged[line.runID] = append(c.merged[line.runID], line.Interjection)
	}
	c.step(turn.InterjectionTold{RunID: line.runID, ID: line.ID, Merged: merged})
}

func (c *child) hear(which, how uint32) string {
	line, ok := pick(c.told, which)
	if !ok {
		return ""
	}
	c.answerFor(line, how%4 > 0)
	return fmt.Sprintf("%s reads %s: %v", line.runID, line.ID, how%4 > 0)
}

// tell hands a line on. A turn that has ended says that nobody reads it, or what it sent before says so.
func (s *shell) tell(e session.TellTurn) {
	for _, c := range s.turns {
		switch {
		case c.exec.ID != e.ExecutionID:
		case !c.begun:
			c.said = append(c.said, e.Interjection)
			return
		default:
			c.step(turn.Interject{Interjection: e.Interjection})
			return
		}
	}
	if s.w.ids%2 == 0 {
		s.ops = append(s.ops, op{input: session.InterjectionRefused{ExecutionID: e.ExecutionID, ID: e.ID}})
	}
}

// failures notes which inputs plugins have failed, as this node hears of it.
func (s *shell) failures(in session.Input) {
	note := func(input, plugin string) {
		if s.w.faulty[s.at] == nil {
			s.w.faulty[s.at] = map[string]map[string]bool{}
		}
		if s.w.faulty[s.at][plugin] == nil {
			s.w.faulty[s.at][plugin] = map[string]bool{}
		}
		s.w.faulty[s.at][plugin][input] = true
	}
	switch in := in.(type) {
	case session.TurnEnded:
		for _, r := range in.Results {
			if r.Fault || len(r.Proposals) > 0 { // what it proposes may turn out to be malformed
				note(in.ExecutionID, r.PluginID)
			}
		}
		for plugin, why := range in.Health {
			if why != "" {
				note(in.ExecutionID, plugin)
			}
		}
	case session.HooksTold:
		for plugin := range in.Health {
			note(in.Input+" looked on", plugin)
		}
	}
}

func (s *shell) pluginPaused(e session.PluginPaused) {
	at := slices.Index(s.paused, e.PluginID)
	switch {
	case e.Paused == (at >= 0):
		s.w.book.Blame("%s says of %s, which is so already, that it is paused: %v", s.name, e.PluginID, e.Paused)
	case !e.Paused:
		s.paused = slices.Delete(slices.Clone(s.paused), at, at+1)
	default:
		if n := len(s.w.faulty[s.at][e.PluginID]); n < latch.Limit {
			s.w.book.Blame("%s pauses %s, which has failed %d inputs", s.name, e.PluginID, n)
		}
		s.paused = slices.Sorted(slices.Values(append(slices.Clone(s.paused), e.PluginID)))
	}
}

var versions = func() map[string]string {
	out := map[string]string{}
	for _, r := range cast {
		out[r.PluginID] = "1.0.0"
	}
	return out
}()

func digests(digest string) map[string]string {
	out := make(map[string]string, len(versions))
	for plugin := range versions {
		out[plugin] = digest
	}
	return out
}

func (w *world) digests() map[string]string { return digests(w.digest) }

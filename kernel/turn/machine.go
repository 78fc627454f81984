// Package turn decides what runs in one execution, in which order, and what each run gets to read: selection, stage
// bands, DAG levels, in-turn events. It is pure: Step takes a state and an input and gives the next state and effects;
// the turn actor only carries the effects out.
package turn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Plan is what an execution froze at its start.
type Plan struct {
	ExecutionID string
	Phase       string
	LogicalTurn int
	Session     projections.Session
	Active      []manifest.Runtime // runtimes of the session's active plugins, after provider resolution
	RunID       func(runtimeID string, n int) string

	// Targets are named to run, bypassing every gate; none: the stages decide (seed: turn-pipeline.txt §4.3, "manual").
	Targets []projections.Target
	// Resume is the one run of an execution that goes on with a suspension, nil otherwise.
	Resume *Run
	// Seeds are successful results of the source turn and of committed retries of it: upstream for the targets of a retry,
	// never committed again (seed: turn-pipeline.txt, "Recovering failed tasks").
	Seeds []Result
	// Asks names the hook events somebody listens to; without one the execution goes on at once.
	Asks Asks
	// SourceTurnID is the turn whose failed runs the targets are, "" for runs by name.
	SourceTurnID string

	Contracts     map[string]json.RawMessage // public schemas of the active plugins' contracts, by contract
	Exports       projections.Exports        // committed exports
	Interactions  projections.Interactions
	PlayerMessage string // the rendered input of the execution, "" when there is none
}

// State is where an execution stands.
type State struct {
	plan     Plan
	bands    [][]manifest.Runtime // one per stage, in order
	band     int
	levels   [][]manifest.Runtime // still to run in this band
	depth    int
	looked   int               // results whose events were matched already
	raised   map[string]raised // by topic: what the runs of this depth were set off by
	running  map[string]Run
	runs     int
	Results  []Result // finished runs, in commit order: level by level, by name inside a level
	level    []Result // finished runs of the level that is running
	stopping bool
	waits    string         // the hook event whose answer the execution waits for, "" for none
	rank     map[string]int // by runtime id: the order PreSchedule gave; nil: by name
	finished bool

	said []Interjection // lines of players that no run was told yet
	told []heard        // lines that a run was told and has not answered for
	deaf []string       // runs that read no more lines

	seeds       []Result // of the plan, marked
	Deferred    []Deferred
	Diagnostics []Diagnostic
}

// Run is one start of a runtime.
type Run struct {
	RunID   string
	Runtime manifest.Runtime
	Inputs  map[string]sdk.Input
	Exports map[string]sdk.Input // inputs with scope: committed
	Event   *sdk.EmittedEvent    // what set off an event run
	// Manual: the runtime was named to run, with this payload, which may be empty.
	Manual  bool
	Payload json.RawMessage
	// Upstream are the results this run may see: everything settled in earlier levels and stages.
	Upstream []Result
	Needs    [][]string // as Result.Needs
	Reads    []string   // as Result.Reads: whose staged operations its inputs hold
	Resumed  *Resumed   // goes on after the player's answer
	// Callers are the runs above one that was called by another, from the top; nil for a run of the stages.
	Callers  []CallerFrame
	Subagent *Brief // runs as a sub-agent, inside the run that asked
}

// Input is something that happened to an execution.
type Input interface{ turnInput() }

// Begin starts the execution.
type Begin struct{}

// RunEnded reports a finished run.
type RunEnded struct{ Result Result }

// Cancel stops everything: the player's stop, a drain, the end of the session. Results are dropped by the session.
type Cancel struct{}

func (Begin) turnInput()    {}
func (RunEnded) turnInput() {}
func (Cancel) turnInput()   {}

// Effect is something the turn actor carries out.
type Effect interface{ turnEffect() }

// StartRun starts a runtime as a child.
type StartRun struct{ Run Run }

// SkipRun tells watchers that a selected runtime does not run: it is skipped, or what activates it is refused. Its result is
// recorded already.
type SkipRun struct{ Result Result }

// CancelRuns cancels the runs that are still going.
type CancelRuns struct{ RunIDs []string }

// Finish ends the execution with all results and what its commit is to queue.
type Finish struct {
	Results     []Result // without the seeds
	Deferred    []Deferred
	Diagnostics []Diagnostic
	// Refused is the reason of a TurnStart hook that ended the execution before any runtime ran; "" otherwise.
	Refused string
}

func (StartRun) turnEffect()   {}
func (SkipRun) turnEffect()    {}
func (CancelRuns) turnEffect() {}
func (Finish) turnEffect()     {}

// New gives the state of an execution that has not begun.
func New(p Plan) State { return State{plan: p, running: map[string]Run{}} }

// Step moves the execution on.
func Step(s State, in Input) (State, []Effect) {
	s, effects := s.step(in)
	return s.pass(effects)
}

func (s State) step(in Input) (State, []Effect) {
	switch in := in.(type) {
	case Interject:
		s.said = append(slices.Clip(s.said), in.Interjection)
		return s, nil
	case InterjectionTold:
		return s.answerFor(in)
	case Begin:
		if s.bands != nil || s.finished || s.waits != "" {
			return s, nil // begun, or cancelled before
		}
		return s.begin()
	case TurnStartAnswered:
		return s.turnStartAnswered(in)
	case ScheduleAnswered:
		return s.scheduleAnswered(in)
	case RunEnded:
		if _, ok := s.running[in.Result.RunID]; !ok {
			return s, nil // late, or told twice
		}
		s.running = without(s.running, in.Result.RunID)
		s = s.left(in.Result.RunID)
		s.level = append(slices.Clone(s.level), in.Result)
		if len(s.running) > 0 {
			return s, nil
		}
		if s.stopping {
			return s.finish()
		}
		return s.next(nil)
	case Cancel:
		if s.finished || s.stopping {
			return s, nil
		}
		s.stopping = true
		if len(s.running) == 0 {
			return s.finish()
		}
		ids := make([]string, 0, len(s.running))
		for id := range s.running {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		return s, []Effect{CancelRuns{ids}}
	}
	panic(fmt.Sprintf("turn: unknown input %T", in))
}

func (s State) finish() (State, []Effect) {
	s = s.settleLevel()
	s.finished = true
	return s, []Effect{Finish{Results: s.Results, Deferred: s.Deferred, Diagnostics: s.Diagnostics}}
}

// settleLevel moves the finished level into the results, by name: the order of completion never shows.
func (s State) settleLevel() State {
	level := slices.SortedFunc(slices.Values(s.level), func(a, b Result) int { return cmp.Compare(a.RuntimeID, b.RuntimeID) })
	s.Results = append(s.Results[:len(s.Results):len(s.Results)], level...)
	s.level = nil
	return s
}

// next starts the next level that has something to run, or finishes.
func (s State) next(effects []Effect) (State, []Effect) {
	for {
		s = s.settleLevel()
		if len(s.levels) > 0 {
			if s, effects = s.startLevel(effects); len(s.running) > 0 {
				return s, effects
			}
			continue
		}
		var due []manifest.Runtime
		var hazards []Diagnostic
		s, due, hazards = s.follow()
		s, effects = s.report(effects, hazards...)
		if len(due) > 0 {
			s.depth++
		} else {
			s.band++
			s.depth, s.raised = 0, nil
			if s.band >= len(s.bands) {
				st, fin := s.finish()
				return st, append(effects, fin...)
			}
			due = s.bands[s.band]
		}
		s, effects = s.arrange(due, effects)
	}
}

// arrange sorts the runtimes of a stage or of a depth of events into levels; those in a cycle are skipped.
func (s State) arrange(runtimes []manifest.Runtime, effects []Effect) (State, []Effect) {
	levels, cyclic := Levels(runtimes, func(n manifest.Need) bool {
		ok, _ := s.plan.satisfied("", n, s.upstream())
		return ok
	})
	s.levels = levels
	for _, r := range cyclic {
		res := s.skipped(r, SkipCycle)
		s.Results = append(s.Results[:len(s.Results):len(s.Results)], res)
		effects = append(effects, SkipRun{res})
	}
	return s, effects
}

// startLevel starts what may run of the next level; what may not is a result of the level at once, what becomes a job is
// put aside.
func (s State) startLevel(effects []Effect) (State, []Effect) {
	level := s.levels[0]
	s.levels = s.levels[1:]
	s.running = map[string]Run{}
	var started []manifest.Runtime
	for _, r := range s.inRank(level) {
		var refused *Result
		var run Run
		var deferred string
		if s, effects, run, deferred, refused = s.ready(r, effects); refused != nil {
			s.level = append(s.level[:len(s.level):len(s.level)], *refused)
			effects = append(effects, SkipRun{*refused})
			continue
		}
		if deferred != "" {
			s.Deferred = append(s.Deferred[:len(s.Deferred):len(s.Deferred)], Deferred{run, deferred})
			continue
		}
		s.running[run.RunID] = run
		started = append(started, r)
		effects = append(effects, StartRun{run})
	}
	return s.report(effects, clashes(started)...)
}

// ready makes the run of a runtime that is due, or the result that stands for it when it may not run. deferred says how it
// leaves the execution, "" when it runs now.
func (s State) ready(r manifest.Runtime, effects []Effect) (_ State, _ []Effect, run Run, deferred string, refused *Result) {
	upstream := s.upstream()
	skip, needs := s.plan.gate(r, upstream)
	if skip == "" {
		if deferred = s.plan.defers(r); deferred == ActivationStage {
			if why := KeepsForeground(r, s.others()); why != "" {
				deferred = ""
				s, effects = s.report(effects, Diagnostic{Code: HazardForeground, RuntimeID: r.ID, Message: "it runs in the foreground: " + why, Data: map[string]string{"reason": why}})
			}
		}
		in := s.plan.bind(r, upstream, deferred == ActivationStage)
		s, effects = s.report(effects, in.rejected...)
		if in.missing {
			skip = SkipInput
		}
		run = Run{Runtime: r, Inputs: in.inputs, Exports: in.exports, Upstream: upstream, Needs: needs, Reads: in.reads}
	}
	if skip != "" {
		res := s.skipped(r, skip)
		return s, effects, run, "", &res
	}
	payload, activated := json.RawMessage(nil), false
	if cause, ok := s.cause(r); ok {
		run.Event, payload, activated = &cause.event, cause.event.Data, true
		if len(cause.emitters) > 0 {
			run.Needs = append(run.Needs, cause.emitters)
		}
	}
	if t, ok := s.plan.target(r.ID); ok && s.plan.manual() {
		run.Manual, run.Payload = true, json.RawMessage(t.Payload)
		payload, activated = run.Payload, true
	}
	if activated {
		if err := CheckPayload(r, s.plan.Contracts, payload); err != nil {
			res := s.skipped(r, "")
			res.Status, res.StopReason, res.Error = Failed, "invalid-context", err.Error()
			s, effects = s.report(effects, Diagnostic{Code: HazardPayload, RuntimeID: r.ID, Message: err.Error()})
			return s, effects, run, "", &res
		}
	}
	if deferred != "" {
		run.Upstream = freeze(r, upstream)
	}
	s.runs++
	run.RunID = s.plan.RunID(r.ID, s.runs)
	return s, effects, run, deferred, nil
}

// others are the runtimes that run in this execution, or that an event of it may still set off.
func (s State) others() []manifest.Runtime {
	out := slices.Concat(s.bands...)
	for _, r := range s.plan.Active {
		if r.Schedule.Trigger == manifest.TriggerEvent && !r.Schedule.SubagentOnly {
			out = append(out, r)
		}
	}
	return out
}

func (s State) skipped(r manifest.Runtime, reason string) Result {
	return Result{
		RuntimeID: r.ID, PluginID: r.PluginID, RunID: s.plan.RunID(r.ID, 0), Stage: r.Schedule.Stage,
		Story: r.IO.Visibility == manifest.VisibilityStory, Contract: r.IO.OutputContract, Status: Skipped, SkipReason: reason,
		Concealed: r.IO.Concealed,
	}
}

func without(m map[string]Run, id string) map[string]Run {
	out := make(map[string]Run, len(m))
	for k, v := range m {
		if k != id {
			out[k] = v
		}
	}
	return out
}

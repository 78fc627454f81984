// Package turn decides what runs in one execution, in which order, and what each run gets to read: selection, stage
// bands, DAG levels, in-turn events. It is pure: Step takes a state and an input and gives the next state and effects;
// the turn actor only carries the effects out.
package turn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// MaxEventDepth bounds the chain of events that runs of one stage may set off.
const MaxEventDepth = 8

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
}

// Run is one start of a runtime.
type Run struct {
	RunID   string
	Runtime manifest.Runtime
	Inputs  map[string]sdk.Input
	Event   *sdk.EmittedEvent // what set off an event run
	// Upstream are the results this run may see: everything settled in earlier levels and stages.
	Upstream []Result
	Needs    [][]string // as Result.Needs
	Resumed  *Resumed   // goes on after the player's answer
}

// raised is the emission of a topic that wins at its depth, and everyone who emitted it there.
type raised struct {
	event    sdk.EmittedEvent
	emitters []string
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

// SkipRun tells watchers that a selected runtime does not run; its result is recorded already.
type SkipRun struct{ Result Result }

// CancelRuns cancels the runs that are still going.
type CancelRuns struct{ RunIDs []string }

// Finish ends the execution with all results and what its commit is to queue.
type Finish struct {
	Results  []Result
	Deferred []Deferred
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
	switch in := in.(type) {
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
		s.level = append(slices.Clone(s.level), in.Result)
		if len(s.running) > 0 {
			return s, nil
		}
		if s.stopping {
			return s.finish()
		}
		return s.next()
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
	return s, []Effect{Finish{Results: s.Results}}
}

// settleLevel moves the finished level into the results, by name: the order of completion never shows.
func (s State) settleLevel() State {
	level := slices.SortedFunc(slices.Values(s.level), func(a, b Result) int { return cmp.Compare(a.RuntimeID, b.RuntimeID) })
	s.Results = append(s.Results[:len(s.Results):len(s.Results)], level...)
	s.level = nil
	return s
}

// next starts the next level that has something to run, or finishes.
func (s State) next() (State, []Effect) {
	var effects []Effect
	for {
		s = s.settleLevel()
		if len(s.levels) == 0 {
			var followers []manifest.Runtime
			if s, followers = s.follow(); len(followers) > 0 {
				s.depth++
			} else {
				s.band++
				s.depth, s.raised = 0, nil
				if s.band >= len(s.bands) {
					st, fin := s.finish()
					return st, append(effects, fin...)
				}
				followers = s.bands[s.band]
			}
			levels, cyclic := Levels(followers, func(n manifest.Need) bool {
				ok, _ := s.plan.satisfied(n, s.Results)
				return ok
			})
			s.levels = levels
			for _, r := range cyclic {
				res := s.skipped(r, SkipCycle)
				s.Results = append(s.Results[:len(s.Results):len(s.Results)], res)
				effects = append(effects, SkipRun{res})
			}
			continue
		}
		level := s.inRank(s.levels[0])
		s.levels = s.levels[1:]
		running := map[string]Run{}
		for _, r := range level {
			skip, needs := s.plan.gate(r, s.Results)
			if skip != "" {
				res := s.skipped(r, skip)
				s.level = append(s.level, res)
				effects = append(effects, SkipRun{res})
				continue
			}
			s.runs++
			run := Run{RunID: s.plan.RunID(r.ID, s.runs), Runtime: r, Inputs: Bind(r, s.Results), Upstream: s.Results, Needs: needs}
			if cause, ok := s.raised[r.Schedule.Topic]; ok && r.Schedule.Trigger == manifest.TriggerEvent {
				run.Event = &cause.event
				run.Needs = append(run.Needs, cause.emitters)
			}
			running[run.RunID] = run
			effects = append(effects, StartRun{run})
		}
		s.running = running
		if len(running) > 0 {
			return s, effects
		}
	}
}

func (s State) skipped(r manifest.Runtime, reason string) Result {
	return Result{
		RuntimeID: r.ID, PluginID: r.PluginID, RunID: s.plan.RunID(r.ID, 0), Stage: r.Schedule.Stage,
		Story: r.IO.Visibility == manifest.VisibilityStory, Contract: r.IO.OutputContract, Status: Skipped, SkipReason: reason,
	}
}

// follow gives the event runtimes that the topics raised since the last look set off, each once in an execution. At each
// depth the first emission of a topic wins; failed runs raise nothing; what is raised beyond MaxEventDepth sets off nobody
// (seed: turn-pipeline.txt §4.3; reference: plugins.md §7.4).
func (s State) follow() (State, []manifest.Runtime) {
	fresh := s.Results[s.looked:]
	s.looked = len(s.Results)
	s.raised = map[string]raised{}
	if s.plan.Phase == projections.PhaseSetup || s.depth >= MaxEventDepth {
		return s, nil
	}
	var topics []string
	for _, r := range fresh {
		if !r.Committable() {
			continue
		}
		for _, e := range r.Events {
			won, known := s.raised[e.Topic]
			if !known {
				won.event = e
				topics = append(topics, e.Topic)
			}
			if !slices.Contains(won.emitters, r.RuntimeID) {
				won.emitters = append(won.emitters, r.RuntimeID)
			}
			s.raised[e.Topic] = won
		}
	}
	var out []manifest.Runtime
	for _, r := range s.plan.Active {
		if r.Schedule.Trigger == manifest.TriggerEvent && !r.Schedule.SubagentOnly && ShouldTrigger(r, s.plan.Session, s.plan.LogicalTurn, topics) && !s.ran(r.ID) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byID)
	return s, out
}

func (s State) ran(id string) bool {
	return slices.ContainsFunc(s.Results, func(r Result) bool { return r.RuntimeID == id })
}

// bands gives the selected runtimes by stage, in the order the stages run.
func bands(p Plan) [][]manifest.Runtime {
	selected := SelectTriggered(p.Active, p.Session, p.Phase, p.LogicalTurn)
	stages := manifest.MainStages
	if p.Phase == projections.PhaseSetup {
		stages = []manifest.Stage{manifest.Setup}
	}
	var out [][]manifest.Runtime
	for _, stage := range stages {
		var band []manifest.Runtime
		for _, r := range selected {
			if r.Schedule.Stage == stage {
				band = append(band, r)
			}
		}
		out = append(out, band)
	}
	return out
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

package turn

import (
	"cmp"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Asks says which hooks of an execution have handlers.
type Asks struct{ TurnStart, PreSchedule bool }

// AskTurnStart asks the TurnStart hooks whether the execution may go on. Runtimes are the active ones.
type AskTurnStart struct{ Runtimes []string }

// AskSchedule asks the PreSchedule hooks which of the triggered runtimes run.
type AskSchedule struct{ Triggered []sdk.RuntimeInfo }

// TurnStartAnswered answers AskTurnStart. An abort ends the execution; no runtime runs (reference: plugins.md §15).
type TurnStartAnswered struct {
	Abort  bool
	Reason string
}

// ScheduleAnswered answers AskSchedule: the ids that run, in the order that runs of one level are started in.
type ScheduleAnswered struct{ Keep []string }

func (AskTurnStart) turnEffect()     {}
func (AskSchedule) turnEffect()      {}
func (TurnStartAnswered) turnInput() {}
func (ScheduleAnswered) turnInput()  {}

// begin asks for leave to start, for every kind of execution.
func (s State) begin() (State, []Effect) {
	if !s.plan.Asks.TurnStart {
		return s.schedule()
	}
	s.waits = string(sdk.OnTurnStart.Name)
	var ids []string
	for _, r := range s.plan.Active {
		ids = append(ids, r.ID)
	}
	return s, []Effect{AskTurnStart{ids}}
}

func (s State) turnStartAnswered(in TurnStartAnswered) (State, []Effect) {
	if s.finished || s.waits != string(sdk.OnTurnStart.Name) {
		return s, nil
	}
	s.waits = ""
	if !in.Abort {
		return s.schedule()
	}
	s.finished = true
	return s, []Effect{Finish{Refused: cmp.Or(in.Reason, "a TurnStart hook refused the execution")}}
}

// schedule selects what runs. The one run that goes on with a suspension was scheduled when it first ran.
func (s State) schedule() (State, []Effect) {
	if s.plan.Resume != nil {
		return s.resume()
	}
	var missing []Diagnostic
	s.bands, missing = s.plan.bands()
	s.band = -1
	s.seeds = s.plan.seeds()
	s, effects := s.report(nil, missing...)
	if !s.plan.Asks.PreSchedule {
		return s.next(effects)
	}
	s.waits = string(sdk.OnPreSchedule.Name)
	triggered := []sdk.RuntimeInfo{}
	for _, band := range s.bands {
		for _, r := range band {
			triggered = append(triggered, Info(r))
		}
	}
	return s, append(effects, AskSchedule{triggered})
}

// scheduleAnswered narrows the selection: what was not triggered cannot come in.
func (s State) scheduleAnswered(in ScheduleAnswered) (State, []Effect) {
	if s.finished || s.waits != string(sdk.OnPreSchedule.Name) {
		return s, nil
	}
	s.waits = ""
	s.rank = map[string]int{}
	for i, id := range in.Keep {
		s.rank[id] = i
	}
	narrowed := make([][]manifest.Runtime, len(s.bands))
	for i, band := range s.bands {
		for _, r := range band {
			if _, keep := s.rank[r.ID]; keep {
				narrowed[i] = append(narrowed[i], r)
			}
		}
	}
	s.bands = narrowed
	return s.next(nil)
}

// inRank gives a level in the order PreSchedule gave; what it did not name, event runs, comes after by name. Results are
// committed by name all the same.
func (s State) inRank(level []manifest.Runtime) []manifest.Runtime {
	if s.rank == nil {
		return level
	}
	rank := func(r manifest.Runtime) int {
		if n, ok := s.rank[r.ID]; ok {
			return n
		}
		return len(s.rank)
	}
	return slices.SortedStableFunc(slices.Values(level), func(a, b manifest.Runtime) int { return rank(a) - rank(b) })
}

// Info is what hooks read of a runtime's manifest.
func Info(r manifest.Runtime) sdk.RuntimeInfo {
	return sdk.RuntimeInfo{
		Name: r.ID, PluginID: r.PluginID, Type: r.Type, Stage: string(r.Schedule.Stage), Trigger: r.Schedule.Trigger,
		OutputKind: r.IO.Visibility, Contract: r.IO.OutputContract,
	}
}

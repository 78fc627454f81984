package turn

import (
	"cmp"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// SelectTriggered gives the runtimes that run by themselves in an execution, by id. Setup runtimes are taken from the
// setup mirror and bypass ShouldTrigger (seed: turn-pipeline.txt §4.3); one that became pending in a session that plays
// already is caught up (reference: plugins.md §7.5). In a session that is paused or has ended it gives nothing (§2.1,
// "Pause and end").
func SelectTriggered(active []manifest.Runtime, s projections.Session, phase string, logicalTurn int) []manifest.Runtime {
	if s.Status == projections.StatusPaused || s.Status == projections.StatusEnded {
		return nil
	}
	var out []manifest.Runtime
	for _, r := range active {
		if r.Schedule.SubagentOnly || r.Schedule.Trigger == manifest.TriggerManual || r.Schedule.Trigger == manifest.TriggerEvent {
			continue
		}
		switch {
		case r.Schedule.Stage == manifest.Setup:
			if mirror, ok := s.SetupOf(r.ID); ok && mirror.Status == projections.SetupPending {
				out = append(out, r)
			}
		case phase != projections.PhaseSetup && slices.Contains(manifest.MainStages, r.Schedule.Stage) && ShouldTrigger(r, s, logicalTurn, nil):
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byID)
	return out
}

// ShouldTrigger is the trigger decision of a main-loop runtime: first the gates, read from the trigger ledger, then the
// type. topics are the pending event topics of the moment.
func ShouldTrigger(r manifest.Runtime, s projections.Session, logicalTurn int, topics []string) bool {
	ledger := s.LedgerOf(r.ID)
	sch := r.Schedule
	if sch.StartTurn > 0 && logicalTurn < sch.StartTurn {
		return false
	}
	if sch.MaxTriggerCount > 0 && int(ledger.Runs) >= sch.MaxTriggerCount {
		return false
	}
	// A runtime that has never run is not blocked: the cooldown counts only after its first commit.
	if sch.CooldownTurns > 0 && ledger.Runs > 0 && int(s.CompletedPlayerTurns)-int(ledger.LastCompletedTurns) < sch.CooldownTurns {
		return false
	}
	switch sch.Trigger {
	case manifest.TriggerEvent:
		return slices.Contains(topics, sch.Topic)
	case manifest.TriggerManual:
		return false
	default:
		return logicalTurn%max(sch.Every, 1) == 0
	}
}

func byID(a, b manifest.Runtime) int { return cmp.Compare(a.ID, b.ID) }

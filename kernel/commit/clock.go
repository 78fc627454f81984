package commit

import (
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// OriginPlayer and the other origins of an execution (seed: turn-pipeline.txt, "Playing phase").
const (
	OriginPlayer       = "player"
	OriginContinuation = "continuation"
	OriginManual       = "manual" // runtimes that were named: a run by name, a retry
)

// clock gives the clock events of a commit: setup states, the phase flip, the count of the turn, the trigger ledger.
func (p *planner) clock() (facts []Fact, next string) {
	s := p.session
	for _, r := range p.in.Results {
		if su, ok := setupAfter(s, r, r.Error); ok {
			facts = append(facts, Fact{Message: &eventsv1.SetupRuntimeChanged{Setup: su}, RunID: r.RunID, PluginID: r.PluginID})
			s.Setup = replaceSetup(s.Setup, su)
		}
	}
	if p.in.Execution.Phase == projections.PhaseSetup && s.Phase == projections.PhaseSetup && s.SetupComplete() {
		facts = append(facts, Fact{Message: &eventsv1.PhaseAdvanced{Phase: projections.PhasePlaying}})
		next = NextOpening
	}
	if p.countsTurn() && len(p.suspended) == 0 { // a turn that waits is counted when it ends
		s.CompletedPlayerTurns++
		facts = append(facts, Fact{Message: &eventsv1.PlayerTurnCounted{
			LogicalTurnId: p.in.Execution.LogicalTurnID, CompletedPlayerTurns: s.CompletedPlayerTurns,
		}})
	}
	var ledger []*eventsv1.TriggerLedgerEntry
	for _, r := range p.in.Results {
		if _, dropped := p.dropped[r.RuntimeID]; dropped || r.Status != turn.Succeeded {
			continue
		}
		e := s.LedgerOf(r.RuntimeID)
		ledger = append(ledger, &eventsv1.TriggerLedgerEntry{RuntimeId: r.RuntimeID, Runs: e.Runs + 1, LastCompletedTurns: s.CompletedPlayerTurns})
	}
	if len(ledger) > 0 {
		facts = append(facts, Fact{Message: &eventsv1.TriggerLedgerUpdated{Entries: ledger}})
	}
	return facts, next
}

// countsTurn says whether the commit completes a turn of the player: a main-loop execution with a player's line, the first
// of its logical turn. An opening that is tried again has none (seed: turn-pipeline.txt §2.1, "The opening does not count as
// a turn", "When several executions share one logical turn, it is counted only once").
func (p *planner) countsTurn() bool {
	s, e := p.session, p.in.Execution
	line := s.Input != nil && s.Input.ExecutionID == e.ID && len(s.Input.Actions) > 0
	return e.Origin == OriginPlayer && e.Phase == projections.PhasePlaying && line && s.LastCounted != e.LogicalTurnID
}

// setupAfter gives the new mirror of a setup runtime after a run, false when nothing changed. A run that ends well
// without the done signal waits for the player and uses up no try; a failed one does.
func setupAfter(s projections.Session, r turn.Result, failure string) (*eventsv1.SetupRuntime, bool) {
	su, ok := s.SetupOf(r.RuntimeID)
	if !ok || r.Stage != manifest.Setup || su.Status != projections.SetupPending {
		return nil, false
	}
	out := &eventsv1.SetupRuntime{
		RuntimeId: su.RuntimeID, Status: su.Status, Generation: su.Generation, Attempts: su.Attempts,
		MaxAttempts: su.MaxAttempts, PluginVersion: su.PluginVersion,
	}
	switch {
	case r.Committable() && r.Done:
		out.Status, out.Resolution = projections.SetupDone, "completed"
		out.Attempts++
	case r.Status == turn.Failed:
		out.Attempts++
		out.LastError = errorText(r.ShownError(failure))
		if out.LastError == "" {
			out.LastError = "it failed without a reason"
		}
		// Only its own failure blocks a runtime: what was rolled back for another's sake, or died with the process, uses up a
		// try and may be tried again.
		if r.Error != "" && su.MaxAttempts > 0 && out.Attempts >= su.MaxAttempts {
			out.Status, out.Reason = projections.SetupBlocked, "attempts-used-up"
		}
	case r.Committable() && su.LastError != "": // it waits for the player now; what went wrong before is over
	default:
		return nil, false
	}
	return out, true
}

// setupAttempts counts the tries of setup runtimes in an execution that is rolled back. A resume is no try of its own: the
// suspended one goes on, and its question stays.
func setupAttempts(in In, message string) []*eventsv1.SetupAttempt {
	if in.Execution.Origin == OriginResume {
		return nil
	}
	var out []*eventsv1.SetupAttempt
	s := in.State.Session
	for _, r := range in.Results {
		if r.Status == turn.Skipped && r.SkipReason != turn.SkipGuard {
			continue
		}
		failure := r.Error
		if r.Status != turn.Failed {
			failure, r.Error = "", ""
		}
		r.Done, r.Status = false, turn.Failed
		if failure == "" {
			failure = message
		}
		if su, ok := setupAfter(s, r, failure); ok {
			out = append(out, &eventsv1.SetupAttempt{
				RuntimeId: su.RuntimeId, Attempts: su.Attempts, LastError: su.LastError,
				Blocked: su.Status == projections.SetupBlocked, Reason: su.Reason,
			})
		}
	}
	return out
}

// InterruptedAttempts counts one try for each setup runtime that was due in an execution that died with its process.
func InterruptedAttempts(state projections.State) []*eventsv1.SetupAttempt {
	s := state.Session
	if s.Open == nil || s.Open.Phase != projections.PhaseSetup {
		return nil
	}
	var results []turn.Result
	for _, su := range s.Setup {
		if _, waits := state.Suspensions.Of(su.RuntimeID); su.Status == projections.SetupPending && !waits {
			results = append(results, turn.Result{RuntimeID: su.RuntimeID, Stage: manifest.Setup, Status: turn.Failed})
		}
	}
	return setupAttempts(In{State: state, Execution: *s.Open, Results: results}, "interrupted")
}

func replaceSetup(list []projections.SetupRuntime, su *eventsv1.SetupRuntime) []projections.SetupRuntime {
	out := append([]projections.SetupRuntime(nil), list...)
	for i := range out {
		if out[i].RuntimeID == su.RuntimeId {
			out[i].Status = su.Status
		}
	}
	return out
}

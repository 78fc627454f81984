package session

import (
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// AdvanceLimit is how many rounds of automatic advancement one input may have, where neither the host nor the session sets
// less (decisions: "Execution allowances").
const AdvanceLimit = 12

// Reasons why a request does not go on with what its newest commit announced.
const (
	stoppedNewInput = "new-input" // somebody waits with an input of their own
	stoppedByPlayer = "stopped"
	stoppedInactive = "not-active" // the session was paused, or has ended
)

// advanceLimit is the limit that a root input freezes: the host's, lowered by the session's own.
func (s *step) advanceLimit() uint32 {
	limit := s.env.AdvanceLimit
	if limit == 0 {
		limit = AdvanceLimit
	}
	if own := s.Hot.Session.Settings.AdvanceLimit; own > 0 {
		limit = min(limit, own)
	}
	return limit
}

// announced is what the newest commit says its request goes on with, "" when that is nothing, or was done or stopped.
func announced(s projections.Session) string {
	if s.Last == nil || s.Open != nil {
		return ""
	}
	return s.Last.Next
}

// goesOn says whether this activation is about to go on in the request of the newest commit, its own.
func (s State) goesOn() bool {
	return announced(s.Hot.Session) != "" && s.Committed == s.Hot.Session.Last.ID
}

// leftOff says whether a commit announced something that nobody goes on with: the process that was to do it is gone. No
// loop goes on by itself after that (seed: turn-pipeline.txt, "No automatic loop resumes after stopping or process exit").
func (s *step) leftOff() bool { return announced(s.Hot.Session) != "" && !s.goesOn() && !s.OwnerAlive }

// advance goes on in the request of the newest commit: with the opening after a set-up, or with another round. Everything
// is looked at anew for it, first of all whether it may go on (seed: turn-pipeline.txt, "Advancement within one input").
// false: it waits for background jobs.
func (s *step) advance() bool {
	last := *s.Hot.Session.Last
	if why := s.whyNot(last.Next); why != "" {
		s.stopAdvance(why)
		return true
	}
	if !s.barrierPassed(last.ID) {
		return false
	}
	s.Phase = Advancing
	started := s.started(s.env.FreshID, originContinuation, last.RequestID)
	// One input is one turn: its rounds, like the opening after its set-up, keep the number and the id that it froze.
	started.LogicalTurn, started.LogicalTurnId, started.AdvanceLimit = last.LogicalTurn, last.LogicalTurnID, last.AdvanceLimit
	if last.Next == commit.NextAdvance {
		started.Round = last.Round + 1
	}
	s.appendFacts(AppendOpen, s.env.FreshID, projections.Execution{ID: s.env.FreshID, RequestID: last.RequestID, LogicalTurn: last.LogicalTurn}, one(started))
	return true
}

// whyNot says why the request must not go on now, "" when it may. An input that waits takes the place of rounds that nobody
// asked for; the opening belongs to the set-up that was just completed.
func (s *step) whyNot(next string) string {
	switch {
	case s.Stop != "":
		return stoppedByPlayer
	case s.Hot.Session.Status != projections.StatusActive:
		return stoppedInactive
	case s.draining:
		return AbortShutdown
	case next == commit.NextAdvance && len(s.Queue)+len(s.Hot.Session.Gathering.Submissions) > 0:
		return stoppedNewInput
	}
	return ""
}

// stopAdvance ends the request of the newest commit, which went on no further.
func (s *step) stopAdvance(why string) {
	last := s.Hot.Session.Last
	s.Committed, s.Stop = "", ""
	s.Phase = Advancing
	exec := projections.Execution{RequestID: last.RequestID, LogicalTurn: last.LogicalTurn}
	ordinal := 2
	if why == AbortInterrupted { // who was to go on may live after all, and must not take this end for its own
		ordinal = 3
	}
	s.appendAs(AppendClose, last.ID, ordinal, exec, one(&eventsv1.AdvanceStopped{ExecutionId: last.ID, Reason: why}))
}

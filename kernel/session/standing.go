package session

import "github.com/covel/covel/projections"

// Standing is how a session stands for a client: what became of the newest execution and what starts the work again.
type Standing struct {
	State string // idle | running | completed | failed | interrupted
	// Execution is the open one, else the newest that ended; nil when there was none.
	Execution   *projections.Execution
	Error       string
	AbortReason string
	Retry       string             // the command type that starts the work again, "" when there is nothing to start
	Input       *projections.Input // the player's line that is kept
	Draft       string             // partial prose of a failed turn
}

// Stand reads the standing off a state. working says that this activation is at it: a turn runs, or is about to.
func Stand(hot projections.State, working bool) Standing {
	s := hot.Session
	if s.Open != nil || working {
		out := Standing{State: "running", Execution: s.Open, Input: s.Input}
		if out.Execution == nil && s.Last != nil {
			out.Execution = &s.Last.Execution
		}
		if !working { // its owner is dead: the next command closes it
			out.State, out.AbortReason, out.Retry = "interrupted", AbortInterrupted, retryOf(hot)
		}
		return out
	}
	last := s.Last
	if s.Draft != nil && s.Unfinished != nil { // a run by name since then does not hide the line that waits
		last = s.Unfinished
	}
	if last == nil {
		return Standing{State: "idle"}
	}
	out := Standing{State: "completed", Execution: &last.Execution}
	switch {
	case last.End == projections.EndAborted && last.Reason == AbortPlayer:
		out.State, out.AbortReason = "failed", last.Reason
	case last.End == projections.EndAborted:
		out.State, out.AbortReason = "interrupted", last.Reason
	case last.End == projections.EndFailed:
		out.State, out.Error = "failed", last.Error
		if out.Error == "" {
			out.Error = last.Reason
		}
	case last.Phase == projections.PhaseSetup && s.Phase == projections.PhasePlaying && hot.History.Stories == 0: // the opening was to follow and did not
		out.State = "interrupted"
	default:
		if failure := setupFailure(s); failure != "" {
			out.State, out.Error, out.Retry = "failed", failure, retryOf(hot)
		}
		return out
	}
	out.Retry, out.Input, out.Draft = retryOf(hot), s.Draft, last.Draft
	return out
}

// retryOf says what starts the work again: the set-up and the opening by start_session, a player's turn by retry_turn.
func retryOf(hot projections.State) string {
	switch {
	case hot.Session.Status != projections.StatusActive:
		return ""
	case hot.Session.Phase == projections.PhaseSetup || hot.History.Stories == 0:
		return StartSession
	case hot.Session.Draft == nil && hot.Session.Input == nil: // it was no input of a player that failed, but what followed from one
		return ""
	}
	return RetryTurn
}

// setupFailure is what kept the set-up from going on, "" when it waits for the player or is done.
func setupFailure(s projections.Session) string {
	if s.Phase != projections.PhaseSetup {
		return ""
	}
	for _, su := range s.Setup {
		if su.Status != projections.SetupDone && su.LastError != "" {
			return su.LastError
		}
	}
	return ""
}

// Working says whether this activation is at something that a client waits for.
func (s State) Working() bool {
	return s.Execution != "" || s.goesOn() || s.Current != nil || len(s.Queue) > 0
}

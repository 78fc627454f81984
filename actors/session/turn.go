package session

import (
	"github.com/asynkron/protoactor-go/actor"

	kernel "github.com/covel/covel/kernel/session"
)

type turnGone struct{ pid *actor.PID }

func (s *session) startTurn(c actor.Context, e kernel.StartTurn) {
	s.live = &kernel.Live{ExecutionID: e.Execution.ID, RequestID: e.Execution.RequestID}
	s.emitStart(e.Execution)
	s.turn = c.Spawn(s.Turn(e))
	c.Watch(s.turn)
}

// turnStopped sees a turn actor end. If it did not report its outcome, it panicked.
func (s *session) turnStopped(c actor.Context, who *actor.PID) {
	if s.turn == nil || !who.Equal(s.turn) {
		return
	}
	s.turn = nil
	defer func() {
		if s.live != nil && s.state.Execution != s.live.ExecutionID {
			s.live = nil
		}
	}()
	if s.live != nil && s.state.Execution == s.live.ExecutionID && s.state.Ended == nil {
		s.step(c, kernel.TurnEnded{ExecutionID: s.state.Execution, Crash: "the turn stopped unexpectedly"})
	}
}

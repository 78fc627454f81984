package session

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	kernel "github.com/covel/covel/kernel/session"
)

// QuarantineFor is how long a session that cannot be read answers so before the next request tries again.
const QuarantineFor = 5 * time.Second

// armIdle asks for a look at whether the session is still used. The time is jittered, so that sessions do not leave
// together. (The library's own receive timeout races with its actor.)
func (s *session) armIdle(c actor.Context) {
	if s.IdleAfter > 0 && !s.gone && s.broken == nil {
		s.wakeIn(c, s.IdleAfter/2+rand.N(s.IdleAfter), idle{})
	}
}

func (s *session) wakeIn(c actor.Context, d time.Duration, msg any) {
	if s.timer != nil {
		s.timer.Stop()
	}
	self, root := c.Self(), c.ActorSystem().Root
	s.timer = time.AfterFunc(d, func() { root.Send(self, msg) })
}

// quarantine keeps a session whose log cannot be read from doing anything; the others go on.
func (s *session) quarantine(c actor.Context, err error) {
	s.Log.Error("session cannot be folded", "session", s.SessionID, "error", err)
	s.broken = err
	s.dismiss("unreadable", "session_unreadable", err.Error())
	s.answerReads(c)
	s.wakeIn(c, QuarantineFor, released{})
}

// dismiss ends what clients wait for: followers start over, requests are refused.
func (s *session) dismiss(reset, code, message string) {
	s.closeFollowers(reset)
	for t, reply := range s.replies {
		delete(s.replies, t)
		reply(kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{Code: code, Message: message}})
	}
}

// leave takes no more messages; the next request starts another activation.
func (s *session) leave() {
	if s.gone {
		return
	}
	s.gone = true
	s.Log.Debug("session left", "session", s.SessionID, "version", s.state.Hot.Version)
	s.dismiss("moved", "server_shutting_down", "the session is being moved; send the request again")
	s.Gone()
}

// end stops what this life started.
func (s *session) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.due != nil {
		s.due.Stop()
	}
	s.cancel()
}

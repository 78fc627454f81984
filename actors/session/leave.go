package session

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	kernel "github.com/covel/covel/kernel/session"
)

// armIdle asks for a look at whether the session is still used. The time is jittered, so that sessions do not leave
// together. (The library's own receive timeout races with its actor.)
func (s *session) armIdle(c actor.Context) {
	if s.IdleAfter <= 0 || s.gone || s.broken != nil {
		return
	}
	self, root := c.Self(), c.ActorSystem().Root
	s.idleTimer = time.AfterFunc(s.IdleAfter/2+rand.N(s.IdleAfter), func() { root.Send(self, idle{}) })
}

// quarantine keeps a session whose log cannot be read from doing anything; the others go on.
func (s *session) quarantine(c actor.Context, err error) {
	s.Log.Error("session cannot be folded", "session", s.SessionID, "error", err)
	s.broken = err
	for t, reply := range s.replies {
		delete(s.replies, t)
		reply(kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{Code: "session_unreadable", Message: err.Error()}})
	}
	s.closeFollowers("unreadable")
	s.answerReads(c)
	self, root := c.Self(), c.ActorSystem().Root
	s.idleTimer = time.AfterFunc(QuarantineFor, func() { root.Send(self, released{}) })
}

// QuarantineFor is how long a session that cannot be read answers so before the next request tries again.
const QuarantineFor = 5 * time.Second

func (s *session) leave() {
	if s.gone {
		return
	}
	s.gone = true
	s.closeFollowers("moved")
	for t, reply := range s.replies {
		delete(s.replies, t)
		reply(kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{Code: "server_shutting_down", Message: "the session is being moved; send the request again"}})
	}
	s.Gone()
}

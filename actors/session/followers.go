package session

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	kernel "github.com/covel/covel/kernel/session"
)

// envelope is a read that waits for the recovery.
type envelope struct {
	msg    any
	sender *actor.PID
}

func (s *session) progress(p kernel.Progress) {
	if s.live == nil || s.live.ExecutionID != p.ExecutionID {
		return
	}
	next := s.live.Apply(p)
	s.live = &next
	s.publish(Update{Progress: &p})
}

func settling(w kernel.SettleWait) *kernel.Progress {
	return &kernel.Progress{ExecutionID: w.ExecutionID, Kind: kernel.TurnSettling, Settle: &w}
}

// plugin tells everyone that a plugin was paused, or runs again.
func (s *session) plugin(e kernel.PluginPaused) {
	p := kernel.Progress{Kind: kernel.ResumedPlugin, PluginID: e.PluginID}
	if e.Paused {
		p.Kind, p.Reason = kernel.PausedPlugin, e.Reason
		s.Log.Warn("a plugin is paused after repeated errors", "session", s.SessionID, "plugin", e.PluginID, "error", e.Reason)
	}
	s.publish(Update{Progress: &p})
}

func (s *session) publish(u Update) {
	alive := s.followers[:0]
	for _, f := range s.followers {
		if f.push(u) {
			alive = append(alive, f)
		}
	}
	clear(s.followers[len(alive):])
	s.followers = alive
}

func (s *session) closeFollowers(reason string) {
	s.publish(Update{Reset: reason})
	s.followers = nil
}

// read answers at once, whatever the session does; only while the log is being folded there is nothing to answer: what is
// known then may be behind, and a follower would not be told of the difference.
func (s *session) read(c actor.Context, e envelope) {
	s.asked = time.Now()
	if s.state.Phase == kernel.Recovering && s.state.InFlight == nil && s.broken == nil {
		s.waiting = append(s.waiting, e)
		return
	}
	view := View{State: s.state.Hot, Working: s.state.Working(), Err: s.broken, JobPhases: s.state.JobPhases(), PausedPlugins: s.state.Latch.Paused()}
	if w := s.state.Settles; len(w.Jobs) > 0 {
		view.Settling = settling(w)
	}
	if s.live != nil {
		live := *s.live
		view.Live = &live
	}
	if f, ok := e.msg.(Follow); ok && s.broken == nil {
		s.followers = append(s.followers, f.Subscription)
	}
	c.Send(e.sender, view)
}

func (s *session) answerReads(c actor.Context) {
	waiting := s.waiting
	s.waiting = nil
	for _, e := range waiting {
		if s.broken == nil && s.state.Hot.Version == 0 { // a stream that is gone
			c.Send(e.sender, View{Err: ErrNotFound})
			continue
		}
		s.read(c, e)
	}
}

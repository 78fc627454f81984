package session

import "testing"

// The due scan wakes a session that nobody has open: the wake comes before the activation has read its stream. What a dead
// owner left open must be closed by it, not by the next scan.
func TestWakeBeforeTheFoldClosesWhatADeadOwnerLeft(t *testing.T) {
	s := phases(t)["8 left open by a dead owner"]()
	s.activate()
	s.feed(Wake{})
	for len(s.inbox) > 0 {
		s.next()
	}
	if last := s.log[len(s.log)-1].Type; last != "ExecutionAborted" {
		t.Errorf("the log ends with %s", last)
	}
	if s.state.Phase != Idle || s.state.closeOpen {
		t.Errorf("phase %s, close open %v", s.state.Phase, s.state.closeOpen)
	}
}

func (s *sim) next() {
	in := s.inbox[0]
	s.inbox = s.inbox[1:]
	s.feed(in)
}

// A wake that finds nothing to close leaves nothing behind that would keep the session in memory.
func TestWakeBeforeTheFoldOfASessionInOrder(t *testing.T) {
	s := phases(t)["8 left open by a dead owner"]()
	s.feed(Wake{})
	for len(s.inbox) > 0 {
		s.next()
	}
	s.activate()
	s.feed(Wake{})
	s.next()
	if s.state.closeOpen || s.state.InFlight != nil {
		t.Errorf("close open %v, in flight %+v", s.state.closeOpen, s.state.InFlight)
	}
	s.feed(IdleTimeout{})
	if s.state.Phase != Stopped {
		t.Errorf("phase %s after the idle timeout", s.state.Phase)
	}
}

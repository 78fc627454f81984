package session

import (
	"context"
	"sync"

	"github.com/pkg/errors"

	kernel "github.com/covel/covel/kernel/session"
)

// Bounds of what waits for one follower. Past them the follower is told to start over; it never slows a turn.
const (
	maxWaiting     = 1024
	maxWaitingText = 1 << 20 // bytes of streamed text
)

// Update is one thing a follower is shown. Exactly one field is set.
type Update struct {
	Publish  *kernel.Publish
	Progress *kernel.Progress
	Reset    string // what was shown is no longer a prefix of the stream; nothing follows
}

// ErrClosed: the subscription is over; follow the session anew.
var ErrClosed = errors.New("session: subscription is closed")

// Subscription is a follower's bounded queue. Adjacent pieces of streamed text merge while they wait. One goroutine reads
// it with Next; the session actor writes it and never blocks.
type Subscription struct {
	mu     sync.Mutex
	queue  []Update
	text   int
	closed bool
	wake   chan struct{} // capacity 1
}

// NewSubscription makes a queue to hand to the session.
func NewSubscription() *Subscription { return &Subscription{wake: make(chan struct{}, 1)} }

// Next waits for the next update. After a Reset, or Close, it gives ErrClosed.
func (s *Subscription) Next(ctx context.Context) (Update, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			u := s.queue[0]
			s.queue = s.queue[1:]
			if u.Progress != nil {
				s.text -= len(u.Progress.Delta)
			}
			s.mu.Unlock()
			return u, nil
		}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return Update{}, ErrClosed
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Update{}, ctx.Err()
		}
	}
}

// Close ends the subscription from the reader's side.
func (s *Subscription) Close() {
	s.mu.Lock()
	s.queue, s.closed = nil, true
	s.mu.Unlock()
	s.signal()
}

// over says whether nothing more can be told.
func (s *Subscription) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// push queues an update; false says that the follower is gone.
func (s *Subscription) push(u Update) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	switch {
	case u.Reset != "":
		s.queue, s.closed = append(s.queue, u), true
	case u.Progress != nil && s.merge(*u.Progress):
	default:
		s.queue = append(s.queue, u)
	}
	if u.Progress != nil {
		s.text += len(u.Progress.Delta)
	}
	alive := !s.closed
	if alive && (len(s.queue) > maxWaiting || s.text > maxWaitingText) {
		s.queue, s.text, s.closed, alive = []Update{{Reset: "slow-consumer"}}, 0, true, false
	}
	s.mu.Unlock()
	s.signal()
	return alive
}

// merge adds a piece of text to the piece that waits last, if it goes on from it.
func (s *Subscription) merge(p kernel.Progress) bool {
	if p.Kind != kernel.NarrativeDelta || p.Reset || len(s.queue) == 0 {
		return false
	}
	last := s.queue[len(s.queue)-1].Progress
	if last == nil || last.Kind != kernel.NarrativeDelta || last.RuntimeID != p.RuntimeID || last.ExecutionID != p.ExecutionID {
		return false
	}
	merged := *last
	merged.Delta += p.Delta
	merged.N = p.N
	s.queue[len(s.queue)-1].Progress = &merged
	return true
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

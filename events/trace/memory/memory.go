// Package memory keeps the trace in memory: for tests, and for a server without a data folder. It keeps the newest entries
// of each session.
package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/covel/covel/events/trace"
)

// PerSession is how many entries of a session are kept.
const PerSession = 5000

// Store is the trace. The zero value is ready.
type Store struct {
	mu       sync.Mutex
	sessions map[string][]trace.Entry
	last     uint64
}

// Append implements trace.Store.
func (s *Store) Append(_ context.Context, entries []trace.Entry, _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[string][]trace.Entry{}
	}
	for _, e := range entries {
		list := append(s.sessions[e.SessionID], e)
		if over := len(list) - PerSession; over > PerSession/4 {
			list = slices.Clone(list[over:])
		}
		s.sessions[e.SessionID] = list
		s.last = max(s.last, e.Seq)
	}
	return nil
}

// Read implements trace.Store.
func (s *Store) Read(_ context.Context, q trace.Query) ([]trace.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []trace.Entry
	size := 0
	for _, e := range slices.Backward(s.sessions[q.SessionID]) {
		if q.Limit > 0 && len(out) == q.Limit || q.Bytes > 0 && size >= q.Bytes {
			break
		}
		if q.Selects(e) {
			out = append(out, e)
			size += len(e.Payload)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Last implements trace.Store.
func (s *Store) Last(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}

// Forget implements trace.Store.
func (s *Store) Forget(_ context.Context, sessionID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, sessionID)
	return nil
}

// Close implements trace.Store.
func (s *Store) Close() error { return nil }

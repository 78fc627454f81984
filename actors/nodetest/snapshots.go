package nodetest

import (
	"context"
	"sync"

	"github.com/covel/covel/projections"
)

// Snapshots keeps the newest snapshot of one session, written out as on a disk. It outlives the nodes that use it.
type Snapshots struct {
	mu   sync.Mutex
	body []byte
}

// Load implements session.Snapshots.
func (s *Snapshots) Load(context.Context, string) (projections.State, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body == nil {
		return projections.State{}, false, nil
	}
	state, err := projections.DecodeState(s.body)
	return state, err == nil, err
}

// Save implements session.Snapshots.
func (s *Snapshots) Save(_ context.Context, _ string, state projections.State) error {
	body, err := state.Encode()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.body = body
	}
	return err
}

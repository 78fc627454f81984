package scripted

import (
	"context"
	"sync"

	"github.com/covel/covel/gateway/llm/failure"
)

// waiting is how many arrivals and passes a gate remembers; more than any test has models.
const waiting = 1024

// Gate is a place in a script where the model waits for the test.
type Gate struct {
	reached chan struct{}
	pass    chan struct{}
	open    chan struct{}
	opening sync.Once
}

func newGate() *Gate {
	return &Gate{reached: make(chan struct{}, waiting), pass: make(chan struct{}, waiting), open: make(chan struct{})}
}

// Reached yields once for each arrival of a model.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Pass lets one model through: one that waits, or else the next.
func (g *Gate) Pass() { g.pass <- struct{}{} }

// Open lets all models through from now on.
func (g *Gate) Open() { g.opening.Do(func() { close(g.open) }) }

func (g *Gate) wait(ctx context.Context) error {
	select {
	case g.reached <- struct{}{}:
	default: // nobody counts
	}
	select {
	case <-g.pass:
	case <-g.open:
	case <-ctx.Done():
		return failure.Ended(ctx)
	}
	return nil
}

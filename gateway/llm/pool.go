package llm

import (
	"context"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

// DefaultConcurrent is how many calls a process has open at once (reference: api-and-protocol.md §8).
const DefaultConcurrent = 4

// Pool bounds the calls that are open at once over all providers it wraps. Those who wait are served in order.
type Pool struct {
	places chan struct{} // nil: no bound
}

// NewPool makes a pool of n places: 0 is DefaultConcurrent, less than 0 no bound.
func NewPool(n int) *Pool {
	switch {
	case n < 0:
		return &Pool{}
	case n == 0:
		n = DefaultConcurrent
	}
	return &Pool{places: make(chan struct{}, n)}
}

// Wrap makes the calls of p wait for a place. Wrap limits inside and not outside of it: a call that waits is not silent.
// Waiting ends with ctx.
func (p *Pool) Wrap(inner model.Provider) model.Provider {
	if p.places == nil {
		return inner
	}
	return &pooled{inner: inner, places: p.places}
}

type pooled struct {
	inner  model.Provider
	places chan struct{}
}

func (w *pooled) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, failure.Ended(ctx)
	}
	select {
	case w.places <- struct{}{}:
	default:
		model.Queued(ctx, true)
		select {
		case w.places <- struct{}{}:
			model.Queued(ctx, false)
		case <-ctx.Done():
			return model.Reply{}, failure.Ended(ctx)
		}
	}
	defer func() { <-w.places }()
	return w.inner.Generate(ctx, req, onDelta)
}

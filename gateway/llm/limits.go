package llm

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

// What a model.Error of kind Timeout is about when a limit made it; the texts are the retry reasons of the reference
// (plugins.md §9.4).
var (
	ErrFirstToken = errors.New("first-token-timeout")
	ErrIdle       = errors.New("idle-timeout")
	ErrCall       = errors.New("call-timeout")
)

// Limits bound how long a model may be silent. A model that keeps writing is never cut: there is no limit on the length of
// a streamed call.
type Limits struct {
	FirstToken time.Duration // streamed: until the first sign of output
	Idle       time.Duration // streamed: between two signs of output
	Call       time.Duration // not streamed: the whole call
}

// DefaultLimit stands for a limit that is zero; smaller ones than MinLimit are raised to it (reference: plugins.md §9.4,
// api-and-protocol.md §8).
const (
	DefaultLimit = 120 * time.Second
	MinLimit     = time.Second
)

func (l Limits) filled() Limits {
	fill := func(d time.Duration) time.Duration {
		if d == 0 {
			return DefaultLimit
		}
		return max(d, MinLimit)
	}
	return Limits{FirstToken: fill(l.FirstToken), Idle: fill(l.Idle), Call: fill(l.Call)}
}

// of gives the limits of one call: what the request says, and where it says nothing the provider's.
func (l Limits) of(r model.Limits) Limits {
	pick := func(own, other time.Duration) time.Duration {
		if own > 0 {
			return max(own, MinLimit)
		}
		return other
	}
	return Limits{FirstToken: pick(r.FirstToken, l.FirstToken), Idle: pick(r.Idle, l.Idle), Call: pick(r.Call, l.Call)}
}

// WithLimits wraps p: a call that is silent too long is cancelled and fails with kind Timeout, where errors.Is tells
// ErrFirstToken, ErrIdle and ErrCall apart. Time that the caller spends in onDelta is not the model's silence. An empty
// Delta (a tool call being written) counts as output; it is passed on, for a caller that watches the time too.
func WithLimits(p model.Provider, l Limits) model.Provider {
	return &limited{inner: p, limits: l.filled()}
}

type limited struct {
	inner  model.Provider
	limits Limits
}

func (w *limited) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	limits := w.limits.of(req.Limits)
	first, reason := limits.FirstToken, ErrFirstToken
	if !req.Stream {
		first, reason = limits.Call, ErrCall
	}
	var written atomic.Bool
	timer := time.AfterFunc(first, func() {
		if written.Load() {
			cancel(errors.WithMessagef(ErrIdle, "the model was silent for %s", limits.Idle))
			return
		}
		cancel(errors.WithMessagef(reason, "the model wrote nothing for %s", first))
	})
	defer timer.Stop()

	reply, err := w.inner.Generate(call, req, func(d model.Delta) {
		if req.Stream {
			timer.Stop()
			written.Store(true)
			defer timer.Reset(limits.Idle)
		}
		if onDelta != nil {
			onDelta(d)
		}
	})
	if err == nil {
		return reply, nil
	}
	failed := failure.Of(err)
	if failed.Kind == model.Cancelled && ctx.Err() == nil {
		if cause := context.Cause(call); cause != nil {
			return reply, &model.Error{Kind: model.Timeout, Message: cause.Error(), Err: cause}
		}
	}
	return reply, failed
}

package llm

import (
	"context"
	"sync"
	"time"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

// MaxRetryAfter caps what a server may make all calls of a key wait; more would outlast a turn.
const MaxRetryAfter = 30 * time.Second

// Cooldown shares a rate limit between all calls that use one key: after a 429 that named a time, calls before that time
// fail at once, RateLimited and with what is left of it, instead of asking again and making it worse (fault case BL-04).
type Cooldown struct {
	mu    sync.Mutex
	until time.Time
	last  model.Error
}

// Wrap makes p respect and feed the cooldown. Providers under the same key share one Cooldown.
func (c *Cooldown) Wrap(p model.Provider) model.Provider { return &cooled{inner: p, shared: c} }

func (c *Cooldown) left() (model.Error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(c.until)
	failed := c.last
	failed.RetryAfter = left
	return failed, left > 0
}

func (c *Cooldown) learn(failed *model.Error) {
	if failed.Kind != model.RateLimited || failed.RetryAfter <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(min(failed.RetryAfter, MaxRetryAfter)); until.After(c.until) {
		c.until, c.last = until, *failed
	}
}

type cooled struct {
	inner  model.Provider
	shared *Cooldown
}

func (w *cooled) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if failed, hot := w.shared.left(); hot {
		return model.Reply{}, &failed
	}
	reply, err := w.inner.Generate(ctx, req, onDelta)
	if err != nil {
		w.shared.learn(failure.Of(err))
	}
	return reply, err
}

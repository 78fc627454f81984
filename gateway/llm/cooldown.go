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

// firstCooldown is how long a key rests after a 429 that named no time. It doubles with each further one, up to
// MaxRetryAfter, until a call succeeds.
const firstCooldown = time.Second

// Cooldown shares a rate limit between all calls that use one key: after a 429, calls before its time is over fail at once,
// RateLimited and with what is left of it, instead of asking again and making it worse (fault case BL-04).
type Cooldown struct {
	mu    sync.Mutex
	until time.Time
	rest  time.Duration // after the next 429 that names no time; 0: firstCooldown
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

// learn takes what a call that began at some time came to. Calls that were under way together say the same thing: only one
// that began after the rest was over makes it longer. A failure that named no time is given the key's.
func (c *Cooldown) learn(begun time.Time, failed *model.Error) *model.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed == nil {
		c.rest = 0
		return nil
	}
	if failed.Kind != model.RateLimited {
		return failed
	}
	after := min(failed.RetryAfter, MaxRetryAfter)
	if failed.RetryAfter <= 0 {
		if left := time.Until(c.until); left > 0 && begun.Before(c.until) {
			after = left
		} else {
			after = max(c.rest, firstCooldown)
			c.rest = min(2*after, MaxRetryAfter)
		}
		known := *failed
		known.RetryAfter = after
		failed = &known
	}
	if until := time.Now().Add(after); until.After(c.until) {
		c.until, c.last = until, *failed
	}
	return failed
}

type cooled struct {
	inner  model.Provider
	shared *Cooldown
}

func (w *cooled) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if failed, hot := w.shared.left(); hot {
		return model.Reply{}, &failed
	}
	begun := time.Now()
	reply, err := w.inner.Generate(ctx, req, onDelta)
	if err != nil {
		return reply, w.shared.learn(begun, failure.Of(err))
	}
	w.shared.learn(begun, nil)
	return reply, nil
}

package llm

import (
	"time"

	"github.com/covel/covel/kernel/model"
)

const (
	// MaxRetryAfter caps what a server may make us wait; more would outlast a turn.
	MaxRetryAfter = 30 * time.Second

	backoffBase = 500 * time.Millisecond
	backoffMax  = 8 * time.Second
)

// Retryable reports whether trying again can help (reference: plugins.md §9.4). It can after Interrupted too, but only
// where the text was not yet read by anyone: a story runtime must not.
func Retryable(kind model.ErrorKind) bool {
	switch kind {
	case model.Transient, model.RateLimited, model.Interrupted, model.Empty, model.Timeout:
		return true
	}
	return false
}

// Backoff is how long to wait before the next try after the attempt-th one (counted from 1) failed with err. rnd gives
// numbers in [0, 1) that keep callers who failed together from coming back together.
//
// A server's RetryAfter, capped at MaxRetryAfter, is the least to wait, plus up to a quarter. Without one the wait doubles
// from 0.5 s to at most 8 s, of which half is random. For what is not Retryable it is 0, which means nothing.
func Backoff(err *model.Error, attempt int, rnd func() float64) time.Duration {
	if err == nil || !Retryable(err.Kind) {
		return 0
	}
	jitter := func(d time.Duration) time.Duration { return time.Duration(rnd() * float64(d)) }
	if err.RetryAfter > 0 {
		wait := min(err.RetryAfter, MaxRetryAfter)
		return wait + jitter(wait/4)
	}
	wait := backoffMax
	if doublings := max(attempt, 1) - 1; doublings < 4 {
		wait = backoffBase << doublings
	}
	return wait/2 + jitter(wait/2)
}

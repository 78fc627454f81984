package runtime

import (
	"math/rand/v2"
	"time"
)

// Waits before a further attempt of a model call.
const (
	firstWait = 500 * time.Millisecond
	longWait  = 8 * time.Second
)

// wait is how long to wait before an attempt: what the loop says, which is what the provider asked for, and otherwise twice
// as long each time. A part of it is random, so that sessions that failed together do not come back together.
func wait(after time.Duration, attempt int) time.Duration {
	if attempt <= 1 {
		return after
	}
	base := min(firstWait<<min(attempt-2, 8), longWait)
	return max(after, base/2) + rand.N(base/2)
}

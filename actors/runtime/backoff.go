package runtime

import (
	"math/rand/v2"
	"time"

	"github.com/covel/covel/kernel/loop"
)

// wait is how long to wait before an attempt: what the loop says, which is what the provider asked for, and a random part
// of the backoff, so that sessions that failed together do not come back together.
func wait(after time.Duration, attempt int) time.Duration {
	base := loop.Backoff(attempt)
	if base == 0 {
		return after
	}
	return max(after, base/2) + rand.N(base/2)
}

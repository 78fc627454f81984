package runtime

import (
	"testing"
	"time"
)

// Rule BL-04: retries are jittered, and wait longer each time.
func TestWait(t *testing.T) {
	const first, long = 500 * time.Millisecond, 8 * time.Second
	for _, c := range []struct {
		after    time.Duration
		attempt  int
		min, max time.Duration
	}{
		{0, 1, 0, 0},
		{0, 2, first / 2, first},
		{0, 3, first, 2 * first},
		{0, 60, long / 2, long},
		{7 * time.Second, 2, 7 * time.Second, 7*time.Second + first/2},
	} {
		for range 50 {
			if got := wait(c.after, c.attempt); got < c.min || got > c.max {
				t.Errorf("attempt %d after %v waits %v, want %v to %v", c.attempt, c.after, got, c.min, c.max)
			}
		}
	}
}

package runtime

import (
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	for _, c := range []struct {
		after    time.Duration
		attempt  int
		min, max time.Duration
	}{
		{0, 1, 0, 0},
		{0, 2, firstWait / 2, firstWait},
		{0, 3, firstWait, 2 * firstWait},
		{0, 60, longWait / 2, longWait},
		{7 * time.Second, 2, 7 * time.Second, 7*time.Second + firstWait/2},
	} {
		for range 50 {
			if got := wait(c.after, c.attempt); got < c.min || got > c.max {
				t.Errorf("attempt %d after %v waits %v, want %v to %v", c.attempt, c.after, got, c.min, c.max)
			}
		}
	}
}

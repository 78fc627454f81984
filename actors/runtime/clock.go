package runtime

import "time"

// clock counts the time a run is charged for. It stands still while the model writes and while a call waits for its place
// among those that are open at once (reference: plugins.md §9.4).
type clock struct {
	remains time.Duration // when it was last started or stopped
	since   time.Time     // running since; zero: it stands still
	timer   *time.Timer
}

func startClock(limit time.Duration, up func()) *clock {
	return &clock{remains: limit, since: time.Now(), timer: time.AfterFunc(limit, up)}
}

// left is at least something: a run whose time is up hears of it from the timer.
func (k *clock) left() time.Duration {
	left := k.remains
	if !k.since.IsZero() {
		left -= time.Since(k.since)
	}
	return max(left, time.Millisecond)
}

// run lets the clock go on or stand still.
func (k *clock) run(on bool) {
	switch {
	case on && k.since.IsZero():
		k.since = time.Now()
		k.timer.Reset(k.remains)
	case !on && !k.since.IsZero():
		k.remains, k.since = k.left(), time.Time{}
		k.timer.Stop()
	}
}

func (k *clock) stop() { k.timer.Stop() }

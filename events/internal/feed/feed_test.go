package feed

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"go.uber.org/goleak"

	"github.com/covel/covel/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter pages through 1…*head by twos.
func counter(head *int, fail error) func() Page {
	return func() Page {
		at := 0
		return func() (evs []events.Recorded, atEnd bool, err error) {
			for len(evs) < 2 && at < *head {
				at++
				evs = append(evs, events.Recorded{Position: events.Position(at)})
			}
			if at == *head && fail != nil {
				return evs, false, fail
			}
			return evs, at == *head, nil
		}
	}
}

func positions(t *testing.T, seq func(func(events.Recorded, error) bool), limit int) (got []int, err error) {
	t.Helper()
	for r, e := range seq {
		if e != nil {
			return got, e
		}
		if got = append(got, int(r.Position)); len(got) == limit {
			return got, nil
		}
	}
	return got, nil
}

func TestToEnd(t *testing.T) {
	head := 5
	seq := ToEnd(t.Context(), counter(&head, nil))
	for range 2 { // a sequence begins anew each time
		if got, err := positions(t, seq, -1); len(got) != 5 || err != nil {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	if got, _ := positions(t, seq, 3); len(got) != 3 {
		t.Errorf("stopped consumer got %v", got)
	}
}

func TestToEndYieldsWhatStandsBeforeAnError(t *testing.T) {
	head := 3
	got, err := positions(t, ToEnd(t.Context(), counter(&head, io.ErrUnexpectedEOF)), -1)
	if len(got) != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFollowWaitsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		head := 3
		var hub Hub
		ctx, cancel := context.WithCancel(t.Context())
		var got []int
		var end error
		go func() { got, end = positions(t, Follow(ctx, Source{Hub: &hub}, "龙胆", counter(&head, nil)), -1) }()
		synctest.Wait()

		head = 4
		hub.Ring("陆青云") // another stream: stays asleep
		synctest.Wait()
		hub.Ring("陆青云", "龙胆")
		synctest.Wait()
		head = 9
		hub.Ring("龙胆")
		hub.Ring("龙胆") // two rings at once are one
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(got) != 9 || !errors.Is(end, context.Canceled) {
			t.Errorf("got %v, %v", got, end)
		}
		if len(hub.listeners) != 0 {
			t.Errorf("listeners left behind: %v", hub.listeners)
		}
	})
}

func TestRingDuringAPageIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub Hub
		head, looks := 1, 0
		open := func() Page {
			read := counter(&head, nil)()
			return func() ([]events.Recorded, bool, error) {
				evs, atEnd, err := read()
				if looks++; looks == 1 { // appended after the look, before the wait
					head = 2
					hub.Ring("any")
				}
				return evs, atEnd, err
			}
		}
		if got, err := positions(t, Follow(t.Context(), Source{Hub: &hub}, All, open), 2); len(got) != 2 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestFollowPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub Hub
		begun := time.Now()
		open := func() Page { // another process appends after a second, and nobody rings
			return func() ([]events.Recorded, bool, error) {
				if time.Since(begun) < time.Second {
					return nil, true, nil
				}
				return make([]events.Recorded, 1), true, nil
			}
		}
		seq := Follow(t.Context(), Source{Hub: &hub, Poll: 300 * time.Millisecond}, All, open)
		got, err := positions(t, seq, 1)
		if len(got) != 1 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		if late := time.Since(begun); late != 1200*time.Millisecond {
			t.Errorf("found after %v of the bubble's time, want 1.2s", late)
		}
	})
}

func TestFollowEndsWhenClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub Hub
		closed := make(chan struct{})
		open := func() Page {
			return func() ([]events.Recorded, bool, error) {
				select {
				case <-closed:
					return nil, false, events.ErrClosed
				default:
					return nil, true, nil
				}
			}
		}
		var end error
		go func() { _, end = positions(t, Follow(t.Context(), Source{Hub: &hub, Closed: closed}, All, open), -1) }()
		synctest.Wait()
		close(closed)
		synctest.Wait()
		if !errors.Is(end, events.ErrClosed) {
			t.Errorf("ended with %v", end)
		}
	})
}

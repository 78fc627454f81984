package feed

import (
	"context"
	"iter"
	"time"

	"github.com/covel/covel/events"
)

// Page reads what follows the events it returned before. atEnd means that nothing followed these when it looked. Events
// that come with an error are valid and stand before the error.
type Page func() (evs []events.Recorded, atEnd bool, err error)

// ToEnd yields page after page until one is at the end. open starts at the beginning; it is called once per range.
func ToEnd(ctx context.Context, open func() Page) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		next := open()
		for {
			if atEnd, goOn := turn(ctx, next, yield); atEnd || !goOn {
				return
			}
		}
	}
}

// Source says how the follower of a sequence learns that there may be more, and that the store is closed.
type Source struct {
	Hub    *Hub
	Closed <-chan struct{} // nil: never
	// Poll also looks again after this time, for logs that another process writes; 0: never.
	Poll time.Duration
}

// Follow yields page after page and waits at the end for more. It listens before it reads the first page, so nothing falls
// between what is stored and what is appended.
func Follow(ctx context.Context, src Source, key string, open func() Page) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		l := src.Hub.Listen(key)
		defer l.Stop()
		next := open()
		for {
			atEnd, goOn := turn(ctx, next, yield)
			if !goOn {
				return
			}
			if atEnd {
				src.wait(ctx, l)
			}
		}
	}
}

// turn reads one page and yields it. An error, or a consumer that has enough, ends the sequence.
func turn(ctx context.Context, next Page, yield func(events.Recorded, error) bool) (atEnd, goOn bool) {
	if err := ctx.Err(); err != nil {
		yield(events.Recorded{}, err)
		return false, false
	}
	evs, atEnd, err := next()
	for i := range evs {
		if !yield(evs[i], nil) {
			return false, false
		}
	}
	if err != nil {
		yield(events.Recorded{}, err)
		return false, false
	}
	return atEnd, true
}

// wait returns when looking again makes sense: the next page then says what there is, be it the end of ctx or of the store.
func (src Source) wait(ctx context.Context, l *Listener) {
	var tick <-chan time.Time
	if src.Poll > 0 {
		t := time.NewTimer(src.Poll)
		defer t.Stop()
		tick = t.C
	}
	select {
	case <-l.Rung:
	case <-tick:
	case <-ctx.Done():
	case <-src.Closed:
	}
}

package memory

import (
	"context"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// Kind says what a fault does to an append.
type Kind int

// Kinds of faults.
const (
	// Fail: nothing is written and Append returns Err.
	Fail Kind = iota
	// Delay: the append waits until Until is closed and then goes on as usual. A ctx that ends first gives its error, a
	// Reopen gives ErrClosed, and nothing is written.
	Delay
	// LoseAck: the events are written and Append returns ErrUnknown.
	LoseAck
	// UnknownNotWritten: nothing is written and Append returns ErrUnknown.
	UnknownNotWritten
)

// Fault hits one append: the Nth, or the first that When accepts, or with both the Nth and later ones that When accepts. It
// then is used up.
type Fault struct {
	// Nth counts the calls of Append from 1 over the life of the data, repeats and refused versions included, but not
	// calls with invalid arguments or on a closed store. 0 is the next call.
	Nth int
	// When picks by stream and events; nil accepts every append. It runs under a lock and must not call the store.
	When func(stream string, evs []events.Event) bool
	Kind Kind
	// Err is what Fail returns, in the chain of the error.
	Err error
	// Until ends a Delay; nil waits for the ctx.
	Until <-chan struct{}
}

type faults struct {
	calls   int
	pending []Fault
}

// Inject adds a fault. When several fit one append, the one that was injected first hits it.
func (s *Store) Inject(f Fault) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.faults.pending = append(s.log.faults.pending, f)
}

// Appends is how many appends were counted so far: a test that learns it from a run without faults can then repeat the run
// with a fault at each.
func (s *Store) Appends() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.faults.calls
}

// nextFault counts an append and takes the fault that hits it, nil when there is none.
func (l *log) nextFault(stream string, evs []events.Event) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	fs := &l.faults
	fs.calls++
	for i, f := range fs.pending {
		hit := f.When == nil && (f.Nth == 0 || f.Nth == fs.calls) ||
			f.When != nil && f.Nth <= fs.calls && f.When(stream, evs)
		if hit {
			fs.pending = append(fs.pending[:i:i], fs.pending[i+1:]...)
			return &f
		}
	}
	return nil
}

// before is what happens instead of, or before, the writing.
func (f *Fault) before(ctx context.Context, closed <-chan struct{}) error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case Fail:
		if f.Err == nil {
			return errors.New("injected failure")
		}
		return f.Err
	case Delay:
		select {
		case <-f.Until:
		case <-ctx.Done():
			return ctx.Err()
		case <-closed:
			return events.ErrClosed
		}
	case UnknownNotWritten:
		return events.ErrUnknown
	case LoseAck: // after the writing
	}
	return nil
}

// after is what happens to the answer of an append that was written.
func (f *Fault) after() error {
	if f != nil && f.Kind == LoseAck {
		return events.ErrUnknown
	}
	return nil
}

package simulation

import (
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// fault is what the store does to an append.
type fault int

const (
	noFault     fault = iota
	refuses           // nothing is written and will be: a full disk
	landsUnseen       // written, the answer is lost
	losesIt           // not written, the answer is lost
	hangs             // the answer is lost, and the write may still come
	faults            // how many there are
)

// log is the store: the truth about one stream, what folding it gives at each version, and how it can be wrong.
type log struct {
	recorded []events.Recorded
	states   []projections.State // by version
	written  [][]byte            // the states written out, by version, where somebody asked
	zombies  []session.Append    // writes that hang

	noFence, halves bool // ways of being a bad store, for the test of the simulation
}

// outcome is what became of an append.
type outcome int

const (
	done outcome = iota
	wrongVersion
)

// append does what a sound store does: all or nothing at the expected version, and a repeat of what stands there is done.
func (w *world) append(a session.Append) (outcome, events.Recorded) {
	l := &w.log
	at := int(a.Expected)
	if at != len(l.recorded) && !l.noFence {
		if at+len(a.Events) > len(l.recorded) {
			return wrongVersion, events.Recorded{}
		}
		for i, ev := range a.Events {
			if l.recorded[at+i].ID != ev.ID {
				return wrongVersion, events.Recorded{}
			}
		}
		for i, ev := range a.Events {
			if string(l.recorded[at+i].Data) != string(ev.Data) {
				w.book.Blame("version %d is taken for another event with the same id", at+i+1)
			}
		}
		return done, l.recorded[at+len(a.Events)-1]
	}
	evs := a.Events
	if l.halves && len(evs) > 2 {
		evs = evs[:len(evs)-1]
	}
	from := len(l.recorded)
	state := l.states[from]
	for i, ev := range evs {
		r := events.Recorded{
			Event: ev, Stream: streamOf, Version: events.Version(from + i + 1), Position: events.Position(from + i + 1), RecordedAt: w.now,
		}
		l.recorded = append(l.recorded, r)
		next, err := projections.Apply(state, r)
		if err != nil {
			w.book.Blame("version %d does not fold: %v", r.Version, err)
			next = state
			next.Version = r.Version
		}
		state = next
		l.states = append(l.states, state)
	}
	w.book.Append(l.recorded[from:])
	for _, s := range w.shells {
		if s != nil {
			s.seen = append(s.seen, events.Version(len(l.recorded)))
		}
	}
	return done, l.recorded[len(l.recorded)-1]
}

func (l *log) head() events.Version { return events.Version(len(l.recorded)) }

// top is the fold of the whole log.
func (l *log) top() projections.State { return l.states[len(l.states)-1] }

// encoded is the fold of the log at a version, written out.
func (l *log) encoded(at events.Version) []byte {
	if n := len(l.states) - len(l.written); n > 0 {
		l.written = append(l.written, make([][]byte, n)...)
	}
	if l.written[at] == nil {
		b, err := l.states[at].Encode()
		if err != nil {
			b = []byte(err.Error())
		}
		l.written[at] = b
	}
	return l.written[at]
}

// fold reads the log as an activation does, from the newest snapshot that fits or whole.
func (w *world) fold(whole bool) projections.State {
	if whole || len(w.snapshots) == 0 {
		return w.log.top() // folded event by event as it was written; the same as folding it now
	}
	newest := w.snapshots[len(w.snapshots)-1]
	if err := newest.on(&w.log); err != nil {
		w.book.Blame("the log does not fold from a snapshot: %v", err)
		return w.log.top()
	}
	if newest.whole {
		return w.fold(true)
	}
	return newest.state
}

// epoch is when the simulated clock starts.
var epoch = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

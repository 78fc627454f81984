package storetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Names that tests use for streams: as players and authors write them.
const (
	stream1 = "session-陆青云"
	stream2 = "session-龙胆"
	stream3 = "session-E\u0301lodie" // decomposed
	stream4 = "session-🐉"
	plain   = "low-water-7k2m9qxa"
)

// harness is one test's store.
type harness struct {
	t       *testing.T
	factory Factory
	store   events.Store
	// ctx bounds the whole test, so that a store that hangs fails it with an error and not with the test binary.
	ctx context.Context
	// background are the goroutines of the test. They end with the store and with ctx, and are waited for.
	background sync.WaitGroup
}

func open(t *testing.T, f Factory) *harness {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	h := &harness{t: t, factory: f, ctx: ctx}
	t.Cleanup(h.background.Wait)
	t.Cleanup(cancel)
	h.reopen()
	t.Cleanup(func() {
		if err := h.store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// await waits for a signal of a goroutine of the test.
func (h *harness) await(signal <-chan struct{}) {
	h.t.Helper()
	if !wait(h.ctx, signal) {
		h.t.Fatal("the store hangs")
	}
}

func wait(ctx context.Context, signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	case <-ctx.Done():
		return false
	}
}

// reopen closes the store, if one is open, and opens the data again.
func (h *harness) reopen() {
	h.t.Helper()
	if h.store != nil {
		if err := h.store.Close(); err != nil {
			h.t.Fatalf("close: %v", err)
		}
	}
	s, err := h.factory.Open()
	if err != nil {
		h.t.Fatalf("open: %v", err)
	}
	h.store = s
}

// event makes an event that differs from all others.
func event(text string) events.Event {
	return events.Event{
		ID: uuid.New(), Type: "NarrativeAppended", SchemaVersion: 1, Data: []byte(text),
		Metadata: &eventsv1.Metadata{CorrelationId: "请求-" + text, LogicalTurn: 7, SeatId: "座位"},
	}
}

func some(n int, text string) []events.Event {
	evs := make([]events.Event, n)
	for i := range evs {
		evs[i] = event(fmt.Sprintf("%s %d/%d", text, i+1, n))
	}
	return evs
}

func (h *harness) append(stream string, expected events.Version, evs ...events.Event) events.Appended {
	h.t.Helper()
	done, err := h.store.Append(h.ctx, stream, expected, evs)
	if err != nil {
		h.t.Fatalf("append %d events to %s at %d: %v", len(evs), stream, expected, err)
	}
	if want := expected + events.Version(len(evs)); done.Version != want {
		h.t.Fatalf("append of %d events at %d answers version %d", len(evs), expected, done.Version)
	}
	return done
}

// all reads a sequence to its end and fails the test on an error.
func all(t testing.TB, seq iter.Seq2[events.Recorded, error]) []events.Recorded {
	t.Helper()
	evs, err := until(seq, -1)
	if err != nil {
		t.Fatalf("after %d events: %v", len(evs), err)
	}
	return evs
}

// until reads n events, or all when n is negative, or up to an error.
func until(seq iter.Seq2[events.Recorded, error], n int) (evs []events.Recorded, err error) {
	if n == 0 {
		return nil, nil
	}
	for r, err := range seq {
		if err != nil {
			return evs, err
		}
		if evs = append(evs, r); len(evs) == n {
			return evs, nil
		}
	}
	return evs, nil
}

func (h *harness) stream(stream string) []events.Recorded {
	h.t.Helper()
	return all(h.t, h.store.ReadStream(h.ctx, stream, 0))
}

func (h *harness) version(stream string) events.Version {
	h.t.Helper()
	v, err := h.store.StreamVersion(h.ctx, stream)
	if err != nil {
		h.t.Fatalf("version of %s: %v", stream, err)
	}
	return v
}

func (h *harness) head() events.Position {
	h.t.Helper()
	p, err := h.store.Head(h.ctx)
	if err != nil {
		h.t.Fatalf("head: %v", err)
	}
	return p
}

// same compares events with what was appended, in order.
func same(got []events.Recorded, want []events.Event) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d events, want %d", len(got), len(want))
	}
	for i := range want {
		if err := sameEvent(got[i].Event, want[i]); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

func sameEvent(got, want events.Event) error {
	switch {
	case got.ID != want.ID:
		return fmt.Errorf("id %s, want %s", got.ID, want.ID)
	case got.Type != want.Type, got.SchemaVersion != want.SchemaVersion:
		return fmt.Errorf("type %s v%d, want %s v%d", got.Type, got.SchemaVersion, want.Type, want.SchemaVersion)
	case !bytes.Equal(got.Data, want.Data):
		return fmt.Errorf("data %.80q, want %.80q", got.Data, want.Data)
	case (got.Metadata == nil) != (want.Metadata == nil), !proto.Equal(got.Metadata, want.Metadata):
		return fmt.Errorf("metadata %v, want %v", got.Metadata, want.Metadata)
	}
	return nil
}

// sameRecorded compares two readings of the same events.
func sameRecorded(got, want []events.Recorded) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d events, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.Stream != w.Stream || g.Version != w.Version || g.Position != w.Position || !g.RecordedAt.Equal(w.RecordedAt) {
			return fmt.Errorf("event %d: got %s %d at position %d of %v, want %s %d at %d of %v",
				i, g.Stream, g.Version, g.Position, g.RecordedAt, w.Stream, w.Version, w.Position, w.RecordedAt)
		}
		if err := sameEvent(g.Event, w.Event); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// inOrder checks what must hold of any reading of the log: positions rise, and versions of a stream follow each other
// without a gap, beginning at first[stream] (1 when it is not there).
func inOrder(evs []events.Recorded, first map[string]events.Version) error {
	next := map[string]events.Version{}
	var last events.Position
	for i, r := range evs {
		if r.Position <= last {
			return fmt.Errorf("event %d has position %d after %d", i, r.Position, last)
		}
		last = r.Position
		want, begun := next[r.Stream]
		if !begun {
			if want = first[r.Stream]; want == 0 {
				want = 1
			}
		}
		if r.Version != want {
			return fmt.Errorf("event %d is version %d of %s, want %d", i, r.Version, r.Stream, want)
		}
		next[r.Stream] = want + 1
	}
	return nil
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func testAppend(t *testing.T, h *harness) {
	if v, p := h.version(stream1), h.head(); v != 0 || p != 0 {
		t.Errorf("empty log: version %d, head %d", v, p)
	}
	want := []events.Event{
		event("陆青云推开门。"),
		{ID: uuid.New(), Type: "SessionPaused", SchemaVersion: 1}, // no data, no metadata
		{ID: uuid.New(), Type: "龙胆", SchemaVersion: 1<<32 - 1, Data: []byte{0}, Metadata: &eventsv1.Metadata{}}, // unknown type, empty metadata
	}
	first := h.append(stream1, 0, want...)
	other := h.append(stream2, 0, event("other"))
	second := h.append(stream1, 3, event("again"))
	if first.Position < 3 || other.Position <= first.Position || second.Position <= other.Position {
		t.Errorf("positions %d, %d, %d do not rise", first.Position, other.Position, second.Position)
	}
	if v, p := h.version(stream1), h.head(); v != 4 || p != second.Position {
		t.Errorf("version %d, head %d; want 4, %d", v, p, second.Position)
	}
	got := h.stream(stream1)[:3]
	if err := same(got, want); err != nil {
		t.Error(err)
	}
	for i, r := range got {
		if r.Stream != stream1 || r.Version != events.Version(i+1) {
			t.Errorf("event %d is %s version %d", i, r.Stream, r.Version)
		}
		if at := r.RecordedAt; at.IsZero() || at.Location() != time.UTC || at != at.Truncate(time.Microsecond) {
			t.Errorf("event %d was recorded at %v, want UTC in microseconds", i, at)
		}
	}
	if got[2].Position != first.Position || got[0].RecordedAt != first.RecordedAt || got[2].RecordedAt != first.RecordedAt {
		t.Errorf("events at position %d of %v, the append answered %+v", got[2].Position, got[2].RecordedAt, first)
	}
}

func testInvalidArguments(t *testing.T, h *harness) {
	ok := event("ok")
	change := func(f func(*events.Event)) []events.Event {
		ev := event("wrong")
		f(&ev)
		return []events.Event{ok, ev} // the first alone would be fine
	}
	for _, tt := range []struct {
		name, stream string
		evs          []events.Event
	}{
		{"no events", stream1, nil},
		{"no stream", "", []events.Event{ok}},
		{"long stream", strings.Repeat("龙", events.MaxStreamName/3+1), []events.Event{ok}},
		{"stream is not UTF-8", "a\xff", []events.Event{ok}},
		{"stream with NUL", "a\x00b", []events.Event{ok}},
		{"no id", stream1, change(func(ev *events.Event) { ev.ID = uuid.Nil })},
		{"no type", stream1, change(func(ev *events.Event) { ev.Type = "" })},
		{"type is not UTF-8", stream1, change(func(ev *events.Event) { ev.Type = "\xc3" })},
		{"no schema version", stream1, change(func(ev *events.Event) { ev.SchemaVersion = 0 })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := h.store.Append(h.ctx, tt.stream, 0, tt.evs); !errors.Is(err, events.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
		})
	}
	if err := h.store.DeleteStream(h.ctx, ""); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("delete without a name: %v", err)
	}
	if v, p := h.version(stream1), h.head(); v != 0 || p != 0 {
		t.Errorf("something was written: version %d, head %d", v, p)
	}
}

func testExpectedVersion(t *testing.T, h *harness) {
	h.append(stream1, 0, some(3, "a")...)
	for _, tt := range []struct {
		stream   string
		expected events.Version
	}{
		{stream1, 0}, {stream1, 1}, {stream1, 2}, {stream1, 4}, {stream1, 1 << 40}, {stream1, 1<<64 - 1},
		{stream2, 1}, {stream2, 1<<64 - 1},
	} {
		for _, n := range []int{1, 2, 5} {
			if _, err := h.store.Append(h.ctx, tt.stream, tt.expected, some(n, "wrong")); !errors.Is(err, events.ErrWrongVersion) {
				t.Errorf("%d events to %s at %d: %v", n, tt.stream, tt.expected, err)
			}
		}
	}
	if v1, v2 := h.version(stream1), h.version(stream2); v1 != 3 || v2 != 0 {
		t.Errorf("versions %d and %d, want 3 and 0", v1, v2)
	}
	h.append(stream1, 3, event("right"))
	h.append(stream2, events.NoStream, event("right"))
}

// testAllOrNothing reads while appends of seven are written: a reader must never see a part of one.
func testAllOrNothing(t *testing.T, h *harness) {
	const size, appends = 7, 40
	wg := &h.background
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				for name, seq := range map[string]func() ([]events.Recorded, error){
					"stream":   func() ([]events.Recorded, error) { return until(h.store.ReadStream(h.ctx, stream1, 0), -1) },
					"backward": func() ([]events.Recorded, error) { return until(h.store.ReadStreamBackward(h.ctx, stream1, 0), -1) },
					"all":      func() ([]events.Recorded, error) { return until(h.store.ReadAll(h.ctx, 0), -1) },
				} {
					if evs, err := seq(); err != nil || len(evs)%size != 0 {
						t.Errorf("%s: read %d events (%v), appends have %d", name, len(evs), err, size)
						return
					}
				}
				if v, err := h.store.StreamVersion(h.ctx, stream1); err != nil || v%size != 0 {
					t.Errorf("stream is at version %d (%v)", v, err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range appends {
		h.append(stream1, events.Version(i*size), some(size, fmt.Sprint(i))...)
	}
	close(done)
	wg.Wait()
}

func testRepeat(t *testing.T, h *harness) {
	evs := some(6, "七")
	first := h.append(stream1, 0, evs[:2]...)
	second := h.append(stream1, 2, evs[2:5]...)
	last := h.append(stream1, 5, evs[5])
	h.append(stream2, 0, some(2, "b")...)
	changed := slices.Clone(evs[2:5])
	changed[1].ID = uuid.New()
	swapped := []events.Event{evs[3], evs[2], evs[4]}
	for _, tt := range []struct {
		name     string
		stream   string
		expected events.Version
		evs      []events.Event
		want     events.Appended
		err      error
	}{
		{"the first", stream1, 0, evs[:2], first, nil},
		{"one in the middle", stream1, 2, evs[2:5], second, nil},
		{"the last", stream1, 5, evs[5:], last, nil},
		{"two appends as one", stream1, 0, evs[:5], second, nil},
		{"same ids, expected too low", stream1, 1, evs[2:5], events.Appended{}, events.ErrWrongVersion},
		{"same ids, expected too high", stream1, 3, evs[2:5], events.Appended{}, events.ErrWrongVersion},
		{"one id differs", stream1, 2, changed, events.Appended{}, events.ErrWrongVersion},
		{"another order", stream1, 2, swapped, events.Appended{}, events.ErrWrongVersion},
		{"one more at the end", stream1, 5, append(slices.Clone(evs[5:]), event("more")), events.Appended{}, events.ErrWrongVersion},
		{"another stream", stream2, 0, evs[:2], events.Appended{}, events.ErrWrongVersion},
		{"another new stream", stream3, 2, evs[2:5], events.Appended{}, events.ErrWrongVersion},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				got, err := h.store.Append(h.ctx, tt.stream, tt.expected, tt.evs)
				if !errors.Is(err, tt.err) || got != tt.want {
					t.Errorf("got %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
				}
			}
		})
	}
	if err := same(h.stream(stream1), evs); err != nil {
		t.Error(err)
	}
	// Ids matter only where they stand: at the end they are new events.
	h.append(stream1, 6, evs[0])

	// Repeats at the same time are also done once.
	again := some(3, "同时")
	wg := &h.background
	for range 8 {
		wg.Go(func() {
			if got, err := h.store.Append(h.ctx, stream1, 7, again); err != nil || got.Version != 10 {
				t.Errorf("one of eight repeats: %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if v := h.version(stream1); v != 10 {
		t.Errorf("version %d after repeats, want 10", v)
	}
}

func testRacingForOneStream(t *testing.T, h *harness) {
	const racers, rounds = 16, 12
	for round := range rounds {
		wg := &h.background
		var mu sync.Mutex
		var won []events.Event
		for i := range racers {
			wg.Go(func() {
				ev := event(fmt.Sprintf("round %d racer %d", round, i))
				_, err := h.store.Append(h.ctx, stream1, events.Version(round), []events.Event{ev})
				if err == nil {
					mu.Lock()
					won = append(won, ev)
					mu.Unlock()
				} else if !errors.Is(err, events.ErrWrongVersion) {
					t.Errorf("racer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("round %d: %d appends won", round, len(won))
		}
		got := all(t, h.store.ReadStreamBackward(h.ctx, stream1, 0))
		if len(got) != round+1 || got[0].ID != won[0].ID {
			t.Fatalf("round %d: the stream has %d events and ends with %.40q", round, len(got), got[0].Data)
		}
	}
}

func testManyStreamsAtOnce(t *testing.T, h *harness) {
	const writers, appends = 24, 8
	want := make([][]events.Event, writers)
	wg := &h.background
	for i := range writers {
		wg.Go(func() {
			stream := fmt.Sprintf("%s-%d", stream1, i)
			var last events.Position
			for n := range appends {
				evs := some(1+n%3, stream)
				done, err := h.store.Append(h.ctx, stream, events.Version(len(want[i])), evs)
				if err != nil {
					t.Errorf("%s: %v", stream, err)
					return
				}
				if done.Position <= last {
					t.Errorf("%s: position %d after %d", stream, done.Position, last)
				}
				last = done.Position
				want[i] = append(want[i], evs...)
			}
		})
	}
	wg.Wait()
	total := 0
	for i := range writers {
		got := h.stream(fmt.Sprintf("%s-%d", stream1, i))
		if err := same(got, want[i]); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
		total += len(got)
	}
	log := all(t, h.store.ReadAll(h.ctx, 0))
	if err := inOrder(log, nil); err != nil || len(log) != total {
		t.Errorf("log of %d events, want %d: %v", len(log), total, err)
	}
}

func testSlicesAreNotShared(t *testing.T, h *harness) {
	ev := event("龙胆")
	want := event("龙胆")
	want.ID, want.Metadata.CorrelationId = ev.ID, ev.Metadata.CorrelationId
	evs := []events.Event{ev}
	h.append(stream1, 0, evs...)

	copy(evs[0].Data, "xxxxxx")
	evs[0].Metadata.CorrelationId = "changed"
	got := h.stream(stream1)
	if err := same(got, []events.Event{want}); err != nil {
		t.Errorf("after changing what was handed in: %v", err)
	}
	copy(got[0].Data, "yyyyyy")
	got[0].Metadata.CorrelationId = "changed again"
	if err := same(h.stream(stream1), []events.Event{want}); err != nil {
		t.Errorf("after changing what was handed out: %v", err)
	}
}

func testEndedContext(t *testing.T, h *harness) {
	h.append(stream1, 0, event("a"))
	ended, cancel := context.WithCancel(h.ctx)
	cancel()
	if _, err := h.store.Append(ended, stream1, 1, some(1, "b")); !errors.Is(err, context.Canceled) || errors.Is(err, events.ErrUnknown) {
		t.Errorf("append: %v, want the error of the context and nothing unknown", err)
	}
	if v := h.version(stream1); v != 1 {
		t.Errorf("version %d: something was written", v)
	}
	if err := h.store.DeleteStream(ended, stream1); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v", err)
	}
	if _, err := h.store.StreamVersion(ended, stream1); !errors.Is(err, context.Canceled) {
		t.Errorf("version: %v", err)
	}
	if _, err := h.store.Head(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("head: %v", err)
	}
	for name, seq := range h.sequences(ended) {
		if evs, err := until(seq, -1); len(evs) != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %d events and %v, want the error of the context", name, len(evs), err)
		}
	}

	// Contexts that end at any moment of an append: it is done, or not begun, or unknown; and a repeat clears that up.
	version := events.Version(1)
	for i := range 60 {
		ctx, cancel := context.WithCancel(h.ctx)
		evs := some(1+i%3, fmt.Sprint("cut off ", i))
		wg := &h.background
		wg.Go(cancel)
		_, err := h.store.Append(ctx, stream1, version, evs)
		wg.Wait()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v", err)
		}
		// What was not written now must not be written later, behind the next append.
		h.append(stream2, events.Version(i), event("in between"))
		if v := h.version(stream1); err != nil && !errors.Is(err, events.ErrUnknown) && v != version {
			t.Fatalf("append answered %v and the stream went from %d to %d", err, version, v)
		}
		version = h.append(stream1, version, evs...).Version
	}
	if got := h.stream(stream1); len(got) != int(version) {
		t.Errorf("%d events at version %d", len(got), version)
	}
}

func testTooLarge(t *testing.T, h *harness, limit int) {
	ev := event("")
	ev.Data = make([]byte, limit+1)
	if _, err := h.store.Append(h.ctx, stream1, 0, []events.Event{event("small"), ev}); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if v := h.version(stream1); v != 0 {
		t.Errorf("version %d: something was written", v)
	}
}

func testFaults(t *testing.T, h *harness) {
	version := events.Version(0)
	for round := range 3 {
		for _, fault := range []Fault{LoseAck, UnknownNotWritten} {
			t.Run(fmt.Sprint(fault, " ", round), func(t *testing.T) {
				evs := some(1+round, fault.String())
				h.factory.Inject(fault)
				if _, err := h.store.Append(h.ctx, stream1, version, evs); !errors.Is(err, events.ErrUnknown) {
					t.Fatalf("got %v, want ErrUnknown", err)
				}
				before := h.version(stream1)
				if written := before > version; written != (fault == LoseAck) {
					t.Errorf("written: %v", written)
				}
				if round == 1 { // another append in between changes nothing
					h.append(stream2, h.version(stream2), event("between"))
				}
				if round == 2 { // a foreign append that came first makes the repeat fail, unless it was written
					foreign := event("foreign")
					_, err := h.store.Append(h.ctx, stream1, version, []events.Event{foreign})
					if (fault == LoseAck) != errors.Is(err, events.ErrWrongVersion) || fault == UnknownNotWritten && err != nil {
						t.Fatalf("foreign append: %v", err)
					}
					_, err = h.store.Append(h.ctx, stream1, version, evs)
					if (fault == UnknownNotWritten) != errors.Is(err, events.ErrWrongVersion) || fault == LoseAck && err != nil {
						t.Fatalf("repeat: %v", err)
					}
					version = h.version(stream1)
					return
				}
				version = h.append(stream1, version, evs...).Version
				version = h.append(stream1, version, event("next")).Version
			})
		}
	}
	if err := inOrder(all(t, h.store.ReadAll(h.ctx, 0)), nil); err != nil {
		t.Error(err)
	}
}

// testFaultsAreFollowed: what was written without an acknowledgement reaches those who follow, at the latest when the store
// has written something else.
func testFaultsAreFollowed(t *testing.T, h *harness) {
	h.append(stream1, 0, event("before"))
	seen := make(chan struct{}, 2)
	h.background.Go(func() {
		for r, err := range h.store.SubscribeStream(h.ctx, stream1, 0) {
			if err != nil {
				t.Errorf("subscription: %v", err)
				return
			}
			seen <- struct{}{}
			if r.Version == 2 {
				return
			}
		}
	})
	h.await(seen)
	h.factory.Inject(LoseAck)
	if _, err := h.store.Append(h.ctx, stream1, 1, some(1, "unknown")); !errors.Is(err, events.ErrUnknown) {
		t.Fatal(err)
	}
	h.append(stream2, 0, event("another stream"))
	h.await(seen)
	h.background.Wait()
}

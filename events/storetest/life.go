package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/covel/covel/events"
)

func testDelete(t *testing.T, h *harness) {
	evs := some(3, "a")
	h.append(stream1, 0, evs...)
	kept := some(2, "b")
	h.append(stream2, 0, kept...)
	last := h.append(stream1, 3, event("the newest of all"))

	for range 2 { // the second time it is deleted already
		if err := h.store.DeleteStream(h.ctx, stream1); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.store.DeleteStream(h.ctx, stream3); err != nil {
		t.Errorf("delete of a stream that does not exist: %v", err)
	}
	check := func() {
		t.Helper()
		for _, s := range []string{stream1, stream3} {
			if v := h.version(s); v != 0 {
				t.Errorf("deleted %s has version %d", s, v)
			}
			for _, seq := range [][]events.Recorded{h.stream(s), all(t, h.store.ReadStreamBackward(h.ctx, s, 0))} {
				if len(seq) != 0 {
					t.Errorf("deleted %s has %d events", s, len(seq))
				}
			}
			for _, expected := range []events.Version{0, 3, 4} {
				if _, err := h.store.Append(h.ctx, s, expected, some(1, "c")); !errors.Is(err, events.ErrStreamDeleted) {
					t.Errorf("append to deleted %s at %d: %v", s, expected, err)
				}
			}
			if _, err := h.store.Append(h.ctx, s, 0, evs); !errors.Is(err, events.ErrStreamDeleted) {
				t.Errorf("repeat on deleted %s: %v", s, err)
			}
		}
		if err := same(all(t, h.store.ReadAll(h.ctx, 0)), kept); err != nil {
			t.Errorf("log without the deleted stream: %v", err)
		}
		if head := h.head(); head < last.Position {
			t.Errorf("head fell from %d to %d", last.Position, head)
		}
	}
	check()
	before := h.head()
	next := event("next")
	if done := h.append(stream2, 2, next); done.Position <= last.Position || done.Position <= before {
		t.Errorf("position %d is used again; the deleted stream had %d", done.Position, last.Position)
	}
	kept = append(kept, next)
	check()
}

func testDeleteEndsSubscription(t *testing.T, h *harness) {
	h.append(stream1, 0, some(2, "a")...)
	wg := &h.background
	read := make(chan struct{}, 2)
	wg.Go(func() {
		var last error
		for _, err := range h.store.SubscribeStream(h.ctx, stream1, 0) {
			if last = err; err == nil {
				read <- struct{}{}
			}
		}
		if !errors.Is(last, events.ErrStreamDeleted) {
			t.Errorf("subscription ended with %v", last)
		}
	})
	h.await(read)
	h.await(read)
	if err := h.store.DeleteStream(h.ctx, stream1); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if evs, err := until(h.store.SubscribeStream(h.ctx, stream1, 0), -1); len(evs) != 0 || !errors.Is(err, events.ErrStreamDeleted) {
		t.Errorf("subscription to a deleted stream: %d events, %v", len(evs), err)
	}
}

// testDeleteWhileRead deletes under a reader: it may have read all or be told, but must not see a shorter stream.
func testDeleteWhileRead(t *testing.T, h *harness) {
	const n = 1500
	for name, read := range map[string]func(stream string) ([]events.Recorded, error){
		"forward": func(s string) ([]events.Recorded, error) { return deleting(h, s, h.store.ReadStream(h.ctx, s, 0)) },
		"backward": func(s string) ([]events.Recorded, error) {
			return deleting(h, s, h.store.ReadStreamBackward(h.ctx, s, 0))
		},
	} {
		stream := stream1 + name
		for v := events.Version(0); v < n; {
			v = h.append(stream, v, some(3, "a")...).Version
		}
		got, err := read(stream)
		if !(err == nil && len(got) == n || errors.Is(err, events.ErrStreamDeleted) && len(got) > 0) {
			t.Errorf("%s: %d events and %v", name, len(got), err)
		}
	}

	// The log as a whole goes on without the stream.
	h.append(stream2, 0, event("before"))
	for v := events.Version(0); v < n; {
		v = h.append(stream1, v, some(3, "a")...).Version
	}
	got, err := deleting(h, stream1, h.store.ReadAll(h.ctx, 0))
	if err != nil || len(got) > n+1 {
		t.Errorf("all: %d events and %v", len(got), err)
	}
}

func deleting(h *harness, stream string, seq func(func(events.Recorded, error) bool)) (got []events.Recorded, err error) {
	for r, err := range seq {
		if err != nil {
			return got, err
		}
		if got = append(got, r); len(got) == 1 {
			if err := h.store.DeleteStream(h.ctx, stream); err != nil {
				return got, fmt.Errorf("delete: %w", err)
			}
		}
	}
	return got, nil
}

func testLogID(t *testing.T, h *harness) {
	if id := h.store.LogID(); id == uuid.Nil || id != h.store.LogID() {
		t.Errorf("log id %s", id)
	}
}

func testClose(t *testing.T, h *harness) {
	h.append(stream1, 0, event("a"))
	wg := &h.background
	read := make(chan struct{}, 1)
	wg.Go(func() {
		var last error
		for _, err := range h.store.Subscribe(h.ctx, 0) {
			if last = err; err == nil {
				select {
				case read <- struct{}{}:
				default: // an append beside the closing was seen too
				}
			}
		}
		if !errors.Is(last, events.ErrClosed) {
			t.Errorf("subscription ended with %v", last)
		}
	})
	h.await(read)
	// Appends under way are finished: done, or refused because it was closed before them.
	for i := range 8 {
		wg.Go(func() {
			if _, err := h.store.Append(h.ctx, fmt.Sprint(stream2, i), 0, some(1, "b")); err != nil && !errors.Is(err, events.ErrClosed) {
				t.Errorf("append beside the closing: %v", err)
			}
		})
	}
	for range 2 {
		if err := h.store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	wg.Wait()
	if _, err := h.store.Append(h.ctx, stream1, 1, some(1, "c")); !errors.Is(err, events.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := h.store.DeleteStream(h.ctx, stream1); !errors.Is(err, events.ErrClosed) {
		t.Errorf("delete: %v", err)
	}
	if _, err := h.store.StreamVersion(h.ctx, stream1); !errors.Is(err, events.ErrClosed) {
		t.Errorf("version: %v", err)
	}
	if _, err := h.store.Head(h.ctx); !errors.Is(err, events.ErrClosed) {
		t.Errorf("head: %v", err)
	}
	for name, seq := range h.sequences(h.ctx) {
		if evs, err := until(seq, -1); len(evs) != 0 || !errors.Is(err, events.ErrClosed) {
			t.Errorf("%s: %d events and %v", name, len(evs), err)
		}
	}
}

func testReopen(t *testing.T, h *harness) {
	id := h.store.LogID()
	evs := some(4, "a")
	h.append(stream1, 0, evs[:3]...)
	h.append(stream2, 0, some(2, "b")...)
	h.append(stream3, 0, some(2, "the newest are deleted")...)
	if err := h.store.DeleteStream(h.ctx, stream3); err != nil {
		t.Fatal(err)
	}
	before, head := all(t, h.store.ReadAll(h.ctx, 0)), h.head()

	for range 2 {
		h.reopen()
		if got := h.store.LogID(); got != id {
			t.Errorf("log id changed from %s to %s", id, got)
		}
		if err := sameRecorded(all(t, h.store.ReadAll(h.ctx, 0)), before); err != nil {
			t.Error(err)
		}
		if got := h.head(); got != head {
			t.Errorf("head is %d, was %d", got, head)
		}
	}
	if _, err := h.store.Append(h.ctx, stream3, 0, some(1, "c")); !errors.Is(err, events.ErrStreamDeleted) {
		t.Errorf("tombstone was forgotten: %v", err)
	}
	if _, err := h.store.Append(h.ctx, stream1, 1, some(1, "c")); !errors.Is(err, events.ErrWrongVersion) {
		t.Errorf("version was forgotten: %v", err)
	}
	h.append(stream1, 0, evs[:3]...) // a repeat across the restart is done already
	if done := h.append(stream1, 3, evs[3]); done.Position <= head {
		t.Errorf("position %d after head %d", done.Position, head)
	}
	if got := h.stream(stream1); len(got) != 4 {
		t.Errorf("%d events, want 4", len(got))
	}
}

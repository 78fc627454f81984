package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
)

const stream = "session-龙胆"

func event() events.Event {
	return events.Event{ID: uuid.New(), Type: "SessionPaused", SchemaVersion: 1}
}

func version(t *testing.T, s *memory.Store, name string) events.Version {
	t.Helper()
	v, err := s.StreamVersion(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFaultAtTheNth appends five times, with a fault of each kind at each, and repeats what is not known to be done.
func TestFaultAtTheNth(t *testing.T) {
	down := errors.New("the store is down")
	for _, tt := range []struct {
		kind    memory.Kind
		err     error
		written bool
	}{
		{memory.Fail, down, false}, {memory.LoseAck, events.ErrUnknown, true}, {memory.UnknownNotWritten, events.ErrUnknown, false},
	} {
		for nth := 1; nth <= 5; nth++ {
			s := memory.New(memory.Options{})
			s.Inject(memory.Fault{Nth: nth, Kind: tt.kind, Err: down})
			for v := range events.Version(5) {
				evs := []events.Event{event()}
				_, err := s.Append(t.Context(), stream, v, evs)
				if hit := int(v)+1 == nth; !hit {
					if err != nil {
						t.Fatalf("kind %d at %d hit append %d: %v", tt.kind, nth, v+1, err)
					}
					continue
				}
				if !errors.Is(err, tt.err) {
					t.Fatalf("kind %d at %d: %v", tt.kind, nth, err)
				}
				if written := version(t, s, stream) > v; written != tt.written {
					t.Errorf("kind %d at %d: written: %v", tt.kind, nth, written)
				}
				if again, err := s.Append(t.Context(), stream, v, evs); err != nil || again.Version != v+1 {
					t.Errorf("kind %d at %d: repeat: %+v, %v", tt.kind, nth, again, err)
				}
			}
			if v, n := version(t, s, stream), s.Appends(); v != 5 || n != 6 {
				t.Errorf("kind %d at %d: version %d after %d appends", tt.kind, nth, v, n)
			}
		}
	}
}

func TestFaultsCountOverRestarts(t *testing.T) {
	s := memory.New(memory.Options{})
	s.Inject(memory.Fault{Nth: 2, Kind: memory.UnknownNotWritten})
	s.Inject(memory.Fault{Nth: 2, Kind: memory.Fail}) // the second for the same append: never comes
	if _, err := s.Append(t.Context(), "", 0, nil); !errors.Is(err, events.ErrInvalid) {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), stream, 0, []events.Event{event()}); err != nil {
		t.Fatal(err)
	}
	old := s
	s = s.Reopen()
	if _, err := old.Append(t.Context(), stream, 1, []events.Event{event()}); !errors.Is(err, events.ErrClosed) {
		t.Errorf("the old handle: %v", err)
	}
	if s.LogID() != old.LogID() || version(t, s, stream) != 1 {
		t.Error("the data is not the same")
	}
	if _, err := s.Append(t.Context(), stream, 1, []events.Event{event()}); !errors.Is(err, events.ErrUnknown) {
		t.Errorf("the second append: %v", err)
	}
	if _, err := s.Append(t.Context(), stream, 1, []events.Event{event()}); err != nil {
		t.Errorf("the third append: %v", err)
	}
}

func TestFaultByWhatIsAppended(t *testing.T) {
	s := memory.New(memory.Options{})
	paused := func(name string, evs []events.Event) bool { return name == stream && evs[0].Type == "SessionPaused" }
	s.Inject(memory.Fault{When: paused, Kind: memory.Fail})         // the first
	s.Inject(memory.Fault{Nth: 4, When: paused, Kind: memory.Fail}) // the first from the fourth append on
	resumed := event()
	resumed.Type = "SessionResumed"
	for i, tt := range []struct {
		stream string
		ev     events.Event
		fails  bool
	}{
		{"other", event(), false}, {stream, event(), true}, {stream, event(), false}, {stream, resumed, false}, {stream, event(), true}, {stream, event(), false},
	} {
		_, err := s.Append(t.Context(), tt.stream, version(t, s, tt.stream), []events.Event{tt.ev})
		if (err != nil) != tt.fails {
			t.Errorf("append %d: %v", i+1, err)
		}
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{Clock: time.Now})
		goOn := make(chan struct{})
		s.Inject(memory.Fault{Nth: 1, Kind: memory.Delay, Until: goOn})
		s.Inject(memory.Fault{Nth: 3, Kind: memory.Delay})
		s.Inject(memory.Fault{Nth: 4, Kind: memory.Delay})

		var held events.Appended
		var heldErr error
		begun := time.Now()
		go func() { held, heldErr = s.Append(t.Context(), stream, 0, []events.Event{event()}) }()
		synctest.Wait()
		if _, err := s.Append(t.Context(), "other", 0, []events.Event{event()}); err != nil {
			t.Errorf("another stream beside the delay: %v", err)
		}
		time.Sleep(time.Minute) // of the bubble
		if v := version(t, s, stream); v != 0 {
			t.Errorf("version %d during the delay", v)
		}
		close(goOn)
		synctest.Wait()
		if heldErr != nil || held.Version != 1 || held.Position != 2 || held.RecordedAt.Sub(begun) != time.Minute {
			t.Errorf("after the delay: %+v, %v", held, heldErr)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Append(ctx, stream, 1, []events.Event{event()}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, events.ErrUnknown) {
			t.Errorf("a context that ends in the delay: %v", err)
		}

		// A restart in the delay: the process is gone, and the append with it.
		var cut error
		go func() { _, cut = s.Append(t.Context(), stream, 1, []events.Event{event()}) }()
		synctest.Wait()
		s = s.Reopen()
		synctest.Wait()
		if !errors.Is(cut, events.ErrClosed) || version(t, s, stream) != 1 {
			t.Errorf("cut off: %v, version %d", cut, version(t, s, stream))
		}
	})
}

func TestCloseWaitsForWhatIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		goOn := make(chan struct{})
		s.Inject(memory.Fault{Kind: memory.Delay, Until: goOn})
		var appended, closed error = errors.New("pending"), errors.New("pending")
		go func() { _, appended = s.Append(t.Context(), stream, 0, []events.Event{event()}) }()
		synctest.Wait()
		go func() { closed = s.Close() }()
		synctest.Wait()
		if closed == nil {
			t.Error("closed while an append was in flight")
		}
		close(goOn)
		synctest.Wait()
		if appended != nil || closed != nil {
			t.Errorf("append: %v, close: %v", appended, closed)
		}
	})
}

// TestFollowInABubble: a subscription that waits lets the time of the bubble go on.
func TestFollowInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		var at []time.Duration
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for _, err := range s.SubscribeStream(ctx, stream, 0) {
				if err != nil {
					return
				}
				at = append(at, time.Since(begun))
			}
		}()
		for v := range events.Version(3) {
			time.Sleep(time.Hour)
			if _, err := s.Append(ctx, stream, v, []events.Event{event()}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(at) != 3 || at[0] != time.Hour || at[2] != 3*time.Hour {
			t.Errorf("seen at %v", at)
		}
	})
}

func TestOptions(t *testing.T) {
	id := uuid.New()
	s := memory.New(memory.Options{LogID: id, Clock: func() time.Time { return time.Unix(1, 1999).In(time.FixedZone("东八区", 8*3600)) }})
	if s.LogID() != id {
		t.Errorf("log id %s", s.LogID())
	}
	done, err := s.Append(t.Context(), stream, 0, []events.Event{event()})
	if err != nil || done.RecordedAt != time.Unix(1, 1000).UTC() {
		t.Errorf("recorded at %v (%v), want UTC in microseconds", done.RecordedAt, err)
	}
	if a, b := memory.New(memory.Options{}), memory.New(memory.Options{}); a.LogID() == b.LogID() {
		t.Error("two logs have the same id")
	}
}

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/projections/engine"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a target in memory that keeps its own books: every event once, in order, whole appends only.
type table struct {
	mu      sync.Mutex
	at      engine.Checkpoint
	seen    []events.Position
	batches []int
	resets  int
	swept   []string
	fail    func(batch []events.Recorded) error // before anything is written
	after   func()                              // after a batch is written
}

func (t *table) Checkpoint(context.Context) (engine.Checkpoint, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at, nil
}

func (t *table) Reset(_ context.Context, log uuid.UUID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.seen = engine.Checkpoint{LogID: log}, nil
	t.resets++
	return nil
}

func (t *table) Apply(ctx context.Context, from, to engine.Checkpoint, batch []events.Recorded) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		if err := t.fail(batch); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.at != from {
		return fmt.Errorf("at %d: %w", t.at.Position, engine.ErrFenced)
	}
	last := batch[len(batch)-1]
	if end := last.Metadata.GetAppendEnd(); uint64(last.Version) < end {
		return fmt.Errorf("the batch cuts an append: %s %d of %d", last.Stream, last.Version, end)
	}
	for _, r := range batch {
		if n := len(t.seen); n > 0 && r.Position <= t.seen[n-1] {
			return fmt.Errorf("position %d after %d", r.Position, t.seen[n-1])
		}
		t.seen = append(t.seen, r.Position)
	}
	if to.Position != last.Position || to.LastID != last.ID || to.LogID != from.LogID {
		return fmt.Errorf("checkpoint %+v for %d", to, last.Position)
	}
	t.at = to
	t.batches = append(t.batches, len(batch))
	if t.after != nil {
		t.after()
	}
	return nil
}

func (t *table) Sweep(_ context.Context, exists func(string) (bool, error)) error {
	for _, name := range []string{"session-a", "session-龙胆"} {
		there, err := exists(name)
		if err != nil {
			return err
		}
		if !there {
			t.swept = append(t.swept, name)
		}
	}
	return nil
}

// write appends n events to a stream in one append.
func write(t testing.TB, store events.Store, stream string, n int) {
	t.Helper()
	at, err := store.StreamVersion(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	var evs []events.Event
	for range n {
		evs = append(evs, events.Event{ID: uuid.New(), Type: "SessionPaused", SchemaVersion: 1, Metadata: &eventsv1.Metadata{AppendEnd: uint64(at) + uint64(n)}})
	}
	if _, err := store.Append(t.Context(), stream, at, evs); err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) *memory.Store {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { s.Close() })
	return s
}

func catchUp(t testing.TB, store events.Store, target engine.Target) engine.Checkpoint {
	t.Helper()
	at, err := engine.CatchUp(t.Context(), store, target)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func positions(n int) (out []events.Position) {
	for i := range n {
		out = append(out, events.Position(i+1))
	}
	return out
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func TestCatchUp(t *testing.T) {
	store, target := newStore(t), &table{}
	at := catchUp(t, store, target)
	if at.Position != 0 || at.LogID != store.LogID() || target.resets != 1 {
		t.Fatalf("on an empty log: %+v, %d resets", at, target.resets)
	}
	write(t, store, "session-a", 2)
	write(t, store, "session-龙胆", 1)
	expect(t, "position", catchUp(t, store, target).Position, 3)
	write(t, store, "session-a", 1)
	catchUp(t, store, target)
	catchUp(t, store, target)
	expect(t, "seen", target.seen, positions(4))
	expect(t, "batches", target.batches, []int{3, 1})
	expect(t, "resets", target.resets, 1)
}

// A batch ends with an append, also where that makes it larger than a batch should be.
func TestBatchNeverCutsAnAppend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store, target := newStore(t), &table{}
		total := 0
		for i := range rapid.IntRange(1, 5).Draw(rt, "appends") {
			n := rapid.SampledFrom([]int{1, 7, 499, 500, 501, 730}).Draw(rt, "events")
			write(t, store, fmt.Sprint("session-", i%2), n)
			total += n
		}
		catchUp(t, store, target) // table.Apply checks
		if len(target.seen) != total {
			rt.Fatalf("saw %d of %d events", len(target.seen), total)
		}
	})
}

// A worker that dies between two batches, or in the middle of one, leaves nothing twice and nothing out.
func TestExactlyOnceAfterACrash(t *testing.T) {
	for name, die := range map[string]func(*table, func()){
		"between two batches": func(target *table, kill func()) { target.after = kill },
		"before a batch is written": func(target *table, kill func()) {
			n := 0
			target.fail = func([]events.Recorded) error {
				if n++; n == 2 {
					kill()
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, target := newStore(t), &table{}
			for i := range 30 {
				write(t, store, fmt.Sprint("session-", i%3), 60)
			}
			ctx, kill := context.WithCancel(t.Context())
			die(target, kill)
			if _, err := engine.CatchUp(ctx, store, target); !errors.Is(err, context.Canceled) {
				t.Fatalf("a killed worker ends with %v", err)
			}
			if n := len(target.seen); n == 0 || n == 1800 {
				t.Fatalf("it died after %d events", n)
			}
			target.fail, target.after = nil, nil
			catchUp(t, store, target)
			expect(t, "seen", target.seen, positions(1800))
			expect(t, "resets", target.resets, 1)
		})
	}
}

func TestCheckpointOfAnotherLog(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, store *memory.Store, at *engine.Checkpoint)
		reset bool
	}{
		"the same log":             {func(*testing.T, *memory.Store, *engine.Checkpoint) {}, false},
		"another log":              {func(_ *testing.T, _ *memory.Store, at *engine.Checkpoint) { at.LogID = uuid.New() }, true},
		"another event stands":     {func(_ *testing.T, _ *memory.Store, at *engine.Checkpoint) { at.LastID = uuid.New() }, true},
		"a position in the future": {func(_ *testing.T, _ *memory.Store, at *engine.Checkpoint) { at.Position = 99 }, true},
		"the last event was deleted with its stream": {func(t *testing.T, store *memory.Store, _ *engine.Checkpoint) {
			if err := store.DeleteStream(t.Context(), "session-b"); err != nil {
				t.Fatal(err)
			}
		}, false},
		"so it was, and the story goes on": {func(t *testing.T, store *memory.Store, _ *engine.Checkpoint) {
			if err := store.DeleteStream(t.Context(), "session-b"); err != nil {
				t.Fatal(err)
			}
			write(t, store, "session-a", 1)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			store, target := newStore(t), &table{}
			write(t, store, "session-a", 2)
			write(t, store, "session-b", 1)
			catchUp(t, store, target)
			c.spoil(t, store, &target.at)
			catchUp(t, store, target)
			if reset := target.resets == 2; reset != c.reset {
				t.Errorf("reset: %v, want %v", reset, c.reset)
			}
			if head, _ := store.Head(t.Context()); !c.reset && target.seen[len(target.seen)-1] != head {
				t.Errorf("stands at %d of %d", target.seen[len(target.seen)-1], head)
			}
		})
	}
}

func TestDeletedStreamsAreSwept(t *testing.T) {
	store, target := newStore(t), &table{}
	write(t, store, "session-a", 1)
	write(t, store, "session-龙胆", 1)
	catchUp(t, store, target)
	expect(t, "swept", target.swept, []string{})
	if err := store.DeleteStream(t.Context(), "session-龙胆"); err != nil {
		t.Fatal(err)
	}
	catchUp(t, store, target)
	expect(t, "swept", target.swept, []string{"session-龙胆"})
}

// Of two workers on one target the slower writes nothing.
func TestFencing(t *testing.T) {
	store, target := newStore(t), &table{}
	write(t, store, "session-a", 1)
	catchUp(t, store, target)
	write(t, store, "session-a", 1)
	other := false
	target.fail = func([]events.Recorded) error {
		if other {
			return nil
		}
		other = true // the other worker was here while this one read
		target.at.Position, target.seen = 2, positions(2)
		return nil
	}
	if _, err := engine.CatchUp(t.Context(), store, target); !errors.Is(err, engine.ErrFenced) {
		t.Fatalf("the slower worker ends with %v", err)
	}
	expect(t, "seen", target.seen, positions(2))
}

// Run follows what is appended, tries again after a failure, and ends with its context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, target := memory.New(memory.Options{}), &table{}
		defer store.Close()
		failures := 2
		target.fail = func(batch []events.Recorded) error {
			if batch[0].Stream == "session-bad" && failures > 0 {
				failures--
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		write(t, store, "session-a", 1)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			engine.Run(ctx, store, target, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		expect(t, "seen after the start", target.seen, positions(1))
		write(t, store, "session-a", 3)
		write(t, store, "session-b", 1)
		synctest.Wait()
		expect(t, "seen while following", target.seen, positions(5))
		expect(t, "batches", target.batches, []int{1, 3, 1})
		write(t, store, "session-bad", 2)
		synctest.Wait()
		expect(t, "seen while failing", target.seen, positions(5))
		write(t, store, "session-a", 1)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		expect(t, "seen after the failures", target.seen, positions(8))
		stop()
		<-ended
		write(t, store, "session-a", 1)
		synctest.Wait()
		expect(t, "seen after the end", target.seen, positions(8))
	})
}

func TestRunEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, target := memory.New(memory.Options{}), &table{}
		defer store.Close()
		target.fail = func([]events.Recorded) error { return io.ErrUnexpectedEOF }
		write(t, store, "session-a", 1)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			engine.Run(ctx, store, target, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		begun := time.Now()
		stop()
		<-ended
		expect(t, "waited", time.Since(begun), time.Duration(0))
	})
}

// BL-13: an append that is slow to commit while others overtake it, one that is rolled back, and a reader that stops in the
// middle: the mark never passes what was not visible, nothing is left out.
func TestSlowAppendsAreNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, target := memory.New(memory.Options{}), &table{}
		defer store.Close()
		write(t, store, "session-a", 1)
		write(t, store, "session-龙胆", 1)
		release := make(chan struct{})
		store.Inject(memory.Fault{Kind: memory.Delay, Until: release, When: func(s string, _ []events.Event) bool { return s == "session-a" }})
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		workers.Go(func() { engine.Run(ctx, store, target, slog.New(slog.DiscardHandler)) })
		slow := make(chan struct{})
		go func() {
			defer close(slow)
			write(t, store, "session-a", 2)
		}()
		synctest.Wait()
		for range 3 {
			write(t, store, "session-龙胆", 1)
		}
		store.Inject(memory.Fault{Kind: memory.Fail, When: func(s string, _ []events.Event) bool { return s == "session-龙胆" }})
		if _, err := store.Append(t.Context(), "session-龙胆", 4, []events.Event{{ID: uuid.New(), Type: "SessionPaused", SchemaVersion: 1}}); err == nil {
			t.Error("the append that was to be rolled back was not")
		}
		synctest.Wait()
		expect(t, "seen while one is slow", len(target.seen), 5)
		target.mu.Lock()
		target.fail = func([]events.Recorded) error { stop(); return nil } // the reader stops in the middle of a batch
		target.mu.Unlock()
		close(release)
		<-slow
		workers.Wait()
		expect(t, "seen when the reader had stopped", len(target.seen), 5)
		target.fail = nil
		catchUp(t, store, target)
		fresh := &table{}
		catchUp(t, store, fresh)
		expect(t, "seen", target.seen, fresh.seen)
		expect(t, "seen", len(fresh.seen), 7)
	})
}

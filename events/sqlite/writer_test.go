package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/safego"
)

// gate holds the writer at its commits: each waits until it is let through, with an error or without.
type gate struct {
	mu      sync.Mutex
	closed  bool
	through chan error
	commits int
}

func (g *gate) commit(commit func() error) error {
	g.mu.Lock()
	closed := g.closed
	g.commits++
	g.mu.Unlock()
	if closed {
		if err := <-g.through; err != nil {
			return err
		}
	}
	return commit()
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

// inBubble runs a test with a store whose writer stands at the gate, in a bubble in which synctest.Wait means that all
// goroutines have come as far as they can.
func inBubble(t *testing.T, f func(t *testing.T, s *Store, g *gate)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{closed: true, through: make(chan error)}
		s := mustOpen(t, dir, Options{commit: g.commit})
		f(t, s, g)
		g.set(false)
	})
}

type outcome struct {
	done events.Appended
	err  error
}

// appending starts an append and gives the channel on which its outcome will be.
func appending(ctx context.Context, s *Store, name string, expected events.Version, evs []events.Event) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		done, err := s.Append(ctx, name, expected, evs)
		out <- outcome{done, err}
	}()
	return out
}

func TestGroupCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store, g *gate) {
		first := appending(t.Context(), s, stream, 0, newEvents(1))
		synctest.Wait() // it stands at its commit

		same := newEvents(2)
		var good, repeats, wrong []<-chan outcome
		for i := range 40 {
			good = append(good, appending(t.Context(), s, fmt.Sprint(stream, i), 0, newEvents(1+i%3)))
		}
		for range 3 {
			repeats = append(repeats, appending(t.Context(), s, stream, 1, same))
		}
		wrong = append(wrong, appending(t.Context(), s, stream, 9, newEvents(1)), appending(t.Context(), s, "new", 1, newEvents(1)))
		synctest.Wait()
		for i, out := range append(append(good, repeats...), wrong...) {
			if len(out) > 0 {
				t.Errorf("append %d was answered before its commit: %+v", i, <-out)
			}
		}
		g.through <- nil
		if o := <-first; o.err != nil {
			t.Fatal(o.err)
		}
		g.through <- nil // all the others are one transaction
		for i, out := range good {
			if o := <-out; o.err != nil || o.done.Version != events.Version(1+i%3) {
				t.Errorf("append %d: %+v", i, o)
			}
		}
		for _, out := range repeats {
			if o := <-out; o.err != nil || o.done.Version != 3 {
				t.Errorf("the same append three times in one batch: %+v", o)
			}
		}
		for _, out := range wrong {
			if o := <-out; !errors.Is(o.err, events.ErrWrongVersion) {
				t.Errorf("wrong version in a batch: %+v", o)
			}
		}
		if g.commits != 2 {
			t.Errorf("%d commits, want 2", g.commits)
		}
	})
}

func TestNothingIsSeenBeforeItsCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store, g *gate) {
		var seen []events.Recorded
		ctx, cancel := context.WithCancel(t.Context())
		go func() { seen, _ = read(s.Subscribe(ctx, 0)) }()
		out := appending(t.Context(), s, stream, 0, newEvents(2))
		synctest.Wait()
		if head, err := s.Head(t.Context()); err != nil || head != 0 {
			t.Errorf("head %d, %v", head, err)
		}
		if evs, err := read(s.ReadAll(t.Context(), 0)); err != nil || len(evs) != 0 {
			t.Errorf("%d events, %v", len(evs), err)
		}
		g.through <- nil
		<-out
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(seen) != 2 {
			t.Errorf("the subscriber saw %d events", len(seen))
		}
	})
}

func TestContextEndsInTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store, g *gate) {
		inWork, cancelInWork := context.WithCancel(t.Context())
		queued, cancelQueued := context.WithTimeout(t.Context(), time.Second)
		defer cancelQueued()
		evs := newEvents(1)
		working := appending(inWork, s, stream, 0, evs)
		synctest.Wait()
		waits := appending(queued, s, "queued", 0, newEvents(1))
		stays := appending(t.Context(), s, "stays", 0, newEvents(1))

		if o := <-waits; !errors.Is(o.err, context.DeadlineExceeded) || errors.Is(o.err, events.ErrUnknown) {
			t.Errorf("in the queue: %v, want the error of the context alone", o.err)
		}
		cancelInWork()
		if o := <-working; !errors.Is(o.err, context.Canceled) || !errors.Is(o.err, events.ErrUnknown) {
			t.Errorf("in the transaction: %v, want unknown and the error of the context", o.err)
		}
		evs[0].Data[0]++ // the slices are the caller's again, although the writer is not done
		g.through <- nil
		g.through <- nil
		if o := <-stays; o.err != nil {
			t.Errorf("beside them: %v", o.err)
		}
		if v, err := s.StreamVersion(t.Context(), "queued"); err != nil || v != 0 {
			t.Errorf("what was withdrawn is at version %d (%v)", v, err)
		}
		if o, err := s.Append(t.Context(), stream, 0, evs); err != nil || o.Version != 1 {
			t.Errorf("repeat of the unknown one: %+v, %v", o, err)
		}
		if got, err := read(s.ReadStream(t.Context(), stream, 0)); err != nil || len(got) != 1 || got[0].Data[0] == evs[0].Data[0] {
			t.Errorf("stored: %v (%v)", got, err)
		}
	})
}

func TestContextEndsBeforeAFullQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store, g *gate) {
		first := appending(t.Context(), s, stream, 0, newEvents(1))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var outs []<-chan outcome
		for i := range cap(s.writer.queue) + 5 {
			outs = append(outs, appending(ctx, s, fmt.Sprint("q", i), 0, newEvents(1)))
		}
		synctest.Wait()
		cancel()
		for _, out := range outs {
			if o := <-out; !errors.Is(o.err, context.Canceled) || errors.Is(o.err, events.ErrUnknown) {
				t.Fatalf("%+v", o)
			}
		}
		g.through <- nil
		<-first
		if head, err := s.Head(t.Context()); err != nil || head != 1 {
			t.Errorf("head %d (%v): something that was withdrawn was written", head, err)
		}
	})
}

func TestCloseFinishesWhatWasTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store, g *gate) {
		first := appending(t.Context(), s, stream, 0, newEvents(1))
		synctest.Wait()
		second := appending(t.Context(), s, stream, 1, newEvents(1))
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Fatal("closed while appends were in flight")
		}
		if _, err := s.Append(t.Context(), stream, 2, newEvents(1)); !errors.Is(err, events.ErrClosed) {
			t.Errorf("append after Close has begun: %v", err)
		}
		g.through <- nil
		g.through <- nil
		for _, out := range []<-chan outcome{first, second} {
			if o := <-out; o.err != nil {
				t.Error(o.err)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestFailedCommit: the batch is unknown, and the store writes again only after a fresh look has shown that all is well.
func TestFailedCommit(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("the disk is gone")
	var fail error
	s := mustOpen(t, dir, Options{commit: func(commit func() error) error {
		if fail != nil {
			return fail
		}
		return commit()
	}})
	mustAppend(t, s, stream, 0, 2)
	fail = broken
	evs := newEvents(1)
	if _, err := s.Append(t.Context(), stream, 2, evs); !errors.Is(err, events.ErrUnknown) || !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	fail = nil

	// The look finds that acknowledged events are gone: nothing is written any more.
	db := raw(t, dir)
	if _, err := db.Exec("CREATE TABLE hidden AS SELECT * FROM appends"); err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "DELETE FROM appends")
	for range 2 {
		_, err := s.Append(t.Context(), stream, 2, evs)
		if !errors.Is(err, events.ErrUnknown) || !errors.Is(err, events.ErrCorrupt) || !strings.Contains(err.Error(), "disk is gone") {
			t.Fatalf("got %v", err)
		}
		if err := s.DeleteStream(t.Context(), "other"); !errors.Is(err, events.ErrUnknown) {
			t.Fatalf("delete: %v", err)
		}
	}
	// They are back: it goes on by itself.
	mustExec(t, db, "INSERT INTO appends SELECT * FROM hidden")
	if o, err := s.Append(t.Context(), stream, 2, evs); err != nil || o.Version != 3 || o.Position != 3 {
		t.Fatalf("after the disk came back: %+v, %v", o, err)
	}
	if err := s.DeleteStream(t.Context(), stream); err != nil {
		t.Error(err)
	}
}

func TestPanicInTheWriter(t *testing.T) {
	former := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(former)
	panics := true
	s := mustOpen(t, t.TempDir(), Options{Clock: func() time.Time {
		if panics {
			panics = false
			panic("the clock stopped")
		}
		return time.Unix(1, 0)
	}})
	evs := newEvents(1)
	if _, err := s.Append(t.Context(), stream, 0, evs); !errors.Is(err, events.ErrUnknown) || !errors.Is(err, safego.ErrPanic) {
		t.Fatalf("got %v", err)
	}
	if o, err := s.Append(t.Context(), stream, 0, evs); err != nil || o.Version != 1 || !o.RecordedAt.Equal(time.Unix(1, 0)) {
		t.Errorf("after it: %+v, %v", o, err)
	}
}

// TestForgottenStreams has more streams than the writer remembers.
func TestForgottenStreams(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{remember: 3})
	for round := range 3 {
		for i := range 10 {
			mustAppend(t, s, fmt.Sprint(stream, i), events.Version(round*2), 2)
		}
	}
	if err := s.DeleteStream(t.Context(), stream+"0"); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		mustAppend(t, s, fmt.Sprint("other", i), 0, 1)
	}
	if _, err := s.Append(t.Context(), stream+"0", 0, newEvents(1)); !errors.Is(err, events.ErrStreamDeleted) {
		t.Errorf("deleted and forgotten: %v", err)
	}
	if n := len(s.writer.streams); n > 3 {
		t.Errorf("the writer remembers %d streams", n)
	}
}

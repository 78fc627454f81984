package bench

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
)

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	for _, writers := range []int{1, 8} {
		r, err := Append(t.Context(), dir, writers, 500, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, writers)
	}
	wantEmpty(t, dir)
}

func TestAppendToWritesWhatItCounts(t *testing.T) {
	s := memory.New(memory.Options{})
	defer s.Close()
	r, err := AppendTo(t.Context(), s, 3, 10, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Head(t.Context())
	if err != nil || head != events.Position(r.Ops) {
		t.Errorf("counted %d, the log has %d (%v)", r.Ops, head, err)
	}
}

func TestRawDurable(t *testing.T) {
	dir := t.TempDir()
	r, err := RawDurable(dir, 600, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	check(t, r, 1)
	wantEmpty(t, dir)
}

func TestRefusals(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Append(ctx, t.TempDir(), 0, 1, time.Millisecond); err == nil {
		t.Error("no writers: no error")
	}
	if _, err := RawDurable(t.TempDir(), 0, time.Millisecond); err == nil {
		t.Error("no bytes: no error")
	}
	s := memory.New(memory.Options{})
	s.Inject(memory.Fault{Nth: 3, Kind: memory.UnknownNotWritten})
	if _, err := AppendTo(t.Context(), s, 1, 1, time.Minute); !errors.Is(err, events.ErrUnknown) {
		t.Errorf("failed append: %v", err)
	}
	if _, err := AppendTo(ctx, s, 2, 1, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

func TestResult(t *testing.T) {
	took := make([]time.Duration, 200)
	for i := range took {
		took[i] = time.Duration(i)
	}
	slices.Reverse(took)
	if r := result(2*time.Second, took); r != (Result{Ops: 200, Elapsed: 2 * time.Second, P50: 100, P99: 198}) || r.PerSecond() != 100 {
		t.Errorf("%+v, %v per second", r, r.PerSecond())
	}
	if r := result(0, nil); r != (Result{}) || r.PerSecond() != 0 {
		t.Errorf("nothing: %+v", r)
	}
}

func check(t *testing.T, r Result, atLeast int) {
	t.Helper()
	if r.Ops < atLeast || r.Elapsed <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.PerSecond() <= 0 {
		t.Errorf("%+v", r)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

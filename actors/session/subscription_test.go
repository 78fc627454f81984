package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	kernel "github.com/covel/covel/kernel/session"
)

func delta(n uint64, text string) Update {
	return Update{Progress: &kernel.Progress{ExecutionID: "e", Kind: kernel.NarrativeDelta, RuntimeID: "r", N: n, Delta: text}}
}

// Rule TP:220: what a run says while it runs is only queued, and what waits in the queue merges: nothing of it is lost, whatever the reader's pace, and joined emoji stay whole.
func TestWaitingTextMerges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := NewSubscription()
		var want, got strings.Builder
		var last uint64
		read := func() {
			u, err := s.Next(context.Background())
			if err != nil {
				rt.Fatal(err)
			}
			if u.Progress.N <= last {
				rt.Fatalf("n went from %d to %d", last, u.Progress.N)
			}
			last = u.Progress.N
			got.WriteString(u.Progress.Delta)
		}
		n := rapid.IntRange(1, 200).Draw(rt, "n")
		for i := range n {
			piece := rapid.SampledFrom([]string{"龍", "が来た", "🐉", "👩‍👩‍👧", " é"}).Draw(rt, "piece")
			want.WriteString(piece)
			if !s.push(delta(uint64(i+1), piece)) {
				rt.Fatal("a reader that keeps up was dropped")
			}
			if rapid.Bool().Draw(rt, "read") {
				for len(s.queue) > 0 {
					read()
				}
			}
		}
		for len(s.queue) > 0 {
			read()
		}
		if got.String() != want.String() {
			rt.Fatalf("got %q, want %q", got.String(), want.String())
		}
	})
}

// Rule TP:220: events go into a queue with a limit, and whoever queues them waits for no network: a reader that stands still costs a
// bounded queue and is told to start over (BL-15).
func TestSlowConsumer(t *testing.T) {
	s := NewSubscription()
	alive := true
	for i := 0; i < 3*maxWaiting && alive; i++ {
		alive = s.push(Update{Progress: &kernel.Progress{Kind: kernel.ToolCalling, N: uint64(i)}})
		if len(s.queue) > maxWaiting+1 {
			t.Fatal("the queue grows beyond its bound")
		}
	}
	u, err := s.Next(context.Background())
	if alive || err != nil || u.Reset != "slow-consumer" {
		t.Fatalf("alive %v, %+v, %v", alive, u, err)
	}
	if _, err := s.Next(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the reset: %v", err)
	}
	big := NewSubscription()
	for i := 0; big.push(delta(uint64(i), strings.Repeat("雨", 1000))); i++ {
		if i > 10_000 {
			t.Fatal("streamed text is not bounded")
		}
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSubscription()
		got := make(chan Update)
		go func() {
			u, _ := s.Next(t.Context())
			got <- u
		}()
		synctest.Wait() // it waits
		s.push(delta(1, "a"))
		if u := <-got; u.Progress.Delta != "a" {
			t.Errorf("%+v", u)
		}
		go func() {
			_, err := s.Next(t.Context())
			if !errors.Is(err, ErrClosed) {
				t.Errorf("closed: %v", err)
			}
			close(got)
		}()
		synctest.Wait()
		s.Close()
		<-got
	})
}

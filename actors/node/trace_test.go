package node_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/trace"
	tracememory "github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/projections"
)

// badTrace is a store of traces that hangs until it is let go, or fails.
type badTrace struct {
	tracememory.Store
	gate chan struct{}
	mu   sync.Mutex
	err  error
}

func (b *badTrace) Append(ctx context.Context, entries []trace.Entry, durable bool) error {
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	return b.Store.Append(ctx, entries, durable)
}

// Rule DESIGN §4: a turn never waits for its trace: with one that hangs it takes not a moment longer and gives the same; what
// is lost is counted, and told in the trace when it can be written again.
func TestATraceThatHangsHoldsUpNobody(t *testing.T) {
	played := func(t *testing.T, w *trace.Writer) (took time.Duration, story string) {
		t.Helper()
		t.Cleanup(func() { time.Sleep(5 * time.Second) }) // the actor library's throttle of dead letters ends
		node := nodetest.Start(t, nodetest.Options{Model: scripted.New(scripted.Script{Otherwise: scripted.BundledGame()}), Trace: w})
		began := time.Now()
		p := node.Create("s1", "zh-CN")
		p.Play("龙胆")
		for range 2 {
			p.Say("我看一看。")
			s := p.Settled()
			if s.Session.Last.End != projections.EndCommitted {
				t.Fatalf("a turn ended %s", s.Session.Last.End)
			}
		}
		took = time.Since(began)
		for _, m := range p.View.State.History.Tail(100) {
			story += m.Text + "\n"
		}
		p.Leave()
		return took, story
	}
	bubble := func(w func() *trace.Writer) (took time.Duration, story string) {
		synctest.Test(t, func(t *testing.T) { took, story = played(t, w()) })
		return took, story
	}
	without, told := bubble(func() *trace.Writer { return nil })

	synctest.Test(t, func(t *testing.T) {
		hung := &badTrace{gate: make(chan struct{})}
		w, err := trace.NewWriter(t.Context(), hung, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + trace.QueueLen { // one that hangs, and a full queue behind it
			w.Emit(trace.Scope{SessionID: "s1"}, trace.StepStarted, trace.Step{})
			synctest.Wait()
		}
		took, story := played(t, w)
		if took != without || story != told {
			t.Errorf("beside a trace that hangs the turns took %s, without one %s", took, without)
		}
		if w.Dropped() == 0 {
			t.Error("nothing is counted as lost")
		}
		close(hung.gate)
		w.Close()
		entries, err := hung.Read(t.Context(), trace.Query{SessionID: "s1", Types: []trace.Type{trace.Dropped}})
		if err != nil || len(entries) == 0 || !strings.Contains(string(entries[0].Payload), `"count"`) {
			t.Errorf("the trace does not say what it lacks: %v %v", entries, err)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		full := &badTrace{err: errors.New("disk full")}
		w, err := trace.NewWriter(t.Context(), full, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		took, story := played(t, w)
		w.Close()
		if took != without || story != told || w.Dropped() == 0 {
			t.Errorf("beside a trace that fails the turns took %s, without one %s; %d entries lost", took, without, w.Dropped())
		}
	})
}

package node_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
)

type due []string

func (d due) Due(context.Context, time.Time) ([]string, error) { return d, nil }

// failing is a read model that cannot be asked at first.
type failing struct {
	asked chan time.Time
	fails int
}

func (f *failing) Due(context.Context, time.Time) ([]string, error) {
	f.asked <- time.Now()
	if f.fails--; f.fails >= 0 {
		return nil, errors.New("the disk is away")
	}
	return nil, nil
}

// Rule TP:401: the scan runs when the node starts, and then every 30 s; one that failed is made again 1 s later. Rule TP:377: so is what
// other processes queued found. Rule TP:403: a shutdown waits until the scan has ended.
// Rule REF:plugins.md §7.6: scan every 30 s, again 1 s after a failed one.
func TestDueScanComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &failing{asked: make(chan time.Time, 8), fails: 2}
		n := node.Start(node.Config{Store: memory.New(memory.Options{}), Blobs: &memory.Blobs{}, Model: free(), Plugins: func() *registry.Generation { return nodetest.Plugins(t) }, Due: f, Name: "n"})
		var at []time.Duration
		for range 5 {
			at = append(at, (<-f.asked).Sub(began))
		}
		if want := []time.Duration{0, time.Second, 2 * time.Second, 32 * time.Second, 62 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("scans at %v, want %v", at, want)
		}
		if err := n.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if len(f.asked) > 0 {
			t.Error("a scan after the drain")
		}
	})
}

// An execution that a dead node left open is closed by the due scan of the next one, without anybody opening the session;
// its line stays as a draft, and the next scan finds nothing to do.
func TestDueScanClosesWhatADeadNodeLeft(t *testing.T) {
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	m := gated()
	dead := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Model: m, Name: "dead"})
	p := dead.Create("s1", "en")
	p.Begin()
	p.Settled()
	p.Answer(`{"characterName":"Mira"}`)
	wait(t, m.Gate("mid").Reached())
	head, _ := store.StreamVersion(context.Background(), "session-s1")

	next := node.Start(node.Config{
		Store: store, Blobs: blobs, Model: free(), Plugins: func() *registry.Generation { return nodetest.Plugins(t) }, Due: due{"s1", "not-there"}, Name: "next",
		DueEvery: 10 * time.Millisecond,
	})
	ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
	defer cancel()
	var closed events.Recorded
	for r, err := range store.SubscribeStream(ctx, "session-s1", head) {
		if err != nil {
			t.Fatal(err)
		}
		closed = r
		break
	}
	if closed.Type != "ExecutionAborted" {
		t.Fatalf("the next event is %s", closed.Type)
	}
	v, err := next.View(ctx, "s1")
	if err != nil || v.State.Session.Open != nil || v.State.Session.Last.Reason != kernel.AbortInterrupted {
		t.Errorf("%+v, %v", v.State.Session.Last, err)
	}
	if err := next.Drain(ctx); err != nil {
		t.Error(err)
	}
	if now, _ := store.StreamVersion(ctx, "session-s1"); now != closed.Version {
		t.Errorf("the scan wrote again: version %d after %d", now, closed.Version)
	}
	m.Gate("mid").Open()
}

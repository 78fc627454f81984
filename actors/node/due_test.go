package node_test

import (
	"context"
	"testing"
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

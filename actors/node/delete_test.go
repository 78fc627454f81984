package node_test

import (
	"context"
	"sync"
	"testing"

	"github.com/covel/covel/actors/nodetest"
)

// Rule TP:200: deletions at the same time cannot wait for each other, whatever their order: each session has its own mailbox, and
// nobody holds two. The work in the background of a session goes with it.
func TestDeletionsAtOnce(t *testing.T) {
	pt := newPainter()
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	ids := []string{"s1", "s2", "码头"}
	for _, id := range ids {
		p := n.Create(id, "zh-CN")
		p.Play("龙胆")
		p.Send(paint(`1`, ""))
		<-pt.begun
		p.Leave()
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.Patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 2 * len(ids) { // each of them twice, in both orders
		id := ids[i%len(ids)]
		if i >= len(ids) {
			id = ids[2*len(ids)-1-i]
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = n.Delete(ctx, id) // of two at once one may find nothing
		}()
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("deletions wait for each other")
	}
	for _, id := range ids {
		if v, err := n.Store.StreamVersion(t.Context(), "session-"+id); err != nil || v != 0 {
			t.Errorf("%s: version %d, %v", id, v, err)
		}
	}
}

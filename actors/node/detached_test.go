package node_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// rememberer is a plugin whose post-turn function is detached and settles: it keeps what the player said, in order.
type rememberer struct {
	goOn chan struct{}
	seen chan string // the player's line of each run
}

func (m *rememberer) source() registry.Source {
	return registry.Bundled("keeper", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: keeper\nkind: core\nversion: 1.0.0\ndescription: Remembers.\nruntime:\n  type: function\n  description: Remembers.\n" +
			"  schedule: { stage: post-turn, detached: { settle: true, maxSettleWaitMs: 20000 } }\n  function: { handler: keep }\n" +
			"  effects: { writes: ['plugin-data:self:blocks'] }\n---\nIt remembers.\n")}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("keep", func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				m.seen <- rt.PlayerMessage
				select {
				case <-m.goOn:
				case <-ctx.Done():
					return sdk.Result{}, ctx.Err()
				}
				known := len(rt.PluginData.List("blocks"))
				return sdk.Result{Outcome: sdk.Success}, rt.PluginData.Set("blocks", fmt.Sprint("b", known), fmt.Sprint(rt.LogicalTurn, " ", rt.PlayerMessage))
			})
		},
	})
}

// Rule TP:334: the turn is committed and ends as usual; Rule TP:415: the next one waits for what settles, and reads it; Rule
// TP:1186: the job keeps the line and the number of its source turn, whenever it runs.
func TestDetachedWorkSettlesBeforeTheNextTurn(t *testing.T) {
	m := &rememberer{goOn: make(chan struct{}, 8), seen: make(chan string, 8)}
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, m.source())})
	p := n.Create("s1", "en")
	p.Play("陆青云")
	// The opening ran the stages too; its job is let through.
	first := <-m.seen
	m.goOn <- struct{}{}
	p.Until("the opening is remembered", func() bool { return len(p.View.State.Jobs.Open()) == 0 })

	p.Say("我去码头。")
	s := p.Settled()
	if s.Session.CompletedPlayerTurns != 1 || len(s.Jobs.Open()) != 1 {
		t.Fatalf("%d turns, %d open jobs", s.Session.CompletedPlayerTurns, len(s.Jobs.Open()))
	}
	if got := <-m.seen; got != "我去码头。" {
		t.Fatalf("it was given %q (at the opening %q)", got, first)
	}
	go func() { m.goOn <- struct{}{} }()
	p.Say("我点亮灯。") // accepted only after the job
	p.Settled()
	job, accepted := 0, 0
	for i, r := range p.Seen {
		msg, err := events.Decode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *eventsv1.JobSucceeded:
			job = i
		case *eventsv1.ActionsSubmitted:
			if m.Rendered == "我点亮灯。" {
				accepted = i
			}
		}
		if accepted > 0 {
			break
		}
	}
	if job == 0 || accepted < job {
		t.Errorf("the job was committed at %d, the next line accepted at %d", job, accepted)
	}
	<-m.seen
	m.goOn <- struct{}{}
	p.Until("all is remembered", func() bool { return len(p.View.State.Jobs.Open()) == 0 })
	var kept []string
	for _, rec := range p.View.State.PluginData.List("keeper", "blocks") {
		kept = append(kept, string(rec.Value))
	}
	if got := fmt.Sprint(kept); got != `["1 " "1 我去码头。" "2 我点亮灯。"]` {
		t.Errorf("kept %s", got)
	}
	for _, j := range p.View.State.Jobs {
		if j.Status != projections.JobSucceeded || j.Activation != "stage" || !j.Settle {
			t.Errorf("%+v", j)
		}
	}
}

package play

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// clerk works behind a turn and the next one waits for it. So many of its next runs as hold says wait to be let pass.
type clerk struct {
	hold atomic.Int32
	pass chan struct{}
}

func (k *clerk) source() registry.Source {
	return registry.Bundled("clerk", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte(`---
id: clerk
kind: core
version: 1.0.0
description: Files.
contributes: { data: { log: { version: 1, description: What was said. } } }
runtime:
  type: function
  description: Files the page.
  schedule: { stage: post-turn, detached: { settle: true, maxSettleWaitMs: 60000 } }
  function: { handler: file }
  effects: { writes: ['plugin-data:self:log'] }
---
`)}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("file", func(ctx context.Context, _ *sdk.Runtime) (sdk.Result, error) {
				if k.hold.Add(-1) >= 0 {
					select {
					case <-k.pass:
					case <-ctx.Done():
					}
				}
				return sdk.Result{Outcome: sdk.Success}, nil
			})
		},
	})
}

// Rule TP:421: what waits at the settle barrier is told: its sender hears it is queued, everybody hears for which jobs, also who joins
// meanwhile, and that the wait is over; a stream of its own (SSE) begins with it.
func TestATurnThatSettles(t *testing.T) {
	k := &clerk{pass: make(chan struct{})}
	s := open(t, game(), k.source())
	a := asked{site: s, id: s.played("zh-CN")}
	filed := func() {
		t.Helper()
		watcher := s.node.Join(a.id)
		watcher.Until("nothing is left to file", func() bool { return len(watcher.View.State.Jobs.Open()) == 0 })
		watcher.Leave()
	}
	filed()
	k.hold.Store(1)
	s.act(a.id, "line", "submit_actions", `{"actions":[{"text":"我敲钟。"}]}`)

	first, other := s.dial(a.id), s.dial(a.id)
	for _, c := range []*socketClient{first, other} {
		c.send(`{"type":"hello"}`)
		c.next()
	}
	first.send(`{"type":"submit_actions","requestId":"two","payload":{"actions":[{"text":"我问路。"}]}}`)
	if ack := first.until(isAck("two", "queued")); ack["type"] == "error" || ack["n"] != float64(0) {
		t.Fatalf("the sender: %v", ack)
	}
	settling := func(m map[string]any) bool {
		e, _ := m["event"].(map[string]any)
		return m["type"] == "transient" && e["type"] == "turn.settling"
	}
	jobs := func(m map[string]any) []any {
		payload := m["event"].(map[string]any)["payload"].(map[string]any)
		return payload["jobs"].([]any)
	}
	late := s.dial(a.id)
	late.send(`{"type":"hello"}`)
	for name, c := range map[string]*socketClient{"another": other, "who joins": late} {
		m := c.until(settling)
		if list := jobs(m); len(list) != 1 || list[0].(map[string]any)["runtimeId"] != "clerk" || m["n"] != float64(0) || m["executionId"] == "" {
			t.Errorf("%s: %v", name, m)
		}
	}
	k.pass <- struct{}{}
	if m := other.until(settling); len(jobs(m)) != 0 {
		t.Errorf("the end of the wait: %v", m)
	}
	other.until(holdsEvent("execution.completed"))
	filed()
	k.hold.Store(1)
	s.act(a.id, "three", "submit_actions", `{"actions":[{"text":"我敲钟。"}]}`)
	waits := make(chan []map[string]any)
	go func() { waits <- s.act(a.id, "four", "submit_actions", `{"actions":[{"text":"我问路。"}]}`) }()
	other.until(settling)
	k.pass <- struct{}{}
	var types []string
	for _, e := range <-waits {
		types = append(types, e["type"].(string))
	}
	if got := strings.Join(types, " "); !strings.HasPrefix(got, "turn.settling actions.accepted") || !strings.HasSuffix(got, "execution.completed") {
		t.Errorf("a stream of its own: %s", got)
	}
}

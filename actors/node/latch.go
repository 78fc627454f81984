package node

import (
	"context"

	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/kernel/latch"
	kernel "github.com/covel/covel/kernel/session"
)

// latchOf is what the node remembers of the plugins of a session. It outlives the session's activations, and nothing else
// (decisions: "Fault latch", "Node memory only").
func (n *Node) latchOf(id string) latch.Latch {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.latches[id]
}

func (n *Node) keepLatch(id string, l latch.Latch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.Clean() {
		delete(n.latches, id)
		return
	}
	n.latches[id] = l
}

// ResumePlugin lets a plugin run again that was paused in a session after repeated errors.
func (n *Node) ResumePlugin(ctx context.Context, id, pluginID string) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kernel.ResumePlugin, PluginID: pluginID, Reply: reply}
	})
}

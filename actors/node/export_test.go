package node

import "github.com/covel/covel/kernel/latch"

// Active is how many sessions have a living actor.
func (n *Node) Active() int { return n.active() }

// Fault counts a fault of a plugin in a session.
func (n *Node) Fault(id, plugin string) {
	l := n.latchOf(id)
	l, _, _ = l.Report(l.Begin("turn"), latch.Report{Faults: map[string]string{plugin: "坏了"}, Ran: map[string]bool{plugin: true}})
	n.keepLatch(id, l)
}

// Faultless says whether nothing is remembered of the plugins of a session.
func (n *Node) Faultless(id string) bool { return n.latchOf(id).Clean() }

package node

// Active is how many sessions have a living actor.
func (n *Node) Active() int { return n.active() }

package node_test

import (
	"testing"

	"github.com/covel/covel/actors/nodetest"
)

// Rule TP:1170: the deletion of a session clears what is remembered of its plugins, and of no other session's.
func TestADeletedSessionForgetsFaults(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Model: free()})
	for _, id := range []string{"s1", "s2"} {
		n.Create(id, "zh-CN").Leave()
		n.Fault(id, "龙胆")
	}
	before, err := n.Store.StreamVersion(t.Context(), "session-s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	after, err := n.Store.StreamVersion(t.Context(), "session-s2")
	if err != nil {
		t.Fatal(err)
	}
	if !n.Faultless("s1") || n.Faultless("s2") || before != after {
		t.Errorf("forgotten: %t and %t; the logs have %d and %d events", n.Faultless("s1"), n.Faultless("s2"), before, after)
	}
}

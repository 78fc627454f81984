package node_test

import (
	"testing"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/gateway/llm/scripted"
)

// The engine's own time of a turn: the bundled plugins, a model without delay, a log without a disk.
func BenchmarkTurn(b *testing.B) {
	n := nodetest.Start(b, nodetest.Options{Model: scripted.New(scripted.Script{Otherwise: scripted.BundledGame(), Forget: true})})
	p := n.Create("s1", "en")
	p.Play("Mira")
	b.ResetTimer()
	for b.Loop() {
		p.Say("I look for the lamp in the window.")
		p.Settled()
	}
}

package manifest

import (
	"fmt"
	"testing"
)

// Rule TL:1464: finishWith names a tool of the runtime's own; it must succeed and ends the run.
func TestFinishWith(t *testing.T) {
	p, err := Load(files(map[string]string{"PLUGIN.md": "---\nid: lamp\ndescription: Lamps.\nruntime:\n  schedule: {stage: post-turn}\n  agent: {tools: {builtin: [create-form]}, finishWith: create-form}\n---\n\nAsk.\n"}), "lamp")
	if err != nil || len(p.Runtimes) != 1 {
		t.Fatal(err)
	}
	if a := p.Runtimes[0].Agent; a.Require != "tool-use" || fmt.Sprint(a.AfterTools) != "[create-form]" {
		t.Errorf("%+v", a)
	}
}

package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

func TestNotApplied(t *testing.T) {
	s := projections.Session{}
	for i := range 12 {
		s.NotApplied = append(s.NotApplied, projections.FailedOperation{Service: "inventory.change@1", Summary: fmt.Sprint("取走第", i, "枚 <铜钱>"), Reason: "out-of-bounds", RuntimeID: "narrator"})
	}
	s.NotApplied = append(s.NotApplied, projections.FailedOperation{Service: "x@1", Reason: "conflict", RuntimeID: "cast/mara"})
	player, retry := projections.Execution{Origin: "player"}, projections.Execution{Origin: "player", SourceTurnID: "e1", Targets: []projections.Target{{RuntimeID: "narrator"}}}

	// Rule TP:407: only the agent that asked is told, of at most ten operations.
	told := NotAppliedFor(s, player, "narrator")
	if len(told) != 10 || len(NotAppliedFor(s, player, "cast/mara")) != 1 || NotAppliedFor(s, player, "guide") != nil {
		t.Errorf("told %d", len(told))
	}
	// Rule TP:407: a player's and a continuation execution are told, a scoped retry and any other are not.
	if len(NotAppliedFor(s, projections.Execution{Origin: "continuation"}, "narrator")) != 10 {
		t.Error("a continuation is not told")
	}
	for _, e := range []projections.Execution{retry, {Origin: "manual"}, {Origin: "background"}, {Origin: "resume"}} {
		if NotAppliedFor(s, e, "narrator") != nil {
			t.Errorf("%+v is told", e)
		}
	}

	in := In{
		Runtime: manifest.Runtime{ID: "narrator", IO: manifest.IO{Visibility: manifest.VisibilityStory}}, Locale: "zh-CN", InstructionLocale: Chinese, NotApplied: told[:2],
		Inputs: map[string]sdk.Input{"facts": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(`1`)}}}}, Activation: &Activation{Source: "event", Topic: "scene.set"},
	}
	// Rule TP:407: the block stands after the inputs, in what changes each turn; nothing of it in the stable part.
	text := TurnContext(in)
	at := func(tag string) int { return strings.Index(text, "<"+tag) }
	if !(at("runtime-inputs") >= 0 && at("runtime-inputs") < at("operations-not-applied") && at("operations-not-applied") < at("runtime-activation")) {
		t.Errorf("order in\n%s", text)
	}
	if !strings.Contains(text, "- 取走第0枚 &lt;铜钱&gt; (out-of-bounds)") || strings.Contains(text, "<铜钱>") {
		t.Errorf("the summary is not in\n%s", text)
	}
	system := System(in)
	if strings.Contains(system, "铜钱") {
		t.Error("the notice stands in the stable part")
	}
	in.NotApplied = nil
	if strings.Contains(TurnContext(in), "operations-not-applied") {
		t.Error("a notice of nothing")
	}
}

package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// Rule REF plugins.md §8: an agent reads committed inputs as a data block of their own, after the inputs of the turn.
func TestExportsBlock(t *testing.T) {
	slot := func(v string) map[string]sdk.Input {
		return map[string]sdk.Input{"facts": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(v), PluginID: "p", Runtime: "p/r", ResultID: "run-1"}}}}
	}
	text := TurnContext(In{Inputs: slot(`"今天"`), Exports: slot(`{"名":"<陆青云>"}`)})
	inputs, exports := strings.Index(text, "<runtime-inputs>"), strings.Index(text, "<runtime-exports>")
	if inputs < 0 || exports < inputs {
		t.Fatalf("blocks in\n%s", text)
	}
	block := text[exports:]
	if !strings.Contains(block, `"名":"&lt;陆青云&gt;"`) || !strings.Contains(block, `"runtimeId":"p/r"`) || strings.Contains(text, "run-1") {
		t.Errorf("exports\n%s", block)
	}
	if strings.Contains(TurnContext(In{Inputs: slot(`1`)}), "runtime-exports") {
		t.Error("a block of nothing")
	}
}

package runtime

import (
	"encoding/json"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
)

// Rule REF plugins.md §8: a manual run reads its payload as its activation, code and model alike; a run of a stage has none.
func TestManualActivation(t *testing.T) {
	r := newRun(frozenAt(t), turn.Run{RunID: "r1", Runtime: manifest.Runtime{ID: "p/r", PluginID: "p"}, Manual: true, Payload: json.RawMessage(`{"what":"码头"}`)}, plugin("p"))
	expect(t, "ctx.activation", string(r.view().Activation), `{"what":"码头"}`)
	if a := r.prompt().Activation; a == nil || a.Source != "manual" || a.Topic != "" || string(a.Payload) != `{"what":"码头"}` {
		t.Errorf("runtime-activation %+v", a)
	}
}

// Rule TP:628: a run that the stages did not start, such as a job, reads what is committed when it runs.
func TestExportsOfAJob(t *testing.T) {
	f := frozenAt(t)
	f.State.Exports = projections.Exports{{PluginID: "q", RuntimeID: "q", Name: "facts", Value: projections.RawJSON(`7`)}}
	f.Active = []manifest.Runtime{{ID: "q", PluginID: "q"}}
	reads := manifest.Runtime{ID: "p/r", PluginID: "p", IO: manifest.IO{Inputs: map[string]manifest.Binding{"facts": {Runtime: "q", Scope: "committed", RecordAs: "facts"}}}}
	expect(t, "ctx.exports", string(newRun(f, turn.Run{Runtime: reads}, plugin("p")).view().Exports["facts"].Value()), "7")
	expect(t, "for the model", string(newRun(f, turn.Run{Runtime: reads}, plugin("p")).prompt().Exports["facts"].Value()), "7")
}

// Rule REF plugins.md §8: the value of a function is held against its contract and its own schema; what does not fit has no
// effects and no export.
func TestOutputSchemas(t *testing.T) {
	p := &registry.Loaded{Manifest: manifest.Plugin{Contracts: map[string]json.RawMessage{"k@1": json.RawMessage(`{"type":"object"}`)}}}
	rt := manifest.Runtime{Type: manifest.TypeFunction, IO: manifest.IO{OutputContract: "k@1", OutputSchema: json.RawMessage(`{"required":["n"]}`)}}
	agent := rt
	agent.Type = manifest.TypeAgent
	for _, c := range []struct {
		name   string
		rt     manifest.Runtime
		status turn.Status
		output string
		ok     bool
	}{
		{"fits both", rt, turn.Succeeded, `{"n":1}`, true}, {"not the contract", rt, turn.Succeeded, `["n"]`, false}, {"not its own schema", rt, turn.Succeeded, `{}`, false},
		{"nothing", rt, turn.Succeeded, ``, true}, {"a guard's answer has the contract's shape only", rt, turn.Skipped, `{}`, true}, {"an agent's loop checks its own", agent, turn.Succeeded, `{}`, true},
	} {
		if err := checkContract(p, c.rt, turn.Result{Status: c.status, SkipReason: turn.SkipGuard, Output: json.RawMessage(c.output)}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

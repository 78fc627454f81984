package turn

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Rule TP:628: a committed input reads the explicit export of an active runtime, whole, and nothing of this turn; its
// contract is checked on the way (REF plugins.md §8, "on committed reads").
func TestCommittedInputs(t *testing.T) {
	export := func(runtime, value string) projections.Export {
		return projections.Export{PluginID: "p" + runtime, RuntimeID: runtime, Name: "facts", Value: projections.RawJSON(value), RunID: "run-" + runtime}
	}
	p := Plan{
		Active:    []manifest.Runtime{auto("b", manifest.PostTurn, gives("k@1")), auto("a", manifest.PostTurn, gives("k@1")), auto("c", manifest.PostTurn, gives("m@1")), auto("odd", manifest.PostTurn, gives("k@1"))},
		Exports:   projections.Exports{export("a", `{"n":1}`), export("b", ``), export("c", `"龙"`), export("gone", `7`), export("odd", `"no object"`)},
		Contracts: map[string]json.RawMessage{"k@1": json.RawMessage(`{"type":["object","null"]}`)},
	}
	stored := func(b manifest.Binding) manifest.Binding { b.Scope, b.RecordAs = "committed", "facts"; return b }
	r := auto("x", manifest.PreTurn,
		reads("all", stored(manifest.Binding{Contract: "k@1", Cardinality: "all"})), reads("one", stored(manifest.Binding{Runtime: "c"})), reads("other", manifest.Binding{Runtime: "c", Scope: "committed", RecordAs: "other"}),
		reads("inactive", stored(manifest.Binding{Runtime: "gone"})), reads("turn", manifest.Binding{Runtime: "c"}))
	in := p.bind(r, nil, false)
	expect(t, "missing", in.missing, false)
	expect(t, "of the turn", len(in.inputs), 0)
	expect(t, "slots", len(in.exports), 2)
	expect(t, "one", []any{string(in.exports["one"].Value()), in.exports["one"].Items[0].ResultID}, []any{`"龙"`, "run-c"})
	var all []string
	for _, i := range in.exports["all"].Items {
		all = append(all, i.Runtime+"="+string(i.Value))
	}
	expect(t, "all", all, []string{"a={\"n\":1}", "b=null"})
	expect(t, "rejected", []any{len(in.rejected), in.rejected[0].Code, in.rejected[0].Data["source"]}, []any{1, HazardInputRejected, "odd"})
	expect(t, "for a job", len(CommittedInputs(r, p.Active, p.Exports, p.Contracts)), 2)

	s := planned(t, func(pl *Plan) { pl.Exports = p.Exports }, auto("x", manifest.PreTurn, reads("i", manifest.Binding{Runtime: "y", Scope: "committed", RecordAs: "facts", Required: true})), auto("y", manifest.PostTurn)).play()
	expect(t, "log", strings.Join(s.log, "; "), "skip x missing-input; start y; finish")
}

// Rule REF plugins.md §8: accepts is asked about the selected value, with cardinality all about the whole array; what it
// refuses is not there, and a required slot without a value skips the run.
func TestAccepts(t *testing.T) {
	results := []Result{{RuntimeID: "a", Contract: "k@1", Status: Succeeded, Output: []byte(`{"t":1}`)}, {RuntimeID: "b", Contract: "k@1", Status: Succeeded, Output: []byte(`{"t":2}`)}}
	for _, c := range []struct {
		name    string
		b       manifest.Binding
		missing bool
		value   string
	}{
		{"fits", manifest.Binding{Contract: "k@1", Select: "/t", Accepts: []byte(`{"type":"number"}`)}, false, "1"},
		{"does not fit", manifest.Binding{Contract: "k@1", Accepts: []byte(`{"type":"number"}`)}, false, ""},
		{"does not fit and is required", manifest.Binding{Contract: "k@1", Required: true, Accepts: []byte(`{"type":"number"}`)}, true, ""},
		{"the array", manifest.Binding{Contract: "k@1", Cardinality: "all", Select: "/t", Accepts: []byte(`{"type":"array","maxItems":2}`)}, false, "1"},
		{"the array is too long", manifest.Binding{Contract: "k@1", Cardinality: "all", Select: "/t", Required: true, Accepts: []byte(`{"type":"array","maxItems":1}`)}, true, ""},
		{"a contract's schema", manifest.Binding{Contract: "k@1", Select: "/t", AcceptsFrom: "n@1"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Plan{Contracts: map[string]json.RawMessage{"n@1": json.RawMessage(`{"type":"string"}`)}}.bind(auto("x", manifest.Audit, reads("i", c.b)), results, false)
			expect(t, "slot", []any{in.missing, string(in.inputs["i"].Value()), len(in.rejected) == 1}, []any{c.missing, c.value, c.value == ""})
		})
	}
	// A seed was checked when it was made; its contract may be another by now.
	seeds := []Result{{RuntimeID: "a", Contract: "k@1", Status: Succeeded, Output: []byte(`{"t":1}`), Seed: true}}
	in := Plan{Contracts: map[string]json.RawMessage{"k@1": json.RawMessage(`{"type":"string"}`)}}.bind(auto("x", manifest.Audit, reads("i", manifest.Binding{Contract: "k@1", Select: "/t"})), seeds, false)
	expect(t, "a seed of an older contract", []any{len(in.inputs), len(in.rejected)}, []any{0, 1})
}

// Rule REF:plugins.md §8: it holds the newest answer of the player, maybe of an older turn, and the results that are final.
// Rule TP:416: turn-digest@1 is the kernel's summary of the turn, bound to no narrative plugin; it adds no dependency.
func TestTurnDigest(t *testing.T) {
	p := Plan{
		ExecutionID: "e1", LogicalTurn: 4, Session: projections.Session{ID: "s1", Locale: "zh-CN"}, PlayerMessage: "我去<码头>。",
		Interactions: projections.Interactions{
			{InteractionRef: projections.InteractionRef{TurnID: "e0", InteractionID: "角色"}, PluginID: "p", Status: projections.InteractionAnswered, Values: projections.RawJSON(`{"名":"陆青云"}`), Version: 5, AnsweredAt: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)},
			{InteractionRef: projections.InteractionRef{TurnID: "e0", InteractionID: "older"}, PluginID: "q", Status: projections.InteractionAnswered, Version: 3},
			{InteractionRef: projections.InteractionRef{TurnID: "e1", InteractionID: "void"}, PluginID: "q", Status: projections.InteractionVoid, Version: 9},
		},
	}
	in := p.bind(auto("x", manifest.Audit, reads("d", manifest.Binding{Kernel: InputTurnDigest, Required: true})), []Result{
		{RuntimeID: "teller", Status: Succeeded, Story: true, Segments: []sdk.StorySegment{{Text: "雨停了。"}, {Text: " "}, {Text: "门开了。"}}}, {RuntimeID: "n", Status: Failed}, {RuntimeID: "m", Status: Skipped, SkipReason: SkipCycle},
	}, true)
	expect(t, "digest", string(in.inputs["d"].Value()), `{"sessionId":"s1","turnId":"e1","logicalTurn":4,"locale":"zh-CN","playerMessage":"我去<码头>。","narrative":"雨停了。\n\n门开了。",`+
		`"lastPlayerInput":{"id":"e0/角色","sessionId":"s1","turnId":"e0","formId":"角色","values":{"名":"陆青云"},"createdAt":"2026-12-01T09:00:00Z"},`+
		`"runtimeResults":[{"runtimeId":"teller","status":"success"},{"runtimeId":"n","status":"failed"},{"runtimeId":"m","status":"skipped"}]}`)
	expect(t, "source", []any{in.inputs["d"].Items[0].PluginID, in.inputs["d"].Items[0].Runtime, len(in.reads)}, []any{"kernel", "turn-digest@1", 0})
	expect(t, "nothing yet", string(Plan{}.digestOf(nil)), `{"sessionId":"","turnId":"","logicalTurn":0,"locale":"","playerMessage":"","narrative":"","lastPlayerInput":null,"runtimeResults":[]}`)
}

// Rule TP:405: operations@1 freezes what completed runs have staged, and its reader depends on them, though it waits for nobody; of
// the seeds of a retry it shows the committed ones only: failed, discarded and staged ones are left out, and nothing depends on them.
func TestOperationsInput(t *testing.T) {
	op := func(id, status string) Operation {
		return Operation{ID: id, PluginID: "bank", Service: "ledger@1", Summary: "付了 3 文", Status: status, InvokedBy: InvokedBy{RuntimeID: "r/" + id, PluginID: "r"}}
	}
	s := planned(t, func(p *Plan) {
		p.Targets, p.SourceTurnID = named("a", "b", "x"), "e0"
		p.Seeds = []Result{{RuntimeID: "old", RunID: "old-run", Status: Succeeded, Operations: []Operation{op("done", OperationCommitted), op("lost", OperationFailed), op("gone", OperationDiscarded), op("open", "")}}}
	}, auto("a", manifest.PreTurn), auto("b", manifest.PreTurn), auto("x", manifest.PostTurn, reads("ops", manifest.Binding{Kernel: InputOperations, Required: true})))
	s.behave["a"] = func(r *Result) {
		r.Operations, r.Nested = []Operation{op("two", "")}, []Result{{RuntimeID: "n", RunID: "nested", Status: Succeeded, Operations: []Operation{op("one", "")}}}
	}
	s.behave["b"] = func(r *Result) { r.Status, r.Operations = Failed, []Operation{op("of a failed run", "")} }
	s.step(Begin{})
	s.end("a", "b")
	x := s.running["x"]
	var got []string
	var list []operation
	if err := json.Unmarshal(x.Inputs["ops"].Value(), &list); err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		got = append(got, o.ID+" "+o.Status+" "+o.InvokedBy.RuntimeID)
	}
	expect(t, "operations", got, []string{"done committed r/done", "one staged r/one", "two staged r/two"})
	expect(t, "reads", x.Reads, []string{"nested", "a#1"})
	expect(t, "no needs", len(x.Needs), 0)
	expect(t, "none", string(Plan{}.bind(auto("x", manifest.Audit, reads("ops", manifest.Binding{Kernel: InputOperations})), nil, false).inputs["ops"].Value()), "[]")
}

// Rule TL:617–619: a payload that an earlier emission of the topic at the same depth keeps from its followers is reported.
func TestDroppedPayloads(t *testing.T) {
	s := planned(t, func(*Plan) {}, auto("a", manifest.PostTurn), auto("b", manifest.PostTurn), on("f", "scene.set"), auto("z", manifest.Audit))
	s.behave["a"] = func(r *Result) {
		emits("scene.set")(r)
		r.Nested = []Result{{RuntimeID: "child", Status: Succeeded, Events: []sdk.EmittedEvent{{Topic: "scene.set", Data: []byte(`"first"`)}}}}
	}
	s.behave["b"], s.behave["z"] = emits("scene.set"), emits("scene.set")
	s.step(Begin{})
	s.end("a", "b")
	expect(t, "the child's comes before its caller's", string(s.running["f"].Event.Data), `"first"`)
	s.end("f", "z")
	var got []string
	for _, d := range s.ended.Diagnostics {
		got = append(got, d.Code+" "+d.RuntimeID+" "+d.Data["topic"])
	}
	expect(t, "diagnostics", got, []string{"event-payload-dropped a scene.set", "event-payload-dropped b scene.set"})
}

package commit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// operation is one call of inventory's write service.
func operation(id string, proposals ...sdk.Proposal) turn.Operation {
	return turn.Operation{ID: id, PluginID: "inventory", Service: "inventory.change@1", Summary: "取走 " + id, Proposals: proposals}
}

func calling(r turn.Result, ops ...turn.Operation) turn.Result {
	r.Operations = ops
	return r
}

func reading(r turn.Result, ids ...string) turn.Result {
	r.Reads = ids
	return r
}

// operationsOf tells what became of each operation.
func operationsOf(out Out) string {
	var lines []string
	if m, ok := out.Facts[len(out.Facts)-1].Message.(*eventsv1.ExecutionCommitted); ok {
		for _, o := range m.Operations {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s of %s %s %s", o.Id, o.InvokedBy.RuntimeId, o.Status, o.Reason)))
		}
	}
	return strings.Join(lines, "; ")
}

// written are the records and stories of a commit, in order.
func written(out Out) string {
	var keys []string
	for _, f := range out.Facts {
		switch m := f.Message.(type) {
		case *eventsv1.PluginDataChanged:
			keys = append(keys, m.PluginId+"/"+m.Changes[0].Key)
		case *eventsv1.NarrativeAppended:
			keys = append(keys, "story")
		}
	}
	return strings.Join(keys, " ")
}

func TestOperations(t *testing.T) {
	setup := func(r turn.Result) turn.Result { r.Stage = manifest.Setup; return r }
	child := func(r turn.Result, nested ...turn.Result) turn.Result { r.Nested = nested; return r }
	for _, c := range []struct {
		name     string
		results  []turn.Result
		ops      string
		written  string
		outcomes string
		failure  string
	}{
		// Rule TP:195: an operation follows the caller's unit and commits after the unit's own writes.
		{name: "of the story", results: []turn.Result{calling(teller(), operation("o1", note("a", "1")), operation("o2", note("b", "1")))},
			ops: "o1 of narrator applied; o2 of narrator applied", written: "story inventory/a inventory/b", outcomes: "narrator success"},
		// Rule TP:195: each operation of the story's unit is dropped alone, and the story commits.
		// Rule TP:407: an operation that was dropped for its own failure shows no failure of the run.
		{name: "of the story, one refused", results: []turn.Result{calling(teller(), operation("o1", note("a", "1")), operation("o2", note("b", "1"), bad), operation("o3", note("c", "1")))},
			ops: "o1 of narrator applied; o2 of narrator failed proposal-invalid; o3 of narrator applied", written: "story inventory/a inventory/c", outcomes: "narrator success"},
		{name: "with the code of the failed step", results: []turn.Result{calling(teller(), operation("o1", raw("plugin.data.update", `{"namespace":"n","key":"gold","ops":[{"op":"increment","path":"n","by":-3,"min":0}]}`)))},
			ops: "o1 of narrator failed out-of-bounds", written: "story", outcomes: "narrator success"},
		// Rule TP:195: a rejected operation in an auxiliary unit drops the whole unit.
		{name: "of an auxiliary run", results: []turn.Result{teller(), calling(ran("a", note("own", "1")), operation("o1", note("a", "1")), operation("o2", bad)), ran("b", note("b", "1"))},
			ops: "o1 of a failed unit-dropped; o2 of a failed proposal-invalid", written: "story b/b", outcomes: "narrator success, a failed dropped: operation inventory.change@1: plugin.data: …, b success"},
		{name: "of an auxiliary run whose own write is refused", results: []turn.Result{teller(), calling(ran("a", bad), operation("o1", note("a", "1")))},
			ops: "o1 of a failed unit-dropped", written: "story", outcomes: "narrator success, a failed dropped: plugin.data: …"},
		// Rule TP:195: in an execution without a story a rejected operation rolls the whole execution back.
		{name: "without a story", results: []turn.Result{ran("a", note("a", "1")), calling(ran("b"), operation("o1", bad))}, failure: "failed e1 proposal-failed: b: operation inventory.change@1: plugin.data: "},
		{name: "of a set-up run", results: []turn.Result{teller(), calling(setup(ran("s")), operation("o1", bad))}, failure: "failed e1 proposal-failed: s: operation inventory.change@1: "},
		{name: "of a run that failed", results: []turn.Result{teller(), calling(failed(ran("a")), operation("o1", note("a", "1")))}, written: "story", outcomes: "narrator success, a failed: 坏了"},
		// Rule TP:405: what has read a staged operation that is dropped goes with it.
		{name: "read by an auxiliary run", results: []turn.Result{calling(teller(), operation("o1", bad)), reading(ran("a", note("a", "1")), "o1")},
			ops: "o1 of narrator failed proposal-invalid", written: "story", outcomes: "narrator success, a failed dropped: has read writes of o1, which were refused"},
		// Rule TP:706: successful operations of a sub-agent join the caller's unit and name the sub-agent.
		{name: "of a sub-agent", results: []turn.Result{calling(teller(), turn.Operation{ID: "o1", PluginID: "inventory", InvokedBy: turn.InvokedBy{RuntimeID: "cast/mara"}, Proposals: []sdk.Proposal{note("a", "1")}})},
			ops: "o1 of cast/mara applied", written: "story inventory/a", outcomes: "narrator success"},

		// Rule TP:180: nested results commit child before parent, in the parent's unit.
		{name: "nested", results: []turn.Result{teller(), child(ran("a", note("a", "1")), child(ran("a/x", note("x", "1")), calling(ran("a/y", note("y", "1")), operation("o1", note("z", "1")))))},
			ops: "o1 of a/y applied", written: "story a/y a/x a/a inventory/z", outcomes: "narrator success, a/y success, a/x success, a success"},
		{name: "nested, refused", results: []turn.Result{teller(), child(ran("a", note("a", "1")), ran("a/x", note("x", "1"), bad)), ran("b", note("b", "1"))},
			written: "story b/b", outcomes: "narrator success, a/x success dropped, a failed dropped: plugin.data: …, b success"},
		{name: "nested, failed", results: []turn.Result{teller(), child(ran("a", note("a", "1")), failed(ran("a/x", note("x", "1"))))}, written: "story a/a", outcomes: "narrator success, a/x failed: 坏了, a success"},
		{name: "nested, under the story", results: []turn.Result{child(teller(), ran("dice", bad))}, failure: "failed e1 proposal-failed: narrator: plugin.data: "},

		// Rule TP:651: an auxiliary run that has read a dropped write is dropped with it, a story commits and tells.
		{name: "read by an auxiliary run", results: []turn.Result{ran("a", bad), teller(), reading(ran("b", note("b", "1")), "run-a"), needing(ran("c", note("c", "1")), []string{"b"})},
			written: "story", outcomes: "a failed dropped: plugin.data: …, narrator success, b failed dropped: has read writes of run-a, which were refused, c failed dropped: needs b, whose writes were refused"},
		{name: "read by the story", results: []turn.Result{ran("a", bad), reading(teller(), "run-a")}, written: "story", outcomes: "a failed dropped: plugin.data: …, narrator success lost [run-a]"},
		{name: "read by a set-up run", results: []turn.Result{ran("a", bad), teller(), reading(setup(ran("s", note("s", "1"))), "run-a")}, written: "story s/s", outcomes: "a failed dropped: plugin.data: …, narrator success, s success lost [run-a]"},
		{name: "read by a call below", results: []turn.Result{ran("a", bad), teller(), child(ran("b", note("b", "1")), reading(ran("b/x"), "run-a"))}, written: "story", outcomes: "a failed dropped: plugin.data: …, narrator success, b/x success dropped, b failed dropped: has read writes of run-a, which were refused"},
		{name: "read what stands", results: []turn.Result{ran("a", note("a", "1")), teller(), reading(ran("b", note("b", "1")), "run-a")}, written: "a/a story b/b", outcomes: "a success, narrator success, b success"},
		{name: "read what a call below a dropped run wrote", results: []turn.Result{child(ran("a", bad), ran("a/x")), teller(), reading(ran("b"), "run-a/x")}, written: "story", outcomes: "a/x success dropped, a failed dropped: plugin.data: …, narrator success, b failed dropped: has read writes of run-a/x, which were refused"},
		// Rule TP:214: a continuation of an auxiliary run that depends on a dropped producer is discarded, with no proposal of its own.
		{name: "read by one that waits", results: []turn.Result{ran("a", bad), teller(), reading(with(ran("b"), func(r *turn.Result) { r.Status = turn.Suspended }), "run-a")}, written: "story", outcomes: "a failed dropped: plugin.data: …, narrator success, b failed dropped: has read writes of run-a, which were refused"},
		// Rule TP:405: seeds are never committed again.
		{name: "seeds", results: []turn.Result{with(teller(), func(r *turn.Result) { r.Seed = true }), with(calling(ran("a", note("a", "1")), operation("o1", note("o", "1"))), func(r *turn.Result) { r.Seed = true }), ran("b", note("b", "1"))}, written: "b/b", outcomes: "b success"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(in(playing(t), c.results...))
			if c.failure != "" {
				if line := told(out)[0]; !out.Failed || len(out.Facts) != 1 || !strings.HasPrefix(line, c.failure) {
					t.Errorf("got %v, want %s", told(out), c.failure)
				}
				return
			}
			expect(t, "operations", operationsOf(out), c.ops)
			expect(t, "written", written(out), c.written)
			var got []string
			for _, line := range outcomesOf(out) {
				if before, _, long := strings.Cut(line, "plugin.data: "); long {
					line = before + "plugin.data: …"
				}
				got = append(got, line)
			}
			expect(t, "outcomes", strings.Join(got, ", "), c.outcomes)
		})
	}
}

// Rule REF plugins.md §13: what became of a unit is told by a code and, for its own refusal, the proposal.
func TestRefusalCodes(t *testing.T) {
	out := Plan(in(playing(t), ran("a", bad), needing(ran("b"), []string{"a"}), reading(ran("c"), "run-a"),
		ran("d", raw("plugin.data.update", `{"namespace":"n","key":"x","ops":[{"op":"remove","path":"y"}]}`)), teller()))
	var got []string
	for _, o := range out.Facts[len(out.Facts)-1].Message.(*eventsv1.ExecutionCommitted).Outcomes {
		got = append(got, strings.TrimSpace(o.RuntimeId+" "+o.Code+" "+o.ProposalType))
	}
	expect(t, "codes", got, []string{"a proposal-invalid plugin.data", "b dependency-dropped", "c read-dropped", "d path-not-found plugin.data.update", "narrator"})
	whole := Plan(in(playing(t), ran("a", bad))).Facts[0].Message.(*eventsv1.ExecutionFailed)
	expect(t, "of a whole failure", whole.Outcomes[0].Code+" "+whole.Outcomes[0].ProposalType, "proposal-invalid plugin.data")
}

// Rule TP:706: what sub-agents cost counts for the run that started them, what nested runs cost for the execution.
func TestNestedUsage(t *testing.T) {
	r := with(teller(), func(r *turn.Result) {
		r.Usage = turn.Usage{InputTokens: 1}
		r.Subagents = []turn.SubagentRun{{Usage: turn.Usage{InputTokens: 10, ToolCalls: 2}}, {Usage: turn.Usage{InputTokens: 100}}}
		r.Nested = []turn.Result{with(ran("x"), func(n *turn.Result) { n.Usage = turn.Usage{InputTokens: 1000} })}
	})
	m := Plan(in(playing(t), r)).Facts
	done := m[len(m)-1].Message.(*eventsv1.ExecutionCommitted)
	expect(t, "usage", []uint64{done.Usage.InputTokens, uint64(done.Usage.ToolCalls), done.Outcomes[1].Usage.InputTokens}, []uint64{1111, 2, 111})
	expect(t, "parent", done.Outcomes[0].ParentRunId, "run-narrator")
}

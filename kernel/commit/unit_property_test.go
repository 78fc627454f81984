package commit

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// unitWrites are proposals that are taken or refused, some of them only after what others have written.
var unitWrites = []sdk.Proposal{
	note("k", `1`), note("k", `null`), note("old", `{"gold":1}`), bad,
	raw("plugin.data.update", `{"namespace":"n","key":"gold","ops":[{"op":"increment","path":"n","by":2,"max":5}]}`),
	raw("plugin.data.update", `{"namespace":"n","key":"gold","ops":[{"op":"append","path":"bag","value":"绳","unique":true}]}`),
	raw("plugin.data.update", `{"namespace":"n","key":"gold","ops":[{"op":"remove","path":"n"}]}`),
	raw("character.upsert", `{"id":"npc-1","name":"x","fields":{"mood":"静"},"expectedVersion":2}`),
	raw("character.upsert", `{"id":"npc-9","name":"Mara"}`), raw("character.upsert", `{"id":"npc-8","name":"mara"}`),
	raw("character.schema.set", `{"types":["npc","妖"],"attributes":[]}`),
}

type drawing struct {
	*rapid.T
	n   int
	ids []string // of runs and operations so far
}

func (d *drawing) proposals(label string) []sdk.Proposal {
	return rapid.SliceOfN(rapid.SampledFrom(unitWrites), 0, 2).Draw(d.T, label)
}

func (d *drawing) result(depth int) turn.Result {
	d.n++
	plugin := rapid.SampledFrom([]string{"p", "q"}).Draw(d.T, "plugin")
	r := ran(fmt.Sprintf("%s/%d", plugin, d.n), d.proposals("own")...)
	if depth < 2 {
		for range rapid.IntRange(0, 1).Draw(d.T, "nested") {
			r.Nested = append(r.Nested, d.result(depth+1))
		}
	}
	for range rapid.IntRange(0, 1).Draw(d.T, "operations") {
		d.n++
		op := turn.Operation{ID: fmt.Sprint("op-", d.n), PluginID: "p", Proposals: d.proposals("operation")}
		r.Operations = append(r.Operations, op)
	}
	switch rapid.IntRange(0, 7).Draw(d.T, "end") {
	case 0:
		r = failed(r)
	case 1:
		r = skipped(r, turn.SkipGuard)
	case 2:
		r = skipped(r, turn.SkipDependency)
	}
	return r
}

func (d *drawing) execution() []turn.Result {
	var out []turn.Result
	var runtimes []string
	at := rapid.IntRange(-1, 4).Draw(d.T, "story at")
	for i := range rapid.IntRange(1, 6).Draw(d.T, "runs") {
		r := d.result(0)
		if i == at {
			d.n++
			story := teller()
			story.Nested, story.Operations = r.Nested, r.Operations
			r = story
		} else if rapid.IntRange(0, 5).Draw(d.T, "stage") == 0 {
			r.Stage = manifest.Setup
		}
		if len(d.ids) > 0 {
			r.Reads = rapid.SliceOfN(rapid.SampledFrom(d.ids), 0, 2).Draw(d.T, "reads")
		}
		if len(runtimes) > 0 && rapid.IntRange(0, 3).Draw(d.T, "needs") == 0 {
			r.Needs = [][]string{rapid.SliceOfN(rapid.SampledFrom(runtimes), 1, 2).Draw(d.T, "group")}
		}
		r.Seed = rapid.IntRange(0, 7).Draw(d.T, "seed") == 0
		d.ids, runtimes = append(d.ids, idsOf(r)...), append(runtimes, r.RuntimeID)
		out = append(out, r)
	}
	return out
}

func idsOf(r turn.Result) []string {
	ids := []string{r.RunID}
	for _, n := range r.Nested {
		ids = append(ids, idsOf(n)...)
	}
	for _, op := range r.Operations {
		ids = append(ids, op.ID)
	}
	return ids
}

// unitFacts counts what a unit writes when all of it is taken but the operations named.
func unitFacts(r turn.Result, without map[string]bool) int {
	if !r.Committable() {
		return 0
	}
	n := len(r.Proposals)
	for _, op := range r.Operations {
		if !without[op.ID] {
			n += len(op.Proposals)
		}
	}
	for _, x := range r.Nested {
		n += unitFacts(x, without)
	}
	return n
}

// Rule TP:193: a unit is written whole or not at all, and what is dropped takes with it all that depends on it.
// Rule TP:651: what the commit writes is what a later run of the execution would have seen of it.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &drawing{T: rt}
		results := d.execution()
		state := playing(t)
		out := Plan(in(state, results...))
		if out.Failed {
			if len(out.Facts) != 1 {
				rt.Fatalf("a failed execution writes %v", told(out))
			}
			return
		}
		done := out.Facts[len(out.Facts)-1].Message.(*eventsv1.ExecutionCommitted)
		gone, droppedRuntime, failedOps := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, o := range done.Outcomes {
			if o.Dropped {
				gone[o.RunId] = true
				if o.ParentRunId == "" {
					droppedRuntime[o.RuntimeId] = true
				}
			}
		}
		for _, o := range done.Operations {
			if o.Status == "failed" {
				gone[o.Id], failedOps[o.Id] = true, true
			}
		}
		facts := map[string]int{}
		for _, f := range out.Facts {
			switch f.Message.(type) {
			case *eventsv1.PluginDataChanged, *eventsv1.CharacterUpserted, *eventsv1.CharacterSchemaSet, *eventsv1.NarrativeAppended:
				facts[f.RunID]++
			}
		}
		hasStory := slices.ContainsFunc(results, func(r turn.Result) bool { return r.Story && !r.Seed && r.Status == turn.Succeeded })
		var committed []turn.Result
		for _, r := range results {
			wrote := 0
			for _, id := range idsOf(r) {
				wrote += facts[id]
			}
			if r.Seed || !r.Committable() || gone[r.RunID] {
				if wrote > 0 {
					rt.Fatalf("%s is not committed and wrote %d facts", r.RuntimeID, wrote)
				}
				continue
			}
			if want := unitFacts(r, failedOps); wrote != want {
				rt.Fatalf("%s wrote %d of %d facts", r.RuntimeID, wrote, want)
			}
			committed = append(committed, r)
			for _, group := range r.Needs {
				if !slices.ContainsFunc(group, func(id string) bool { return !droppedRuntime[id] }) {
					rt.Fatalf("%s is committed without any of %v", r.RuntimeID, group)
				}
			}
			auxiliary := hasStory && !r.Story && r.Stage != manifest.Setup
			for _, id := range r.Reads {
				if auxiliary && gone[id] {
					rt.Fatalf("%s is committed and had read %s", r.RuntimeID, id)
				}
			}
			for _, op := range r.Operations {
				if failedOps[op.ID] && !r.Story {
					rt.Fatalf("%s of %s was dropped alone", op.ID, r.RuntimeID)
				}
			}
		}
		after := fold(t, state, "e1", messages(out)...)
		// The preview shows runs one by one; the commit writes the operations of a unit last, so let it have that order.
		var seen []world.Write
		for _, r := range committed {
			seen = append(seen, ownWrites(r)...)
			seen = append(seen, operationWrites(r, failedOps)...)
		}
		preview, _ := world.Visible(world.Model(state), seen)
		committedModel := world.Model(after)
		preview.Seats, committedModel.Seats = nil, nil // bound by the commit
		a, _ := json.Marshal(preview)
		b, _ := json.Marshal(committedModel)
		if string(a) != string(b) {
			rt.Fatalf("previewed\n%s\ncommitted\n%s", a, b)
		}
		for _, plugin := range []string{"p", "q"} {
			data := world.NewData(plugin, state.PluginData, seen, nil)
			for _, key := range []string{"k", "old", "gold"} {
				rec, _ := after.PluginData.Get(plugin, "n", key)
				if !world.SameJSON(data.Get("n", key), rec.Value) {
					rt.Fatalf("%s/%s: previewed %s, committed %s", plugin, key, data.Get("n", key), rec.Value)
				}
			}
		}
	})
}

func ownWrites(r turn.Result) (out []world.Write) {
	if !r.Committable() {
		return nil
	}
	for _, n := range r.Nested {
		out = append(out, ownWrites(n)...)
	}
	return append(out, world.Write{RunID: r.RunID, PluginID: r.PluginID, Proposals: r.Proposals})
}

func operationWrites(r turn.Result, without map[string]bool) (out []world.Write) {
	if !r.Committable() {
		return nil
	}
	for _, n := range r.Nested {
		out = append(out, operationWrites(n, without)...)
	}
	for _, op := range r.Operations {
		if !without[op.ID] {
			out = append(out, world.Write{RunID: op.ID, PluginID: op.PluginID, Proposals: op.Proposals})
		}
	}
	return out
}

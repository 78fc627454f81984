package commit

import (
	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// exports publishes the outputs of committed runs that declare io.output.recordAs, recursive calls before their callers. A
// run without an output publishes nothing (reference: plugins.md §8, "absent → empty object, and no export is published").
func (p *planner) exports() []Fact {
	var out []Fact
	revision := map[string]uint64{}
	for _, r := range p.exporting(p.in.Results) {
		key := r.RuntimeID + "\x00" + r.RecordAs
		if revision[key] == 0 {
			before, _ := p.in.State.Exports.Find(r.RuntimeID, r.RecordAs)
			revision[key] = before.Revision
		}
		revision[key]++
		out = append(out, Fact{RunID: r.RunID, PluginID: r.PluginID, Message: &eventsv1.OutputExported{
			PluginId: r.PluginID, RuntimeId: r.RuntimeID, Name: r.RecordAs, Value: r.Output, Revision: revision[key], RunId: r.RunID, Contract: r.Contract,
		}})
	}
	return out
}

// exporting gives the runs whose output is published. A run that was dropped takes its recursive calls along.
func (p *planner) exporting(results []turn.Result) (out []turn.Result) {
	for _, r := range results {
		if _, dropped := p.dropped[r.RuntimeID]; dropped || !r.Committable() {
			continue
		}
		out = append(out, p.exporting(r.Nested)...)
		if r.RecordAs != "" && len(r.Output) > 0 && r.Satisfies() {
			out = append(out, r)
		}
	}
	return out
}

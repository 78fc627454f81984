package commit

import (
	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// exports publishes the outputs of committed runs that declare io.output.recordAs, recursive calls before their callers.
func (p *planner) exports() []Fact {
	var out []Fact
	revision := map[string]uint64{}
	for _, e := range p.exporting(p.in.Results) {
		key := e.RuntimeID + "\x00" + e.Name
		if revision[key] == 0 {
			before, _ := p.in.State.Exports.Find(e.RuntimeID, e.Name)
			revision[key] = before.Revision
		}
		revision[key]++
		out = append(out, Fact{RunID: e.RunID, PluginID: e.PluginID, Message: &eventsv1.OutputExported{
			PluginId: e.PluginID, RuntimeId: e.RuntimeID, Name: e.Name, Value: e.Value, Revision: revision[key], RunId: e.RunID, Contract: e.Contract,
		}})
	}
	return out
}

// exporting gives what the runs publish. A run that was dropped takes its recursive calls along.
func (p *planner) exporting(results []turn.Result) (out []turn.Export) {
	for _, r := range results {
		if _, dropped := p.dropped[r.RuntimeID]; dropped || !r.Committable() {
			continue
		}
		out = append(append(out, r.Exports...), p.exporting(r.Nested)...)
		if e, ok := r.Exported(); ok {
			out = append(out, e)
		}
	}
	return out
}

package turn

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// bound is what the inputs of a run hold.
type bound struct {
	inputs   map[string]sdk.Input // of this turn and of the kernel
	exports  map[string]sdk.Input // scope: committed
	missing  bool                 // a required one is not there
	reads    []string             // runs whose staged operations it saw
	rejected []Diagnostic
}

// bind fills the input slots of a runtime. Items are sorted by runtime id; a slot of cardinality one takes the first; an
// empty slot is left out. To a manual run nothing of a turn is bound, to a detached one no operations (reference:
// plugins.md §8; seed: turn-pipeline.txt §2.3, "is unavailable to detached runtimes").
func (p Plan) bind(r manifest.Runtime, upstream []Result, detached bool) bound {
	out := bound{inputs: map[string]sdk.Input{}, exports: map[string]sdk.Input{}}
	for _, name := range slices.Sorted(maps.Keys(r.IO.Inputs)) {
		b := r.IO.Inputs[name]
		if b.Scope == "committed" {
			p.fill(&out, out.exports, r, name, p.exported(b))
			continue
		}
		if p.manual() {
			continue
		}
		switch b.Kernel {
		case "":
			p.fill(&out, out.inputs, r, name, values(b, upstream))
		case InputTurnDigest:
			out.inputs[name] = kernelInput(b.Kernel, p.digestOf(upstream))
		case InputOperations:
			if detached {
				out.missing = out.missing || b.Required
				continue
			}
			value, reads := operationsOf(upstream)
			out.inputs[name], out.reads = kernelInput(b.Kernel, value), append(out.reads, reads...)
		}
	}
	return out
}

// fill puts the values into a slot that its reader and their contracts accept.
func (p Plan) fill(out *bound, into map[string]sdk.Input, r manifest.Runtime, name string, items []value) {
	b := r.IO.Inputs[name]
	reject := func(source string, err error) {
		out.rejected = append(out.rejected, Diagnostic{
			Code: HazardInputRejected, RuntimeID: r.ID, Message: "input " + name + ": " + err.Error(), Data: map[string]string{"input": name, "source": source},
		})
	}
	in := sdk.Input{Cardinality: cmp.Or(b.Cardinality, "one")}
	for _, v := range items {
		if v.unchecked {
			if err := fits(p.Contracts[v.contract], v.whole); err != nil {
				reject(v.Runtime, err)
				continue
			}
		}
		in.Items = append(in.Items, v.InputItem)
	}
	if in.Cardinality == "one" && len(in.Items) > 1 {
		in.Items = in.Items[:1]
	}
	if len(in.Items) > 0 {
		if err := fits(p.accepts(b), acceptedValue(in)); err != nil {
			reject(in.Items[0].Runtime, err)
			in.Items = nil
		}
	}
	if len(in.Items) == 0 {
		out.missing = out.missing || b.Required
		return
	}
	into[name] = in
}

// CommittedInputs gives the committed exports a runtime reads, for a run that is not started by the stages: what goes on
// after a suspension, and a job, read what is committed when they run.
func CommittedInputs(r manifest.Runtime, active []manifest.Runtime, exports projections.Exports, contracts map[string]json.RawMessage) map[string]sdk.Input {
	p := Plan{Active: active, Exports: exports, Contracts: contracts}
	out := bound{exports: map[string]sdk.Input{}}
	for name, b := range r.IO.Inputs {
		if b.Scope == "committed" {
			p.fill(&out, out.exports, r, name, p.exported(b))
		}
	}
	return out.exports
}

// accepts is the extra schema of a slot, nil for none.
func (p Plan) accepts(b manifest.Binding) json.RawMessage {
	if b.AcceptsFrom != "" {
		return p.Contracts[b.AcceptsFrom]
	}
	return b.Accepts
}

// acceptedValue is what accepts is asked about: the value, or with cardinality all the array of them.
func acceptedValue(in sdk.Input) json.RawMessage {
	if in.Cardinality != "all" {
		return in.Value()
	}
	list := make([]json.RawMessage, len(in.Items))
	for i, item := range in.Items {
		list[i] = item.Value
	}
	return marshal(list)
}

// value is one candidate of a slot.
type value struct {
	sdk.InputItem
	contract  string
	whole     json.RawMessage // before select
	unchecked bool            // of an earlier execution: its contract may be another by now
}

// exported gives the committed exports a slot reads, of active runtimes, by id.
func (p Plan) exported(b manifest.Binding) (out []value) {
	for _, a := range p.Active {
		if !provides(a.ID, a.IO.OutputContract, b.Runtime, b.Contract) {
			continue
		}
		if e, ok := p.Exports.Find(a.ID, b.RecordAs); ok {
			raw := json.RawMessage(e.Value)
			if len(raw) == 0 {
				raw = json.RawMessage("null")
			}
			out = append(out, value{sdk.InputItem{Value: raw, PluginID: e.PluginID, Runtime: e.RuntimeID, ResultID: e.RunID}, a.IO.OutputContract, raw, true})
		}
	}
	slices.SortFunc(out, func(a, b value) int { return strings.Compare(a.Runtime, b.Runtime) })
	return out
}

// values gives what the results so far hold for a slot, by runtime id. A result without an output, or without the member
// the slot selects, gives nothing.
func values(b manifest.Binding, results []Result) []value {
	var items []value
	for _, res := range results {
		if !res.Satisfies() || len(res.Output) == 0 || !provides(res.RuntimeID, res.Contract, b.Runtime, b.Contract) {
			continue
		}
		if v, ok := Select(res.Output, b.Select); ok {
			items = append(items, value{sdk.InputItem{Value: v, PluginID: res.PluginID, Runtime: res.RuntimeID, ResultID: res.RunID}, res.Contract, res.Output, res.Seed})
		}
	}
	slices.SortFunc(items, func(a, b value) int { return strings.Compare(a.Runtime, b.Runtime) })
	return items
}

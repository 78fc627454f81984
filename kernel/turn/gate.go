package turn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// gate holds a runtime's needs and required inputs against the results so far. skip is empty when it may run; needs are
// then the runs its own commit depends on (see Result.Needs). A runtime that was named to run passes.
func (p Plan) gate(r manifest.Runtime, results []Result) (skip string, needs [][]string) {
	if p.manual() {
		return "", nil
	}
	for _, n := range r.Schedule.Needs {
		ok, groups := p.satisfied(r.ID, n, results)
		if !ok {
			return SkipDependency, nil
		}
		needs = append(needs, groups...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.IO.Inputs)) {
		b := r.IO.Inputs[name]
		if !turnScoped(b) || !b.Required {
			continue
		}
		items := values(b, results)
		if len(items) == 0 {
			return SkipInput, nil
		}
		var from []string
		for _, i := range items {
			from = append(from, i.Runtime)
		}
		needs = append(needs, groups(b.Cardinality, from)...)
	}
	return "", withoutSeeds(needs, results)
}

// satisfied says whether a need is met, and by which runs of this execution. Nobody waits for itself.
func (p Plan) satisfied(self string, n manifest.Need, results []Result) (bool, [][]string) {
	var from []string
	total, good, stored := 0, 0, false
	for _, a := range p.Active {
		if a.ID == self || !provides(a.ID, a.IO.OutputContract, n.Runtime, n.Contract) || !p.mayRun(a, n.Scope) {
			continue
		}
		total++
		if n.Scope == "session" {
			if mirror, ok := p.Session.SetupOf(a.ID); ok && mirror.Status == projections.SetupDone {
				good, stored = good+1, true
				continue
			}
		}
		for _, res := range results {
			// In the execution that completes it, a session-scoped need is met by the signal itself.
			if res.RuntimeID == a.ID && res.Satisfies() && (n.Scope != "session" || res.Done) {
				good++
				from = append(from, res.RuntimeID)
				break
			}
		}
	}
	if n.Cardinality == "all" {
		return total > 0 && good == total, groups("all", from)
	}
	if stored { // what was committed earlier cannot be dropped
		return true, nil
	}
	return good > 0, groups("one", from)
}

// mayRun says whether a runtime can run in this execution by itself, or has its state from an earlier one. Who cannot is no
// provider anybody waits for.
func (p Plan) mayRun(r manifest.Runtime, scope string) bool {
	if r.Schedule.SubagentOnly || r.Schedule.Trigger == manifest.TriggerManual {
		return false
	}
	if p.Phase == projections.PhaseSetup || r.Schedule.Stage != manifest.Setup {
		return (r.Schedule.Stage == manifest.Setup) == (p.Phase == projections.PhaseSetup)
	}
	mirror, ok := p.Session.SetupOf(r.ID) // the late pass
	return ok && (scope == "session" || mirror.Status == projections.SetupPending)
}

// withoutSeeds leaves out what a seed meets: what is committed cannot be dropped.
func withoutSeeds(needs [][]string, results []Result) [][]string {
	seed := func(id string) bool {
		return slices.ContainsFunc(results, func(r Result) bool { return r.Seed && r.RuntimeID == id })
	}
	return slices.DeleteFunc(needs, func(group []string) bool { return slices.ContainsFunc(group, seed) })
}

// groups gives the runs behind a need as Result.Needs has them: each of them, or one of them.
func groups(cardinality string, from []string) [][]string {
	if len(from) == 0 {
		return nil
	}
	from = slices.Compact(slices.SortedFunc(slices.Values(from), cmp.Compare[string]))
	if cardinality != "all" {
		return [][]string{from}
	}
	out := make([][]string, len(from))
	for i, id := range from {
		out[i] = []string{id}
	}
	return out
}

package turn

import (
	"slices"

	"github.com/covel/covel/plugins/manifest"
)

// Levels sorts the runtimes of one stage into groups that may run in parallel, by the edges of needs, after and
// turn-scoped inputs; names break ties. cyclic are the members of cycles and everything behind them: they do not run
// (seed: turn-pipeline.txt, "Ordering rules for the main loop").
func Levels(runtimes []manifest.Runtime) (levels [][]manifest.Runtime, cyclic []manifest.Runtime) {
	rest := slices.Clone(runtimes)
	slices.SortFunc(rest, byID)
	before := map[string][]string{}
	for _, r := range rest {
		for _, up := range Upstream(r, rest) {
			before[r.ID] = append(before[r.ID], up.ID)
		}
	}
	done := map[string]bool{}
	for len(rest) > 0 {
		var level, later []manifest.Runtime
		for _, r := range rest {
			if slices.ContainsFunc(before[r.ID], func(id string) bool { return !done[id] }) {
				later = append(later, r)
			} else {
				level = append(level, r)
			}
		}
		if len(level) == 0 {
			return levels, rest
		}
		for _, r := range level {
			done[r.ID] = true
		}
		levels, rest = append(levels, level), later
	}
	return levels, nil
}

// Upstream gives the runtimes among others that must be settled before r starts.
func Upstream(r manifest.Runtime, others []manifest.Runtime) []manifest.Runtime {
	var out []manifest.Runtime
	for _, o := range others {
		if o.ID != r.ID && waitsFor(r, o) {
			out = append(out, o)
		}
	}
	return out
}

func waitsFor(r, o manifest.Runtime) bool {
	match := func(runtime, contract string) bool {
		return (runtime != "" && runtime == o.ID) || (contract != "" && contract == o.IO.OutputContract)
	}
	for _, n := range r.Schedule.Needs {
		if match(n.Runtime, n.Contract) {
			return true
		}
	}
	for _, n := range r.Schedule.After {
		if match(n.Runtime, n.Contract) {
			return true
		}
	}
	for _, b := range r.IO.Inputs {
		if b.Scope != "committed" && match(b.Runtime, b.Contract) {
			return true
		}
	}
	return false
}

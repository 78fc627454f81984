package turn

import (
	"slices"

	"github.com/covel/covel/plugins/manifest"
)

// Levels sorts the runtimes of one stage, or of one depth of events, into groups that may run in parallel, by the edges of
// needs, after and turn-scoped inputs; names break ties. cyclic are the members of cycles and everything behind them: they
// do not run (seed: turn-pipeline.txt, "Ordering rules for the main loop").
//
// met says which needs for one provider of a contract are met already: they wait for nobody. One that is not met waits for
// all its providers, but where these wait for it in turn, one that ran is enough (reference: plugins.md §7.3, "Satisfied
// earlier"; seed: §2.1, "it does not count as a cycle").
func Levels(runtimes []manifest.Runtime, met func(manifest.Need) bool) (levels [][]manifest.Runtime, cyclic []manifest.Runtime) {
	rest := slices.Clone(runtimes)
	slices.SortFunc(rest, byID)
	edges := make(map[string]waits, len(rest))
	for _, r := range rest {
		edges[r.ID] = waitsOf(r, rest, met)
	}
	done := map[string]bool{}
	for len(rest) > 0 {
		level, later := split(rest, func(r manifest.Runtime) bool { return edges[r.ID].over(done) })
		if len(level) == 0 {
			level, later = split(rest, func(r manifest.Runtime) bool { return edges[r.ID].enough(done) })
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

func split(list []manifest.Runtime, first func(manifest.Runtime) bool) (yes, no []manifest.Runtime) {
	for _, r := range list {
		if first(r) {
			yes = append(yes, r)
		} else {
			no = append(no, r)
		}
	}
	return yes, no
}

// waits is what one runtime waits for among its peers.
type waits struct {
	all []string   // every one of these
	one [][]string // of each group one at least, better all
}

// over says whether there is nothing left to wait for.
func (w waits) over(done map[string]bool) bool {
	missing := func(id string) bool { return !done[id] }
	return !slices.ContainsFunc(w.all, missing) &&
		!slices.ContainsFunc(w.one, func(group []string) bool { return slices.ContainsFunc(group, missing) })
}

// enough says whether what must be there is there.
func (w waits) enough(done map[string]bool) bool {
	return !slices.ContainsFunc(w.all, func(id string) bool { return !done[id] }) &&
		!slices.ContainsFunc(w.one, func(group []string) bool {
			return !slices.ContainsFunc(group, func(id string) bool { return done[id] })
		})
}

func waitsOf(r manifest.Runtime, peers []manifest.Runtime, met func(manifest.Need) bool) (w waits) {
	matching := func(runtime, contract string) (ids []string) {
		for _, p := range peers {
			if p.ID != r.ID && provides(p.ID, p.IO.OutputContract, runtime, contract) {
				ids = append(ids, p.ID)
			}
		}
		return ids
	}
	for _, n := range r.Schedule.Needs {
		ids := matching(n.Runtime, n.Contract)
		switch {
		case n.Runtime != "" || n.Cardinality == "all":
			w.all = append(w.all, ids...)
		case len(ids) > 0 && !met(n):
			w.one = append(w.one, ids)
		}
	}
	for _, n := range r.Schedule.After {
		w.all = append(w.all, matching(n.Runtime, n.Contract)...)
	}
	for _, b := range r.IO.Inputs {
		if turnScoped(b) {
			w.all = append(w.all, matching(b.Runtime, b.Contract)...)
		}
	}
	return w
}

// provides says whether a runtime with this id and output contract is what an edge or an input names.
func provides(id, outputContract, runtime, contract string) bool {
	return runtime != "" && runtime == id || contract != "" && contract == outputContract
}

// turnScoped says whether an input is filled from the results of the same execution.
func turnScoped(b manifest.Binding) bool { return b.Scope != "committed" && b.Kernel == "" }

package turn

import (
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// gate holds a runtime's needs and required inputs against the results so far. skip is empty when it may run; needs are
// the runtimes its own commit depends on.
func gate(r manifest.Runtime, results []Result, active []manifest.Runtime, s projections.Session) (skip string, needs []string) {
	for _, n := range r.Schedule.Needs {
		ok, from := satisfied(n, results, active, s)
		if !ok {
			return SkipDependency, nil
		}
		needs = append(needs, from...)
	}
	for _, b := range r.IO.Inputs {
		if b.Scope == "committed" || b.Kernel != "" || !b.Required {
			continue
		}
		found := false
		for _, res := range results {
			if provides(b, res) && res.Satisfies() && len(res.Output) > 0 {
				found = true
				needs = append(needs, res.RuntimeID)
			}
		}
		if !found {
			return SkipInput, nil
		}
	}
	slices.Sort(needs)
	return "", slices.Compact(needs)
}

func satisfied(n manifest.Need, results []Result, active []manifest.Runtime, s projections.Session) (bool, []string) {
	match := func(id, contract string) bool {
		return (n.Runtime != "" && n.Runtime == id) || (n.Contract != "" && n.Contract == contract)
	}
	var from []string
	total, good := 0, 0
	for _, a := range active {
		if !match(a.ID, a.IO.OutputContract) {
			continue
		}
		total++
		if n.Scope == "session" {
			if mirror, ok := s.SetupOf(a.ID); ok && mirror.Status == projections.SetupDone {
				good++
				continue
			}
		}
		for _, res := range results {
			// In the execution that completes it, a session-scoped need is met by the signal itself.
			if res.RuntimeID == a.ID && res.Satisfies() && (n.Scope != "session" || res.Done) {
				good++
				from = append(from, res.RuntimeID)
			}
		}
	}
	if n.Cardinality == "all" {
		return total > 0 && good == total, from
	}
	return good > 0, from
}

func provides(b manifest.Binding, r Result) bool {
	return (b.Runtime != "" && b.Runtime == r.RuntimeID) || (b.Contract != "" && b.Contract == r.Contract)
}

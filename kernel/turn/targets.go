package turn

import (
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// manual says whether runtimes are named to run, not tried again. The call is the trigger decision itself: it bypasses
// every gate, and turn-scoped inputs are projected away (seed: turn-pipeline.txt §4.3; reference: plugins.md §8, "Manual
// activation").
func (p Plan) manual() bool { return len(p.Targets) > 0 && p.SourceTurnID == "" }

// retry says whether failed runs of an earlier turn are tried again, with its good results as seeds.
func (p Plan) retry() bool { return len(p.Targets) > 0 && p.SourceTurnID != "" }

// target finds what a runtime was named with.
func (p Plan) target(id string) (projections.Target, bool) {
	i := slices.IndexFunc(p.Targets, func(t projections.Target) bool { return t.RuntimeID == id })
	if i < 0 {
		return projections.Target{}, false
	}
	return p.Targets[i], true
}

// named gives the runtimes that were named and can run, by id. One that is not active, and a sub-agent, cannot (seed: §4.3,
// "A schedule.subagentOnly runtime is not in this tree").
func (p Plan) named() (out []manifest.Runtime, missing []Diagnostic) {
	for _, t := range p.Targets {
		i := slices.IndexFunc(p.Active, func(r manifest.Runtime) bool { return r.ID == t.RuntimeID })
		switch {
		case i < 0:
			missing = append(missing, Diagnostic{Code: HazardTarget, RuntimeID: t.RuntimeID, Message: "no active plugin has the runtime"})
		case p.Active[i].Schedule.SubagentOnly:
			missing = append(missing, Diagnostic{Code: HazardTarget, RuntimeID: t.RuntimeID, Message: "the runtime runs as a sub-agent only"})
		case !slices.ContainsFunc(out, func(r manifest.Runtime) bool { return r.ID == t.RuntimeID }):
			out = append(out, p.Active[i])
		}
	}
	slices.SortFunc(out, byID)
	return out, missing
}

// bands gives what runs, by stage, in the order the stages run; runtimes outside the stages come last. A session that plays
// already catches up on set-up before anything else (reference: plugins.md §7.5, "late-setup pass before pre-turn").
func (p Plan) bands() (out [][]manifest.Runtime, missing []Diagnostic) {
	var selected []manifest.Runtime
	switch {
	case p.Session.Status == projections.StatusPaused || p.Session.Status == projections.StatusEnded:
	case len(p.Targets) > 0:
		selected, missing = p.named()
	default:
		selected = SelectTriggered(p.Active, p.Session, p.Phase, p.LogicalTurn)
	}
	for _, stage := range append([]manifest.Stage{manifest.Setup}, append(slices.Clone(manifest.MainStages), "")...) {
		var band []manifest.Runtime
		for _, r := range selected {
			if r.Schedule.Stage == stage {
				band = append(band, r)
			}
		}
		out = append(out, band)
	}
	return out, missing
}

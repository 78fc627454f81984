package turn

import (
	"encoding/json"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// SeedsOf gives the results of the latest committed turn, its committed retries included, that a retry of its runs may build
// on: the successful ones that are not tried again themselves, and what a guard answered in a runtime's place (seed:
// turn-pipeline.txt, "Only two kinds of results can act as upstream seeds").
func SeedsOf(latest projections.Latest, retry projections.Execution) []Result {
	if retry.SourceTurnID == "" || retry.SourceTurnID != latest.TurnID {
		return nil
	}
	var out []Result
	for _, r := range latest.Runs {
		out = append(out, Result{
			RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID, Stage: manifest.Stage(r.Stage), Story: r.Story, Contract: r.Contract,
			Status: Status(r.Status), SkipReason: r.SkipReason, Output: json.RawMessage(r.Output),
		})
	}
	return Plan{Targets: retry.Targets, Seeds: out}.seeds()
}

// seeds are the plan's seeds that count, marked. They are upstream of everything, never results.
func (p Plan) seeds() []Result {
	var out []Result
	for _, r := range p.Seeds {
		if _, again := p.target(r.RuntimeID); again || !r.Satisfies() {
			continue
		}
		r.Seed = true
		out = append(out, r)
	}
	return out
}

// upstream is everything a run that starts now may see: the seeds, then what has settled.
func (s State) upstream() []Result {
	if len(s.seeds) == 0 {
		return s.Results
	}
	return append(s.seeds[:len(s.seeds):len(s.seeds)], s.Results...)
}

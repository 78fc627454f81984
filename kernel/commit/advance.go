package commit

import (
	"encoding/json"
	"strings"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
)

// advances says whether the committed story asks for another round and the limit of its input leaves one. Only what the
// stages run for an input advances: a retry, a resume, a run by name and a job are one execution (seed: turn-pipeline.txt,
// "Advancement within one input"; decisions: "Execution allowances").
func (p *planner) advances() bool {
	e := p.in.Execution
	if e.Phase != projections.PhasePlaying || e.Round >= e.AdvanceLimit || len(p.suspended) > 0 {
		return false
	}
	for _, r := range p.in.Results {
		if _, dropped := p.dropped[r.RuntimeID]; r.Story && r.Status == turn.Succeeded && !dropped && asksToAdvance(r.Output) {
			return true
		}
	}
	return false
}

// asksToAdvance reads {advance: {reason}} off the output of a story. Without a reason nothing is asked.
func asksToAdvance(output json.RawMessage) bool {
	var asked struct {
		Advance json.RawMessage `json:"advance"`
	}
	var advance struct {
		Reason string `json:"reason"`
	}
	return json.Unmarshal(output, &asked) == nil && json.Unmarshal(asked.Advance, &advance) == nil && strings.TrimSpace(advance.Reason) != ""
}

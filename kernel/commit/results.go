package commit

import (
	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// results keeps what the runs gave, so that a retry of a failed one finds its upstream (seed: turn-pipeline.txt, "Two-step
// result": seeds come only from committed results). A dropped run has failed and gives nothing.
func results(execution string, list []turn.Result, dropped map[string]string) *eventsv1.ExecutionResults {
	out := &eventsv1.ExecutionResults{ExecutionId: execution}
	for _, r := range list {
		kept := &eventsv1.RunResult{
			RuntimeId: r.RuntimeID, PluginId: r.PluginID, RunId: r.RunID, Stage: string(r.Stage), Status: string(r.Status),
			SkipReason: errorText(r.SkipReason), Error: errorText(r.Error), Contract: r.Contract, Story: r.Story,
		}
		why, gone := dropped[r.RuntimeID]
		switch {
		case gone:
			kept.Status, kept.Error = string(turn.Failed), errorText(why)
		case r.Committable():
			kept.Output = r.Output
		}
		out.Results = append(out.Results, kept)
	}
	return out
}

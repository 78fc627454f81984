package commit

import (
	"encoding/json"
	"slices"

	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// blame fails the execution because of one run, whose try it was.
func blame(in In, r turn.Result, refusal *Refusal) Out {
	message := refusal.blames(r)
	in.Results = slices.Clone(in.Results)
	for i := range in.Results {
		if in.Results[i].RunID == r.RunID {
			in.Results[i].Status, in.Results[i].Error = turn.Failed, message
		}
	}
	return failure(in, ReasonProposal, refusal.shown(r), verdicts{r.RunID: {refusal: refusal}})
}

// Failure gives the events of an execution that writes nothing of its own. A failed try of a setup runtime uses up an
// attempt all the same (seed: turn-pipeline.txt, "A few writes happen outside this transaction").
func Failure(in In, reason, message string) Out { return failure(in, reason, message, nil) }

func failure(in In, reason, message string, v verdicts) Out {
	message = errorText(message)
	ran, usage := outcomes(in, nil, v)
	ev := &eventsv1.ExecutionFailed{
		ExecutionId: in.Execution.ID, Reason: reason, Error: message, Usage: usage,
		Outcomes: ran, SetupAttempts: setupAttempts(in, message), Draft: Draft(in.Results),
		Spent: spentByChain(in),
	}
	return Out{Facts: []Fact{{Message: ev}}, Failed: true, Malformed: malformed(in.Results, v)}
}

// malformed names the plugins whose own code made a proposal that breaks the rules of its type: that of a run, or the provider
// of an operation. What was refused for another reason is nobody's fault (decisions: "Fault latch").
func malformed(results []turn.Result, v verdicts) map[string]string {
	out := map[string]string{}
	for _, r := range results {
		refusal := v[r.RunID].refusal
		if refusal == nil || refusal.Code != world.Invalid || refusal.ProposalType == "" {
			continue
		}
		plugin := r.PluginID
		for _, op := range allOperations(r) {
			if op.ID == refusal.Operation {
				plugin = op.PluginID
			}
		}
		out[plugin] = refusal.Message
	}
	return out
}

// allOperations are the operations of a run and of the calls below it.
func allOperations(r turn.Result) []turn.Operation {
	out := slices.Clone(r.Operations)
	for _, n := range r.Nested {
		out = append(out, allOperations(n)...)
	}
	return out
}

// Abort gives the events of an execution that was stopped. By the player's stop no attempt is used up; an execution that
// died with its process uses one for each setup runtime that was due.
func Abort(in In, reason string) Out {
	_, usage := outcomes(in, nil, nil)
	ev := &eventsv1.ExecutionAborted{ExecutionId: in.Execution.ID, Reason: reason, Draft: Draft(in.Results), Usage: usage, Spent: spentByChain(in)}
	return Out{Facts: []Fact{{Message: ev}}, Failed: true}
}

// Draft keeps the prose of a story that did not commit, whole or partial; nil when there is none. What other runs wrote
// was never meant for the player.
func Draft(results []turn.Result) []byte {
	for _, r := range results {
		if !r.Story {
			continue
		}
		prose := r.Draft
		if prose == "" {
			prose = StoryText(r.Segments)
		}
		if prose = text.Clean(prose); prose != "" {
			b, _ := json.Marshal(map[string]string{"text": prose}) // of strings: cannot fail
			return b
		}
	}
	return nil
}

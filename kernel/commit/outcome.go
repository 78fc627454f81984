package commit

import (
	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// outcomes tells how each run ended, calls before their callers, and what the execution cost. Errors come from anywhere, so
// their text is made clean.
func outcomes(in In, dropped map[string]string, v verdicts) ([]*eventsv1.RuntimeOutcome, *eventsv1.Usage) {
	var out []*eventsv1.RuntimeOutcome
	total := in.Usage
	for _, r := range in.Results {
		why, gone := dropped[r.RuntimeID]
		out = append(out, nested(r, gone || lost(r), &total)...)
		o := outcome(r, &total)
		if gone {
			o.Status, o.Error, o.Dropped = string(turn.Failed), errorText(why), true
		}
		said := v[r.RunID]
		o.LostReads = said.lost
		if said.refusal != nil {
			o.Code, o.ProposalType = said.refusal.Code, said.refusal.ProposalType
		}
		out = append(out, o)
	}
	return out, usageOf(total)
}

// nested tells of the calls below a run; what a run does not commit, its calls do not either.
func nested(r turn.Result, gone bool, total *turn.Usage) []*eventsv1.RuntimeOutcome {
	var out []*eventsv1.RuntimeOutcome
	for _, n := range r.Nested {
		out = append(out, nested(n, gone || lost(n), total)...)
		o := outcome(n, total)
		o.ParentRunId, o.Dropped = r.RunID, gone && n.Committable()
		out = append(out, o)
	}
	return out
}

// lost: what the calls of the run have left is not committed. A suspended run keeps it.
func lost(r turn.Result) bool { return !r.Committable() && r.Status != turn.Suspended }

// outcome is one run, with what the sub-agents it started have cost.
func outcome(r turn.Result, total *turn.Usage) *eventsv1.RuntimeOutcome {
	usage := r.Usage
	for _, s := range r.Subagents {
		usage = usage.Add(s.Usage)
	}
	*total = total.Add(usage)
	return &eventsv1.RuntimeOutcome{
		RuntimeId: r.RuntimeID, PluginId: r.PluginID, RunId: r.RunID, Status: string(r.Status), StopReason: r.StopReason,
		SkipReason: errorText(r.SkipReason), Error: errorText(r.Error), Usage: usageOf(usage), Finalizer: r.Finalizer,
		Concealed: r.Concealed,
	}
}

func usageOf(u turn.Usage) *eventsv1.Usage {
	return &eventsv1.Usage{
		InputTokens: uint64(u.InputTokens), OutputTokens: uint64(u.OutputTokens), CachedInputTokens: uint64(u.CachedInputTokens),
		ModelCalls: uint32(u.ModelCalls), ToolCalls: uint32(u.ToolCalls), CostMicros: u.CostMicros, UnpricedCalls: uint32(u.Unpriced),
	}
}

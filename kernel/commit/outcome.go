package commit

import (
	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// outcomes tells how each run ended, calls before their callers, and adds up what they cost. Errors come from anywhere, so
// their text is made clean.
func outcomes(results []turn.Result, dropped map[string]string, v verdicts, total *eventsv1.Usage) []*eventsv1.RuntimeOutcome {
	var out []*eventsv1.RuntimeOutcome
	for _, r := range results {
		why, gone := dropped[r.RuntimeID]
		out = append(out, nested(r, gone || lost(r), total)...)
		o := outcome(r, total)
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
	return out
}

// nested tells of the calls below a run; what a run does not commit, its calls do not either.
func nested(r turn.Result, gone bool, total *eventsv1.Usage) []*eventsv1.RuntimeOutcome {
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
func outcome(r turn.Result, total *eventsv1.Usage) *eventsv1.RuntimeOutcome {
	usage := r.Usage
	for _, s := range r.Subagents {
		usage = usage.Add(s.Usage)
	}
	u := &eventsv1.Usage{
		InputTokens: uint64(usage.InputTokens), OutputTokens: uint64(usage.OutputTokens),
		CachedInputTokens: uint64(usage.CachedInputTokens), ModelCalls: uint32(usage.ModelCalls), ToolCalls: uint32(usage.ToolCalls),
	}
	total.InputTokens += u.InputTokens
	total.OutputTokens += u.OutputTokens
	total.CachedInputTokens += u.CachedInputTokens
	total.ModelCalls += u.ModelCalls
	total.ToolCalls += u.ToolCalls
	return &eventsv1.RuntimeOutcome{
		RuntimeId: r.RuntimeID, PluginId: r.PluginID, RunId: r.RunID, Status: string(r.Status), StopReason: r.StopReason,
		SkipReason: errorText(r.SkipReason), Error: errorText(r.Error), Usage: u, Finalizer: r.Finalizer,
		Concealed: r.Concealed,
	}
}

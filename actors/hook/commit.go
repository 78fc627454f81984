package hook

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/events/trace"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// Results are the results of an execution as hooks read them.
func Results(list []turn.Result) []sdk.RunResult {
	out := make([]sdk.RunResult, len(list))
	for i, r := range list {
		out[i] = turn.RunResult(r)
	}
	return out
}

// PreCommit asks the PreStateCommit hooks about every proposal of the results that can be committed. It gives the results
// with changed payloads; a proposal that was refused is marked, and the commit treats it as any refused write. What was
// handed in stays as it was.
func PreCommit(ctx context.Context, s *Set, about trace.Scope, results []turn.Result) []turn.Result {
	if !s.Has(sdk.OnPreStateCommit.Name) {
		return results
	}
	out := slices.Clone(results)
	for i := range out {
		if out[i].Committable() {
			out[i] = preCommit(ctx, s, about, out[i])
		}
	}
	return out
}

func preCommit(ctx context.Context, s *Set, about trace.Scope, r turn.Result) turn.Result {
	about.RunID, about.RuntimeID, about.PluginID, about.Concealed = r.RunID, r.RuntimeID, r.PluginID, r.Concealed
	r.Nested = PreCommit(ctx, s, about, r.Nested)
	r.Proposals, r.Refused = proposals(ctx, s, about, r.Proposals)
	r.Operations = slices.Clone(r.Operations)
	for i := range r.Operations {
		op := about
		op.PluginID = r.Operations[i].PluginID
		r.Operations[i].Proposals, r.Operations[i].Refused = proposals(ctx, s, op, r.Operations[i].Proposals)
	}
	return r
}

func proposals(ctx context.Context, s *Set, about trace.Scope, list []sdk.Proposal) ([]sdk.Proposal, map[int]string) {
	out := slices.Clone(list)
	var refused map[int]string
	for i, p := range out {
		at := about
		at.Concealed = at.Concealed || hidden(p)
		changed, o := Run(ctx, s, sdk.OnPreStateCommit, at, sdk.Committing{Proposal: p})
		switch {
		case o.Aborted:
			if refused == nil {
				refused = map[int]string{}
			}
			refused[i] = o.Reason
		case o.Rewrote:
			out[i].Payload = changed.Proposal.Payload
		}
	}
	return out, refused
}

// hidden says that a proposal writes what only its plugin's own code may read: the trace keeps nothing of it.
func hidden(p sdk.Proposal) bool {
	return strings.HasPrefix(gjson.GetBytes(p.Payload, "namespace").String(), "_hidden.")
}

// PostCommit tells the PostStateCommit hooks of every proposal that stands in the log now. committed says of a run whether
// its writes do; the operations of a run follow it.
func PostCommit(ctx context.Context, s *Set, about trace.Scope, results []turn.Result, committed func(runID string) bool, version uint64) {
	if !s.Has(sdk.OnPostStateCommit.Name) {
		return
	}
	done := sdk.CommitResult{Committed: true, Version: version}
	for _, r := range results {
		if !r.Committable() || !committed(r.RunID) {
			continue
		}
		at := about
		at.RunID, at.RuntimeID, at.PluginID, at.Concealed = r.RunID, r.RuntimeID, r.PluginID, r.Concealed
		PostCommit(ctx, s, at, r.Nested, func(string) bool { return true }, version)
		for i, p := range r.Proposals {
			if _, no := r.Refused[i]; !no {
				Run(ctx, s, sdk.OnPostStateCommit, at, sdk.Committed{Proposal: p, Result: done})
			}
		}
		for _, op := range r.Operations {
			of := at
			of.PluginID = op.PluginID
			for i, p := range op.Proposals {
				if _, no := op.Refused[i]; !no {
					Run(ctx, s, sdk.OnPostStateCommit, of, sdk.Committed{Proposal: p, Result: done})
				}
			}
		}
	}
}

// AfterCommit is what a turn hands its session before it ends: whom to tell when the execution is committed. Tell blocks.
type AfterCommit struct {
	ExecutionID string
	Tell        func(ctx context.Context, committed func(runID string) bool, version uint64) kernelsession.HooksTold
}

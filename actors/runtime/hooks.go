package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// allowed brings back what the PreRuntime hooks said.
type allowed struct {
	refused bool
	reason  string
}

// settled brings back a result from the PostRuntime hooks.
type settled struct{ result turn.Result }

// hooked asks hooks outside of Receive and sends the answer to the mailbox. If the code around them panics, otherwise is
// sent.
func (r *runtime) hooked(c actor.Context, what string, otherwise any, run func(ctx context.Context) any) {
	self, root, ctx := c.Self(), c.ActorSystem().Root, r.ctx
	safego.Go(what, func() {
		msg := otherwise
		defer func() { root.Send(self, msg) }()
		msg = run(ctx)
	})
}

// preRuntime asks the hooks before the guard (seed: turn-pipeline.txt §2.2, "PreRuntime hook" before "guard?").
func (r *runtime) preRuntime(c actor.Context) {
	hooks, about := r.run.frozen.Hooks, r.run.scope()
	if !hooks.Has(sdk.OnPreRuntime.Name) {
		r.guard(c)
		return
	}
	payload := sdk.RuntimeStarting{Manifest: turn.Info(r.run.start.Runtime), Input: r.run.start.Inputs}
	r.hooked(c, "PreRuntime", allowed{true, "the PreRuntime hooks failed"}, func(ctx context.Context) any {
		_, o := hook.Run(ctx, hooks, sdk.OnPreRuntime, about, payload)
		return allowed{o.Aborted, o.Reason}
	})
}

func (r *runtime) allowed(c actor.Context, m allowed) {
	switch {
	case r.ended:
	case m.refused:
		r.end(c, turn.Result{Status: turn.Skipped, SkipReason: turn.SkipHook, Error: m.reason})
	default:
		r.guard(c)
	}
}

// postRuntime lets hooks replace the result before it is checked and told. A run that never began, because a hook or a stop
// came before it, has no result to replace.
func (r *runtime) postRuntime(c actor.Context, res turn.Result) {
	hooks, about := r.run.frozen.Hooks, r.run.scope()
	if !hooks.Has(sdk.OnPostRuntime.Name) || res.SkipReason == turn.SkipHook || r.run.start.Subagent != nil {
		r.report(c, res)
		return
	}
	res.RuntimeID, res.PluginID, res.RunID = about.RuntimeID, about.PluginID, about.RunID
	r.hooked(c, "PostRuntime", settled{res}, func(ctx context.Context) any {
		changed, o := hook.Run(ctx, hooks, sdk.OnPostRuntime, about, sdk.RuntimeEnded{Result: turn.RunResult(res)})
		if !o.Rewrote {
			return settled{res}
		}
		return settled{r.replaced(res, changed.Result)}
	})
}

// replaced takes over what hooks made of a result. A story that was told anew is proposed and handed on anew.
func (r *runtime) replaced(res turn.Result, with sdk.RunResult) turn.Result {
	rt := r.run.start.Runtime
	value, withdrawn := turn.Revalued(res, with, rt.Type == manifest.TypeFunction)
	retold, rewritten := !reflect.DeepEqual(res.Segments, with.Segments), !bytes.Equal(res.Output, value)
	res.Status, res.StopReason, res.SkipReason, res.Error = turn.Status(with.Status), with.StopReason, with.SkipReason, with.Error
	res.Output, res.Segments, res.Done = value, with.Segments, with.Done
	if withdrawn {
		const why = "a PostRuntime hook replaced the output and gave no canonicalValue: the value is withdrawn"
		r.emit(trace.RuntimeDiagnostic, trace.Diagnostic{Code: turn.DiagnosticValueWithdrawn, Message: why})
		if rt.IO.OutputContract != "" && res.Status == turn.Succeeded {
			res.Status, res.StopReason, res.Error = turn.Failed, "invalid-output", why+", and there is none for "+rt.IO.OutputContract
		}
	}
	if retold {
		r.run.retell(&res, rewritten)
	}
	return res
}

// retell proposes the story of a result in the place of the one that was told first.
func (r *run) retell(res *turn.Result, rewritten bool) {
	r.proposals = slices.DeleteFunc(slices.Clone(r.proposals), func(p sdk.Proposal) bool { return p.Type == (sdk.NarrativeAppend{}).ProposalType() })
	if len(res.Segments) == 0 {
		return
	}
	if p, err := sdk.Propose(sdk.NarrativeAppend{Segments: res.Segments, Kind: "story", Truncated: res.Truncated}); err == nil {
		r.proposals = append([]sdk.Proposal{p}, r.proposals...)
	}
	if !rewritten {
		res.Output, _ = json.Marshal(map[string]any{"narrativeOutput": storyText(res.Segments), "segments": res.Segments}) // of strings
	}
}

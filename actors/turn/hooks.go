package turn

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/commit"
	kernelsession "github.com/covel/covel/kernel/session"
	kernel "github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// answered brings what hooks said back into the mailbox.
type answered struct{ in kernel.Input }

// concluded: the hooks at the end of the execution have been asked.
type concluded struct{ ended kernelsession.TurnEnded }

func asks(s *hook.Set) kernel.Asks {
	return kernel.Asks{TurnStart: s.Has(sdk.OnTurnStart.Name), PreSchedule: s.Has(sdk.OnPreSchedule.Name)}
}

func (t *turn) about() trace.Scope {
	return trace.Scope{SessionID: t.start.View.Session.ID, TurnID: t.start.Execution.ID}
}

func (t *turn) scope(r kernel.Result) trace.Scope {
	about := t.about()
	about.RunID, about.RuntimeID, about.PluginID, about.Concealed = r.RunID, r.RuntimeID, r.PluginID, r.Concealed
	return about
}

// ask runs hooks outside of Receive. If the code around them panics, what they were asked goes on as if there were none.
func (t *turn) ask(c actor.Context, what string, otherwise any, run func(ctx context.Context) any) {
	self, root, ctx := c.Self(), c.ActorSystem().Root, t.ctx
	safego.Go(what, func() {
		msg := otherwise
		defer func() { root.Send(self, msg) }()
		msg = run(ctx)
	})
}

func (t *turn) askTurnStart(c actor.Context, e kernel.AskTurnStart) {
	payload := sdk.TurnStarted{Actions: []sdk.Action{}, ActiveRuntimes: e.Runtimes}
	if in := t.frozen.Input(); in != nil {
		payload.PlayerMessage, payload.Actions = in.Rendered, kernelsession.SDKActions(in.Actions)
	}
	hooks, about := t.frozen.Hooks, t.about()
	t.ask(c, "TurnStart", answered{kernel.TurnStartAnswered{Abort: true, Reason: "the TurnStart hooks failed"}}, func(ctx context.Context) any {
		_, o := hook.Run(ctx, hooks, sdk.OnTurnStart, about, payload)
		return answered{kernel.TurnStartAnswered{Abort: o.Aborted, Reason: o.Reason}}
	})
}

func (t *turn) askSchedule(c actor.Context, e kernel.AskSchedule) {
	hooks, about := t.frozen.Hooks, t.about()
	t.ask(c, "PreSchedule", answered{kernel.ScheduleAnswered{Keep: names(e.Triggered)}}, func(ctx context.Context) any {
		kept, _ := hook.Run(ctx, hooks, sdk.OnPreSchedule, about, sdk.Schedule{Triggered: e.Triggered})
		return answered{kernel.ScheduleAnswered{Keep: names(kept.Triggered)}}
	})
}

func names(list []sdk.RuntimeInfo) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.Name
	}
	return out
}

// conclude asks the hooks at the end of an execution and then reports: TurnStop looks on, PreStateCommit may change or refuse
// what will be committed. An execution that was stopped or refused commits nothing, so nobody is asked about its writes.
func (t *turn) conclude(c actor.Context, ended kernelsession.TurnEnded) {
	hooks, about := t.frozen.Hooks, t.about()
	stops := ended.Refused == "" && hooks.Has(sdk.OnTurnStop.Name)
	commits := t.cancelled == "" && hooks.Has(sdk.OnPreStateCommit.Name) && len(ended.Results) > 0
	if !stops && !commits {
		t.report(c, ended)
		return
	}
	took, results := time.Since(t.begun).Milliseconds(), slices.Clone(ended.Results)
	t.ask(c, "the end of an execution", concluded{kernelsession.TurnEnded{Crash: "the hooks at the end of the execution failed"}}, func(ctx context.Context) any {
		if stops {
			hook.Run(context.WithoutCancel(ctx), hooks, sdk.OnTurnStop, about, sdk.TurnStopped{RuntimeResults: hook.Results(results), DurationMs: took})
		}
		if commits {
			results = hook.PreCommit(ctx, hooks, about, results)
		}
		ended.Results = results
		return concluded{ended}
	})
}

// health tells how the plugins did whose hooks and extensions were called in this execution.
func (t *turn) health() map[string]string {
	out := hook.HealthOf(t.frozen.Hooks)
	for plugin, why := range t.frozen.Shared.Health() {
		out[plugin] = cmp.Or(out[plugin], why)
	}
	return out
}

// afterCommit hands the session what to tell the PostStateCommit hooks when the execution is committed.
func (t *turn) afterCommit(c actor.Context, ended kernelsession.TurnEnded) {
	hooks, about, results := t.frozen.Hooks, t.about(), slices.Clone(ended.Results)
	if t.frozen.Only != nil { // of a background run no words are committed
		for i, r := range results {
			results[i] = commit.WithoutMessages(r)
		}
	}
	if !hooks.Has(sdk.OnPostStateCommit.Name) || len(results) == 0 {
		return
	}
	input := cmp.Or(t.start.Execution.LogicalTurnID, t.start.Execution.ID)
	c.Send(c.Parent(), hook.AfterCommit{ExecutionID: t.start.Execution.ID, Tell: func(ctx context.Context, committed func(string) bool, version uint64) kernelsession.HooksTold {
		hook.PostCommit(ctx, hooks, about, results, committed, version)
		return kernelsession.HooksTold{Input: input, Health: hook.HealthOf(hooks)}
	}})
}

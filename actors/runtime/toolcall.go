package runtime

import (
	"context"
	"encoding/json"
	"time"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// runTool runs one call between its hooks, whoever made it, and tells the trace (seed: turn-pipeline.txt §2.2, "PreToolUse →
// execute → PostToolUse"). The name is authorised after the hooks: it is the final one that counts (tools.txt, "unavailable").
func (r *runtime) runTool(ctx context.Context, id string, call tools.Call) tools.CallResult {
	hooks, about := r.run.frozen.Hooks, r.run.scope()
	about.Concealed = about.Concealed || r.asksPrivately(call)
	began := time.Now()
	r.Trace.Emit(about, trace.ToolCalling, trace.ToolCall{ToolName: call.Name, ToolCallID: id, Arguments: call.Arguments, Approval: approvalOf(call.Name)})
	if hooks.Has(sdk.OnPreToolUse.Name) {
		use, o := hook.Run(ctx, hooks, sdk.OnPreToolUse, about, sdk.ToolUse{ToolCall: sdk.ToolCall{ID: id, Name: call.Name, Arguments: call.Arguments}})
		if o.Aborted {
			done := tools.RefusedByHook(call.Name, call.Arguments, o.Reason)
			r.emitTool(about, id, done, began)
			return done
		}
		call.Name, call.Arguments = use.ToolCall.Name, use.ToolCall.Arguments
	}
	if err := r.run.frozen.Account.admit(allowance.ToolCall); err != nil {
		done := tools.Skipped(call.Name, call.Arguments, err.Error())
		done.Cause = err
		r.emitTool(about, id, done, began)
		return done
	}
	done := r.Tools.Run(ctx, call)
	if _, own := call.Own[done.Name]; own && done.Cause != nil && ctx.Err() == nil {
		r.faulty.Store(true)
	}
	if hooks.Has(sdk.OnPostToolUse.Name) && ctx.Err() == nil {
		used, o := hook.Run(ctx, hooks, sdk.OnPostToolUse, about, sdk.ToolUsed{
			ToolCall: sdk.ToolCall{ID: id, Name: done.Name, Arguments: done.Arguments}, Result: json.RawMessage(done.Envelope),
		})
		if o.Rewrote {
			done = done.WithResult(used.Result)
		}
		done.Terminate = o.End
	}
	r.emitTool(about, id, done, began)
	return done
}

func (r *runtime) emitTool(about trace.Scope, id string, done tools.CallResult, began time.Time) {
	end := trace.ToolEnd{
		ToolName: done.Name, ToolCallID: id, Arguments: done.Arguments, Repaired: string(done.Fix), Result: done.Envelope, Content: done.Content,
		Success: done.Err == nil, Skipped: done.Skipped, DurationMs: time.Since(began).Milliseconds(), Approval: approvalOf(done.Name),
	}
	for _, p := range done.Proposals {
		end.Staged = append(end.Staged, p.Type)
	}
	if done.Err == nil {
		r.Trace.Emit(about, trace.ToolCompleted, end)
		return
	}
	end.Code, end.Error, end.Hint = string(done.Err.Code), done.Err.Message, done.Err.Hint
	if done.Cause != nil {
		end.Error = done.Cause.Error()
	}
	r.Trace.Emit(about, trace.ToolFailed, end)
}

// approvalOf is how a call is approved: the framework's tools need nobody's word (seed: tools.txt, "Overview").
func approvalOf(name string) string {
	if tools.Reserved(name) {
		return "auto-allowed"
	}
	return ""
}

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

// toolCall is a call on its way through its hooks.
type toolCall struct {
	tools.Call
	id       string
	about    trace.Scope
	began    time.Time
	deferred []tools.Searchable // what search-tools searches; nil: this run has nothing to find
	done     *tools.CallResult  // its result; nil until it has run
}

// runTool runs one call between its hooks, whoever made it, and tells the trace (seed: turn-pipeline.txt §2.2, "PreToolUse →
// execute → PostToolUse").
func (r *runtime) runTool(ctx context.Context, id string, call tools.Call) tools.CallResult {
	t := r.preTool(ctx, id, call)
	return r.execute(ctx, t)
}

// preTool asks the PreToolUse hooks, which may rename a call, rewrite its arguments, or stop it.
func (r *runtime) preTool(ctx context.Context, id string, call tools.Call) toolCall {
	hooks := r.run.frozen.Hooks
	t := toolCall{Call: call, id: id, about: r.run.scope(), began: time.Now()}
	t.about.Concealed = t.about.Concealed || r.asksPrivately(call)
	r.Trace.Emit(t.about, trace.ToolCalling, trace.ToolCall{ToolName: call.Name, ToolCallID: id, Arguments: call.Arguments, Source: sourceOf(call.Name), Approval: approvalOf(call.Name)})
	if !hooks.Has(sdk.OnPreToolUse.Name) {
		return t
	}
	use, o := hook.Run(ctx, hooks, sdk.OnPreToolUse, t.about, sdk.ToolUse{ToolCall: sdk.ToolCall{ID: id, Name: call.Name, Arguments: call.Arguments}})
	if o.Aborted {
		done := tools.RefusedByHook(call.Name, call.Arguments, o.Reason)
		t.done = &done
		return t
	}
	t.Name, t.Arguments = use.ToolCall.Name, use.ToolCall.Arguments
	t.about.Concealed = t.about.Concealed || r.asksPrivately(t.Call) // a hook may have made it a delegate
	return t
}

// execute runs a call that its hooks let pass. The name is authorised now: it is the final one that counts (seed: tools.txt,
// "Authorization").
func (r *runtime) execute(ctx context.Context, t toolCall) tools.CallResult {
	if t.done == nil {
		done := r.answer(ctx, t)
		t.done = &done
	}
	r.emitTool(t.about, t.id, *t.done, t.began)
	return *t.done
}

func (r *runtime) answer(ctx context.Context, t toolCall) tools.CallResult {
	var done tools.CallResult
	if t.Name == tools.SearchTools && len(t.deferred) > 0 { // the loop's own: it never reaches the executor
		done = tools.FindTools(t.Arguments, t.deferred)
	} else {
		if t.Name != tools.RuntimeDone { // to end takes nothing of the allowance
			if err := r.run.frozen.Account.admit(allowance.ToolCall); err != nil {
				done = tools.Skipped(t.Name, t.Arguments, err.Error())
				done.Cause = err
				return done
			}
		}
		done = r.Tools.Run(ctx, t.Call)
		if _, own := t.Own[done.Name]; own && done.Cause != nil && ctx.Err() == nil {
			r.faulty.Store(true)
		}
	}
	hooks := r.run.frozen.Hooks
	if hooks.Has(sdk.OnPostToolUse.Name) && ctx.Err() == nil {
		used, o := hook.Run(ctx, hooks, sdk.OnPostToolUse, t.about, sdk.ToolUsed{
			ToolCall: sdk.ToolCall{ID: t.id, Name: done.Name, Arguments: done.Arguments}, Result: json.RawMessage(done.Envelope),
		})
		if o.Rewrote {
			done = done.WithResult(used.Result)
		}
		done.Terminate = o.End
	}
	return done
}

func (r *runtime) emitTool(about trace.Scope, id string, done tools.CallResult, began time.Time) {
	end := trace.ToolEnd{
		ToolName: done.Name, ToolCallID: id, Source: sourceOf(done.Name), Arguments: done.Arguments, Repaired: string(done.Fix), Result: done.Envelope, Content: done.Content,
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

// sourceOf says whose tool it is (seed: tools.txt, "local is an internal source label").
func sourceOf(name string) string {
	if tools.Reserved(name) {
		return "builtin"
	}
	return "local"
}

// approvalOf is how a call is approved: the framework's tools need nobody's word (seed: tools.txt, "Overview").
func approvalOf(name string) string {
	if tools.Reserved(name) {
		return "auto-allowed"
	}
	return ""
}

package runtime

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// scope says in the trace whose run this is.
func (r *run) scope() trace.Scope {
	rt := r.start.Runtime
	s := trace.Scope{
		SessionID: r.frozen.State.Session.ID, TurnID: r.frozen.Execution.ID, RunID: r.start.RunID, RuntimeID: rt.ID, PluginID: rt.PluginID,
		Concealed: rt.IO.Concealed,
	}
	s.ParentRunID = r.start.ParentRunID()
	if b := r.start.Subagent; b != nil {
		s.ParentCallID, s.Concealed = b.ParentCallID, b.Private
	}
	return s
}

// emit adds to the trace what this run does.
func (r *runtime) emit(t trace.Type, payload any) { r.Trace.Emit(r.run.scope(), t, payload) }

// emitEnd tells how the run ended, after what it asks to be shown and its final text: streamed pieces are not kept (seed:
// turn-pipeline.txt §6.4, "Streamed story deltas are not saved").
func (r *runtime) emitEnd(res turn.Result) {
	if len(res.Segments) > 0 {
		text := storyText(res.Segments)
		r.emit(trace.MessageCompleted, trace.Message{Content: text, Len: len([]rune(text)), Deltas: r.deltas})
	}
	for _, p := range res.Proposals {
		switch p.Type {
		case sdk.MessageAppend{}.ProposalType():
			r.emit(trace.MessageCompleted, trace.Message{Content: contentOf(p), Len: len([]rune(contentOf(p)))})
		case sdk.InteractionRequest{}.ProposalType(), sdk.UIRender{}.ProposalType():
			r.emit(trace.BlockEmitted, trace.Block{ID: gjson.GetBytes(p.Payload, "interactionId").String(), Type: p.Type, Block: p.Payload})
		}
	}
	if r.run.start.Subagent != nil {
		r.emitSubagentEnd(res)
		return
	}
	end := trace.RuntimeEnd{
		Stage: string(res.Stage), Status: string(res.Status), StopReason: res.StopReason, SkipReason: res.SkipReason, Finalizer: res.Finalizer, Error: res.Error,
		DurationMs: time.Since(r.begun).Milliseconds(), Output: res.Output,
	}
	if total := r.total(); total != (trace.Usage{}) {
		end.Usage = &total
	}
	r.emit(ends[res.Status], end)
}

var ends = map[turn.Status]trace.Type{
	turn.Succeeded: trace.RuntimeCompleted, turn.Failed: trace.RuntimeFailed, turn.Skipped: trace.RuntimeSkipped, turn.Suspended: trace.RuntimeSuspended,
}

func contentOf(p sdk.Proposal) string { return gjson.GetBytes(p.Payload, "content").String() }

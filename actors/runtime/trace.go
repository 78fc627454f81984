package runtime

import "github.com/covel/covel/events/trace"

// scope says in the trace whose run this is.
func (r *run) scope() trace.Scope {
	rt := r.start.Runtime
	return trace.Scope{
		SessionID: r.frozen.State.Session.ID, TurnID: r.frozen.Execution.ID, RunID: r.start.RunID, RuntimeID: rt.ID, PluginID: rt.PluginID,
		Concealed: rt.IO.Concealed,
	}
}

// emit adds to the trace what this run does.
func (r *runtime) emit(t trace.Type, payload any) { r.Trace.Emit(r.run.scope(), t, payload) }

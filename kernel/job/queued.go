package job

import (
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// ID derives the id of the n-th job that an execution queues, so that the same commit planned twice queues the same jobs.
func ID(executionID, runtimeID string, n int) string {
	return turn.RunID(executionID, "job\x00"+runtimeID, n)
}

// Queued gives the event of a job of a runtime: its limits, and what has to hold when it commits.
func Queued(id, activation string, r manifest.Runtime, s projections.Session, input *eventsv1.JobInput) *eventsv1.JobQueued {
	q := &eventsv1.JobQueued{
		JobId: id, RuntimeId: r.ID, Plugin: &eventsv1.PluginRef{Id: r.PluginID}, Activation: activation, Incarnation: s.Incarnation,
		MaxQueueMs: DefaultMaxQueueMs, MaxExecutionMs: DefaultMaxExecutionMs, Model: Slot(r), Input: input,
	}
	for _, p := range s.Plugins {
		if p.ID == r.PluginID {
			q.Plugin.Version, q.Plugin.Digest = p.Version, p.Digest
		}
	}
	queue, execution := 0, 0
	switch d, b := r.Schedule.Detached, r.Schedule.Background; {
	case activation == Stage && d != nil:
		queue, execution = d.MaxQueueMs, d.MaxExecutionMs
		q.Settle, q.Writes = d.Settle, r.Effects.Writes
		if q.Settle {
			q.MaxSettleWaitMs = uint64(max(d.MaxSettleWaitMs, 0))
			if q.MaxSettleWaitMs == 0 {
				q.MaxSettleWaitMs = DefaultMaxSettleWaitMs
			}
		}
	case b != nil:
		queue, execution = b.MaxQueueMs, b.MaxExecutionMs
	}
	if queue > 0 {
		q.MaxQueueMs = uint64(queue)
	}
	if execution > 0 {
		q.MaxExecutionMs = uint64(execution)
	}
	return q
}

// Slot is the model a runtime cannot do without: an agent's own, a function's where it names one.
func Slot(r manifest.Runtime) string {
	if r.Type == "function" {
		return r.Function.Model
	}
	if r.Agent.Model != "" {
		return r.Agent.Model
	}
	return "story"
}

// Again gives a new job for one that ended without success: its input and limits stay frozen, what identifies the session is
// of now (reference: api-and-protocol.md §5.2, "Retry").
func Again(j projections.Job, id string, s projections.Session) *eventsv1.JobQueued {
	q := &eventsv1.JobQueued{
		JobId: id, RuntimeId: j.RuntimeID, Plugin: &eventsv1.PluginRef{Id: j.PluginID, Version: j.PluginVersion, Digest: j.PluginDigest},
		Activation: j.Activation, SourceTurnId: j.SourceTurnID, SourceRuntimeId: j.SourceRuntimeID, LogicalTurn: j.LogicalTurn,
		LogicalTurnId: j.LogicalTurnID, Incarnation: s.Incarnation, Settle: j.Settle, MaxSettleWaitMs: j.MaxSettleWaitMs,
		MaxQueueMs: j.MaxQueueMs, MaxExecutionMs: j.MaxExecutionMs, Model: j.Model, RetryOf: j.ID, ExpectsFollower: j.ExpectsFollower,
		Writes: j.Writes, Input: &eventsv1.JobInput{},
	}
	_ = proto.Unmarshal(j.Input, q.Input) // what cannot be read makes the new job stale when it starts
	if j.Activation != Stage {
		q.SourceTurnId = id
	}
	return q
}

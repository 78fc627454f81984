package commit

import (
	"slices"

	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// OriginBackground is the execution of a job. It writes no session clock (seed: turn-pipeline.txt §2.1, "This path does not
// write the session clock").
const OriginBackground = "background"

// Jobs gives what an execution deferred, as the jobs that its commit queues (seed: turn-pipeline.txt §2.3). One whose
// upstream was dropped is not queued. A turn with a suspension keeps them with the suspended item instead: whoever ends the
// chain appends these very messages.
func Jobs(in In, dropped map[string]string) []*eventsv1.JobQueued {
	var out []*eventsv1.JobQueued
	line := in.State.Session.Input
	if line != nil && line.ExecutionID != in.Execution.ID {
		line = nil
	}
	for n, d := range in.Deferred {
		d, ok := d.Dropped(func(id string) bool { _, gone := dropped[id]; return gone })
		if !ok {
			continue
		}
		r := d.Run.Runtime
		q := job.Queued(job.ID(in.Execution.ID, r.ID, n+1), d.Activation, r, in.State.Session, job.Freeze(d.Run, line, in.Pack.PluginSettings[r.PluginID]))
		q.SourceTurnId, q.LogicalTurn, q.LogicalTurnId = in.Execution.ID, in.Execution.LogicalTurn, in.Execution.LogicalTurnID
		if digest := in.Digests[r.PluginID]; digest != "" {
			q.Plugin.Digest = digest
		}
		if d.Run.Event != nil {
			q.SourceRuntimeId = emitter(in.Results, d.Run.Event.Topic)
		}
		out = append(out, q)
	}
	return out
}

// jobs gives them as facts: queued with the commit, or held by the turn while a run of it waits for the player.
func (p *planner) jobs() []Fact {
	var out []Fact
	for _, q := range Jobs(p.in, p.dropped) {
		out = append(out, Fact{Message: q, PluginID: q.Plugin.GetId()})
	}
	return out
}

func emitter(results []turn.Result, topic string) string {
	for _, r := range results {
		if slices.ContainsFunc(r.Events, func(e sdk.EmittedEvent) bool { return e.Topic == topic }) {
			return r.RuntimeID
		}
	}
	return ""
}

// PlanJob gives the end of a job's execution: all it wrote and JobSucceeded, or JobFailed and nothing of it (seed:
// turn-pipeline.txt §2.3, "If the business logic fails … the domain writes and the job's success state are both rolled
// back").
func PlanJob(in In, j projections.Job) []Fact {
	fail := func(reason, message string) []Fact {
		out := Failure(in, reason, message)
		return append(out.Facts, JobFailed(j, reason))
	}
	ran := false
	for i, r := range in.Results {
		switch {
		case r.Status == turn.Suspended || r.Suspension != nil: // no player is waiting on it
			return fail(job.ReasonSuspended, r.RuntimeID+" suspended in the background")
		case r.RuntimeID == j.RuntimeID && !r.Committable():
			return fail(job.ReasonFailed, r.Error)
		}
		ran = ran || r.RuntimeID == j.RuntimeID
		if j.Activation == job.Stage {
			if err := job.Isolated(j.Writes, r); err != nil {
				return fail(job.ReasonEffects, r.RuntimeID+": "+err.Error())
			}
		}
		if i == 0 {
			in.Results = slices.Clone(in.Results)
		}
		in.Results[i] = WithoutMessages(r)
	}
	if !ran {
		return fail(job.ReasonFailed, j.RuntimeID+" did not run")
	}
	out := Plan(in)
	if out.Failed {
		return append(out.Facts, JobFailed(j, job.ReasonCommit))
	}
	done := &eventsv1.JobSucceeded{JobId: j.ID}
	for _, f := range out.Facts {
		if q, ok := f.Message.(*eventsv1.JobQueued); ok {
			done.Deferred = append(done.Deferred, q.JobId)
		}
	}
	if j.ExpectsFollower && len(done.Deferred) == 0 { // what it wrote stands all the same
		return append(out.Facts, JobFailed(j, job.ReasonNoFollower))
	}
	return append(out.Facts, Fact{Message: done})
}

// JobFailed is the end of a job that failed. Its text is fixed: nothing of a provider's or a plugin's words reaches a client.
func JobFailed(j projections.Job, reason string) Fact {
	return Fact{Message: &eventsv1.JobFailed{JobId: j.ID, Reason: reason, Error: job.ErrorText(projections.Job{Status: projections.JobFailed})}, PluginID: j.PluginID}
}

// WithoutMessages takes a background run's words out: it appends nothing to the conversation (seed: turn-pipeline.txt §2.1,
// "It does not append conversation messages").
func WithoutMessages(r turn.Result) turn.Result {
	r.Proposals = slices.DeleteFunc(slices.Clone(r.Proposals), func(p sdk.Proposal) bool {
		return p.Type == sdk.MessageAppend{}.ProposalType() || p.Type == sdk.NarrativeAppend{}.ProposalType()
	})
	r.Story, r.Segments = false, nil
	for i, n := range r.Nested {
		if i == 0 {
			r.Nested = slices.Clone(r.Nested)
		}
		r.Nested[i] = WithoutMessages(n)
	}
	return r
}

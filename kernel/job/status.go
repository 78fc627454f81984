// Package job decides about background work: what a job is frozen with, which one may be claimed next, how long it may take,
// whether its result may still be written, and who of all sessions gets one of the node's few places. It is pure; the
// session's own machine (kernel/session/jobs.go) asks it, and actors carry out.
package job

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// What queued a job.
const (
	Stage  = turn.ActivationStage // schedule.detached, in the commit of its turn
	Event  = turn.ActivationEvent // a background follower, in the commit of what it follows
	Manual = "manual"             // a run that a client named
)

// Phases that only the activation at work knows; on the wire they stand in the place of the status.
const (
	Claimed    = "claimed"
	Running    = projections.JobRunning
	Committing = "committing"
)

// Reasons of a job's end.
const (
	ReasonFailed     = "execution-failed"
	ReasonEffects    = "effects-not-allowed"
	ReasonSuspended  = "suspended"
	ReasonCommit     = "commit-failed"
	ReasonNoFollower = "follower-not-emitted"

	ReasonQueue     = "queue-timeout"
	ReasonExecution = "execution-timeout"

	ReasonInactive       = "session-inactive"
	ReasonIncarnation    = "session-changed"
	ReasonPluginInactive = "plugin-inactive"
	ReasonPluginChanged  = "plugin-changed"
	ReasonPaused         = "plugin-paused" // after repeated errors
	ReasonInput          = "input-version"
)

// WireState is what clients that know no more than progress are told (reference: api-and-protocol.md §5.2).
func WireState(status string) string {
	switch status {
	case projections.JobQueued, projections.JobSucceeded, projections.JobCancelled:
		return status
	case Claimed, Running:
		return "running"
	case Committing:
		return "progress"
	}
	return "failed"
}

// StatusAfter is the status an event leads to, "" for one that is not about jobs.
func StatusAfter(msg proto.Message) string {
	switch msg.(type) {
	case *eventsv1.JobQueued, *eventsv1.JobRequeued:
		return projections.JobQueued
	case *eventsv1.JobStarted:
		return projections.JobRunning
	case *eventsv1.JobSucceeded:
		return projections.JobSucceeded
	case *eventsv1.JobFailed:
		return projections.JobFailed
	case *eventsv1.JobTimedOut:
		return projections.JobTimedOut
	case *eventsv1.JobCancelled:
		return projections.JobCancelled
	case *eventsv1.JobStale:
		return projections.JobStale
	case *eventsv1.JobOrphaned:
		return projections.JobOrphaned
	}
	return ""
}

// Cancellable: only what is queued, claimed or running; a commit under way is not taken back (reference: api-and-protocol.md
// §5.2, "Cancel").
func Cancellable(status, phase string) bool {
	return (status == projections.JobQueued || status == projections.JobRunning) && phase != Committing
}

// Retryable: only what ended without success (reference: api-and-protocol.md §5.2, "Retry").
func Retryable(status string) bool {
	return slices.Contains([]string{
		projections.JobFailed, projections.JobTimedOut, projections.JobCancelled, projections.JobStale, projections.JobOrphaned,
	}, status)
}

// ErrorText is a fixed text for how a job ended, "" when it is open or succeeded. What a provider or a plugin said stays in
// the trace.
func ErrorText(j projections.Job) string {
	switch j.Status {
	case projections.JobFailed:
		return "The background task failed"
	case projections.JobTimedOut:
		if j.Reason == ReasonQueue {
			return "The background task waited too long for its start"
		}
		return "The background task took too long"
	case projections.JobCancelled:
		return "The background task was cancelled"
	case projections.JobStale:
		return "The session or the plugin has changed since the background task was queued"
	case projections.JobOrphaned:
		return "The server stopped while the background task ran"
	}
	return ""
}

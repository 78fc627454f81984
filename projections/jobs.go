package projections

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// States of a job that the log knows. Between JobQueued and its start a job is also claimed, and between its return and its
// end committing: these two live in the session alone.
const (
	JobQueued    = "queued"
	JobRunning   = "running"
	JobSucceeded = "succeeded"
	JobFailed    = "failed"
	JobTimedOut  = "timed_out"
	JobCancelled = "cancelled"
	JobStale     = "stale"
	JobOrphaned  = "orphaned"
)

// MaxEndedJobs is how many ended jobs of one runtime a session remembers (reference: api-and-protocol.md §5.2, "Retention").
const MaxEndedJobs = 20

// Job is one piece of background work.
type Job struct {
	ID              string         `json:"id"`
	PluginID        string         `json:"pluginId"`
	PluginVersion   string         `json:"pluginVersion"`
	PluginDigest    string         `json:"pluginDigest"`
	RuntimeID       string         `json:"runtimeId"`
	Activation      string         `json:"activation"` // stage | event | manual
	SourceTurnID    string         `json:"sourceTurnId,omitempty"`
	SourceRuntimeID string         `json:"sourceRuntimeId,omitempty"`
	LogicalTurn     uint32         `json:"logicalTurn"`
	LogicalTurnID   string         `json:"logicalTurnId,omitempty"`
	Incarnation     string         `json:"incarnation"`
	Settle          bool           `json:"settle,omitempty"`
	MaxSettleWaitMs uint64         `json:"maxSettleWaitMs,omitempty"`
	MaxQueueMs      uint64         `json:"maxQueueMs"`
	MaxExecutionMs  uint64         `json:"maxExecutionMs"`
	Model           string         `json:"model,omitempty"` // the slot it needs
	RetryOf         string         `json:"retryOf,omitempty"`
	ExpectsFollower bool           `json:"expectsFollower,omitempty"`
	Writes          []string       `json:"writes,omitempty"` // stage: declared effects
	Status          string         `json:"status"`
	Reason          string         `json:"reason,omitempty"`
	Error           string         `json:"error,omitempty"`
	Attempt         uint32         `json:"attempt"`
	Node            string         `json:"node,omitempty"`        // running: who runs it
	Owner           string         `json:"owner,omitempty"`       // running: which activation
	ExecutionID     string         `json:"executionId,omitempty"` // of the newest attempt
	Deferred        []string       `json:"deferred,omitempty"`    // jobs it queued
	EnqueuedAt      time.Time      `json:"enqueuedAt"`
	UpdatedAt       time.Time      `json:"updatedAt"`
	StartedAt       time.Time      `json:"startedAt,omitzero"`
	FinishedAt      time.Time      `json:"finishedAt,omitzero"`
	Version         events.Version `json:"version"` // of the newest event about it
	// Input is the frozen eventsv1.JobInput; nobody outside reads it. A job that succeeded needs it no more.
	Input []byte `json:"input,omitempty"`
}

// Open says whether the job has not ended.
func (j Job) Open() bool { return j.Status == JobQueued || j.Status == JobRunning }

// Jobs are the jobs of a session in the order they were queued: all that are open, and the newest that ended.
type Jobs []*Job

// Find gives a job by id.
func (js Jobs) Find(id string) (Job, bool) {
	for _, j := range js {
		if j.ID == id {
			return *j, true
		}
	}
	return Job{}, false
}

// Open gives the jobs that have not ended.
func (js Jobs) Open() []Job {
	var out []Job
	for _, j := range js {
		if j.Open() {
			out = append(out, *j)
		}
	}
	return out
}

// Runs says whether an execution is the run of a job. Such an execution is no turn of the session.
func (js Jobs) Runs(executionID string) bool {
	return executionID != "" && slices.ContainsFunc(js, func(j *Job) bool { return j.ExecutionID == executionID })
}

// background says whether an event begins or ends the execution of a job.
func (js Jobs) background(msg proto.Message) bool {
	switch m := msg.(type) {
	case *eventsv1.ExecutionStarted:
		return m.JobId != ""
	case *eventsv1.ExecutionCommitted:
		return js.Runs(m.ExecutionId)
	case *eventsv1.ExecutionFailed:
		return js.Runs(m.ExecutionId)
	}
	return false
}

// withoutInputs is what a read model keeps: what is open, and by whom.
func (js Jobs) withoutInputs() Jobs {
	out := make(Jobs, 0, len(js))
	for _, j := range js {
		x := *j
		x.Input = nil
		out = append(out, &x)
	}
	return out
}

func (js Jobs) apply(r events.Recorded, msg proto.Message) Jobs {
	switch m := msg.(type) {
	case *eventsv1.JobQueued:
		if _, known := js.Find(m.JobId); known {
			return js
		}
		return append(js[:len(js):len(js)], jobOf(r, m))
	case *eventsv1.JobStarted:
		return js.put(r, m.JobId, func(j *Job) {
			j.Status, j.Attempt, j.ExecutionID, j.Node, j.Owner, j.StartedAt = JobRunning, m.Attempt, m.ExecutionId, m.Node, m.Activation, r.RecordedAt
		})
	case *eventsv1.JobRequeued:
		return js.put(r, m.JobId, func(j *Job) { j.Status, j.Node, j.Owner, j.StartedAt = JobQueued, "", "", time.Time{} })
	case *eventsv1.JobSucceeded:
		return js.end(r, m.JobId, JobSucceeded, func(j *Job) { j.Deferred, j.Input = m.Deferred, nil })
	case *eventsv1.JobFailed:
		return js.end(r, m.JobId, JobFailed, func(j *Job) { j.Reason, j.Error = m.Reason, m.Error })
	case *eventsv1.JobTimedOut:
		return js.end(r, m.JobId, JobTimedOut, func(j *Job) { j.Reason = m.Reason })
	case *eventsv1.JobCancelled:
		return js.end(r, m.JobId, JobCancelled, nil)
	case *eventsv1.JobStale:
		return js.end(r, m.JobId, JobStale, func(j *Job) { j.Reason = m.Reason })
	case *eventsv1.JobOrphaned:
		return js.end(r, m.JobId, JobOrphaned, nil)
	}
	return js
}

// put changes an open job. What an ended one is told comes too late.
func (js Jobs) put(r events.Recorded, id string, change func(*Job)) Jobs {
	i := slices.IndexFunc(js, func(j *Job) bool { return j.ID == id })
	if i < 0 || !js[i].Open() {
		return js
	}
	out := slices.Clone(js)
	x := *js[i]
	x.Version, x.UpdatedAt = r.Version, r.RecordedAt
	change(&x)
	out[i] = &x
	return out
}

// end ends a job and forgets the oldest that ended, of its runtime, past MaxEndedJobs.
func (js Jobs) end(r events.Recorded, id, status string, change func(*Job)) Jobs {
	var runtime string
	out := js.put(r, id, func(j *Job) {
		j.Status, j.Node, j.Owner, j.FinishedAt = status, "", "", r.RecordedAt
		if change != nil {
			change(j)
		}
		runtime = j.RuntimeID
	})
	if runtime == "" {
		return out
	}
	var ended []*Job
	for _, j := range out {
		if j.RuntimeID == runtime && !j.Open() {
			ended = append(ended, j)
		}
	}
	if len(ended) <= MaxEndedJobs {
		return out
	}
	oldest := slices.MinFunc(ended, func(a, b *Job) int { return int(int64(a.Version) - int64(b.Version)) })
	return slices.DeleteFunc(out, func(j *Job) bool { return j == oldest })
}

func jobOf(r events.Recorded, m *eventsv1.JobQueued) *Job {
	input, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m.Input) // it was decoded a moment ago
	return &Job{
		ID: m.JobId, PluginID: m.Plugin.GetId(), PluginVersion: m.Plugin.GetVersion(), PluginDigest: m.Plugin.GetDigest(), RuntimeID: m.RuntimeId,
		Activation: m.Activation, SourceTurnID: m.SourceTurnId, SourceRuntimeID: m.SourceRuntimeId, LogicalTurn: m.LogicalTurn,
		LogicalTurnID: m.LogicalTurnId, Incarnation: m.Incarnation, Settle: m.Settle, MaxSettleWaitMs: m.MaxSettleWaitMs,
		MaxQueueMs: m.MaxQueueMs, MaxExecutionMs: m.MaxExecutionMs, Model: m.Model, RetryOf: m.RetryOf, ExpectsFollower: m.ExpectsFollower, Writes: m.Writes,
		Status: JobQueued, EnqueuedAt: r.RecordedAt, UpdatedAt: r.RecordedAt, Version: r.Version, Input: input,
	}
}

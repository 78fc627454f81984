package play

import (
	"net/http"
	"time"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/kernel/job"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// Job is a background job as clients see it. What it was frozen with is never shown.
type Job struct {
	SchemaVersion  int        `json:"schemaVersion"`
	JobID          string     `json:"jobId"`
	PluginID       string     `json:"pluginId"`
	RuntimeID      string     `json:"runtimeId"`
	Status         string     `json:"status"`
	State          string     `json:"state"`
	Origin         JobOrigin  `json:"origin"`
	EnqueuedAt     time.Time  `json:"enqueuedAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
	StartedAt      *time.Time `json:"startedAt,omitempty"`
	FinishedAt     *time.Time `json:"finishedAt,omitempty"`
	Attempt        uint32     `json:"attempt"`
	MaxQueueMs     uint64     `json:"maxQueueMs"`
	MaxExecutionMs uint64     `json:"maxExecutionMs"`
	ExecutionID    string     `json:"executionId,omitempty"`
	RetryOf        string     `json:"retryOf,omitempty"`
	Deferred       []string   `json:"deferredJobs,omitempty"`
	Reason         string     `json:"reason,omitempty"`
	Error          string     `json:"error,omitempty"`
}

// JobOrigin says what queued a job.
type JobOrigin struct {
	Activation      string `json:"activation"`
	SourceTurnID    string `json:"sourceTurnId,omitempty"`
	SourceRuntimeID string `json:"sourceRuntimeId,omitempty"`
}

// jobOf shows a job; phase is how far this activation has come with it, "" when it is not at it.
func jobOf(j projections.Job, phase string) Job {
	status := j.Status
	if phase != "" && j.Open() {
		status = phase
	}
	out := Job{
		SchemaVersion: 1, JobID: j.ID, PluginID: j.PluginID, RuntimeID: j.RuntimeID, Status: status, State: job.WireState(status),
		Origin:     JobOrigin{j.Activation, j.SourceTurnID, j.SourceRuntimeID},
		EnqueuedAt: j.EnqueuedAt, UpdatedAt: j.UpdatedAt, Attempt: j.Attempt, MaxQueueMs: j.MaxQueueMs, MaxExecutionMs: j.MaxExecutionMs,
		ExecutionID: j.ExecutionID, RetryOf: j.RetryOf, Deferred: j.Deferred, Reason: j.Reason, Error: job.ErrorText(j),
	}
	if !j.StartedAt.IsZero() {
		out.StartedAt = &j.StartedAt
	}
	if !j.FinishedAt.IsZero() {
		out.FinishedAt = &j.FinishedAt
	}
	return out
}

func jobsOf(v node.View) []Job {
	out := []Job{}
	for _, j := range v.State.Jobs {
		out = append(out, jobOf(*j, v.JobPhases[j.ID]))
	}
	return out
}

func (s *server) jobs(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"items": jobsOf(v)})
}

func (s *server) cancelJob(w http.ResponseWriter, r *http.Request) {
	s.changeJob(w, r, kernel.CancelJobChange, http.StatusOK)
}

func (s *server) retryJob(w http.ResponseWriter, r *http.Request) {
	s.changeJob(w, r, kernel.RetryJobChange, http.StatusAccepted)
}

func (s *server) changeJob(w http.ResponseWriter, r *http.Request, kind kernel.ChangeKind, status int) {
	id := r.PathValue("id")
	a, err := s.Node.ChangeJob(r.Context(), id, r.PathValue("job"), kind)
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	v, err := s.Node.View(r.Context(), id)
	if err != nil {
		s.error(w, err)
		return
	}
	j, _ := v.State.Jobs.Find(a.JobID)
	s.reply(w, status, jobOf(j, v.JobPhases[j.ID]))
}

package session

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// LiveJob is a job this activation works on.
type LiveJob struct {
	job.Live
	verdict latch.Verdict
	Ended   *TurnEnded // what its execution gave, until it is committed or dropped
}

// JobGranted: the node has a place for a job this session wants to run.
type JobGranted struct{ JobID string }

// Tick: the moment that WakeAt asked for has come.
type Tick struct{}

func (JobGranted) sessionInput() {}
func (Tick) sessionInput()       {}

// StaleJob says that a job cannot be started with what this program has: other code of its plugin, an input it cannot read.
type StaleJob struct{ Reason string }

func (e *StaleJob) Error() string { return "the background task is out of date: " + e.Reason }

// WantJobs tells the node which jobs may be started now, in this order; what was told before is forgotten.
type WantJobs struct{ IDs []string }

// ReleaseJob gives the place of a job back.
type ReleaseJob struct{ JobID string }

// StartJob starts the execution of a job as a child, outside of the session's turn; reports TurnEnded.
type StartJob struct {
	Job       projections.Job
	Execution projections.Execution
	View      projections.State // committed state at the start
	Paused    []string          // as StartTurn.Paused
}

// CancelJob cancels the execution of a job; its TurnEnded still comes.
type CancelJob struct {
	JobID  string
	Reason string
}

// WakeAt asks for a Tick at a time. One asked for earlier is forgotten.
type WakeAt struct{ At time.Time }

func (WantJobs) sessionEffect()   {}
func (ReleaseJob) sessionEffect() {}
func (StartJob) sessionEffect()   {}
func (CancelJob) sessionEffect()  {}
func (WakeAt) sessionEffect()     {}

// JobAppend is what an append about a job leads to: a start, or the end of its work here.
type JobAppend struct {
	ID    string
	Start bool
}

// JobPhases tells how far the jobs at work here are, where the log does not say it.
func (s State) JobPhases() map[string]string {
	out := map[string]string{}
	for id, l := range s.Jobs {
		out[id] = l.Phase
	}
	return out
}

func (s *step) live(id string) (LiveJob, bool) {
	l, ok := s.Jobs[id]
	return l, ok
}

func (s *step) setLive(id string, l LiveJob) {
	s.Jobs = maps.Clone(s.Jobs)
	if s.Jobs == nil {
		s.Jobs = map[string]LiveJob{}
	}
	s.Jobs[id] = l
}

func (s *step) dropLive(id string) {
	s.Jobs = maps.Clone(s.Jobs)
	delete(s.Jobs, id)
}

// jobsFree says whether jobs may be worked on at all: a read never appends, so an activation that was only read lets them be.
func (s *step) jobsFree() bool {
	return s.awake && s.Phase != Recovering && s.Phase != Uncertain && s.Phase != Stopped
}

// jobGranted claims the job the place is for. It starts once the log knows.
func (s *step) jobGranted(id string) {
	if _, busy := s.live(id); busy || !s.startable(id) || s.draining || !s.jobsFree() {
		s.wanted = nil
		s.do(ReleaseJob{id})
		return
	}
	s.setLive(id, LiveJob{Live: job.Claim(s.env.FreshID), verdict: s.Latch.Begin(jobInput(s.env.FreshID))})
}

// startable says whether a job may be the next, beside all that are in progress here or in the log.
func (s *step) startable(id string) bool {
	others := func(other string) bool { return other != id && s.atWork(other) }
	next := job.Next(s.Hot, s.env.Now, s.env.ready, others)
	return slices.ContainsFunc(next.Start, func(j projections.Job) bool { return j.ID == id })
}

func (s *step) atWork(id string) bool {
	_, busy := s.live(id)
	return busy
}

// jobEnded takes the outcome of a job's execution; false when it is not one. What ran in vain is not committed later.
func (s *step) jobEnded(in TurnEnded) bool {
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		l := s.Jobs[id]
		if l.ExecutionID != in.ExecutionID || l.Ended != nil {
			continue
		}
		l.Live, l.Ended = l.Return(), &in
		s.setLive(id, l)
		s.do(ReleaseJob{id})
		s.awake = true // also where the log has refused a write before: it is tried once more
		return true
	}
	return false
}

// haltOverdue stops what has run for too long.
func (s *step) haltOverdue() {
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		if l := s.Jobs[id]; l.Overdue(s.env.Now) {
			s.halt(id, job.HaltTimeout)
		}
	}
}

func (s *step) halt(id, why string) {
	l, ok := s.live(id)
	if !ok {
		return
	}
	halted, ok := l.Halted(why)
	if !ok {
		return
	}
	l.Live = halted
	s.setLive(id, l)
	if l.Phase == job.Running && l.Ended == nil {
		s.do(CancelJob{id, why})
	}
}

// haltJobs stops every job that has not returned.
func (s *step) haltJobs(why string) {
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		if s.Jobs[id].Ended == nil {
			s.halt(id, why)
		}
	}
}

// jobStep starts the next append that a job needs, or lets go of one that needs none; false when there is nothing to do now.
// Starts may come at any time; ends and limits wait while a turn runs or commits (design §5, "job result to commit").
func (s *step) jobStep() bool {
	if !s.jobsFree() {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		if l := s.Jobs[id]; l.Phase == job.Claimed {
			s.startJob(id, l)
			return true
		}
	}
	if s.Phase != Idle && s.Phase != Settling && s.Phase != Draining {
		return false
	}
	if s.Hot.Session.Open != nil { // of another activation, or of a dead one
		s.closeOpen = s.closeOpen || s.dead() && len(s.Jobs) > 0
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		if l := s.Jobs[id]; l.Ended != nil {
			s.endJob(id, l)
			return true
		}
	}
	for _, j := range s.Hot.Jobs.Open() {
		if msg := s.verdict(j); msg != nil {
			s.appendJob(j, JobAppend{ID: j.ID}, s.env.FreshID, 0, projections.Execution{LogicalTurn: j.LogicalTurn}, []commit.Fact{{Message: msg}})
			return true
		}
	}
	return false
}

// verdict ends a job that nobody works on, nil when it is as it should be: a queue limit that passed, the end of the session,
// an owner that died (seed: turn-pipeline.txt §2.3, "After a restart").
func (s *step) verdict(j projections.Job) proto.Message {
	l, live := s.live(j.ID)
	switch {
	case live && l.Halt == job.HaltTimeout:
		return &eventsv1.JobTimedOut{JobId: j.ID, Reason: job.ReasonExecution}
	case live:
	case job.QueueExpired(j, s.env.Now):
		return &eventsv1.JobTimedOut{JobId: j.ID, Reason: job.ReasonQueue}
	case j.Status == projections.JobQueued && s.Hot.Session.Status == projections.StatusEnded:
		return &eventsv1.JobStale{JobId: j.ID, Reason: job.ReasonInactive}
	case j.Status == projections.JobRunning && !s.ownersAlive[j.ID]:
		return &eventsv1.JobOrphaned{JobId: j.ID}
	}
	return nil
}

// startJob writes that a claimed job runs, unless something has come between.
func (s *step) startJob(id string, l LiveJob) {
	j, ok := s.Hot.Jobs.Find(id)
	if !ok || j.Status != projections.JobQueued || l.Halt != "" || s.draining || job.QueueExpired(j, s.env.Now) {
		s.letGo(id)
		return
	}
	exec := projections.Execution{LogicalTurn: j.LogicalTurn}
	reason := s.stale(j, nil)
	if s.Latch.Has(j.PluginID) {
		reason = job.ReasonPaused
	}
	if reason != "" {
		s.appendJob(j, JobAppend{ID: id}, l.ExecutionID, 0, exec, []commit.Fact{{Message: &eventsv1.JobStale{JobId: id, Reason: reason}}})
		return
	}
	if !s.startable(id) { // another of its runtime was started elsewhere, or its model cannot be used any more
		s.letGo(id)
		return
	}
	s.appendJob(j, JobAppend{ID: id, Start: true}, l.ExecutionID, 0, exec, []commit.Fact{{Message: &eventsv1.JobStarted{
		JobId: id, Node: s.Self.Node, Activation: s.Self.Activation, Attempt: j.Attempt + 1, ExecutionId: l.ExecutionID,
	}}})
}

// letGo gives a claimed job and its place up.
func (s *step) letGo(id string) {
	s.dropLive(id)
	s.wanted = nil
	s.do(ReleaseJob{id})
}

// stale holds a job against the session and the plugin as they are at this moment: the code that ran it, and the code that is
// installed, must both be what it was queued for.
func (s *step) stale(j projections.Job, ran map[string]string) string {
	reason := job.Stale(j, s.Hot.Session, ran)
	if reason == "" && s.env.Digest != nil {
		reason = job.Stale(j, s.Hot.Session, map[string]string{j.PluginID: s.env.Digest(j.PluginID)})
	}
	return reason
}

// endJob commits what a job gave, or writes why it is not committed.
func (s *step) endJob(id string, l LiveJob) {
	j, ok := s.Hot.Jobs.Find(id)
	if !ok || j.Status != projections.JobRunning || j.ExecutionID != l.ExecutionID { // cancelled, timed out, or another's: too late
		s.dropLive(id)
		return
	}
	facts, exec := s.outcome(j, &l)
	s.setLive(id, l)
	s.appendJob(j, JobAppend{ID: id}, l.ExecutionID, 1, exec, facts)
}

// outcome decides about the result of a job's execution, with everything re-checked at this moment.
func (s *step) outcome(j projections.Job, l *LiveJob) ([]commit.Fact, projections.Execution) {
	exec := s.jobExecution(j, l.ExecutionID)
	one := func(msg proto.Message) []commit.Fact { return []commit.Fact{{Message: msg}} }
	switch l.Halt {
	case job.HaltShutdown:
		return one(&eventsv1.JobRequeued{JobId: j.ID}), exec
	case job.HaltTimeout:
		return one(&eventsv1.JobTimedOut{JobId: j.ID, Reason: job.ReasonExecution}), exec
	case job.HaltCancelled:
		return one(&eventsv1.JobCancelled{JobId: j.ID}), exec
	case job.HaltEnded:
		return one(&eventsv1.JobStale{JobId: j.ID, Reason: job.ReasonInactive}), exec
	}
	reason := l.Ended.Stale
	if reason == "" {
		reason = s.stale(j, l.Ended.Digests)
	}
	if reason != "" {
		return one(&eventsv1.JobStale{JobId: j.ID, Reason: reason}), exec
	}
	l.Live, _ = l.Commit()
	in := commit.In{
		State: s.Hot, Pack: l.Ended.Pack, Execution: exec, Results: l.Ended.Results, Deferred: l.Ended.Deferred, Topics: l.Ended.Topics,
		Digests: l.Ended.Digests, DimensionProvider: l.Ended.DimensionProvider, Usage: l.Ended.Usage,
	}
	started := s.started(exec.ID, commit.OriginBackground, "")
	started.LogicalTurn, started.LogicalTurnId, started.SourceTurnId, started.JobId = j.LogicalTurn, exec.LogicalTurnID, j.SourceTurnID, j.ID
	facts := one(started)
	if broken := l.Ended.Crash + l.Ended.Refused; broken != "" {
		return append(facts, append(commit.Failure(in, commit.ReasonInternal, broken).Facts, commit.JobFailed(j, job.ReasonFailed))...), exec
	}
	return append(facts, commit.PlanJob(in, j)...), exec
}

// jobExecution is the execution of a job: it keeps its source's number, whenever it runs.
func (s *step) jobExecution(j projections.Job, id string) projections.Execution {
	return projections.Execution{
		ID: id, Origin: commit.OriginBackground, LogicalTurn: j.LogicalTurn, LogicalTurnID: j.LogicalTurnID, Node: s.Self.Node,
		Activation: s.Self.Activation, Phase: s.Hot.Session.Phase, SourceTurnID: j.SourceTurnID, JobID: j.ID,
		StartedAt: j.StartedAt, Version: s.Hot.Version,
	}
}

func (s *step) appendJob(_ projections.Job, what JobAppend, key string, ordinal int, exec projections.Execution, facts []commit.Fact) {
	s.appendAs(AppendJob, key, ordinal, exec, facts)
	s.InFlight.Job = &what
}

// jobAppended goes on after an append about a job.
func (s *step) jobAppended(done JobAppend) {
	l, live := s.live(done.ID)
	j, _ := s.Hot.Jobs.Find(done.ID)
	switch {
	case !live:
	case done.Start && l.Halt != "": // stopped before it began: nothing ran
		l.Live, l.Ended = l.Start(s.env.Now, j.MaxExecutionMs).Return(), &TurnEnded{ExecutionID: l.ExecutionID}
		s.setLive(done.ID, l)
		s.do(ReleaseJob{done.ID})
	case done.Start:
		l.Live = l.Start(s.env.Now, j.MaxExecutionMs)
		s.setLive(done.ID, l)
		s.do(StartJob{Job: j, Execution: s.jobExecution(j, l.ExecutionID), View: s.Hot, Paused: s.Latch.Paused()})
	case l.Phase == job.Claimed: // stale before it ran
		s.dropLive(done.ID)
		s.do(ReleaseJob{done.ID})
	case l.Ended != nil:
		s.jobCounted(l)
		s.dropLive(done.ID)
	}
}

// jobUndone: an append about a job was not written. What returned is decided anew.
func (s *step) jobUndone(lost JobAppend) {
	if l, ok := s.live(lost.ID); ok && l.Phase == job.Committing {
		l.Phase = job.Running
		s.setLive(lost.ID, l)
	}
}

// jobsRecovered holds what runs here against the log that was read anew: what the log gives to nobody or to another is
// stopped.
func (s *step) jobsRecovered(in Recovered) {
	s.ownersAlive = in.JobOwnersAlive
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		l := s.Jobs[id]
		j, ok := s.Hot.Jobs.Find(id)
		claimed := ok && l.Phase == job.Claimed && j.Status == projections.JobQueued
		running := ok && l.Phase != job.Claimed && j.Status == projections.JobRunning && j.ExecutionID == l.ExecutionID
		if !claimed && !running {
			s.halt(id, job.HaltCancelled)
		}
	}
}

// jobsUnderWay says whether a drain has to wait for a job: one whose execution goes on, or whose end can be written. While an
// execution of another activation is open it cannot, and nobody knows for how long; the job is found orphaned then.
func (s *step) jobsUnderWay() bool {
	elsewhere := s.Hot.Session.Open != nil && s.OwnerAlive
	for _, l := range s.Jobs {
		if s.awake && !elsewhere || l.Phase == job.Running && l.Ended == nil {
			return true
		}
	}
	return false
}

// offerJobs tells the node what may start, and asks to be woken for the next limit.
func (s *step) offerJobs() {
	var ids []string
	if s.jobsFree() && !s.draining {
		ids = idsOf(job.Next(s.Hot, s.env.Now, s.env.ready, s.atWork).Start)
	}
	if !slices.Equal(ids, s.wanted) {
		s.wanted = ids
		s.do(WantJobs{ids})
	}
	if at := s.nextDeadline(); !at.IsZero() && !at.Equal(s.wakeAt) {
		s.wakeAt = at
		s.do(WakeAt{at})
	}
}

// nextDeadline is the first moment after now at which something is due by itself, zero when nothing is.
func (s *step) nextDeadline() time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(s.env.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if s.Phase == Stopped {
		return next
	}
	for _, l := range s.Jobs {
		if l.Phase == job.Running && !l.Returned && l.Halt == "" {
			consider(l.Until)
		}
	}
	for _, j := range s.Hot.Jobs {
		if j.Status == projections.JobQueued {
			consider(job.QueuedUntil(*j))
		}
	}
	if s.barrier != nil && !s.barrier.over {
		consider(s.barrier.until)
	}
	consider(s.Hot.Session.GatheredUntil())
	return next
}

// changed answers a change that is durable.
func (s *step) changed(c Change) {
	a := Answer{Status: Accepted, Version: s.Hot.Version}
	switch c.Kind {
	case ChangeSeat:
		a.SeatID = c.SeatID
	case CancelJobChange:
		a.JobID = c.JobID
	case RetryJobChange, RunJobChange:
		a.JobID = c.ID
	}
	s.reply([]uint64{c.Token}, a)
}

// MaxQueuedJobs is how many jobs may wait in a session before manual runs are refused.
const MaxQueuedJobs = 64

// ManualJob is a run that a client named and that goes on in the background.
type ManualJob struct {
	Queued   *eventsv1.JobQueued // everything but what only the session knows
	BodyHash string
}

// decideJob gives the event of a change that concerns a job.
func (s *step) decideJob(c Change) (proto.Message, *Refusal) {
	j, ok := s.Hot.Jobs.Find(c.JobID)
	if !ok && c.Kind != RunJobChange {
		return nil, &Refusal{Code: "runtime_job_not_found", Message: "the session has no such background task"}
	}
	active := s.Hot.Session.Status == projections.StatusActive
	switch c.Kind {
	case CancelJobChange:
		l := s.Jobs[j.ID]
		if !job.Cancellable(j.Status, l.Phase) {
			return nil, &Refusal{Code: "runtime_job_not_cancellable", Message: "the background task has ended, or is being saved"}
		}
		s.halt(j.ID, job.HaltCancelled)
		return &eventsv1.JobCancelled{JobId: j.ID, SeatId: c.SeatID}, nil
	case RetryJobChange:
		switch {
		case !job.Retryable(j.Status):
			return nil, &Refusal{Code: "runtime_job_not_retryable", Message: "only a background task that ended without success can be tried again"}
		case !active:
			return nil, notActive(s.Hot.Session.Status)
		}
		return job.Again(j, c.ID, s.Hot.Session), nil
	}
	q := proto.Clone(c.Run.Queued).(*eventsv1.JobQueued)
	switch {
	case !active:
		return nil, notActive(s.Hot.Session.Status)
	case !slices.ContainsFunc(s.Hot.Session.Plugins, func(p projections.PluginRef) bool { return p.ID == q.Plugin.GetId() }):
		return nil, &Refusal{Code: "plugin_not_active", Message: "the plugin is not active in this session"}
	case len(s.Hot.Jobs.Open()) >= MaxQueuedJobs:
		return nil, &Refusal{Code: "background_queue_full", Message: "too many background tasks wait in this session; try again when some have ended"}
	}
	q.JobId, q.SourceTurnId, q.LogicalTurnId, q.SeatId = c.ID, c.ID, c.ID, c.SeatID
	q.LogicalTurn, q.Incarnation = s.Hot.Session.NextLogicalTurn(), s.Hot.Session.Incarnation
	return q, nil
}

func notActive(status string) *Refusal {
	if status == projections.StatusEnded {
		return &Refusal{Code: "session_ended", Message: "the session has ended; that is final"}
	}
	return &Refusal{Code: "session_not_active", Message: "the session is paused; resume it first"}
}

// knownJob answers a manual run whose request id was used before.
func (s *step) knownJob(c Change) bool {
	if c.Kind != RunJobChange {
		return false
	}
	req, ok := s.Hot.Session.FindRequest(c.SeatID, c.Run.Queued.GetRequestId())
	if !ok || c.Run.Queued.GetRequestId() == "" {
		return false
	}
	answer := Answer{Status: Accepted, Version: req.Version, JobID: req.ExecutionID, Repeat: true}
	if req.BodyHash != c.Run.BodyHash {
		answer = Answer{Status: Refused, Refusal: &Refusal{Code: "request_id_conflict", Message: "this requestId was used for another request"}}
	}
	s.reply([]uint64{c.Token}, answer)
	return true
}

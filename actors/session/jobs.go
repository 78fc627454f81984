package session

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	jobs "github.com/covel/covel/actors/job"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// startJob runs a job as a child beside the turn; what it tells of its progress is shown to nobody.
func (s *session) startJob(c actor.Context, e kernel.StartJob) {
	s.emitStart(e.Execution)
	pid := c.Spawn(s.Job(e))
	s.jobs[e.Job.ID] = pid
	c.Watch(pid)
}

// jobStopped sees a job's actor end. If it did not report its outcome, it panicked.
func (s *session) jobStopped(c actor.Context, who *actor.PID) {
	for id, pid := range s.jobs {
		if !pid.Equal(who) {
			continue
		}
		delete(s.jobs, id)
		if l, ok := s.state.Jobs[id]; ok && l.Ended == nil {
			s.step(c, kernel.TurnEnded{ExecutionID: l.ExecutionID, Crash: "the background task stopped unexpectedly"})
		}
		return
	}
}

// pool talks to the node's pool.
func (s *session) pool(c actor.Context, msg any) {
	if s.Pool != nil {
		c.Send(s.Pool, msg)
	}
}

// forgetJobs starts over: what a former life of this actor had is given back.
func (s *session) forgetJobs(c actor.Context) { s.pool(c, jobs.Forget{From: c.Self()}) }

// tickAt asks for one Tick; an older one is forgotten.
func (s *session) tickAt(c actor.Context, at time.Time) {
	if s.due != nil {
		s.due.Stop()
	}
	self, root := c.Self(), c.ActorSystem().Root
	s.due = time.AfterFunc(max(time.Until(at), 0), func() { root.Send(self, input{kernel.Tick{}}) })
}

// jobOwners names the running jobs whose owner is another activation that lives.
func (s *session) jobOwners(state projections.State) map[string]bool {
	var out map[string]bool
	for _, j := range state.Jobs.Open() {
		if j.Status == projections.JobRunning && s.OwnerAlive(kernel.Owner{Node: j.Node, Activation: j.Owner}) {
			if out == nil {
				out = map[string]bool{}
			}
			out[j.ID] = true
		}
	}
	return out
}

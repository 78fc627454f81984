package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/covel/covel/projections"
)

// Queue is how the jobs of a session stand for whoever is to start the next.
type Queue struct {
	Start   []projections.Job // may be claimed now, in the order they are to be
	Blocked []projections.Job // wait for credentials, or behind one that does
}

// Next looks at the queue of a session. ready says whether a model slot can be used, claimed which of the queued ones are in
// progress already, though the log does not say so yet. Of one runtime one job is in progress at
// a time (seed: turn-pipeline.txt §2.3, "Only one job per (session, plugin, runtime) can be in progress"); settle jobs go one
// by one in the order of their source turns (§2.4); a job whose model has no credentials stays queued, and so do the later
// ones of its runtime (§2.4, 5.). Where the session is not active nothing starts.
func Next(s projections.State, now time.Time, ready, claimed func(string) bool) Queue {
	var q Queue
	taken, settling := map[string]bool{}, false
	for _, j := range s.Jobs {
		if j.Status == projections.JobRunning || j.Status == projections.JobQueued && claimed(j.ID) {
			taken[j.RuntimeID] = true
			settling = settling || j.Settle
		}
	}
	blocked := map[string]bool{}
	for _, j := range inSourceOrder(s.Jobs.Open()) {
		switch {
		case j.Status != projections.JobQueued || claimed(j.ID) || QueueExpired(j, now):
		case blocked[j.RuntimeID] || j.Model != "" && !ready(j.Model):
			blocked[j.RuntimeID] = true
			q.Blocked = append(q.Blocked, j)
		case taken[j.RuntimeID] || j.Settle && settling || s.Session.Status != projections.StatusActive:
		default:
			taken[j.RuntimeID] = true
			settling = settling || j.Settle
			q.Start = append(q.Start, j)
		}
	}
	return q
}

// Awaited are the settle jobs that an execution which is about to start waits for: all that are open, except those that
// nobody can start now.
func Awaited(s projections.State, now time.Time, ready, claimed func(string) bool) (wait, skip []projections.Job) {
	blocked := Next(s, now, ready, claimed).Blocked
	for _, j := range inSourceOrder(s.Jobs.Open()) {
		switch {
		case !j.Settle:
		case slices.ContainsFunc(blocked, func(b projections.Job) bool { return b.ID == j.ID }):
			skip = append(skip, j)
		default:
			wait = append(wait, j)
		}
	}
	return wait, skip
}

// inSourceOrder puts the jobs of an older turn first: those of a turn that was suspended are queued when its chain ends.
func inSourceOrder(jobs []projections.Job) []projections.Job {
	slices.SortStableFunc(jobs, func(a, b projections.Job) int { return cmp.Compare(a.LogicalTurn, b.LogicalTurn) })
	return jobs
}

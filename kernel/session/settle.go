package session

import (
	"slices"
	"time"

	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// barrier is the wait of an execution that is about to start for the jobs that must be finished first (seed:
// turn-pipeline.txt §2.4). Nested calls have none: they are part of an execution that was let through.
type barrier struct {
	key      string // of whose start it stands before
	until    time.Time
	over     bool
	awaits   []projections.Job // not finished yet
	timedOut []string          // not finished when the wait ended
	skipped  []string          // could not be started, so not waited for
}

// barrierPassed says whether an execution named key may start: every settle job of the session has ended, or the earliest of their
// limits has passed. Asked again, it looks again: a job that was queued in between is waited for within the same limit.
func (s *step) barrierPassed(key string) bool {
	b := barrier{key: key}
	if s.barrier != nil && s.barrier.key == key {
		b = *s.barrier
	}
	if len(b.timedOut) > 0 {
		return true
	}
	wait, skip := job.Awaited(s.Hot, s.env.Now, s.env.ready, s.atWork)
	b.skipped, b.over, b.awaits = idsOf(skip), len(wait) == 0, wait
	if !b.over {
		if b.until.IsZero() {
			b.until = earliest(wait, s.env.Now)
		}
		if !s.env.Now.Before(b.until) {
			b.over, b.timedOut = true, idsOf(wait)
		}
	}
	s.barrier = &b
	return b.over
}

// SettleWait is what an execution that is about to start waits for. It is told when it begins and whenever it changes, for the
// last time without jobs: the execution starts, or what asked for it was refused or stopped.
type SettleWait struct {
	// ExecutionID is the execution that will start; where a request goes on by itself, the one that ended last.
	ExecutionID string
	Jobs        []Awaited
	Until       time.Time // when it is not waited for any longer
}

// Awaited is a job that is waited for.
type Awaited struct {
	JobID     string `json:"jobId"`
	RuntimeID string `json:"runtimeId"`
	PluginID  string `json:"pluginId"`
}

func (SettleWait) sessionEffect() {}

// settleWait gives what the session waits for at the barrier now, the zero value for nothing.
func (s *step) settleWait() SettleWait {
	b := s.barrier
	switch {
	case b == nil || b.over || s.Phase == Stopped || s.Phase == Recovering:
		return SettleWait{}
	case s.Current != nil && s.waits && b.key == s.Current.ExecutionID:
	case s.Current == nil && s.goesOn() && b.key == s.Committed:
	default:
		return SettleWait{}
	}
	w := SettleWait{ExecutionID: b.key, Until: b.until}
	for _, j := range b.awaits {
		w.Jobs = append(w.Jobs, Awaited{JobID: j.ID, RuntimeID: j.RuntimeID, PluginID: j.PluginID})
	}
	return w
}

// tellSettleWait tells everybody what is waited for, and those whose command waits that it does.
func (s *step) tellSettleWait() {
	now, before := s.settleWait(), s.Settles
	if now.ExecutionID == before.ExecutionID && slices.Equal(now.Jobs, before.Jobs) {
		return
	}
	s.Settles = now
	if before.ExecutionID != "" && before.ExecutionID != now.ExecutionID {
		s.do(SettleWait{ExecutionID: before.ExecutionID})
	}
	if now.ExecutionID == "" {
		return
	}
	s.do(now)
	if s.Current != nil && before.ExecutionID != now.ExecutionID {
		s.reply(s.Current.Tokens, Answer{Status: Queued, SettleWait: &now})
	}
}

// report is what the start of the execution says about the wait, nil when there is nothing to say; it is said once.
func (b *barrier) report() *eventsv1.SettleReport {
	if b == nil || len(b.timedOut)+len(b.skipped) == 0 {
		return nil
	}
	return &eventsv1.SettleReport{TimedOut: b.timedOut, Skipped: b.skipped}
}

// earliest is when the first of the jobs has been waited for long enough.
func earliest(wait []projections.Job, now time.Time) time.Time {
	var out time.Time
	for _, j := range wait {
		at := now.Add(time.Duration(min(j.MaxSettleWaitMs, 120_000)) * time.Millisecond)
		if out.IsZero() || at.Before(out) {
			out = at
		}
	}
	return out
}

func idsOf(jobs []projections.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

package loop

import (
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// How long one attempt may be silent when the manifest says nothing (reference: plugins.md §9.4).
const (
	DefaultSilence  = 120 * time.Second // streamed: before the first output, and between two pieces
	MinSilence      = time.Second
	maxDefaultCall  = 60 * time.Second // not streamed: the whole call
	minDefaultCall  = 5 * time.Second
	DefaultDeadline = 180 * time.Second // of an agent that names none (decisions: "Loop profiles")
)

// What one request may take, with all its attempts (reference: plugins.md §9.4, "Transport budget"). Time in which the model
// writes is not counted.
const (
	CallBudget   = 120 * time.Second
	CallRequests = 8
)

// Limits are what a runtime says about time; a zero takes the default.
type Limits struct {
	FirstToken time.Duration `json:"firstToken,omitempty"`
	Idle       time.Duration `json:"idle,omitempty"`
	Call       time.Duration `json:"call,omitempty"`
	Deadline   time.Duration `json:"deadline,omitempty"` // of the whole run
}

func limitsOf(a manifest.Agent) Limits {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return Limits{FirstToken: ms(a.FirstTokenMs), Idle: ms(a.IdleMs), Call: ms(a.CallTimeoutMs), Deadline: ms(a.TimeoutMs)}
}

// DeadlineOf is the time limit of a whole run of an agent.
func DeadlineOf(rt manifest.Runtime) time.Duration {
	return limitsOf(rt.Agent).deadline()
}

func (l Limits) deadline() time.Duration {
	if l.Deadline > 0 {
		return l.Deadline
	}
	return DefaultDeadline
}

// callBudget is what a request may wait in all. A runtime that names longer limits has them for each of its attempts.
func (c Config) callBudget() time.Duration {
	return max(CallBudget, time.Duration(1+c.Retry.MaxRetries)*max(c.Limits.FirstToken, c.Limits.Call))
}

// callSpent: the present request has used up its budget, and no further attempt is made.
func (m *machine) callSpent() bool {
	return m.s.Call.Attempt >= CallRequests || m.s.Call.Waited >= m.s.Config.callBudget()
}

// limits bounds the silence of the present attempt. Defaults and what a runtime says about a stream are cut so that every
// attempt that is still allowed fits into the time left and into the budget of the request (fault case BL-04: a silent model
// used up the time of the retry). An explicit limit of a whole call is taken as it is.
func (m *machine) limits(stream bool, after time.Duration) model.Limits {
	l := m.s.Config.Limits
	attempts := 1 + max(m.s.Config.Retry.MaxRetries-m.s.Call.Retries, 0)
	free := m.s.Config.callBudget() - m.s.Call.Waited
	if m.s.Left > 0 {
		left := m.s.Left - after - FinalizerNeeds
		for n := range attempts {
			left -= Backoff(m.s.Call.Attempt + n)
		}
		free = min(free, left)
	}
	cut := func(d time.Duration) time.Duration { return max(min(d, free/time.Duration(attempts)), MinSilence) }
	if stream {
		return model.Limits{FirstToken: cut(orDuration(l.FirstToken, DefaultSilence)), Idle: cut(orDuration(l.Idle, DefaultSilence))}
	}
	if l.Call > 0 {
		return model.Limits{Call: l.Call}
	}
	share := l.deadline() / time.Duration(1+m.s.Config.Retry.MaxRetries)
	return model.Limits{Call: cut(max(min(share, maxDefaultCall), minDefaultCall))}
}

// Waits before a further attempt of a call.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 8 * time.Second
)

// Backoff is how long an attempt waits at most beyond what the provider asked for: twice as long each time, nothing before
// the first one. The actor takes a random part of it, so that sessions that failed together do not come back together.
func Backoff(attempt int) time.Duration {
	if attempt <= 1 {
		return 0
	}
	return min(firstBackoff<<min(attempt-2, 8), maxBackoff)
}

func orDuration(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

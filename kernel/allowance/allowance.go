// Package allowance bounds what one root execution may spend: model calls, tool calls, sub-agents and time, for everything
// beneath it together (decisions: "Execution allowances"; seed: turn-pipeline.txt, "Character composition and durable
// execution allowances"). A Budget is a plain value; whoever shares one between goroutines guards it.
package allowance

import (
	"fmt"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/projections"
)

// MaxRunning is how many sub-agents of one execution may run at once. A full pool refuses; nobody waits for a place.
const MaxRunning = 8

// Limits are the most a root execution may spend.
type Limits struct {
	ModelCalls int
	ToolCalls  int
	Subagents  int
	Duration   time.Duration
}

// Default is what a host allows that sets nothing.
var Default = Limits{ModelCalls: 64, ToolCalls: 256, Subagents: 32, Duration: 10 * time.Minute}

// Of gives the limits of a host: zeros, and what is below zero, take the default.
func Of(host Limits) Limits {
	return Limits{
		orElse(host.ModelCalls, Default.ModelCalls), orElse(host.ToolCalls, Default.ToolCalls),
		orElse(host.Subagents, Default.Subagents), orElse(host.Duration, Default.Duration),
	}
}

func orElse[N int | time.Duration](n, other N) N {
	if n > 0 {
		return n
	}
	return other
}

// Lowered gives the limits of a session: it can lower what the host allows, never raise it.
func (l Limits) Lowered(s projections.Allowances) Limits {
	return Limits{
		lower(l.ModelCalls, uint64(s.ModelCalls), 1), lower(l.ToolCalls, uint64(s.ToolCalls), 1), lower(l.Subagents, uint64(s.Subagents), 1),
		lower(l.Duration, s.DurationMs, time.Millisecond),
	}
}

func lower[N int | time.Duration](host N, session uint64, unit N) N {
	if session == 0 || session >= uint64(host/unit) {
		return host
	}
	return N(session) * unit
}

// Kind is what is spent.
type Kind string

// Kinds.
const (
	ModelCall Kind = "model calls"
	ToolCall  Kind = "tool calls"
	Subagent  Kind = "sub-agents"
	Duration  Kind = "time"
)

// Spent is what a root execution has used, those before a suspension included.
type Spent struct {
	ModelCalls int
	ToolCalls  int
	Subagents  int
	Time       time.Duration
}

// Before gives what a chain of suspensions had spent when it was saved last.
func Before(s projections.Spent) Spent {
	return Spent{int(s.ModelCalls), int(s.ToolCalls), int(s.Subagents), time.Duration(s.DurationMs) * time.Millisecond}
}

// ErrExceeded: the allowance is used up. The stop reason is budget-exceeded.
var ErrExceeded = errors.New("the execution's allowance is used up")

// Exceeded says which allowance is used up. It is ErrExceeded.
type Exceeded struct {
	Kind  Kind
	Limit string
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("the execution has used up its allowance of %s (%s)", e.Kind, e.Limit)
}

// Is reports that it is ErrExceeded.
func (e *Exceeded) Is(target error) bool { return target == ErrExceeded }

// ErrPoolFull: as many sub-agents run as may run at once.
var ErrPoolFull = errors.Errorf("%d sub-agents of this execution are running already", MaxRunning)

// Budget is the allowance of one root execution and what is left of it. The zero value allows nothing.
type Budget struct {
	Limits  Limits
	Spent   Spent
	Running int // sub-agents that have not ended
}

// Admit takes one call out of the budget, or says that none is left; running is how long this execution has run. What is
// admitted is spent, however it ends.
func (b Budget) Admit(k Kind, running time.Duration) (Budget, error) {
	if limit := b.Limits.Duration; b.Spent.Time+running >= limit {
		return b, &Exceeded{Duration, limit.String()}
	}
	used, limit := &b.Spent.ModelCalls, b.Limits.ModelCalls
	switch k {
	case ToolCall:
		used, limit = &b.Spent.ToolCalls, b.Limits.ToolCalls
	case Subagent:
		used, limit = &b.Spent.Subagents, b.Limits.Subagents
		if b.Running >= MaxRunning {
			return b, ErrPoolFull
		}
	}
	if *used >= limit {
		return b, &Exceeded{k, fmt.Sprint(limit)}
	}
	*used++
	if k == Subagent {
		b.Running++
	}
	return b, nil
}

// Ended gives the place of a sub-agent back.
func (b Budget) Ended() Budget {
	b.Running = max(b.Running-1, 0)
	return b
}

// Left is how long an execution that has run for so long may still run.
func (b Budget) Left(running time.Duration) time.Duration {
	return max(b.Limits.Duration-b.Spent.Time-running, 0)
}

// Total is what is spent when the execution has run for so long.
func (b Budget) Total(running time.Duration) Spent {
	total := b.Spent
	total.Time += running
	return total
}

package job

import "time"

// Live is a job that an activation works on, from its claim to its end: claimed → running → returned → committing. Cancel,
// a limit and a shutdown halt it; a halted job never commits, whatever it still returns.
type Live struct {
	ExecutionID string
	Phase       string    // Claimed, Running, Committing
	Until       time.Time // when its execution has taken too long
	Returned    bool      // its execution has ended; what follows does not count against its limit
	Halt        string    // why it must not commit: HaltCancelled, HaltTimeout, HaltShutdown, HaltEnded
}

// Why a job is halted.
const (
	HaltCancelled = "cancelled"
	HaltTimeout   = "timed_out"
	HaltShutdown  = "shutdown"
	HaltEnded     = "session-ended"
)

// Claim takes a job. It is not running before the log knows.
func Claim(executionID string) Live { return Live{ExecutionID: executionID, Phase: Claimed} }

// Start begins the run: its time counts from here.
func (l Live) Start(now time.Time, maxExecutionMs uint64) Live {
	l.Phase, l.Until = Running, now.Add(ms(maxExecutionMs))
	return l
}

// Overdue says whether the execution has taken too long. The wait for the commit is not counted.
func (l Live) Overdue(now time.Time) bool {
	return l.Phase == Running && !l.Returned && l.Halt == "" && !now.Before(l.Until)
}

// Halted stops the job; false when it is past stopping, or stopped already.
func (l Live) Halted(why string) (Live, bool) {
	if l.Phase == Committing || l.Halt != "" {
		return l, false
	}
	l.Halt = why
	return l, true
}

// Return ends the execution.
func (l Live) Return() Live {
	l.Returned = true
	return l
}

// Commit is the step from running to committing; false for a job that was halted, or has not returned.
func (l Live) Commit() (Live, bool) {
	if l.Phase != Running || !l.Returned || l.Halt != "" {
		return l, false
	}
	l.Phase = Committing
	return l, true
}

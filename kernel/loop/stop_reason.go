package loop

// StopReason is why a run ended. It is independent of success (decisions: "Stop reasons").
type StopReason string

// All stop reasons. Those marked † are set outside the loop, by the run's owner or by a later part of the kernel.
const (
	StopCompleted       StopReason = "completed"
	StopToolFinished    StopReason = "tool-finished"
	StopSuspended       StopReason = "suspended"
	StopMaxSteps        StopReason = "max-steps"
	StopDeadline        StopReason = "deadline"         // the reserve before the deadline began; a finalizer was sent
	StopTimeout         StopReason = "timeout"          // the run's own limit passed
	StopContextOverflow StopReason = "context-overflow" // †
	StopToolLoop        StopReason = "tool-loop"
	StopInvalidOutput   StopReason = "invalid-output"
	StopInvalidContext  StopReason = "invalid-context"
	StopModelError      StopReason = "model-error"
	StopToolsFailed     StopReason = "tool_failed_without_output"
	StopBudgetExceeded  StopReason = "budget-exceeded" // †
	StopCancelled       StopReason = "cancelled"       // a PreStep hook ended the loop
	StopAbortedByPlayer StopReason = "aborted-by-player"
	StopCancelledParent StopReason = "cancelled-by-parent"
	StopInternal        StopReason = "internal"
)

// StopReasons lists every stop reason.
var StopReasons = []StopReason{
	StopCompleted, StopToolFinished, StopSuspended, StopMaxSteps, StopDeadline, StopTimeout, StopContextOverflow,
	StopToolLoop, StopInvalidOutput, StopInvalidContext, StopModelError, StopToolsFailed, StopBudgetExceeded,
	StopCancelled, StopAbortedByPlayer, StopCancelledParent, StopInternal,
}

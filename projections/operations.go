package projections

import eventsv1 "github.com/covel/covel/proto/covel/events/v1"

// OperationApplied and OperationFailed are the final states of a write service's operation.
const (
	OperationApplied = "applied"
	OperationFailed  = "failed"
)

// FailedOperation is an operation that its execution dropped, as the one who asked for it is told.
type FailedOperation struct {
	Service   string `json:"service"`
	Summary   string `json:"summary"`
	Reason    string `json:"reason"`
	RuntimeID string `json:"runtimeId"` // who asked
}

// notApplied gives the list after a commit: any later player's or continuation execution replaces it, others leave it
// (seed: turn-pipeline.txt, "Once any later player or continuation execution commits, the old notice disappears"). A retry
// of single runtimes is neither.
func (s Session) notApplied(m *eventsv1.ExecutionCommitted) []FailedOperation {
	if s.Open == nil || s.Open.ID != m.ExecutionId || !s.Open.TakesNotice() {
		return s.NotApplied
	}
	var out []FailedOperation
	for _, o := range m.Operations {
		if o.Status == OperationFailed {
			out = append(out, FailedOperation{o.Service, o.Summary, o.Reason, o.InvokedBy.GetRuntimeId()})
		}
	}
	return out
}

// TakesNotice says whether the execution is a player's or a continuation, and no retry of single runtimes: the ones that
// are told which operations before them failed, and whose own replace those.
func (e Execution) TakesNotice() bool {
	return (e.Origin == "player" || e.Origin == "continuation") && len(e.Targets) == 0 && e.SourceTurnID == ""
}

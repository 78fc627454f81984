package commit

import (
	"strings"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// operations writes what a unit has staged through write services, after all writes of its own. Each operation of the
// story's unit is dropped alone; anywhere else a refused one refuses the unit (seed: turn-pipeline.txt, "Write-service
// operations commit in this transaction too").
func (p *planner) operations(r turn.Result) *Refusal {
	return p.operationsOf(r, r.Story && r.Status == turn.Succeeded)
}

func (p *planner) operationsOf(r turn.Result, alone bool) *Refusal {
	for _, n := range r.Nested {
		if n.Seed || !n.Committable() {
			continue
		}
		if refusal := p.operationsOf(n, alone); refusal != nil {
			return refusal
		}
	}
	for _, op := range r.Operations {
		// Its provider owns the writes; they belong to the run that asked.
		refusal := p.write(turn.Result{RuntimeID: r.RuntimeID, PluginID: op.PluginID, RunID: r.RunID, Proposals: op.Proposals, Refused: op.Refused})
		switch {
		case refusal == nil:
			p.ops = append(p.ops, operationOutcome(r, op, projections.OperationApplied, ""))
		case alone:
			p.failed(r, op, refusal.Code)
		default:
			refusal.Message, refusal.Operation = "operation "+op.Service+": "+refusal.Message, op.ID
			return refusal
		}
	}
	return nil
}

func (p *planner) failed(r turn.Result, op turn.Operation, code string) {
	p.gone[op.ID] = true
	p.ops = append(p.ops, operationOutcome(r, op, projections.OperationFailed, code))
}

// maxSummary is how much of an operation's summary is kept, in characters: it comes from a plugin and goes into a prompt.
const maxSummary = 300

func operationOutcome(r turn.Result, op turn.Operation, status, reason string) *eventsv1.OperationOutcome {
	by := op.InvokedBy
	if by.RuntimeID == "" {
		by = turn.InvokedBy{RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID}
	}
	summary := []rune(errorText(op.Summary))
	if len(summary) > maxSummary {
		summary = append(summary[:maxSummary], '…')
	}
	return &eventsv1.OperationOutcome{
		Id: op.ID, PluginId: op.PluginID, Service: strings.TrimSpace(op.Service), Summary: string(summary), Status: status, Reason: reason,
		InvokedBy: &eventsv1.InvokedBy{RuntimeId: by.RuntimeID, PluginId: by.PluginID, RunId: by.RunID},
	}
}

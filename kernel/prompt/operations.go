package prompt

import (
	"strings"

	"github.com/covel/covel/projections"
)

// maxNotApplied is how many failed operations an agent is told of.
const maxNotApplied = 10

// NotAppliedFor gives the operations that the runtime asked for in the newest committed player's or continuation execution
// and that failed; nobody else is told of them. A retry of single runtimes is told of none (seed: turn-pipeline.txt, "Only
// the agent named by invokedBy.runtimeId receives operations-not-applied … Scoped retries omit it").
func NotAppliedFor(s projections.Session, e projections.Execution, runtimeID string) []projections.FailedOperation {
	if !e.TakesNotice() {
		return nil
	}
	var out []projections.FailedOperation
	for _, o := range s.NotApplied {
		if o.RuntimeID == runtimeID && len(out) < maxNotApplied {
			out = append(out, o)
		}
	}
	return out
}

// notAppliedBlock tells an agent which of its operations did not take effect, after its inputs and exports.
func (in In) notAppliedBlock() string {
	if len(in.NotApplied) == 0 {
		return ""
	}
	lines := []string{in.say().in(
		"These operations that you asked for in the turn before did not take effect. What you read of them then is not so:",
		"上一回合你请求的下列操作没有生效，当时读到的结果并不成立：")}
	for _, o := range in.NotApplied {
		line := o.Summary
		if line == "" {
			line = o.Service
		}
		lines = append(lines, "- "+line+" ("+o.Reason+")")
	}
	return block("operations-not-applied", Escape(strings.Join(lines, "\n")))
}

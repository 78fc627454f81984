package turn

import (
	"bytes"
	"encoding/json"

	"github.com/covel/covel/plugins/sdk"
)

// DiagnosticValueWithdrawn is the code under which the trace tells that a hook replaced a function's output and not its value.
const DiagnosticValueWithdrawn = "canonical-value-withdrawn"

// Display is the value of a run as it is shown, always an object: one stays as it is, anything else stands under "value"
// (reference: plugins.md §8, "Function value").
func Display(value json.RawMessage) json.RawMessage {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return json.RawMessage("{}")
	case value[0] == '{':
		return value
	}
	return marshal(map[string]json.RawMessage{"value": value})
}

// RunResult is a result as hooks read it.
func RunResult(r Result) sdk.RunResult {
	out := sdk.RunResult{
		RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID, Status: string(r.Status), StopReason: r.StopReason, SkipReason: r.SkipReason,
		Error: r.Error, CanonicalValue: r.Output, Segments: r.Segments, Done: r.Done, Suspended: r.Status == Suspended,
	}
	if len(r.Output) > 0 {
		out.Output = Display(r.Output)
	}
	return out
}

// Revalued is the value of a result after hooks: a new canonicalValue counts. A new output alone is the value of an agent; a
// function's value is withdrawn, since what is shown says nothing of it (reference: plugins.md §12).
func Revalued(was Result, with sdk.RunResult, function bool) (value json.RawMessage, withdrawn bool) {
	switch {
	case len(with.CanonicalValue) > 0 && !bytes.Equal(with.CanonicalValue, was.Output):
		return with.CanonicalValue, false
	case bytes.Equal(with.Output, RunResult(was).Output):
		return was.Output, false
	case function && len(was.Output) > 0:
		return nil, true
	case function:
		return nil, false
	}
	return with.Output, false
}

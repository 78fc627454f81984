package turn

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
)

// DiagnosticStripped is the code under which the trace tells that a run that did not succeed asked for writes (reference:
// plugins.md §12, "Normalisation").
const DiagnosticStripped = "non-success-domain-effects-stripped"

// Handled is what a handler's or a guard's answer comes to.
type Handled struct {
	Result  Result
	Effects sdk.Effects // what may be written
	// Stripped names the effects that were asked for and may not be written, by the fields of sdk.Effects in small letters.
	Stripped []string
}

// HandlerResult reads what a function's handler returned: its outcome, its value, its effects and its completion, each for
// itself (seed: turn-pipeline.txt §2.2, "validate outcome; store output / effects / completion separately"). What is not as
// it must be fails the run. A suspension is read elsewhere and gives its effects only.
func HandlerResult(out sdk.Result) Handled {
	if err := checkReports(out.Effects); err != nil {
		return invalid(err.Error())
	}
	h := Handled{}
	switch out.Outcome {
	case sdk.Success:
		h.Effects = out.Effects
		value, err := jsonValue("value", out.Value)
		if err != nil {
			return invalid(err.Error())
		}
		h.Result = Result{Status: Succeeded, StopReason: "completed", Done: out.Done, Output: value}
	case sdk.Suspended:
		h.Effects = out.Effects
		h.Result = Result{Status: Suspended, StopReason: "suspended"}
	case sdk.Skipped:
		h.Effects, h.Stripped = stripped(out.Effects)
		h.Result = Result{Status: Skipped, SkipReason: HandlerSkip(out.SkipReason), StopReason: "completed"}
	case sdk.Failed:
		h.Effects, h.Stripped = stripped(out.Effects)
		h.Result = Result{Status: Failed, StopReason: "internal", Error: out.Error}
		if strings.TrimSpace(out.Error) == "" {
			h.Result.Error = "the handler reported a failure without a reason"
		}
	case "":
		return invalid("the handler returned no outcome: it is success, skipped, suspended or failed")
	default:
		return invalid(fmt.Sprintf("the handler returned the outcome %q: it is success, skipped, suspended or failed", out.Outcome))
	}
	return h
}

// GuardResult reads what a guard answered in the place of its runtime. Its fields are the runtime's output (reference:
// plugins.md §8, "Guard result"). To skip is to report a set-up done, unless the output says preGameDone: false (seed:
// turn-pipeline.txt §2.1, "a guard returns { skip: true }"). A guard that lets the runtime run may answer nothing else.
func GuardResult(out sdk.GuardResult) Handled {
	if err := checkReports(out.Effects); err != nil {
		return invalid(err.Error())
	}
	if !out.Skip {
		if out.PreGameDone || out.Output != nil {
			return invalid("the guard answered without skip: only one that skips its runtime reports its set-up done or gives its output")
		}
		h := Handled{}
		h.Effects, h.Stripped = stripped(out.Effects)
		return h
	}
	h := Handled{Effects: out.Effects, Result: Result{Status: Skipped, SkipReason: SkipGuard, StopReason: "completed", Done: true}}
	if out.Output == nil {
		return h
	}
	value, err := jsonValue("output", out.Output)
	if err != nil {
		return invalid(err.Error())
	}
	h.Result.Output = value
	h.Result.Done = out.PreGameDone || gjson.GetBytes(value, "preGameDone").Raw != "false"
	return h
}

func checkReports(e sdk.Effects) error {
	for i, r := range e.JobStatus {
		if err := CheckReport(r); err != nil {
			return fmt.Errorf("effects.jobStatus[%d].%w", i, err)
		}
	}
	return nil
}

func invalid(why string) Handled {
	return Handled{Result: Result{Status: Failed, StopReason: "invalid-output", Error: why, Fault: true}}
}

// stripped takes out what only a success may write.
func stripped(e sdk.Effects) (sdk.Effects, []string) {
	var names []string
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Diagnostics" && name != "JobStatus" && !v.Field(i).IsZero() {
			names = append(names, strings.ToLower(name))
		}
	}
	return sdk.Effects{JobStatus: e.JobStatus, Diagnostics: e.Diagnostics}, names
}

// jsonValue writes a value as JSON that may be stored; nothing for nil.
func jsonValue(name string, v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be written as JSON: %w", name, err)
	}
	return world.CleanValue(name, b)
}

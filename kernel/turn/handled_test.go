package turn

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// Rule TP:278: a handler's outcome is validated; its output, its effects and its completion are stored each for itself.
// Rule REF:plugins.md §12: an unknown outcome and a value that is no JSON fail the run with what is wrong.
// Rule REF:plugins.md §12: effects of a run that is skipped or failed are stripped, and that is told; diagnostics stay.
func TestHandlerResult(t *testing.T) {
	asked := sdk.Effects{
		Narrative: "灯灭了。", UI: []sdk.UIRender{{}}, Diagnostics: []sdk.Diagnostic{{Code: "fog"}}, JobStatus: []sdk.ProgressReport{{JobID: "画", State: sdk.ProgressStep}},
	}
	report := func(r sdk.ProgressReport) sdk.Effects {
		return sdk.Effects{JobStatus: []sdk.ProgressReport{{JobID: "a", State: "queued"}, r}}
	}
	for _, c := range []struct {
		name     string
		out      sdk.Result
		status   Status
		stop     string
		words    string // of the error or the skip reason
		output   string
		done     bool
		stripped string
	}{
		{"a value", sdk.Result{Outcome: sdk.Success, Value: map[string]any{"名": "龙胆", "a": "<b>"}, Effects: asked}, Succeeded, "completed", "", `{"a":"<b>","名":"龙胆"}`, false, ""},
		{"a scalar", sdk.Result{Outcome: sdk.Success, Value: 3}, Succeeded, "completed", "", `3`, false, ""},
		{"null as JSON", sdk.Result{Outcome: sdk.Success, Value: json.RawMessage(`null`)}, Succeeded, "completed", "", `null`, false, ""},
		{"nothing", sdk.Result{Outcome: sdk.Success, Done: true}, Succeeded, "completed", "", ``, true, ""},
		// Rule REF:plugins.md §8: fields of the value that are called events or preGameDone cause nothing.
		{"names that mean nothing", sdk.Result{Outcome: sdk.Success, Value: map[string]any{"preGameDone": true}}, Succeeded, "completed", "", `{"preGameDone":true}`, false, ""},
		{"skipped", sdk.Result{Outcome: sdk.Skipped, SkipReason: "没有人", Effects: asked, Done: true}, Skipped, "completed", "没有人", ``, false, "narrative ui"},
		{"skipped without a reason", sdk.Result{Outcome: sdk.Skipped}, Skipped, "completed", "handler", ``, false, ""},
		{"skipped in the kernel's words", sdk.Result{Outcome: sdk.Skipped, SkipReason: SkipGuard}, Skipped, "completed", "handler: guard", ``, false, ""},
		{"failed", sdk.Result{Outcome: sdk.Failed, Error: "雾太大", Effects: asked}, Failed, "internal", "雾太大", ``, false, "narrative ui"},
		{"failed without a reason", sdk.Result{Outcome: sdk.Failed, Error: " "}, Failed, "internal", "without a reason", ``, false, ""},
		{"no outcome", sdk.Result{Value: 1}, Failed, "invalid-output", "returned no outcome", ``, false, ""},
		{"another outcome", sdk.Result{Outcome: "ok"}, Failed, "invalid-output", `the outcome "ok": it is success, skipped, suspended or failed`, ``, false, ""},
		{"a value that is no JSON", sdk.Result{Outcome: sdk.Success, Value: math.Inf(1)}, Failed, "invalid-output", "value: it cannot be written as JSON", ``, false, ""},
		{"JSON that is none", sdk.Result{Outcome: sdk.Success, Value: json.RawMessage(`{`)}, Failed, "invalid-output", "value: it cannot be written as JSON", ``, false, ""},
		{"a number too large", sdk.Result{Outcome: sdk.Success, Value: map[string]any{"数": []int64{1, 1 << 60}}}, Failed, "invalid-output", "value.数[1]: 1152921504606846976 is beyond", ``, false, ""},
		// Rule REF:plugins.md §12: jobStatus is allowed with any outcome; a malformed one fails the run.
		{"a job in no state", sdk.Result{Outcome: sdk.Success, Effects: report(sdk.ProgressReport{JobID: "画", State: "dancing"})}, Failed, "invalid-output", `effects.jobStatus[1].state: "dancing" is none of`, ``, false, ""},
		{"a job without a name", sdk.Result{Outcome: sdk.Failed, Error: "x", Effects: report(sdk.ProgressReport{JobID: " ", State: "failed"})}, Failed, "invalid-output", `effects.jobStatus[1].jobId: it is empty`, ``, false, ""},
		{"a job with a bad number", sdk.Result{Outcome: sdk.Skipped, Effects: report(sdk.ProgressReport{JobID: "a", State: "failed", Sequence: -1})}, Failed, "invalid-output", `effects.jobStatus[1].sequence: -1 is below zero`, ``, false, ""},
		{"a job with odd data", sdk.Result{Outcome: sdk.Success, Effects: report(sdk.ProgressReport{JobID: "a", State: "failed", Data: json.RawMessage(`{`)})}, Failed, "invalid-output", `effects.jobStatus[1].data: it is no JSON`, ``, false, ""},
		{"a bad character", sdk.Result{Outcome: sdk.Success, Value: "a\x00b"}, Succeeded, "completed", "", "\"a\uFFFDb\"", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := HandlerResult(c.out)
			r := h.Result
			expect(t, "result", []any{r.Status, r.StopReason, string(r.Output), r.Done}, []any{c.status, c.stop, c.output, c.done})
			if said := r.Error + r.SkipReason; !strings.Contains(said, c.words) || c.words == "" && said != "" {
				t.Errorf("it says %q, want …%s…", said, c.words)
			}
			expect(t, "stripped", strings.Join(h.Stripped, " "), c.stripped)
			if c.stripped != "" && (h.Effects.Narrative != "" || len(h.Effects.Diagnostics) != 1 || len(h.Effects.JobStatus) != 1) {
				t.Errorf("effects %+v", h.Effects)
			}
		})
	}
}

// Rule TP:135: a guard that skips reports its set-up done; one that says preGameDone: false waits.
// Rule REF:plugins.md §8: what a guard gives beside skip is the output of its runtime.
func TestGuardResult(t *testing.T) {
	for _, c := range []struct {
		name string
		out  sdk.GuardResult
		want Result
		runs bool
	}{
		{"run it", sdk.GuardResult{}, Result{}, true},
		{"skip", sdk.GuardResult{Skip: true}, Result{Status: Skipped, SkipReason: SkipGuard, StopReason: "completed", Done: true}, false},
		{"an answer", sdk.GuardResult{Skip: true, Output: map[string]any{"名": "龙胆"}}, Result{Status: Skipped, SkipReason: SkipGuard, StopReason: "completed", Done: true, Output: json.RawMessage(`{"名":"龙胆"}`)}, false},
		{"it waits", sdk.GuardResult{Skip: true, Output: map[string]any{"preGameDone": false}}, Result{Status: Skipped, SkipReason: SkipGuard, StopReason: "completed", Output: json.RawMessage(`{"preGameDone":false}`)}, false},
		{"an output that is no JSON", sdk.GuardResult{Skip: true, Output: map[string]any{"x": math.NaN()}}, Result{Status: Failed, StopReason: "invalid-output", Error: "output: it cannot be written as JSON: json: unsupported value: NaN", Fault: true}, false},
		{"an answer without a skip", sdk.GuardResult{Output: map[string]any{}}, Result{Status: Failed, StopReason: "invalid-output", Error: "the guard answered without skip: only one that skips its runtime reports its set-up done or gives its output", Fault: true}, false},
	} {
		h := GuardResult(c.out)
		expect(t, c.name, h.Result, c.want)
		expect(t, c.name+" runs", h.Result.Status == "", c.runs)
	}
	expect(t, "a malformed report", GuardResult(sdk.GuardResult{Effects: sdk.Effects{JobStatus: []sdk.ProgressReport{{}}}}).Result.Status, Failed)
	// A guard that lets its runtime run writes nothing of its own.
	expect(t, "stripped", GuardResult(sdk.GuardResult{Effects: sdk.Effects{Narrative: "x"}}).Stripped, []string{"narrative"})
}

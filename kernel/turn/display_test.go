package turn

import (
	"encoding/json"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// Rule REF:plugins.md §8: for display an object stays as it is, a scalar, an array and null stand under value, and nothing is an
// empty object.
func TestDisplay(t *testing.T) {
	for value, want := range map[string]string{
		`{"b": 1}`: `{"b": 1}`, `"<雨>"`: `{"value":"<雨>"}`, `[1]`: `{"value":[1]}`, `null`: `{"value":null}`, ` 3`: `{"value":3}`, ``: `{}`,
	} {
		expect(t, value, string(Display(json.RawMessage(value))), want)
	}
}

// Rule REF:plugins.md §12: a hook that replaces the output of a function replaces its canonicalValue too, otherwise the value is
// withdrawn.
func TestRevalued(t *testing.T) {
	raw := func(s string) json.RawMessage {
		if s == "" {
			return nil
		}
		return json.RawMessage(s)
	}
	for _, c := range []struct {
		name               string
		was                string
		output, value      string // as the hook left them
		function, withdraw bool
		want               string
	}{
		{"as it was", `"雨"`, `{"value":"雨"}`, `"雨"`, true, false, `"雨"`},
		{"its output alone", `"雨"`, `{"value":"雪"}`, `"雨"`, true, true, ``},
		{"its output, and no value", `{"a":1}`, `{"a":2}`, ``, true, true, ``},
		{"both", `"雨"`, `{"value":"雪"}`, `"雪"`, true, false, `"雪"`},
		{"its value alone", `{"a":1}`, `{"a":1}`, `[2]`, true, false, `[2]`},
		{"an output where there was no value", ``, `{"a":2}`, ``, true, false, ``},
		{"a value where there was none", ``, `{"a":2}`, `{"a":2}`, true, false, `{"a":2}`},
		{"an agent's output is its value", `{"a":1}`, `{"a":2}`, `{"a":1}`, false, false, `{"a":2}`},
		{"an agent's as it was", `{"a":1}`, `{"a":1}`, `{"a":1}`, false, false, `{"a":1}`},
		{"an agent's output is taken away", `{"a":1}`, ``, `{"a":1}`, false, false, ``},
	} {
		value, withdrawn := Revalued(Result{Output: raw(c.was)}, sdk.RunResult{Output: raw(c.output), CanonicalValue: raw(c.value)}, c.function)
		expect(t, c.name, []any{string(value), withdrawn}, []any{c.want, c.withdraw})
	}
	r := RunResult(Result{RuntimeID: "r", RunID: "1", Status: Suspended, Output: raw(`[1]`), Done: true})
	expect(t, "as hooks read it", []any{string(r.Output), string(r.CanonicalValue), r.Suspended, r.Status, r.Done}, []any{`{"value":[1]}`, `[1]`, true, "suspended", true})
	expect(t, "without a value", len(RunResult(Result{}).Output), 0)
}

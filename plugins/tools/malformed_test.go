package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// quest has one required and one optional parameter, as the quest.update of the fault case.
func quest(t testing.TB, ran *int) sdk.Tool {
	t.Helper()
	return sdk.Tool{
		Name: "quest.update", Description: "Update a quest.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"quest":{"type":"string"},"state":{"type":"string"}},"required":["quest"],"additionalProperties":false}`),
		Execute: func(context.Context, json.RawMessage, *sdk.Runtime) (sdk.ToolResult, error) {
			*ran++
			return sdk.ToolResult{Content: map[string]bool{"ok": true}}, nil
		},
	}
}

// Rule TL:173: arguments that cannot be repaired never run; the history keeps their text, never an empty object.
// Rule BL-01: no bad call executes; each yields an error that names the tool and what it takes.
func TestMalformedArgumentsNeverRun(t *testing.T) {
	huge := strings.Repeat(`{"a":`, 200_000)
	for name, c := range map[string]struct {
		args string
		runs bool
		says string
	}{
		"cut":            {`{"quest":"Amulet","state":`, false, "not valid JSON"},
		"an array":       {`["done"]`, false, "expected an object"},
		"null":           {`null`, false, "expected an object"},
		"an empty text":  {`""`, false, "expected an object"},
		"nothing":        {``, false, "not valid JSON"},
		"only spaces":    {" \n", false, "not valid JSON"},
		"a number":       {`7`, false, "expected an object"},
		"deep nesting":   {huge, false, "not valid JSON"},
		"deep and whole": {strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), false, ""},
		"two values":     {`{"quest":"a"}{"quest":"b"}`, false, "not valid JSON"},
		"not UTF-8":      {"{\"quest\":\"\xff\"", false, "not valid JSON"},
		"a wrong member": {`{"quest":"a","state":5}`, false, "state"},
		"valid":          {`{"quest":"护身符","state":"done"}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			tl := quest(t, &ran)
			var e Executor
			r := e.Run(t.Context(), Call{Name: tl.Name, Arguments: c.args, Authorised: []string{tl.Name}, Own: map[string]sdk.Tool{tl.Name: tl}})
			if (ran == 1) != c.runs || (r.Err == nil) != c.runs {
				t.Fatalf("ran %d times: %s", ran, r.Envelope)
			}
			if c.runs {
				return
			}
			if r.Err.Code != sdk.InvalidInput || !strings.Contains(r.Err.Message, "quest.update") || !strings.Contains(r.Err.Message, c.says) {
				t.Errorf("got %s", r.Envelope)
			}
			whole := strings.HasPrefix(strings.TrimSpace(c.args), "{") && json.Valid([]byte(c.args))
			if !whole && !strings.Contains(r.Err.Hint, `{"quest": string, "state"?: string}`) {
				t.Errorf("the error does not say what the tool takes: %s", r.Envelope)
			}
			if !json.Valid([]byte(r.Arguments)) || !whole && !strings.HasPrefix(r.Arguments, `"`) {
				t.Errorf("history %.80s", r.Arguments)
			}
			if !whole && len(r.Arguments) > 2*maxHistoryRaw || len(r.Envelope) > 2*maxHistoryRaw {
				t.Errorf("%d bytes of history, %d of error", len(r.Arguments), len(r.Envelope))
			}
		})
	}
}

func TestHistoryArguments(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1}`:     `{"a":1}`,
		` {"a":1}`:    ` {"a":1}`,
		`{"a":1}]`:    `{"a":1}`,
		`{"a":`:       `"{\"a\":"`,
		`null`:        `"null"`,
		`["done"]`:    `"[\"done\"]"`,
		``:            `""`,
		`"<龙胆>"`:      `"\"<龙胆>\""`,
		"{\"a\":1}{}": `"{\"a\":1}{}"`,
	} {
		if got := HistoryArguments(raw); got != want {
			t.Errorf("HistoryArguments(%q) = %s, want %s", raw, got, want)
		}
	}
	long := HistoryArguments(strings.Repeat(`{"龙":`, 200_000))
	if len(long) > 2*maxHistoryRaw || !json.Valid([]byte(long)) || !strings.Contains(long, fmt.Sprintf("%d bytes", 7*200_000)) {
		t.Errorf("%d bytes: …%s", len(long), long[len(long)-60:])
	}
}

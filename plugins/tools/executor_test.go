package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/plugins/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type echoArgs struct {
	Value string   `json:"value" jsonschema:"minLength=1,maxLength=80" describe:"Value to echo (1-80 characters)."`
	Items []item   `json:"items,omitempty"`
	Meta  *itemMap `json:"meta,omitempty"`
	Count int      `json:"count,omitempty"`
}

type item struct {
	ID   string   `json:"id"`
	Tags []string `json:"tags,omitempty"`
}

type itemMap struct {
	Kind string `json:"kind"`
}

func echo(_ context.Context, a echoArgs, _ *sdk.Runtime) (sdk.ToolResult, error) {
	return sdk.ToolResult{Content: a}, nil
}

func tool(t *testing.T, def sdk.Tool, run func(ctx context.Context, a echoArgs, rt *sdk.Runtime) (sdk.ToolResult, error)) sdk.Tool {
	t.Helper()
	if def.Name == "" {
		def.Name = "echo-value"
	}
	def.Description = "Echo one short value."
	made, err := sdk.Define(def, run)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func call(made sdk.Tool, arguments string) Call {
	return Call{Name: made.Name, Arguments: arguments, Authorised: []string{made.Name}, Own: map[string]sdk.Tool{made.Name: made}, Runtime: &sdk.Runtime{}, Language: "en"}
}

func run(t *testing.T, c Call) CallResult {
	t.Helper()
	var e Executor
	r := e.Run(context.Background(), c)
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if (r.Err != nil) != strings.HasPrefix(r.Envelope, `{"error":`) {
		t.Errorf("envelope %s beside error %v", r.Envelope, r.Err)
	}
	if !json.Valid([]byte(r.Envelope)) || !json.Valid([]byte(r.Arguments)) {
		t.Errorf("not JSON: envelope %s, arguments %s", r.Envelope, r.Arguments)
	}
	if r.Err != nil && (r.Content != nil || r.Proposals != nil || r.Events != nil || r.Interaction != nil || r.UI != nil) {
		t.Errorf("a failed call has effects: %+v", r)
	}
	return r
}

// Rule TP:167: a host that has no clock of turns leaves the number out, and a tool runs all the same.
//
// seed: tools.txt, "A minimal plugin you can copy", "What happens at runtime".
func TestRunEcho(t *testing.T) {
	echoTool := tool(t, sdk.Tool{}, echo)
	for name, c := range map[string]struct{ args, envelope string }{
		"success":  {`{"value":"陆青云"}`, `{"data":{"value":"陆青云"}}`},
		"missing":  {`{}`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: value: is required.","hint":"Fix these fields and call the tool again."}}`},
		"blank":    {"  ", `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" are not valid JSON: the text ends before the value is complete, after «  ».","hint":"Call the tool again with the whole arguments as one valid JSON object. It takes {\"value\": string, \"items\"?: array, \"meta\"?: object, \"count\"?: integer}."}}`},
		"empty":    {`{"value":""}`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: value: must have at least 1 character, got 0.","hint":"Fix these fields and call the tool again."}}`},
		"too long": {`{"value":"` + strings.Repeat("灯", 81) + `"}`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: value: must have at most 80 characters, got 81.","hint":"Fix these fields and call the tool again."}}`},
		"all at once": {`{"value":1,"items":[{"id":"a"},{"tags":"x"}]}`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: items[1].id: is required; items[1].tags: expected an array, got a string (its text is not valid JSON: ` +
			`invalid character 'x' looking for beginning of value at character 1, near «x»; pass the array or object itself); value: expected a string, got a number.","hint":"Fix these fields and call the tool again."}}`},
		"not an object":     {`["a"]`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: expected an object, got an array.","hint":"Fix these fields and call the tool again. It takes {\"value\": string, \"items\"?: array, \"meta\"?: object, \"count\"?: integer}."}}`},
		"extra keys go":     {`{"value":"a","other":1}`, `{"data":{"value":"a"}}`},
		"a whole number":    {`{"value":"a","count":3.0}`, `{"data":{"value":"a","count":3}}`},
		"a large number":    {`{"value":"a","count":1e2}`, `{"data":{"value":"a","count":100}}`},
		"no whole number":   {`{"value":"a","count":3.5}`, `{"error":{"code":"invalid-input","message":"The arguments of \"echo-value\" do not fit: count: expected an integer, got a number.","hint":"Fix these fields and call the tool again."}}`},
		"U+0000 is removed": {`{"value":"a\u0000b"}`, `{"data":{"value":"a�b"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if r := run(t, call(echoTool, c.args)); r.Envelope != c.envelope {
				t.Errorf("got  %s\nwant %s", r.Envelope, c.envelope)
			}
		})
	}
}

// seed: tools.txt, "Repaired arguments are written back to model history" and "An array or object was written as a JSON text".
func TestArguments(t *testing.T) {
	echoTool := tool(t, sdk.Tool{}, echo)
	for name, c := range map[string]struct {
		args    string
		history string
		fix     Fix
		fails   string // part of the message
	}{
		"repaired as a whole":          {`{"value":"叫作"锁"的灯"}`, `{"value":"叫作\"锁\"的灯"}`, UnescapedQuotes, ""},
		"unreadable text is kept":      {`{"value":"a`, `"{\"value\":\"a"`, "", "are not valid JSON: the text ends before the value is complete"},
		"an array as text":             {`{"value":"a","items":"[{\"id\":\"b\"}]"}`, `{"items":[{"id":"b"}],"value":"a"}`, "", ""},
		"an object as text":            {`{"value":"a","meta":"{\"kind\":\"灯\"}"}`, `{"meta":{"kind":"灯"},"value":"a"}`, "", ""},
		"text inside text":             {`{"value":"a","items":"[{\"id\":\"b\",\"tags\":\"[\\\"x\\\"]\"}]"}`, `{"items":[{"id":"b","tags":["x"]}],"value":"a"}`, "", ""},
		"text with a typo":             {`{"value":"a","items":"[{\"id\":\"b\"}}]"}`, `{"items":[{"id":"b"}],"value":"a"}`, "", ""},
		"text with an open end":        {`{"value":"a","items":"[{\"id\":\"b\"}"}`, `{"items":[{"id":"b"}],"value":"a"}`, "", ""},
		"text that is not finished":    {`{"value":"a","items":"[{\"id\":"}`, "", "", "items: expected an array, got a string (its text is not valid JSON"},
		"text of another kind":         {`{"value":"a","items":"5"}`, "", "", "items: expected an array, got a string"},
		"parsed text must fit as well": {`{"value":"a","items":"[{\"name\":\"b\"}]"}`, "", "", "items[0].id: is required"},
		"a text stays a text":          {`{"value":"[1]"}`, `{"value":"[1]"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, call(echoTool, c.args))
			if c.fails != "" {
				if r.Err == nil || r.Err.Code != sdk.InvalidInput || !strings.Contains(r.Err.Message, c.fails) {
					t.Errorf("got %v, want %q", r.Err, c.fails)
				}
				if c.history != "" && r.Arguments != c.history {
					t.Errorf("history %s", r.Arguments)
				}
				return
			}
			if r.Err != nil || r.Arguments != c.history || r.Fix != c.fix {
				t.Errorf("got %s (%s) %v\nwant %s (%s)", r.Arguments, r.Fix, r.Err, c.history, c.fix)
			}
		})
	}
}

// seed: tools.txt, "Authorization", and "A name that is not registered does not fall through".
// Rule TP:515–518: a tool is found by its name: the framework's directly, a plugin's own only where the runtime declares it.
func TestResolve(t *testing.T) {
	echoTool := tool(t, sdk.Tool{}, echo)
	for name, c := range map[string]struct {
		edit func(*Call)
		want sdk.ToolErrorCode
	}{
		"authorised and registered":       {func(*Call) {}, ""},
		"not authorised":                  {func(c *Call) { c.Authorised = []string{"other"} }, sdk.Unavailable},
		"authorised, not registered":      {func(c *Call) { c.Own = nil }, sdk.NotFound},
		"a builtin without authorisation": {func(c *Call) { c.Name = RuntimeDone }, sdk.Unavailable},
		"a builtin":                       {func(c *Call) { c.Name = RuntimeDone; c.Authorised = []string{RuntimeDone} }, ""},
		"a reserved name this host lacks": {func(c *Call) {
			c.Name = "memory-search"
			c.Authorised = []string{"memory-search"}
			c.Own["memory-search"] = echoTool
		}, sdk.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			one := call(echoTool, `{"value":"a"}`)
			c.edit(&one)
			r := run(t, one)
			got := sdk.ToolErrorCode("")
			if r.Err != nil {
				got = r.Err.Code
			}
			if got != c.want {
				t.Errorf("got %q (%v), want %q", got, r.Err, c.want)
			}
		})
	}
}

// seed: tools.txt, "Unified result format and error codes": who produces which code, and what sets refused.
func TestFailures(t *testing.T) {
	uuidText := "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	var none *sdk.ToolError
	for name, c := range map[string]struct {
		err      error
		panics   any
		envelope string
		refused  bool
		cause    bool
	}{
		"the author's words":     {err: sdk.Fail(sdk.NotFound, "没有“%s”。", "龙胆").WithHint("Ask."), envelope: `{"error":{"code":"not-found","message":"没有“龙胆”。","hint":"Ask."}}`},
		"wrapped words":          {err: errors.Join(errors.New("outer"), sdk.Fail(sdk.Ambiguous, "Two.")), envelope: `{"error":{"code":"ambiguous","message":"Two."}}`},
		"the tool refuses":       {err: sdk.Fail(sdk.Refused, "No."), envelope: `{"error":{"code":"refused","message":"No."}}`, refused: true},
		"an accident":            {err: errors.New("row " + uuidText + " is gone\nsecond line"), envelope: `{"error":{"code":"internal","message":"Tool \"echo-value\" failed: row <id> is gone"}}`, cause: true},
		"a panic":                {panics: "boom", envelope: `{"error":{"code":"internal","message":"Tool \"echo-value\" failed: panic: boom"}}`, cause: true},
		"a nil *ToolError":       {err: none, envelope: `{"error":{"code":"internal","message":"Tool \"echo-value\" failed: it returned an empty error"}}`, cause: true},
		"an error of a deadline": {err: context.DeadlineExceeded, envelope: `{"error":{"code":"internal","message":"Tool \"echo-value\" failed: context deadline exceeded"}}`, cause: true},
	} {
		t.Run(name, func(t *testing.T) {
			made := tool(t, sdk.Tool{}, func(context.Context, echoArgs, *sdk.Runtime) (sdk.ToolResult, error) {
				if c.panics != nil {
					panic(c.panics)
				}
				return sdk.ToolResult{Content: "late"}, c.err
			})
			r := run(t, call(made, `{"value":"a"}`))
			if r.Envelope != c.envelope || r.Refused != c.refused || (r.Cause != nil) != c.cause {
				t.Errorf("got %s refused=%v cause=%v\nwant %s", r.Envelope, r.Refused, r.Cause, c.envelope)
			}
		})
	}
}

// seed: tools.txt, "If a readOnly: true tool returns proposals or domain events".
func TestReadOnlyToolsThatWriteFail(t *testing.T) {
	for name, write := range map[string]func(*sdk.Runtime) sdk.ToolResult{
		"proposals": func(*sdk.Runtime) sdk.ToolResult {
			return sdk.WithPendingProposals("x", []sdk.Proposal{{Type: "plugin.data", Payload: []byte(`{}`)}})
		},
		"events": func(*sdk.Runtime) sdk.ToolResult {
			return sdk.WithEmittedEvents("x", []sdk.EmittedEvent{{Topic: "a.b"}})
		},
		"its store": func(rt *sdk.Runtime) sdk.ToolResult {
			if err := rt.PluginData.Set("notes", "k", 1); err != nil {
				t.Error(err)
			}
			return sdk.ToolResult{Content: "x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := tool(t, sdk.Tool{Annotations: sdk.Annotations{ReadOnly: true}}, func(_ context.Context, _ echoArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
				return write(rt), nil
			})
			r := run(t, call(made, `{"value":"a"}`))
			if r.Err == nil || r.Err.Code != sdk.Internal || !strings.Contains(r.Err.Message, "read-only tool returned writes") {
				t.Errorf("got %v", r.Err)
			}
		})
	}
}

type fakeData map[string]json.RawMessage

func (d fakeData) Get(namespace, key string) json.RawMessage { return d[namespace+"/"+key] }
func (d fakeData) Set(string, string, any) error {
	return errors.New("a call writes through to the run")
}
func (d fakeData) Update(string, string, ...sdk.DataOp) error {
	return errors.New("a call writes through to the run")
}
func (d fakeData) List(namespace string) (out []sdk.Record) {
	for k, v := range d {
		if rest, ok := strings.CutPrefix(k, namespace+"/"); ok {
			out = append(out, sdk.Record{Key: rest, Value: v})
		}
	}
	return out
}

// Rule TP:521–523: the tool's own logic runs with its view; what it sets comes out as proposals and writes nothing itself.
func TestACallSeesItsOwnWritesAndStagesThem(t *testing.T) {
	made := tool(t, sdk.Tool{}, func(_ context.Context, _ echoArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
		d := rt.PluginData
		if got := string(d.Get("notes", "old")); got != `"旧"` {
			t.Errorf("committed value %s", got)
		}
		for _, w := range []struct {
			key   string
			value any
		}{{"new", map[string]any{"text": "<锁>"}}, {"old", nil}, {"new", "twice"}, {"gone", json.RawMessage("null")}} {
			if err := d.Set("notes", w.key, w.value); err != nil {
				t.Error(err)
			}
		}
		if got := d.Get("notes", "old"); got != nil {
			t.Errorf("a removed record is still there: %s", got)
		}
		want := []sdk.Record{{Key: "a", Value: json.RawMessage("1")}, {Key: "new", Value: json.RawMessage(`"twice"`)}}
		if diff := cmp.Diff(want, d.List("notes")); diff != "" {
			t.Error(diff)
		}
		for _, c := range []struct{ ns, key string }{{"_logs", "k"}, {"_hidden.", "k"}, {"_hidden", "k"}, {"", "k"}, {"notes", " "}} {
			if err := d.Set(c.ns, c.key, 1); err == nil {
				t.Errorf("%q/%q was written", c.ns, c.key)
			}
		}
		if err := d.Set("notes", "k", func() {}); err == nil {
			t.Error("a function was written")
		}
		if err := d.Set("notes", "k", strings.Repeat("x", MaxDataBytes)); err == nil {
			t.Error("a value of more than 256 KiB was written")
		}
		if err := d.Set("_hidden.plans", "k", 1); err != nil {
			t.Error(err)
		}
		return sdk.WithPendingProposals("done", []sdk.Proposal{{Type: "lorebook.upsert", Payload: []byte(`{}`)}}), nil
	})
	c := call(made, `{"value":"a"}`)
	c.Runtime.PluginData = fakeData{"notes/old": json.RawMessage(`"旧"`), "notes/a": json.RawMessage("1")}
	r := run(t, c)
	var got []string
	for _, p := range r.Proposals {
		got = append(got, p.Type+" "+string(p.Payload))
	}
	want := []string{
		`plugin.data {"namespace":"notes","key":"new","value":{"text":"<锁>"}}`, `plugin.data.delete {"namespace":"notes","key":"old"}`,
		`plugin.data {"namespace":"notes","key":"new","value":"twice"}`, `plugin.data.delete {"namespace":"notes","key":"gone"}`,
		`plugin.data {"namespace":"_hidden.plans","key":"k","value":1}`, `lorebook.upsert {}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(r.Envelope, `"count":6,"kinds":["plugin.data","plugin.data.delete","lorebook.upsert"]`) {
		t.Errorf("envelope %s", r.Envelope)
	}
}

// seed: tools.txt, "A tool timeout returns {error:{code:"timeout"…}}" and "late results are discarded".
// Rule TP:508: cancellation is checked before a result is accepted; a call that was cancelled gives none.
func TestTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Int32 // writes of callbacks whose call was over
		slow := tool(t, sdk.Tool{TimeoutMs: 5000}, func(_ context.Context, _ echoArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
			time.Sleep(time.Minute) // heeds nothing
			if rt.PluginData.Set("notes", "k", 1) != nil {
				refused.Add(1)
			}
			return sdk.WithEmittedEvents("late", []sdk.EmittedEvent{{Topic: "a.b"}}), nil
		})
		var e Executor
		start := time.Now()
		r := e.Run(context.Background(), call(slow, `{"value":"a"}`))
		if r.Err == nil || r.Err.Code != sdk.TimedOut || r.Err.Message != `Tool "echo-value" timed out after 5000 ms.` || time.Since(start) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(start), r.Err)
		}
		if r.Content != nil || r.Events != nil {
			t.Errorf("a late result came through: %+v", r)
		}

		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan CallResult)
		safego.Go("player", func() { done <- e.Run(ctx, call(slow, `{"value":"b"}`)) })
		time.Sleep(time.Second)
		cancel()
		if r := <-done; r.Err == nil || r.Err.Code != sdk.Cancelled {
			t.Errorf("after the player's stop: %v", r.Err)
		}

		short, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if err := e.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close did not wait for callbacks: %v", err)
		}
		if r := e.Run(context.Background(), call(slow, `{"value":"c"}`)); r.Err == nil || r.Err.Code != sdk.Unavailable {
			t.Errorf("a closed executor took a call: %v", r.Err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if refused.Load() != 2 {
			t.Errorf("%d of 2 late writes were refused", refused.Load())
		}
	})
}

// Rule TP:508: the executor waits for the callback, takes a snapshot of its result, and accepts nothing after the end.
func TestAResultThatComesAfterTheEndIsNotAccepted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	made := tool(t, sdk.Tool{}, func(context.Context, echoArgs, *sdk.Runtime) (sdk.ToolResult, error) {
		cancel() // the player stops while the tool is at work
		return sdk.ToolResult{Content: "x"}, nil
	})
	var e Executor
	for range 2 { // the second time the context is over before the call begins
		if r := e.Run(ctx, call(made, `{"value":"a"}`)); r.Err == nil || r.Err.Code != sdk.Cancelled {
			t.Errorf("got %+v", r)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestResultsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		result sdk.ToolResult
		want   string // part of the message, "" for success
	}{
		"an interaction":              {sdk.ToolResult{Content: map[string]any{"interaction": Interaction{Type: ConfirmationInteraction, InteractionID: "c"}}}, ""},
		"a bad interaction":           {sdk.ToolResult{Content: map[string]any{"interaction": map[string]any{"type": "form"}}}, "its interaction is not valid: interactionId: is required"},
		"a ui block":                  {sdk.ToolResult{Content: shown{UI: []sdk.UIRender{{Parts: []sdk.UIPart{{ID: "a"}}}}}}, ""},
		"a ui block without parts":    {sdk.ToolResult{Content: map[string]any{"ui": []any{map[string]any{"layout": "stream"}}}}, "ui[0] has no parts"},
		"a ui block that is no block": {sdk.ToolResult{Content: map[string]any{"ui": []any{5}}}, "its ui blocks"},
		"content that is no JSON":     {sdk.ToolResult{Content: func() {}}, "its result is not JSON"},
		"a view that is no JSON":      {sdk.WithModelView("x", sdk.ModelView{Data: func() {}}), "its model view is not JSON"},
		"a proposal without payload":  {sdk.WithPendingProposals("x", []sdk.Proposal{{Type: "ui.render"}}), `proposal 0 ("ui.render") has no type or no JSON payload`},
	} {
		t.Run(name, func(t *testing.T) {
			made := tool(t, sdk.Tool{}, func(context.Context, echoArgs, *sdk.Runtime) (sdk.ToolResult, error) { return c.result, nil })
			r := run(t, call(made, `{"value":"a"}`))
			if c.want == "" {
				if r.Err != nil || r.Interaction == nil && r.UI == nil {
					t.Errorf("got %+v", r)
				}
				return
			}
			if r.Err == nil || r.Err.Code != sdk.Internal || !strings.Contains(r.Err.Message, c.want) {
				t.Errorf("got %v, want %q", r.Err, c.want)
			}
		})
	}
}

func TestSkippedAndEncodeArguments(t *testing.T) {
	r := Skipped("echo-value", `{"value":`, "The run was suspended.")
	if r.Envelope != `{"error":{"code":"cancelled","message":"The run was suspended."}}` || r.Arguments != `"{\"value\":"` {
		t.Errorf("%+v", r)
	}
	if text, err := EncodeArguments("x", map[string]any{"名": "<龙胆>"}); err != nil || text != `{"名":"<龙胆>"}` {
		t.Errorf("%s %v", text, err)
	}
	if text, err := EncodeArguments("x", nil); err != nil || text != "{}" {
		t.Errorf("%s %v", text, err)
	}
	if _, err := EncodeArguments("x", make(chan int)); err == nil || err.Code != sdk.InvalidInput {
		t.Errorf("%v", err)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"value":"a","items":"[{\"id\":\"b\"}"}`)
	f.Add(`{"value":"叫作"锁"的灯","meta":"{}"}`)
	f.Add(`{"value":"\u0000","count":1e400}`)
	made := sdk.MustDefine(sdk.Tool{Name: "echo-value", Description: "Echo."}, echo)
	var e Executor
	fits, err := e.compiled.Compile(made.Parameters)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, failure := readArguments("echo-value", fits, text)
		if failure == nil && fits.CheckJSON(args.JSON) != nil {
			t.Errorf("%q was read as %s, which does not fit", text, args.JSON)
		}
		if !json.Valid([]byte(HistoryArguments(text))) {
			t.Errorf("the history of %q is not JSON", text)
		}
	})
}

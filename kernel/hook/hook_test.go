package hook

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

func handle(context.Context, *sdk.HookContext, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// Rule REF plugins.md §15: pre → normal → post; inside a group framework hooks, then plugins in registration order.
func TestOrder(t *testing.T) {
	h := func(plugin string, enforce sdk.Enforce, event string) Handler {
		return Handler{PluginID: plugin, Hook: sdk.Hook{Event: sdk.HookEvent(event), Enforce: enforce, Handle: handle}}
	}
	in := []Handler{
		h("甲", "post", "TurnStart"), h("甲", "normal", "TurnStart"), h("甲", "pre", "TurnStart"), h("甲", "normal", "TurnStop"),
		h("b", "normal", "TurnStart"), h("b", "pre", "TurnStart"), h("", "normal", "TurnStart"), h("", "post", "TurnStart"), h("b", "normal", "TurnStart"),
	}
	var got []string
	for _, x := range Order(in)[sdk.OnTurnStart.Name] {
		got = append(got, string(x.Hook.Enforce)+":"+x.PluginID)
	}
	want := []string{"pre:甲", "pre:b", "normal:", "normal:甲", "normal:b", "normal:b", "post:", "post:甲"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Order(in)[sdk.OnTurnStop.Name]; len(got) != 1 {
		t.Errorf("TurnStop has %d handlers", len(got))
	}
	if Order(nil) != nil {
		t.Error("no handlers, no table")
	}
}

// Rule REF plugins.md §15: which events run side by side, and which can be intercepted.
func TestEveryEventHasItsRule(t *testing.T) {
	guards := []string{"TurnStart", "PreCompaction", "PreRuntime", "PreStep", "PreToolUse", "PreStateCommit"}
	parallel := []string{"SessionStart", "PostCompaction", "PostStateCommit", "TurnStop", "SessionEnd"}
	for _, e := range sdk.HookEvents {
		r, known := rules[e]
		if !known {
			t.Errorf("%s has no rule", e)
		}
		if r.Guard != slices.Contains(guards, string(e)) || r.Parallel != slices.Contains(parallel, string(e)) {
			t.Errorf("%s: guard %v, parallel %v", e, r.Guard, r.Parallel)
		}
		if r.Parallel && (r.Guard || r.replace != nil) {
			t.Errorf("%s runs side by side and can change something", e)
		}
	}
	if len(rules) != len(sdk.HookEvents) {
		t.Errorf("%d rules, %d events", len(rules), len(sdk.HookEvents))
	}
}

type step1 struct {
	answer string
	err    error
}

// play lets handlers answer one after another.
func play(event sdk.HookEvent, payload string, steps ...step1) (Outcome, []Report) {
	o := Outcome{Payload: json.RawMessage(payload)}
	var reports []Report
	for _, s := range steps {
		if o.Aborted {
			break
		}
		var r Report
		o, r = Take(event, o, Handler{PluginID: "warden"}, json.RawMessage(s.answer), s.err)
		reports = append(reports, r)
	}
	return o, reports
}

func TestAnswers(t *testing.T) {
	const call = `{"toolCall":{"id":"c1","name":"give","arguments":"{\"a\":1}"}}`
	for name, c := range map[string]struct {
		event   sdk.HookEvent
		payload string
		steps   []step1
		want    string // payload, "" for as it was
		kinds   []Kind
		aborted string
	}{
		// Rule REF plugins.md §15: nothing or {action: continue} changes nothing.
		"nothing":       {"PreToolUse", call, []step1{{"", nil}, {"null", nil}, {"{}", nil}, {`{"action":"continue"}`, nil}}, "", []Kind{Fired, Fired, Fired, Fired}, ""},
		"replaced null": {"PreToolUse", call, []step1{{`{"action":"continue","replace":null}`, nil}}, "", []Kind{Fired}, ""},
		// Rule REF plugins.md §15: {continue, replace} merges the listed fields and passes them on.
		"one after another": {"PreToolUse", call, []step1{{`{"replace":{"toolCall":{"name":"递给"}}}`, nil}, {`{"replace":{"toolCall":{"arguments":"{}"}}}`, nil}},
			`{"toolCall":{"id":"c1","name":"递给","arguments":"{}"}}`, []Kind{Rewrote, Rewrote}, ""},
		"the id stays": {"PreToolUse", call, []step1{{`{"replace":{"toolCall":{"id":"c2","name":"take"}}}`, nil}}, `{"toolCall":{"id":"c1","name":"take","arguments":"{\"a\":1}"}}`, []Kind{Rewrote}, ""},
		"nothing new":  {"PreToolUse", call, []step1{{`{"replace":{"toolCall":{"name":"give"}}}`, nil}}, "", []Kind{Fired}, ""},
		"replace with bad": {"PostToolUse", `{"toolCall":{"id":"c","name":"n","arguments":""},"result":{"data":1}}`, []step1{{`{"replace":{"result":{"data":2}}}`, nil}, {`{"replace":{"result":5}}`, nil}, {"", errors.New("boom")}},
			// Rule REF plugins.md §15: elsewhere a failure is skipped and earlier replacements are kept.
			`{"toolCall":{"id":"c","name":"n","arguments":""},"result":{"data":2}}`, []Kind{Rewrote, Errored, Errored}, ""},
		// Rule EP:225: on an event that can be intercepted, a handler that fails counts as a rejection.
		"a guard that fails":           {"PreToolUse", call, []step1{{"", errors.New("boom")}, {"", nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"a guard that answers garbage": {"PreToolUse", call, []step1{{`{"action":"maybe"}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"an unknown key":               {"PreToolUse", call, []step1{{`{"abort":true}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"an unknown field":             {"PreToolUse", call, []step1{{`{"replace":{"tool":1}}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"an empty name":                {"PreToolUse", call, []step1{{`{"replace":{"toolCall":{"name":" "}}}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"no JSON":                      {"PreToolUse", call, []step1{{`abort`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"two answers":                  {"PreToolUse", call, []step1{{`{} {"action":"abort"}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		"too long":                     {"PreToolUse", call, []step1{{`{"reason":"` + strings.Repeat("x", MaxAnswer) + `"}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden failed"},
		// Rule REF plugins.md §15: {abort, reason} stops on guard events and changes nothing elsewhere.
		"an abort":           {"PreToolUse", call, []step1{{`{"action":"abort","reason":"骰子不符"}`, nil}, {`{"replace":{"toolCall":{"name":"x"}}}`, nil}}, "", []Kind{Aborted}, "骰子不符"},
		"without a reason":   {"PreToolUse", call, []step1{{`{"action":"abort"}`, nil}}, "", []Kind{Aborted}, "the PreToolUse hook of warden refused"},
		"an abort elsewhere": {"PostToolUse", `{"toolCall":{"id":"c","name":"n","arguments":""},"result":{}}`, []step1{{`{"action":"abort","reason":"no"}`, nil}}, "", []Kind{Fired}, ""},
		// Rule REF plugins.md §15: PreRuntime: replace ignored.
		"a replace nobody takes": {"PreRuntime", `{"manifest":{"name":"a"},"input":{}}`, []step1{{`{"replace":{"input":{"x":1}}}`, nil}}, "", []Kind{Fired}, ""},
		// Rule REF plugins.md §15: PreSchedule narrows and reorders by name; it cannot add or edit.
		"a narrower schedule": {"PreSchedule", `{"triggered":[{"name":"a","pluginId":"p","type":"agent"},{"name":"b","pluginId":"p","type":"agent"},{"name":"c","pluginId":"p","type":"agent"}]}`,
			[]step1{{`{"replace":{"triggered":["c","ghost","a","c"]}}`, nil}, {`{"replace":{"triggered":[{"name":"a","pluginId":"other"},{"name":"b"}]}}`, nil}},
			`{"triggered":[{"name":"a","pluginId":"p","type":"agent"}]}`, []Kind{Rewrote, Rewrote}, ""},
		"an empty schedule":  {"PreSchedule", `{"triggered":[{"name":"a","pluginId":"p","type":"agent"}]}`, []step1{{`{"replace":{"triggered":[]}}`, nil}}, `{"triggered":[]}`, []Kind{Rewrote}, ""},
		"a schedule of what": {"PreSchedule", `{"triggered":[{"name":"a","pluginId":"p","type":"agent"}]}`, []step1{{`{"replace":{"triggered":[5]}}`, nil}}, "", []Kind{Errored}, ""},
		// Rule REF plugins.md §15: PostContextAssembly replaces systemPrompt and messages only.
		"a context": {"PostContextAssembly", `{"frameworkHead":"H","systemPrompt":"s","messages":[{"role":"user","content":"嗨"}]}`,
			[]step1{{`{"replace":{"systemPrompt":"t"}}`, nil}, {`{"replace":{"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}}`, nil}, {`{"replace":{"frameworkHead":"evil"}}`, nil}},
			`{"frameworkHead":"H","systemPrompt":"t","messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}`, []Kind{Rewrote, Rewrote, Errored}, ""},
		"messages no provider takes": {"PostContextAssembly", `{"frameworkHead":"H","systemPrompt":"s","messages":[{"role":"user","content":"a"}]}`,
			[]step1{{`{"replace":{"messages":[]}}`, nil}, {`{"replace":{"messages":[{"role":"assistant","content":"b"}]}}`, nil}, {`{"replace":{"messages":[{"role":"god","content":"b"}]}}`, nil}, {`{"replace":{"messages":[{"role":"tool","content":"b"}]}}`, nil}},
			"", []Kind{Errored, Errored, Errored, Errored}, ""},
		// Rule TP:566: PreStep can narrow a step's tools, change its tool choice and lower the steps left.
		"a narrower step": {"PreStep", `{"step":1,"stepsLeft":5,"tools":["a","b"]}`, []step1{{`{"replace":{"tools":["b","c"],"toolChoice":"b","stepsLeft":9}}`, nil}, {`{"replace":{"stepsLeft":2}}`, nil}},
			`{"step":1,"stepsLeft":2,"tools":["b"],"toolChoice":"b"}`, []Kind{Rewrote, Rewrote}, ""},
		"a choice that is off": {"PreStep", `{"step":1,"stepsLeft":5,"tools":["a","b"]}`, []step1{{`{"replace":{"tools":["a"],"toolChoice":"b","stepsLeft":-3}}`, nil}}, `{"step":1,"stepsLeft":0,"tools":["a"]}`, []Kind{Rewrote}, ""},
		// Rule TP:566: PreStep can end the loop.
		"the end of a loop": {"PreStep", `{"step":1,"stepsLeft":5,"tools":[]}`, []step1{{`{"action":"abort","reason":"够了"}`, nil}}, "", []Kind{Aborted}, "够了"},
		// Rule TP:549: PreLLMCall can turn streaming off for one call with replace.stream: false; it cannot turn it on.
		"no stream":     {"PreLLMCall", `{"messages":[{"role":"user"}],"model":"story","tools":["a","b"],"stream":true}`, []step1{{`{"replace":{"stream":false}}`, nil}, {`{"replace":{"stream":true}}`, nil}}, `{"messages":[{"role":"user"}],"model":"story","tools":["a","b"],"stream":false}`, []Kind{Rewrote, Fired}, ""},
		"another model": {"PreLLMCall", `{"messages":[{"role":"user"}],"model":"story","tools":["a","b"],"stream":false}`, []step1{{`{"replace":{"model":"fast","tools":["b","x"]}}`, nil}, {`{"replace":{"model":""}}`, nil}}, `{"messages":[{"role":"user"}],"model":"fast","tools":["b"],"stream":false}`, []Kind{Rewrote, Errored}, ""},
		"segments":      {"PreLLMCall", `{"messages":[{"role":"user"}],"model":"story","tools":[],"stream":false,"promptSegments":["x"]}`, []step1{{`{"replace":{"promptSegments":["雨"]}}`, nil}, {`{"replace":{"promptSegments":5}}`, nil}}, `{"messages":[{"role":"user"}],"model":"story","tools":[],"stream":false,"promptSegments":["雨"]}`, []Kind{Rewrote, Errored}, ""},
		// Rule REF plugins.md §15: PostRuntime replaces the result; ids and suspension fields are kept.
		"a result": {"PostRuntime", `{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"success"}}`, []step1{{`{"replace":{"result":{"runtimeId":"x","pluginId":"x","runId":"x","status":"failed","error":"no","suspended":true}}}`, nil}},
			`{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"failed","error":"no"}}`, []Kind{Rewrote}, ""},
		"a suspended result": {"PostRuntime", `{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"suspended","suspended":true}}`, []step1{{`{"replace":{"result":{"status":"success","output":{"a":1}}}}`, nil}},
			`{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"suspended","output":{"a":1},"suspended":true}}`, []Kind{Rewrote}, ""},
		"a status": {"PostRuntime", `{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"success"}}`, []step1{{`{"replace":{"result":{"status":"suspended"}}}`, nil}}, "", []Kind{Errored}, ""},
		// Rule REF plugins.md §15: PreStateCommit replaces the payload only.
		"a payload":        {"PreStateCommit", `{"proposal":{"type":"message.append","payload":{"content":"a"}}}`, []step1{{`{"replace":{"proposal":{"type":"lorebook.upsert","payload":{"content":"b"}}}}`, nil}}, `{"proposal":{"type":"message.append","payload":{"content":"b"}}}`, []Kind{Rewrote}, ""},
		"no object":        {"PreStateCommit", `{"proposal":{"type":"message.append","payload":{"content":"a"}}}`, []step1{{`{"replace":{"proposal":{"payload":[1]}}}`, nil}}, "", []Kind{Aborted}, "the PreStateCommit hook of warden failed"},
		"markup stays":     {"PreStateCommit", `{"proposal":{"type":"message.append","payload":{"content":"a"}}}`, []step1{{`{"replace":{"proposal":{"payload":{"content":"<b>&"}}}}`, nil}}, `{"proposal":{"type":"message.append","payload":{"content":"<b>&"}}}`, []Kind{Rewrote}, ""},
		"watching is free": {"TurnStop", `{"runtimeResults":[],"durationMs":1}`, []step1{{`{"action":"abort"}`, nil}, {`{"replace":{"durationMs":5}}`, nil}, {"", errors.New("boom")}}, "", []Kind{Fired, Fired, Errored}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, reports := play(c.event, c.payload, c.steps...)
			want := c.want
			if want == "" {
				want = c.payload
			}
			if string(o.Payload) != want {
				t.Errorf("payload\n got %s\nwant %s", o.Payload, want)
			}
			if o.Rewrote != (c.want != "") {
				t.Errorf("rewrote %v", o.Rewrote)
			}
			var kinds []Kind
			for _, r := range reports {
				kinds = append(kinds, r.Kind)
				if (r.Kind == Errored) && r.Error == "" || r.Kind == Rewrote && r.Diff == nil {
					t.Errorf("a report that tells nothing: %+v", r)
				}
			}
			if !slices.Equal(kinds, c.kinds) {
				t.Errorf("kinds %v, want %v (%+v)", kinds, c.kinds, reports)
			}
			if o.Aborted != (c.aborted != "") || o.Reason != c.aborted {
				t.Errorf("aborted %v: %q, want %q", o.Aborted, o.Reason, c.aborted)
			}
			if o.Aborted && o.By != "warden" {
				t.Errorf("by %q", o.By)
			}
		})
	}
}

// Rule TP:547: a plugin can reject the draft in PostLLMResponse and give a correction request.
func TestCorrectionsAreJoined(t *testing.T) {
	const payload = `{"response":{"text":"a","finishReason":"stop"},"messages":[]}`
	o, reports := play("PostLLMResponse", payload, step1{`{"replace":{"correction":"用第二人称"}}`, nil}, step1{`{"replace":{"correction":" keep it short ","response":{"text":"b","finishReason":"length"}}}`, nil}, step1{`{"replace":{"response":{"text":"c","toolCalls":[{"id":"1"}]}}}`, nil})
	if o.Rejected != "用第二人称\n\nkeep it short" {
		t.Errorf("correction %q", o.Rejected)
	}
	if string(o.Payload) != `{"response":{"text":"b","finishReason":"stop"},"messages":[]}` {
		t.Errorf("payload %s", o.Payload)
	}
	if reports[0].Kind != Rewrote || reports[2].Kind != Errored {
		t.Errorf("%+v", reports)
	}
}

// Rule REF plugins.md §15: PostToolUse with terminate: true ends the loop.
func TestTerminate(t *testing.T) {
	o, _ := play("PostToolUse", `{"toolCall":{"id":"c","name":"n","arguments":""},"result":{}}`, step1{`{"replace":{"terminate":true}}`, nil}, step1{`{"replace":{"terminate":false}}`, nil})
	if !o.End || o.Aborted {
		t.Errorf("%+v", o)
	}
}

// Whatever plugins answer: nothing panics, payloads stay JSON that the event's type can read, and after an abort nothing moves.
func TestAnyAnswer(t *testing.T) {
	payloads := map[sdk.HookEvent]string{
		"PreToolUse": `{"toolCall":{"id":"c","name":"n","arguments":"{}"}}`, "PreStep": `{"step":1,"stepsLeft":3,"tools":["a","b"]}`,
		"PreSchedule": `{"triggered":[{"name":"a","pluginId":"p","type":"agent"}]}`, "PostRuntime": `{"result":{"runtimeId":"r","pluginId":"p","runId":"1","status":"success"}}`,
		"PreStateCommit": `{"proposal":{"type":"t","payload":{}}}`, "TurnStop": `{"runtimeResults":[],"durationMs":1}`,
	}
	names := []sdk.HookEvent{"PreToolUse", "PreStep", "PreSchedule", "PostRuntime", "PreStateCommit", "TurnStop"}
	parts := []string{`{`, `}`, `"action"`, `:`, `"abort"`, `"continue"`, `,`, `"replace"`, `null`, `"toolCall"`, `"result"`, `"proposal"`, `"payload"`, `"tools"`, `["a"]`, `"stepsLeft"`, `1`, `"triggered"`, `"status"`, `"failed"`, `"原因"`}
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(names).Draw(t, "event")
		o := Outcome{Payload: json.RawMessage(payloads[event])}
		for range rapid.IntRange(1, 4).Draw(t, "answers") {
			answer := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 14).Draw(t, "answer"), "")
			next, r := Take(event, o, Handler{PluginID: "p"}, json.RawMessage(answer), nil)
			if !json.Valid(next.Payload) || r.Kind == "" {
				t.Fatalf("%s: %q gave %s (%v)", event, answer, next.Payload, r.Kind)
			}
			if (next.Aborted || r.Kind != Rewrote) && string(next.Payload) != string(o.Payload) {
				t.Fatalf("%s: %q changed the payload and reported %s", event, answer, r.Kind)
			}
			if next.Aborted && !RuleOf(event).Guard {
				t.Fatalf("%s: %q aborted what cannot be intercepted", event, answer)
			}
			if o = next; o.Aborted {
				break
			}
		}
	})
}

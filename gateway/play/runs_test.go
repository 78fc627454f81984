package play

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// painter draws every page when it has ink, and on demand: a sketch at once, a fresco in the background.
type painter struct{ dry atomic.Bool }

func (p *painter) source() registry.Source {
	manifest := "---\ntype: function\nfunction: { handler: paint }\n"
	return registry.Bundled("painter", sdk.Package{
		FS: fstest.MapFS{
			"PLUGIN.md":                  {Data: []byte("---\nid: painter\nkind: core\nversion: 1.0.0\ndescription: Paints.\nprovides: [brush@1]\ncontracts: { brush@1: { schema: any.json } }\ncontributes:\n  actionKinds:\n    - { name: pose, description: 摆姿势。, roles: [player], text: optional, fields: pose.json }\n---\n")},
			"pose.json":                  {Data: []byte(`{"type":"object","required":["steps"],"properties":{"steps":{"type":"integer"}},"additionalProperties":false}`)},
			"any.json":                   {Data: []byte(`{"type":"object"}`)},
			"sketch.json":                {Data: []byte(`{"type":"object","required":["of"],"properties":{"of":{"type":"string"}}}`)},
			"runtimes/page/RUNTIME.md":   {Data: []byte(manifest + "description: Draws the page.\nschedule: { stage: post-turn }\n---\n")},
			"runtimes/sketch/RUNTIME.md": {Data: []byte(manifest + "description: Draws.\nschedule: { trigger: manual }\nio: { payloadSchema: sketch.json }\n---\n")},
			"runtimes/fresco/RUNTIME.md": {Data: []byte(manifest + "description: Draws long.\nschedule: { trigger: manual, background: true }\n---\n")},
			"runtimes/secret/RUNTIME.md": {Data: []byte(manifest + "description: Draws in secret.\nschedule: { trigger: manual }\nio: { concealed: true }\n---\n")},
			"runtimes/watch/RUNTIME.md":  {Data: []byte("---\ntype: function\nfunction: { handler: watch }\ndescription: Watches who poses.\nschedule: { stage: post-turn }\n---\n")},
			"runtimes/brush/RUNTIME.md":  {Data: []byte("---\ntype: agent\ndescription: Helps.\nschedule: { subagentOnly: true }\nio: { output: { contract: brush@1 } }\n---\nHelp.\n")},
		},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("watch", func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				if len(rt.PlayerActions) == 0 || rt.PlayerActions[0].Kind != "painter/pose" {
					return sdk.Result{Outcome: sdk.Success}, nil
				}
				out := sdk.Result{Outcome: sdk.Success}
				if rt.PlayerActions[0].Interaction == nil {
					out.Effects.Interactions = []map[string]any{{
						"type": "form", "interactionId": "再来", "title": "多久？", "submitLabel": "好", "narrativeTemplate": "我站{{n}}步。", "actionKind": "painter/pose",
						"fields": []any{map[string]any{"type": "number", "name": "n", "label": "数"}},
					}}
				}
				by, _ := sdk.ActingCharacterOf(rt.PlayerActions, rt.World.Characters, rt.World.Seats)
				primary, _ := sdk.ActingCharacterOf(nil, rt.World.Characters, rt.World.Seats)
				return out, rt.PluginData.Set("poses", "last", map[string]any{"action": rt.PlayerActions[0], "by": by.Name, "primary": primary.Name, "seats": len(rt.World.Seats)})
			})
			c.RegisterHandler("paint", func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				if p.dry.Load() {
					return sdk.Result{Outcome: sdk.Failed, Error: "墨水用完了"}, nil
				}
				if strings.Contains(string(rt.Activation), "白纸") {
					return sdk.Result{Outcome: sdk.Success, Value: "一张白纸"}, nil
				}
				out := sdk.Result{Outcome: sdk.Success, Value: map[string]any{"picture": json.RawMessage(orEmpty(rt.Activation))}}
				out.Effects.Narrative = "画好了。"
				return out, nil
			})
		},
	})
}

// runOf finds what a runtime gave in an answer.
func runOf(reply map[string]any, runtimeID string) map[string]any {
	list, _ := reply["runtimeResults"].([]any)
	for _, x := range list {
		if r := x.(map[string]any); r["runtimeId"] == runtimeID {
			return r
		}
	}
	return nil
}

// A runtime by its name, over plugin-rpc and as a command.
func TestRunsByNameOverHTTP(t *testing.T) {
	p := &painter{}
	s := open(t, game(), p.source())
	a := asked{site: s, id: s.played("zh-CN")}
	turns := a.want("GET", "", "", 200, "")["completedPlayerTurns"]

	got := a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/sketch","pluginId":"painter","payload":{"of":"门"},"requestId":"s1"}`, 200, "")
	r := runOf(got, "painter/sketch")
	b, _ := json.Marshal(r["output"])
	if got["status"] != "ok" || got["turnId"] == "" || r["status"] != "success" || !strings.Contains(string(b), `{"picture":{"of":"门"}}`) {
		t.Errorf("a run by name: %v", got)
	}
	// Rule REF:plugins.md §8: for display a value that is no object stands under value.
	r = runOf(a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/sketch","payload":{"of":"白纸"}}`, 200, ""), "painter/sketch")
	if b, _ := json.Marshal(r["output"]); string(b) != `{"value":"一张白纸"}` {
		t.Errorf("a plain value is shown as %s", b)
	}
	// Rule DESIGN §10: a repeated requestId gets the first outcome.
	before := s.version(a.id)
	if again := a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/sketch","payload":{"of":"门"},"requestId":"s1"}`, 200, ""); again["turnId"] != got["turnId"] || runOf(again, "painter/sketch") == nil || s.version(a.id) != before {
		t.Errorf("the same request again: %v", again)
	}
	if r := runOf(a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/secret"}`, 200, ""), "painter/secret"); r["concealed"] != true || r["output"] != nil {
		t.Errorf("a concealed run: %v", r)
	}
	if got := a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/fresco"}`, http.StatusAccepted, ""); got["pending"] != true || got["jobId"] == "" || got["runtimeId"] != "painter/fresco" {
		t.Errorf("in the background: %v", got)
	}
	watcher := s.node.Join(a.id)
	watcher.Until("the fresco is done", func() bool {
		return len(watcher.View.State.Jobs) > 0 && watcher.View.State.Jobs[0].Status == "succeeded"
	})
	watcher.Leave()
	var types []string
	for _, e := range s.act(a.id, "two", "run_runtimes", `{"runtimes":[{"runtimeId":"painter/page"},{"runtimeId":"painter/sketch","payload":{"of":"窗"}}]}`) {
		types = append(types, e["type"].(string))
		if payload, _ := e["payload"].(map[string]any); e["type"] == "actions.accepted" && payload["message"] != nil {
			t.Errorf("a player's line: %v", payload)
		}
	}
	if got := strings.Join(types, " "); !strings.Contains(got, "execution.started") || !strings.HasSuffix(got, "execution.completed") || strings.Count(got, "message.appended") != 2 {
		t.Errorf("as a command: %s", got)
	}

	p.dry.Store(true)
	failed := a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/page"}`, http.StatusInternalServerError, "runtime_execution_failed")
	details := failed["details"].(map[string]any)
	if details["turnId"] == "" || runOf(details, "painter/page")["error"] != "墨水用完了" {
		t.Errorf("a failed run: %v", failed)
	}
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		fields     string
	}{
		{"another kind", `{"kind":"tool","runtimeId":"painter/page"}`, 400, "invalid_action_request", "kind"},
		{"no runtime", `{"kind":"runtime"}`, 400, "invalid_action_request", "runtimeId"},
		{"another plugin", `{"kind":"runtime","runtimeId":"painter/page","pluginId":"narrator"}`, 400, "plugin_mismatch", ""},
		{"none of that name", `{"kind":"runtime","runtimeId":"painter/画"}`, 404, "runtime_not_active", ""},
		{"a sub-agent", `{"kind":"runtime","runtimeId":"painter/brush"}`, 404, "runtime_not_active", ""},
		{"a payload that does not fit", `{"kind":"runtime","runtimeId":"painter/sketch","payload":{"of":7}}`, 400, "invalid_payload", ""},
		{"no payload", `{"kind":"runtime","runtimeId":"painter/sketch"}`, 400, "invalid_payload", ""},
		{"a field too many", `{"kind":"runtime","runtimeId":"painter/page","as":"host"}`, 400, "invalid_action_request", "body"},
		{"a request id that is none", `{"kind":"runtime","runtimeId":"painter/page","requestId":"一"}`, 400, "invalid_action_request", "requestId"},
		{"another body", `{"kind":"runtime","runtimeId":"painter/sketch","payload":{"of":"窗"},"requestId":"s1"}`, 409, "request_id_conflict", ""},
	} {
		before := s.version(a.id)
		reply := a.want("POST", "/plugin-rpc", c.body, c.status, c.code)
		if fields(reply) != c.fields || s.version(a.id) != before {
			t.Errorf("%s: %v, or something was written", c.name, reply)
		}
	}
	// Rule TP:178: a run by name is no player turn.
	if got := a.want("GET", "", "", 200, "")["completedPlayerTurns"]; got != turns {
		t.Errorf("%v turns, want %v", got, turns)
	}
}

// What failed in a turn is tried again: its row belongs to the story it comes late for, in frames and after a restore.
func TestRetryOverHTTP(t *testing.T) {
	p := &painter{}
	s := open(t, game(), p.source())
	a := asked{site: s, id: s.played("zh-CN")}
	p.dry.Store(true)
	events := s.act(a.id, "line", "submit_actions", `{"actions":[{"text":"我看画。"}]}`)
	var turn, story string
	for _, e := range events {
		payload, _ := e["payload"].(map[string]any)
		switch e["type"] {
		case "narrative.completed":
			turn, story = e["turnId"].(string), payload["message"].(map[string]any)["id"].(string)
		}
	}
	turns := a.want("GET", "", "", 200, "")["completedPlayerTurns"]
	retry := `{"retryFromTurnId":"` + turn + `","runtimeIds":["painter/page"]`
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		fields     string
	}{
		{"no turn", `{"runtimeIds":["painter/page"]}`, 400, "invalid_action_request", "retryFromTurnId"},
		{"no runtime", `{"retryFromTurnId":"` + turn + `","runtimeIds":[]}`, 400, "invalid_action_request", ""},
		{"a runtime without a name", `{"retryFromTurnId":"` + turn + `","runtimeIds":[""]}`, 400, "invalid_action_request", "payload.runtimes"},
		{"one twice", `{"retryFromTurnId":"` + turn + `","runtimeIds":["painter/page","painter/page"]}`, 400, "invalid_action_request", ""},
		{"no such turn", `{"retryFromTurnId":"哪里","runtimeIds":["painter/page"]}`, 404, "retry_turn_not_found", ""},
		// Rule REF api-and-protocol.md §2.5: only what failed in the turn is tried again.
		{"what did not fail", `{"retryFromTurnId":"` + turn + `","runtimeIds":["painter/page","narrator"]}`, 409, "runtime_not_failed", ""},
	} {
		before := s.version(a.id)
		if reply := a.want("POST", "/retry-runtimes", c.body, c.status, c.code); fields(reply) != c.fields || s.version(a.id) != before {
			t.Errorf("%s: %v, or something was written", c.name, reply)
		}
	}
	if still := a.want("POST", "/retry-runtimes", retry+`}`, 200, ""); runOf(still, "painter/page")["status"] != "failed" {
		t.Errorf("tried again in vain: %v", still)
	}
	watcher := s.dial(a.id)
	watcher.send(`{"type":"hello"}`)
	watcher.next()
	p.dry.Store(false)
	got := a.want("POST", "/retry-runtimes", retry+`,"requestId":"again"}`, 200, "")
	if r := runOf(got, "painter/page"); r["status"] != "success" || got["turnId"] == turn {
		t.Fatalf("tried again: %v", got)
	}
	// Rule TP:326: a retry has an execution of its own, and names the turn it comes back to; what has still failed there is told.
	started := eventIn(watcher.until(holdsEvent("execution.started")), "execution.started")
	if payload := started["payload"].(map[string]any); payload["sourceTurnId"] != turn || payload["executionId"] == turn || payload["sourceCommitted"] != true {
		t.Errorf("its beginning: %v", payload)
	}
	// Rule TP:330: what a retry says is linked to the story of the original turn; a restore follows the same rule.
	appended := eventIn(watcher.until(holdsEvent("message.appended")), "message.appended")["payload"].(map[string]any)["message"].(map[string]any)
	if appended["sourceTurnId"] != turn || appended["anchorId"] != story || appended["text"] != "画好了。" {
		t.Errorf("its row: %v", appended)
	}
	messages := a.want("GET", "/view", "", 200, "")["messages"].([]any)
	last := messages[len(messages)-1].(map[string]any)
	if last["id"] != appended["id"] || last["sourceTurnId"] != turn || last["anchorId"] != story {
		t.Errorf("restored: %v", last)
	}
	before := s.version(a.id)
	a.want("POST", "/retry-runtimes", retry+`}`, 409, "runtime_not_failed")
	if again := a.want("POST", "/retry-runtimes", retry+`,"requestId":"again"}`, 200, ""); again["turnId"] != got["turnId"] || s.version(a.id) != before {
		t.Errorf("the same request again: %v", again)
	}
	// Rule TP:329: a retry rewrites no story and counts no turn.
	if n := a.want("GET", "", "", 200, "")["completedPlayerTurns"]; n != turns {
		t.Errorf("%v turns, want %v", n, turns)
	}
	s.act(a.id, "on", "submit_actions", `{"actions":[{"text":"走。"}]}`)
	a.want("POST", "/retry-runtimes", retry+`}`, 409, "retry_source_superseded")
	a.want("POST", "/plugin-rpc", `{"kind":"runtime","runtimeId":"painter/page","retryFromTurnId":"`+turn+`"}`, 409, "retry_source_superseded")
}

// eventIn is the first event of a type in a frame.
func eventIn(frame map[string]any, typ string) map[string]any {
	for _, e := range frame["events"].([]any) {
		if e := e.(map[string]any); e["type"] == typ {
			return e
		}
	}
	return nil
}

// A plugin's kind of action over HTTP.
func TestAPluginsKindOverHTTP(t *testing.T) {
	s := open(t, game(), (&painter{}).source())
	a := asked{site: s, id: s.played("zh-CN")}
	asks := 0
	say := func(action string) (int, map[string]any) {
		asks++
		return s.call("POST", "/api/actions", `{"requestId":"k`+strconv.Itoa(asks)+`","type":"submit_actions","sessionId":"`+a.id+`","payload":{"actions":[`+action+`]}}`)
	}
	added := a.want("POST", "/seats", `{"name":"主持","role":"host","control":"human"}`, http.StatusCreated, "")
	host := added["seat"].(map[string]any)["id"].(string)
	if added["invite"] != nil {
		t.Errorf("an invite to a seat that is not open: %v", added)
	}
	// Rule TP:471: the session has the kind, the seat's role may use it, and the fields follow its rules.
	for action, field := range map[string]string{
		`{"kind":"painter/sing","text":"啦"}`:                                   "actions[0].kind",
		`{"kind":"painter/pose"}`:                                              "actions[0].fields",
		`{"kind":"painter/pose","fields":{"steps":"三"}}`:                       "actions[0].fields.steps",
		`{"kind":"painter/pose","fields":{"steps":3},"seatId":"` + host + `"}`: "actions[0].kind",
	} {
		if status, reply := say(action); status != 400 || reply["code"] != "invalid_action" || !strings.HasPrefix(fields(reply), field) {
			t.Errorf("%s: %d %v", action, status, reply)
		}
	}
	if status, reply := say(`{"kind":"painter/pose","text":"我站好。","fields":{"steps":3}}`); status != 200 {
		t.Fatalf("a pose: %d %v", status, reply)
	}
	view := a.want("GET", "/view", "", 200, "")
	// Rule TP:474: function runtimes read the actions from ctx.playerActions; Rule EP:80–81: the world they see has the
	// session's seats, by which the acting character is found.
	pose, _ := json.Marshal(view["pluginData"].(map[string]any)["painter"].(map[string]any)["poses"].(map[string]any)["last"])
	for _, part := range []string{`"kind":"painter/pose"`, `"text":"我站好。"`, `"steps":3`, `"source":"player"`, `"seatId":"seat-1"`, `"by":"陆青云"`, `"primary":"陆青云"`, `"seats":2`} {
		if !strings.Contains(string(pose), part) {
			t.Errorf("%s is not in %s", part, pose)
		}
	}
	// Rule TL:302: an answer is refused as another kind than its form's, and from a seat whose role may not use that kind.
	var question map[string]any
	for _, x := range view["messages"].([]any) {
		list, _ := x.(map[string]any)["interactions"].([]any)
		for _, q := range list {
			if q := q.(map[string]any); q["interactionId"] == "再来" {
				question = q
			}
		}
	}
	reference, _ := json.Marshal(map[string]any{"turnId": question["turnId"], "interactionId": "再来", "type": "form"})
	reply := func(more string) string {
		return `{"interaction":` + string(reference) + `,"fields":{"n":"7"}` + more + `}`
	}
	for _, more := range []string{`,"kind":"say"`, `,"kind":"act"`, `,"seatId":"` + host + `"`} {
		before := s.version(a.id)
		if status, body := say(reply(more)); status != 400 || body["code"] != "invalid_action" || s.version(a.id) != before {
			t.Errorf("answered with %s: %d %v", more, status, body)
		}
	}
	if status, body := say(reply("")); status != 200 {
		t.Fatalf("the answer: %d %v", status, body)
	}
	// Rule TP:472: an answer is filled in with its narrative text, and with the kind of its form.
	pose, _ = json.Marshal(a.want("GET", "/view", "", 200, "")["pluginData"])
	if !strings.Contains(string(pose), "我站7步。") || !strings.Contains(string(pose), `"kind":"painter/pose"`) {
		t.Errorf("the answer as the plugin reads it: %s", pose)
	}
	// Rule TP:473: the model reads an action of a plugin's kind with the name of who acts and of the kind.
	p := s.node.Join(a.id)
	defer p.Leave()
	for i := range p.View.State.History.Len() {
		if m := p.View.State.History.At(i); len(m.Actions) > 0 && m.Actions[0].Kind == "painter/pose" {
			if !strings.HasPrefix(m.Text, "[陆青云 · ") || !strings.HasSuffix(m.Text, "我站好。") {
				t.Errorf("the model reads %q", m.Text)
			}
			// Rule TP:474: the row keeps the raw text and the action.
			messages, _ := json.Marshal(a.want("GET", "/view", "", 200, "")["messages"])
			if !strings.Contains(string(messages), `"text":"我站好。"`) || !strings.Contains(string(messages), `"kind":"painter/pose"`) {
				t.Errorf("the row: %s", messages)
			}
			return
		}
	}
	t.Error("the history has no such action")
}

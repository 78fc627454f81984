package play

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// asked makes requests of one session, as one who shows a token or as its owner.
type asked struct {
	*site
	id    string
	token string
}

func (a asked) as(token string) asked { a.token = token; return a }

// want asks, and gives the answer when its status and code are those.
func (a asked) want(method, path, body string, status int, code string) map[string]any {
	a.t.Helper()
	var header []string
	if a.token != "" {
		header = []string{"Authorization", "Bearer " + a.token}
	}
	got, reply := a.call(method, "/api/sessions/"+a.id+path, body, header...)
	if have, _ := reply["code"].(string); got != status || have != code {
		a.t.Fatalf("%s %s %s: %d %v, want %d %q", method, path, body, got, reply, status, code)
	}
	return reply
}

// fields names what the issues of a refusal are about.
func fields(reply map[string]any) string {
	var out []string
	details, _ := reply["details"].(map[string]any)
	issues, _ := details["issues"].([]any)
	for _, i := range issues {
		out = append(out, i.(map[string]any)["field"].(string))
	}
	return strings.Join(out, " ")
}

// everything is all that is stored of a session or shown of it to anybody.
func (a asked) everything() string {
	a.t.Helper()
	var out strings.Builder
	for r, err := range a.store.ReadStream(context.Background(), "session-"+a.id, 1) {
		if err != nil {
			a.t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s %v\n", r.Type, r.Data, r.Metadata)
	}
	for _, path := range []string{"", "/view", "/seats", "/messages", "/trace"} {
		_, reply := a.call("GET", "/api/sessions/"+a.id+path, "")
		b, _ := json.Marshal(reply)
		out.Write(b)
	}
	return out.String()
}

// Rule DEC Seats, roles, gathering: an invite is a one-time token that takes an open seat and yields a seat token; the owner
// renames, hands over, frees and removes seats. The owner's rights come from no role: whoever shows a seat token has none of
// them.
func TestSeatsOverHTTP(t *testing.T) {
	s := open(t, game())
	a := asked{site: s, id: s.played("zh-CN")}
	watcher := s.dial(a.id)
	watcher.send(`{"type":"hello"}`)
	watcher.next()
	seatOf := func(reply map[string]any) map[string]any { return reply["seat"].(map[string]any) }
	standing := func(id string) string {
		for _, x := range a.want("GET", "/seats", "", 200, "")["items"].([]any) {
			if seat := x.(map[string]any); seat["id"] == id {
				return fmt.Sprint(seat["name"], " ", seat["control"], " invited:", seat["invited"], " held:", seat["held"])
			}
		}
		return "gone"
	}

	added := a.want("POST", "/seats", `{"name":"龙胆"}`, http.StatusCreated, "")
	invite, id := added["invite"].(string), seatOf(added)["id"].(string)
	path := "/seats/" + id
	if got := standing(id); got != "龙胆 open invited:true held:false" {
		t.Errorf("added: %s", got)
	}
	if list, ok := seatOf(added)["characterIds"].([]any); !ok || len(list) != 0 {
		t.Errorf("a seat without characters: %v", seatOf(added))
	}
	a.want("POST", "/seats/take", `{"invite":"nothing"}`, 404, "invite_not_found")
	if got := fields(a.want("POST", "/seats/take", `{}`, 400, "invalid_action_request")); got != "invite" {
		t.Errorf("no invite: %s", got)
	}
	first := a.want("POST", "/seats/take", `{"invite":"`+invite+`"}`, 200, "")["seatToken"].(string)
	a.want("POST", "/seats/take", `{"invite":"`+invite+`"}`, 404, "invite_not_found")
	if got := standing(id); got != "龙胆 human invited:false held:true" {
		t.Errorf("taken: %s", got)
	}

	guest := a.as(first)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/seats", ""}, {"POST", "/seats", `{}`}, {"PATCH", path, `{"name":"我"}`}, {"POST", path + "/invite", ""}, {"POST", path + "/free", ""},
		{"DELETE", path, ""}, {"PATCH", "", `{"status":"paused"}`}, {"PATCH", "", `{"settings":{"gathering":"on"}}`}, {"DELETE", "", ""},
	} {
		before := s.version(a.id)
		guest.want(c.method, c.path, c.body, http.StatusForbidden, "owner_required")
		a.as("wrong").want(c.method, c.path, c.body, http.StatusUnauthorized, "seat_token_invalid")
		if s.version(a.id) != before {
			t.Errorf("%s %s: something was written", c.method, c.path)
		}
	}

	if got := seatOf(a.want("PATCH", path, `{"name":"老三"}`, 200, "")); got["name"] != "老三" || got["held"] != true {
		t.Errorf("renamed: %v", got)
	}
	handed := a.want("POST", path+"/invite", "", 200, "")["invite"].(string)
	again := a.want("POST", path+"/invite", "", 200, "")["invite"].(string)
	a.want("POST", "/seats/take", `{"invite":"`+handed+`"}`, 404, "invite_not_found") // withdrawn by the newer one
	guest.want("POST", "/steer", `{"message":"我还在。","requestId":"still"}`, 200, "")   // until somebody takes the seat
	settled := func() {                                                               // a line that was said with nothing running is a turn
		p := s.node.Join(a.id)
		p.Settled()
		p.Leave()
	}
	settled()
	second := a.want("POST", "/seats/take", `{"invite":"`+again+`"}`, 200, "")["seatToken"].(string)
	guest.want("POST", "/steer", `{"message":"我呢？"}`, http.StatusUnauthorized, "seat_token_invalid")
	a.as(second).want("POST", "/steer", `{"message":"换我了。","requestId":"mine"}`, 200, "")
	settled()

	a.want("POST", path+"/free", "", 200, "")
	a.as(second).want("POST", "/steer", `{"message":"我呢？"}`, http.StatusUnauthorized, "seat_token_invalid")
	if got := standing(id); got != "老三 open invited:false held:false" {
		t.Errorf("freed: %s", got)
	}
	last := a.want("POST", path+"/invite", "", 200, "")["invite"].(string)
	third := a.want("POST", "/seats/take", `{"invite":"`+last+`"}`, 200, "")["seatToken"].(string)
	a.want("DELETE", path, "", 200, "")
	if got := standing(id); got != "gone" {
		t.Errorf("removed: %s", got)
	}
	a.as(third).want("POST", "/steer", `{"message":"我呢？"}`, http.StatusUnauthorized, "seat_token_invalid")

	for _, c := range []struct {
		method, path, body string
		status             int
		code, fields       string
	}{
		{"PATCH", path, `{"name":"x"}`, 404, "seat_not_found", ""},
		{"POST", "/seats/nobody/free", "", 404, "seat_not_found", ""},
		{"POST", "/seats/nobody/invite", "", 404, "seat_not_found", ""},
		{"DELETE", "/seats/seat-1", "", 409, "seat_primary", ""},
		{"PATCH", "/seats/seat-1", `{"role":"国王","control":"鬼","characterIds":["影子"]}`, 400, "invalid_seat", "role control characterIds[0]"},
		{"PATCH", "/seats/seat-1", `{"primary":false}`, 400, "invalid_action_request", "primary"},
		{"PATCH", "/seats/seat-1", `{"token":"x"}`, 400, "invalid_action_request", "body"},
		{"POST", "/seats", `{"name":7}`, 400, "invalid_action_request", "body.name"},
	} {
		before := s.version(a.id)
		if got := fields(a.want(c.method, c.path, c.body, c.status, c.code)); got != c.fields {
			t.Errorf("%s %s %s: %s", c.method, c.path, c.body, got)
		}
		if s.version(a.id) != before {
			t.Errorf("%s %s %s: something was written", c.method, c.path, c.body)
		}
	}

	var frames strings.Builder
	watcher.send(`{"type":"ping"}`)
	watcher.until(func(m map[string]any) bool {
		b, _ := json.Marshal(m)
		frames.Write(b)
		return m["type"] == "pong"
	})
	if !strings.Contains(frames.String(), "老三") {
		t.Error("the watcher saw nothing of the seat")
	}
	text := a.everything() + frames.String()
	for name, secret := range map[string]string{"invite": invite, "handed": handed, "again": again, "last": last, "first": first, "second": second, "third": third} {
		if strings.Contains(text, secret) {
			t.Errorf("%s stands in the log or is shown", name)
		}
		if strings.Contains(frames.String()+viewText(a), hashOf(secret)) {
			t.Errorf("the hash of %s is shown", name)
		}
	}
}

func viewText(a asked) string {
	_, reply := a.call("GET", "/api/sessions/"+a.id+"/view", "")
	b, _ := json.Marshal(reply)
	return string(b)
}

// A seat token over the socket speaks for its seat, whatever seat the message names; one that is none gets no connection.
func TestASeatOverTheSocket(t *testing.T) {
	s := open(t, game())
	a := asked{site: s, id: s.played("zh-CN")}
	take := func(body string) (id, token string) {
		added := a.want("POST", "/seats", body, http.StatusCreated, "")
		return added["seat"].(map[string]any)["id"].(string),
			a.want("POST", "/seats/take", `{"invite":"`+added["invite"].(string)+`"}`, 200, "")["seatToken"].(string)
	}
	seat, token := take(`{"name":"二号"}`)
	_, looksOn := take(`{"name":"看客","role":"spectator"}`)
	c := s.dial(a.id)
	c.send(`{"type":"hello","token":"wrong"}`)
	if m := c.next(); m["code"] != "seat_token_invalid" {
		t.Fatalf("a wrong token: %v", m)
	}
	c.send(`{"type":"hello","token":"` + token + `"}`)
	if m := c.next(); m["type"] != "welcome" {
		t.Fatalf("a seat: %v", m)
	}
	refused := func(c *socketClient, message, code, about string) {
		t.Helper()
		before := s.version(a.id)
		c.send(message)
		m := c.until(func(m map[string]any) bool { return m["type"] == "error" })
		if m["code"] != code || fields(m) != about || s.version(a.id) != before {
			t.Errorf("%s: %v", message, m)
		}
	}
	// Rule TP:471: the seat exists and is the sender's, the session has the kind and the seat's role may use it, the character is
	// bound to the seat, the text follows the rules of the kind; one action that fails refuses all, and nothing is saved.
	for bad, about := range map[string]string{
		`{"text":"我","seatId":"seat-1"}`:   "actions[1].seatId",
		`{"text":"我","kind":"飞"}`:          "actions[1].kind",
		`{"text":"我","characterId":"守门人"}`: "actions[1].characterId",
		`{"text":"  "}`:                    "actions[1].text",
		`{"text":"掷骰","kind":"command"}`:   "actions[1].text",
		`{"text":"我","fields":{"gold":1}}`: "actions[1].fields",
	} {
		refused(c, `{"type":"submit_actions","requestId":"bad","payload":{"actions":[{"text":"好"},`+bad+`]}}`, "invalid_action", about)
	}
	c.send(`{"type":"submit_actions","requestId":"mine","payload":{"actions":[{"text":"我点灯。"}]}}`)
	// Rule TP:472: a missing seat is that of the sender, who is not the primary one here.
	f := c.until(holdsEvent("actions.accepted"))
	b, _ := json.Marshal(f)
	if !strings.Contains(string(b), `"seatId":"`+seat+`"`) {
		t.Errorf("whose it is: %s", b)
	}
	c.until(holdsEvent("execution.completed"))
	v := s.dial(a.id)
	v.send(`{"type":"hello","token":"` + looksOn + `"}`)
	v.next()
	// Rule DEC Seats, roles, gathering: spectators have no action kinds, and stop nobody's turn; the owner closes the gathering.
	refused(v, `{"type":"submit_actions","requestId":"v1","payload":{"actions":[{"text":"好！"}]}}`, "seat_not_allowed", "")
	refused(v, `{"type":"interject","requestId":"v3","payload":{"text":"好！"}}`, "seat_not_allowed", "")
	refused(v, `{"type":"retry_turn","requestId":"v2","payload":{}}`, "seat_not_allowed", "")
	refused(v, `{"type":"stop","requestId":"v4"}`, "seat_not_allowed", "")
	refused(v, `{"type":"resume_plugin","requestId":"v5","pluginId":"narrator"}`, "seat_not_allowed", "")
	a.as(looksOn).want("POST", "/abort", "", http.StatusForbidden, "seat_not_allowed")
	refused(c, `{"type":"close_gathering","requestId":"c1"}`, "owner_required", "")
	refused(c, `{"type":"withdraw_submission","requestId":"c2","seatId":"seat-1"}`, "owner_required", "")
	refused(c, `{"type":"withdraw_submission","requestId":"c3","seatId":"`+seat+`"}`, "submission_not_found", "")
	a.as(token).want("POST", "/gathering/close", "", http.StatusForbidden, "owner_required")
	a.as(token).want("DELETE", "/gathering/seat-1", "", http.StatusForbidden, "owner_required")
	a.as(token).want("POST", "/abort", "", http.StatusConflict, "no_running_turn")
	// A token that was taken away ends its rights on a connection that stands, too.
	a.want("POST", "/seats/"+seat+"/free", "", 200, "")
	refused(c, `{"type":"submit_actions","requestId":"late","payload":{"actions":[{"text":"我还在。"}]}}`, "seat_token_invalid", "")
	refused(c, `{"type":"stop","requestId":"late2"}`, "seat_token_invalid", "")
}

// Settings over HTTP: every field that does not fit is named, what is absent stays, and nothing is written for what is so
// already.
func TestSettingsOverHTTP(t *testing.T) {
	s := open(t, game())
	a := asked{site: s, id: s.session("zh-CN")}
	for body, want := range map[string]string{
		`{"settings":{"gathering":"maybe","gatherTimeoutMs":86400001,"runtimeModelOverrides":{"叙事":"m","narrator":" ","guide":"ok"}}}`: "settings.gathering settings.gatherTimeoutMs settings.runtimeModelOverrides.narrator settings.runtimeModelOverrides",
		`{"settings":{"advanceLimit":-1}}`:                     "body.settings.advanceLimit",
		`{"settings":{"allowances":{"modelCalls":"many"}}}`:    "body.settings.allowances.modelCalls",
		`{"settings":{"allowances":{"toolCalls":1.5}}}`:        "body.settings.allowances.toolCalls",
		`{"settings":{"allowances":{"subagents":4294967296}}}`: "body.settings.allowances.subagents",
		`{"settings":{"allowances":{"durationMs":-5}}}`:        "body.settings.allowances.durationMs",
		`{"settings":{"locale":"en"}}`:                         "body",
		`{}`:                                                   "body",
		`{"status":"asleep"}`:                                  "status",
	} {
		before := s.version(a.id)
		code := "invalid_action_request"
		if strings.HasPrefix(want, "settings.") {
			code = "invalid_settings"
		}
		if got := fields(a.want("PATCH", "", body, 400, code)); got != want || s.version(a.id) != before {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	a.want("PATCH", "", `{"settings":{"gathering":"on","gatherTimeoutMs":60000,"advanceLimit":3,"allowances":{"modelCalls":9},"runtimeModelOverrides":{"narrator":" 大模型 "}}}`, 200, "")
	before := s.version(a.id)
	got := a.want("PATCH", "", `{"settings":{"allowances":{"toolCalls":8}},"status":"paused"}`, 200, "")
	b, _ := json.Marshal(got["settings"])
	for _, part := range []string{`"gathering":"on"`, `"gatherTimeoutMs":60000`, `"advanceLimit":3`, `"modelCalls":9`, `"toolCalls":8`, `"narrator":"大模型"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("%s is not in %s", part, b)
		}
	}
	if got["status"] != "paused" || s.version(a.id) == before {
		t.Errorf("both at once: %v", got)
	}
	before = s.version(a.id)
	a.want("PATCH", "", `{"settings":{"gathering":"on","runtimeModelOverrides":{"narrator":"大模型"}}}`, 200, "")
	if s.version(a.id) != before {
		t.Error("settings that are so already were written")
	}
	a.want("PATCH", "", `{"settings":{"runtimeModelOverrides":{}}}`, 200, "")
	if strings.Contains(fmt.Sprint(a.want("GET", "", "", 200, "")["settings"]), "大模型") {
		t.Error("an empty map does not clear the overrides")
	}
}

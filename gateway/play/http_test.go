package play

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/covel/covel/events/trace"
)

// Every refusal is typed, and nothing is appended by it: the last column counts events.
func TestHTTPScenarios(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	ended := s.session("en")
	if status, _ := s.call("PATCH", "/api/sessions/"+ended, `{"status":"ended"}`); status != http.StatusOK {
		t.Fatal("end")
	}
	paused := s.session("en")
	s.call("PATCH", "/api/sessions/"+paused, `{"status":"paused"}`)
	say := func(session, rest string) string {
		return `{"requestId":"x1","type":"submit_actions","sessionId":"` + session + `","payload":{"actions":[{"kind":"say","text":"走"}]}` + rest + `}`
	}
	big := `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"` + strings.Repeat("雨", 10<<20/3) + `"}]}}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
		session                  string
		appended                 int
	}{
		{"malformed JSON", "POST", "/api/actions", `{"requestId":`, 400, "invalid_frame", id, 0},
		{"not an object", "POST", "/api/actions", `[1]`, 400, "invalid_action_request", id, 0},
		{"null", "POST", "/api/actions", `null`, 400, "invalid_action_request", id, 0},
		{"wrong type of a field", "POST", "/api/actions", `{"requestId":7,"type":"start_session","sessionId":"` + id + `"}`, 400, "invalid_action_request", id, 0},
		{"unknown field", "POST", "/api/actions", say(id, `,"locale":"fr"`), 400, "invalid_action_request", id, 0},
		{"unknown field in an action", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"a","as":"host"}]}}`, 400, "invalid_action_request", id, 0},
		{"no request id", "POST", "/api/actions", `{"type":"start_session","sessionId":"` + id + `","payload":{}}`, 400, "request_id_required", id, 0},
		{"a bad request id", "POST", "/api/actions", `{"requestId":"a b","type":"start_session","sessionId":"` + id + `","payload":{}}`, 400, "invalid_action_request", id, 0},
		{"unknown type", "POST", "/api/actions", `{"requestId":"x1","type":"send_message","sessionId":"` + id + `","payload":{}}`, 400, "unknown_type", id, 0},
		{"unknown session", "POST", "/api/actions", say("no-such-session", ""), 404, "session_not_found", id, 0},
		{"a session id that is none", "POST", "/api/actions", say("../etc", ""), 400, "invalid_action_request", id, 0},
		{"no actions", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[]}}`, 400, "invalid_action_request", id, 0},
		{"empty text", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"  "}]}}`, 400, "invalid_action", id, 0},
		{"unknown seat", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"a","seatId":"seat-9"}]}}`, 400, "invalid_action", id, 0},
		{"a character of nobody's seat", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"a","characterId":"npc"}]}}`, 400, "invalid_action", id, 0},
		{"unknown kind", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"a","kind":"fly"}]}}`, 400, "invalid_action", id, 0},
		{"unknown question", "POST", "/api/actions", `{"requestId":"x1","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"interaction":{"turnId":"t","interactionId":"i","type":"form"},"fields":{}}]}}`, 400, "invalid_interaction_submission", id, 0},
		{"a stale base", "POST", "/api/actions", say(id, `,"base":3`), 409, "conflict", id, 0},
		{"the id of another request", "POST", "/api/actions", strings.Replace(say(id, ""), "x1", "p1", 1), 409, "request_id_conflict", id, 0},
		{"ten megabytes", "POST", "/api/actions", big, 413, "frame_too_large", id, 0},
		{"invalid UTF-8", "POST", "/api/actions", strings.Replace(say(id, ""), "走", "\xff\xfe", 1), 400, "invalid_utf8", id, 0},
		{"an ended session", "POST", "/api/actions", say(ended, ""), 409, "session_ended", ended, 0},
		{"a paused session", "POST", "/api/actions", say(paused, ""), 409, "session_not_active", paused, 0},
		{"start again after the opening", "POST", "/api/actions", `{"requestId":"x1","type":"start_session","sessionId":"` + id + `","payload":{}}`, 409, "already_started", id, 0},
		{"nothing to retry", "POST", "/api/actions", `{"requestId":"x1","type":"retry_turn","sessionId":"` + id + `","payload":{}}`, 409, "nothing_to_retry", id, 0},
		{"stop without a turn", "POST", "/api/sessions/" + id + "/abort", ``, 409, "no_running_turn", id, 0},
		{"resume an ended session", "PATCH", "/api/sessions/" + ended, `{"status":"active"}`, 409, "session_ended", ended, 0},
		{"end it again", "PATCH", "/api/sessions/" + ended, `{"status":"ended"}`, 200, "", ended, 0},
		{"a status that is none", "PATCH", "/api/sessions/" + id, `{"status":"asleep"}`, 400, "invalid_action_request", id, 0},
		{"pause", "PATCH", "/api/sessions/" + id, `{"status":"paused"}`, 200, "", id, 1},
		{"resume", "PATCH", "/api/sessions/" + id, `{"status":"active"}`, 200, "", id, 1},
		{"unknown world", "POST", "/api/sessions", `{"worldId":"atlantis"}`, 404, "world_not_found", id, 0},
		{"an id that is taken", "POST", "/api/sessions", `{"worldId":"low-water","id":"` + id + `"}`, 409, "session_already_exists", id, 0},
		{"an id that is none", "POST", "/api/sessions", `{"worldId":"low-water","id":"Ä b"}`, 400, "invalid_action_request", id, 0},
		{"a session that is not there", "GET", "/api/sessions/nope", "", 404, "session_not_found", id, 0},
		{"a cursor that is none", "GET", "/api/sessions/" + id + "/messages?before=x", "", 400, "invalid_cursor", id, 0},
		{"an unknown path", "GET", "/api/nothing", "", 404, "not_found", id, 0},
		{"a good line, after all that", "POST", "/api/actions", say(id, ""), 200, "", id, 8},
		{"the same request again", "POST", "/api/actions", say(id, ""), 200, "", id, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.version(c.session)
			status, body := s.call(c.method, c.path, c.body)
			code, _ := body["code"].(string)
			if status != c.status || code != c.code {
				t.Errorf("%d %v, want %d %s", status, body, c.status, c.code)
			}
			if status >= 400 {
				if text, _ := body["error"].(string); text == "" {
					t.Error("the error has no text")
				}
			}
			if n := int(s.version(c.session) - before); n != c.appended {
				t.Errorf("%d events were appended, want %d", n, c.appended)
			}
		})
	}
}

// The self mode answers this machine's own pages only.
func TestLoopbackOnly(t *testing.T) {
	s := open(t, game())
	host := strings.TrimPrefix(s.http.URL, "http://")
	for _, c := range []struct {
		name   string
		header []string
		code   string
	}{
		{"plain", nil, ""},
		{"same origin", []string{"Origin", "http://" + host}, ""},
		{"another origin", []string{"Origin", "http://evil.example"}, "origin_not_allowed"},
		{"no origin at all, as a file", []string{"Origin", "null"}, "origin_not_allowed"},
		{"a name bent to loopback", []string{"Host", "evil.example"}, "host_not_allowed"},
		{"a name that begins well", []string{"Host", "127.0.0.1.evil.example"}, "host_not_allowed"},
		{"a proxy", []string{"X-Forwarded-For", "10.0.0.1"}, "host_not_allowed"},
		{"a proxy, standard", []string{"Forwarded", "for=10.0.0.1"}, "host_not_allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, body := s.call("GET", "/api/health", "", c.header...)
			if code, _ := body["code"].(string); code != c.code {
				t.Errorf("%v, want %q", body, c.code)
			}
		})
	}
}

// Rule TP:157: no event tells of the change of phase; phase, count and set-up states are read from the session. Rule TP:89, 97: it
// has these clock fields and no others. Rule TP:158: the submission that ends the set-up brings the opening in the same stream.
// Rule TP:211: execution.completed says last whether it was committed.
//
// A whole session over HTTP: the events of each request, in order, and one execution.completed at the end.
func TestASessionOverSSE(t *testing.T) {
	s := open(t, game())
	id := s.session("zh-CN")
	types := func(list []map[string]any) string {
		var out []string
		for _, e := range list {
			out = append(out, e["type"].(string))
		}
		return strings.Join(out, " ")
	}
	begin := types(s.act(id, "r1", "start_session", "{}"))
	form := s.act(id, "r2", "submit_actions", `{"actions":[`+s.formAnswer(id, "龍 👩‍👩‍👧")+`]}`)
	line := types(s.act(id, "r3", "submit_actions", `{"actions":[{"text":"我去码头。"}]}`))
	for name, got := range map[string]string{"start": begin, "form": types(form), "line": line} {
		if strings.Count(got, "execution.completed") != 1 || !strings.HasSuffix(got, "execution.completed") {
			t.Errorf("%s: %s", name, got)
		}
		if strings.Contains(got, "phase") {
			t.Errorf("%s: the phase flip is told: %s", name, got)
		}
	}
	if got := types(form); strings.Count(got, "execution.started") != 2 || strings.Count(got, "turn.completed") != 2 || !strings.HasPrefix(got, "interaction.submitted actions.accepted execution.started") {
		t.Errorf("form: %s", got)
	}
	if !strings.Contains(line, "narrative.delta") || strings.Index(line, "narrative.delta") > strings.Index(line, "narrative.completed") {
		t.Errorf("line: %s", line)
	}
	_, session := s.call("GET", "/api/sessions/"+id, "")
	if session["status"] != "active" || session["phase"] != "playing" || session["completedPlayerTurns"] != 1.0 {
		t.Errorf("session: %v", session)
	}
	setup, _ := session["setupRuntimes"].(map[string]any)
	if su, _ := setup["char-creator/player-init"].(map[string]any); su["status"] != "done" {
		t.Errorf("set-up: %v", setup)
	}
	for key := range session {
		if lower := strings.ToLower(key); key != "completedPlayerTurns" && (strings.Contains(lower, "turn") || strings.Contains(lower, "clock") || strings.Contains(lower, "pregame")) {
			t.Errorf("the session has another clock field, %s", key)
		}
	}
	if end := form[len(form)-1]; end["payload"].(map[string]any)["committed"] != true {
		t.Errorf("the end says %v", end)
	}
	// Rule TP:1011–1012: the player's input is one user row, an answer's with the sentence of its form; no row mirrors it.
	_, view := s.call("GET", "/api/sessions/"+id+"/view", "")
	var rows []string
	for _, m := range view["messages"].([]any) {
		row := m.(map[string]any)
		if row["turnId"] == form[1]["turnId"] || row["role"] == "user" {
			rows = append(rows, fmt.Sprint(row["role"], " ", row["source"], " ", strings.Contains(fmt.Sprint(row["text"]), "龍")))
		}
	}
	if got := strings.Join(rows, "|"); got != "user player true|user player false" {
		t.Errorf("rows: %s", got)
	}
	// Rule TP:1016–1019: what happens in a turn is written into the trace, and its progress goes to those who follow the turn.
	if err := s.trace.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	traced := map[trace.Type]bool{}
	for _, e := range s.tracePage(t, id, "limit=500").Items {
		traced[e.Type] = true
	}
	for _, typ := range []string{"tool.calling", "tool.completed", "runtime.started", "runtime.completed"} {
		if !strings.Contains(line, typ) || !traced[trace.Type(typ)] {
			t.Errorf("%s: on the stream %t, in the trace %t", typ, strings.Contains(line, typ), traced[trace.Type(typ)])
		}
	}
	// Rule TP:1031: streamed deltas are not saved; a runtime saves its final message.completed.
	if traced["narrative.delta"] || !traced[trace.MessageCompleted] || !traced[trace.BlockEmitted] {
		t.Errorf("in the trace: %v", traced)
	}
	again := s.act(id, "r3", "submit_actions", `{"actions":[{"text":"我去码头。"}]}`)
	if got := types(again); !strings.HasSuffix(got, "execution.completed") || s.version(id) == 0 {
		t.Errorf("the repeat hears %s", got)
	}
}

// The list of sessions and older messages come from the read models; a deleted session is gone everywhere.
func TestListsAndDelete(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	for {
		_, list := s.call("GET", "/api/sessions", "")
		items := list["items"].([]any)
		if len(items) == 1 && items[0].(map[string]any)["phase"] == "playing" {
			break
		}
	}
	_, page := s.call("GET", "/api/sessions/"+id+"/messages?limit=2", "")
	items := page["items"].([]any)
	if len(items) != 2 || page["nextCursor"] == nil {
		t.Fatalf("page: %v", page)
	}
	_, older := s.call("GET", "/api/sessions/"+id+"/messages?limit=2&before="+page["nextCursor"].(string), "")
	if n := len(older["items"].([]any)); n < 1 {
		t.Errorf("older: %v", older)
	}
	if status, body := s.call("DELETE", "/api/sessions/"+id, ""); status != 200 {
		t.Fatalf("delete: %v", body)
	}
	if status, _ := s.call("GET", "/api/sessions/"+id, ""); status != 404 {
		t.Error("the deleted session answers")
	}
	if _, list := s.call("GET", "/api/sessions", ""); len(list["items"].([]any)) != 0 {
		t.Error("the deleted session is listed")
	}
	if status, body := s.call("POST", "/api/sessions", `{"worldId":"low-water","id":"`+id+`"}`); status != 409 {
		t.Errorf("its id is used again: %v", body)
	}
}

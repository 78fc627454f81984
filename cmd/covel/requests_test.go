package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/events"
)

// types counts the events that a stream got after a version, by type.
func types(log []events.Recorded, after int) map[string]int {
	out := map[string]int{}
	for _, r := range log[after:] {
		out[r.Type]++
	}
	return out
}

// A request that comes again runs once and has one outcome, however it comes again (fault case BL-11).
func TestDoubleSubmit(t *testing.T) {
	const id = "low-water-1"
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	a := playing(t, srv.url, id, "陆青云")
	b, _ := join(t, srv.url, id)
	before := len(stored(t, data, id))
	wait := say("wait-1", "wait 等")

	// Twice at once, on two connections and once more on the first: one turn, one outcome.
	a.send(wait)
	b.send(wait)
	a.send(wait)
	accepted := func(s *socket, n int) (acks []message) {
		done := false
		s.until("acks and the end", func(m message) bool {
			if m.Type == "error" {
				t.Fatalf("%+v", m)
			}
			if m.Type == "ack" && m.Status == "accepted" {
				acks = append(acks, m)
			}
			done = done || ended("wait-1")(m)
			return done && len(acks) >= n
		})
		return acks
	}
	all := append(accepted(a, 2), accepted(b, 1)...)
	for _, m := range all {
		if m.ExecutionID != all[0].ExecutionID || m.Version != all[0].Version {
			t.Errorf("outcomes differ: %+v and %+v", m, all[0])
		}
	}
	once := types(stored(t, data, id), before)
	if once["ActionsSubmitted"] != 1 || once["ExecutionStarted"] != 1 || once["ExecutionCommitted"] != 1 || once["NarrativeAppended"] != 1 {
		t.Errorf("appended: %v", once)
	}
	after := len(stored(t, data, id))
	repeat := func(name string, s *socket, url string) {
		t.Helper()
		s.send(wait)
		m := s.next()
		for m.Type != "ack" {
			m = s.next()
		}
		if !m.Repeat || m.ExecutionID != all[0].ExecutionID || m.Version != all[0].Version {
			t.Errorf("%s: %+v, want the outcome %+v", name, m, all[0])
		}
		status, sse := post(t, url+"/api/actions", "application/json", fmt.Sprintf(`{"sessionId":%q,"requestId":"wait-1","type":"submit_actions","payload":{"actions":[{"text":"wait 等","kind":"say"}]}}`, id))
		if status != http.StatusOK || strings.Count(sse, `"type":"execution.completed"`) != 1 || !strings.Contains(sse, `"committed":true`) {
			t.Errorf("%s, over HTTP: %d %s", name, status, sse)
		}
		if got := types(stored(t, data, id), after); len(got) > 0 {
			t.Errorf("%s: appended %v", name, got)
		}
	}
	repeat("after the turn", a, srv.url)
	a.close()
	b.close()
	srv.stop(t)

	srv = startServer(t, data, bundledGame())
	a, _ = join(t, srv.url, id)
	repeat("after a restart", a, srv.url)

	// Two ids with the same text are two lines.
	a.send(say("wait-2", "wait 等"))
	a.send(say("wait-3", "wait 等"))
	ends := 0
	a.until("two ends", func(m message) bool {
		if _, ok := m.has("execution.completed"); ok {
			ends++
		}
		return ends == 2
	})
	if got := types(stored(t, data, id), after); got["ActionsSubmitted"] != 2 || got["ExecutionCommitted"] != 2 {
		t.Errorf("two ids: appended %v", got)
	}
	if v := view(t, srv.url, id); count(lines(v), "wait 等") != 3 || v.Session.CompletedPlayerTurns != 3 {
		t.Errorf("%d turns, lines %q", v.Session.CompletedPlayerTurns, lines(v))
	}
}

// badRequest is something no client should send. The same body goes over both transports, except where one has no such
// thing.
type badRequest struct {
	name     string
	body     string // %s is the session id over HTTP; over the socket the field is left out
	code     string
	status   int
	http     bool // only over HTTP
	ws       bool // only over the socket
	appended map[string]int
}

const long = 10 << 20

var badRequests = []badRequest{
	{name: "malformed JSON", body: `{"type":"submit_actions",`, code: "invalid_frame", status: 400},
	{name: "nothing", body: ``, code: "invalid_frame", status: 400},
	{name: "a list", body: `[1,2]`, code: "invalid_frame", status: 400, ws: true},
	{name: "a list as the body", body: `[1,2]`, code: "invalid_action_request", status: 400, http: true},
	{name: "type is a number", body: `{"type":7,"requestId":"x"}`, code: "invalid_frame", ws: true},
	{name: "type is a number", body: `{"type":7,"requestId":"x"%s}`, code: "invalid_action_request", status: 400, http: true},
	{name: "unknown type", body: `{"type":"dance","requestId":"x","payload":{}%s}`, code: "unknown_type", status: 400},
	{name: "no requestId", body: `{"type":"retry_turn","payload":{}%s}`, code: "request_id_required", status: 400},
	{name: "requestId of a wrong form", body: `{"type":"retry_turn","requestId":"鱼 鱼","payload":{}%s}`, code: "invalid_action_request", status: 400},
	{name: "requestId too long", body: `{"type":"retry_turn","requestId":"` + strings.Repeat("x", 65) + `","payload":{}%s}`, code: "invalid_action_request", status: 400},
	{name: "requestId is a number", body: `{"type":"retry_turn","requestId":1,"payload":{}%s}`, code: "invalid_action_request", status: 400, http: true},
	{name: "unknown field", body: `{"type":"retry_turn","requestId":"x","payload":{},"speed":9%s}`, code: "invalid_action_request", status: 400},
	{name: "unknown field of an action", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","mood":"sad"}]}%s}`, code: "invalid_action_request", status: 400},
	{name: "no payload", body: `{"type":"submit_actions","requestId":"x"%s}`, code: "invalid_action_request", status: 400},
	{name: "payload is a text", body: `{"type":"submit_actions","requestId":"x","payload":"go"%s}`, code: "invalid_action_request", status: 400},
	{name: "actions is an object", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":{"text":"a"}}%s}`, code: "invalid_action_request", status: 400},
	{name: "text is a number", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":5}]}%s}`, code: "invalid_action_request", status: 400},
	{name: "no actions", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[]}%s}`, code: "invalid_action_request", status: 400},
	{name: "too many actions", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[` + strings.Repeat(`{"text":"a"},`, 20) + `{"text":"a"}]}%s}`, code: "invalid_action_request", status: 400},
	{name: "an empty text", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":" \n "}]}%s}`, code: "invalid_action", status: 400},
	{name: "a text too long", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"` + strings.Repeat("水", 100_001) + `"}]}%s}`, code: "invalid_action_request", status: 400},
	{name: "a base that is a text", body: `{"type":"retry_turn","requestId":"x","base":"new","payload":{}%s}`, code: "invalid_action_request", status: 400},
	{name: "a stale base", body: `{"type":"submit_actions","requestId":"x","base":1,"payload":{"actions":[{"text":"a"}]}%s}`, code: "conflict", status: 409},
	{name: "an unknown seat", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","seatId":"seat-9"}]}%s}`, code: "invalid_action", status: 400},
	{name: "an unknown character", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","characterId":"nobody"}]}%s}`, code: "invalid_action", status: 400},
	{name: "an unknown kind", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","kind":"sing"}]}%s}`, code: "invalid_action", status: 400},
	{name: "fields of no question", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","fields":{"a":1}}]}%s}`, code: "invalid_action", status: 400},
	{name: "fields is a list", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"a","fields":[1]}]}%s}`, code: "invalid_action_request", status: 400},
	{name: "an unknown question", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"interaction":{"turnId":"t","interactionId":"i","type":"form"},"fields":{}}]}%s}`, code: "invalid_interaction_submission", status: 400},
	{name: "the same requestId with another body", body: `{"type":"submit_actions","requestId":"line","payload":{"actions":[{"text":"something else"}]}%s}`, code: "request_id_conflict", status: 409},
	{name: "nothing to retry", body: `{"type":"retry_turn","requestId":"x","payload":{}%s}`, code: "nothing_to_retry", status: 409},
	{name: "started already", body: `{"type":"start_session","requestId":"x","payload":{}%s}`, code: "already_started", status: 409},
	{name: "invalid UTF-8", body: "{\"type\":\"submit_actions\",\"requestId\":\"x\",\"payload\":{\"actions\":[{\"text\":\"\xff\xfe\"}]}%s}", code: "invalid_utf8", status: 400},
	{name: "10 MB", body: `{"type":"submit_actions","requestId":"x","payload":{"actions":[{"text":"` + strings.Repeat("a", long) + `"}]}%s}`, code: "frame_too_large", status: 413},
	{name: "stop without a turn", body: `{"type":"stop"}`, code: "no_running_turn", ws: true},
	{name: "hello again", body: `{"type":"hello"}`, code: "invalid_frame", ws: true},
	{name: "no session id", body: `{"type":"retry_turn","requestId":"x","payload":{}}`, code: "invalid_action_request", status: 400, http: true},
	{name: "an unknown session", body: `{"type":"retry_turn","requestId":"x","sessionId":"nowhere","payload":{}}`, code: "session_not_found", status: 404, http: true},
	{name: "a session id that is a path", body: `{"type":"retry_turn","requestId":"x","sessionId":"../../etc","payload":{}}`, code: "invalid_action_request", status: 400, http: true},
}

// Bad input over HTTP and over the socket: a typed error each, nothing appended, connection and session unharmed.
func TestBadRequests(t *testing.T) {
	const id = "low-water-1"
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	s := playing(t, srv.url, id, "Élodie")
	s.do(say("line", "I look around. 四处看看。"))
	for _, c := range badRequests {
		before := len(stored(t, data, id))
		if !c.ws {
			t.Run(c.name+" over HTTP", func(t *testing.T) {
				body := strings.Replace(c.body, "%s", `,"sessionId":"`+id+`"`, 1)
				status, answer := post(t, srv.url+"/api/actions", "application/json", body)
				var e struct{ Error, Code string }
				if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error == "" {
					t.Fatalf("%d %.200s", status, answer)
				}
				if status != c.status || e.Code != c.code {
					t.Errorf("%d %s (%s), want %d %s", status, e.Code, e.Error, c.status, c.code)
				}
			})
		}
		if !c.http {
			t.Run(c.name+" over the socket", func(t *testing.T) {
				s.send([]byte(strings.Replace(c.body, "%s", "", 1)))
				m := s.next()
				if m.Type != "error" || m.Code != c.code || m.Error == "" {
					t.Errorf("%+v, want %s", m, c.code)
				}
			})
		}
		if got := types(stored(t, data, id), before); !(len(got) == 0 && len(c.appended) == 0) && !reflect.DeepEqual(got, c.appended) {
			t.Errorf("%s: appended %v, want %v", c.name, got, c.appended)
		}
	}
	s.send(map[string]any{"type": "ping"})
	if m := s.next(); m.Type != "pong" {
		t.Errorf("the connection after all that: %+v", m)
	}
	s.do(say("line-2", "And on we go. 接着走。"))
	if v := view(t, srv.url, id); v.Session.CompletedPlayerTurns != 2 {
		t.Errorf("%d turns", v.Session.CompletedPlayerTurns)
	}
}

// A command before hello is refused, and hello still works.
func TestHelloMissing(t *testing.T) {
	const id = "low-water-1"
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	playing(t, srv.url, id, "陆青云").close()
	before := len(stored(t, data, id))
	s := dial(t, srv.url, id)
	for _, m := range []any{say("x", "hello?"), map[string]any{"type": "stop"}} {
		s.send(m)
		if got := s.next(); got.Type != "error" || got.Code != "hello_required" {
			t.Errorf("%+v", got)
		}
	}
	s.send(map[string]any{"type": "hello", "lastSeq": "nine"})
	if got := s.next(); got.Code != "invalid_action_request" {
		t.Errorf("%+v", got)
	}
	s.send(map[string]any{"type": "hello"})
	if got := s.next(); got.Type != "welcome" {
		t.Errorf("%+v", got)
	}
	if got := types(stored(t, data, id), before); len(got) != 0 {
		t.Errorf("appended %v", got)
	}
	s.do(say("line", "I am here. 我在。"))
}

// A session that is paused or ended takes no action; a paused one goes on.
func TestSessionsThatTakeNoActions(t *testing.T) {
	const id = "low-water-1"
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	s := playing(t, srv.url, id, "陆青云")
	patch := func(status string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodPatch, srv.url+"/api/sessions/"+id, strings.NewReader(`{"status":"`+status+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	refused := func(code string) {
		t.Helper()
		before := len(stored(t, data, id))
		for n, m := range []map[string]any{say("x"+code, "go"), retryTurn("y"), startSession("z")} {
			s.send(m)
			got := s.until("the refusal", func(m message) bool { return m.Type == "error" })
			if last := got[len(got)-1]; last.Code != code || last.RequestID != m["requestId"] {
				t.Errorf("%d: %+v, want %s", n, last, code)
			}
		}
		status, body := post(t, srv.url+"/api/actions", "application/json", fmt.Sprintf(`{"sessionId":%q,"requestId":"h","type":"submit_actions","payload":{"actions":[{"text":"go"}]}}`, id))
		if status != http.StatusConflict || !strings.Contains(body, `"`+code+`"`) {
			t.Errorf("over HTTP: %d %s, want 409 %s", status, body, code)
		}
		if got := types(stored(t, data, id), before); len(got) != 0 {
			t.Errorf("appended %v", got)
		}
	}
	if status := patch("paused"); status != 200 {
		t.Fatal(status)
	}
	refused("session_not_active")
	if status := patch("active"); status != 200 {
		t.Fatal(status)
	}
	s.do(say("xsession_not_active", "go")) // what was refused was not stored: its id is free
	if status := patch("ended"); status != 200 {
		t.Fatal(status)
	}
	refused("session_ended")
	if status := patch("active"); status != http.StatusConflict {
		t.Errorf("an ended session is opened again: %d", status)
	}
	s.send(map[string]any{"type": "ping"})
	s.until("pong", func(m message) bool { return m.Type == "pong" })
}

package play

import (
	"fmt"
	"net/http"
	"testing"
)

// The way back over HTTP: undo, another take, a name, a revised page, the way forth again; and each refusal.
func TestHeadOverHTTP(t *testing.T) {
	s := open(t, game())
	id := s.played("zh-CN")
	s.act(id, "l1", "submit_actions", `{"actions":[{"text":"我去敲钟。"}]}`)
	ask := func(method, path, body string, status int, code string) map[string]any {
		t.Helper()
		got, reply := s.call(method, "/api/sessions/"+id+path, body)
		if have, _ := reply["code"].(string); got != status || have != code {
			t.Fatalf("%s %s: %d %v, want %d %s", method, path, got, reply, status, code)
		}
		return reply
	}
	tree := func() (head string, turns []any) {
		t.Helper()
		view := ask("GET", "/view", "", http.StatusOK, "")["tree"].(map[string]any)
		return view["head"].(string), view["turns"].([]any)
	}
	first, turns := tree()
	if len(turns) != 1 || first == "" {
		t.Fatalf("head %q, turns %v", first, turns)
	}
	ask("POST", "/head", `{"requestId":"u1"}`, http.StatusOK, "")
	ask("POST", "/head", `{"requestId":"u1"}`, http.StatusOK, "") // the same request takes back one turn, not two
	ask("POST", "/head", `{"requestId":"u2"}`, http.StatusConflict, "nothing_to_undo")
	ask("POST", "/head", `{"turnId":"`+first+`"}`, http.StatusOK, "")
	ask("POST", "/head", `{"turnId":"`+first+`"}`, http.StatusConflict, "already_there")
	ask("POST", "/head", `{"turnId":"nobody"}`, http.StatusNotFound, "turn_not_found")
	ask("PATCH", "/turns/"+first, `{"name":"钟声"}`, http.StatusOK, "")
	ask("PATCH", "/turns/nobody", `{"name":"x"}`, http.StatusNotFound, "turn_not_found")
	p := s.node.Join(id)
	if ask("POST", "/regenerate", `{"requestId":"g1"}`, http.StatusOK, "")["executionId"] == "" {
		t.Error("no execution plays the other take")
	}
	p.Until("the other take is committed", func() bool { return p.View.State.Tree.Head != first && p.View.State.Tree.Head != "" })
	second, turns := tree()
	if len(turns) != 2 || second == first || turns[0].(map[string]any)["name"] != "钟声" || len(turns[1].(map[string]any)["takes"].([]any)) != 2 {
		t.Errorf("head %q, turns %v", second, turns)
	}
	messages := ask("GET", "/view", "", http.StatusOK, "")["messages"].([]any)
	last := messages[len(messages)-1].(map[string]any)
	ask("PATCH", "/messages/"+last["id"].(string), `{"text":"雪停了。"}`, http.StatusOK, "")
	ask("PATCH", "/messages/nobody", `{"text":"x"}`, http.StatusNotFound, "message_not_found")
	messages = ask("GET", "/view", "", http.StatusOK, "")["messages"].([]any)
	if m := messages[len(messages)-1].(map[string]any); m["text"] != "雪停了。" || m["revised"] != true {
		t.Errorf("the revised row: %v", m)
	}
	setup := s.session("en")
	if status, body := s.call("POST", "/api/sessions/"+setup+"/head", `{}`); status != http.StatusConflict || body["code"] != "session_in_setup" {
		t.Errorf("undo during set-up: %d %v", status, body)
	}
	if status, body := s.call("POST", "/api/actions", `{"requestId":"u3","type":"move_head","sessionId":"`+id+`","payload":{}}`); status != http.StatusBadRequest || body["code"] != "unknown_type" {
		t.Errorf("a stream of a head that moves: %d %v", status, body)
	}
}

// Rule REF api-and-protocol.md §3.2: a client that was away while the head moved starts over, as those do who were there: what it
// has is no longer a prefix of what is shown.
func TestResumeAcrossAMovedHead(t *testing.T) {
	s := open(t, game())
	id := s.played("zh-CN")
	s.act(id, "l1", "submit_actions", `{"actions":[{"text":"我去敲钟。"}]}`)
	c := s.dial(id)
	c.send(`{"type":"hello"}`)
	first := c.next()
	_ = c.ws.Close()
	if status, body := s.call("POST", "/api/sessions/"+id+"/head", `{}`); status != http.StatusOK {
		t.Fatalf("undo: %d %v", status, body)
	}
	c = s.dial(id)
	c.send(fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":%q,"incarnation":%q}`, int(first["seq"].(float64)), first["lastId"], first["incarnation"]))
	if m := c.next(); m["type"] != "system.reset" || m["reason"] != "head-moved" {
		t.Errorf("instead of a reset: %v", m)
	}
	if m := c.next(); m["type"] != "welcome" || m["view"] == nil {
		t.Errorf("instead of a view: %v", m)
	}
}

package play

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

// Every bad message is answered with a typed error, appends nothing, and leaves the connection as it was.
func TestSocketScenarios(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	c := s.dial(id)
	before := s.version(id)
	expect := func(name, send, code string) {
		t.Helper()
		c.send(send)
		m := c.until(func(m map[string]any) bool { return m["type"] == "error" })
		if m["code"] != code {
			t.Errorf("%s: %v, want %s", name, m, code)
		}
		if s.version(id) != before {
			t.Errorf("%s: something was appended", name)
		}
	}
	expect("a command before hello", `{"type":"submit_actions","requestId":"x1","payload":{"actions":[{"text":"a"}]}}`, "hello_required")
	c.send(`{"type":"hello"}`)
	if w := c.next(); w["type"] != "welcome" || w["resumed"] != false || w["view"] == nil {
		t.Fatalf("welcome: %v", w)
	}
	expect("malformed JSON", `{"type":`, "invalid_frame")
	expect("not an object", `"hello"`, "invalid_frame")
	expect("type is a number", `{"type":1}`, "invalid_frame")
	expect("unknown type", `{"type":"dance","requestId":"x1"}`, "unknown_type")
	expect("no request id", `{"type":"start_session","payload":{}}`, "request_id_required")
	expect("unknown field", `{"type":"start_session","requestId":"x1","payload":{},"locale":"fr"}`, "invalid_action_request")
	expect("payload of a wrong type", `{"type":"submit_actions","requestId":"x1","payload":{"actions":"go"}}`, "invalid_action_request")
	expect("another body", `{"type":"submit_actions","requestId":"p1","payload":{"actions":[{"text":"go"}]}}`, "request_id_conflict")
	expect("stop without a turn", `{"type":"stop"}`, "no_running_turn")
	expect("a stale base", `{"type":"submit_actions","requestId":"x2","base":5,"payload":{"actions":[{"text":"go"}]}}`, "conflict")
	expect("ten megabytes", `{"type":"submit_actions","requestId":"x1","payload":{"actions":[{"text":"`+strings.Repeat("a", 10<<20)+`"}]}}`, "frame_too_large")
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte("{\"type\":\"ping\",\"x\":\"\xff\"}")); err != nil {
		t.Fatal(err)
	}
	if m := c.next(); m["code"] != "invalid_utf8" {
		t.Errorf("invalid UTF-8: %v", m)
	}
	expect("hello again", `{"type":"hello"}`, "invalid_frame")
	c.send(`{"type":"ping"}`)
	if m := c.next(); m["type"] != "pong" {
		t.Errorf("ping: %v", m)
	}
	c.send(`{"type":"submit_actions","requestId":"x9","payload":{"actions":[{"text":"lone \ud800 surrogate"}]}}`)
	c.until(holdsEvent("execution.completed"))
	_, view := s.call("GET", "/api/sessions/"+id+"/view", "")
	b, _ := json.Marshal(view)
	if !strings.Contains(string(b), "lone \uFFFD surrogate") {
		t.Error("the line is not kept as one replacement character")
	}
}

// The conflict error brings the frames the client has not seen (BL-10).
func TestConflictBringsTheNewerFrames(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	a, b := s.dial(id), s.dial(id)
	a.send(`{"type":"hello"}`)
	b.send(`{"type":"hello"}`)
	seq := a.next()["seq"].(float64)
	b.next()
	a.send(fmt.Sprintf(`{"type":"submit_actions","requestId":"a1","base":%d,"payload":{"actions":[{"text":"I go."}]}}`, int(seq)))
	var seen []any
	collect := func(m map[string]any) bool {
		if m["type"] == "frame" {
			seen = append(seen, m)
		}
		return holdsEvent("execution.completed")(m)
	}
	b.until(collect)
	b.send(fmt.Sprintf(`{"type":"submit_actions","requestId":"b1","base":%d,"payload":{"actions":[{"text":"I stay."}]}}`, int(seq)))
	m := b.until(func(m map[string]any) bool { return m["type"] == "error" })
	if m["code"] != "conflict" || !reflect.DeepEqual(m["frames"], seen) {
		t.Errorf("conflict brings %d frames, the socket showed %d", len(m["frames"].([]any)), len(seen))
	}
}

// BL-09: dropped in mid-answer, resumed from every number: exactly what was missed, once, in order, without waiting for
// something new; a number from another life starts over.
func TestResume(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	a := s.dial(id)
	a.send(`{"type":"hello"}`)
	first := a.next()
	frames := []map[string]any{{"seq": first["seq"], "lastId": first["lastId"]}}
	for i := range 3 {
		a.send(fmt.Sprintf(`{"type":"submit_actions","requestId":"l%d","payload":{"actions":[{"text":"line %d"}]}}`, i, i))
		a.until(func(m map[string]any) bool {
			if m["type"] == "frame" {
				frames = append(frames, m)
			}
			return holdsEvent("execution.completed")(m)
		})
	}
	for from, f := range frames {
		c := s.dial(id)
		c.send(fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":%q,"incarnation":%q}`, int(f["seq"].(float64)), f["lastId"], first["incarnation"]))
		if w := c.next(); w["resumed"] != true || w["view"] != nil {
			t.Fatalf("resume from %v: %v", f["seq"], w)
		}
		for _, want := range frames[from+1:] {
			if got := c.next(); !reflect.DeepEqual(got, want) {
				t.Fatalf("resume from %v: got frame %v, want %v", f["seq"], got["seq"], want["seq"])
			}
		}
		c.send(`{"type":"ping"}`) // nothing more came
		if m := c.next(); m["type"] != "pong" {
			t.Errorf("resume from %v: something twice: %v", f["seq"], m)
		}
		_ = c.ws.Close()
	}
	last := frames[len(frames)-1]
	for name, hello := range map[string]string{
		"a number from the future":     fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":"x","incarnation":%q}`, int(last["seq"].(float64))+7, first["incarnation"]),
		"another incarnation":          fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":%q,"incarnation":"other"}`, int(last["seq"].(float64)), last["lastId"]),
		"a number of another life":     fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":"11111111-1111-5111-8111-111111111111","incarnation":%q}`, int(last["seq"].(float64)), first["incarnation"]),
		"an older one of another life": fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":"11111111-1111-5111-8111-111111111111","incarnation":%q}`, int(first["seq"].(float64)), first["incarnation"]),
		"a number inside of an append": fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":"x","incarnation":%q}`, int(last["seq"].(float64))-1, first["incarnation"]),
	} {
		c := s.dial(id)
		c.send(hello)
		if m := c.next(); m["type"] != "system.reset" {
			t.Errorf("%s: %v", name, m)
		}
		if m := c.next(); m["type"] != "welcome" || m["view"] == nil {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// A client that joins in mid-turn gets the buffer of the turn, and then what follows: together the whole text.
func TestJoinInMidTurn(t *testing.T) {
	bundled := scripted.BundledGame()
	m := scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		if req.Subject != "narrator" {
			return bundled(req)
		}
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Segment{Kind: "narration", Text: "龍が来た🐉"}, scripted.Hold("mid"), scripted.Segment{Kind: "narration", Text: "雨停了。"},
		}}
	}})
	s := open(t, m)
	id := s.session("zh-CN")
	s.act(id, "r1", "start_session", "{}")
	a := s.dial(id)
	a.send(`{"type":"hello"}`)
	a.send(`{"type":"submit_actions","requestId":"r2","payload":{"actions":[` + s.formAnswer(id, "龍") + `]}}`)
	<-m.Gate("mid").Reached()
	a.until(func(m map[string]any) bool {
		e, _ := m["event"].(map[string]any)
		return m["type"] == "transient" && e["type"] == "narrative.delta"
	})
	b := s.dial(id)
	b.send(`{"type":"hello"}`)
	w := b.next()
	running := w["running"].(map[string]any)
	text := running["text"].(string)
	n := running["n"].(float64)
	if text == "" || len(running["steps"].([]any)) == 0 {
		t.Errorf("the buffer: %v", running)
	}
	m.Gate("mid").Open()
	b.until(func(m map[string]any) bool {
		if m["type"] == "transient" {
			if m["n"].(float64) <= n {
				t.Errorf("n went from %v to %v", n, m["n"])
			}
			n = m["n"].(float64)
			e := m["event"].(map[string]any)
			if d, ok := e["payload"].(map[string]any)["delta"].(string); ok {
				text += d
			}
		}
		return holdsEvent("narrative.completed")(m)
	})
	if text != "龍が来た🐉\n\n雨停了。" {
		t.Errorf("buffer and deltas give %q", text)
	}
}

// Rule TP:216–222: sending does not hold up the turn: with clients that are slow or gone the turn is committed as ever, and no model
// is asked again for their sake. BL-15: one client stands still, one reads a byte now and then, twenty read; a long page streams. The readers have it
// all, the others cost a bounded buffer, and the server goes down in time.
func TestSlowConsumers(t *testing.T) {
	const deltas = 20_000
	var asked atomic.Int32
	bundled := scripted.BundledGame()
	m := scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		if req.Subject != "narrator" {
			return bundled(req)
		}
		asked.Add(1)
		return scripted.Reply{Chunk: 1, Steps: []scripted.Step{scripted.Segment{Kind: "narration", Text: strings.Repeat("雨", deltas)}}}
	}})
	s := open(t, m)
	id := s.session("en")
	s.act(id, "r1", "start_session", "{}")
	answer := s.formAnswer(id, "Mira")
	still := s.dial(id) // never reads
	still.send(`{"type":"hello"}`)
	drip := s.dial(id)
	drip.send(`{"type":"hello"}`)
	stop := make(chan struct{})
	var dripping sync.WaitGroup
	dripping.Add(1)
	go func() {
		defer dripping.Done()
		one := make([]byte, 1)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_ = drip.ws.NetConn().SetReadDeadline(time.Now().Add(time.Second))
				if _, err := drip.ws.NetConn().Read(one); err != nil {
					return
				}
			}
		}
	}()
	var wg sync.WaitGroup
	var readers []*socketClient
	for range 20 {
		c := s.dial(id)
		c.send(`{"type":"hello"}`)
		if c.next()["type"] != "welcome" {
			t.Fatal("no welcome")
		}
		readers = append(readers, c)
	}
	before := asked.Load()
	readers[0].send(`{"type":"submit_actions","requestId":"r2","payload":{"actions":[` + answer + `]}}`)
	for _, c := range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			text := ""
			c.until(func(m map[string]any) bool {
				e, _ := m["event"].(map[string]any)
				if p, ok := e["payload"].(map[string]any); ok && e["type"] == "narrative.delta" {
					d, _ := p["delta"].(string)
					text += d
				}
				if m["type"] == "system.reset" {
					t.Errorf("a reader was told to start over: %v", m)
				}
				return holdsEvent("narrative.completed")(m)
			})
			if text != strings.Repeat("雨", deltas) {
				t.Errorf("a reader got %d of %d characters", len([]rune(text)), deltas)
			}
		}()
	}
	wg.Wait()
	if n := asked.Load() - before; n != 1 {
		t.Errorf("the page was asked for %d times", n)
	}
	close(s.down)
	done := make(chan struct{})
	go func() { s.http.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		t.Error("the server does not go down")
	}
	close(stop)
	_ = drip.ws.Close()
	dripping.Wait()
}

package play

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// hello greets and gives the number of the newest frame.
func (c *socketClient) hello() int {
	c.t.Helper()
	c.send(`{"type":"hello"}`)
	m := c.next()
	if m["type"] != "welcome" {
		c.t.Fatalf("instead of a welcome: %v", m)
	}
	return int(m["seq"].(float64))
}

// Rule BL-10: of two windows that edit one entry of the lorebook from the same version one is taken; the other gets a conflict with
// what the first one wrote, and nothing of it is lost: sent again from where it stands now it is taken too.
// Rule TP:948: editing over HTTP writes the player's own entry.
func TestTwoWindowsAtOneEntry(t *testing.T) {
	var late atomic.Bool
	m := slowGame(&late)
	s := open(t, m)
	p := asked{site: s, id: s.played("zh-CN")}
	a, b := s.dial(p.id), s.dial(p.id)
	seq := a.hello()
	b.hello()
	edit := func(request, base, text string) string {
		return `{"type":"edit_lore","requestId":"` + request + `"` + base + `,"payload":{"entryId":"潮汐","entry":{"content":"` + text + `","keys":["退潮"],"strategy":"selective"}}}`
	}
	at := func(seq int) string { return fmt.Sprintf(`,"base":%d`, seq) }
	a.send(edit("a1", at(seq), "退潮时钟会响。"))
	taken := a.until(isAck("a1", "accepted"))
	if taken["type"] == "error" {
		t.Fatalf("the first edit: %v", taken)
	}
	shown := b.until(holdsEvent("lorebook.changed"))
	before := s.version(p.id)
	b.send(edit("b1", at(seq), "涨潮时钟会响。"))
	conflict := b.until(isAck("b1", "accepted"))
	if conflict["code"] != "conflict" || !reflect.DeepEqual(conflict["frames"], []any{shown}) || s.version(p.id) != before {
		t.Fatalf("the second edit: %v; the socket showed %v", conflict, shown)
	}
	if got := eventIn(shown, "lorebook.changed")["payload"].(map[string]any)["entry"].(map[string]any); got["content"] != "退潮时钟会响。" || got["id"] != "潮汐" {
		t.Errorf("what the first one wrote: %v", got)
	}
	b.send(edit("b2", at(int(shown["seq"].(float64))), "涨潮时钟会响。"))
	if ack := b.until(isAck("b2", "accepted")); ack["type"] == "error" {
		t.Errorf("from where it stands: %v", ack)
	}
	a.until(holdsEvent("lorebook.changed"))

	// While a command is under way: what names a version that it has gone beyond is refused at once, what names none waits.
	seq = int(a.until(holdsEvent("lorebook.changed"))["seq"].(float64))
	a.send(`{"type":"submit_actions","requestId":"slow"` + at(seq) + `,"payload":{"actions":[{"text":"我慢慢走。"}]}}`)
	<-m.Gate("page").Reached()
	b.send(edit("b3", at(seq), "钟没有响。"))
	if got := b.until(isAck("b3", "accepted")); got["code"] != "conflict" {
		t.Errorf("behind a turn: %v", got)
	}
	b.send(edit("b4", "", "钟没有响。"))
	if got := b.until(isAck("b4", "queued")); got["type"] == "error" {
		t.Errorf("without a base: %v", got)
	}
	m.Gate("page").Open()
	m.Gate("end").Open()
	if got := b.until(isAck("b4", "accepted")); got["type"] == "error" {
		t.Errorf("after the turn: %v", got)
	}
	p.want("PUT", "/lorebook/灯", `{"requestId":"h1","entry":{"content":"灯塔没有人。","strategy":"constant","enabled":false}}`, http.StatusOK, "")
	p.want("PUT", "/lorebook/灯", `{"requestId":"h1","entry":{"content":"灯塔没有人。","strategy":"constant","enabled":false}}`, http.StatusOK, "")
	p.want("PUT", "/lorebook/灯", `{"requestId":"h2","entry":{"content":"","strategy":"constant"}}`, http.StatusBadRequest, "invalid_lore")
	p.want("PUT", "/lorebook/灯", `{"requestId":"h3","entry":{"content":"x","strategy":"constant","owner":"world"}}`, http.StatusBadRequest, "invalid_action_request")
	b.send(`{"type":"edit_lore","requestId":"b5","payload":{"entry":{}}}`)
	if got := b.until(isAck("b5", "accepted")); got["code"] != "invalid_action_request" || fields(got) != "payload.entryId" {
		t.Errorf("of no entry: %v", got)
	}
	book, _ := json.Marshal(p.want("GET", "/lorebook", "", http.StatusOK, "")["items"])
	want := `[{"content":"钟没有响。","enabled":true,"id":"潮汐","insertionOrder":0,"keys":["退潮"],"strategy":"selective"},` +
		`{"content":"灯塔没有人。","enabled":false,"id":"灯","insertionOrder":0,"keys":[],"strategy":"constant"}]`
	if string(book) != want {
		t.Errorf("the book:\n got %s\nwant %s", book, want)
	}
}

// Rule BL-10: who switches to another session while an answer streams leaves nothing behind there: no event of the one session is
// written or drawn in the other, also where numbers, request ids and lines are the same.
func TestASwitchWhileAnAnswerStreams(t *testing.T) {
	var late atomic.Bool
	m := slowGame(&late)
	s := open(t, m)
	here, there := s.played("zh-CN"), s.played("zh-CN")
	a, b := s.dial(here), s.dial(here)
	seq := a.hello()
	b.send(`{"type":"hello"}`)
	first := b.next()
	line := func(request, base, text string) string {
		return `{"type":"submit_actions","requestId":"` + request + `"` + base + `,"payload":{"actions":[{"text":"` + text + `"}]}}`
	}
	a.send(line("a1", fmt.Sprintf(`,"base":%d`, seq), "我慢慢走。"))
	<-m.Gate("page").Reached()
	b.until(func(m map[string]any) bool { // the answer streams into this window
		e, _ := m["event"].(map[string]any)
		return e["type"] == "narrative.delta"
	})
	b.send(line("same", "", "我去敲钟。"))
	if got := b.until(isAck("same", "queued")); got["type"] == "error" {
		t.Fatalf("behind the answer: %v", got)
	}
	_ = b.ws.Close()

	// The page takes its numbers along: they are of another life, and the session starts over.
	b = s.dial(there)
	b.send(fmt.Sprintf(`{"type":"hello","lastSeq":%d,"lastId":%q,"incarnation":%q}`, int(first["seq"].(float64)), first["lastId"], first["incarnation"]))
	welcome := b.until(func(m map[string]any) bool { return m["type"] == "welcome" })
	if welcome["resumed"] != false || welcome["running"] != nil {
		t.Fatalf("in the other session: %v", welcome)
	}
	var drawn []map[string]any
	b.send(line("same", "", "我去敲钟。"))
	b.until(func(m map[string]any) bool {
		drawn = append(drawn, m)
		return holdsEvent("execution.completed")(m)
	})
	m.Gate("page").Open()
	m.Gate("end").Open()
	p := s.node.Join(here)
	p.Until("both lines are played", func() bool {
		_, done := p.View.State.Session.FindRequest("seat-1", "same")
		return done && p.View.State.Session.Open == nil && p.View.State.Session.CompletedPlayerTurns == 2
	})
	p.Leave()
	b.send(`{"type":"ping"}`)
	b.until(func(m map[string]any) bool {
		drawn = append(drawn, m)
		return m["type"] == "pong"
	})

	lines := map[string][]string{}
	executions := map[string]string{} // to the session whose log begins it
	for _, id := range []string{here, there} {
		for r, err := range s.store.ReadStream(t.Context(), "session-"+id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			msg, err := events.Decode(r.Event)
			if err != nil {
				t.Fatal(err)
			}
			switch e := msg.(type) {
			case *eventsv1.ActionsSubmitted:
				if len(e.Actions) > 0 && e.Actions[0].Interaction == nil {
					lines[id] = append(lines[id], e.Actions[0].Text)
				}
			case *eventsv1.ExecutionStarted:
				executions[e.ExecutionId] = id
			}
			if of, ok := executions[r.Metadata.GetCausationId()]; ok && of != id {
				t.Errorf("%s of an execution of %s stands in the log of %s", r.Type, of, id)
			}
		}
	}
	if got := lines[here]; !reflect.DeepEqual(got, []string{"我慢慢走。", "我去敲钟。"}) {
		t.Errorf("lines of the first session: %q", got)
	}
	if got := lines[there]; !reflect.DeepEqual(got, []string{"我去敲钟。"}) {
		t.Errorf("lines of the other: %q", got)
	}
	for _, x := range drawn {
		text, _ := json.Marshal(x)
		if strings.Contains(string(text), "我慢慢走") {
			t.Errorf("drawn in the other session: %s", text)
		}
		for execution, of := range executions {
			if of == here && strings.Contains(string(text), execution) {
				t.Errorf("of an execution of the first session: %s", text)
			}
		}
	}
}

// Rule TP:1188: a stream that its client closes cancels nothing that was accepted: the turn is told and committed.
func TestAStreamThatIsClosed(t *testing.T) {
	var late atomic.Bool
	m := slowGame(&late)
	s := open(t, m)
	id := s.played("zh-CN")
	ctx, leave := context.WithCancel(t.Context())
	body := `{"requestId":"gone","type":"submit_actions","sessionId":"` + id + `","payload":{"actions":[{"text":"我慢慢走。"}]}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.http.URL+"/api/actions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	<-m.Gate("page").Reached()
	leave()
	_ = res.Body.Close()
	m.Gate("page").Open()
	m.Gate("end").Open()
	p := s.node.Join(id)
	p.Until("the turn is committed", func() bool {
		st := p.View.State.Session
		return st.Open == nil && st.Last != nil && st.Last.RequestID == "gone" && st.Last.End == projections.EndCommitted
	})
	p.Leave()
	if got := p.View.State.Session.CompletedPlayerTurns; got != 1 {
		t.Errorf("%d turns", got)
	}
}

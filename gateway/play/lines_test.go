package play

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

// slowGame plays the bundled game. A page for a line that holds 慢 waits at the gate "page", goes on with one more sentence, and
// waits at the gate "end"; once late is set, the guide waits at the gate "late", when the page is told.
func slowGame(late *atomic.Bool) *scripted.Model {
	bundled := scripted.BundledGame()
	return scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		said := ""
		for _, m := range req.Messages {
			if m.Role == model.User {
				said = m.Content
			}
		}
		switch {
		case req.Subject == "narrator" && strings.Contains(said, "慢"):
			return scripted.Reply{Steps: []scripted.Step{scripted.Segment{Kind: "narration", Text: "门开了。"}, scripted.Hold("page"), scripted.Segment{Kind: "narration", Text: "里面有光。"}, scripted.Hold("end")}}
		case req.Subject == "narrator" && strings.Contains(said, "喊"):
			return scripted.Reply{Steps: []scripted.Step{scripted.Segment{Kind: "narration", Text: "有人回答。"}}}
		case strings.HasPrefix(req.Subject, "guide") && late.Load():
			return scripted.Reply{Steps: append([]scripted.Step{scripted.Hold("late")}, bundled(req).Steps...)}
		}
		return bundled(req)
	}})
}

// reached returns when all lines that were queued before stand in the mailbox of the run: the session has told the turn when it
// answers, and the turn has told the run when it passes on what the run says next.
func (a asked) reached(m *scripted.Model, c *socketClient) {
	a.want("GET", "/view", "", 200, "")
	m.Gate("page").Pass()
	c.until(func(m map[string]any) bool {
		e, _ := m["event"].(map[string]any)
		payload, _ := e["payload"].(map[string]any)
		delta, _ := payload["delta"].(string)
		return strings.Contains(delta, "光")
	})
}

func isAck(requestID, status string) func(map[string]any) bool {
	return func(m map[string]any) bool {
		return m["type"] == "error" || m["type"] == "ack" && m["requestId"] == requestID && m["status"] == status
	}
}

// A line into a running turn, from another connection: it stands in the turn, behind the line that began it. With nothing
// running it is an action; when nobody listens any more, or the turn is stopped, its sender hears so and nothing is written.
func TestLinesIntoARunningTurn(t *testing.T) {
	var late atomic.Bool
	m := slowGame(&late)
	s := open(t, m)
	a := asked{site: s, id: s.played("zh-CN")}
	invite := a.want("POST", "/seats", `{"name":"二号"}`, http.StatusCreated, "")["invite"].(string)
	token := a.want("POST", "/seats/take", `{"invite":"`+invite+`"}`, 200, "")["seatToken"].(string)
	first, other := s.dial(a.id), s.dial(a.id)
	first.send(`{"type":"hello"}`)
	other.send(`{"type":"hello","token":"` + token + `"}`)
	first.next()
	other.next()

	first.send(`{"type":"submit_actions","requestId":"slow","payload":{"actions":[{"text":"我慢慢走。"}]}}`)
	<-m.Gate("page").Reached()
	other.send(`{"type":"interject","requestId":"o1","payload":{"text":"我喊一声：龍！"}}`)
	if ack := other.until(isAck("o1", "queued")); ack["type"] == "error" {
		t.Fatalf("a line: %v", ack)
	}
	// The same line over HTTP and the socket is one line; both senders hear of it.
	type answer struct {
		status int
		body   map[string]any
	}
	steered := make(chan answer, 1)
	go func() {
		status, body := s.call("POST", "/api/sessions/"+a.id+"/steer", `{"message":"我也喊。","requestId":"h1"}`)
		steered <- answer{status, body}
	}()
	first.send(`{"type":"interject","requestId":"h1","payload":{"text":"我也喊。"}}`)
	first.until(isAck("h1", "queued"))
	a.reached(m, first)
	m.Gate("end").Pass()
	told := first.until(isAck("h1", "accepted"))
	if told["type"] == "error" || other.until(isAck("o1", "accepted"))["type"] == "error" {
		t.Fatalf("told: %v", told)
	}
	if got := <-steered; got.status != 200 || got.body["executionId"] != told["executionId"] || got.body["version"] == nil {
		t.Errorf("over HTTP: %d %v", got.status, got.body)
	}
	messages := a.want("GET", "/view", "", 200, "")["messages"].([]any)
	var rows []string
	for _, x := range messages[len(messages)-4:] {
		row := x.(map[string]any)
		rows = append(rows, fmt.Sprint(row["role"], " ", row["source"], " ", row["text"]))
		if row["turnId"] != told["executionId"] {
			t.Errorf("a row of another turn: %v", row)
		}
	}
	// Rule TP:991: an interjection is a row of the turn, with source player-interjection and role user.
	if got := strings.Join(rows, "|"); got != "user player 我慢慢走。|user player-interjection 我喊一声：龍！|user player-interjection 我也喊。|assistant story 门开了。\n\n里面有光。\n\n有人回答。" {
		t.Errorf("the turn: %s", got)
	}

	turns := func() any { return a.want("GET", "", "", 200, "")["completedPlayerTurns"] }
	before := turns()
	if got := a.want("POST", "/steer", `{"message":"有人吗？","requestId":"idle"}`, 200, ""); got["executionId"] == "" {
		t.Errorf("with nothing running: %v", got)
	}
	p := s.node.Join(a.id)
	p.Until("the line is played", func() bool {
		return p.View.State.Session.Open == nil && float64(p.View.State.Session.CompletedPlayerTurns) == before.(float64)+1
	})
	p.Leave()

	first.send(`{"type":"submit_actions","requestId":"slow2","payload":{"actions":[{"text":"再慢一点。"}]}}`)
	<-m.Gate("page").Reached()
	late.Store(true)
	m.Gate("page").Pass()
	m.Gate("end").Pass()
	<-m.Gate("late").Reached()
	at := s.version(a.id)
	// Rule TP:565: once no runtime of the turn reads lines any more, a line is refused instead of taken and lost.
	a.want("POST", "/steer", `{"message":"等等！","requestId":"late"}`, http.StatusConflict, "interjection_too_late")
	other.send(`{"type":"interject","requestId":"late","payload":{"text":"等等！"}}`)
	if got := other.until(isAck("late", "accepted")); got["code"] != "interjection_too_late" || s.version(a.id) != at {
		t.Errorf("too late: %v", got)
	}
	late.Store(false)
	m.Gate("late").Open()
	first.until(isAck("slow2", "accepted"))
	p = s.node.Join(a.id)
	p.Settled()
	p.Leave()

	first.send(`{"type":"submit_actions","requestId":"slow3","payload":{"actions":[{"text":"慢慢来。"}]}}`)
	<-m.Gate("page").Reached()
	other.send(`{"type":"interject","requestId":"lost","payload":{"text":"我喊。"}}`)
	other.until(isAck("lost", "queued"))
	a.want("POST", "/abort", "", 200, "")
	if got := other.until(isAck("lost", "accepted")); got["code"] != "interjection_lost" {
		t.Errorf("of a turn that was stopped: %v", got)
	}
	for _, c := range []struct{ body, code, about string }{
		{`{"message":"  "}`, "invalid_action", "actions[0].text"},
		{`{"message":7}`, "invalid_action_request", "body.message"},
		{`{"message":"喂","seatId":"nobody"}`, "invalid_action", "actions[0].seatId"},
		{`{"message":"喂","characterId":"影子"}`, "invalid_action", "actions[0].characterId"},
	} {
		if got := fields(a.want("POST", "/steer", c.body, http.StatusBadRequest, c.code)); got != c.about {
			t.Errorf("%s: %s", c.body, got)
		}
	}
	if status, body := s.call("POST", "/api/actions", `{"requestId":"x","type":"interject","sessionId":"`+a.id+`","payload":{"text":"喂"}}`); status != 400 || body["code"] != "unknown_type" {
		t.Errorf("a stream of a line: %d %v", status, body)
	}
}

// Rule BL-10: of two windows at one version one command is taken; the other gets a conflict with the newer events, keeps its
// line and sends it again. Without a base it waits its turn. Nothing of it is shown in another session.
func TestTwoWindows(t *testing.T) {
	var late atomic.Bool
	m := slowGame(&late)
	s := open(t, m)
	id := s.played("zh-CN")
	elsewhere := s.dial(s.played("zh-CN"))
	elsewhere.send(`{"type":"hello"}`)
	elsewhere.next()
	a, b := s.dial(id), s.dial(id)
	a.send(`{"type":"hello"}`)
	b.send(`{"type":"hello"}`)
	seq := int(a.next()["seq"].(float64))
	b.next()
	line := func(request, base, text string) string {
		return `{"type":"submit_actions","requestId":"` + request + `"` + base + `,"payload":{"actions":[{"text":"` + text + `"}]}}`
	}
	base := fmt.Sprintf(`,"base":%d`, seq)
	a.send(line("a1", base, "我慢慢走。"))
	<-m.Gate("page").Reached()
	b.send(line("b1", base, "我去敲钟。"))
	var seen []any
	watch := func(fits func(map[string]any) bool) map[string]any {
		return b.until(func(m map[string]any) bool {
			if m["type"] == "frame" {
				seen = append(seen, m)
			}
			return fits(m)
		})
	}
	conflict := watch(isAck("b1", "accepted"))
	newer, _ := conflict["frames"].([]any)
	if conflict["code"] != "conflict" || len(newer) == 0 {
		t.Fatalf("a stale base: %v", conflict)
	}
	b.send(line("b2", "", "我去敲钟。"))
	if ack := watch(isAck("b2", "queued")); ack["n"] == nil {
		t.Errorf("without a base: %v", ack)
	}
	m.Gate("page").Pass()
	m.Gate("end").Pass()
	if ack := watch(isAck("b2", "accepted")); ack["type"] == "error" {
		t.Errorf("after the turn: %v", ack)
	}
	ended := 0
	watch(func(m map[string]any) bool {
		return holdsEvent("execution.completed")(m) && eventIn(m, "execution.completed")["requestId"] == "b2"
	})
	var lines []string
	for _, f := range seen {
		for _, e := range f.(map[string]any)["events"].([]any) {
			e := e.(map[string]any)
			switch e["type"] {
			case "execution.completed":
				ended++
			case "actions.accepted":
				lines = append(lines, fmt.Sprint(e["requestId"]))
			}
		}
	}
	if ended != 2 || !reflect.DeepEqual(lines, []string{"a1", "b2"}) {
		t.Errorf("%d ends, lines of %v", ended, lines)
	}
	if len(seen) < len(newer) || !reflect.DeepEqual(seen[:len(newer)], newer) {
		t.Errorf("the conflict brought %v, the socket showed %v", newer, seen)
	}
	elsewhere.send(`{"type":"ping"}`)
	if m := elsewhere.next(); m["type"] != "pong" {
		t.Errorf("another session was shown %v", m)
	}
}

package terminal

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	"github.com/covel/covel/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newGame is a game on a window, whose server never answers: what it says is handed in.
func newGame(t *testing.T, locale string) (*Game, *window) {
	t.Helper()
	api := client.New("http://127.0.0.1:1")
	link := api.Connect(t.Context(), "s", client.Options{})
	t.Cleanup(func() {
		link.Close()
		api.Close()
	})
	screen, w := live(40, 24)
	return NewGame(link, []client.Spec{{PluginID: "x", Spec: []byte(sheet)}}, screen, locale, false), w
}

func event(typ, request, turn string, payload any) client.Event {
	b, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return client.Event{Type: typ, RequestID: request, TurnID: turn, Payload: b}
}

func (g *Game) frame(seq uint64, events ...client.Event) {
	g.update(client.Update{Frame: &client.Frame{Seq: seq, Events: events}})
}

func (g *Game) tell(execution string, n uint64, typ string, payload any) {
	g.update(client.Update{Transient: &client.Transient{ExecutionID: execution, N: n, Event: event(typ, "", execution, payload)}})
}

func playingView() *play.View {
	return &play.View{
		Seq: 5, Session: play.Session{ID: "s", WorldName: "水落", Status: projections.StatusActive, Phase: projections.PhasePlaying, CompletedPlayerTurns: 2},
		Messages: []play.Message{{ID: "m1", Role: "assistant", Source: "story", Text: "A first page."}}, Execution: play.Execution{State: "completed"},
	}
}

func (g *Game) welcomed5() {
	g.update(client.Update{Welcome: &client.Welcome{Seq: 5, View: playingView()}})
}

// page is a story message with somebody who speaks.
var page = play.Message{
	ID: "m2", Role: "assistant", Source: "story", Text: "The rain has stopped.\n\n“你来了。”",
	Segments: []projections.Segment{{Kind: "narration", Text: "The rain has stopped."}, {Kind: "dialogue", Speaker: "陆青云", Text: "“你来了。”"}},
}

func TestAPageStreamsAndIsThenShownWithItsSpeakers(t *testing.T) {
	g, w := newGame(t, "en")
	g.welcomed5()
	id := g.act(client.Action{Kind: "say", Text: "I look."})
	if g.idle() {
		t.Error("idle with a command under way")
	}
	g.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Queued, N: 1}})
	g.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: 7}})
	g.frame(7, event("actions.accepted", id, "t1", map[string]any{"message": play.Message{ID: "p1", Role: "user", Text: "I look."}}), event("execution.started", id, "t1", nil))
	g.tell("t1", 1, "runtime.started", map[string]any{"runtimeId": "narrator", "label": "Tells the story, page by page, and answers", "stage": "narrative"})
	g.tell("t1", 2, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": "A wrong begin"})
	g.tell("t1", 3, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": "The rain has", "reset": true})
	g.tell("t1", 3, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": " twice"}) // a number that was seen
	g.tell("t1", 4, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": " stopped.\n\n“你来了。”"})
	if !strings.HasSuffix(w.String(), "The rain has stopped.\n\n“你来了。”") || strings.Contains(w.String(), "wrong") {
		t.Errorf("while it streams:\n%s", w)
	}
	g.tell("t1", 5, "runtime.completed", map[string]any{"runtimeId": "narrator"})
	g.tell("t1", 6, "runtime.started", map[string]any{"runtimeId": "guide", "label": "Sums up", "stage": "post-turn"})
	if !strings.HasSuffix(w.String(), "“你来了。”\n\nAfter the page · Sums up") {
		t.Errorf("after the page:\n%s", w)
	}
	g.tell("t1", 7, "turn.settling", nil)
	g.frame(14,
		event("narrative.completed", id, "t1", map[string]any{"message": page}),
		event("plugin-data.changed", id, "t1", map[string]any{"pluginId": "x", "changes": []any{map[string]any{"namespace": "n", "key": "a", "operation": "set", "value": map[string]any{"place": "渡口", "lines": []any{map[string]any{"text": "Who is there?"}}}}}}),
		event("execution.completed", id, "t1", map[string]any{"committed": true}))
	want := "水落 · turn 2\nsession s\n/help tells what you can type.\n\nA first page.\n\n> I look.\n\nThe rain has stopped.\n\n陆青云: “你来了。”\n\nWhere\n渡口\n  1. Who is there?"
	if got := w.String(); got != want {
		t.Errorf("the window shows\n%s\nwant\n%s", got, want)
	}
	if !g.idle() || !g.outcome.ok() || len(g.suggestions) != 1 {
		t.Errorf("idle %v, %+v, %q", g.idle(), g.outcome, g.suggestions)
	}
}

func TestATurnThatDoesNotCommit(t *testing.T) {
	g, w := newGame(t, "zh-CN")
	g.welcomed5()
	id := g.act(client.Action{Kind: "say", Text: "我看看。"})
	g.typed[id] = true
	g.frame(7, event("actions.accepted", id, "t1", map[string]any{"message": play.Message{ID: "p1", Role: "user", Text: "我看看。"}}), event("execution.started", id, "t1", nil))
	g.tell("t1", 1, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": "雨停了"})
	g.frame(8, event("execution.completed", id, "t1", map[string]any{
		"committed": false, "error": "the model failed", "retry": map[string]any{"type": "retry_turn", "payload": map[string]any{}}, "input": map[string]any{"text": "我看看。"}, "draft": map[string]any{"text": "雨停了"},
	}))
	want := "水落 · 第 2 回合\n会话 s\n输入 /help 查看可用的命令。\n\nA first page.\n\n\n这一回合没有完成：the model failed\n【未能保留的草稿，不属于故事】\n雨停了\n【草稿完】\n你的话已保留：我看看。\n输入 /retry 重新运行。"
	if got := w.String(); got != want {
		t.Errorf("the window shows\n%s\nwant\n%s", got, want)
	}
	if g.outcome.ok() || g.retry == nil || !g.idle() {
		t.Errorf("%+v %+v", g.outcome, g.retry)
	}
	g.tryAgain()
	if g.idle() {
		t.Error("the retry is not under way")
	}
}

func TestANewSessionIsStarted(t *testing.T) {
	g, _ := newGame(t, "en")
	v := playingView()
	v.Messages, v.Session.Phase, v.Session.CompletedPlayerTurns, v.Execution = nil, projections.PhaseSetup, 0, play.Execution{State: "idle"}
	g.update(client.Update{Welcome: &client.Welcome{Seq: 1, View: v}})
	if !g.sent || len(g.waiting) != 1 {
		t.Error("it was not started")
	}
	form := func(turn string) client.Event {
		return event("interaction.requested", "start", turn, map[string]any{"interaction": play.Interaction{
			TurnID: turn, InteractionID: "f", Type: "form", Status: "open", Block: projections.RawJSON(`{"title":"Who?","fields":[{"type":"text","name":"name","label":"Name"}]}`),
		}})
	}
	g.frame(3, form("t1"))
	g.frame(4, form("t2")) // the earlier one is void
	if q, ok := g.question(); !ok || len(g.open) != 1 || q.TurnID != "t2" {
		t.Errorf("%+v", g.open)
	}
	g.skipped[g.open[0].InteractionRef] = true
	if _, ok := g.question(); ok {
		t.Error("a question that was put off is asked")
	}
	g.frame(5, event("interaction.submitted", "start", "t3", map[string]any{"results": []any{map[string]any{"turnId": "t2", "interactionId": "f"}}}))
	if len(g.open) != 0 {
		t.Errorf("%+v", g.open)
	}
}

// A connection that drops and comes back: resumed in the middle of a page, or with a whole view after the end.
func TestComingBack(t *testing.T) {
	g, w := newGame(t, "en")
	g.welcomed5()
	id := g.act(client.Action{Kind: "say", Text: "I look."})
	g.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: 7}})
	g.frame(7, event("execution.started", id, "t1", nil))
	g.tell("t1", 1, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": "The rain"})
	g.update(client.Update{Lost: errGone})
	g.update(client.Update{Lost: errGone})
	if strings.Contains(w.String(), "The rain") || strings.Count(w.String(), "dropped") != 1 {
		t.Errorf("after the drop:\n%s", w)
	}
	g.update(client.Update{Welcome: &client.Welcome{Seq: 7, Resumed: true, Running: &play.Running{ExecutionID: "t1", N: 3, Text: "The rain has", TextRuntimeID: "narrator"}}})
	g.tell("t1", 4, "narrative.delta", map[string]any{"runtimeId": "narrator", "delta": " stopped."})
	if !strings.HasSuffix(w.String(), "Connected again.\nThe rain has stopped.") {
		t.Errorf("resumed:\n%s", w)
	}
	g.update(client.Update{Lost: errGone})
	v := playingView()
	v.Seq, v.Messages = 14, append(v.Messages, page)
	g.update(client.Update{Welcome: &client.Welcome{Seq: 14, View: v}})
	if !g.idle() || !g.outcome.ok() {
		t.Errorf("idle %v, %+v", g.idle(), g.outcome)
	}
	if strings.Count(w.String(), "A first page.") != 1 || !strings.Contains(w.String(), "陆青云: “你来了。”") {
		t.Errorf("with a view:\n%s", w)
	}
}

var errGone = &client.Refusal{Code: "gone", Message: "gone"}

// A command that was sent again after a drop is not taken for ended before its frames were shown.
func TestARepeatedAck(t *testing.T) {
	g, _ := newGame(t, "en")
	g.welcomed5()
	id := g.act(client.Action{Kind: "say", Text: "I look."})
	g.update(client.Update{Welcome: &client.Welcome{Seq: 5, Resumed: true}})
	g.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: 7, Repeat: true}})
	if g.idle() {
		t.Error("idle before the frames")
	}
	g.frame(7, event("execution.started", id, "t1", nil))
	g.frame(14, event("execution.completed", id, "t1", map[string]any{"committed": true}))
	if !g.idle() || !g.outcome.ok() {
		t.Errorf("%v %+v", g.idle(), g.outcome)
	}
	again := g.act(client.Action{Kind: "say", Text: "I look."})
	g.update(client.Update{Ack: &client.Ack{RequestID: again, Status: client.Accepted, Version: 9, Repeat: true}})
	if !g.idle() || !g.outcome.ok() {
		t.Errorf("a repeat of what has ended: %v %+v", g.idle(), g.outcome)
	}
}

func TestWhatOthersDo(t *testing.T) {
	g, w := newGame(t, "en")
	g.welcomed5()
	g.frame(7, event("actions.accepted", "theirs", "t1", map[string]any{"message": play.Message{ID: "p1", Role: "user", Text: "I come in.\nQuietly."}}), event("execution.started", "theirs", "t1", nil))
	if g.idle() {
		t.Error("idle while another's turn runs")
	}
	g.frame(9, event("execution.completed", "theirs", "t1", map[string]any{"committed": true}))
	g.frame(10, event("narrative.completed", "x", "t", "nonsense"), event("weather.changed", "x", "t", nil))
	if !g.idle() || !strings.Contains(w.String(), "> I come in.\n> Quietly.") {
		t.Errorf("%v\n%s", g.idle(), w)
	}
	g.update(client.Update{Refusal: &client.Refusal{Code: "no_running_turn", Message: "none"}})
	g.update(client.Update{Gone: errGone})
	if err := g.settle(t.Context()); err == nil {
		t.Error("a session that is gone settles")
	}
}

package terminal

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/events"
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

// newConsole plays on a window; what is typed is handed in.
func newConsole(t *testing.T, locale string) (*console, *window) {
	g, w := newGame(t, locale)
	return &console{Game: g}, w
}

func (g *Game) only(t *testing.T) string {
	t.Helper()
	if len(g.waiting) != 1 {
		t.Fatalf("%d requests are under way", len(g.waiting))
	}
	for id := range g.waiting {
		return id
	}
	return ""
}

// twoTurns is a view with an opening and one turn on it.
func twoTurns(seq events.Version, head string) *play.View {
	v := playingView()
	v.Messages[0].TurnID = "t0"
	v.Tree = play.Tree{Head: head, Turns: []play.Turn{{TurnID: "t1", OnPath: head == "t1", Takes: []string{"t1"}}}}
	if v.Seq = seq; head == "t1" {
		m := page
		m.TurnID = "t1"
		v.Messages = append(v.Messages, play.Message{ID: "p1", TurnID: "t1", Role: "user", Source: "player", Text: "我看看。"}, m)
	}
	return v
}

// A head move brings a new view on the same connection, before or after its acknowledgement: the page that is the newest now
// is shown, and a page that is gone to again is shown again.
func TestTakingATurnBackAndGoingForward(t *testing.T) {
	for name, ackFirst := range map[string]bool{"acknowledged first": true, "the view first": false} {
		t.Run(name, func(t *testing.T) {
			c, w := newConsole(t, "zh-CN")
			c.update(client.Update{Welcome: &client.Welcome{Seq: 9, View: twoTurns(9, "t1")}})
			at := events.Version(9)
			goes := func(command, head string) {
				t.Helper()
				c.line(command)
				id := c.only(t)
				at++
				c.frame(uint64(at), event("head.moved", id, "", map[string]any{"to": 5}))
				if ackFirst {
					c.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: uint64(at)}})
					if c.idle() {
						t.Errorf("%s: idle before the view", command)
					}
				}
				c.update(client.Update{Welcome: &client.Welcome{Seq: uint64(at), View: twoTurns(at, head)}})
				if !ackFirst {
					if c.idle() {
						t.Errorf("%s: idle before the acknowledgement", command)
					}
					c.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: uint64(at)}})
				}
				if !c.idle() || !c.outcome.ok() {
					t.Errorf("%s: idle %v, %+v", command, c.idle(), c.outcome)
				}
			}
			c.line("/redo")
			if !c.idle() || !strings.HasSuffix(w.String(), "这里没有撤回过的回合。") {
				t.Errorf("nothing was taken back:\n%s", w)
			}
			goes("/undo", "")
			if !strings.HasSuffix(w.String(), "【故事现在停在这里】\nA first page.") {
				t.Errorf("taken back:\n%s", w)
			}
			if got := forward(c.tree); got != "t1" {
				t.Errorf("forward is %q", got)
			}
			goes("/redo", "t1")
			if got := w.String(); !strings.HasSuffix(got, "> 我看看。\n\nThe rain has stopped.\n\n陆青云：“你来了。”") || strings.Count(got, "停在这里") != 1 {
				t.Errorf("gone forward:\n%s", got)
			}
		})
	}
}

func TestAMoveThatIsRefused(t *testing.T) {
	c, w := newConsole(t, "en")
	c.welcomed5()
	c.line("/undo")
	c.update(client.Update{Refusal: &client.Refusal{RequestID: c.only(t), Code: "nothing_to_undo", Message: "there is nothing to undo"}})
	if !c.idle() || len(c.moving) != 0 || !strings.HasSuffix(w.String(), "Not accepted: there is nothing to undo") {
		t.Errorf("idle %v, moving %v\n%s", c.idle(), c.moving, w)
	}
}

// The newest turn is told anew: the view that comes has a running turn, whose page follows.
func TestTellingATurnAnew(t *testing.T) {
	c, w := newConsole(t, "en")
	c.update(client.Update{Welcome: &client.Welcome{Seq: 9, View: twoTurns(9, "t1")}})
	c.line("/again")
	id := c.only(t)
	v := twoTurns(12, "")
	v.Execution.State = "running"
	c.update(client.Update{Ack: &client.Ack{RequestID: id, Status: client.Accepted, Version: 12, ExecutionID: "t2"}})
	c.update(client.Update{Welcome: &client.Welcome{Seq: 12, View: v, Running: &play.Running{ExecutionID: "t2"}}})
	if c.idle() {
		t.Error("idle while it is told")
	}
	c.line("/undo") // waits for nothing: it is refused here
	take := play.Message{ID: "m3", TurnID: "t2", Role: "assistant", Source: "story", Text: "It rains on."}
	c.frame(16, event("narrative.completed", id, "t2", map[string]any{"message": take}),
		event("tree.changed", id, "t2", play.Tree{Head: "t2", Turns: []play.Turn{{TurnID: "t1", Takes: []string{"t1", "t2"}}, {TurnID: "t2", OnPath: true, Takes: []string{"t1", "t2"}}}}),
		event("execution.completed", id, "t2", map[string]any{"committed": true}))
	if !c.idle() || !c.outcome.ok() || c.tree.Head != "t2" || len(c.tree.Turns) != 2 {
		t.Errorf("idle %v, %+v, %+v", c.idle(), c.outcome, c.tree)
	}
	got := w.String()
	for _, want := range []string{"[the story now stands here]", "A turn is running; wait for it, or /stop"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
	if !strings.HasSuffix(got, "It rains on.") {
		t.Errorf("the window shows\n%s", got)
	}
}

// A line said into a running turn is no request that the player waits for; where nothing runs it is their next line.
func TestSteering(t *testing.T) {
	c, w := newConsole(t, "zh-CN")
	c.welcomed5()
	c.line("/steer")
	if !c.idle() || !strings.HasSuffix(w.String(), "请在 /steer 后面写上要说的话。") {
		t.Errorf("without words:\n%s", w)
	}
	c.frame(7, event("execution.started", "theirs", "t1", nil))
	c.line("/steer 等等，先听！")
	if len(c.waiting) != 0 {
		t.Error("it is waited for")
	}
	c.update(client.Update{Refusal: &client.Refusal{RequestID: "x", Code: "interjection_too_late", Message: "这一回合不再听了"}})
	c.frame(9, event("message.appended", "x", "t1", map[string]any{"message": play.Message{ID: "i1", Role: "user", Source: "player-interjection", Text: "等等，先听！"}}),
		event("execution.completed", "theirs", "t1", map[string]any{"committed": true}))
	if !c.idle() || !strings.HasSuffix(w.String(), "没有被接受：这一回合不再听了\n> 等等，先听！") {
		t.Errorf("idle %v\n%s", c.idle(), w)
	}
	c.line("/steer 再走一步")
	if id := c.only(t); !c.typed[id] {
		t.Error("it is not the next line")
	}
}

// The help names every command that the console knows, in both languages.
func TestHelpNamesTheCommands(t *testing.T) {
	for _, texts := range []*texts{&english, &chinese} {
		for _, name := range []string{"/act", "/retry", "/stop", "/steer", "/undo", "/redo", "/again", "/skip", "/help", "/quit"} {
			if !strings.Contains(texts.help, "\n  "+name+" ") {
				t.Errorf("%s is not in %q", name, texts.help)
			}
		}
	}
}

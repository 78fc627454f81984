package projections_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/foldtest"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// story is a log that a test writes line by line.
type story struct {
	t   testing.TB
	log []events.Recorded
}

// in appends facts of an execution; "" is outside of executions. It gives the state after them.
func (s *story) in(execution string, msgs ...proto.Message) *story {
	s.t.Helper()
	for _, m := range msgs {
		n := len(s.log)
		ev, err := events.Encode(events.NewID("session-s1", "story", n, 0), &eventsv1.Metadata{CausationId: execution, LogicalTurn: 3}, m)
		if err != nil {
			s.t.Fatal(err)
		}
		s.log = append(s.log, events.Recorded{
			Event: ev, Stream: "session-s1", Version: events.Version(n + 1), Position: events.Position(n + 1), RecordedAt: at(n + 1),
		})
	}
	return s
}

func at(version int) time.Time { return foldtest.Epoch.Add(time.Duration(version) * time.Minute) }

func (s *story) state() projections.State {
	s.t.Helper()
	return fold(s.t, projections.State{}, s.log)
}

func begin(t testing.TB) *story {
	s := &story{t: t}
	return s.in("", &eventsv1.SessionCreated{
		SessionId: "s1", Incarnation: "i", WorldId: "w", WorldName: "潮汐镇", Locale: "zh-CN", Phase: "playing",
		Seats:         []*eventsv1.Seat{{Id: "seat-1", Role: "player", Control: "human", Primary: true}},
		SetupRuntimes: []*eventsv1.SetupRuntime{{RuntimeId: "b", Status: "pending", MaxAttempts: 2}, {RuntimeId: "a", Status: "pending"}},
	})
}

func say(execution, request, text string) *eventsv1.ActionsSubmitted {
	return &eventsv1.ActionsSubmitted{
		RequestId: request, Type: "submit_actions", SeatId: "seat-1", Rendered: text, ExecutionId: execution, InputMessageId: "m-" + execution,
		Actions: []*eventsv1.Action{{Kind: "say", Text: text}},
	}
}

func again(execution, typ string) *eventsv1.ActionsSubmitted {
	return &eventsv1.ActionsSubmitted{RequestId: "again-" + execution, Type: typ, ExecutionId: execution, InputMessageId: "m-" + execution}
}

func started(execution string) proto.Message {
	return &eventsv1.ExecutionStarted{ExecutionId: execution, Origin: "player", LogicalTurn: 3, LogicalTurnId: execution, Phase: "playing"}
}

func committed(execution string) proto.Message {
	return &eventsv1.ExecutionCommitted{ExecutionId: execution}
}

func failed(execution string) proto.Message {
	return &eventsv1.ExecutionFailed{ExecutionId: execution, Reason: "story-failed", Error: "坏了", Draft: []byte(`{"text":"雨停"}`)}
}

func aborted(execution string) proto.Message {
	return &eventsv1.ExecutionAborted{ExecutionId: execution, Reason: "aborted-by-player"}
}

func told(execution, text string) proto.Message {
	return &eventsv1.NarrativeAppended{MessageId: "m-" + execution + "-story", RuntimeId: "narrator", PluginId: "narrator", Kind: "story", Text: text}
}

// texts gives role and text of the kept rows.
func rowTexts(s projections.State) []string {
	var out []string
	for _, m := range s.History.Tail(s.History.Len()) {
		out = append(out, m.Role+": "+m.Text)
	}
	return out
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// "Player input saved separately is retained" (seed: turn-pipeline.txt, step 8); "does not record a player message again"
// (§2.1).
func TestDraft(t *testing.T) {
	lost := func(t *testing.T, end proto.Message) *story {
		return begin(t).in("e1", say("e1", "r1", "我去码头。"), started("e1"), told("e1", "雨"), end)
	}
	for name, end := range map[string]proto.Message{"failed": failed("e1"), "aborted": aborted("e1")} {
		t.Run("kept when "+name, func(t *testing.T) {
			s := lost(t, end).state()
			if s.Session.Draft == nil || s.Session.Draft.Rendered != "我去码头。" || s.Session.Input != nil || s.Session.Open != nil {
				t.Fatalf("draft %+v, input %+v, open %+v", s.Session.Draft, s.Session.Input, s.Session.Open)
			}
			expect(t, "rows", rowTexts(s), nil)
		})
		for _, typ := range []string{"retry_turn", "start_session"} {
			t.Run(name+", adopted by "+typ, func(t *testing.T) {
				log := lost(t, end).in("e2", again("e2", typ), started("e2"))
				s := log.state()
				in := s.Session.Input
				if in == nil || s.Session.Draft != nil || in.Rendered != "我去码头。" || in.ExecutionID != "e2" || in.RequestID != "again-e2" || in.Type != typ {
					t.Fatalf("input %+v, draft %+v", in, s.Session.Draft)
				}
				if !in.At.Equal(at(2)) || in.Version != 6 {
					t.Errorf("sent at %v, version %d", in.At, in.Version)
				}
				s = log.in("e2", told("e2", "雨停了。"), committed("e2")).state()
				expect(t, "rows", rowTexts(s), []string{"user: 我去码头。", "assistant: 雨停了。"})
				m := s.History.At(0)
				if m.ID != "m-e1" || m.TurnID != "e2" || s.History.Players != 1 {
					t.Errorf("row %+v, %d player rows", m, s.History.Players)
				}
				if s.Session.Draft != nil || s.Session.Input != nil {
					t.Errorf("draft %+v, input %+v", s.Session.Draft, s.Session.Input)
				}
			})
			t.Run(name+" twice, then adopted by "+typ, func(t *testing.T) {
				s := lost(t, end).in("e2", again("e2", typ), started("e2"), failed("e2")).
					in("e3", again("e3", typ), started("e3"), committed("e3")).state()
				expect(t, "rows", rowTexts(s), []string{"user: 我去码头。"})
			})
		}
		t.Run(name+", replaced by a new line", func(t *testing.T) {
			s := lost(t, end).in("e2", say("e2", "r2", "我等。"), started("e2"), committed("e2")).state()
			expect(t, "rows", rowTexts(s), []string{"user: 我等。"})
			if s.Session.Draft != nil {
				t.Errorf("draft %+v", s.Session.Draft)
			}
		})
	}
	t.Run("an end of another execution keeps nothing", func(t *testing.T) {
		s := begin(t).in("e1", say("e1", "r1", "x"), started("e1")).in("e9", failed("e9"), committed("e9")).state()
		if s.Session.Draft != nil || s.Session.Input == nil || s.Session.Open == nil {
			t.Errorf("draft %+v, input %+v, open %+v", s.Session.Draft, s.Session.Input, s.Session.Open)
		}
	})
	t.Run("a start without a line has no draft", func(t *testing.T) {
		s := begin(t).in("e1", again("e1", "start_session"), started("e1"), failed("e1")).state()
		if s.Session.Draft != nil || s.Session.Input != nil {
			t.Errorf("draft %+v, input %+v", s.Session.Draft, s.Session.Input)
		}
	})
}

// "History holds committed turns only": path events count at the commit of their execution and in no other case.
func TestPathEventsWaitForTheirCommit(t *testing.T) {
	data := func(v string) proto.Message {
		return &eventsv1.PluginDataChanged{PluginId: "guide", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "k", Value: []byte(v), Revision: 1}}}
	}
	value := func(s projections.State) string {
		rec, _ := s.PluginData.Get("guide", "n", "k")
		return string(rec.Value)
	}
	for _, c := range []struct {
		name string
		log  func(*story) *story
		want string
	}{
		{"before", func(s *story) *story { return s.in("e1", data("1")) }, ""},
		{"committed", func(s *story) *story { return s.in("e1", data("1"), committed("e1")) }, "1"},
		{"failed", func(s *story) *story { return s.in("e1", data("1"), failed("e1")) }, ""},
		{"aborted", func(s *story) *story { return s.in("e1", data("1"), aborted("e1")) }, ""},
		{"failed, then committed", func(s *story) *story { return s.in("e1", data("1"), failed("e1"), committed("e1")) }, ""},
		{"of another execution", func(s *story) *story { return s.in("e2", data("2")).in("e1", data("1"), committed("e1")) }, "1"},
		{"both, in the order of the commits", func(s *story) *story {
			return s.in("e2", data("2")).in("e1", data("1"), committed("e1")).in("e2", committed("e2"))
		}, "2"},
		{"outside of executions", func(s *story) *story { return s.in("", data("7")) }, "7"},
		{"in order", func(s *story) *story { return s.in("e1", data("1"), data("2"), data("3"), committed("e1")) }, "3"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, "value", value(c.log(begin(t)).state()), c.want) })
	}
}

func TestPlayerRowStandsBeforeTheStory(t *testing.T) {
	s := begin(t).in("e1", say("e1", "r1", "我去码头。"), started("e1")).in("e1", told("e1", "潮水退了。"), committed("e1")).state()
	expect(t, "rows", rowTexts(s), []string{"user: 我去码头。", "assistant: 潮水退了。"})
	first, second := s.History.At(0), s.History.At(1)
	if first.Version >= second.Version || first.TurnID != "e1" || !first.At.Equal(at(2)) || first.LogicalTurn != 3 || first.Source != "player" {
		t.Errorf("player row %+v", first)
	}
	if got, ok := s.History.Find("m-e1-story"); !ok || got.Text != "潮水退了。" || got.Source != "story" {
		t.Errorf("found %+v", got)
	}
	if _, ok := s.History.Find("m-e2"); ok {
		t.Error("found a row that is not there")
	}
	s = begin(t).in("e1", say("e1", "r1", ""), started("e1"), committed("e1")).state()
	expect(t, "rows of a line that renders to nothing", rowTexts(s), nil)
}

// "It also carries the form (pendingInput) and the UI attachments. A run that has neither text nor attachments writes no
// runtime row" (seed: turn-pipeline.txt §6.3).
func TestRowsWithoutText(t *testing.T) {
	ask := func(row, id string) proto.Message {
		return &eventsv1.InteractionRequested{TurnId: "e1", InteractionId: id, Type: "form", MessageId: row, RuntimeId: "r", PluginId: "p", Block: []byte(`{}`)}
	}
	block := func(row, v string) proto.Message {
		return &eventsv1.UIRendered{MessageId: row, RuntimeId: "r", PluginId: "p", Render: []byte(v)}
	}
	text := func(row, v string) proto.Message {
		return &eventsv1.MessageAppended{MessageId: row, RuntimeId: "r", PluginId: "p", Role: "assistant", Text: v}
	}
	for _, c := range []struct {
		name string
		msgs []proto.Message
		want []string // id text blocks
	}{
		{"form alone", []proto.Message{ask("m1", "f")}, []string{`m1 "" []`}},
		{"two forms of one run", []proto.Message{ask("m1", "f"), ask("m1", "g")}, []string{`m1 "" []`}},
		{"block alone", []proto.Message{block("m1", `{"parts":[1]}`)}, []string{`m1 "" [{"parts":[1]}]`}},
		{"blocks in order", []proto.Message{block("m1", `1`), block("m1", `2`)}, []string{`m1 "" [1 2]`}},
		{"text with form and block", []proto.Message{text("m1", "好"), ask("m1", "f"), block("m1", `1`)}, []string{`m1 "好" [1]`}},
		{"of two runs", []proto.Message{text("m1", "一"), block("m2", `2`), block("m1", `1`)}, []string{`m1 "一" [1]`, `m2 "" [2]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t).in("e1", c.msgs...).in("e1", committed("e1")).state()
			var got []string
			for _, m := range s.History.Tail(10) {
				blocks := []string{}
				for _, b := range m.Blocks {
					blocks = append(blocks, string(b))
				}
				got = append(got, fmt.Sprintf("%s %q %v", m.ID, m.Text, blocks))
			}
			expect(t, "rows", got, c.want)
		})
	}
	t.Run("a block joins no row of another commit", func(t *testing.T) {
		s := begin(t).in("e1", text("m1", "一"), committed("e1")).in("e2", block("m1", `2`), committed("e2")).state()
		if s.History.Len() != 2 || len(s.History.At(0).Blocks) != 0 {
			t.Errorf("rows %+v", s.History.Tail(9))
		}
	})
}

func TestHistoryWindow(t *testing.T) {
	log := begin(t)
	const turns = projections.HotMessages + 37
	for i := range turns {
		e := fmt.Sprint("e", i)
		log.in(e, told(e, fmt.Sprint("第", i, "页")), committed(e))
	}
	s := log.state()
	if s.History.Len() != projections.HotMessages || s.History.Dropped != 37 || s.History.Stories != turns {
		t.Fatalf("%d kept, %d dropped, %d stories", s.History.Len(), s.History.Dropped, s.History.Stories)
	}
	if first, last := s.History.At(0), s.History.At(projections.HotMessages-1); first.Text != "第37页" || last.Text != fmt.Sprint("第", turns-1, "页") {
		t.Errorf("from %q to %q", first.Text, last.Text)
	}
	if tail := s.History.Tail(2); len(tail) != 2 || tail[1].Text != fmt.Sprint("第", turns-1, "页") {
		t.Errorf("tail %+v", tail)
	}
	if n := len(s.History.Tail(turns)); n != projections.HotMessages {
		t.Errorf("a tail longer than what is kept has %d rows", n)
	}
	if _, ok := s.History.Find("m-e5-story"); ok {
		t.Error("found a dropped row")
	}
	if n := (projections.History{}).Len(); n != 0 {
		t.Errorf("the empty history has %d rows", n)
	}
}

func form(turn, plugin, id string) *eventsv1.InteractionRequested {
	return &eventsv1.InteractionRequested{TurnId: turn, InteractionId: id, Type: "form", MessageId: "m-" + turn, RuntimeId: plugin, PluginId: plugin, Block: []byte(`{"q":"谁"}`)}
}

func answer(execution, turn, id, fields string) *eventsv1.ActionsSubmitted {
	m := say(execution, "r-"+execution, "我叫陆青云。")
	m.Actions[0].Interaction = &eventsv1.InteractionRef{TurnId: turn, InteractionId: id, Type: "form"}
	m.Actions[0].Fields = []byte(fields)
	return m
}

// "An earlier interaction with the same interaction_id, answered or not, is void from here on", of the same plugin.
func TestInteractions(t *testing.T) {
	asked := func(t *testing.T) *story { return begin(t).in("e1", form("e1", "p", "谁"), committed("e1")) }
	status := func(s projections.State) []string {
		var out []string
		for _, i := range s.Interactions {
			out = append(out, i.TurnID+"/"+i.PluginID+"/"+i.InteractionID+" "+i.Status+" "+string(i.Values))
		}
		return out
	}
	for _, c := range []struct {
		name string
		log  func(*story) *story
		want []string
	}{
		{"open", func(s *story) *story { return s }, []string{"e1/p/谁 open "}},
		{"answered at once", func(s *story) *story { return s.in("e2", answer("e2", "e1", "谁", `{"n": "陆青云"}`)) }, []string{`e1/p/谁 answered {"n":"陆青云"}`}},
		{"an answer outlives its execution", func(s *story) *story {
			return s.in("e2", answer("e2", "e1", "谁", `{}`), started("e2"), failed("e2"))
		}, []string{"e1/p/谁 answered {}"}},
		{"answered once", func(s *story) *story {
			return s.in("e2", answer("e2", "e1", "谁", `1`)).in("e3", answer("e3", "e1", "谁", `2`))
		}, []string{"e1/p/谁 answered 1"}},
		{"of another turn", func(s *story) *story { return s.in("e2", answer("e2", "e7", "谁", `1`)) }, []string{"e1/p/谁 open "}},
		{"void by a new request", func(s *story) *story { return s.in("e2", form("e2", "p", "谁"), committed("e2")) }, []string{"e1/p/谁 void ", "e2/p/谁 open "}},
		{"an answered one too", func(s *story) *story {
			return s.in("e2", answer("e2", "e1", "谁", `1`), form("e2", "p", "谁"), committed("e2"))
		}, []string{"e1/p/谁 void 1", "e2/p/谁 open "}},
		{"not by a request that did not commit", func(s *story) *story { return s.in("e2", form("e2", "p", "谁"), failed("e2")) }, []string{"e1/p/谁 open "}},
		{"not by another plugin", func(s *story) *story { return s.in("e2", form("e2", "q", "谁"), committed("e2")) }, []string{"e1/p/谁 open ", "e2/q/谁 open "}},
		{"not by another id", func(s *story) *story { return s.in("e2", form("e2", "p", "哪"), committed("e2")) }, []string{"e1/p/谁 open ", "e2/p/哪 open "}},
		{"a void one takes no answer", func(s *story) *story {
			return s.in("e2", form("e2", "p", "谁"), committed("e2")).in("e3", answer("e3", "e1", "谁", `1`))
		}, []string{"e1/p/谁 void ", "e2/p/谁 open "}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, "interactions", status(c.log(asked(t)).state()), c.want) })
	}
	s := asked(t).in("e2", form("e2", "q", "谁"), committed("e2")).in("e3", answer("e3", "e1", "谁", `1`)).state()
	if open := s.Interactions.Open(""); len(open) != 1 || open[0].PluginID != "q" || len(s.Interactions.Open("p")) != 0 {
		t.Errorf("open %+v", open)
	}
	if a, ok := s.Interactions.LastAnswered("p"); !ok || string(a.Values) != "1" || a.Version != events.Version(len(begin(t).log)+5) {
		t.Errorf("last answered %+v %v", a, ok)
	}
	// Rule REF:plugins.md §11: store.listPlayerInputs has every answer, oldest first, also that of a question that was asked again.
	said := asked(t).in("e2", form("e2", "q", "谁"), committed("e2")).in("e3", answer("e3", "e2", "谁", `2`)).in("e4", answer("e4", "e1", "谁", `1`)).in("e5", form("e5", "p", "谁"), committed("e5")).state()
	var answers []string
	for _, a := range said.Interactions.Answers() {
		if a.AnsweredAt.IsZero() {
			t.Errorf("%s was answered at no time", a.AnswerID())
		}
		answers = append(answers, a.PluginID+" "+a.AnswerID()+" "+string(a.Values)+" "+a.Status)
	}
	expect(t, "answers", answers, []string{"q e2/谁 2 answered", "p e1/谁 1 void"})
	if _, ok := s.Interactions.LastAnswered("q"); ok {
		t.Error("q was answered")
	}
	if i, ok := s.Interactions.Find("e2", "谁"); !ok || i.PluginID != "q" || string(i.Block) != `{"q":"谁"}` {
		t.Errorf("found %+v", i)
	}
	if _, ok := s.Interactions.Find("e2", "哪"); ok {
		t.Error("found what was not asked")
	}
}

// Old closed questions are forgotten, but a plugin never loses its newest answer, and no open question is lost.
func TestInteractionsAreForgotten(t *testing.T) {
	log := begin(t).in("e0", form("e0", "keeper", "name"), form("e0", "waiter", "later"), committed("e0")).in("a0", answer("a0", "e0", "name", `{"n":"龙胆"}`))
	for i := range 200 {
		e := fmt.Sprint("x", i)
		log.in(e, form(e, "chatty", "more"), committed(e))
	}
	s := log.state()
	closed := 0
	for _, i := range s.Interactions {
		if i.Status != projections.InteractionOpen {
			closed++
		}
	}
	if closed != 64 {
		t.Errorf("%d closed interactions are kept", closed)
	}
	if a, ok := s.Interactions.LastAnswered("keeper"); !ok || string(a.Values) != `{"n":"龙胆"}` {
		t.Errorf("the answer of another plugin is lost: %+v", a)
	}
	if n := len(s.Interactions.Open("waiter")); n != 1 {
		t.Errorf("%d open questions of waiter", n)
	}
	if !slices.IsSortedFunc(s.Interactions, func(a, b projections.Interaction) int { return int(a.Version) - int(b.Version) }) {
		// the answer has a later version than its place, all others stand in order
		rest := slices.DeleteFunc(slices.Clone(s.Interactions), func(i projections.Interaction) bool { return i.PluginID == "keeper" })
		if !slices.IsSortedFunc(rest, func(a, b projections.Interaction) int { return int(a.Version) - int(b.Version) }) {
			t.Error("interactions are out of order")
		}
	}
}

func TestRequests(t *testing.T) {
	log := begin(t)
	for i := range projections.MaxRequests + 10 {
		m := say(fmt.Sprint("e", i), fmt.Sprint("r", i), "x")
		m.BodyHash = []byte{0xab, byte(i)}
		log.in(m.ExecutionId, m)
	}
	s := log.state().Session
	if len(s.Requests) != projections.MaxRequests {
		t.Fatalf("%d requests are remembered", len(s.Requests))
	}
	if _, ok := s.FindRequest("seat-1", "r9"); ok {
		t.Error("a request older than the ring is known")
	}
	r, ok := s.FindRequest("seat-1", "r10")
	if !ok || r.BodyHash != "ab0a" || r.ExecutionID != "e10" || r.Version != 12 {
		t.Errorf("request %+v", r)
	}
	if _, ok := s.FindRequest("seat-2", "r10"); ok {
		t.Error("the request of another seat is known")
	}
}

// Rule TP:89–95, 125: phase, count and set-up states come from the events of the session, and what an execution says of them holds
// from its commit on. Rule TP:165: after 7 completed turns the number is 8. Rule TP:203: the tries of an execution that failed
// are counted.
func TestSetupAndClock(t *testing.T) {
	base := begin(t).state().Session
	if base.Setup[0].RuntimeID != "a" || base.SetupComplete() || base.NextLogicalTurn() != 1 {
		t.Fatalf("setup %+v", base.Setup)
	}
	attempt := []*eventsv1.SetupAttempt{{RuntimeId: "b", Attempts: 2, LastError: "超时", Blocked: true, Reason: "attempts-used-up"}, {RuntimeId: "nobody", Attempts: 1}}
	for name, end := range map[string]proto.Message{
		"failed":  &eventsv1.ExecutionFailed{ExecutionId: "e1", SetupAttempts: attempt},
		"aborted": &eventsv1.ExecutionAborted{ExecutionId: "e1", SetupAttempts: attempt},
	} {
		t.Run("attempts of an execution that "+name, func(t *testing.T) {
			s := begin(t).in("e1", end).state().Session
			b, _ := s.SetupOf("b")
			expect(t, "b", b, projections.SetupRuntime{RuntimeID: "b", Status: "blocked", Attempts: 2, MaxAttempts: 2, LastError: "超时", Reason: "attempts-used-up"})
			if _, ok := s.SetupOf("nobody"); ok || len(s.Setup) != 2 {
				t.Errorf("setup %+v", s.Setup)
			}
		})
	}
	done := func(id string) proto.Message {
		return &eventsv1.SetupRuntimeChanged{Setup: &eventsv1.SetupRuntime{RuntimeId: id, Status: "done", Resolution: "completed", Attempts: 1}}
	}
	log := begin(t).in("e1", done("a"), done("b"), &eventsv1.PhaseAdvanced{Phase: "playing"})
	if log.state().Session.SetupComplete() {
		t.Error("complete before the commit")
	}
	s := log.in("e1", &eventsv1.ExecutionCommitted{ExecutionId: "e1", Next: "opening"}).state().Session
	if !s.SetupComplete() || s.Phase != "playing" || s.CompletedPlayerTurns != 0 || s.Last.Next != "opening" || s.Last.End != "committed" {
		t.Errorf("after the set-up: %+v", s)
	}
	s = log.in("e2", started("e2"), &eventsv1.PlayerTurnCounted{LogicalTurnId: "t2", CompletedPlayerTurns: 7},
		&eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "z", Runs: 1}, {RuntimeId: "m", Runs: 3, LastCompletedTurns: 7}}},
		committed("e2")).state().Session
	if s.CompletedPlayerTurns != 7 || s.LastCounted != "t2" || s.NextLogicalTurn() != 8 {
		t.Errorf("clock %+v", s)
	}
	expect(t, "ledger", s.Ledger, []projections.LedgerEntry{{RuntimeID: "m", Runs: 3, LastCompletedTurns: 7}, {RuntimeID: "z", Runs: 1}})
	expect(t, "of a runtime that never ran", s.LedgerOf("q"), projections.LedgerEntry{RuntimeID: "q"})
	expect(t, "of m", s.LedgerOf("m").Runs, 3)
}

// Rule TP:206: an execution is open from its start and is settled as committed, failed or aborted.
func TestExecutions(t *testing.T) {
	s := begin(t).in("e1", say("e1", "r1", "x"), started("e1")).state().Session
	if s.Open == nil || s.Open.ID != "e1" || s.Open.Version != 3 || !s.Open.StartedAt.Equal(at(3)) || s.Last != nil {
		t.Fatalf("open %+v, last %+v", s.Open, s.Last)
	}
	s = begin(t).in("e1", started("e1"), failed("e1")).state().Session
	if s.Open != nil || s.Last.End != "failed" || s.Last.Reason != "story-failed" || s.Last.Error != "坏了" || s.Last.Draft != "雨停" || s.Last.Origin != "player" {
		t.Errorf("last %+v", s.Last)
	}
	s = begin(t).in("e1", started("e1"), aborted("e1")).state().Session
	if s.Open != nil || s.Last.End != "aborted" || s.Last.Reason != "aborted-by-player" || s.Last.Draft != "" {
		t.Errorf("last %+v", s.Last)
	}
	s = begin(t).in("e1", started("e1")).in("e9", committed("e9")).state().Session
	if s.Open == nil || s.Last.ID != "e9" {
		t.Errorf("the end of another execution: open %+v, last %+v", s.Open, s.Last)
	}
}

// Rule TP:92: the status is active, paused or ended.
func TestSeatsAndStatus(t *testing.T) {
	seat := func(id, name string, primary bool) proto.Message {
		return &eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: id, Name: name, Role: "player", Control: "human", CharacterIds: []string{"pc"}, CurrentCharacterId: "pc", Primary: primary}}
	}
	s := begin(t).in("", seat("座-2", "龙胆", false), seat("seat-1", "陆青云", true)).state().Session
	if len(s.Seats) != 2 || s.Seats[0].Name != "陆青云" || s.Seats[1].ID != "座-2" || s.Seats[1].CharacterIDs[0] != "pc" {
		t.Errorf("seats %+v", s.Seats)
	}
	if p, ok := s.PrimarySeat(); !ok || p.ID != "seat-1" {
		t.Errorf("primary %+v", p)
	}
	if _, ok := (projections.Session{}).PrimarySeat(); ok {
		t.Error("no session has a primary seat")
	}
	log := begin(t)
	for _, step := range []struct {
		msg  proto.Message
		want string
	}{{&eventsv1.SessionPaused{}, "paused"}, {&eventsv1.SessionResumed{}, "active"}, {&eventsv1.SessionEnded{}, "ended"}} {
		expect(t, "status", log.in("", step.msg).state().Session.Status, step.want)
	}
}

func TestCharacters(t *testing.T) {
	who := func(id, name, fields string, v uint32) proto.Message {
		return &eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: id, Name: name, Type: "npc", Fields: []byte(fields), Version: v}}
	}
	s := begin(t).in("", who("a", "E\u0301lodie", `{"hp": 1}`, 1), who("b", "龙胆", ``, 1), who("a", "E\u0301lodie", `{"hp": 2}`, 2)).
		in("", &eventsv1.CharacterSchemaSet{Version: 3, Types: []string{"npc"}, Attributes: []byte(` [ ] `)}).state().Characters
	if len(s.List) != 2 || s.List[0].ID != "a" || s.List[1].ID != "b" || s.SchemaVersion != 3 || string(s.Attributes) != "[]" {
		t.Fatalf("characters %+v", s)
	}
	a, ok := s.Find("a")
	if !ok || string(a.Fields) != `{"hp":2}` || a.Version != 2 || !a.CreatedAt.Equal(at(2)) || !a.UpdatedAt.Equal(at(4)) || a.Name != "E\u0301lodie" {
		t.Errorf("a %+v", a)
	}
	if _, ok := s.Find("nobody"); ok {
		t.Error("found nobody")
	}
}

// "Entries are identified by (sessionId, owner, id). So the same id can belong to different owners" (seed:
// turn-pipeline.txt §6.2).
func TestLorebook(t *testing.T) {
	lore := func(kind, plugin string, ids ...string) proto.Message {
		m := &eventsv1.LorebookUpserted{Owner: &eventsv1.LorebookOwner{Kind: kind, PluginId: plugin}}
		for i, id := range ids {
			m.Entries = append(m.Entries, &eventsv1.LorebookEntry{Id: id, Content: fmt.Sprint(kind, plugin, i), Strategy: "constant", Enabled: true})
		}
		return m
	}
	s := begin(t).in("", lore("world", "", "潮", "灯"), lore("plugin", "p", "潮"), lore("plugin", "q", "潮"), lore("player", "", "潮"), lore("world", "", "灯", "新", "新"), lore("plugin", "q", "灯", "潮")).state()
	var got []string
	for _, e := range s.Lorebook {
		got = append(got, e.OwnerKind+e.OwnerPlugin+"/"+e.ID+"="+e.Content)
	}
	expect(t, "lorebook", got, []string{"world/潮=world0", "world/灯=world0", "pluginp/潮=pluginp0", "pluginq/潮=pluginq1", "player/潮=player0", "world/新=world2", "pluginq/灯=pluginq0"})
}

func TestPluginData(t *testing.T) {
	change := func(plugin, ns, key, value string, revision uint64) proto.Message {
		c := &eventsv1.PluginDataChange{Namespace: ns, Key: key, Value: []byte(value), Revision: revision, Removed: value == ""}
		return &eventsv1.PluginDataChanged{PluginId: plugin, Changes: []*eventsv1.PluginDataChange{c}}
	}
	log := begin(t).in("", change("p", "n", "龙胆", `{"a": 1}`, 1), change("p", "n", "龙胆", `2`, 2), change("p", "n", "b", `1`, 1), change("p", "n2", "b", `1`, 1), change("q", "n", "b", `1`, 1))
	s := log.state().PluginData
	rec, ok := s.Get("p", "n", "龙胆")
	if !ok || string(rec.Value) != "2" || rec.Revision != 2 || !rec.CreatedAt.Equal(at(2)) || !rec.UpdatedAt.Equal(at(3)) {
		t.Fatalf("record %+v", rec)
	}
	keys := func(recs []projections.PluginRecord) (out []string) {
		for _, r := range recs {
			out = append(out, r.PluginID+"/"+r.Namespace+"/"+r.Key)
		}
		return out
	}
	expect(t, "namespace", keys(s.List("p", "n")), []string{"p/n/b", "p/n/龙胆"})
	expect(t, "plugin", keys(s.List("p", "")), []string{"p/n/b", "p/n/龙胆", "p/n2/b"})
	expect(t, "all", keys(s.List("", "")), []string{"p/n/b", "p/n/龙胆", "p/n2/b", "q/n/b"})
	expect(t, "nothing", keys(s.List("r", "")), nil)
	s = log.in("", change("p", "n", "龙胆", "", 3), change("p", "n", "nobody", "", 1)).state().PluginData
	if _, ok := s.Get("p", "n", "龙胆"); ok {
		t.Error("a removed record is there")
	}
	s = log.in("", change("p", "n", "龙胆", `3`, 4)).state().PluginData
	if rec, _ := s.Get("p", "n", "龙胆"); rec.Revision != 4 || !rec.CreatedAt.Equal(rec.UpdatedAt) {
		t.Errorf("a record made anew is %+v", rec)
	}
}

// What decodes but says nothing stops the fold, with the place in its text, and changes nothing.
func TestEventsWithoutMeaning(t *testing.T) {
	for name, msg := range map[string]proto.Message{
		"seat is missing":                        &eventsv1.SeatChanged{},
		"setup is missing":                       &eventsv1.SetupRuntimeChanged{},
		"record is missing":                      &eventsv1.CharacterUpserted{},
		"actions[0].fields: not JSON":            &eventsv1.ActionsSubmitted{Actions: []*eventsv1.Action{{Fields: []byte(`{`)}}},
		"block: not JSON":                        &eventsv1.InteractionRequested{Block: []byte(`x`)},
		"render: not JSON":                       &eventsv1.UIRendered{Render: []byte(`{} {}`)},
		"attributes: not JSON":                   &eventsv1.CharacterSchemaSet{Attributes: []byte(`[1,]`)},
		"fields of character 龙胆: not JSON":       &eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "龙胆", Fields: []byte("\x00")}},
		"extra of entry 潮: not JSON":             &eventsv1.LorebookUpserted{Entries: []*eventsv1.LorebookEntry{{Id: "潮", Extra: []byte(`nul`)}}},
		"value of export facts of p/r: not JSON": &eventsv1.OutputExported{RuntimeId: "p/r", Name: "facts", Value: []byte(`{`)},
		"value of n/k: not JSON":                 &eventsv1.PluginDataChanged{Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "k", Value: []byte(`"`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, execution := range []string{"", "e1"} {
				log := begin(t)
				before := log.state()
				log.in(execution, msg)
				after, err := projections.Apply(before, log.log[1])
				if !errors.Is(err, projections.ErrNoMeaning) || !contains(err.Error(), name) || !contains(err.Error(), "session-s1 version 2") {
					t.Fatalf("error %v", err)
				}
				if after.Version != 1 {
					t.Errorf("the state moved on to version %d", after.Version)
				}
			}
		})
	}
}

func TestUndecodableEvents(t *testing.T) {
	sound := begin(t).in("", &eventsv1.PhaseAdvanced{Phase: "playing"}).log[1]
	for name, break_ := range map[string]func(*events.Recorded){
		"unknown type":      func(r *events.Recorded) { r.Type = "Nothing" },
		"newer schema":      func(r *events.Recorded) { r.SchemaVersion = 99 },
		"schema zero":       func(r *events.Recorded) { r.SchemaVersion = 0 },
		"damaged bytes":     func(r *events.Recorded) { r.Data = []byte{0xff, 0xff} },
		"text that is none": func(r *events.Recorded) { r.Data = []byte{0x0a, 0x01, 0xff} },
	} {
		t.Run(name, func(t *testing.T) {
			before := begin(t).state()
			r := sound
			break_(&r)
			after, err := projections.Apply(before, r)
			if err == nil || after.Version != before.Version || !contains(err.Error(), "session-s1 version 2") {
				t.Errorf("version %d, error %v", after.Version, err)
			}
		})
	}
}

package session

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// seerFails gives the results of a turn in which the seer fails; tried again it succeeds.
func seerFails(st StartTurn) TurnEnded {
	end := play(st)
	if st.Execution.Phase != projections.PhasePlaying {
		return end
	}
	r := turn.Result{RuntimeID: "seer", PluginID: "seer", RunID: st.Execution.ID + "/seer", Stage: manifest.PostTurn, Status: turn.Failed, Error: "墨水用完了"}
	if len(st.Execution.Targets) > 0 {
		r.Status, r.Error, r.Output = turn.Succeeded, "", []byte(`"看见了"`)
		end.Results = nil
	}
	end.Results = append(end.Results, r)
	return end
}

// threeSeats is a playing session with three seats: 陆青云 at the primary one, 龙胆 at the second, a spectator.
func threeSeats(t testing.TB) *sim {
	s := newSim(t)
	s.result = seerFails
	s.kinds = func(kind string) (manifest.ActionKindDecl, bool) {
		d, ok := map[string]manifest.ActionKindDecl{
			"auction/bid":  {Name: "bid", Roles: []string{"player"}, Text: "optional", Fields: []byte(`{"type":"object","required":["gold"],"properties":{"gold":{"type":"integer","minimum":1}},"additionalProperties":false}`)},
			"auction/pass": {Name: "pass", Roles: []string{"player"}, Text: "none"},
			"auction/call": {Name: "call", Roles: []string{"host"}, Text: "required"},
		}[kind]
		return d, ok
	}
	s.activate()
	s.run()
	s.script()
	s.outside(&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "龙胆", Name: "龙胆", Type: "player", Version: 1}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "守门人", Name: "守门人", Type: "npc", Version: 1}},
		&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "座-2", Name: "二号", Role: "player", Control: "human", CharacterIds: []string{"龙胆"}, CurrentCharacterId: "龙胆"}},
		&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "gallery", Role: "spectator", Control: "human"}},
		&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "machine", Role: "player", Control: "ai"}},
		&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "stage", Name: "主持", Role: "host", Control: "human"}})
	return s
}

// The checks of a submission. Every one names the action and the field; one that fails refuses all.
func TestChecksOfActions(t *testing.T) {
	s := threeSeats(t)
	good := projections.Action{Text: "我点灯。"}
	for _, c := range []struct {
		name   string
		action projections.Action
		holder string
		field  string // "" is accepted
	}{
		{"as it comes", good, "", ""},
		// Rule TP:471: the seat exists and a human controls it.
		{"no such seat", projections.Action{SeatID: "nobody", Text: "x"}, "", "seatId"},
		{"the computer's seat", projections.Action{SeatID: "machine", Text: "x"}, "", "seatId"},
		{"another's seat", projections.Action{SeatID: "seat-1", Text: "x"}, "座-2", "seatId"},
		// Rule TP:471: the session has the action kind, and the seat's role may use it.
		{"no such kind", projections.Action{Kind: "fly", Text: "x"}, "", "kind"},
		{"no such kind of a plugin", projections.Action{Kind: "auction/burn", Text: "x"}, "", "kind"},
		{"a kind for hosts", projections.Action{Kind: "auction/call", Text: "x"}, "", "kind"},
		{"the same by a host", projections.Action{SeatID: "stage", Kind: "auction/call", Text: "一次！"}, "", ""},
		// Rule DEC Seats, roles, gathering: spectators have no action kinds.
		{"a spectator", projections.Action{SeatID: "gallery", Text: "x"}, "", "kind"},
		// Rule TP:471: the acting character is bound to the seat.
		{"another's character", projections.Action{SeatID: "座-2", CharacterID: "pc", Text: "x"}, "", "characterId"},
		{"its own", projections.Action{SeatID: "座-2", CharacterID: "龙胆", Text: "拔剑"}, "", ""},
		// Rule TP:471: text and fields follow the kind's rules.
		{"no text", projections.Action{Kind: "act", Text: " \n"}, "", "text"},
		{"too much text", projections.Action{Text: strings.Repeat("长", MaxText+1)}, "", "text"},
		{"fields of a say", projections.Action{Text: "x", Fields: []byte(`{}`)}, "", "fields"},
		{"a command without a slash", projections.Action{Kind: "command", Text: "roll"}, "", "text"},
		{"a command", projections.Action{Kind: "command", Text: " /掷 d20"}, "", ""},
		{"a bid", projections.Action{Kind: "auction/bid", Fields: []byte(`{"gold":7}`)}, "", ""},
		{"a bid without gold", projections.Action{Kind: "auction/bid", Text: "我出价"}, "", "fields.gold"},
		{"a bid of nothing", projections.Action{Kind: "auction/bid", Fields: []byte(`{"gold":0}`)}, "", "fields.gold"},
		{"a pass with words", projections.Action{Kind: "auction/pass", Text: "不"}, "", "text"},
		{"a pass", projections.Action{Kind: "auction/pass"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := Command{Type: SubmitActions, SeatID: "seat-1", Holder: c.holder, Actions: []projections.Action{good, c.action}}
			if c.holder != "" {
				cmd.SeatID, cmd.Actions = c.holder, []projections.Action{{Text: "x"}, c.action}
			}
			got, refusal := Check(s.state.Hot, cmd, s.kinds)
			switch {
			case c.field == "" && refusal != nil:
				t.Errorf("refused: %v %v", refusal, refusal.Issues)
			case c.field == "":
				// Rule TP:472: a missing seat becomes the primary one, a missing character the seat's current one, and the source
				// is the player.
				if a := got.Actions[0]; a.SeatID != "seat-1" || a.CharacterID != "pc" || a.Source != "player" || a.Kind != "say" {
					t.Errorf("filled in: %+v", a)
				}
			case refusal == nil || refusal.Code != "invalid_action" || len(refusal.Issues) != 1 || refusal.Issues[0].Field != "actions[1]."+c.field:
				t.Errorf("got %v, want the field actions[1].%s", refusal, c.field)
			}
		})
	}
	// Rule TP:469: a sentence is a say action, a slash command a command.
	for text, kind := range map[string]string{"我点灯。": "say", "/掷 d20": "command", " /roll": "command", "a/b": "say"} {
		if got, refusal := Check(s.state.Hot, Command{Type: SubmitActions, SeatID: "seat-1", Actions: []projections.Action{{Text: text}}}, s.kinds); refusal != nil || got.Actions[0].Kind != kind {
			t.Errorf("%q is %+v, %v", text, got.Actions, refusal)
		}
	}
	// Rule TP:471: one action that does not fit refuses the whole submission, and nothing is saved.
	before := len(s.log)
	if a := s.send(Command{RequestID: "bad", Type: SubmitActions, Actions: []projections.Action{good, {Kind: "fly", Text: "x"}}}); code(a) != "invalid_action" || len(s.log) != before {
		t.Errorf("%s, %d events", code(a), len(s.log)-before)
	}
	// Rule TP:473: the actions of several characters name who acts and how; one player's ordinary input stays as written.
	s.send(Command{RequestID: "both", Type: SubmitActions, Actions: []projections.Action{good, {SeatID: "座-2", Kind: "act", Text: "拔剑"}}})
	h := s.state.Hot.History
	line := h.At(h.Len() - 2)
	if line.Text != "[陆青云 · 说] 我点灯。\n[龙胆 · 做] 拔剑" || len(line.Actions) != 2 || line.Actions[0].Text != "我点灯。" {
		t.Errorf("the row: %q %+v", line.Text, line.Actions)
	}
	// Rule TP:474: the chat row keeps each action as it was, beside the text that prompts read.
	if a := line.Actions[1]; a.Kind != "act" || a.SeatID != "座-2" || a.CharacterID != "龙胆" || a.Source != "player" {
		t.Errorf("the action: %+v", a)
	}
	s.check()
}

// Rule TL:302: an answer is refused as another kind than its form's, and by a seat whose role may not use that kind.
func TestKindOfAnAnswer(t *testing.T) {
	s := threeSeats(t)
	s.outside(&eventsv1.InteractionRequested{TurnId: "t", InteractionId: "出价", Type: "form", MessageId: "m", RuntimeId: "auction", PluginId: "auction",
		Block: []byte(`{"type":"form","interactionId":"出价","title":"出多少？","submitLabel":"好","narrativeTemplate":"我出{{n}}。","actionKind":"auction/pass","submitBehavior":{"echoFilledNarrative":false},"fields":[{"type":"number","name":"n","label":"数"}]}`)})
	ref := &projections.InteractionRef{TurnID: "t", InteractionID: "出价", Type: "form"}
	for _, c := range []struct{ kind, seat, want string }{
		{"say", "seat-1", "invalid_action"}, {"auction/bid", "seat-1", "invalid_action"}, {"", "gallery", "invalid_action"}, {"auction/pass", "stage", "invalid_action"},
		{"", "seat-1", ""}, {"auction/pass", "座-2", ""},
	} {
		cmd := Command{Type: SubmitActions, SeatID: c.seat, Actions: []projections.Action{{Kind: c.kind, Interaction: ref, Fields: []byte(`{"n":"7"}`)}}}
		got, refusal := Check(s.state.Hot, cmd, s.kinds)
		have := ""
		if refusal != nil {
			have = refusal.Code
		}
		if have != c.want {
			t.Errorf("%s by %s: %v, want %q", c.kind, c.seat, refusal, c.want)
		}
		// Rule TP:469: an answer to a form or a choice is an action that carries the interaction.
		if refusal == nil && *got.Actions[0].Interaction != *ref {
			t.Errorf("%+v", got.Actions[0])
		}
		// Rule TP:472: an answer is filled in with its narrative text; Rule REF api-and-protocol.md §2.3: which stays out of the
		// conversation when its form says so.
		if refusal == nil && (got.Actions[0].Text != "我出7。" || Rendered(s.state.Hot, got.Actions) != "") {
			t.Errorf("%q, rendered %q", got.Actions[0].Text, Rendered(s.state.Hot, got.Actions))
		}
	}
}

// running is such a session whose turn is going on.
func running(t testing.TB) *sim {
	s := threeSeats(t)
	s.token++
	s.feed(Submit{Command{RequestID: "line", BodyHash: "aa", Type: SubmitActions, ExecutionID: "exec-line", Tokens: []uint64{s.token}, Actions: []projections.Action{{Text: "我敲门。"}}}})
	s.deliver()
	return s
}

func (s *sim) interject(request, seat, text string) uint64 {
	s.token++
	s.ids++
	s.feed(Submit{Command{RequestID: request, BodyHash: "aa", Type: Interject, SeatID: seat, ExecutionID: fmt.Sprint("exec-", s.ids), Tokens: []uint64{s.token},
		Actions: []projections.Action{{Kind: "say", Text: text}}}})
	s.deliver()
	return s.token
}

func (s *sim) last(token uint64) string {
	all := s.heard[token]
	if len(all) == 0 {
		return "nothing"
	}
	return code(all[len(all)-1])
}

// A line said into a running turn, from any connection: the turn hears it, its sender is told with the commit.
func TestInterjections(t *testing.T) {
	s := running(t)
	// Rule DESIGN §5: while a turn runs an interjection goes to its loop, and its event comes with the commit.
	mine := s.interject("i1", "seat-1", "小声点。")
	other := s.interject("i2", "座-2", "等等我！")
	late := s.interject("i3", "座-2", "我也去。")
	if len(s.told) != 3 || s.told[0].Text != "小声点。" || s.told[1].Text != "[龙胆 · 说] 等等我！" {
		t.Fatalf("the turn was told %+v", s.told)
	}
	if s.last(mine) != "queued" || s.last(other) != "queued" {
		t.Errorf("before the commit: %s, %s", s.last(mine), s.last(other))
	}
	// Rule REF api-and-protocol.md §1.6: once nobody listens any more a line is refused instead of accepted and lost.
	s.feed(InterjectionRefused{ExecutionID: s.state.Execution, ID: s.told[2].ID})
	if s.last(late) != CodeTooLate {
		t.Errorf("late: %s", s.last(late))
	}
	again := s.interject("i1", "seat-1", "小声点。")
	s.token++
	s.feed(Submit{Command{RequestID: "i1", BodyHash: "bb", Type: Interject, SeatID: "seat-1", ExecutionID: "x", Tokens: []uint64{s.token}, Actions: []projections.Action{{Text: "别的"}}}})
	// Rule DESIGN §9: a repeated requestId gets the first outcome, another body an error.
	if s.last(s.token) != "request_id_conflict" || len(s.told) != 3 {
		t.Errorf("another body: %s, told %d", s.last(s.token), len(s.told))
	}
	s.merges("i1", "i2")
	s.run()
	for name, token := range map[string]uint64{"mine": mine, "again": again, "other": other} {
		if a := s.heard[token][len(s.heard[token])-1]; a.Status != Accepted || a.Version != s.state.Hot.Version {
			t.Errorf("%s: %+v", name, a)
		}
	}
	h := s.state.Hot.History
	var rows []string
	for _, m := range h.Tail(4) {
		rows = append(rows, m.Source+" "+m.Text+" "+m.TurnID)
	}
	// Rule TP:991: an interjection is a row with source player-interjection and role user.
	if got := strings.Join(rows, "|"); got != "player 我敲门。 exec-line|player-interjection 小声点。 exec-line|player-interjection [龙胆 · 说] 等等我！ exec-line|story 雨停了。exec-line exec-line" {
		t.Errorf("the page: %s", got)
	}
	if after := s.interject("i2", "座-2", "等等我！"); !s.heard[after][0].Repeat {
		t.Errorf("after the commit: %+v", s.heard[after])
	}
	if n := s.state.Hot.Session.CompletedPlayerTurns; n != 3 {
		t.Errorf("%d turns are counted", n)
	}
	s.check()
}

// Rule DESIGN §5: where nothing runs an interjection is an action; in a turn that starts it is told; with one that does not
// commit it is gone, and its sender hears so.
func TestInterjectionsOutsideOfATurn(t *testing.T) {
	s := threeSeats(t)
	idle := s.interject("i1", "座-2", "有人吗？")
	s.run()
	if s.last(idle) != "accepted" || s.state.Hot.Session.CompletedPlayerTurns != 3 {
		t.Errorf("idle: %s", s.last(idle))
	}
	s = threeSeats(t)
	s.feed(Submit{Command{RequestID: "line", BodyHash: "aa", Type: SubmitActions, ExecutionID: "exec-line", Tokens: []uint64{900}, Actions: []projections.Action{{Text: "我敲门。"}}}})
	s.token++
	s.feed(Submit{Command{RequestID: "i1", BodyHash: "aa", Type: Interject, ExecutionID: "exec-i", Tokens: []uint64{s.token}, Actions: []projections.Action{{Text: "轻点。"}}}})
	early := s.token
	s.deliver()
	if len(s.told) != 1 || s.last(early) != "queued" {
		t.Errorf("settling: told %+v, %s", s.told, s.last(early))
	}
	s.feed(StopTurn{901})
	s.run()
	if s.last(early) != CodeUnheard || s.state.Hot.Session.Draft == nil || s.last(901) != "accepted" {
		t.Errorf("stopped: %s, %s", s.last(early), s.last(901))
	}
	for _, m := range s.state.Hot.History.Tail(3) {
		if m.Source == projections.SourceInterjection {
			t.Errorf("the row of a turn that was stopped: %+v", m)
		}
	}
	// A turn that is being stopped gives its lines back: to their senders it is the stop that ended them.
	s = running(t)
	stopped := s.interject("i1", "座-2", "等等！")
	s.feed(StopTurn{902})
	s.feed(InterjectionRefused{ExecutionID: s.state.Execution, ID: s.told[0].ID})
	if s.last(stopped) != CodeUnheard {
		t.Errorf("given back by a turn that stops: %s", s.last(stopped))
	}
	s.run()
	s = running(t)
	if got := s.last(s.interject("i1", "gallery", "好！")); got != "invalid_action" {
		t.Errorf("a spectator: %s", got)
	}
	s.run()
	s.check()
}

// Rule DESIGN §9: a request that stands in the log is answered with its outcome, also where it was said into a turn that ended
// because another activation, which was sent it too, took it for an action.
func TestALineThatAnotherActivationAccepted(t *testing.T) {
	ended := func(s *sim, turn StartTurn) { s.feed(s.result(turn)) }
	foreign := func(s *sim, _ StartTurn) { s.feed(Foreign{}) }
	for name, c := range map[string]struct {
		body string
		then func(s *sim, turn StartTurn)
		want string
	}{
		"a foreign event":          {"aa", foreign, "accepted"},
		"a commit that loses":      {"aa", ended, "accepted"},
		"on the way out":           {"aa", func(s *sim, turn StartTurn) { s.feed(Drain{}); foreign(s, turn) }, "accepted"},
		"on the way out, a commit": {"aa", func(s *sim, turn StartTurn) { s.feed(Drain{}); ended(s, turn) }, "accepted"},
		"stopped":                  {"aa", func(s *sim, turn StartTurn) { s.feed(StopTurn{990}); ended(s, turn) }, "accepted"},
		"given back while it reads": {"aa", func(s *sim, turn StartTurn) {
			foreign(s, turn)
			s.feed(InterjectionRefused{"exec-line", s.state.Said[0].ID})
		}, "accepted"},
		"an unknown outcome": {"aa", func(s *sim, turn StartTurn) {
			first := true
			s.fault = func(int, Append) fault {
				if first {
					first = false
					return unknownNotWritten
				}
				return noFault
			}
			ended(s, turn)
		}, "accepted"},
		"another body": {"bb", foreign, "request_id_conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t)
			turn := s.turns[0]
			line := s.interject("i1", "座-2", "等等我！")
			here := s.state

			s.activate() // it takes the first for dead
			s.run()
			s.token++
			s.feed(Submit{Command{RequestID: "i1", BodyHash: c.body, Type: Interject, SeatID: "座-2", ExecutionID: "exec-there", Tokens: []uint64{s.token},
				Actions: []projections.Action{{Kind: "say", Text: "等等我！"}}}})
			s.run()
			if s.last(s.token) != "accepted" {
				t.Fatalf("there: %s", s.last(s.token))
			}

			s.state, s.turns = here, nil
			c.then(s, turn)
			s.run()
			if got := s.last(line); got != c.want {
				t.Errorf("here: %s, want %s", got, c.want)
			}
			if a := s.heard[line][len(s.heard[line])-1]; a.Status == Accepted && a.ExecutionID != "exec-there" {
				t.Errorf("accepted as %q", a.ExecutionID)
			}
			if len(s.state.Said) > 0 {
				t.Errorf("a line stays: %+v", s.state.Said)
			}
		})
	}
}

// Rule DESIGN §9: a line that is sent again while the outcome of an append is unknown waits with the first; the turn is told it
// once, and both senders hear the one end.
func TestALineSentAgainWhileNothingIsKnown(t *testing.T) {
	for _, heard := range []bool{true, false} {
		s := running(t)
		first := s.interject("i1", "座-2", "等等我！")
		s.fault = func(int, Append) fault { return unknownNotWritten }
		on := projections.GatheringOn
		s.feed(ChangeStatus{Change{Kind: ChangeSettings, ID: "c", Token: 900, Settings: &SettingsChange{Gathering: &on}}})
		s.fault = nil
		s.feed(s.inbox[0])
		s.inbox = s.inbox[1:]
		if s.state.Phase != Uncertain {
			t.Fatal(s.state.Phase)
		}
		again := s.interject("i1", "座-2", "等等我！")
		if len(s.told) != 1 || len(s.state.Said) != 1 {
			t.Errorf("the turn was told %+v", s.told)
		}
		want := CodeUnheard
		if heard {
			s.merges("i1")
			want = "accepted"
		}
		s.run()
		if s.last(first) != want || s.last(again) != want {
			t.Errorf("%s and %s, want %s", s.last(first), s.last(again), want)
		}
		s.check()
	}
}

// Whatever lines come while turns run, stop, fail and crash: each sender hears one end, a line stands in the log at most once,
// and only if its sender was told so.
func TestInterjectionsAreNeverLostInSilence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := running(t)
		sent := map[string]uint64{}
		for i := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"say", "say", "stop", "refuse", "end", "foreign", "line"}).Draw(rt, "what") {
			case "say":
				id := fmt.Sprint("i", i)
				sent[id] = s.interject(id, rapid.SampledFrom([]string{"seat-1", "座-2"}).Draw(rt, "seat"), "喂 "+id)
			case "stop":
				s.token++
				s.feed(StopTurn{s.token})
			case "refuse":
				if len(s.told) > 0 {
					s.feed(InterjectionRefused{ExecutionID: s.state.Execution, ID: s.told[len(s.told)-1].ID})
				}
			case "end":
				s.merges(rapid.SliceOf(rapid.SampledFrom([]string{"i0", "i1", "i2", "i3"})).Draw(rt, "merged")...)
				s.run()
			case "foreign":
				s.feed(Foreign{})
			case "line":
				s.send(Command{RequestID: fmt.Sprint("q-", i), Type: SubmitActions, Actions: []projections.Action{{Text: "走。"}}})
			}
		}
		s.run()
		stood := map[string]int{}
		for _, r := range s.log {
			msg, _ := events.Decode(r.Event)
			switch m := msg.(type) {
			case *eventsv1.InterjectionMerged:
				stood[m.Request.RequestId]++
			case *eventsv1.ActionsSubmitted:
				stood[m.RequestId]++
			}
		}
		for id, token := range sent {
			end := s.last(token)
			if end == "queued" || end == "nothing" {
				rt.Fatalf("%s never hears its end: %+v", id, s.heard[token])
			}
			if stood[id] > 1 || (stood[id] == 1) != (end == "accepted") {
				rt.Fatalf("%s stands %d times and hears %s", id, stood[id], end)
			}
		}
		s.check()
	})
}

// Rule TP:178: a runtime run by name through a plugin RPC is origin manual and no player turn; Rule TP:326: a retry has an
// execution id of its own and keeps the story turn as its source.
func TestRunsByName(t *testing.T) {
	s := threeSeats(t)
	source := s.state.Hot.Latest.TurnID
	turns := s.state.Hot.Session.CompletedPlayerTurns
	a := s.send(Command{RequestID: "m1", Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "seer", Payload: []byte(`{"of":"门"}`)}}})
	last := s.state.Hot.Session.Last
	if code(a) != "accepted" || last.Origin != "manual" || last.SourceTurnID != "" || string(last.Targets[0].Payload) != `{"of":"门"}` || last.End != projections.EndCommitted {
		t.Errorf("%s %+v", code(a), last)
	}
	for _, c := range []struct {
		name   string
		cmd    Command
		want   string
		change func()
	}{
		{"no runtime", Command{}, "invalid_action_request", nil},
		{"one twice", Command{Targets: []projections.Target{{RuntimeID: "seer"}, {RuntimeID: "seer"}}}, "invalid_action_request", nil},
		// Rule TP:699: a sub-agent is run by no name.
		{"not active", Command{Targets: []projections.Target{{RuntimeID: "gone"}}}, "runtime_not_active", nil},
		{"a sub-agent", Command{Targets: []projections.Target{{RuntimeID: "helper"}}}, "runtime_not_active", nil},
		// Rule REF plugins.md §4.2: a payload that does not fit is refused before anything is written.
		{"payload", Command{Targets: []projections.Target{{RuntimeID: "strict", Payload: []byte(`7`)}}}, "invalid_payload", nil},
		// Rule REF api-and-protocol.md §2.5: a retry names the newest committed turn and what has still failed in it.
		{"no such turn", Command{SourceTurnID: "nowhere", Targets: []projections.Target{{RuntimeID: "seer"}}}, "retry_turn_not_found", nil},
		{"not failed", Command{SourceTurnID: source, Targets: []projections.Target{{RuntimeID: "teller"}}}, "runtime_not_failed", nil},
		{"failed", Command{SourceTurnID: source, Targets: []projections.Target{{RuntimeID: "seer"}}}, "accepted", nil},
		{"tried again with success", Command{SourceTurnID: source, Targets: []projections.Target{{RuntimeID: "seer"}}}, "runtime_not_failed", nil},
		{"a spectator", Command{Holder: "gallery", SeatID: "gallery", Targets: []projections.Target{{RuntimeID: "seer"}}}, "seat_not_allowed", nil},
		{"a seat that was taken away", Command{Holder: "machine", SeatID: "machine", Targets: []projections.Target{{RuntimeID: "seer"}}}, "seat_not_allowed", nil},
		{"superseded", Command{SourceTurnID: source, Targets: []projections.Target{{RuntimeID: "seer"}}}, "retry_source_superseded", func() {
			s.send(Command{RequestID: "on", Type: SubmitActions, Actions: []projections.Action{{Text: "走。"}}})
			turns++
		}},
	} {
		if c.change != nil {
			c.change()
		}
		before := len(s.log)
		c.cmd.Type, c.cmd.RequestID = RunRuntimes, "r-"+c.name
		if got := code(s.send(c.cmd)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.want != "accepted" && len(s.log) != before {
			t.Errorf("%s: %d events were written", c.name, len(s.log)-before)
		}
		if c.name == "failed" {
			last = s.state.Hot.Session.Last
			if last.SourceTurnID != source || last.ID == source || last.LogicalTurn != s.state.Hot.Latest.LogicalTurn || s.state.Hot.Latest.TurnID != source {
				t.Errorf("the retry: %+v", last)
			}
		}
	}
	// Rule TP:329: a retry rewrites no story and counts no turn.
	if ss := s.state.Hot.Session; ss.CompletedPlayerTurns != turns || s.state.Hot.History.Stories != int(turns)+1 {
		t.Errorf("%d turns, %d stories, want %d turns", ss.CompletedPlayerTurns, s.state.Hot.History.Stories, turns)
	}
	s.check()
}

// Rule TP:25: a run by name that fails leaves the player's line that waits as it is, to be tried again.
func TestARunByNameLeavesTheDraft(t *testing.T) {
	s := threeSeats(t)
	s.result = func(st StartTurn) TurnEnded {
		return TurnEnded{ExecutionID: st.Execution.ID, Pack: packView, Crash: "坏了"}
	}
	s.send(Command{RequestID: "l", Type: SubmitActions, Actions: []projections.Action{{Text: "我敲门。"}}})
	for _, ends := range []func(StartTurn) TurnEnded{seerFails, s.result} {
		s.result = ends
		s.send(Command{RequestID: fmt.Sprint("m", len(s.log)), Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "seer"}}})
		st := Stand(s.state.Hot, false)
		if st.State != "failed" || st.Retry != RetryTurn || st.Input == nil || st.Input.Rendered != "我敲门。" || st.Error != "坏了" {
			t.Errorf("it stands %+v", st)
		}
	}
	s.result = seerFails
	if got := code(s.send(Command{RequestID: "again", Type: RetryTurn})); got != "accepted" || s.state.Hot.Session.CompletedPlayerTurns != 3 {
		t.Errorf("tried again: %s", got)
	}
	s.result = func(st StartTurn) TurnEnded {
		return TurnEnded{ExecutionID: st.Execution.ID, Pack: packView, Crash: "坏了"}
	}
	s.send(Command{RequestID: "m-last", Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "seer"}}})
	if st := Stand(s.state.Hot, false); st.State != "failed" || st.Retry != "" || st.Input != nil {
		t.Errorf("only the run by name failed: %+v", st)
	}
	s.check()
}

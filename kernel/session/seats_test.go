package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/projections"
)

func (s *sim) ask(c Change) Answer {
	s.token++
	s.ids++
	c.ID, c.Token = fmt.Sprint("change-", s.ids), s.token
	s.feed(ChangeStatus{c})
	s.deliver()
	return s.heard[s.token][len(s.heard[s.token])-1]
}

func (s *sim) seat(c SeatChange) Answer { return s.ask(Change{Kind: ChangeSeat, Seat: &c}) }

// Rule DEC Seats, roles, gathering: an invite is a one-time token that takes an open seat and yields a seat token; the owner
// renames, hands over, frees and removes seats. Only hashes are ever seen here.
func TestSeats(t *testing.T) {
	s := threeSeats(t)
	str := func(v string) *string { return &v }
	hash := func(c string) string { return strings.Repeat(c, 64) }
	keys := func(id string) string {
		k := s.state.Hot.Session.KeysOf(id)
		return fmt.Sprintf("%.1s/%.1s", k.Invite, k.Token)
	}
	control := func(id string) string { x, _ := s.state.Hot.Session.SeatByID(id); return x.Control }
	for _, c := range []struct {
		name   string
		change SeatChange
		want   string
		field  string // of the first issue
		after  string // control and hashes of the seat 三
	}{
		{"add", SeatChange{Op: SeatAdd, SeatID: "三", Invite: hash("a"), Edit: SeatEdit{Name: str(" 三号 "), CharacterIDs: []string{"守门人"}}}, "accepted", "", "open a/"},
		{"a wrong invite", SeatChange{Op: SeatTake, Invite: hash("f"), Token: hash("1")}, "invite_not_found", "", "open a/"},
		{"no invite at all", SeatChange{Op: SeatTake, Token: hash("1")}, "invite_not_found", "", "open a/"},
		{"take", SeatChange{Op: SeatTake, Invite: hash("a"), Token: hash("1")}, "accepted", "", "human /1"},
		{"take twice", SeatChange{Op: SeatTake, Invite: hash("a"), Token: hash("2")}, "invite_not_found", "", "human /1"},
		{"rename", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Name: str("老三")}}, "accepted", "", "human /1"},
		{"rename to the same", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Name: str("老三")}}, "repeat", "", "human /1"},
		{"hand over", SeatChange{Op: SeatInvite, SeatID: "三", Invite: hash("b")}, "accepted", "", "human b/1"},
		{"take the seat that was handed over", SeatChange{Op: SeatTake, Invite: hash("b"), Token: hash("2")}, "accepted", "", "human /2"},
		{"give it to the computer", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Control: str("ai")}}, "accepted", "", "ai /"},
		{"invite to the computer's seat", SeatChange{Op: SeatInvite, SeatID: "三", Invite: hash("c")}, "seat_not_open", "", "ai /"},
		{"free", SeatChange{Op: SeatFree, SeatID: "三"}, "accepted", "", "open /"},
		{"free again", SeatChange{Op: SeatFree, SeatID: "三"}, "repeat", "", "open /"},
		{"invite again", SeatChange{Op: SeatInvite, SeatID: "三", Invite: hash("c")}, "accepted", "", "open c/"},
		{"no such seat", SeatChange{Op: SeatFree, SeatID: "nobody"}, "seat_not_found", "", "open c/"},
		{"a role that is none", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Role: str("king")}}, "invalid_seat", "role", "open c/"},
		{"a control that is none", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Control: str("ghost")}}, "invalid_seat", "control", "open c/"},
		{"a long name", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{Name: str(strings.Repeat("三", MaxName+1))}}, "invalid_seat", "name", "open c/"},
		{"another seat's character", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{CharacterIDs: []string{"龙胆"}}}, "invalid_seat", "characterIds[0]", "open c/"},
		{"a character that is none", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{CharacterIDs: []string{"守门人", "影子"}}}, "invalid_seat", "characterIds[1]", "open c/"},
		{"a current character of another", SeatChange{Op: SeatEdited, SeatID: "三", Edit: SeatEdit{CurrentCharacterID: str("pc")}}, "invalid_seat", "currentCharacterId", "open c/"},
		{"the primary seat looks on", SeatChange{Op: SeatEdited, SeatID: "seat-1", Edit: SeatEdit{Role: str("spectator")}}, "invalid_seat", "role", "open c/"},
		{"remove the primary seat", SeatChange{Op: SeatRemove, SeatID: "seat-1"}, "seat_primary", "", "open c/"},
		{"make another primary", SeatChange{Op: SeatEdited, SeatID: "座-2", Edit: SeatEdit{Primary: true}}, "accepted", "", "open c/"},
		{"remove what was primary", SeatChange{Op: SeatRemove, SeatID: "seat-1"}, "accepted", "", "open c/"},
		{"remove", SeatChange{Op: SeatRemove, SeatID: "三"}, "accepted", "", " /"},
		{"an invite of a removed seat", SeatChange{Op: SeatTake, Invite: hash("c"), Token: hash("3")}, "invite_not_found", "", " /"},
	} {
		a := s.seat(c.change)
		got := code(a)
		if a.Repeat {
			got = "repeat"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.field != "" && (len(a.Refusal.Issues) == 0 || a.Refusal.Issues[0].Field != c.field) {
			t.Errorf("%s: %+v, want the field %s", c.name, a.Refusal, c.field)
		}
		if got := control("三") + " " + keys("三"); got != c.after {
			t.Errorf("%s: the seat is %q, want %q", c.name, got, c.after)
		}
	}
	// Rule TP:941: the primary seat's current character decides whom the story follows; there is one primary seat.
	if p, ok := s.state.Hot.Session.PrimarySeat(); !ok || p.ID != "座-2" || p.CurrentCharacterID != "龙胆" {
		t.Errorf("primary: %+v", p)
	}
	for i := len(s.state.Hot.Session.Seats); i < MaxSeats; i++ {
		s.seat(SeatChange{Op: SeatAdd, SeatID: fmt.Sprint("s", i), Invite: hash("a")})
	}
	if got := code(s.seat(SeatChange{Op: SeatAdd, SeatID: "one more", Invite: hash("a")})); got != "too_many_seats" {
		t.Errorf("one more seat: %s", got)
	}
	// Rule DEC Alternatives, undo, edits: seats and settings do not follow the head.
	seats := len(s.state.Hot.Session.Seats)
	s.send(Command{RequestID: "u", Type: MoveHead})
	if len(s.state.Hot.Session.Seats) != seats {
		t.Errorf("%d seats after an undo, %d before", len(s.state.Hot.Session.Seats), seats)
	}
	s.ask(Change{Kind: End})
	if got := code(s.seat(SeatChange{Op: SeatFree, SeatID: "座-2"})); got != "session_ended" {
		t.Errorf("after the end: %s", got)
	}
	s.check()
}

// Rule DESIGN §5: seats and settings are appended at once, also while a turn runs; the turn goes on from what it has frozen.
func TestTheTableWhileATurnRuns(t *testing.T) {
	s := running(t)
	on := projections.GatheringOn
	if a := s.seat(SeatChange{Op: SeatAdd, SeatID: "三", Invite: "0a"}); a.Status != Accepted || s.state.Phase != Running {
		t.Errorf("%+v in %s", a, s.state.Phase)
	}
	if a := s.ask(Change{Kind: ChangeSettings, Settings: &SettingsChange{Gathering: &on}}); a.Status != Accepted {
		t.Errorf("%+v", a)
	}
	s.run()
	if ss := s.state.Hot.Session; ss.CompletedPlayerTurns != 3 || ss.Settings.Gathering != "on" {
		t.Errorf("%d turns, %+v", ss.CompletedPlayerTurns, ss.Settings)
	}
	s.check()
}

// Rule DESIGN §5: requestId is remembered per seat with a body hash: a repeat gets the first outcome, another body an error. A
// request that names no seat keeps the one that was primary when it first came, wherever it is when it comes again.
func TestARepeatAfterAnotherSeatBecamePrimary(t *testing.T) {
	send := func(s *sim, typ, id, body string) uint64 {
		s.token++
		s.ids++
		s.feed(Submit{Command{RequestID: id, BodyHash: body, Type: typ, ExecutionID: fmt.Sprint("exec-", s.ids), Tokens: []uint64{s.token},
			Actions: []projections.Action{{Kind: "say", Text: "龍が来た。"}}}})
		s.deliver()
		return s.token
	}
	for _, c := range []struct {
		where, typ string
		before     bool // the first sending has come to its end before
	}{
		{"in the log", SubmitActions, true},
		{"in the queue", SubmitActions, false},
		{"said into the turn", Interject, false},
	} {
		for _, body := range []string{"aa", "bb"} {
			t.Run(c.where+", body "+body, func(t *testing.T) {
				s := running(t)
				first := send(s, c.typ, "q", "aa")
				if c.before {
					s.run()
				}
				if a := s.seat(SeatChange{Op: SeatEdited, SeatID: "座-2", Edit: SeatEdit{Primary: true}}); a.Status != Accepted {
					t.Fatalf("%+v", a)
				}
				again := send(s, c.typ, "q", body)
				s.run()
				want := map[string]string{"aa": s.last(first), "bb": "request_id_conflict"}[body]
				if got := s.last(again); got != want {
					t.Errorf("the first sending came to %s, the second to %s", s.last(first), got)
				}
				kept := 0
				for _, r := range s.state.Hot.Session.Requests {
					if r.ID == "q" {
						kept++
					}
				}
				if kept > 1 {
					t.Errorf("the request stands in the log %d times", kept)
				}
				s.check()
			})
		}
	}
}

// Settings are held against what they can be; every problem is named at once, and what stays is not written.
//
// Rule DEC Execution allowances: each limit is set per host and lowered per session. Rule REF api-and-protocol.md §1.3: at
// most 64 model overrides, by plugin or runtime.
func TestSettings(t *testing.T) {
	s := threeSeats(t)
	text, number, big := func(v string) *string { return &v }, func(v uint32) *uint32 { return &v }, func(v uint64) *uint64 { return &v }
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("p", i)] = "m"
	}
	for _, c := range []struct {
		name   string
		change SettingsChange
		want   string
	}{
		{"all", SettingsChange{Gathering: text("on"), GatherTimeoutMs: big(5000), AdvanceLimit: number(3), ModelCalls: number(8), ToolCalls: number(9), Subagents: number(2), DurationMs: big(60_000), ModelOverrides: map[string]string{"narrator": " 大模型 ", "guide/sum": "small"}, Policy: text("dialogue")}, "accepted"},
		{"the same", SettingsChange{AdvanceLimit: number(3), Policy: text("dialogue")}, "repeat"},
		{"no plugin id", SettingsChange{Policy: text("对话")}, "settings.orchestration.policy"},
		{"nothing", SettingsChange{}, "repeat"},
		{"gathering", SettingsChange{Gathering: text("maybe")}, "settings.gathering"},
		{"a day and more", SettingsChange{GatherTimeoutMs: big(86_400_001)}, "settings.gatherTimeoutMs"},
		{"a runtime that is none", SettingsChange{ModelOverrides: map[string]string{"Nar/rator/x": "m"}}, "settings.runtimeModelOverrides"},
		{"no model", SettingsChange{ModelOverrides: map[string]string{"narrator": " "}}, "settings.runtimeModelOverrides.narrator"},
		{"too many models", SettingsChange{ModelOverrides: many}, "settings.runtimeModelOverrides"},
		{"no models", SettingsChange{ModelOverrides: map[string]string{}}, "accepted"},
		{"the policy there is", SettingsChange{Policy: text("")}, "accepted"},
	} {
		a := s.ask(Change{Kind: ChangeSettings, Settings: &c.change})
		got := code(a)
		switch {
		case a.Repeat:
			got = "repeat"
		case a.Refusal != nil && a.Refusal.Code == "invalid_settings":
			got = a.Refusal.Issues[0].Field
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.name == "all" {
			want := projections.Settings{Gathering: "on", GatherTimeoutMs: 5000, AdvanceLimit: 3, Allowances: projections.Allowances{ModelCalls: 8, ToolCalls: 9, Subagents: 2, DurationMs: 60_000},
				ModelOverrides: []projections.ModelOverride{{RuntimeID: "guide/sum", Model: "small"}, {RuntimeID: "narrator", Model: "大模型"}}, Orchestration: projections.Orchestration{Policy: "dialogue"}}
			if fmt.Sprint(s.state.Hot.Session.Settings) != fmt.Sprint(want) {
				t.Errorf("%+v", s.state.Hot.Session.Settings)
			}
		}
	}
	both := s.ask(Change{Kind: ChangeSettings, Settings: &SettingsChange{Gathering: text(""), GatherTimeoutMs: big(1 << 60)}})
	if both.Refusal == nil || len(both.Refusal.Issues) != 2 {
		t.Errorf("two problems: %+v", both.Refusal)
	}
	s.check()
}

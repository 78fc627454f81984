package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// table gives a session in play at which seat-1 (primary) and seat-2 sit, with a spectator and a seat that nobody took, and
// which gathers.
func table(t *testing.T, settings projections.Settings) *sim {
	s := inPlayWith(t, func(projections.Execution) bool { return false })
	for _, seat := range []*eventsv1.Seat{
		{Id: "seat-2", Name: "龙胆", Role: "player", Control: "human"}, {Id: "seat-3", Role: "spectator", Control: "human"}, {Id: "seat-4", Role: "player", Control: "open"},
	} {
		s.outside(&eventsv1.SeatChanged{Seat: seat})
	}
	settings.Gathering = projections.GatheringOn
	s.set(settings)
	return s
}

func from(seat, id, text string) Command {
	cmd := line(id, text)
	cmd.SeatID, cmd.Actions[0].SeatID = seat, seat
	return cmd
}

// begun gives what each turn of play began with: the requests, the first its own, and the lines in order.
func (s *sim) begun() (out []string) {
	for _, r := range s.log {
		msg, _ := events.Decode(r.Event)
		m, ok := msg.(*eventsv1.ActionsSubmitted)
		if !ok || m.Type != SubmitActions || m.RequestId == "q2" {
			continue
		}
		ids, lines := []string{m.RequestId}, []string{}
		for _, g := range m.Gathered {
			ids = append(ids, g.RequestId)
		}
		for _, a := range m.Actions {
			lines = append(lines, a.SeatId+" "+a.Text)
		}
		out = append(out, strings.Join(ids, ",")+": "+strings.Join(lines, " | "))
	}
	return out
}

func (s *sim) changeGathering(kind ChangeKind, seat string) Answer {
	s.token++
	s.feed(ChangeStatus{Change{Kind: kind, SeatID: seat, ID: fmt.Sprint("g", s.token), Token: s.token}})
	s.run()
	return s.heard[s.token][0]
}

// Rule DEC Seats, roles, gathering: submissions wait until every human player seat has one, the owner closes it, or a timer
// ends; then one turn runs with all actions in seat order.
func TestGathering(t *testing.T) {
	cases := []struct {
		name     string
		settings projections.Settings
		do       func(s *sim)
		want     []string
	}{
		{"every human player seat has one; the order is that of the seats", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.request(from("seat-1", "a", "我进去。"))
		}, []string{"a,b: seat-1 我进去。 | seat-2 我守门。"}},
		{"spectators and open seats are not waited for", projections.Settings{}, func(s *sim) {
			s.outside(&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-2", Role: "player", Control: "ai"}})
			s.request(from("seat-1", "a", "我进去。"))
		}, []string{"a: seat-1 我进去。"}},
		{"one is missing", projections.Settings{}, func(s *sim) { s.request(from("seat-1", "a", "我进去。")) }, nil},
		{"the owner closes it", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			if a := s.changeGathering(CloseGathering, ""); a.Status != Accepted {
				t.Errorf("closing: %+v", a)
			}
		}, []string{"b: seat-2 我守门。"}},
		{"the time is over", projections.Settings{GatherTimeoutMs: 60_000}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			if until := s.log[len(s.log)-1].RecordedAt.Add(time.Minute); !s.wakeAt.Equal(until) {
				t.Errorf("it asks to be woken at %v, want %v", s.wakeAt, until)
			}
			s.now = s.wakeAt
			s.feed(Tick{})
			s.run()
		}, []string{"b: seat-2 我守门。"}},
		{"the time is not over yet", projections.Settings{GatherTimeoutMs: 60_000}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.now = s.wakeAt.Add(-time.Millisecond)
			s.feed(Tick{})
			s.run()
		}, nil},
		{"the time ends while nobody has the session open", projections.Settings{GatherTimeoutMs: 60_000}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			due := s.fold().Session.GatheredUntil()
			s.activate()
			s.run()
			s.now = due
			s.feed(Wake{}) // of the due scan
			s.run()
		}, []string{"b: seat-2 我守门。"}},
		{"a restart forgets nothing", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.activate()
			s.run()
			s.request(from("seat-1", "a", "我进去。"))
		}, []string{"a,b: seat-1 我进去。 | seat-2 我守门。"}},
		{"gathering is turned off", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.set(projections.Settings{})
		}, []string{"b: seat-2 我守门。"}},
		{"who is waited for leaves", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.outside(&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-1", Role: "player", Control: "open", Primary: true}})
		}, []string{"b: seat-2 我守门。"}},
		{"a seat says it anew", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.request(from("seat-2", "c", "我跟着。"))
			s.request(from("seat-1", "a", "我进去。"))
		}, []string{"a,c: seat-1 我进去。 | seat-2 我跟着。"}},
		{"a seat takes it back", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			if a := s.changeGathering(WithdrawSubmission, "seat-2"); a.Status != Accepted {
				t.Errorf("withdrawing: %+v", a)
			}
			s.request(from("seat-1", "a", "我进去。"))
		}, nil},
		{"a paused session begins no turn, and goes on when it is resumed", projections.Settings{}, func(s *sim) {
			s.request(from("seat-2", "b", "我守门。"))
			s.feed(ChangeStatus{Change{Kind: Pause, ID: "p"}})
			s.run()
			s.changeGathering(CloseGathering, "")
			if got := s.begun(); got != nil {
				t.Errorf("paused, and %q begins", got)
			}
			s.feed(ChangeStatus{Change{Kind: Resume, ID: "r"}})
			s.run()
		}, []string{"b: seat-2 我守门。"}},
		{"off: each submission starts a turn", projections.Settings{}, func(s *sim) {
			s.set(projections.Settings{})
			s.request(from("seat-2", "b", "我守门。"))
			s.request(from("seat-1", "a", "我进去。"))
		}, []string{"b: seat-2 我守门。", "a: seat-1 我进去。"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := table(t, c.settings)
			c.do(s)
			expectLines(t, "turns", s.begun(), c.want...)
			if n := len(s.fold().Session.Gathering.Submissions); c.want != nil && n != 0 {
				t.Errorf("%d submissions still wait", n)
			}
			s.check()
		})
	}
}

// Rule DEC Seats, roles, gathering: one turn runs with all actions, and the model reads who of several says what.
func TestAGatheredTurn(t *testing.T) {
	s := table(t, projections.Settings{})
	s.request(from("seat-2", "b", "我守门。"))
	s.request(from("seat-1", "a", "我进去。"))
	st := s.fold()
	if st.Session.CompletedPlayerTurns != 1 {
		t.Errorf("%d turns counted", st.Session.CompletedPlayerTurns)
	}
	for _, q := range []struct{ seat, id string }{{"seat-1", "a"}, {"seat-2", "b"}} {
		req, ok := st.Session.FindRequest(q.seat, q.id)
		if !ok || req.ExecutionID != st.Session.Last.ID {
			t.Errorf("request %s: %+v", q.id, req)
		}
		cmd := from(q.seat, q.id, "又一次")
		if a := s.send(cmd); a.Status != Accepted || !a.Repeat {
			t.Errorf("a repeat of %s: %+v", q.id, a)
		}
	}
	if got := len(s.begun()); got != 1 {
		t.Errorf("%d turns after the repeats", got)
	}
}

// A submission that cannot be played any more is taken out when the turn begins; the others wait for what is missing then.
func TestASubmissionThatIsNoMore(t *testing.T) {
	s := table(t, projections.Settings{})
	s.request(from("seat-2", "b", "我守门。"))
	s.outside(&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-2", Role: "spectator", Control: "human"}})
	expectLines(t, "turns", s.begun())
	s.request(from("seat-1", "a", "我进去。"))
	expectLines(t, "turns", s.begun(), "a: seat-1 我进去。")
	if s.log[len(s.log)-1].Type == "SubmissionWithdrawn" || len(s.fold().Session.Gathering.Submissions) != 0 {
		t.Error("something still waits")
	}
}

// What cannot be: there is nothing to close or to take back.
func TestGatheringRefusals(t *testing.T) {
	s := table(t, projections.Settings{})
	if a := s.changeGathering(CloseGathering, ""); a.Refusal == nil || a.Refusal.Code != "nothing_gathered" {
		t.Errorf("closing nothing: %+v", a)
	}
	if a := s.changeGathering(WithdrawSubmission, "seat-2"); a.Refusal == nil || a.Refusal.Code != "submission_not_found" {
		t.Errorf("withdrawing nothing: %+v", a)
	}
	bad := from("seat-3", "x", "我也要。") // a spectator
	if a := s.send(bad); a.Refusal == nil || a.Refusal.Code != "invalid_action" {
		t.Errorf("a spectator's line: %+v", a)
	}
	s.request(from("seat-2", "b", "我守门。"))
	s.feed(ChangeStatus{Change{Kind: End, ID: "e"}})
	s.run()
	if g := s.fold().Session.Gathering; len(g.Submissions) != 0 {
		t.Errorf("the session has ended and %+v waits", g)
	}
}

// Rule TP:1184: a submission that waits for the others is a newer input too: it ends the rounds of the one before.
func TestASubmissionEndsTheRounds(t *testing.T) {
	s := table(t, projections.Settings{})
	s.result = func(st StartTurn) TurnEnded {
		end := play(st)
		end.Results[0].Output = []byte(`{"advance":{"reason":"继续"}}`)
		return end
	}
	s.request(from("seat-2", "b", "我守门。"))
	s.post(from("seat-1", "a", "我进去。"))
	for len(s.turns) == 0 {
		s.next()
	}
	s.post(from("seat-2", "c", "等等！"))
	tn := s.turns[0]
	s.turns = nil
	s.feed(s.result(tn))
	s.run()
	expectLines(t, "the request", s.executions("a"), "player turn 1 round 0: committed advance", "stopped new-input")
	if g := s.fold().Session.Gathering; len(g.Submissions) != 1 || g.Submissions[0].RequestID != "c" {
		t.Errorf("%+v waits", g)
	}
}

// A crash between any two effects of two seats that play two turns together, and a store fault at every append: every line is
// played once, in one turn with that of the other seat.
func TestGatheringSurvives(t *testing.T) {
	script := func(s *sim) {
		for _, cmd := range []Command{from("seat-2", "b1", "我守门。"), from("seat-1", "a1", "我进去。"), from("seat-1", "a2", "我回来。"), from("seat-2", "b2", "我等他。")} {
			s.request(cmd)
			s.settleDown()
		}
		s.feed(Wake{})
		s.run()
		s.settleDown()
	}
	want := []string{"a1,b1: seat-1 我进去。 | seat-2 我守门。", "a2,b2: seat-1 我回来。 | seat-2 我等他。"}
	verify := func(s *sim, where string) {
		s.check()
		if got := s.begun(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", where, got)
		}
		if n := s.fold().Session.CompletedPlayerTurns; n != 2 {
			t.Errorf("%s: %d turns counted", where, n)
		}
	}
	clean := table(t, projections.Settings{})
	from := clean.points
	appends := clean.appends
	script(clean)
	verify(clean, "no fault")
	for at := from + 1; at <= clean.points && !t.Failed(); at++ {
		s := table(t, projections.Settings{})
		s.crashAt = at
		s.survive(func() { script(s) })
		verify(s, fmt.Sprint("crash before point ", at))
	}
	for _, f := range []fault{unknownWritten, unknownNotWritten, refusedByStore, foreignBefore} {
		for at := appends + 1; at <= clean.appends && !t.Failed(); at++ {
			s := table(t, projections.Settings{})
			s.fault = func(n int, _ Append) fault {
				if n == at {
					return f
				}
				return noFault
			}
			script(s)
			verify(s, fmt.Sprint("fault ", f, " at append ", at))
		}
	}
}

// Random tables: seats come, go, say, take back, close; whoever has said something is in exactly one turn, or waits, or took
// it back, and no turn begins while somebody is waited for.
func TestRandomTables(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := table(t, projections.Settings{})
		said := map[string]bool{}
		seat := rapid.SampledFrom([]string{"seat-1", "seat-2"})
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(rt *rapid.T) {
				id := fmt.Sprint("s", s.ids)
				if a := s.send(from(seat.Draw(rt, "seat"), id, "话"+id)); a.Status == Accepted {
					said[id] = true
				}
			},
			"take back": func(rt *rapid.T) {
				at := seat.Draw(rt, "seat")
				x, ok := s.fold().Session.Gathering.Of(at)
				if a := s.changeGathering(WithdrawSubmission, at); (a.Status == Accepted) != ok {
					rt.Fatalf("taking back of %v: %+v", ok, a)
				}
				delete(said, x.RequestID)
			},
			"close":   func(rt *rapid.T) { s.changeGathering(CloseGathering, "") },
			"restart": func(rt *rapid.T) { s.activate(); s.run() },
			"": func(rt *rapid.T) {
				in := map[string]int{}
				for _, b := range s.begun() {
					ids, _, _ := strings.Cut(b, ":")
					for id := range strings.SplitSeq(ids, ",") {
						in[id]++
					}
				}
				st := s.fold()
				for _, x := range st.Session.Gathering.Submissions {
					in[x.RequestID]++
				}
				for id, n := range in {
					if n != 1 || !said[id] {
						rt.Fatalf("%s is there %d times, said: %v", id, n, said[id])
					}
				}
				if len(st.Session.Gathering.Submissions) > 0 && len(st.Session.WaitingFor()) == 0 && s.state.sweep {
					rt.Fatal("nobody is waited for and no turn begins")
				}
			},
		})
	})
}

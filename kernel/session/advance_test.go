package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// inPlayWith gives a session that has come to its first question of play, with turns whose stories ask for as many further
// rounds as asks says.
func inPlayWith(t *testing.T, asks func(projections.Execution) bool) *sim {
	s := newSim(t)
	s.result = func(st StartTurn) TurnEnded {
		end := play(st)
		for i := range end.Results {
			if end.Results[i].Story && asks(st.Execution) {
				end.Results[i].Output = json.RawMessage(`{"advance":{"reason":"他还没说完"}}`)
			}
		}
		return end
	}
	s.activate()
	s.run()
	s.request(Command{RequestID: "q1", Type: StartSession})
	ref := s.fold().Interactions.Open("maker")[0].InteractionRef
	s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	return s
}

func always(projections.Execution) bool { return true }

func inPlay(e projections.Execution) bool { return e.Origin == originPlayer || e.Round > 0 }

// executions reads the log: one line per execution and per request that went on no further.
func (s *sim) executions(request string) (out []string) {
	starts := map[string]*eventsv1.ExecutionStarted{}
	for _, r := range s.log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			s.t.Fatal(err)
		}
		id, end := "", ""
		switch m := msg.(type) {
		case *eventsv1.ExecutionStarted:
			starts[m.ExecutionId] = m
		case *eventsv1.ExecutionCommitted:
			id, end = m.ExecutionId, "committed "+m.Next
		case *eventsv1.ExecutionFailed:
			id, end = m.ExecutionId, "failed"
		case *eventsv1.ExecutionAborted:
			id, end = m.ExecutionId, m.Reason
		case *eventsv1.AdvanceStopped:
			if r.Metadata.CorrelationId == request {
				out = append(out, "stopped "+m.Reason)
			}
		}
		if st := starts[id]; st != nil && st.RequestId == request {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s turn %d round %d: %s", st.Origin, st.LogicalTurn, st.Round, end)))
		}
	}
	return out
}

func line(id, text string) Command {
	return Command{RequestID: id, Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: text}}}
}

func expectLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %s\n  want %s", what, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
	}
}

// Rule TP:1182: the root input freezes its number and its limit; rounds are executions of their own with origin
// continuation, keep the number and count no turn.
// Rule TP:177: an automatic advance within one input is a continuation.
// Rule TP:1186: functions, guards and the rest use the frozen number in every round.
// Rule TP:1188: each round keeps its outcome once; the request ends once.
func TestRoundsOfOneInput(t *testing.T) {
	s := inPlayWith(t, func(e projections.Execution) bool { return e.Origin == originPlayer || e.Round == 1 })
	s.request(line("q3", "我去码头。"))
	expectLines(t, "the request", s.executions("q3"), "player turn 1 round 0: committed advance", "continuation turn 1 round 1: committed advance", "continuation turn 1 round 2: committed")
	st := s.fold()
	if st.Session.CompletedPlayerTurns != 1 || st.History.Stories != 4 || announced(st.Session) != "" {
		t.Errorf("%d turns, %d stories, goes on with %q", st.Session.CompletedPlayerTurns, st.History.Stories, announced(st.Session))
	}
	ids, runs, turnIDs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range s.log {
		msg, _ := events.Decode(r.Event)
		switch m := msg.(type) {
		case *eventsv1.ExecutionStarted:
			if m.RequestId == "q3" {
				ids[m.ExecutionId], turnIDs[m.LogicalTurnId] = true, true
				if m.AdvanceLimit != AdvanceLimit {
					t.Errorf("round %d has the limit %d", m.Round, m.AdvanceLimit)
				}
			}
		case *eventsv1.NarrativeAppended:
			runs[r.Metadata.RunId] = true
		}
	}
	if len(ids) != 3 || len(turnIDs) != 1 || len(runs) != 4 {
		t.Errorf("%d executions, %d turn ids, %d story runs", len(ids), len(turnIDs), len(runs))
	}
	s.check()
}

// Rule TP:177: the opening is a continuation. Rule TP:176: the line of a player is a player turn. Rule TP:166: set-up, opening and
// first line are all of turn 1.
// Rule TP:1182: opening advancement keeps number 1 and counter 0; the first line also uses number 1, as another input.
func TestAdvanceOfTheOpening(t *testing.T) {
	s := inPlayWith(t, func(e projections.Execution) bool { return e.Origin == originContinuation && e.Round == 0 })
	expectLines(t, "the set-up", s.executions("q2"), "player turn 1 round 0: committed opening", "continuation turn 1 round 0: committed advance", "continuation turn 1 round 1: committed")
	if n := s.fold().Session.CompletedPlayerTurns; n != 0 {
		t.Errorf("%d turns counted", n)
	}
	opening := s.fold().Session.Last.LogicalTurnID
	s.request(line("q3", "我去码头。"))
	last := s.fold().Session.Last
	if last.LogicalTurn != 1 || last.LogicalTurnID == opening {
		t.Errorf("the first line is turn %d, input %s; the opening was %s", last.LogicalTurn, last.LogicalTurnID, opening)
	}
}

// Rule DEC Execution allowances: the root input freezes the advancement limit, 12 rounds, set per host and lowered per session.
// Rule TP:1188: the cap bounds what a request may use.
func TestTheLimitOfRounds(t *testing.T) {
	cases := []struct {
		name      string
		host, own uint32
		want      int
	}{
		{"the host's default", 0, 0, 12},
		{"the host sets less", 3, 0, 3},
		{"the session sets less", 0, 2, 2},
		{"a session cannot set more", 3, 9, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := inPlayWith(t, inPlay)
			s.advanceLimit = c.host
			s.set(projections.Settings{AdvanceLimit: c.own})
			s.request(line("q3", "走。"))
			if got := s.executions("q3"); len(got) != c.want+1 || got[len(got)-1] != fmt.Sprintf("continuation turn 1 round %d: committed", c.want) {
				t.Errorf("%d executions, the last %q", len(got), got[len(got)-1])
			}
		})
	}
}

// Rule TP:1184: a newer input takes the place of the rounds of an older one; the request says so and ends.
// Rule TP:1184: the player's stop survives the time between two rounds.
// Rule DEC Execution allowances: the host grants a round while the limit holds, nobody stopped, and no newer input waits.
func TestNoFurtherRound(t *testing.T) {
	cases := []struct {
		name string
		do   func(s *sim)
		want string
	}{
		{"another line waits", func(s *sim) { s.post(line("q4", "等等！")) }, "stopped new-input"},
		{"the player stopped", func(s *sim) { s.feed(StopTurn{}) }, "stopped stopped"},
		{"the session was paused", func(s *sim) { s.feed(ChangeStatus{Change{Kind: Pause, ID: "p"}}) }, "stopped not-active"},
		{"the server leaves", func(s *sim) { s.feed(Drain{}) }, "stopped shutdown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := inPlayWith(t, inPlay)
			s.post(line("q3", "走。"))
			for len(s.turns) == 0 { // accepted and started
				s.next()
			}
			end := s.result(s.turns[0])
			s.turns = nil
			s.feed(end) // its commit is on the way
			c.do(s)
			s.result = play // what follows asks for nothing
			s.run()
			expectLines(t, "the request", s.executions("q3"), "player turn 1 round 0: committed advance", c.want)
			s.check()
		})
	}
}

// Rule TP:1184: what is stopped is the round; what committed before stays, and nothing follows.
func TestAStopInARound(t *testing.T) {
	s := inPlayWith(t, inPlay)
	s.post(line("q3", "走。"))
	for len(s.turns) == 0 || s.turns[0].Execution.Round < 2 {
		if len(s.inbox) > 0 {
			s.next()
			continue
		}
		tn := s.turns[0]
		s.turns = nil
		s.feed(s.result(tn))
	}
	s.feed(StopTurn{})
	s.run()
	expectLines(t, "the request", s.executions("q3"), "player turn 1 round 0: committed advance", "continuation turn 1 round 1: committed advance", "continuation turn 1 round 2: aborted-by-player")
	stand := Stand(s.fold(), false)
	if stand.State != "failed" || stand.Retry != "" || s.fold().Session.Draft != nil {
		t.Errorf("it stands as %+v", stand)
	}
}

// Rule TP:1188: a round that fails ends the request; what was told before stays, and there is no line to try again.
func TestARoundThatFails(t *testing.T) {
	s := inPlayWith(t, inPlay)
	good := s.result
	s.result = func(st StartTurn) TurnEnded {
		end := good(st)
		if st.Execution.Round == 1 {
			end.Results[0].Status, end.Results[0].Error = turn.Failed, "the model failed"
		}
		return end
	}
	s.request(line("q3", "走。"))
	expectLines(t, "the request", s.executions("q3"), "player turn 1 round 0: committed advance", "continuation turn 1 round 1: failed")
	if stand := Stand(s.fold(), false); stand.State != "failed" || stand.Retry != "" || stand.Error == "" {
		t.Errorf("it stands as %+v", stand)
	}
	if a := s.send(line("q4", "再来。")); a.Status != Accepted {
		t.Errorf("the next line: %+v", a)
	}
}

// Rule TP:1188: a retry, a resume and what is no input of the story advance nothing.
func TestOnlyInputsAdvance(t *testing.T) {
	s := inPlayWith(t, always)
	st := s.fold().Session
	if st.Last.AdvanceLimit != AdvanceLimit {
		t.Fatalf("the opening's limit is %d", st.Last.AdvanceLimit)
	}
	for _, origin := range []string{"manual", "resume", "background"} {
		if ev := (&step{State: s.state}).started("e", origin, "r"); ev.AdvanceLimit != 0 {
			t.Errorf("%s starts with %d rounds", origin, ev.AdvanceLimit)
		}
	}
}

// Rule TP:1188: no loop goes on by itself after the process exited: a crash between two rounds ends the request at the next
// look, whatever that is, and what had committed stays.
func TestACrashBetweenRounds(t *testing.T) {
	wakes := map[string]func(*sim){
		"the due scan":  func(s *sim) { s.feed(Wake{}); s.run() },
		"another line":  func(s *sim) { s.request(line("q4", "有人吗？")) },
		"an undo of it": func(s *sim) { s.request(Command{RequestID: "q4", Type: MoveHead}) },
	}
	for name, wake := range wakes {
		t.Run(name, func(t *testing.T) {
			s := inPlayWith(t, inPlay)
			s.fault = func(_ int, a Append) fault {
				if a.Kind == AppendOpen {
					panic(died{})
				}
				return noFault
			}
			func() {
				defer func() { _ = recover() }()
				s.send(line("q3", "走。"))
			}()
			s.fault, s.result = nil, play
			s.activate()
			s.run()
			if at := len(s.log); Stand(s.fold(), false).State != "completed" || s.log[at-1].Type != "ExecutionCommitted" {
				t.Fatalf("a look at it appended %s", s.log[at-1].Type)
			}
			wake(s)
			expectLines(t, "the request", s.executions("q3"), "player turn 1 round 0: committed advance", "stopped interrupted")
			s.check()
		})
	}
}

// Rule TP:158: the opening that a crash left out is asked for again; the request that was to tell it ends.
func TestACrashBeforeTheOpening(t *testing.T) {
	s := newSim(t)
	s.fault = func(_ int, a Append) fault {
		if a.Kind == AppendOpen {
			panic(died{})
		}
		return noFault
	}
	func() {
		defer func() { _ = recover() }()
		s.activate()
		s.run()
		s.request(Command{RequestID: "q1", Type: StartSession})
		ref := s.fold().Interactions.Open("maker")[0].InteractionRef
		s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	}()
	s.fault = nil
	s.activate()
	s.run()
	s.feed(Wake{})
	s.run()
	expectLines(t, "the set-up", s.executions("q2"), "player turn 1 round 0: committed opening", "stopped interrupted")
	if stand := Stand(s.fold(), false); stand.State != "interrupted" || stand.Retry != StartSession {
		t.Errorf("it stands as %+v", stand)
	}
	s.request(Command{RequestID: "q5", Type: StartSession})
	expectLines(t, "the opening", s.executions("q5"), "continuation turn 1 round 0: committed")
}

// A crash between any two effects of a request with rounds, and a store fault at every append of it: every round is there
// once, the request ends once, and the rounds have no gap.
func TestAdvanceSurvives(t *testing.T) {
	script := func(s *sim) {
		s.script()
		s.feed(Wake{})
		s.run()
	}
	fresh := func() *sim {
		s := newSim(t)
		s.result = func(st StartTurn) TurnEnded {
			end := play(st)
			for i := range end.Results {
				if end.Results[i].Story && inPlay(st.Execution) && st.Execution.Round < 2 {
					end.Results[i].Output = json.RawMessage(`{"advance":{"reason":"继续"}}`)
				}
			}
			return end
		}
		return s
	}
	clean := fresh()
	clean.survive(func() { script(clean) })
	verify := func(s *sim, where string) {
		s.check()
		ends, round := map[string]int{}, uint32(0)
		for _, r := range s.log {
			msg, _ := events.Decode(r.Event)
			switch m := msg.(type) {
			case *eventsv1.ExecutionStarted:
				if m.Round != 0 && m.Round != round+1 {
					t.Errorf("%s: round %d follows round %d", where, m.Round, round)
				}
				round = m.Round
			case *eventsv1.ExecutionCommitted:
				if m.Next == "" {
					ends[r.Metadata.CorrelationId]++
				}
			case *eventsv1.ExecutionFailed, *eventsv1.ExecutionAborted, *eventsv1.AdvanceStopped:
				ends[r.Metadata.CorrelationId]++
			}
		}
		for id, n := range ends {
			if n != 1 {
				t.Errorf("%s: request %s ends %d times", where, id, n)
			}
		}
		if st := s.fold(); announced(st.Session) != "" || st.Session.CompletedPlayerTurns != 2 {
			t.Errorf("%s: %q is left, %d turns", where, announced(st.Session), st.Session.CompletedPlayerTurns)
		}
	}
	verify(clean, "no fault")
	for at := 1; at <= clean.points && !t.Failed(); at++ {
		s := fresh()
		s.crashAt = at
		s.survive(func() { script(s) })
		verify(s, fmt.Sprint("crash before point ", at))
	}
	for _, f := range []fault{unknownWritten, unknownNotWritten, refusedByStore, foreignBefore} {
		for at := 1; at <= clean.appends && !t.Failed(); at++ {
			s := fresh()
			s.fault = func(n int, _ Append) fault {
				if n == at {
					return f
				}
				return noFault
			}
			s.survive(func() { script(s) })
			verify(s, fmt.Sprint("fault ", f, " at append ", at))
		}
	}
}

// Random rounds: whatever the stories ask, a request has at most as many rounds as it froze, numbered without a gap, and the
// settings of a later moment change nothing.
func TestRandomRounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := inPlayWith(t, func(projections.Execution) bool { return rapid.IntRange(0, 3).Draw(rt, "asks") > 0 })
		for i := range rapid.IntRange(1, 4).Draw(rt, "inputs") {
			limit := rapid.Uint32Range(1, 5).Draw(rt, "limit")
			s.set(projections.Settings{AdvanceLimit: limit})
			id := fmt.Sprint("r", i)
			s.request(line(id, "走。"))
			for n, got := range s.executions(id) {
				if n > int(limit) || !strings.Contains(got, fmt.Sprintf("turn %d round %d:", i+1, n)) {
					rt.Fatalf("with a limit of %d, execution %d is %q", limit, n, got)
				}
			}
		}
		if n := s.fold().Session.CompletedPlayerTurns; n != uint32(len(s.executionsOf(originPlayer))) {
			rt.Fatalf("%d turns counted", n)
		}
	})
}

// executionsOf names the executions of an origin in the playing phase.
func (s *sim) executionsOf(origin string) (out []string) {
	for _, r := range s.log {
		msg, _ := events.Decode(r.Event)
		if m, ok := msg.(*eventsv1.ExecutionStarted); ok && m.Origin == origin && m.Phase == projections.PhasePlaying {
			out = append(out, m.ExecutionId)
		}
	}
	return out
}

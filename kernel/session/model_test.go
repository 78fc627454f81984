package session

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Random commands, stops, pauses, turn outcomes, store faults, foreign events and crashes. Whatever happens, the log holds
// what the rules say, and folding it gives the live state, byte for byte.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSim(t)
		s.activate()
		faults := rapid.SampledFrom([]fault{noFault, noFault, noFault, unknownWritten, unknownNotWritten, refusedByStore, foreignBefore})
		s.fault = func(int, Append) fault { return faults.Draw(rt, "fault") }
		sent := map[string]string{} // requestId → body
		texts := rapid.SampledFrom([]string{"我等。", "Look at the lamp", "龍が来た🐉", "去"})
		submit := func(id, hash string, cmd Command) {
			s.token++
			s.ids++
			cmd.RequestID, cmd.BodyHash, cmd.Tokens, cmd.ExecutionID = id, hash, []uint64{s.token}, fmt.Sprint("exec-", s.ids)
			s.feed(Submit{cmd})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"start": func(rt *rapid.T) { submit(fmt.Sprint("s", s.ids), "aa", Command{Type: StartSession}) },
			"say": func(rt *rapid.T) {
				id := fmt.Sprint("l", s.ids)
				sent[id] = texts.Draw(rt, "text")
				submit(id, "aa", Command{Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: sent[id]}}})
			},
			"answer": func(rt *rapid.T) {
				if open := s.state.Hot.Interactions.Open("maker"); len(open) > 0 {
					ref := open[0].InteractionRef
					submit(fmt.Sprint("f", s.ids), "aa", Command{Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
				}
			},
			"retry": func(rt *rapid.T) { submit(fmt.Sprint("t", s.ids), "aa", Command{Type: RetryTurn}) },
			"repeat": func(rt *rapid.T) {
				if len(sent) > 0 {
					id := rapid.SampledFrom(sortedKeys(sent)).Draw(rt, "id")
					hash := rapid.SampledFrom([]string{"aa", "aa", "bb"}).Draw(rt, "hash")
					submit(id, hash, Command{Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: sent[id]}}})
				}
			},
			"deliver": func(rt *rapid.T) {
				if len(s.inbox) > 0 {
					in := s.inbox[0]
					s.inbox = s.inbox[1:]
					s.feed(in)
				}
			},
			"end turn": func(rt *rapid.T) {
				if len(s.turns) == 0 {
					return
				}
				tn := s.turns[0]
				s.turns = s.turns[1:]
				end := play(tn)
				switch rapid.IntRange(0, 5).Draw(rt, "outcome") {
				case 0:
					end.Crash = "it panicked"
				case 1:
					for i := range end.Results {
						end.Results[i].Status, end.Results[i].Error = turn.Failed, "the model failed"
					}
				}
				s.feed(end)
			},
			"stop": func(rt *rapid.T) { s.token++; s.feed(StopTurn{s.token}) },
			"pause": func(rt *rapid.T) {
				s.token++
				s.feed(ChangeStatus{Change{Kind: Pause, ID: fmt.Sprint("c", s.ids), Token: s.token}})
			},
			"resume": func(rt *rapid.T) {
				s.token++
				s.feed(ChangeStatus{Change{Kind: Resume, ID: fmt.Sprint("c", s.ids), Token: s.token}})
			},
			"wake":    func(rt *rapid.T) { s.feed(Wake{}) },
			"foreign": func(rt *rapid.T) { s.feed(Foreign{}) },
			"crash":   func(rt *rapid.T) { s.activate() },
			"passivate": func(rt *rapid.T) {
				s.feed(IdleTimeout{})
				if s.state.Phase == Stopped {
					s.activate()
				}
			},
			"": func(rt *rapid.T) {
				if s.state.InFlight == nil && s.state.Phase != Recovering && s.state.Hot.Version == events.Version(len(s.log)) {
					live, _ := s.state.Hot.Encode()
					folded, _ := s.fold().Encode()
					if string(live) != string(folded) {
						rt.Fatal("folding the log does not give the live state")
					}
				}
			},
		})
		s.fault = nil
		s.run()
		s.activate()
		s.run()
		s.feed(Wake{})
		s.run()
		s.check()
		s.compare()
	})
}

// compare holds the log against a reader that knows the rules but not the fold.
func (s *sim) compare() {
	s.t.Helper()
	var draft, input string
	var inputOf, origin, phase string
	var lines []string
	turns := 0
	for _, r := range s.log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			s.t.Fatal(err)
		}
		switch m := msg.(type) {
		case *eventsv1.ActionsSubmitted:
			if input = m.Rendered; len(m.Actions) == 0 {
				input = draft
			}
			inputOf, draft = m.ExecutionId, ""
		case *eventsv1.ExecutionStarted:
			origin, phase = m.Origin, m.Phase
			if m.ExecutionId != inputOf {
				input = ""
			}
		case *eventsv1.ExecutionCommitted:
			if input != "" {
				lines = append(lines, input)
			}
			if origin == "player" && phase == "playing" {
				turns++
			}
			input = ""
		case *eventsv1.ExecutionFailed, *eventsv1.ExecutionAborted:
			if input != "" {
				draft = input
			}
			input = ""
		}
	}
	st := s.fold()
	var got []string
	for i := range st.History.Len() {
		if m := st.History.At(i); m.Role == projections.RoleUser {
			got = append(got, m.Text)
		}
	}
	if !slices.Equal(got, lines) {
		s.t.Errorf("history has the lines %q, the log tells %q", got, lines)
	}
	if int(st.Session.CompletedPlayerTurns) != turns {
		s.t.Errorf("%d turns counted, the log tells %d", st.Session.CompletedPlayerTurns, turns)
	}
	for token, answers := range s.heard {
		for _, a := range answers {
			if a.Status == Accepted && a.ExecutionID != "" && int(a.Version) > len(s.log) {
				s.t.Errorf("token %d was promised version %d of %d", token, a.Version, len(s.log))
			}
		}
	}
}

package session

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
)

var update = flag.Bool("update", false, "write the golden state table")

// phases gives a session in each phase of design §5, ready for one more input.
func phases(t *testing.T) map[string]func() *sim {
	played := func() *sim {
		s := newSim(t)
		s.result = seerFails
		s.activate()
		s.run()
		s.script()
		return s
	}
	say := func(s *sim) {
		s.token++
		s.ids++
		s.feed(Submit{Command{RequestID: "line", BodyHash: "aa", Type: SubmitActions, ExecutionID: fmt.Sprint("exec-", s.ids), Tokens: []uint64{s.token},
			Actions: []projections.Action{{Kind: "say", Text: "我等。"}}}})
	}
	next := func(s *sim) {
		in := s.inbox[0]
		s.inbox = s.inbox[1:]
		s.feed(in)
	}
	return map[string]func() *sim{
		"1 recovering": func() *sim {
			s := played()
			s.activate()
			return s
		},
		"2 idle": played,
		"3 settling": func() *sim {
			s := played()
			say(s)
			return s
		},
		"4 accepting": func() *sim {
			s := played()
			say(s)
			next(s)
			return s
		},
		"5 running": func() *sim {
			s := played()
			say(s)
			next(s)
			next(s)
			return s
		},
		"6 committing": func() *sim {
			s := played()
			say(s)
			next(s)
			next(s)
			tn := s.turns[0]
			s.turns = nil
			s.feed(s.result(tn))
			return s
		},
		"7 uncertain": func() *sim {
			s := played()
			say(s)
			next(s)
			next(s)
			tn := s.turns[0]
			s.turns = nil
			s.fault = func(int, Append) fault { return unknownNotWritten }
			s.feed(s.result(tn))
			next(s)
			s.fault = nil
			return s
		},
		"8 left open by a dead owner": func() *sim {
			s := played()
			say(s)
			next(s)
			next(s)
			s.activate()
			next(s)
			return s
		},
		"9 draining": func() *sim {
			s := played()
			say(s)
			next(s)
			next(s)
			s.feed(Drain{})
			return s
		},
	}
}

func inputs() map[string]func(s *sim) Input {
	cmd := func(s *sim, c Command) Input {
		s.token++
		s.ids++
		c.Tokens, c.ExecutionID, c.BodyHash = []uint64{s.token}, fmt.Sprint("exec-", s.ids), "bb"
		return Submit{c}
	}
	line := []projections.Action{{Kind: "say", Text: "走吧。"}}
	stale := events.Version(3)
	return map[string]func(s *sim) Input{
		"a new line": func(s *sim) Input { return cmd(s, Command{RequestID: "new", Type: SubmitActions, Actions: line}) },
		"a stale base": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: SubmitActions, Actions: line, Base: &stale})
		},
		"an old request": func(s *sim) Input {
			in := cmd(s, Command{RequestID: "q3", Type: SubmitActions, Actions: line}).(Submit)
			in.Command.BodyHash = "aa"
			return in
		},
		"an interjection": func(s *sim) Input { return cmd(s, Command{RequestID: "new", Type: Interject, Actions: line}) },
		"a run by name": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: RunRuntimes, Targets: []projections.Target{{RuntimeID: "maker"}}})
		},
		"a retry of runs": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: RunRuntimes, SourceTurnID: s.state.Hot.Latest.TurnID, Targets: []projections.Target{{RuntimeID: "seer"}}})
		},
		"retry the turn": func(s *sim) Input { return cmd(s, Command{RequestID: "new", Type: RetryTurn}) },
		"undo":           func(s *sim) Input { return cmd(s, Command{RequestID: "new", Type: MoveHead}) },
		"regenerate":     func(s *sim) Input { return cmd(s, Command{RequestID: "new", Type: Regenerate}) },
		"revise": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: ReviseMessage, MessageID: lastPage(s), Text: "雪停了。"})
		},
		"name a turn": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: NameTurn, TurnID: s.state.Hot.Tree.Head, Text: "雪"})
		},
		"resume": func(s *sim) Input {
			return cmd(s, Command{RequestID: "new", Type: ResumeSuspension, SuspensionID: "nobody"})
		},
		"a seat": func(s *sim) Input {
			s.token++
			return ChangeStatus{Change{Kind: ChangeSeat, ID: "c", Token: s.token, Seat: &SeatChange{Op: SeatAdd, SeatID: "座-2", Invite: "0a"}}}
		},
		"settings": func(s *sim) Input {
			s.token++
			on := projections.GatheringOn
			return ChangeStatus{Change{Kind: ChangeSettings, ID: "c", Token: s.token, Settings: &SettingsChange{Gathering: &on}}}
		},
		"a plugin": func(s *sim) Input {
			s.token++
			return ChangeStatus{Change{Kind: ChangePlugins, ID: "c", Token: s.token, Plugins: &PluginChange{Disable: "seer"}}}
		},
		"unheard, late":   func(*sim) Input { return InterjectionRefused{ExecutionID: "exec-of-another-turn", ID: "m-x"} },
		"another body":    func(s *sim) Input { return cmd(s, Command{RequestID: "q3", Type: SubmitActions, Actions: line}) },
		"pause":           func(s *sim) Input { s.token++; return ChangeStatus{Change{Kind: Pause, ID: "c", Token: s.token}} },
		"end":             func(s *sim) Input { s.token++; return ChangeStatus{Change{Kind: End, ID: "c", Token: s.token}} },
		"stop":            func(s *sim) Input { s.token++; return StopTurn{s.token} },
		"wake":            func(*sim) Input { return Wake{} },
		"foreign event":   func(*sim) Input { return Foreign{} },
		"idle timeout":    func(*sim) Input { return IdleTimeout{} },
		"drain":           func(*sim) Input { return Drain{} },
		"append done":     func(s *sim) Input { return AppendDone{Position: uint64(len(s.log) + 9)} },
		"append lost":     func(*sim) Input { return AppendLost{} },
		"append unknown":  func(*sim) Input { return AppendUnknown{} },
		"append refused":  func(*sim) Input { return AppendRefused{"disk full"} },
		"settled, late":   func(*sim) Input { return Settled{ExecutionID: "exec-of-another-command"} },
		"turn end, late":  func(*sim) Input { return TurnEnded{ExecutionID: "exec-of-another-turn", Pack: packView} },
		"recovered again": func(s *sim) Input { return Recovered{State: s.fold()} },
	}
}

func lastPage(s *sim) string {
	h := s.fold().History
	return h.At(h.Len() - 1).ID
}

// Rule TP:191: input, execution, commit and the clock of one session never overlap.
// Rule DESIGN §5: the state table. Rule TP:19: foreground executions and commits are serialized per session; what comes
// meanwhile waits. Rule BL-10: a command without base queues, one with a stale base gets the conflict.
// The state table, every cell: which phase an input leads to and what is to be done. The golden file is read against
// design §5; a change of a cell is a change of the design.
func TestStateTable(t *testing.T) {
	var out strings.Builder
	for _, phase := range sortedKeys(phases(t)) {
		fmt.Fprintf(&out, "%s\n", phase)
		for _, name := range sortedKeys(inputs()) {
			s := phases(t)[phase]()
			in := inputs()[name](s)
			if _, ok := in.(AppendDone); ok && s.state.InFlight == nil {
				fmt.Fprintf(&out, "  %-16s cannot come\n", name)
				continue
			}
			next, effects := Step(s.state, Env{FreshID: "fresh"}, in)
			var done []string
			for _, e := range effects {
				done = append(done, brief(e))
			}
			if len(done) == 0 {
				done = []string{"–"}
			}
			fmt.Fprintf(&out, "  %-16s → %-11s %s\n", name, next.Phase, strings.Join(done, ", "))
		}
	}
	path := filepath.Join("testdata", "state_table.txt")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the state table has changed:\n%s", out.String())
	}
}

func brief(e Effect) string {
	switch e := e.(type) {
	case DoAppend:
		again := ""
		if e.Append.Attempt > 0 {
			again = " again"
		}
		var types []string
		for _, ev := range e.Append.Events {
			types = append(types, ev.Type)
		}
		return "append" + again + " " + strings.Join(types, "+")
	case Reply:
		switch {
		case e.Reply.Refusal != nil:
			return "refuse " + e.Reply.Refusal.Code
		case e.Reply.Repeat:
			return "answer the first outcome"
		}
		return string(e.Reply.Status)
	case CancelTurn:
		return "cancel turn: " + e.Reason
	case Reset:
		return "reset " + e.Reason
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "session."))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys {
		for j := i + 1; j < len(keys); j++ {
			if keys[j] < keys[i] {
				keys[i], keys[j] = keys[j], keys[i]
			}
		}
	}
	return keys
}

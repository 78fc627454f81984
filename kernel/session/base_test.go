package session

import (
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Rule BL-10: of all commands for one version one is taken; the others get a conflict, however close they follow.
// Rule TP:19: a command that names no version waits for its turn.
func TestOneCommandPerVersion(t *testing.T) {
	line := func(text string) []projections.Action { return []projections.Action{{Kind: "say", Text: text}} }
	lore := func(id, text string) Command {
		return Command{Type: EditLore, Lore: &sdk.LorebookEntry{ID: id, Content: text, Strategy: "constant"}}
	}
	for name, c := range map[string]struct {
		first, second Command
		late          int // inputs that are handled before the second arrives
		refused       bool
	}{
		"two lines":             {Command{Type: SubmitActions, Actions: line("我去敲钟")}, Command{Type: SubmitActions, Actions: line("我去桥上")}, 0, true},
		"two edits":             {Command{Type: ReviseMessage, Text: "桥上有灯。"}, Command{Type: ReviseMessage, Text: "桥上无人。"}, 0, true},
		"a line and an edit":    {Command{Type: SubmitActions, Actions: line("我去敲钟")}, Command{Type: ReviseMessage, Text: "桥上无人。"}, 0, true},
		"two of one entry":      {lore("潮汐", "退潮时钟会响。"), lore("潮汐", "涨潮时钟会响。"), 0, true},
		"an entry, then a line": {lore("潮汐", "退潮时钟会响。"), Command{Type: SubmitActions, Actions: line("我去桥上")}, 1, true},
		"a line and an entry":   {Command{Type: SubmitActions, Actions: line("我去敲钟")}, lore("潮汐", "退潮时钟会响。"), 0, true},
		"an edit and an undo":   {Command{Type: ReviseMessage, Text: "桥上无人。"}, Command{Type: MoveHead}, 1, true},
		"a refused one, a line": {Command{Type: NameTurn, TurnID: "nobody"}, Command{Type: SubmitActions, Actions: line("我去桥上")}, 0, false},
	} {
		for _, based := range []bool{true, false} {
			s := playing(t, extract(false))
			s.say("l0", "我走到路口。")
			s.jobResult = remembered
			s.run()
			head := s.state.Hot.Version
			var page string
			for _, m := range s.state.Hot.History.Tail(9) {
				page = m.ID
			}
			submit := func(id string, cmd Command, base *events.Version) uint64 {
				s.token++
				s.ids++
				cmd.RequestID, cmd.BodyHash, cmd.Base, cmd.Tokens, cmd.ExecutionID = id, "00", base, []uint64{s.token}, "exec-"+id
				if cmd.Type == ReviseMessage {
					cmd.MessageID = page
				}
				s.feed(Submit{cmd})
				return s.token
			}
			base := &head
			if !based {
				base = nil
			}
			submit("first", c.first, &head)
			for range c.late {
				s.next()
			}
			token := submit("second", c.second, base)
			s.run()
			answers := s.heard[token]
			if len(answers) == 0 {
				t.Fatalf("%s: no answer", name)
			}
			last := answers[len(answers)-1]
			if conflict := last.Refusal != nil && last.Refusal.Code == "conflict"; conflict != (based && c.refused) {
				t.Errorf("%s, based %t: %+v %v", name, based, last, last.Refusal)
			}
		}
	}
}

// Rule BL-10: what a turn writes that its sender has seen begin is no conflict for what waits behind it.
func TestABaseInAWaitingLine(t *testing.T) {
	s := playing(t, extract(false))
	var seen events.Version
	s.result = func(st StartTurn) TurnEnded {
		if st.Execution.Origin == originPlayer && seen == 0 { // in mid-turn somebody who sees it sends a line
			seen = s.state.Hot.Version
			s.token++
			s.feed(Submit{Command{RequestID: "second", BodyHash: "00", Type: SubmitActions, Base: &seen, Tokens: []uint64{s.token}, ExecutionID: "exec-second",
				Actions: []projections.Action{{Kind: "say", Text: "我去桥上。"}}}})
		}
		return play(st)
	}
	s.say("first", "我去敲钟。")
	s.run()
	answers := s.heard[s.token]
	if len(answers) == 0 || answers[len(answers)-1].Status != Accepted {
		t.Errorf("%+v", answers)
	}
}

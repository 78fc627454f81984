package session

import (
	"slices"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/projections"
)

// Said is a line that a player says into the turn that runs. It is in no log before the turn's commit, and its sender is
// told only then.
type Said struct {
	Command
	ID       string // of the row it will be
	Rendered string // as the model reads it
}

// InterjectionRefused: nobody in the execution will read the line any more.
type InterjectionRefused struct {
	ExecutionID string
	ID          string
}

// TellTurn hands a line to the live execution.
type TellTurn struct {
	ExecutionID string
	turn.Interjection
}

func (InterjectionRefused) sessionInput() {}
func (TellTurn) sessionEffect()           {}

// listens says whether the live execution can be told anything.
func (s *step) listens() bool {
	return s.Phase == Running && s.Execution != "" && s.Ended == nil && s.Stop == ""
}

// tellWaiting tells the live execution the interjections that wait for it, false when there is none. Where nothing runs, an
// interjection is an action like any other (design §5, the row "interjection").
func (s *step) tellWaiting() bool {
	if !s.listens() {
		return false
	}
	i := slices.IndexFunc(s.Queue, func(c Command) bool { return c.Type == Interject })
	if i < 0 {
		return false
	}
	cmd := s.withSeat(s.Queue[i])
	s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
	if s.known(&cmd) || s.joinSaid(cmd) || s.conflicts(&cmd) { // it may be a repeat that came while nothing was known
		return true
	}
	resolved, refusal := Check(s.Hot, cmd, s.env.Kinds)
	if refusal != nil {
		s.reply(cmd.Tokens, Answer{Status: Refused, Refusal: refusal})
		return true
	}
	said := Said{Command: resolved, ID: "m-" + cmd.ExecutionID, Rendered: s.saidBy(resolved.Actions[0])}
	s.Said = append(s.Said[:len(s.Said):len(s.Said)], said)
	s.do(TellTurn{s.Execution, turn.Interjection{ID: said.ID, Text: said.Rendered}})
	return true
}

// saidBy writes a line as the model reads it: with the name of who says it, when others act in the turn.
func (s *step) saidBy(a projections.Action) string {
	var others []projections.Action
	if in := s.Hot.Session.Input; in != nil && in.ExecutionID == s.Execution {
		others = in.Actions
	}
	w := world.Actors(s.Hot)
	return prompt.RenderInterjection(SDKActions([]projections.Action{a})[0], SDKActions(others), w.Characters, w.Seats, s.Hot.Session.Locale)
}

// unheard answers the sender of a line that nobody reads any more; it is not lost, since they keep it. While the log is read anew
// nobody can tell whether it stands there: then it is answered like the lines of a turn that has ended.
func (s *step) unheard(in InterjectionRefused) {
	i := slices.IndexFunc(s.Said, func(x Said) bool { return x.ID == in.ID })
	if i < 0 || in.ExecutionID != s.Execution || s.Phase == Recovering {
		return
	}
	x := s.Said[i]
	s.Said = slices.Delete(slices.Clone(s.Said), i, i+1)
	if s.Stop != "" {
		s.unsaid(x, CodeUnheard, unheardText)
	} else {
		s.unsaid(x, CodeTooLate, "this turn hears no more; send it as your next line")
	}
}

// Codes of an interjection that did not come into its turn.
const (
	CodeTooLate = "interjection_too_late"
	CodeUnheard = "interjection_lost"
)

const unheardText = "the turn ended without your line; send it again"

// saidLines are the lines that a commit may find in the conversations of its runs.
func (s *step) saidLines() []commit.Said {
	out := make([]commit.Said, len(s.Said))
	for i, x := range s.Said {
		a := x.Actions[0]
		out[i] = commit.Said{ID: x.ID, Text: a.Text, Rendered: x.Rendered, SeatID: a.SeatID, CharacterID: a.CharacterID, Request: requestOf(x.Command)}
	}
	return out
}

// tellHeard answers the senders of lines once their execution has ended, "" where it ended without a commit of its own.
func (s *step) tellHeard(execution string) {
	said := s.Said
	s.Said = nil
	for _, x := range said {
		if req, ok := s.Hot.Session.FindRequest(x.SeatID, x.RequestID); ok && execution != "" && req.ExecutionID == execution {
			s.reply(x.Tokens, Answer{Status: Accepted, Version: s.Hot.Version, ExecutionID: execution})
			continue
		}
		s.unsaid(x, CodeUnheard, unheardText)
	}
}

// unsaid answers the sender of a line that did not come into its turn: it is refused, unless another activation that was sent it too
// has put it into the log, or it is being accepted here.
func (s *step) unsaid(x Said, code, message string) {
	if cmd := s.withSeat(x.Command); !s.known(&cmd) {
		s.refuse(cmd, code, message)
	}
}

// joinSaid lets a repeat of an interjection wait with the first.
func (s *step) joinSaid(cmd Command) bool {
	for i, x := range s.Said {
		if x.RequestID == cmd.RequestID && x.SeatID == cmd.SeatID {
			s.Said = slices.Clone(s.Said)
			s.join(&s.Said[i].Command, cmd)
			return true
		}
	}
	return false
}

package session

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// MaxName is how long the name of a turn may be, in characters.
const MaxName = 80

// Why the head moved.
const (
	moveUndo       = "undo"
	moveRegenerate = "regenerate"
	moveTake       = "take"
)

// whyVoid is the reason of suspensions that end because the head moved.
const whyVoid = "head-moved"

// goesElsewhere says whether a command moves the head, or names, revises or adds to what is there: it starts no execution of its own
// kind, and it waits like one.
func goesElsewhere(typ string) bool {
	return typ == MoveHead || typ == Regenerate || typ == ReviseMessage || typ == NameTurn || typ == EditLore
}

// checkHead holds such a command against the tree of turns.
func checkHead(hot projections.State, cmd Command) (Command, *Refusal) {
	if hot.Session.Phase != projections.PhasePlaying {
		return cmd, &Refusal{Code: "session_in_setup", Message: "the story has not begun; there is nothing to go back to"}
	}
	switch cmd.Type {
	case MoveHead:
		_, _, refusal := destination(hot, cmd.TurnID)
		return cmd, refusal
	case Regenerate:
		_, _, refusal := again(hot, cmd.TurnID)
		return cmd, refusal
	case NameTurn:
		if _, ok := hot.Tree.Take(cmd.TurnID); !ok {
			return cmd, turnNotFound(cmd.TurnID)
		}
		if utf8.RuneCountInString(cmd.Text) > MaxName {
			return cmd, &Refusal{Code: "name_too_long", Message: "a name has at most " + strconv.Itoa(MaxName) + " characters"}
		}
		return cmd, nil
	}
	m, ok := hot.History.Find(cmd.MessageID)
	switch {
	case !ok:
		return cmd, &Refusal{Code: "message_not_found", Message: "the newest pages have no message " + strconv.Quote(cmd.MessageID)}
	case m.Role == projections.RoleUser:
		return cmd, &Refusal{Code: "message_not_revisable", Message: "a player's line is not revised; go back to before it and say it anew"}
	case utf8.RuneCountInString(cmd.Text) > MaxText:
		return cmd, &Refusal{Code: "message_too_long", Message: "the text is longer than " + strconv.Itoa(MaxText) + " characters"}
	}
	return cmd, nil
}

func turnNotFound(id string) *Refusal {
	return &Refusal{Code: "turn_not_found", Message: "the session remembers no player turn " + strconv.Quote(id)}
}

// destination says where a move goes: without a turn to before the newest one (undo), else to the end of what was played
// from that turn on.
func destination(hot projections.State, turnID string) (to events.Version, reason string, refusal *Refusal) {
	if turnID == "" {
		x, ok := hot.Tree.Take(hot.Tree.Head)
		if !ok {
			return 0, "", &Refusal{Code: "nothing_to_undo", Message: "there is no player turn to take back"}
		}
		return reachable(hot, x.Base, moveUndo)
	}
	end, ok := hot.Tree.EndOf(turnID, hot.Version)
	switch {
	case !ok:
		return 0, "", turnNotFound(turnID)
	case end == hot.Version || end == hot.Tree.Point:
		return 0, "", &Refusal{Code: "already_there", Message: "the story stands there already"}
	}
	return reachable(hot, end, moveTake)
}

// again says from where a turn is played once more, and with which input.
func again(hot projections.State, turnID string) (to events.Version, in projections.Message, refusal *Refusal) {
	if turnID == "" {
		turnID = hot.Tree.Head
	}
	x, ok := hot.Tree.Take(turnID)
	if !ok {
		return 0, in, turnNotFound(turnID)
	}
	for i := hot.History.Len() - 1; i >= 0; i-- {
		if m := hot.History.At(i); m.TurnID == turnID && m.Role == projections.RoleUser && m.Source == projections.SourcePlayer {
			to, _, refusal = reachable(hot, x.Base, moveRegenerate)
			return to, m, refusal
		}
	}
	return 0, in, &Refusal{Code: "turn_not_found", Message: "the line of that turn is not on the path; go to the turn first"}
}

func reachable(hot projections.State, to events.Version, reason string) (events.Version, string, *Refusal) {
	if _, ok := hot.Tree.Mark(to); !ok {
		return 0, "", &Refusal{Code: "too_far_back", Message: "the session remembers only its newest " + strconv.Itoa(projections.MaxTurnsBack) + " turns"}
	}
	return to, reason, nil
}

// goElsewhere appends what a head command came to. Where the state was read from a snapshot that is younger than the point
// it goes to, the session is folded whole first.
func (s *step) goElsewhere(cmd Command) {
	var to events.Version
	var line projections.Message
	reason := moveRegenerate
	switch cmd.Type {
	case MoveHead:
		to, reason, _ = destination(s.Hot, cmd.TurnID) // checked a moment ago
	case Regenerate:
		to, line, _ = again(s.Hot, cmd.TurnID)
	}
	if m, ok := s.Hot.Tree.Mark(to); ok && !m.CanMove() {
		s.requeue()
		s.Phase = Recovering
		s.do(Refold{Whole: true})
		return
	}
	exec := projections.Execution{ID: "", RequestID: cmd.RequestID, LogicalTurn: s.Hot.Session.NextLogicalTurn()}
	request := requestOf(cmd)
	switch cmd.Type {
	case NameTurn:
		s.appendFacts(AppendHead, cmd.ExecutionID, exec, one(&eventsv1.BranchNamed{TurnId: cmd.TurnID, Name: cmd.Text, Request: request}))
	case ReviseMessage:
		s.appendFacts(AppendHead, cmd.ExecutionID, exec, one(&eventsv1.MessageRevised{MessageId: cmd.MessageID, Text: cmd.Text, Request: request}))
	case EditLore:
		ev, _ := loreEdited(cmd) // checked a moment ago
		s.appendFacts(AppendHead, cmd.ExecutionID, exec, one(ev))
	case MoveHead:
		s.appendFacts(AppendHead, cmd.ExecutionID, exec, append(s.left(), commit.Fact{Message: &eventsv1.HeadMoved{To: uint64(to), Reason: reason, Request: request}}))
	case Regenerate:
		s.regenerate(cmd, to, line)
	}
}

// regenerate plays the input of a turn again from where the turn began: the same line, another take (decisions:
// "Alternatives, undo, edits").
func (s *step) regenerate(cmd Command, to events.Version, line projections.Message) {
	mark, _ := s.Hot.Tree.Mark(to)
	hash, _ := hex.DecodeString(cmd.BodyHash)
	submitted := &eventsv1.ActionsSubmitted{
		RequestId: cmd.RequestID, BodyHash: hash, Type: cmd.Type, SeatId: cmd.SeatID, Rendered: line.Text, ExecutionId: cmd.ExecutionID, InputMessageId: "m-" + cmd.ExecutionID,
	}
	for _, a := range line.Actions {
		submitted.Actions = append(submitted.Actions, actionEvent(a))
	}
	started := s.started(cmd.ExecutionID, originPlayer, cmd.RequestID)
	started.LogicalTurn, started.AdvanceLimit = mark.Turns+1, s.advanceLimit()
	exec := projections.Execution{ID: cmd.ExecutionID, RequestID: cmd.RequestID, LogicalTurn: started.LogicalTurn}
	s.appendFacts(AppendAccept, cmd.ExecutionID, exec, append(s.left(),
		commit.Fact{Message: &eventsv1.HeadMoved{To: uint64(to), Reason: moveRegenerate}}, commit.Fact{Message: submitted}, commit.Fact{Message: started}))
}

// left ends what is open on the way: suspensions are void, jobs are cancelled. A turn that waited is counted and its jobs
// are queued by the end of its wait, and they too are left behind.
func (s *step) left() []commit.Fact {
	var ends []commit.Ending
	for _, x := range s.Hot.Suspensions.Waiting {
		ends = append(ends, commit.Ending{ID: x.ID, End: projections.SuspensionVoided, Reason: whyVoid})
	}
	facts := commit.EndSuspensions(s.Hot, ends...)
	for _, f := range facts {
		if q, ok := f.Message.(*eventsv1.JobQueued); ok {
			facts = append(facts, commit.Fact{Message: &eventsv1.JobCancelled{JobId: q.JobId}, PluginID: f.PluginID})
		}
	}
	for _, j := range s.Hot.Jobs.Open() {
		s.halt(j.ID, job.HaltCancelled)
		facts = append(facts, commit.Fact{Message: &eventsv1.JobCancelled{JobId: j.ID}, PluginID: j.PluginID})
	}
	for i := range facts { // also where the append starts another take: it is no part of that
		facts[i].AtOnce = true
	}
	return facts
}

func requestOf(cmd Command) *eventsv1.Request {
	hash, _ := hex.DecodeString(cmd.BodyHash)
	return &eventsv1.Request{RequestId: cmd.RequestID, BodyHash: hash, SeatId: cmd.SeatID}
}

func one(m proto.Message) []commit.Fact { return []commit.Fact{{Message: m}} }

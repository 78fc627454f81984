package session

import (
	"encoding/hex"
	"strconv"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Codes of a resume that is refused (docs/protocol.md §5).
const (
	codeNotFound  = "suspension_not_found"
	codeClosed    = "suspension_closed"
	codeClaimed   = "suspension_claimed"
	codeOutOfDate = "suspension_out_of_date"
)

// checkResume holds an answer against the item it names, in the order of the reference (api-and-protocol.md §4.13): is it
// there, does it still wait, does the answer fit, may the session play, is it up to date.
func checkResume(hot projections.State, cmd Command) (Command, *Refusal) {
	x, refusal := waiting(hot, cmd.SuspensionID)
	if refusal != nil {
		return cmd, refusal
	}
	if x.Claim != nil {
		return cmd, claimedRefusal()
	}
	if len(cmd.Answer) == 0 {
		cmd.Answer = projections.RawJSON("null")
	}
	if issues := answerIssues(x, cmd.Answer); len(issues) > 0 {
		return cmd, &Refusal{Code: "form_rejected", Message: "some answers need another look", Issues: issues}
	}
	if refusal := mayPlay(hot.Session); refusal != nil {
		return cmd, refusal
	}
	if why := commit.OutOfDate(hot, x); why != "" {
		return cmd, outOfDate(why)
	}
	return cmd, nil
}

// waiting finds an item that waits; of one that ended it says how.
func waiting(hot projections.State, id string) (projections.Suspension, *Refusal) {
	if x, ok := hot.Suspensions.Find(id); ok {
		return x, nil
	}
	if ended, ok := hot.Suspensions.Ended(id); ok {
		message := "this question was answered already"
		switch ended.End {
		case projections.SuspensionAbandoned:
			message = "this question was given up; nobody can answer it any more"
		case projections.SuspensionExpired:
			message = "this question has expired; nobody can answer it any more"
		case projections.SuspensionVoided:
			message = "this question is out of date; nobody can answer it any more"
		}
		return projections.Suspension{}, &Refusal{Code: codeClosed, Message: message}
	}
	return projections.Suspension{}, &Refusal{Code: codeNotFound, Message: "the session has no suspension " + strconv.Quote(id)}
}

func claimedRefusal() *Refusal {
	return &Refusal{Code: codeClaimed, Message: "an answer to this question is being worked on"}
}

func outOfDate(why string) *Refusal {
	return &Refusal{Code: codeOutOfDate, Message: "the question is out of date (" + why + "); what it would have written is dropped"}
}

// answerIssues says where an answer does not fit the schema of the item, with all that JSON Schema can say.
func answerIssues(x projections.Suspension, answer projections.RawJSON) []Issue {
	if len(x.ResumeSchema) == 0 {
		return nil
	}
	compiled, err := schema.Compile([]byte(x.ResumeSchema))
	if err != nil { // it was compiled before it was saved, by a version that could
		return []Issue{{Message: "the question cannot be checked any more: " + err.Error()}}
	}
	var issues []Issue
	if failure := compiled.CheckJSON(answer); failure != nil {
		for _, i := range failure.Issues {
			issues = append(issues, Issue{Field: i.Path, Message: i.Message})
		}
	}
	return issues
}

// taken refuses an answer to an item that this activation works on right now. A claim that a dead owner left is not one:
// the command waits until it is released.
func (s *step) taken(cmd Command) bool {
	if cmd.Type != ResumeSuspension {
		return false
	}
	x, ok := s.Hot.Suspensions.Find(cmd.SuspensionID)
	running := ok && x.Claim != nil && x.Claim.ExecutionID == s.Execution
	settling := s.Current != nil && s.Current.Type == ResumeSuspension && s.Current.SuspensionID == cmd.SuspensionID
	if running || settling {
		s.reply(cmd.Tokens, Answer{Status: Refused, Refusal: claimedRefusal()})
	}
	return running || settling
}

// turnedAway voids the item of a resume that was refused because it is out of date. The refusal does not wait for it.
func (s *step) turnedAway(cmd Command, refusal *Refusal, why string) {
	if cmd.Type != ResumeSuspension || refusal.Code != codeOutOfDate {
		return
	}
	if x, ok := s.Hot.Suspensions.Find(cmd.SuspensionID); ok && why == "" {
		why = commit.OutOfDate(s.Hot, x)
	}
	s.Changes = append(s.Changes[:len(s.Changes):len(s.Changes)], Change{
		Kind: voidSuspension, SuspensionID: cmd.SuspensionID, Reason: why, ID: "void-" + cmd.ExecutionID,
	})
}

// claim appends the answer and the start of the execution that goes on with it, in one. The execution keeps the turn's
// number, id and language (seed: tools.txt, "Resuming continues the execution that was suspended").
func (s *step) claim(cmd Command) {
	x, _ := s.Hot.Suspensions.Find(cmd.SuspensionID) // checked a moment ago
	hash, _ := hex.DecodeString(cmd.BodyHash)
	started := s.started(cmd.ExecutionID, commit.OriginResume, cmd.RequestID)
	started.LogicalTurn, started.LogicalTurnId = x.LogicalTurn, x.LogicalTurnID
	started.SuspensionId, started.SourceTurnId = x.ID, x.ExecutionID
	s.appendFacts(AppendAccept, cmd.ExecutionID, projections.Execution{ID: cmd.ExecutionID, RequestID: cmd.RequestID, LogicalTurn: x.LogicalTurn}, []commit.Fact{
		{Message: &eventsv1.SuspensionClaimed{
			SuspensionId: x.ID, ExecutionId: cmd.ExecutionID, RequestId: cmd.RequestID, BodyHash: hash, SeatId: cmd.SeatID, Answer: cmd.Answer,
		}, PluginID: x.PluginID},
		{Message: started},
	})
}

// nextChange is the first change that may be appended now, -1 for none. The end of a suspension writes the clock, so it
// waits for a running execution; everything else is appended at once.
func (s *step) nextChange() int {
	for i, c := range s.Changes {
		if !endsSuspension(c) || s.Phase == Idle || s.Phase == Draining {
			return i
		}
	}
	return -1
}

func endsSuspension(c Change) bool { return c.Kind == AbandonSuspension || c.Kind == voidSuspension }

// endSuspension abandons or voids an item: an exit that may end its turn.
func (s *step) endSuspension(c Change) {
	x, refusal := waiting(s.Hot, c.SuspensionID)
	if refusal == nil && x.Claim != nil {
		refusal = claimedRefusal()
	}
	if refusal != nil {
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: refusal})
		return
	}
	end := commit.Ending{ID: x.ID, End: projections.SuspensionAbandoned}
	if c.Kind == voidSuspension {
		end = commit.Ending{ID: x.ID, End: projections.SuspensionVoided, Reason: c.Reason}
	}
	s.appendFacts(AppendChange, c.ID, projections.Execution{LogicalTurn: x.LogicalTurn}, commit.EndSuspensions(s.Hot, end))
	s.InFlight.Change = &c
}

// expired says whether items have to be ended because their time is over.
func (s *step) expired() bool {
	return s.sweep && s.Hot.Session.Open == nil && len(s.Hot.Suspensions.Due(s.env.Now)) > 0
}

// expire ends all of them in one append (reference: api-and-protocol.md §4.13, "Expiry").
func (s *step) expire() {
	var ends []commit.Ending
	for _, x := range s.Hot.Suspensions.Due(s.env.Now) {
		ends = append(ends, commit.Ending{ID: x.ID, End: projections.SuspensionExpired})
	}
	exec := projections.Execution{LogicalTurn: s.Hot.Session.NextLogicalTurn()}
	s.appendFacts(AppendExpire, s.env.FreshID, exec, commit.EndSuspensions(s.Hot, ends...))
}

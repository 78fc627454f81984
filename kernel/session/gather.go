package session

import (
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Reasons a submission that waited leaves the turn to come, besides the code of a refusal.
const (
	whyWithdrawn = "withdrawn"
	whyEnded     = AbortEnded
)

// gathers says whether a submission waits for those of other seats instead of starting a turn at once: the session gathers,
// and somebody is waited for beside its own seat (decisions: "Seats, roles, gathering"). The set-up waits for nobody: its
// questions are each asked of one player.
func gathers(s projections.Session, cmd Command) bool {
	if cmd.Type != SubmitActions || s.Phase != projections.PhasePlaying || s.Settings.Gathering != projections.GatheringOn {
		return false
	}
	others := slices.DeleteFunc(s.WaitingFor(), func(seat string) bool { return seat == cmd.SeatID })
	return len(s.Gathering.Submissions) > 0 || len(others) > 0
}

// gather keeps a submission until the turn begins. One that its seat sent before is replaced.
func (s *step) gather(cmd Command) {
	hash, _ := hex.DecodeString(cmd.BodyHash)
	ev := &eventsv1.SubmissionGathered{RequestId: cmd.RequestID, BodyHash: hash, SeatId: cmd.SeatID}
	for _, a := range cmd.Actions {
		ev.Actions = append(ev.Actions, actionEvent(a))
	}
	if before, ok := s.Hot.Session.Gathering.Of(cmd.SeatID); ok {
		ev.Replaces = before.RequestID
	}
	s.appendFacts(AppendGather, cmd.ExecutionID, projections.Execution{RequestID: cmd.RequestID, LogicalTurn: s.Hot.Session.NextLogicalTurn()}, one(ev))
}

// gathered says whether the turn of the submissions that wait begins now: every human player seat has one, the owner has
// closed the gathering or turned it off, or the time is over.
func (s *step) gathered() bool {
	x := s.Hot.Session
	if !s.sweep || len(x.Gathering.Submissions) == 0 || x.Status != projections.StatusActive || x.Open != nil {
		return false
	}
	until := x.GatheredUntil()
	return x.Settings.Gathering != projections.GatheringOn || x.Gathering.Closed || len(x.WaitingFor()) == 0 || !until.IsZero() && !s.env.Now.Before(until)
}

// inSeatOrder gives the submissions in the order of the seats; those of seats that are gone come last.
func inSeatOrder(s projections.Session) []projections.Submission {
	out := slices.Clone(s.Gathering.Submissions)
	place := func(x projections.Submission) int {
		i := slices.IndexFunc(s.Seats, func(seat projections.Seat) bool { return seat.ID == x.SeatID })
		return (i + len(s.Seats) + 1) % (len(s.Seats) + 1)
	}
	slices.SortStableFunc(out, func(a, b projections.Submission) int { return place(a) - place(b) })
	return out
}

// startGathered begins the one turn with all actions in seat order. A submission that cannot be played any more, since the
// story has gone on or its seat has changed, is taken out first, and the others go on waiting for what is missing then.
func (s *step) startGathered() {
	cmd := Command{Type: SubmitActions, ExecutionID: s.env.FreshID}
	var gone []commit.Fact
	for _, x := range inSeatOrder(s.Hot.Session) {
		with := cmd
		if with.gathered == nil {
			with.RequestID, with.SeatID, with.BodyHash = x.RequestID, x.SeatID, x.BodyHash
		}
		with.gathered = append(slices.Clone(cmd.gathered), x)
		with.Actions = append(slices.Clone(cmd.Actions), x.Actions...)
		if _, refusal := Check(s.Hot, with, s.env.Kinds); refusal != nil {
			gone = append(gone, withdrawal(x, refusal.Code))
			continue
		}
		cmd = with
	}
	if gone != nil {
		s.appendFacts(AppendGather, s.env.FreshID, projections.Execution{LogicalTurn: s.Hot.Session.NextLogicalTurn()}, gone)
		return
	}
	s.Current = &cmd
	s.Phase, s.waits = Settling, true
}

// stillGathered says whether what a turn is about to begin with is what waits now: a submission may have been replaced or
// withdrawn while the turn waited for background jobs.
func (s *step) stillGathered() bool {
	return s.gathered() && slices.EqualFunc(s.Current.gathered, inSeatOrder(s.Hot.Session), func(a, b projections.Submission) bool {
		return a.SeatID == b.SeatID && a.RequestID == b.RequestID
	})
}

// gatherAnew looks once more at what waits, since the turn that was about to begin cannot. Where a form's own check refuses
// an answer that was good when it came, the submissions with answers are taken out.
func (s *step) gatherAnew(answers bool) {
	var gone []commit.Fact
	for _, x := range s.Current.gathered {
		if answers && slices.ContainsFunc(x.Actions, func(a projections.Action) bool { return a.Interaction != nil }) {
			gone = append(gone, withdrawal(x, "form_rejected"))
		}
	}
	key := s.Current.ExecutionID
	s.Current = nil
	s.Phase = Idle
	if gone != nil {
		s.appendFacts(AppendGather, key, projections.Execution{LogicalTurn: s.Hot.Session.NextLogicalTurn()}, gone)
	}
}

func withdrawal(x projections.Submission, reason string) commit.Fact {
	return commit.Fact{Message: &eventsv1.SubmissionWithdrawn{SeatId: x.SeatID, RequestId: x.RequestID, Reason: reason}}
}

// gatheredRequests names the submissions of a turn beside the first, whose request the turn runs under.
func gatheredRequests(cmd Command) (out []*eventsv1.GatheredRequest) {
	for _, x := range cmd.gathered[min(1, len(cmd.gathered)):] {
		hash, _ := hex.DecodeString(x.BodyHash)
		out = append(out, &eventsv1.GatheredRequest{RequestId: x.RequestID, BodyHash: hash, SeatId: x.SeatID})
	}
	return out
}

// decideGathering gives the event of a change to the submissions that wait, none when it is so already.
func decideGathering(s projections.Session, c Change) (proto.Message, *Refusal) {
	if c.Kind == WithdrawSubmission {
		seat := c.SeatID
		if primary, ok := s.PrimarySeat(); ok && seat == "" {
			seat = primary.ID
		}
		x, ok := s.Gathering.Of(seat)
		if !ok {
			return nil, &Refusal{Code: "submission_not_found", Message: "nothing of that seat waits for the others; its turn may have begun"}
		}
		return withdrawal(x, whyWithdrawn).Message, nil
	}
	switch {
	case len(s.Gathering.Submissions) == 0:
		return nil, &Refusal{Code: "nothing_gathered", Message: "no submission waits; a turn needs at least one"}
	case s.Gathering.Closed:
		return nil, nil
	}
	return &eventsv1.GatheringClosed{}, nil
}

package play

import (
	"net/http"
	"time"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Gathering tells who has said what they want to do in the turn to come, and who is waited for. What they want is shown when
// the turn begins.
type Gathering struct {
	Submissions []Gathered `json:"submissions"` // in the order in which the seats came
	WaitingFor  []string   `json:"waitingFor"`  // seat ids
	Until       *time.Time `json:"until,omitempty"`
	Closed      bool       `json:"closed,omitempty"`
}

// Gathered names a submission.
type Gathered struct {
	SeatID    string `json:"seatId"`
	RequestID string `json:"requestId"`
}

// gatheringOf gives the gathering of a session, nil when every submission starts a turn and none waits.
func gatheringOf(s projections.Session) *Gathering {
	if s.Settings.Gathering != projections.GatheringOn && len(s.Gathering.Submissions) == 0 {
		return nil
	}
	out := &Gathering{Submissions: []Gathered{}, WaitingFor: nonNil(s.WaitingFor()), Closed: s.Gathering.Closed}
	for _, x := range s.Gathering.Submissions {
		out.Submissions = append(out.Submissions, Gathered{x.SeatID, x.RequestID})
	}
	if until := s.GatheredUntil(); !until.IsZero() {
		out.Until = &until
	}
	return out
}

// left ends the request of a submission that is no part of the turn to come any more.
func (b *framer) left(r events.Recorded, requestID, reason string) {
	ended := b.make(r, "execution.completed", map[string]any{"committed": false, "abortReason": reason})
	ended.RequestID = requestID
	b.last = append(b.last, ended)
}

// gatheredRequests names the requests that went into a turn, its own first; nil when no other did.
func gatheredRequests(m *eventsv1.ActionsSubmitted) []Gathered {
	if len(m.Gathered) == 0 {
		return nil
	}
	out := []Gathered{{m.SeatId, m.RequestId}}
	for _, g := range m.Gathered {
		out = append(out, Gathered{g.SeatId, g.RequestId})
	}
	return out
}

// closeGathering lets the turn begin with what has come.
func (s *server) closeGathering(w http.ResponseWriter, r *http.Request) {
	s.changeGathering(w, r, kernel.CloseGathering, "")
}

// withdraw takes the submission of a seat back.
func (s *server) withdraw(w http.ResponseWriter, r *http.Request) {
	if err := s.mayWithdraw(r.Context(), r.PathValue("id"), tokenOf(r), r.PathValue("seat")); err != nil {
		s.error(w, err)
		return
	}
	s.changeGathering(w, r, kernel.WithdrawSubmission, r.PathValue("seat"))
}

func (s *server) changeGathering(w http.ResponseWriter, r *http.Request, kind kernel.ChangeKind, seat string) {
	a, err := s.Node.ChangeGathering(r.Context(), r.PathValue("id"), kind, seat)
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "version": a.Version})
}

// gather is what a player's connection says about the submissions that wait.
func (c *conn) gather(requestID string, kind kernel.ChangeKind, seat string) {
	a, err := c.Node.ChangeGathering(c.ctx, c.session, kind, seat)
	c.acknowledge(requestID, a, err)
}

// acknowledge answers a message that is no command of its own.
func (c *conn) acknowledge(requestID string, a kernel.Answer, err error) {
	if err = refusal(a, err); err != nil {
		c.refuse(requestID, c.problem(err), nil)
		return
	}
	c.answer(ackMessage{Type: "ack", RequestID: requestID, Status: "accepted", Version: a.Version, Repeat: a.Repeat})
}

package projections

import (
	"encoding/hex"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Gathering is what the seats of a session want to do in the turn to come (decisions: "Seats, roles, gathering").
type Gathering struct {
	Submissions []Submission `json:"submissions,omitempty"` // at most one per seat, in the order in which the seats came
	Since       time.Time    `json:"since,omitzero"`        // when the first of them came
	Closed      bool         `json:"closed,omitempty"`      // nobody is waited for any more
}

// Submission is what one seat wants to do.
type Submission struct {
	SeatID    string         `json:"seatId"`
	RequestID string         `json:"requestId"`
	BodyHash  string         `json:"bodyHash"` // lower-case hex
	Actions   []Action       `json:"actions"`
	Version   events.Version `json:"version"`
	At        time.Time      `json:"at"`
}

// Of gives the submission of a seat.
func (g Gathering) Of(seat string) (Submission, bool) {
	i := slices.IndexFunc(g.Submissions, func(x Submission) bool { return x.SeatID == seat })
	if i < 0 {
		return Submission{}, false
	}
	return g.Submissions[i], true
}

// WaitingFor names the seats whose submissions are waited for: those of human players that have none.
func (s Session) WaitingFor() (out []string) {
	for _, seat := range s.Seats {
		if _, has := s.Gathering.Of(seat.ID); !has && seat.Role == "player" && seat.Control == "human" {
			out = append(out, seat.ID)
		}
	}
	return out
}

// GatheredUntil is when the turn begins with whatever has come by then, zero when nothing has, or nobody set a limit.
func (s Session) GatheredUntil() time.Time {
	if s.Settings.GatherTimeoutMs == 0 || len(s.Gathering.Submissions) == 0 {
		return time.Time{}
	}
	return s.Gathering.Since.Add(time.Duration(min(s.Settings.GatherTimeoutMs, MaxGatherTimeoutMs)) * time.Millisecond)
}

// MaxGatherTimeoutMs bounds how long submissions wait for other seats: 30 days.
const MaxGatherTimeoutMs = 30 * 24 * 60 * 60 * 1000

func (s Session) gather(r events.Recorded, msg proto.Message) Session {
	g := &s.Gathering
	switch m := msg.(type) {
	case *eventsv1.SubmissionGathered:
		s = s.remember(r, m.RequestId, m.SeatId, m.BodyHash, "")
		x := Submission{SeatID: m.SeatId, RequestID: m.RequestId, BodyHash: hex.EncodeToString(m.BodyHash), Version: r.Version, At: r.RecordedAt}
		for _, a := range m.Actions {
			x.Actions = append(x.Actions, actionOf(a))
		}
		if len(g.Submissions) == 0 {
			g.Since = r.RecordedAt
		}
		g.Submissions = slices.Clone(g.Submissions)
		if i := slices.IndexFunc(g.Submissions, func(y Submission) bool { return y.SeatID == m.SeatId }); i >= 0 {
			g.Submissions[i] = x
		} else {
			g.Submissions = append(g.Submissions, x)
		}
	case *eventsv1.SubmissionWithdrawn:
		*g = g.without(m.SeatId, m.RequestId)
	case *eventsv1.GatheringClosed:
		g.Closed = len(g.Submissions) > 0
	case *eventsv1.ActionsSubmitted: // what has become a turn waits no more
		*g = g.without(m.SeatId, m.RequestId)
		for _, q := range m.Gathered {
			*g = g.without(q.SeatId, q.RequestId)
		}
	}
	return s
}

// without takes a submission out; with the last one everything else about the turn to come goes too.
func (g Gathering) without(seat, request string) Gathering {
	if x, ok := g.Of(seat); !ok || x.RequestID != request {
		return g
	}
	g.Submissions = slices.DeleteFunc(slices.Clone(g.Submissions), func(x Submission) bool { return x.SeatID == seat })
	if len(g.Submissions) == 0 {
		return Gathering{}
	}
	return g
}

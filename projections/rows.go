package projections

import (
	"encoding/json"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/plainjson"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rows folds a session for the read models: the session record as it stands, and each message once, as it was committed.
// It is the fold of State, without keeping what the tables keep, or the request ids, which only the live session asks for.
type Rows struct {
	state State // version, session, anchor, when suspensions expire, open jobs and staged events only
}

// Session is the session record.
func (x Rows) Session() Session { return x.state.Session }

// Tree tells which messages are part of the path.
func (x Rows) Tree() Tree { return x.state.Tree }

// NextDue is when something of the session is due by itself, zero when nothing is: the first suspension expires, or
// submissions have waited for long enough.
func (x Rows) NextDue() time.Time {
	next, until := x.state.Suspensions.NextExpiry(), x.state.Session.GatheredUntil()
	if next.IsZero() || !until.IsZero() && until.Before(next) {
		return until
	}
	return next
}

// Due says whether somebody has to see to the session: an execution or a job is open, or a request was to go on and did not.
func (x Rows) Due() bool {
	s := x.state.Session
	return s.Open != nil || len(x.state.Jobs.Open()) > 0 || s.Last != nil && s.Last.Next != ""
}

// Version is the version of the last event applied.
func (x Rows) Version() events.Version { return x.state.Version }

// Revision is a row that is shown with another text from now on, "" with its own.
type Revision struct{ MessageID, Text string }

// RevisionOf gives the revision that an event is, if it is one.
func RevisionOf(r events.Recorded) (Revision, bool) {
	if r.Type != "MessageRevised" {
		return Revision{}, false
	}
	msg, err := events.Decode(r.Event)
	if err != nil {
		return Revision{}, false // the fold has parked the session
	}
	m := msg.(*eventsv1.MessageRevised)
	return Revision{m.MessageId, m.Text}, true
}

// Revise gives the row as it is shown from now on.
func (m Message) Revise(text string) Message {
	m.Revised = text
	if text == m.Text {
		m.Revised = ""
	}
	return m
}

// Apply folds one event and gives the messages it committed.
func (x Rows) Apply(r events.Recorded) (Rows, []Message, error) {
	x.state.rows = true
	next, err := Apply(x.state, r)
	if err != nil {
		return x, nil, err
	}
	messages := next.History.Tail(next.History.Len())
	next.Session.Requests, next.Session.SeatKeys = nil, nil
	return Rows{State{
		Version: next.Version, LastID: next.LastID, Session: next.Session, Path: Path{Latest: next.Latest.anchor()}, Suspensions: next.Suspensions.expiries(),
		Jobs: next.Jobs.withoutInputs(), Tree: next.Tree.bare(), staged: next.staged,
	}}, messages, nil
}

// Encode writes the fold out for the table.
func (x Rows) Encode() ([]byte, error) { return x.state.Encode() }

// DecodeRows reads it back.
func DecodeRows(b []byte) (Rows, error) {
	s, err := DecodeState(b)
	return Rows{s}, err
}

// EncodeMessage writes a message for a table.
func EncodeMessage(m Message) ([]byte, error) {
	b, err := plainjson.Marshal(m)
	return b, errors.Wrapf(err, "encode message %s", m.ID)
}

// DecodeMessage reads it back.
func DecodeMessage(b []byte) (Message, error) {
	var m Message
	err := json.Unmarshal(b, &m)
	return m, errors.Wrap(err, "decode message")
}

package projections

import (
	"encoding/json"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/plainjson"
)

// Rows folds a session for the read models: the session record as it stands, and each message once, as it was committed.
// It is the fold of State, without keeping what the tables keep, or the request ids, which only the live session asks for.
type Rows struct {
	state State // version, session, anchor, when suspensions expire, open jobs and staged events only
}

// Session is the session record.
func (x Rows) Session() Session { return x.state.Session }

// NextExpiry is when the first suspension of the session expires, zero when none does.
func (x Rows) NextExpiry() time.Time { return x.state.Suspensions.NextExpiry() }

// Due says whether somebody has to see to the session: an execution or a job is open.
func (x Rows) Due() bool { return x.state.Session.Open != nil || len(x.state.Jobs.Open()) > 0 }

// Version is the version of the last event applied.
func (x Rows) Version() events.Version { return x.state.Version }

// Apply folds one event and gives the messages it committed.
func (x Rows) Apply(r events.Recorded) (Rows, []Message, error) {
	next, err := Apply(x.state, r)
	if err != nil {
		return x, nil, err
	}
	messages := next.History.Tail(next.History.Len())
	next.Session.Requests = nil
	return Rows{State{
		Version: next.Version, LastID: next.LastID, Session: next.Session, Latest: next.Latest.anchor(), Suspensions: next.Suspensions.expiries(),
		Jobs: next.Jobs.withoutInputs(), staged: next.staged,
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

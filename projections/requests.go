package projections

import (
	"encoding/hex"

	"github.com/covel/covel/events"
)

// MaxRequests is how many request ids a session remembers. A repeat older than that is no retry of a client.
const MaxRequests = 512

// Request remembers a requestId, so that a repeat runs nothing twice.
type Request struct {
	ID          string         `json:"id"`
	SeatID      string         `json:"seatId,omitempty"`
	BodyHash    string         `json:"bodyHash"` // lower-case hex
	ExecutionID string         `json:"executionId"`
	Version     events.Version `json:"version"` // of the append that stored it: what its sender was told
}

// FindRequest gives what is known of a requestId.
func (s Session) FindRequest(seat, id string) (Request, bool) {
	for i := len(s.Requests) - 1; i >= 0; i-- {
		if s.Requests[i].ID == id && s.Requests[i].SeatID == seat {
			return *s.Requests[i], true
		}
	}
	return Request{}, false
}

// remember keeps a request id with its outcome.
func (s Session) remember(r events.Recorded, id, seat string, bodyHash []byte, execution string) Session {
	kept := s.Requests[max(0, len(s.Requests)+1-MaxRequests):]
	s.Requests = append(append(make([]*Request, 0, len(kept)+1), kept...),
		&Request{id, seat, hex.EncodeToString(bodyHash), execution, max(r.Version, events.Version(r.Metadata.GetAppendEnd()))})
	return s
}

// carriesLine says whether a command brings a line of the player, or takes up the one that did not commit. A run by
// name leaves that one where it is.
func carriesLine(typ string) bool { return typ != "run_runtimes" }

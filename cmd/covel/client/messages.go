package client

import (
	"encoding/json"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/play"
)

// Update is one thing that happened to a followed session. Exactly one field is set.
type Update struct {
	Welcome   *Welcome
	Frame     *Frame
	Transient *Transient
	Ack       *Ack
	Refusal   *Refusal
	Lost      error // the connection is gone and is being tried again
	Gone      error // the session cannot be followed any more; no update comes after this one
}

// Welcome opens a connection. With a View everything known before is void; without one, the frames that were missed follow.
type Welcome struct {
	Seq         uint64        `json:"seq"`
	LastID      string        `json:"lastId"`
	Incarnation string        `json:"incarnation"`
	Resumed     bool          `json:"resumed"`
	View        *play.View    `json:"view"`
	Running     *play.Running `json:"running"`
}

// Frame is one append of the session's stream.
type Frame struct {
	Seq    uint64  `json:"seq"`
	LastID string  `json:"lastId"`
	Events []Event `json:"events"`
}

// Event is one protocol event; Payload is read with Into.
type Event struct {
	Type      string          `json:"type"`
	TurnID    string          `json:"turnId"`
	RequestID string          `json:"requestId"`
	Timestamp time.Time       `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

// Into reads the payload.
func (e Event) Into(v any) error {
	return errors.Wrapf(json.Unmarshal(e.Payload, v), "the payload of %s", e.Type)
}

// Transient is progress of a running turn; nothing of it is stored.
type Transient struct {
	ExecutionID string `json:"executionId"`
	N           uint64 `json:"n"`
	Event       Event  `json:"event"`
}

// Ack says how far a command has come.
type Ack struct {
	RequestID   string `json:"requestId"`
	Status      string `json:"status"` // queued | accepted
	N           int    `json:"n"`
	Version     uint64 `json:"version"`
	ExecutionID string `json:"executionId"`
	Repeat      bool   `json:"repeat"`
}

// Statuses of an Ack.
const (
	Queued   = "queued"   // in memory only; the client keeps the command
	Accepted = "accepted" // stored
)

// Command is what a player asks for.
type Command struct {
	Type      string `json:"type"` // start_session | submit_actions | retry_turn
	RequestID string `json:"requestId"`
	Payload   any    `json:"payload"`
}

// Action is one thing of a submission.
type Action struct {
	Kind        string          `json:"kind,omitempty"`
	Text        string          `json:"text,omitempty"`
	Interaction *InteractionRef `json:"interaction,omitempty"`
	Fields      map[string]any  `json:"fields,omitempty"`
}

// InteractionRef names the question that an action answers.
type InteractionRef struct {
	TurnID        string `json:"turnId"`
	InteractionID string `json:"interactionId"`
	Type          string `json:"type"`
}

// readMessage reads one message of the server. Messages that this client does not know are no error: u is zero.
func readMessage(b []byte) (u Update, reset string, err error) {
	var head struct {
		Type      string `json:"type"`
		RequestID string `json:"requestId"`
		Code      string `json:"code"`
		Error     string `json:"error"`
		Reason    string `json:"reason"`
		Details   struct {
			Issues []Issue `json:"issues"`
		} `json:"details"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return u, "", errors.Wrap(err, "a message of the server")
	}
	into := func(v any) { err = errors.Wrapf(json.Unmarshal(b, v), "a %s message of the server", head.Type) }
	switch head.Type {
	case "welcome":
		u.Welcome = &Welcome{}
		into(u.Welcome)
	case "frame":
		u.Frame = &Frame{}
		into(u.Frame)
	case "transient":
		u.Transient = &Transient{}
		into(u.Transient)
	case "ack":
		u.Ack = &Ack{}
		into(u.Ack)
	case "error":
		u.Refusal = &Refusal{RequestID: head.RequestID, Code: head.Code, Message: head.Error, Issues: head.Details.Issues}
	case "system.reset":
		return u, head.Reason, nil
	}
	return u, "", err
}

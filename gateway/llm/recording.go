package llm

import (
	"time"

	"github.com/covel/covel/kernel/model"
)

// Entry is one call in a recording: a line of JSON. Exactly one of Reply and Fault is the outcome; beside a Fault, Reply
// holds what had arrived, if anything.
type Entry struct {
	Hash    string        `json:"hash"` // RequestHash
	Request model.Request `json:"request"`
	Deltas  []model.Delta `json:"deltas,omitempty"`
	Reply   *model.Reply  `json:"reply,omitempty"`
	Fault   *Fault        `json:"fault,omitempty"`
}

// Fault is a model.Error in a recording, without the error it wrapped.
type Fault struct {
	Kind         model.ErrorKind `json:"kind"`
	Status       int             `json:"status,omitempty"`
	Message      string          `json:"message"`
	RetryAfterMs int64           `json:"retryAfterMs,omitempty"`
}

func faultOf(e *model.Error) *Fault {
	return &Fault{Kind: e.Kind, Status: e.Status, Message: e.Message, RetryAfterMs: e.RetryAfter.Milliseconds()}
}

func (f *Fault) failure() *model.Error {
	return &model.Error{
		Kind: f.Kind, Status: f.Status, Message: f.Message, RetryAfter: time.Duration(f.RetryAfterMs) * time.Millisecond,
	}
}

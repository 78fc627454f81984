package session

import (
	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
)

// Effect is something the session actor carries out, in the order given.
type Effect interface{ sessionEffect() }

// DoAppend appends Events at Expected and reports the outcome. Attempt above 0 is a repeat after an unknown outcome: the
// actor waits a growing while before it.
type DoAppend struct{ Append Append }

// Settle waits for what must finish first and asks plugin validators about the answers of the command; reports Settled.
type Settle struct{ Command Command }

// StartTurn starts the execution as a child actor; reports TurnEnded.
type StartTurn struct {
	Execution projections.Execution
	View      projections.State // frozen: state at the start
	Paused    []string          // plugins that do not run, after repeated errors
}

// CancelTurn cancels the live execution; its TurnEnded still comes.
type CancelTurn struct {
	ExecutionID string
	Reason      string
}

// Reply answers one token.
type Reply struct {
	Token uint64
	Reply Answer
}

// Answer is what a client gets to hear about its request, at once.
type Answer struct {
	Status      AnswerStatus
	Ahead       int            // queued: how many wait before it
	Version     events.Version // accepted
	ExecutionID string         // accepted
	JobID       string         // accepted: the background job that was queued or changed
	SeatID      string         // accepted: the seat that was changed
	Repeat      bool           // accepted before
	SettleWait  *SettleWait    // queued: it has come to its turn and waits for these jobs
	Refusal     *Refusal
}

// AnswerStatus is queued, accepted or refused.
type AnswerStatus string

// Answers.
const (
	Queued   AnswerStatus = "queued"
	Accepted AnswerStatus = "accepted"
	Refused  AnswerStatus = "refused"
)

// Refusal is a typed error for the client; nothing was stored.
type Refusal struct {
	Code    string
	Message string
	Issues  []Issue
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Issue is one thing wrong with one field of a submission.
type Issue struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Publish shows an append to everyone who follows the session; After is the state it led to.
type Publish struct {
	Events []events.Recorded
	After  projections.State
}

// Reset tells followers that what they have is no longer a prefix of the stream.
type Reset struct{ Reason string }

// Refold loads the stream anew and reports Recovered. Whole: without a snapshot.
type Refold struct{ Whole bool }

// SaveSnapshot keeps the hot state.
type SaveSnapshot struct{ State projections.State }

// Passivate stops this activation.
type Passivate struct{}

func (DoAppend) sessionEffect()     {}
func (Settle) sessionEffect()       {}
func (StartTurn) sessionEffect()    {}
func (CancelTurn) sessionEffect()   {}
func (Reply) sessionEffect()        {}
func (Publish) sessionEffect()      {}
func (Reset) sessionEffect()        {}
func (Refold) sessionEffect()       {}
func (SaveSnapshot) sessionEffect() {}
func (Passivate) sessionEffect()    {}

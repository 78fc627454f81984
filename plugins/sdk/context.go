package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// What a handler and a guard can do beside reading (ctx in the seeds; reference: plugins.md §11). All of it works while they
// run: after they have returned, or their time is up, calls fail and nothing they stage is kept.

// Origin says what an execution is (seed: turn-pipeline.txt §2.1, "origin").
type Origin string

// Origins.
const (
	OriginPlayer       Origin = "player"
	OriginContinuation Origin = "continuation"
	OriginManual       Origin = "manual"
	OriginBackground   Origin = "background"
	OriginRecursive    Origin = "recursive" // a run that another one called
	OriginResume       Origin = "resume"
)

// ExecutionInfo is the execution a run belongs to. Times are the kernel's: a recorded execution that is run again has the
// same ones.
type ExecutionInfo struct {
	Origin       Origin
	StartedAt    time.Time // what "now" is for a run: it does not move
	SourceTurnID string    // the turn whose failed runs are tried again, "" otherwise
}

// SessionInfo is the session as it was committed when the execution started.
type SessionInfo struct {
	ID                   string
	WorldID              string
	Locale               string
	Status               string // active | paused | ended
	Phase                string // setup | playing
	CompletedPlayerTurns int
	CreatedAt            time.Time
	ActivePluginIDs      []string
}

// Conversation reads the committed messages of the session, those that a summary stands for in prompts included. What the
// running execution tells is not among them. The newest 500 are kept at hand.
type Conversation interface {
	// Latest gives the newest messages, oldest of them first. limit 0 is 100, the most is 500.
	Latest(limit int) []HistoryMessage
	// Page gives messages after the one with the id cursor, oldest first; "" begins with the oldest. more says that there are
	// further ones; next is their cursor.
	Page(cursor string, limit int) (messages []HistoryMessage, next string, more bool)
	// HistoryFor gives the newest stories at which a character was present, oldest of them first: what that character has
	// witnessed, and nothing of what was told elsewhere. limit is as for Latest. A run that goes on after the player's answer
	// reads what there was when it asked (seed: tools.txt, "context.historyFor").
	HistoryFor(characterID string, limit int) []HistoryMessage
	// PlayerInputs gives the player's answers to forms, choices and confirmations of any plugin, oldest first, as they were when
	// the execution started; the newest 64 are kept, and the newest of each plugin (listPlayerInputs in the seeds).
	PlayerInputs() []PlayerInput
}

// Random is chance that is the same when a recorded execution is run again: it comes from the run and the number of the draw.
type Random interface {
	// Int gives min ≤ n < max, min when the range is empty.
	Int(min, max int) int
}

// Logger writes into the trace of the run. fields may be nil; what is no JSON is left out. A run that logs too much is cut.
type Logger interface {
	Debug(message string, fields map[string]any)
	Info(message string, fields map[string]any)
	Warn(message string, fields map[string]any)
	Error(message string, fields map[string]any)
}

// ProgressState is how far a piece of work is.
type ProgressState string

// States of a report. The last three end it.
const (
	ProgressQueued    ProgressState = "queued"
	ProgressRunning   ProgressState = "running"
	ProgressStep      ProgressState = "progress"
	ProgressWaiting   ProgressState = "waiting-input"
	ProgressSucceeded ProgressState = "succeeded"
	ProgressFailed    ProgressState = "failed"
	ProgressCancelled ProgressState = "cancelled"
)

// ProgressReport tells the player live how a piece of work goes. It writes nothing and takes nothing back. Reports of one
// JobID have a rising Sequence; an equal or older one is ignored. The host closes what is still open when the run ends.
type ProgressReport struct {
	JobID    string          `json:"jobId"` // the work's name inside the run
	State    ProgressState   `json:"state"`
	Sequence int             `json:"sequence"`
	Progress float64         `json:"progress,omitempty"` // 0 to 1, 0 for unknown
	Message  string          `json:"message,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// AssetProgress tells the player live how the making of a picture, a sound or another file goes. It writes nothing.
type AssetProgress struct {
	Phase    string          `json:"phase"`             // in the plugin's words: queued, drawing, done
	Percent  float64         `json:"percent,omitempty"` // 0 to 100, 0 for unknown
	AssetID  string          `json:"assetId,omitempty"`
	Message  string          `json:"message,omitempty"`
	Modality string          `json:"modality,omitempty"` // image | speech | music | …
	Meta     json.RawMessage `json:"meta,omitempty"`
}

// RecursiveCall asks for another run inside the present one: of a runtime of the same package, or of the same runtime with
// another payload.
type RecursiveCall struct {
	RuntimeID string // "<package>/<runtime>", or the part behind the slash
	Payload   any    // Activation of the run that is called; nil for none
	Reason    string // for the trace
}

// RecursiveResult is how a called run ended. A failed one is a result like any other: the caller decides what it means.
type RecursiveResult struct {
	RunID      string
	Status     Outcome
	Output     json.RawMessage // nil when there is none
	StopReason string
	SkipReason string
	Error      string
}

// Recurser runs other runtimes of the package. Calls run one after another. Their writes are committed before the caller's
// and with them, or not at all; the caller sees them at once. An error means that there was no run: the runtime belongs to
// another package, tells the story, is a sub-agent, or calls go round in a circle or too deep.
type Recurser func(ctx context.Context, call RecursiveCall) (RecursiveResult, error)

package loop

import (
	"encoding/json"

	"github.com/covel/covel/kernel/model"
)

// Status of a run.
type Status string

// Statuses a loop can end with.
const (
	Success   Status = "success"
	Failed    Status = "failed"
	Suspended Status = "suspended"
)

// Usage counts what a run used.
type Usage struct {
	model.Usage
	ModelCalls int `json:"modelCalls"` // every attempt
	ToolCalls  int `json:"toolCalls"`  // executed calls
}

// Segment is one paragraph of a story as the model told it. Kind is narration, dialogue or action.
type Segment struct {
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Speaker string `json:"speaker,omitempty"`
}

// ToolRecord is a tool call of the run, in the order of the conversation.
type ToolRecord struct {
	Step      int    `json:"step"`
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as kept in the history
	OK        bool   `json:"ok"`
	Skipped   bool   `json:"skipped,omitempty"`
	Refused   bool   `json:"refused,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
}

// Outcome is the settled result of a run.
type Outcome struct {
	Status Status     `json:"status"`
	Stop   StopReason `json:"stop"`
	// Finalizer: the answer came from a finalizer.
	Finalizer bool `json:"finalizer,omitempty"`

	// Text is the final text: of a story its derived narrative, otherwise the answer as written.
	Text      string          `json:"text,omitempty"`
	Segments  []Segment       `json:"segments,omitempty"`  // story only
	Output    json.RawMessage `json:"output,omitempty"`    // structured answer, or the completing tool's result
	Truncated bool            `json:"truncated,omitempty"` // the story was cut off by the model's output limit

	ToolCalls []ToolRecord `json:"toolCalls,omitempty"`
	Usage     Usage        `json:"usage"`

	// Suspension is what a suspended run waits for.
	Suspension *Suspension `json:"suspension,omitempty"`
	// Merged are the interjections that were merged, in order.
	Merged []Interjection `json:"merged,omitempty"`

	// PartialText is what was shown of a run that failed. It is a draft and never history.
	PartialText string `json:"partialText,omitempty"`
	// Error says in English what went wrong, with the provider's own message and status where there is one.
	Error string `json:"error,omitempty"`
	// ModelError is the failure that ended the run, when it was a model's.
	ModelError *ModelError `json:"modelError,omitempty"`
}

// Suspension is the question a run waits on. ResumeSchema is the JSON Schema of the answer.
type Suspension struct {
	Reason       string          `json:"reason"`
	ResumeSchema json.RawMessage `json:"resumeSchema,omitempty"`
}

// Interjection is a line of the player that came while the story was being written.
type Interjection struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ModelError is the serialisable part of a model.Error.
type ModelError struct {
	Kind    model.ErrorKind `json:"kind"`
	Status  int             `json:"status,omitempty"`
	Message string          `json:"message"`
}

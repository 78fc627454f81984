package sdk

import (
	"context"
	"encoding/json"
)

// Annotations describe a tool's side effects (seed: tools.txt, "Annotations and timeout").
type Annotations struct {
	ReadOnly        bool
	StagesWrites    *bool // nil means !ReadOnly
	Idempotent      bool
	ConcurrencySafe bool // requires ReadOnly
}

// Tool is a function the model can call. Make one with Define.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
	Annotations Annotations
	TimeoutMs   int // 0: only the runtime's own limit
	// Execute gets arguments that fit Parameters. It may be called concurrently for different sessions.
	Execute func(ctx context.Context, args json.RawMessage, rt *Runtime) (ToolResult, error)
}

// ToolResult is what a tool hands back. Content is what code reads; the model reads View when it is set, else Content.
type ToolResult struct {
	Content   any
	View      *ModelView
	Proposals []Proposal
	Events    []EmittedEvent
}

// ModelView selects what the model reads of a result. A view with only a Summary leaves the data out.
type ModelView struct {
	Summary string
	Data    any
}

// ToolErrorCode is the single list of codes a model can meet (seed: tools.txt, "Unified result format and error codes").
type ToolErrorCode string

// Codes.
const (
	InvalidInput ToolErrorCode = "invalid-input"
	NotFound     ToolErrorCode = "not-found"
	Ambiguous    ToolErrorCode = "ambiguous"
	Refused      ToolErrorCode = "refused"
	Unavailable  ToolErrorCode = "unavailable"
	TimedOut     ToolErrorCode = "timeout"
	Conflict     ToolErrorCode = "conflict"
	Cancelled    ToolErrorCode = "cancelled"
	Internal     ToolErrorCode = "internal"
)

// ToolError is a failure the model can read and act on. Message and Hint are English, at most 2,000 characters.
type ToolError struct {
	Code    ToolErrorCode `json:"code"`
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`
}

func (e *ToolError) Error() string { return string(e.Code) + ": " + e.Message }

// Package model holds the values that pass between the agent loop and a language model.
// It is the port: gateway/llm implements Provider, the runtime actor calls it, the pure loop only builds and reads values.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Role says who speaks in a message.
type Role string

// The four roles of a chat request.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a chat request. A provider message list never ends on an assistant message.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`  // assistant only
	ToolCallID string     `json:"toolCallId,omitempty"` // tool only: which call this answers
	// Images are pictures that belong to the text, after it. They are taken out of requests to models that see none.
	Images []Image `json:"images,omitempty"`
	// CacheMark asks a provider with explicit prompt caching to end a cached prefix after this message, CacheAt after so many
	// bytes of its Content. A provider without explicit caching ignores both.
	CacheMark bool  `json:"cacheMark,omitempty"`
	CacheAt   []int `json:"cacheAt,omitempty"`
	// Part says what the message is to the host when a request must be made shorter. No provider gets it.
	Part Part `json:"part,omitempty"`
}

// Image is a picture by reference.
type Image struct {
	Ref      string `json:"ref"` // of the media store
	MimeType string `json:"mimeType,omitempty"`
}

// Part is what a message is in a prompt.
type Part string

// Parts of a prompt. A message without one belongs to the current turn or to the instructions.
const (
	HistoryPart Part = "history" // of earlier turns: may be left out of a request
	SummaryPart Part = "summary" // stands for earlier turns
)

// ToolCall is a call as the model wrote it: Arguments is its raw text, which may not be JSON.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is what the model is told about one tool. Parameters is a JSON Schema object.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// ToolChoice is "" (auto), "none", "required", or the name of one tool with Named set.
type ToolChoice struct {
	Mode  string `json:"mode,omitempty"`
	Named string `json:"named,omitempty"`
}

// ResponseFormat asks for one JSON value that fits Schema.
type ResponseFormat struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// Request is one call of a model.
type Request struct {
	Slot            string          `json:"slot"` // story | fast | …; "" is story
	Messages        []Message       `json:"messages"`
	Tools           []Tool          `json:"tools,omitempty"`
	ToolChoice      ToolChoice      `json:"toolChoice,omitzero"`
	ResponseFormat  *ResponseFormat `json:"responseFormat,omitempty"`
	Stream          bool            `json:"stream,omitempty"`
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	ReasoningEffort string          `json:"reasoningEffort,omitempty"`
	// Subject names the caller for records and for choosing a scripted reply: the runtime id.
	Subject string `json:"subject,omitempty"`
	// Take is how often this moment of the story was told before. A model that is the same for the same request tells it
	// in another way.
	Take int `json:"take,omitempty"`
	// Limits bound the silence of this call; they are no part of what the model reads.
	Limits Limits `json:"-"`
}

// Limits of one call; a zero leaves it to the provider. A model that keeps writing is never cut.
type Limits struct {
	FirstToken time.Duration // streamed: until the first sign of output
	Idle       time.Duration // streamed: between two signs of output
	Call       time.Duration // not streamed: the whole call
}

// Delta is a piece of an answer that is still being written. Text is always whole UTF-8.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// FinishReason is why the model stopped, unified over providers.
type FinishReason string

// Unified finish reasons (reference: plugins.md §9.4).
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// Usage counts tokens of one call.
type Usage struct {
	InputTokens       int `json:"inputTokens"`
	OutputTokens      int `json:"outputTokens"`
	CachedInputTokens int `json:"cachedInputTokens,omitempty"`
}

// Reply is a complete answer. Text is what the deltas added up to.
type Reply struct {
	Text         string       `json:"text,omitempty"`
	ToolCalls    []ToolCall   `json:"toolCalls,omitempty"`
	FinishReason FinishReason `json:"finishReason"`
	Usage        Usage        `json:"usage"`
	Model        string       `json:"model,omitempty"`
}

// Provider answers requests. Generate blocks until the answer is complete, ctx ends (the connection is closed) or the
// model fails; it calls onDelta from one goroutine, in order, and never after it returned. onDelta may be nil.
// A failure is a *Error; after cancellation it is one of kind Cancelled. Calls may overlap.
type Provider interface {
	Generate(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error)
}

// Capacity is what the model of a slot can take; 0 means that nobody knows.
type Capacity struct {
	ContextWindow   int  `json:"contextWindow,omitempty"`   // tokens of request and answer together
	MaxOutputTokens int  `json:"maxOutputTokens,omitempty"` // tokens of an answer
	Images          bool `json:"images,omitempty"`          // it sees pictures
}

// Sized is a Provider that knows what its models can take.
type Sized interface {
	Capacity(slot string) Capacity
}

// CapacityOf gives the capacity of the model behind a slot, zero when the provider does not tell.
func CapacityOf(p Provider, slot string) Capacity {
	if s, ok := p.(Sized); ok {
		return s.Capacity(slot)
	}
	return Capacity{}
}

// Named is a Provider that knows how its models are called.
type Named interface {
	ModelName(slot string) string
}

// NameOf gives the name of the model behind a slot, "" when the provider does not tell before it has answered.
func NameOf(p Provider, slot string) string {
	if n, ok := p.(Named); ok {
		return n.ModelName(slot)
	}
	return ""
}

// ErrorKind sorts failures by what the caller may do about them.
type ErrorKind string

// Kinds of failure.
const (
	Transient   ErrorKind = "transient"    // network, 5xx, overloaded: may be tried again
	RateLimited ErrorKind = "rate-limited" // 429: may be tried again after RetryAfter
	Interrupted ErrorKind = "interrupted"  // the stream broke after output: text is incomplete
	Empty       ErrorKind = "empty"        // 200 and nothing in it
	Permanent   ErrorKind = "permanent"    // 4xx, configuration, quota: trying again cannot help
	Timeout     ErrorKind = "timeout"
	Cancelled   ErrorKind = "cancelled"
	Overflow    ErrorKind = "overflow" // the request is longer than the model reads
)

// Error is a failed call. Message is the provider's own text, without secrets.
type Error struct {
	Kind       ErrorKind
	Status     int // HTTP status, 0 when there was none
	Message    string
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model %s (status %d): %s", e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("model %s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

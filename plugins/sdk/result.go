package sdk

import "fmt"

// WithModelView chooses what the model reads of a result. content is the tool's content or a ToolResult that another With…
// function made: the three compose in any order and keep what the others set (seed: tools.txt, "Unified result format").
func WithModelView(content any, view ModelView) ToolResult {
	r := resultOf(content)
	r.View = &view
	return r
}

// WithPendingProposals binds writes to a result. Setting them again replaces them.
func WithPendingProposals(content any, proposals []Proposal) ToolResult {
	r := resultOf(content)
	r.Proposals = append([]Proposal(nil), proposals...)
	return r
}

// WithEmittedEvents binds domain events to a result. Setting them again replaces them.
func WithEmittedEvents(content any, events []EmittedEvent) ToolResult {
	r := resultOf(content)
	r.Events = append([]EmittedEvent(nil), events...)
	return r
}

func resultOf(content any) ToolResult {
	switch c := content.(type) {
	case ToolResult:
		return c
	case *ToolResult:
		if c == nil {
			return ToolResult{}
		}
		return *c
	}
	return ToolResult{Content: content}
}

// Fail is a failure the model can read and act on: return Fail(sdk.NotFound, "There is no %q.", name).
func Fail(code ToolErrorCode, format string, args ...any) *ToolError {
	return &ToolError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint adds advice on what to do next.
func (e *ToolError) WithHint(format string, args ...any) *ToolError {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// ToolErrorCodes is the list of codes, in the order of the seed's table.
var ToolErrorCodes = []ToolErrorCode{InvalidInput, NotFound, Ambiguous, Refused, Unavailable, TimedOut, Conflict, Cancelled, Internal}

// Package trace is the stream beside the log: what models were asked and answered, which tools and hooks ran, how long it
// took and what it cost. Nothing is folded from it, and a turn never waits for it: a full queue drops entries and says how
// many (design §4, "Three stores").
package trace

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Scope says what an entry is about. SessionID is always set; the rest as far as it is known.
type Scope struct {
	SessionID    string `json:"sessionId"`
	TurnID       string `json:"turnId,omitempty"` // the execution
	RunID        string `json:"runId,omitempty"`
	RuntimeID    string `json:"runtimeId,omitempty"`
	PluginID     string `json:"pluginId,omitempty"`
	ParentCallID string `json:"parentCallId,omitempty"` // the tool call a sub-agent answers
	ParentRunID  string `json:"parentRunId,omitempty"`  // the run that called this one
	// Concealed: the runtime hides what it reads and writes (io.concealed). Its payloads are kept without contents.
	Concealed bool `json:"concealed,omitempty"`
}

// Entry is one thing that happened. Seq is the time in microseconds, made to rise strictly: it is the order, and the cursor
// of pages.
type Entry struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"timestamp"`
	Type Type      `json:"type"`
	Scope
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Query selects entries of a session. Empty fields select all.
type Query struct {
	SessionID string
	TurnID    string
	Types     []Type
	Before    uint64 // only entries with a smaller Seq; 0: from the newest
	Limit     int    // at most this many, the newest of those selected
	Bytes     int    // of payloads: no further entry once this many are read
}

// Selects says whether an entry is one of those that are asked for, but for Limit and Bytes.
func (q Query) Selects(e Entry) bool {
	return e.SessionID == q.SessionID && (q.TurnID == "" || e.TurnID == q.TurnID) && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type)) &&
		(q.Before == 0 || e.Seq < q.Before)
}

// Damaged tells that a part of the trace cannot be read.
type Damaged struct{ Files []string }

func (d *Damaged) Error() string {
	return "trace: damaged files are left out: " + strings.Join(d.Files, ", ")
}

// Store keeps entries. Its methods may be called concurrently; Append is called by one Writer.
type Store interface {
	// Append adds entries whose Seq rises above all before, all of them or none. With durable it returns only when a crash
	// of the machine cannot lose them.
	Append(ctx context.Context, entries []Entry, durable bool) error
	// Read gives the selected entries, oldest first; with a Damaged error those that could be read.
	Read(ctx context.Context, q Query) ([]Entry, error)
	// Last is the highest Seq that was ever kept.
	Last(ctx context.Context) (uint64, error)
	// Forget removes a session's entries.
	Forget(ctx context.Context, sessionID string) error
	Close() error
}

// Conceals is a payload that knows which part of it may be kept of a concealed runtime. Any other payload of such a
// runtime is left out whole.
type Conceals interface {
	// WithoutContents gives the payload without prompts, replies, arguments, results and outputs: status, names, durations
	// and usage stay (reference: api-and-protocol.md §3.3, "Concealed runtimes").
	WithoutContents() any
}

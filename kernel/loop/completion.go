package loop

import (
	"encoding/json"
	"slices"
)

// work is what the tools of a run have achieved so far. It is judged the same way for every way of ending, and is kept
// over a suspension (reference: plugins.md §9.3).
type work struct {
	Business   bool            `json:"business,omitempty"`   // a business tool succeeded
	After      bool            `json:"after,omitempty"`      // a tool of completeAfterTools succeeded
	Wrote      bool            `json:"wrote,omitempty"`      // a business tool staged a write
	Done       bool            `json:"done,omitempty"`       // runtime-done was called
	Unresolved []string        `json:"unresolved,omitempty"` // tools with a failure that no later success of theirs resolved
	Output     json.RawMessage `json:"output,omitempty"`     // result of the latest completing tool
}

// add counts one executed call. runtime-done is no business work.
func (w work) add(name string, o ToolOutcome, after bool) work {
	switch {
	case o.Skipped, o.Refused && !o.OK:
	case !o.OK:
		if !slices.Contains(w.Unresolved, name) {
			w.Unresolved = append(slices.Clip(w.Unresolved), name)
		}
	default:
		w.Business, w.Wrote = true, w.Wrote || o.Wrote
		if i := slices.Index(w.Unresolved, name); i >= 0 {
			w.Unresolved = slices.Concat(w.Unresolved[:i], w.Unresolved[i+1:])
		}
		if after {
			w.After, w.Output = true, o.Content
		}
	}
	return w
}

// contractMet judges completion.require (seed: turn-pipeline.txt, "How a task counts as done"). For an explicit end there must
// be a real write, the success of a completing tool, or runtime-done.
func (c Config) contractMet(w work) bool {
	switch c.Require {
	case RequireToolUse:
		if len(c.AfterTools) > 0 {
			return w.After
		}
		return w.Business
	case RequireExplicit:
		return (w.After || w.Wrote || w.Done) && len(w.Unresolved) == 0
	}
	return true
}

package turn

import (
	"encoding/json"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Status is how a runtime ended, apart from why it stopped.
type Status string

// Statuses.
const (
	Succeeded Status = "success"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
)

// Skip reasons the kernel gives.
const (
	SkipGuard      = "guard" // its own guard answered in its place
	SkipDependency = "dependency"
	SkipInput      = "missing-input"
	SkipCycle      = "dependency-cycle"
)

// HandlerSkip is the skip reason of a function that reports "skipped" itself, "handler" when it gives none. A reason of the
// kernel's in a plugin's mouth stays the plugin's.
func HandlerSkip(reason string) string {
	switch reason {
	case "":
		return "handler"
	case SkipGuard, SkipDependency, SkipInput, SkipCycle:
		return "handler: " + reason
	}
	return reason
}

// Usage adds up what a run cost.
type Usage struct {
	InputTokens       int `json:"inputTokens"`
	OutputTokens      int `json:"outputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	ModelCalls        int `json:"modelCalls"`
	ToolCalls         int `json:"toolCalls"`
}

// Add adds another run's usage.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CachedInputTokens + v.CachedInputTokens,
		u.ModelCalls + v.ModelCalls, u.ToolCalls + v.ToolCalls}
}

// Result is a finished run: what it gave, and what it asks to be written.
type Result struct {
	RuntimeID  string
	PluginID   string
	RunID      string
	Stage      manifest.Stage // "" for event runs
	Story      bool           // io.visibility: story
	Contract   string         // io.output.contract
	Status     Status
	StopReason string
	SkipReason string
	Error      string
	Finalizer  bool

	// Output is the canonical value that contracts, inputs and exports see; nil when there is none.
	Output json.RawMessage
	// Segments is the story of a story runtime; its text is the story text.
	Segments  []sdk.StorySegment
	Truncated bool
	Proposals []sdk.Proposal // in the order they were made
	Events    []sdk.EmittedEvent
	Done      bool   // the completion signal of a setup runtime
	Draft     string // partial prose of a failed story run
	Usage     Usage
	// Needs are the runs this one depends on at the commit: of each group of runtime ids one must be committed. They come
	// from turn-scoped needs, required inputs, and the emitters of the event that set it off (reference:
	// api-and-protocol.md §4.6, "Hard dependencies").
	Needs [][]string
}

// Committable says whether the run's proposals may be committed: success, or what was written before its guard or its
// handler skipped it (seed: tools.txt, "For a runtime whose result is success / skipped, the buffered proposals are
// committed").
func (r Result) Committable() bool {
	if r.Status == Skipped {
		return r.SkipReason != SkipDependency && r.SkipReason != SkipInput && r.SkipReason != SkipCycle
	}
	return r.Status == Succeeded
}

// Satisfies says whether the run counts as having happened for those that need it: success, or its guard's answer in its
// place. Any other skip does not (seed: turn-pipeline.txt, "A skipped result caused by a failed dependency does not satisfy
// the dependency").
func (r Result) Satisfies() bool {
	return r.Status == Succeeded || r.Status == Skipped && r.SkipReason == SkipGuard
}

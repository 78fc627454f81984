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
	// Needs are the runs that must commit for this one to: turn-scoped needs and required inputs.
	Needs []string // runtime ids
}

// Committable says whether the run's proposals may be committed: success, or writes of its own guard.
func (r Result) Committable() bool {
	return r.Status == Succeeded || (r.Status == Skipped && r.SkipReason == SkipGuard)
}

// Satisfies says whether the run counts as having happened for those that need it.
func (r Result) Satisfies() bool { return r.Committable() }

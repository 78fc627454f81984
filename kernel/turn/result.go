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
	Suspended Status = "suspended" // waits for the player; its writes are kept with the suspension
)

// Skip reasons the kernel gives.
const (
	SkipGuard      = "guard" // its own guard answered in its place
	SkipHook       = "hook"  // a PreRuntime hook refused it
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
	case SkipGuard, SkipHook, SkipDependency, SkipInput, SkipCycle:
		return "handler: " + reason
	}
	return reason
}

// ConcealedFailure is what a player reads in the place of the reason why a concealed runtime failed (reference: plugins.md
// §8, "Concealed runtimes").
const ConcealedFailure = "it failed"

// ShownError is the failure of a run as players may read it.
func (r Result) ShownError(text string) string {
	if r.Concealed && text != "" {
		return ConcealedFailure
	}
	return text
}

// Usage adds up what a run cost. CostMicros is in millionths of the currency of the host's prices, nil when nobody knows the
// price of any call, which is not the same as 0; Unpriced counts the model calls that are not in it.
type Usage struct {
	InputTokens       int    `json:"inputTokens"`
	OutputTokens      int    `json:"outputTokens"`
	CachedInputTokens int    `json:"cachedInputTokens"`
	ModelCalls        int    `json:"modelCalls"`
	ToolCalls         int    `json:"toolCalls"`
	CostMicros        *int64 `json:"costMicros,omitempty"`
	Unpriced          int    `json:"unpricedCalls,omitempty"`
}

// Add adds another run's usage.
func (u Usage) Add(v Usage) Usage {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.CachedInputTokens += v.CachedInputTokens
	u.ModelCalls += v.ModelCalls
	u.ToolCalls += v.ToolCalls
	u.Unpriced += v.Unpriced
	if v.CostMicros != nil {
		sum := *v.CostMicros
		if u.CostMicros != nil {
			sum += *u.CostMicros
		}
		u.CostMicros = &sum
	}
	return u
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
	// Refused are the proposals that PreStateCommit hooks refused, by index, with the reason.
	Refused map[int]string
	Events  []sdk.EmittedEvent
	Done    bool   // the completion signal of a setup runtime
	Draft   string // partial prose of a failed story run
	Usage   Usage
	// Seed: a result of an earlier execution that this one builds on. It is never committed again, and what it wrote is no
	// staged write (seed: turn-pipeline.txt, "Seeds are never committed twice").
	Seed bool
	// Needs are the runs this one depends on at the commit: of each group of runtime ids one must be committed. They come
	// from turn-scoped needs, required inputs, and the emitters of the event that set it off (reference:
	// api-and-protocol.md §4.6, "Hard dependencies").
	Needs [][]string

	// Reads are the run ids of upstream results whose staged writes this run has read; where such a run is dropped at the
	// commit, an auxiliary reader goes with it (seed: turn-pipeline.txt §4.2, "A run that read an upstream write").
	Reads []string
	// RecordAs is the name the output is exported under when the run commits (io.output.recordAs), "" for none.
	RecordAs string
	// Exports are what calls of a resumed run had given to be exported before it suspended: they are published with it, before
	// its own.
	Exports []Export
	// Operations are writes of other plugins that this run staged through write services, in order. They follow the run's
	// commit unit (seed: turn-pipeline.txt, "Write-service operations commit in this transaction too").
	Operations []Operation
	// Media are the files the run has stored, through the host and nothing else. The session may refer to them from here on.
	Media []sdk.MediaRef
	// Nested are the results of recursive calls of this run; they are committed before it, with it.
	Nested []Result
	// Subagents are the runs of sub-agents this run started. They have no commit unit; they count for usage and faults.
	Subagents []SubagentRun
	// Interjections are the lines of the player that the run merged into its conversation, in order.
	Interjections []Interjection
	// Suspension is what a suspended run waits for, nil otherwise.
	Suspension *Suspension
	// Concealed: no player is told what the run read and wrote, nor why it failed (io.concealed).
	Concealed bool
	// Fault: the failure is the plugin's own and counts for the fault latch (decisions: "Fault latch").
	Fault bool
}

// Export is an output that is published under a name when its run commits.
type Export struct {
	RuntimeID string          `json:"runtimeId"`
	PluginID  string          `json:"pluginId"`
	RunID     string          `json:"runId"`
	Name      string          `json:"name"` // io.output.recordAs
	Contract  string          `json:"contract,omitempty"`
	Value     json.RawMessage `json:"value"`
}

// Exported is what the run itself publishes when it commits; false for one that declares nothing, failed, was skipped by
// itself, or gave no output (reference: plugins.md §8, "absent → empty object, and no export is published").
func (r Result) Exported() (Export, bool) {
	if r.RecordAs == "" || len(r.Output) == 0 || !r.Satisfies() {
		return Export{}, false
	}
	return Export{r.RuntimeID, r.PluginID, r.RunID, r.RecordAs, r.Contract, r.Output}, true
}

// Operation is one call of a write service: what it stages for its provider, and who asked.
type Operation struct {
	ID        string
	PluginID  string // of the provider, who owns the writes
	Service   string // contract
	Summary   string // one line for operations@1 and for notices
	Status    string // as the commit decided (OperationCommitted, …), on a seed; "" while it is staged
	InvokedBy InvokedBy
	Proposals []sdk.Proposal
	Refused   map[int]string // as Result.Refused
}

// InvokedBy names the run that made an operation; for a sub-agent's, the sub-agent's.
type InvokedBy struct {
	RuntimeID string
	PluginID  string
	RunID     string
}

// Interjection is what a player said into a running turn.
type Interjection struct{ ID, Text string }

// SubagentRun is one finished sub-agent.
type SubagentRun struct {
	RuntimeID    string
	PluginID     string
	RunID        string
	ParentCallID string // the call it answers: of delegate, or of ctx.agents
	Status       Status
	StopReason   string
	Error        string
	Usage        Usage
	Fault        bool
}

// Suspension is what a run that waits for the player keeps: the question, and how it goes on.
type Suspension struct {
	Reason       string
	ResumeSchema json.RawMessage // plain JSON Schema of the answer; nil when a function asks for none
	Loop         []byte          // loop.Encode of an agent; nil for a function, whose handler is called again
	// Kept is what else the run goes on from. Its proposals, events and operations stay in the Result.
	Kept Continuation
	// PluginVersion and PluginDigest name the code that runs; other code cannot go on with it.
	PluginVersion, PluginDigest string
}

// Deferred is a run that does not run in this execution: the commit queues it as a job.
type Deferred struct {
	Run        Run    // with its frozen inputs and upstream results
	Activation string // stage (schedule.detached) | event (a background follower)
}

// Committable says whether the run's proposals may be committed: success, or what was written before its guard or its
// handler skipped it (seed: tools.txt, "For a runtime whose result is success / skipped, the buffered proposals are
// committed").
func (r Result) Committable() bool {
	if r.Status == Skipped {
		return r.SkipReason != SkipHook && r.SkipReason != SkipDependency && r.SkipReason != SkipInput && r.SkipReason != SkipCycle
	}
	return r.Status == Succeeded
}

// Satisfies says whether the run counts as having happened for those that need it: success, or its guard's answer in its
// place. Any other skip does not (seed: turn-pipeline.txt, "A skipped result caused by a failed dependency does not satisfy
// the dependency").
func (r Result) Satisfies() bool {
	return r.Status == Succeeded || r.Status == Skipped && r.SkipReason == SkipGuard
}

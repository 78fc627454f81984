package loop

import (
	"encoding/json"
	"time"

	"github.com/covel/covel/kernel/model"
)

// Effect is something the actor does. Effects of one Step are executed in order.
type Effect interface{ effect() }

// PreStep asks the PreStep hooks about step N. Only with Hooks.PreStep.
type PreStep struct {
	Step       int
	StepsLeft  int // steps that may still start, this one included
	Tools      []string
	ToolChoice model.ToolChoice
}

// PreCall asks the PreLLMCall hooks about a request. Only with Hooks.PreCall; not for a repeated attempt, which sends what
// the hooks gave for the first one.
type PreCall struct {
	Purpose        Purpose
	Step           int
	Request        model.Request // a copy: changing it changes this call only
	PromptSegments json.RawMessage
}

// StepStarted: step N begins. Every started step is completed exactly once.
type StepStarted struct{ Step int }

// Purpose says what a model call is for.
type Purpose string

// Purposes. Only calls of purpose step belong to a step.
const (
	ForStep      Purpose = "step"
	ForFinalizer Purpose = "finalizer" // tools off, the final answer now
	ForRepair    Purpose = "repair"    // tools off, an invalid answer again
)

// CallModel asks the model after waiting After. Attempt counts the tries of one request from 1.
type CallModel struct {
	Request model.Request
	Purpose Purpose
	Step    int
	Attempt int
	After   time.Duration
	Reason  string // of a repeated attempt: what was wrong with the one before
	// Trim: the finalizer after a context overflow. Tool steps are trimmed as far as is needed, the newest included.
	Trim bool
}

// Review asks the PostLLMResponse hooks about a reply. Only with Hooks.Review.
type Review struct {
	Step    int
	Purpose Purpose
	Sent    []model.Message // what the model read
	Reply   model.Reply
}

// Batch is calls that run at the same time, at most MaxParallel. A barrier is a batch of one call.
type Batch struct {
	Calls []model.ToolCall `json:"calls"`
}

// RunTools runs the batches one after another. Together they hold the calls in model order; hooks may rename a call, so that
// its batch is cut again (Config.Batches). After a call that suspends the run, or whose hook ends it, no further call is run.
type RunTools struct {
	Step    int
	Batches []Batch
}

// EmitDelta shows more story text. The deltas since the last EmitReset add up to the text shown.
type EmitDelta struct{ Text string }

// EmitReset withdraws the text shown so far: it was a draft. What of it was accepted before follows as a delta.
type EmitReset struct{}

// InterjectionMerged: the line stands in the conversation.
type InterjectionMerged struct{ ID string }

// InterjectionRefused: the line came too late, or this loop reads none.
type InterjectionRefused struct{ ID string }

// StepCompleted closes a step when the next one starts or the loop ends.
type StepCompleted struct {
	Step      int
	ToolCalls int // executed calls, runtime-done not counted
	Failed    int // of them
	Usage     Usage
}

// Finish ends the run.
type Finish struct{ Outcome Outcome }

func (PreStep) effect()             {}
func (PreCall) effect()             {}
func (StepStarted) effect()         {}
func (CallModel) effect()           {}
func (Review) effect()              {}
func (RunTools) effect()            {}
func (EmitDelta) effect()           {}
func (EmitReset) effect()           {}
func (InterjectionMerged) effect()  {}
func (InterjectionRefused) effect() {}
func (StepCompleted) effect()       {}
func (Finish) effect()              {}

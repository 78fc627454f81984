package loop

import (
	"time"

	"github.com/covel/covel/kernel/model"
)

// Effect is something the actor does. Effects of one Step are executed in order.
type Effect interface{ effect() }

// PreStep asks the PreStep hooks about step N. Without hooks the actor answers PreStepDone at once.
type PreStep struct{ Step int }

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
}

// Review asks the PostLLMResponse hooks about a reply. Only with Config.Review.
type Review struct {
	Step  int
	Reply model.Reply
}

// Batch is calls that run at the same time, at most MaxParallel. A barrier is a batch of one call.
type Batch struct {
	Calls []model.ToolCall `json:"calls"`
}

// RunTools runs the batches one after another. Together they hold the calls in model order.
type RunTools struct {
	Step    int
	Batches []Batch
}

// EmitDelta shows more story text. The deltas since the last EmitReset add up to the text shown.
type EmitDelta struct{ Text string }

// EmitReset withdraws the text shown so far: it was a draft.
type EmitReset struct{}

// StepCompleted closes a step when the next one starts or the loop ends.
type StepCompleted struct {
	Step      int
	ToolCalls int // executed calls, runtime-done not counted
	Failed    int // of them
	Usage     Usage
}

// Finish ends the run.
type Finish struct{ Outcome Outcome }

func (PreStep) effect()       {}
func (StepStarted) effect()   {}
func (CallModel) effect()     {}
func (Review) effect()        {}
func (RunTools) effect()      {}
func (EmitDelta) effect()     {}
func (EmitReset) effect()     {}
func (StepCompleted) effect() {}
func (Finish) effect()        {}

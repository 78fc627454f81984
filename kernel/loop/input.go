package loop

import (
	"encoding/json"
	"time"

	"github.com/covel/covel/kernel/model"
)

// Input is what happens to a loop. Left, where an input has it, is the time until the run's deadline; 0 means that
// nothing is said about it.
type Input interface{ input() }

// Begin starts a run. Messages are the assembled context (prompt.Build); they do not end on an assistant message.
type Begin struct {
	Config   Config
	Messages []model.Message
	Left     time.Duration
}

// PreStepDone answers PreStep with what the hooks decided; the zero value changes nothing.
type PreStepDone struct {
	End           bool              // end the loop with "cancelled"
	Reason        string            // why, for the error text
	Tools         []string          // non-nil: only these tools are on offer in this step
	ToolChoice    *model.ToolChoice // non-nil: the tool choice of this step
	StepsLeft     *int              // lowers the steps that may still start, this one included
	Interjections []string          // player interjections, merged as user messages (profile with steering)
	Left          time.Duration
}

// ModelDelta is a piece of the answer being written. It may cut characters and escapes anywhere.
type ModelDelta struct{ Text string }

// ModelReplied is the complete answer.
type ModelReplied struct {
	Reply model.Reply
	Left  time.Duration
}

// ModelFailed is a failed call.
type ModelFailed struct {
	Err  *model.Error
	Left time.Duration
}

// ReviewDone answers Review. An empty Correction accepts the reply; otherwise the text tells the model what to change.
type ReviewDone struct{ Correction string }

// ToolsFinished answers RunTools: one outcome per call, in model order. A missing outcome counts as cancelled.
type ToolsFinished struct {
	Outcomes []ToolOutcome
	Left     time.Duration
}

// ToolOutcome is what became of one call.
type ToolOutcome struct {
	CallID string `json:"callId"`
	// Name and Arguments as they are kept in the history: after rewriting, and the arguments after repair as JSON. An
	// unrepairable text is kept as a JSON string (HistoryArguments). Empty values keep what the model wrote.
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Result is the JSON text the model reads ({"summary","data","staged"} or {"error"}).
	Result string `json:"result"`
	OK     bool   `json:"ok"`
	// Content is the full result of a successful call, JSON; the output of a completing tool.
	Content   json.RawMessage `json:"content,omitempty"`
	ErrorCode string          `json:"errorCode,omitempty"`
	// Refused: the tool itself refused. It counts neither as business work nor as a failure.
	Refused bool `json:"refused,omitempty"`
	// Skipped: the call was not executed (hook, cancellation). It is answered and counts as nothing.
	Skipped bool `json:"skipped,omitempty"`
	// Terminate: a PostToolUse hook ends the loop after this result.
	Terminate bool `json:"terminate,omitempty"`
}

// TimeUp: the run's own time limit passed.
type TimeUp struct{}

// Cancel ends the run from outside. Reason is aborted-by-player, cancelled-by-parent, budget-exceeded or internal.
type Cancel struct {
	Reason StopReason
	Detail string // for the error text
}

func (Begin) input()         {}
func (PreStepDone) input()   {}
func (ModelDelta) input()    {}
func (ModelReplied) input()  {}
func (ModelFailed) input()   {}
func (ReviewDone) input()    {}
func (ToolsFinished) input() {}
func (TimeUp) input()        {}
func (Cancel) input()        {}

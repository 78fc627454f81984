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
	// PromptSegments are the segments of prompt.segment@1 of this turn, as JSON; PreCall hands them to its hooks, also after
	// a suspension.
	PromptSegments json.RawMessage
	Left           time.Duration
}

// PreStepDone answers PreStep with what the hooks decided; the zero value changes nothing.
type PreStepDone struct {
	End        bool              // end the loop with "cancelled"
	Reason     string            // why, for the error text
	Tools      []string          // non-nil: only these tools are on offer in this step
	ToolChoice *model.ToolChoice // non-nil: the tool choice of this step
	StepsLeft  *int              // lowers the steps that may still start, this one included
	Left       time.Duration
}

// PreCallDone answers PreCall. The zero value changes nothing.
type PreCallDone struct {
	Request *model.Request // non-nil: what is sent in place of the request, for this call only
	Stream  *bool          // false: this call shows nothing before it is accepted; true does not switch on what the profile has off
	// PromptSegments, when not nil, replace the turn's.
	PromptSegments json.RawMessage
	Left           time.Duration
}

// Interject is a line of the player for the story that is being written. The loop answers with InterjectionMerged or
// InterjectionRefused, once, at the latest when it ends.
type Interject struct{ ID, Text string }

// Resume continues a suspended run with the player's answer, JSON.
type Resume struct {
	Answer json.RawMessage
	// Tools and Deferred, where Offers is set, are what the runtime offers now.
	Offers          bool
	Tools, Deferred []ToolOffer
	Left            time.Duration
}

// CallRefused answers CallModel: the request was not sent. Stop is context-overflow (it does not fit, however it is
// trimmed), invalid-context (the limits themselves make no sense) or budget-exceeded.
type CallRefused struct {
	Stop   StopReason
	Detail string
	Left   time.Duration
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
// Reply, when not nil, replaces the reply's text and calls.
type ReviewDone struct {
	Correction string
	Reply      *model.Reply
}

// ToolsFinished answers RunTools: one outcome per call, in model order. A missing outcome counts as cancelled.
type ToolsFinished struct {
	Outcomes []ToolOutcome
	// Exceeded, when not "", says why no further call was admitted: the execution's allowance is used up.
	Exceeded string
	Left     time.Duration
}

// ToolOutcome is what became of one call.
type ToolOutcome struct {
	CallID string `json:"callId"`
	// Name and Arguments as they are kept in the history: after rewriting, and the arguments after repair as JSON. An
	// unrepairable text is kept as a JSON string (tools.HistoryArguments). Empty values keep what the model wrote.
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Result is the JSON text the model reads ({"summary","data","staged"} or {"error"}).
	Result string `json:"result"`
	OK     bool   `json:"ok"`
	// Content is the full result of a successful call, JSON; the output of a completing tool.
	Content   json.RawMessage `json:"content,omitempty"`
	ErrorCode string          `json:"errorCode,omitempty"`
	// Wrote: the call staged a write, an event, a question or something to show.
	Wrote bool `json:"wrote,omitempty"`
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
func (PreCallDone) input()   {}
func (Interject) input()     {}
func (Resume) input()        {}
func (CallRefused) input()   {}
func (ModelDelta) input()    {}
func (ModelReplied) input()  {}
func (ModelFailed) input()   {}
func (ReviewDone) input()    {}
func (ToolsFinished) input() {}
func (TimeUp) input()        {}
func (Cancel) input()        {}

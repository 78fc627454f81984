package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
)

// Phase of the loop (seed: turn-pipeline.txt, "Phases and stop reasons of the tool loop").
type Phase string

// Phases. Deciding is passed within one Step; a State never rests in it.
const (
	Preparing       Phase = "preparing"
	AwaitingPreStep Phase = "awaiting-pre-step"
	RequestingModel Phase = "requesting-model"
	Reviewing       Phase = "reviewing"
	RunningTools    Phase = "running-tools"
	Deciding        Phase = "deciding"
	Finalizing      Phase = "finalizing" // the step loop is over: finalizer, output check, repair
	Stopped         Phase = "stopped"
	Waiting         Phase = "suspended" // for the player's answer
)

// Phases lists all phases.
var Phases = []Phase{
	Preparing, AwaitingPreStep, RequestingModel, Reviewing, RunningTools, Deciding, Finalizing, Stopped, Waiting,
}

// transitions are the legal changes of phase. Every run ends through finalizing, where its result is settled.
var transitions = map[Phase][]Phase{
	Preparing:       {AwaitingPreStep, Finalizing},
	AwaitingPreStep: {RequestingModel, Finalizing},
	RequestingModel: {Reviewing, Finalizing},
	Reviewing:       {RunningTools, Deciding, AwaitingPreStep, Finalizing},
	RunningTools:    {Deciding, Waiting, Finalizing},
	Deciding:        {AwaitingPreStep, Finalizing},
	Finalizing:      {Stopped},
	Waiting:         {RunningTools, Finalizing},
	Stopped:         nil,
}

// CanMove reports whether a change of phase is legal.
func CanMove(from, to Phase) bool { return slices.Contains(transitions[from], to) }

// ErrIllegalTransition: the loop was driven in a way that no model and no plugin can cause. It is a defect of the kernel or
// of the actor, so Step panics with an error that is ErrIllegalTransition and the supervisor fails the run.
var ErrIllegalTransition = errors.New("loop: illegal transition")

// TransitionError is the value Step panics with.
type TransitionError struct {
	Phase  Phase
	Await  Await
	Detail string
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("loop: illegal transition in phase %s, awaiting %q: %s", e.Phase, e.Await, e.Detail)
}

func (e *TransitionError) Unwrap() error { return ErrIllegalTransition }

// Await is the answer a state waits for.
type Await string

// What a state can wait for. Nothing is awaited before Begin and after Finish.
const (
	AwaitNothing Await = ""
	AwaitPreStep Await = "pre-step"
	AwaitPreCall Await = "pre-call"
	AwaitModel   Await = "model"
	AwaitReview  Await = "review"
	AwaitTools   Await = "tools"
)

// StateVersion changes whenever an older State can no longer be continued.
const StateVersion = 2

// State is a loop between two inputs. The zero value is a loop that has not begun. Step never changes the State it is
// given, so an older State can be kept and continued again.
type State struct {
	Version  int             `json:"version"`
	Phase    Phase           `json:"phase"`
	Await    Await           `json:"await,omitempty"`
	Config   Config          `json:"config"`
	Messages []model.Message `json:"messages"` // the conversation in full; requests are copies of it
	Left     time.Duration   `json:"left,omitempty"`

	Step      int        `json:"step"` // steps started
	StepLimit int        `json:"stepLimit"`
	OpenStep  *stepStats `json:"openStep,omitempty"` // nil: no step is open

	Call  modelCall     `json:"call,omitzero"`   // the request that is being made
	Reply *pendingReply `json:"reply,omitempty"` // the reply that is being reviewed or whose tools run

	Stream SegmentStream `json:"stream,omitzero"`
	Shown  shownText     `json:"shown,omitempty"` // story text shown since the last reset

	Activated  []string          `json:"activated,omitempty"` // deferred tools that search-tools found
	Offer      []string          `json:"offer,omitempty"`     // tools of this step when a hook narrowed them
	Narrowed   bool              `json:"narrowed,omitempty"`
	StepChoice *model.ToolChoice `json:"stepChoice,omitempty"` // a hook's choice for this step
	ForceTool  bool              `json:"forceTool,omitempty"`  // the next request must call a tool
	ToolsOff   bool              `json:"toolsOff,omitempty"`   // loop fallback: no tools for the rest of the run

	Spent   Corrections `json:"spent"` // corrections already used
	Repeat  repetition  `json:"repeat,omitzero"`
	Because string      `json:"because,omitempty"` // why the next request repeats what was done before, for the trace
	Work    work        `json:"work,omitzero"`
	Ending  *ending     `json:"ending,omitempty"` // how the step loop ended, while the result is settled

	Queue  []Interjection `json:"queue,omitempty"`  // lines of the player that are not merged yet
	Merged []Interjection `json:"merged,omitempty"` // those that are
	// Kept is accepted prose that a late interjection made the loop go on from: it stands before the final answer.
	Kept []Segment `json:"kept,omitempty"`

	PromptSegments json.RawMessage `json:"promptSegments,omitempty"`
	Suspender      string          `json:"suspender,omitempty"` // the call that waits for the player's answer

	Records []ToolRecord `json:"records,omitempty"`
	Usage   Usage        `json:"usage"`
	Outcome *Outcome     `json:"outcome,omitempty"` // after Finish
}

// stepStats count one step.
type stepStats struct {
	ToolCalls int   `json:"toolCalls"`
	Failed    int   `json:"failed"`
	Usage     Usage `json:"usage"`
}

// modelCall is the request being made.
type modelCall struct {
	Purpose Purpose `json:"purpose,omitempty"`
	Attempt int     `json:"attempt,omitempty"`
	Retries int     `json:"retries,omitempty"` // attempts repeated because of a failure
	Hint    string  `json:"hint,omitempty"`    // last message of the request copy, for a repeated attempt
	Reason  string  `json:"reason,omitempty"`  // why the latest attempt is a repeated one

	Truncated bool          `json:"truncated,omitempty"` // an attempt was repeated because the answer was cut off
	SentLeft  time.Duration `json:"sentLeft,omitempty"`  // Left when the latest attempt was sent; 0: unknown
	Waited    time.Duration `json:"waited,omitempty"`    // what earlier attempts took, without the time the model was writing
	// Rewritten is the request as the PreLLMCall hooks gave it; every attempt sends it.
	Rewritten *model.Request `json:"rewritten,omitempty"`
	Silent    bool           `json:"silent,omitempty"` // a hook turned streaming off for this call
}

// pendingReply is a reply whose consequences are not drawn yet.
type pendingReply struct {
	Text      string           `json:"text,omitempty"`
	Calls     []model.ToolCall `json:"calls,omitempty"` // with unique ids, repeated calls dropped
	Truncated bool             `json:"truncated,omitempty"`
	Recorded  bool             `json:"recorded,omitempty"` // it stands in the conversation, with its calls answered
}

// ending is how the step loop ended.
type ending struct {
	Stop      StopReason `json:"stop"`
	Finalizer bool       `json:"finalizer,omitempty"`
	Why       string     `json:"why,omitempty"` // the failure a finalizer was sent in place of
}

// Encode serialises a state. The bytes decode to a state that continues in the same way, with the same requests to the
// byte.
func Encode(s State) ([]byte, error) {
	b, err := plainjson.Marshal(s) // schemas inside must keep their bytes: the prompt cache hangs on them
	return b, errors.Wrap(err, "encode loop state")
}

// ErrStateVersion: the state was written by a version of the loop whose states this one cannot continue.
var ErrStateVersion = errors.New("loop: state of another version")

// Decode reads what Encode wrote.
func Decode(b []byte) (State, error) {
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, errors.Wrap(err, "decode loop state")
	}
	if s.Version != StateVersion {
		return State{}, errors.Wrapf(ErrStateVersion, "version %d, this is %d", s.Version, StateVersion)
	}
	return s, nil
}

// shownText is a long text that grows by small pieces. Pieces are merged when they have grown alike, so that adding is
// cheap and an older copy stays as it was.
type shownText []string

func (t shownText) add(s string) shownText {
	n := len(t)
	for ; n > 0 && len(t[n-1]) <= len(s); n-- {
		s = t[n-1] + s
	}
	return append(slices.Clip(t[:n]), s)
}

func (t shownText) String() string {
	var all []byte
	for _, s := range t {
		all = append(all, s...)
	}
	return string(all)
}

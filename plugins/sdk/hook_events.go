package sdk

import "encoding/json"

// HookEvents are all events, in the order in which a session meets them (reference: plugins.md §15; PreStep is the one of
// turn-pipeline.txt, "The order within each step").
var HookEvents = []HookEvent{
	"SessionStart", "TurnStart", "PreCompaction", "PostCompaction", "PreSchedule", "PreRuntime", "PostContextAssembly", "PreStep",
	"PreLLMCall", "PostLLMResponse", "PostRuntime", "PreToolUse", "PostToolUse", "PreStateCommit", "PostStateCommit", "TurnStop", "SessionEnd",
}

// The events. Those marked "can be intercepted" take an abort, and a handler that fails there counts as an abort; elsewhere
// a handler that fails is skipped.
var (
	// OnSessionStart: a session was created and is stored. Handlers run side by side and only look on.
	OnSessionStart = Event[SessionStarted, Nothing]{"SessionStart"}
	// OnTurnStart: an execution of any kind begins. It can be intercepted: the execution ends and no runtime runs.
	OnTurnStart = Event[TurnStarted, Nothing]{"TurnStart"}
	// OnPreCompaction: history is about to be compacted. It can be intercepted: no compaction this turn.
	OnPreCompaction = Event[CompactionStarting, Nothing]{"PreCompaction"}
	// OnPostCompaction: the compaction is over. Handlers run side by side and only look on.
	OnPostCompaction = Event[CompactionEnded, Nothing]{"PostCompaction"}
	// OnPreSchedule may narrow and reorder the runtimes that were triggered.
	OnPreSchedule = Event[Schedule, ScheduleChange]{"PreSchedule"}
	// OnPreRuntime comes before a runtime's guard. It can be intercepted: the runtime is skipped. It replaces nothing.
	OnPreRuntime = Event[RuntimeStarting, Nothing]{"PreRuntime"}
	// OnPostContextAssembly may replace the system prompt and the messages; the framework's head stays in front.
	OnPostContextAssembly = Event[AssembledContext, ContextChange]{"PostContextAssembly"}
	// OnPreStep may narrow a step's tools, set its tool choice, and lower the steps left. It can be intercepted: the loop
	// ends with "cancelled".
	OnPreStep = Event[StepStarting, StepChange]{"PreStep"}
	// OnPreLLMCall may change one request. The conversation and later requests stay as they are.
	OnPreLLMCall = Event[ModelCall, ModelCallChange]{"PreLLMCall"}
	// OnPostLLMResponse may replace a reply or reject it with a correction, before its tools run.
	OnPostLLMResponse = Event[ModelResponse, ModelResponseChange]{"PostLLMResponse"}
	// OnPostRuntime may replace a run's result; its ids and what it waits for are kept.
	OnPostRuntime = Event[RuntimeEnded, RuntimeEndedChange]{"PostRuntime"}
	// OnPreToolUse may rename a call and change its arguments. It can be intercepted: the model reads the reason.
	OnPreToolUse = Event[ToolUse, ToolUseChange]{"PreToolUse"}
	// OnPostToolUse may replace what the model reads of a call, and end the loop.
	OnPostToolUse = Event[ToolUsed, ToolUsedChange]{"PostToolUse"}
	// OnPreStateCommit may change the payload of a proposal. It can be intercepted: the proposal is rejected.
	OnPreStateCommit = Event[Committing, CommittingChange]{"PreStateCommit"}
	// OnPostStateCommit comes after the commit, for each proposal. Handlers run side by side and only look on.
	OnPostStateCommit = Event[Committed, Nothing]{"PostStateCommit"}
	// OnTurnStop: all runtimes have ended, nothing is committed yet. Handlers run side by side and only look on.
	OnTurnStop = Event[TurnStopped, Nothing]{"TurnStop"}
	// OnSessionEnd: the session has ended or was deleted. Handlers run side by side and only look on.
	OnSessionEnd = Event[SessionEnded, Nothing]{"SessionEnd"}
)

// SessionStarted is the payload of SessionStart.
type SessionStarted struct {
	SessionID string `json:"sessionId"`
	WorldID   string `json:"worldId,omitempty"`
}

// TurnStarted is the payload of TurnStart.
type TurnStarted struct {
	PlayerMessage  string   `json:"playerMessage"` // the rendered input, "" when there is none
	Actions        []Action `json:"actions"`
	ActiveRuntimes []string `json:"activeRuntimes"` // ids
}

// CompactionStarting is the payload of PreCompaction.
type CompactionStarting struct {
	MessageCount int `json:"messageCount"`
}

// CompactionEnded is the payload of PostCompaction.
type CompactionEnded struct {
	Compacted int    `json:"compacted"` // messages
	SummaryID string `json:"summaryId,omitempty"`
}

// RuntimeInfo is what a hook reads of a runtime's manifest.
type RuntimeInfo struct {
	Name       string `json:"name"` // the runtime's id
	PluginID   string `json:"pluginId"`
	Type       string `json:"type"` // agent | function
	Stage      string `json:"stage,omitempty"`
	Trigger    string `json:"trigger,omitempty"`
	OutputKind string `json:"outputKind,omitempty"` // story | plugin | system
	Contract   string `json:"contract,omitempty"`
}

// Schedule is the payload of PreSchedule.
type Schedule struct {
	Triggered []RuntimeInfo `json:"triggered"`
}

// ScheduleChange lists by name what stays, in the order in which runtimes that do not depend on each other are taken. An
// empty list schedules nothing; a name that was not triggered is ignored.
type ScheduleChange struct {
	Triggered []string `json:"triggered"`
}

// RuntimeStarting is the payload of PreRuntime.
type RuntimeStarting struct {
	Manifest RuntimeInfo      `json:"manifest"`
	Input    map[string]Input `json:"input"`
}

// ChatMessage is one message of a model's conversation.
type ChatMessage struct {
	Role       string     `json:"role"` // system | user | assistant | tool
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
}

// ToolCall is a call as the model wrote it. Arguments is JSON text, or what the model wrote in its place.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// AssembledContext is the payload of PostContextAssembly. SystemPrompt is without the framework's head.
type AssembledContext struct {
	FrameworkHead  string           `json:"frameworkHead"` // read only
	SystemPrompt   string           `json:"systemPrompt"`
	Messages       []ChatMessage    `json:"messages"` // after the system prompt
	OutputKind     string           `json:"outputKind,omitempty"`
	PromptTemplate string           `json:"promptTemplate,omitempty"`
	InputSlots     map[string]Input `json:"inputSlots,omitempty"`
	Characters     []Character      `json:"characters,omitempty"`
}

// ContextChange replaces what is not nil.
type ContextChange struct {
	SystemPrompt *string        `json:"systemPrompt,omitempty"`
	Messages     *[]ChatMessage `json:"messages,omitempty"`
}

// StepStarting is the payload of PreStep. StepsLeft counts this step.
type StepStarting struct {
	Step       int      `json:"step"` // from 1
	StepsLeft  int      `json:"stepsLeft"`
	Tools      []string `json:"tools"`
	ToolChoice string   `json:"toolChoice,omitempty"` // "" (the model chooses) | none | required | the name of a tool
}

// StepChange replaces what is not nil. Tools can only be fewer and StepsLeft only be lower; both hold from this step on,
// Tools for it alone.
type StepChange struct {
	Tools      *[]string `json:"tools,omitempty"`
	ToolChoice *string   `json:"toolChoice,omitempty"`
	StepsLeft  *int      `json:"stepsLeft,omitempty"`
}

// ModelCall is the payload of PreLLMCall.
type ModelCall struct {
	Messages []ChatMessage `json:"messages"`
	Model    string        `json:"model"` // the slot
	Tools    []string      `json:"tools"`
	Stream   bool          `json:"stream"`
	// PromptSegments are the segments that extensions gave to this turn, a JSON array.
	PromptSegments json.RawMessage `json:"promptSegments,omitempty"`
}

// ModelCallChange replaces what is not nil, for this call only. Tools can only be fewer; Stream can only be switched off.
type ModelCallChange struct {
	Messages *[]ChatMessage `json:"messages,omitempty"`
	Model    *string        `json:"model,omitempty"`
	Tools    *[]string      `json:"tools,omitempty"`
	Stream   *bool          `json:"stream,omitempty"`
	// PromptSegments are kept for the later calls of the run, also over a suspension.
	PromptSegments json.RawMessage `json:"promptSegments,omitempty"`
}

// ModelText is a reply of a model.
type ModelText struct {
	Text         string     `json:"text"`
	ToolCalls    []ToolCall `json:"toolCalls,omitempty"`
	FinishReason string     `json:"finishReason,omitempty"` // read only
}

// ModelResponse is the payload of PostLLMResponse. Messages are what the model was sent.
type ModelResponse struct {
	Response ModelText     `json:"response"`
	Messages []ChatMessage `json:"messages"`
}

// ModelResponseChange replaces the reply, or rejects it: Correction tells the model what to change. Corrections of several
// handlers are joined.
type ModelResponseChange struct {
	Response   *ModelText `json:"response,omitempty"`
	Correction string     `json:"correction,omitempty"`
}

// RunResult is what a run came to. RuntimeID, PluginID, RunID and Suspended are read only.
type RunResult struct {
	RuntimeID  string `json:"runtimeId"`
	PluginID   string `json:"pluginId"`
	RunID      string `json:"runId"`
	Status     string `json:"status"` // success | failed | skipped | suspended
	StopReason string `json:"stopReason,omitempty"`
	SkipReason string `json:"skipReason,omitempty"`
	Error      string `json:"error,omitempty"`
	// Output is the value as it is shown, an object. CanonicalValue is the value itself, for contracts, inputs and exports: who
	// replaces the output of a function replaces it too, otherwise the value is withdrawn. An agent's output is its value.
	Output         json.RawMessage `json:"output,omitempty"`
	CanonicalValue json.RawMessage `json:"canonicalValue,omitempty"`
	Segments       []StorySegment  `json:"segments,omitempty"`
	Done           bool            `json:"done,omitempty"`
	Suspended      bool            `json:"suspended,omitempty"`
}

// RuntimeEnded is the payload of PostRuntime.
type RuntimeEnded struct {
	Result RunResult `json:"result"`
}

// RuntimeEndedChange replaces the whole result.
type RuntimeEndedChange struct {
	Result *RunResult `json:"result,omitempty"`
}

// ToolUse is the payload of PreToolUse.
type ToolUse struct {
	ToolCall ToolCall `json:"toolCall"`
}

// ToolUseChange replaces what is not nil of the call; its id stays.
type ToolUseChange struct {
	ToolCall struct {
		ID        string  `json:"id,omitempty"` // ignored
		Name      *string `json:"name,omitempty"`
		Arguments *string `json:"arguments,omitempty"`
	} `json:"toolCall"`
}

// ToolUsed is the payload of PostToolUse. Result is the JSON object the model reads.
type ToolUsed struct {
	ToolCall ToolCall        `json:"toolCall"`
	Result   json.RawMessage `json:"result"`
}

// ToolUsedChange replaces what the model reads, which stays a JSON object, and may end the loop after this result.
type ToolUsedChange struct {
	Result    json.RawMessage `json:"result,omitempty"`
	Terminate bool            `json:"terminate,omitempty"`
}

// Committing is the payload of PreStateCommit.
type Committing struct {
	Proposal Proposal `json:"proposal"`
}

// CommittingChange replaces the payload of the proposal; a type, if it is written, is ignored.
type CommittingChange struct {
	Proposal struct {
		Type    string          `json:"type,omitempty"` // ignored
		Payload json.RawMessage `json:"payload,omitempty"`
	} `json:"proposal"`
}

// Committed is the payload of PostStateCommit.
type Committed struct {
	Proposal Proposal     `json:"proposal"`
	Result   CommitResult `json:"result"`
}

// CommitResult says where a proposal was committed.
type CommitResult struct {
	Committed bool   `json:"committed"`
	Version   uint64 `json:"version"` // of the session's stream after the commit
}

// TurnStopped is the payload of TurnStop.
type TurnStopped struct {
	RuntimeResults []RunResult `json:"runtimeResults"`
	DurationMs     int64       `json:"durationMs"`
}

// SessionEnded is the payload of SessionEnd.
type SessionEnded struct {
	SessionID string `json:"sessionId"`
	Reason    string `json:"reason"` // ended | deleted
}

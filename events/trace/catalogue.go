package trace

import "encoding/json"

// Type names what happened. The payload of each is the struct that is named after it in this package, or given beside it.
type Type string

// The catalogue (seed: turn-pipeline.txt §6.4; reference: api-and-protocol.md §3.3).
const (
	TurnStarted   Type = "turn.started"   // Turn
	TurnCompleted Type = "turn.completed" // TurnEnd

	RuntimeStarted   Type = "runtime.started"   // Runtime
	RuntimeCompleted Type = "runtime.completed" // RuntimeEnd
	RuntimeFailed    Type = "runtime.failed"    // RuntimeEnd
	RuntimeSkipped   Type = "runtime.skipped"   // RuntimeEnd
	RuntimeSuspended Type = "runtime.suspended" // RuntimeEnd

	StepStarted   Type = "step.started"   // Step
	StepCompleted Type = "step.completed" // StepEnd

	LLMCalling       Type = "llm.calling"       // LLMCall
	LLMResponded     Type = "llm.responded"     // LLMReply
	MessageCompleted Type = "message.completed" // Message
	BlockEmitted     Type = "block.emitted"     // Block

	FunctionExecuting Type = "function.executing" // Function: the handler of a function runtime is called
	FunctionCompleted Type = "function.completed" // FunctionEnd: it came back

	GatewayCalling   Type = "gateway.calling"   // Gateway: plugin code asks a model
	GatewayResponded Type = "gateway.responded" // Gateway
	GatewayFailed    Type = "gateway.failed"    // Gateway

	ToolCalling   Type = "tool.calling"   // ToolCall
	ToolCompleted Type = "tool.completed" // ToolEnd
	ToolFailed    Type = "tool.failed"    // ToolEnd

	HookFired   Type = "hook.fired"   // Hook
	HookRewrote Type = "hook.rewrote" // Hook
	HookAborted Type = "hook.aborted" // Hook
	HookError   Type = "hook.error"   // Hook

	ContextPruned           Type = "context.pruned"            // Pruned
	ContextCompacted        Type = "context.compacted"         // Compacted
	ContextCompactionFailed Type = "context.compaction.failed" // CompactionFailed

	ExecutionSettleTimeout Type = "execution.settle-timeout" // Settle
	ExecutionSettleSkipped Type = "execution.settle-skipped" // Settle

	SchedulingHazard      Type = "scheduling.hazard"       // Hazard
	SubagentCompleted     Type = "subagent.completed"      // SubagentEnd
	SubagentWritesDropped Type = "subagent.writes-dropped" // WritesDropped
	RecursiveCalling      Type = "recursive.calling"       // Recursive; the scope is the caller's
	RecursiveCompleted    Type = "recursive.completed"     // Recursive
	RecursiveFailed       Type = "recursive.failed"        // Recursive

	RuntimeLog        Type = "runtime.log"        // LogLine: what plugin code logs
	RuntimeDiagnostic Type = "runtime.diagnostic" // Diagnostic

	UIRendered             Type = "ui.rendered"              // UIBlock: a commit shows a block
	UIPartUpdate           Type = "ui.part.update"           // UIPart: one for each part of such a block
	CommitFanoutFailed     Type = "commit.fanout.failed"     // Fanout
	PluginServiceCompleted Type = "plugin.service.completed" // Service

	Dropped Type = "trace.dropped" // Lost: entries that were not kept
)

// Turn is turn.started: an execution begins.
type Turn struct {
	Origin      string `json:"origin"`
	Phase       string `json:"phase"`
	LogicalTurn uint32 `json:"logicalTurn"`
	RequestID   string `json:"requestId,omitempty"`
}

// TurnEnd is turn.completed. Committed false: nothing of it was kept, and Reason says why.
type TurnEnd struct {
	Committed  bool   `json:"committed"`
	Reason     string `json:"reason,omitempty"`
	Error      string `json:"error,omitempty"`
	Runtimes   int    `json:"runtimeCount"`
	DurationMs int64  `json:"durationMs"`
	Usage      Usage  `json:"usage"`
}

// Usage is what calls of models took. CostMicros is in millionths of the currency of the prices; it is nil when nobody knows
// the price, which is not the same as 0. Of several calls it is the sum of those whose price is known, and Unpriced counts the
// others.
type Usage struct {
	InputTokens       int    `json:"inputTokens"`
	OutputTokens      int    `json:"outputTokens"`
	CachedInputTokens int    `json:"cachedInputTokens,omitempty"`
	CostMicros        *int64 `json:"costMicros,omitempty"`
	Unpriced          int    `json:"unpricedCalls,omitempty"`
}

// Plus adds one call, or several.
func (u Usage) Plus(v Usage) Usage {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.CachedInputTokens += v.CachedInputTokens
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

// Runtime is runtime.started.
type Runtime struct {
	Label string `json:"label,omitempty"`
	Stage string `json:"stage,omitempty"`
	Kind  string `json:"kind"` // agent | function
}

// WithoutContents keeps everything.
func (r Runtime) WithoutContents() any { return r }

// RuntimeEnd tells how a run ended.
type RuntimeEnd struct {
	Stage      string          `json:"stage,omitempty"`
	Status     string          `json:"status"`
	StopReason string          `json:"stopReason,omitempty"`
	SkipReason string          `json:"skipReason,omitempty"`
	Finalizer  bool            `json:"finalizer,omitempty"`
	Error      string          `json:"error,omitempty"`
	DurationMs int64           `json:"durationMs"`
	Usage      *Usage          `json:"usage,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
}

// WithoutContents drops the output and all words: of an error, and of why plugin code skipped itself.
func (r RuntimeEnd) WithoutContents() any {
	r.Output, r.Error, r.SkipReason = nil, "", ""
	return r
}

// Step is step.started.
type Step struct {
	Step int `json:"step"`
}

// WithoutContents keeps everything.
func (s Step) WithoutContents() any { return s }

// StepEnd is step.completed.
type StepEnd struct {
	Step      int   `json:"step"`
	ToolCalls int   `json:"toolCalls"`
	Failed    int   `json:"failed,omitempty"`
	Usage     Usage `json:"usage"`
}

// WithoutContents keeps everything.
func (s StepEnd) WithoutContents() any { return s }

// LLMCall is one request to a model as it was sent: messages and tools are the kernel's values.
type LLMCall struct {
	CallID          string `json:"callId"`
	Purpose         string `json:"purpose"` // step | finalizer | repair
	Step            int    `json:"step,omitempty"`
	Attempt         int    `json:"attempt"`
	Slot            string `json:"slot"`
	Model           string `json:"model,omitempty"` // where the host knows it beforehand
	Streaming       bool   `json:"streaming,omitempty"`
	Messages        any    `json:"messages,omitempty"`
	Tools           any    `json:"tools,omitempty"`
	ToolChoice      any    `json:"toolChoice,omitempty"`
	ResponseFormat  any    `json:"responseFormat,omitempty"`
	MaxOutputTokens int    `json:"maxOutputTokens,omitempty"`
	WaitMs          int64  `json:"waitMs,omitempty"`      // before this attempt
	RetryReason     string `json:"retryReason,omitempty"` // why it repeats what was done before
}

// WithoutContents drops the prompt and what the tools are.
func (c LLMCall) WithoutContents() any {
	c.Messages, c.Tools, c.ToolChoice, c.ResponseFormat = nil, nil, nil, nil
	return c
}

// LLMReply answers the LLMCall of the same CallID. With Error set there was no whole answer.
type LLMReply struct {
	CallID       string `json:"callId"`
	Attempt      int    `json:"attempt"`
	Model        string `json:"model,omitempty"`
	Text         string `json:"text,omitempty"`
	Reasoning    string `json:"reasoningContent,omitempty"` // what it thought aloud
	ToolCalls    any    `json:"toolCalls,omitempty"`
	FinishReason string `json:"finishReason,omitempty"`
	Usage        Usage  `json:"usage"`
	DurationMs   int64  `json:"durationMs"`
	FirstMs      int64  `json:"firstTokenMs,omitempty"`
	Error        string `json:"error,omitempty"`
	ErrorKind    string `json:"errorKind,omitempty"`
}

// WithoutContents drops the answer and the words of an error.
func (r LLMReply) WithoutContents() any {
	r.Text, r.Reasoning, r.ToolCalls, r.Error = "", "", nil, ""
	return r
}

// Function is function.executing.
type Function struct {
	Handler string `json:"handler"`
}

// WithoutContents keeps everything.
func (f Function) WithoutContents() any { return f }

// FunctionEnd is function.completed. What became of the run is told by runtime.completed and the like.
type FunctionEnd struct {
	Handler    string `json:"handler"`
	Outcome    string `json:"outcome"` // success | skipped | failed | suspended; timeout: it came back too late
	Error      string `json:"error,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

// WithoutContents drops the words of an error.
func (f FunctionEnd) WithoutContents() any {
	f.Error = ""
	return f
}

// Gateway is a call of a model by plugin code: gateway.calling, and with the rest gateway.responded or gateway.failed.
type Gateway struct {
	CallID       string `json:"callId"`
	Caller       string `json:"caller,omitempty"` // the extension point whose provider asks; "": a guard or a handler
	Method       string `json:"method"`           // generateText | generateObject
	Slot         string `json:"slot"`
	Prompt       any    `json:"prompt,omitempty"`
	Text         string `json:"text,omitempty"`
	Model        string `json:"model,omitempty"`
	FinishReason string `json:"finishReason,omitempty"`
	Usage        Usage  `json:"usage,omitzero"`
	Error        string `json:"error,omitempty"`
	DurationMs   int64  `json:"durationMs"`
}

// WithoutContents drops the prompt, the answer and the words of an error.
func (g Gateway) WithoutContents() any {
	g.Prompt, g.Text, g.Error = nil, "", ""
	return g
}

// Message is message.completed: the final text of a run. Streamed pieces are not kept.
type Message struct {
	Content string `json:"content"`
	Len     int    `json:"len"`
	Deltas  int    `json:"deltaCount"`
}

// WithoutContents drops the text.
func (m Message) WithoutContents() any {
	m.Content = ""
	return m
}

// Block is block.emitted: something a run asks the player or shows.
type Block struct {
	ID    string `json:"id,omitempty"` // of an interaction
	Type  string `json:"type"`
	Block any    `json:"block,omitempty"`
}

// WithoutContents drops the block itself.
func (b Block) WithoutContents() any {
	b.Block = nil
	return b
}

// ToolCall is tool.calling. Arguments are the model's own text.
type ToolCall struct {
	ToolName   string `json:"toolName"`
	ToolCallID string `json:"toolCallId"`
	Step       int    `json:"step,omitempty"`
	Arguments  string `json:"arguments,omitempty"`
	Source     string `json:"source"` // builtin | local: the framework's, the plugin's own
	Approval   string `json:"approvalStatus,omitempty"`
}

// WithoutContents drops the arguments.
func (c ToolCall) WithoutContents() any {
	c.Arguments = ""
	return c
}

// ToolEnd is tool.completed and tool.failed.
type ToolEnd struct {
	ToolName   string          `json:"toolName"`
	ToolCallID string          `json:"toolCallId"`
	Source     string          `json:"source"`              // as in ToolCall
	Arguments  string          `json:"arguments,omitempty"` // as they were executed: repaired, rewritten
	Repaired   string          `json:"repaired,omitempty"`  // how the arguments were repaired
	Result     string          `json:"result,omitempty"`    // what the model reads
	Content    json.RawMessage `json:"parsedResult,omitempty"`
	Staged     []string        `json:"staged,omitempty"` // types of the writes it asks for
	Success    bool            `json:"success"`
	Skipped    bool            `json:"skipped,omitempty"` // it was not executed
	Code       string          `json:"code,omitempty"`
	Error      string          `json:"error,omitempty"`
	Hint       string          `json:"hint,omitempty"`
	Details    any             `json:"details,omitempty"` // of a validation
	Approval   string          `json:"approvalStatus,omitempty"`
	DurationMs int64           `json:"durationMs"`
}

// WithoutContents keeps names, the outcome and the time.
func (e ToolEnd) WithoutContents() any {
	return ToolEnd{ToolName: e.ToolName, ToolCallID: e.ToolCallID, Source: e.Source, Success: e.Success, Skipped: e.Skipped, Code: e.Code, DurationMs: e.DurationMs, Approval: e.Approval}
}

// Hook is what one hook handler did. HookPlugin registered it; the scope's plugin and runtime are those it ran for.
type Hook struct {
	Event      string `json:"event"`
	HookPlugin string `json:"hookName"` // "" for the framework's own
	TargetID   string `json:"targetId,omitempty"`
	TargetType string `json:"targetType,omitempty"`
	Diff       any    `json:"diff,omitempty"`   // hook.rewrote: the fields it replaced
	Reason     string `json:"reason,omitempty"` // hook.aborted
	Error      string `json:"error,omitempty"`  // hook.error
	DurationMs int64  `json:"durationMs"`
}

// WithoutContents drops what was replaced and why.
func (h Hook) WithoutContents() any {
	h.Diff, h.Reason, h.Error = nil, "", ""
	return h
}

// Pruned is context.pruned.
type Pruned struct {
	Messages     int `json:"prunedMessageCount"`
	Images       int `json:"strippedImageCount,omitempty"`
	Elided       int `json:"elidedResultCount,omitempty"`
	Collapsed    int `json:"collapsedStepCount,omitempty"`
	Truncated    int `json:"truncatedMessageCount,omitempty"`
	TokensBefore int `json:"tokensBefore"` // estimates
	TokensAfter  int `json:"tokensAfter"`
	Budget       int `json:"budget,omitempty"`
}

// WithoutContents keeps everything.
func (p Pruned) WithoutContents() any { return p }

// Compacted is context.compacted; the scope's plugin is the provider. Tokens are estimates.
type Compacted struct {
	SummaryID        string   `json:"summaryId"`         // the newest
	SummaryIDs       []string `json:"summaryIds"`        // all that stand for the history now
	Messages         int      `json:"messagesCompacted"` // that one of the new ones stands for
	TokenSavings     int      `json:"tokenSavings"`
	FocusSections    []string `json:"focusSections,omitempty"` // of the newest
	SummariesMerged  int      `json:"summariesMerged"`
	SummaryTokens    int      `json:"summaryTokens"` // of the new ones
	TotalTokens      int      `json:"totalSummaryTokens"`
	SummaryTruncated bool     `json:"summaryTruncated"`
	EstimatedTokens  int      `json:"estimatedTokens"` // of what was to be made smaller
}

// CompactionFailed is context.compaction.failed; the scope's plugin is the provider.
type CompactionFailed struct {
	Extension   string `json:"extensionId"`
	Reason      string `json:"reason"`
	Consecutive int    `json:"consecutiveFailures"`
}

// Settle is execution.settle-timeout and execution.settle-skipped: the jobs that were not waited for.
type Settle struct {
	Jobs []string `json:"jobs"`
}

// Hazard is scheduling.hazard.
type Hazard struct {
	Code      string   `json:"code"` // event-payload-dropped, …
	Topic     string   `json:"topic,omitempty"`
	RuntimeID string   `json:"hazardRuntimeId,omitempty"`
	Runtimes  []string `json:"runtimes,omitempty"`
	Message   string   `json:"message,omitempty"`
}

// SubagentEnd is subagent.completed; the scope is the sub-agent's, with ParentCallID.
type SubagentEnd struct {
	Status     string          `json:"status"`
	StopReason string          `json:"stopReason,omitempty"`
	Error      string          `json:"error,omitempty"`
	Usage      Usage           `json:"usage"`
	DurationMs int64           `json:"durationMs"`
	Output     json.RawMessage `json:"output,omitempty"`
}

// WithoutContents drops the output and the words of an error.
func (s SubagentEnd) WithoutContents() any {
	s.Output, s.Error = nil, ""
	return s
}

// Recursive is a run that another one called.
type Recursive struct {
	RunID      string `json:"calledRunId,omitempty"` // "" when it was refused
	RuntimeID  string `json:"calledRuntimeId"`
	Depth      int    `json:"depth,omitempty"` // runs above it
	Reason     string `json:"reason,omitempty"`
	Status     string `json:"status,omitempty"` // of the result; refused when there was no run
	StopReason string `json:"stopReason,omitempty"`
	Error      string `json:"error,omitempty"`
}

// WithoutContents drops the words of the reason and of an error.
func (r Recursive) WithoutContents() any {
	r.Reason, r.Error = "", ""
	return r
}

// LogLine is runtime.log.
type LogLine struct {
	Level   string          `json:"level"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
	Dropped string          `json:"dropped,omitempty"` // why the fields are not there
}

// WithoutContents keeps the level.
func (l LogLine) WithoutContents() any { return LogLine{Level: l.Level} }

// Diagnostic is runtime.diagnostic: something authors should know about a run.
type Diagnostic struct {
	Code    string          `json:"code"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// WithoutContents keeps the code.
func (d Diagnostic) WithoutContents() any { return Diagnostic{Code: d.Code} }

// WritesDropped is subagent.writes-dropped.
type WritesDropped struct {
	Types []string `json:"types"`           // of the writes that were staged
	Tools []string `json:"tools,omitempty"` // that write, which it called and does not have
}

// WithoutContents keeps everything.
func (w WritesDropped) WithoutContents() any { return w }

// UIBlock is ui.rendered: {parts, layout?, status?} as it was committed (seed: tools.txt, "ui.render").
type UIBlock struct {
	MessageID string          `json:"messageId"`
	Render    json.RawMessage `json:"render,omitempty"`
}

// WithoutContents drops the block itself.
func (b UIBlock) WithoutContents() any {
	b.Render = nil
	return b
}

// UIPart is ui.part.update: one part of a block that was committed. Status is what it shows, not how its run ended.
type UIPart struct {
	MessageID string          `json:"messageId"`
	PartID    string          `json:"partId"`
	Type      string          `json:"partType"`
	Status    string          `json:"status"`
	Content   json.RawMessage `json:"content,omitempty"`
}

// WithoutContents drops the content.
func (p UIPart) WithoutContents() any {
	p.Content = nil
	return p
}

// Fanout is commit.fanout.failed: the commit stands, some of what followed from it could not be shown.
type Fanout struct {
	Failed int      `json:"failedCount"`
	Total  int      `json:"totalCount"`
	Errors []string `json:"errors"`
}

// Service is plugin.service.completed: identity, time and class of the outcome, no payloads.
type Service struct {
	CallID         string `json:"callId"`
	CallerPluginID string `json:"callerPluginId"`
	ProviderPlugin string `json:"providerPluginId"`
	Name           string `json:"name"`
	Contract       string `json:"contract"`
	DurationMs     int64  `json:"durationMs"`
	Outcome        string `json:"outcome"`
	ErrorCode      string `json:"errorCode,omitempty"`
	Extension      any    `json:"extension,omitempty"`
}

// WithoutContents keeps everything.
func (s Service) WithoutContents() any { return s }

// Lost is trace.dropped.
type Lost struct {
	Count  uint64 `json:"count"`
	Reason string `json:"reason"`
}

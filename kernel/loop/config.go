package loop

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/tools"
)

// Limits of the loop. A zero in Config takes the default.
const (
	DefaultMaxRetries    = 1                // further attempts of one request
	DefaultLoopDetection = 3                // identical calls in a row
	MaxParallel          = 8                // calls of one batch
	MaxRetryAfter        = 60 * time.Second // a longer wait that a provider asks for is cut to this
	FinalizerNeeds       = 3 * time.Second  // time that must be left for a finalizer or a repair
)

// Completion contracts.
const (
	RequireToolUse  = "tool-use"
	RequireExplicit = "explicit"
)

// Tools whose results the loop draws its own consequences from: the end of the run, tools that join the request, a suspension.
const (
	RuntimeDone = tools.RuntimeDone
	SearchTools = tools.SearchTools
	Suspend     = tools.Suspend
)

// Hooks are the points of a loop at which an actor asks its hooks. A point without hooks costs no message.
type Hooks struct {
	PreStep bool `json:"preStep,omitempty"` // PreStep
	PreCall bool `json:"preCall,omitempty"` // PreLLMCall
	Review  bool `json:"review,omitempty"`  // PostLLMResponse
}

// ToolOffer is a tool the model may call.
type ToolOffer struct {
	Tool model.Tool `json:"tool"`
	// Parallel: the tool declares readOnly and concurrencySafe. Consecutive calls of such tools run at the same time, every
	// other call is a barrier (seed: tools.txt, "Execution within one batch").
	Parallel bool `json:"parallel,omitempty"`
}

// RetryPolicy says which failures of a model deserve a further attempt.
type RetryPolicy struct {
	MaxRetries int               `json:"maxRetries"` // further attempts per request, 0–5
	Kinds      []model.ErrorKind `json:"kinds"`
}

// DefaultRetryPolicy retries what may pass by itself; permanent errors and cancellations never.
func DefaultRetryPolicy(maxRetries int) RetryPolicy {
	return RetryPolicy{
		MaxRetries: maxRetries,
		Kinds:      []model.ErrorKind{model.Transient, model.RateLimited, model.Timeout, model.Empty, model.Interrupted},
	}
}

// Config is everything that is fixed for one run of a loop. It is part of the State and is serialised with it.
type Config struct {
	RuntimeID string  `json:"runtimeId"`
	Slot      string  `json:"slot,omitempty"` // model slot, "" is story
	Profile   Profile `json:"profile"`
	// Story: the runtime tells the story. It ends with text; runtime-done and completing tools do not end it.
	Story bool `json:"story,omitempty"`
	// Segments: the story is asked for as a JSON object with segments.
	Segments bool `json:"segments,omitempty"`
	// OutputSchema is the private JSON Schema of the output, nil when there is none. A final answer that does not fit is
	// repaired. A story is not checked against it: it only has to be non-empty.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	Tools      []ToolOffer      `json:"tools,omitempty"` // in the order the model sees them
	ToolChoice model.ToolChoice `json:"toolChoice,omitzero"`
	AfterTools []string         `json:"afterTools,omitempty"` // completeAfterTools
	Require    string           `json:"require,omitempty"`    // "" | tool-use | explicit

	MaxSteps      int         `json:"maxSteps"`
	LoopDetection int         `json:"loopDetection"` // identical calls in a row that count as a loop; negative: off
	Retry         RetryPolicy `json:"retry"`

	// Stream: text is shown while it is written (profile story, and not switched off for the run).
	Stream bool `json:"stream,omitempty"`
	// Hooks says which points have hooks; the others are passed without asking.
	Hooks Hooks `json:"hooks,omitzero"`
	// Limits are what the manifest says about the silence of a model; a zero takes the default.
	Limits Limits `json:"limits,omitzero"`
	// Deferred are tools that are found through search-tools; DeferredBy names the plugin that declared them.
	Deferred   []ToolOffer `json:"deferred,omitempty"`
	DeferredBy string      `json:"deferredBy,omitempty"`
	// NoSuspend: nobody could answer; suspend is unavailable (a sub-agent).
	NoSuspend bool `json:"noSuspend,omitempty"`
	// Locale is the instruction locale (prompt.InstructionLocale): "zh" or "en". It is the language of corrections.
	Locale string `json:"locale"`

	Take            int    `json:"take,omitempty"` // see model.Request
	ReasoningEffort string `json:"reasoningEffort,omitempty"`
	MaxOutputTokens int    `json:"maxOutputTokens,omitempty"`
}

// NewConfig derives the policy of an agent runtime from its manifest (reference: plugins.md §9.1). tools are the
// runtime's declared offers in manifest order; NewConfig withholds the deferred ones, and adds runtime-done where the
// runtime ends by it. locale is the instruction locale.
func NewConfig(rt manifest.Runtime, tools []ToolOffer, locale string) Config {
	declared := slices.ContainsFunc(tools, func(t ToolOffer) bool { return t.Tool.Name == RuntimeDone })
	p := ProfileOf(rt)
	story := rt.IO.Visibility == manifest.VisibilityStory
	c := Config{
		RuntimeID:       rt.ID,
		Slot:            rt.Agent.Model,
		Profile:         p,
		Story:           story,
		Segments:        story && HasSegments(rt.IO.OutputSchema),
		OutputSchema:    rt.IO.OutputSchema,
		DeferredBy:      rt.PluginID,
		NoSuspend:       p.Name == ActorProfile || rt.Schedule.SubagentOnly,
		Limits:          limitsOf(rt.Agent),
		AfterTools:      slices.Clone(rt.Agent.AfterTools),
		Require:         rt.Agent.Require,
		MaxSteps:        p.MaxSteps,
		Retry:           DefaultRetryPolicy(rt.Agent.MaxRetries),
		Stream:          p.Stream,
		Locale:          locale,
		ReasoningEffort: rt.Agent.ReasoningEffort,
	}
	for _, t := range tools {
		switch {
		case t.Tool.Name == RuntimeDone, t.Tool.Name == Suspend && c.NoSuspend:
		case rt.Agent.DeferAll || slices.Contains(rt.Agent.DeferTools, t.Tool.Name):
			c.Deferred = append(c.Deferred, t)
		default:
			c.Tools = append(c.Tools, t)
		}
	}
	if n := rt.Agent.LoopDetection; n != nil {
		c.LoopDetection = *n
		if *n <= 0 {
			c.LoopDetection = -1
		}
	}
	switch choice := rt.Agent.ToolChoice; choice {
	case "":
	case "required":
		c.ToolChoice = model.ToolChoice{Mode: "required"}
	default:
		c.ToolChoice = model.ToolChoice{Named: choice}
	}
	if c.CompletionMode() == CompleteByRuntimeDone || !story && (declared || slices.Contains(c.AfterTools, RuntimeDone)) {
		c.Tools = append(c.Tools, ToolOffer{Tool: RuntimeDoneTool()})
	}
	return c
}

// Completion is how a run is expected to end; it is what the prompt's [COMPLETION] line tells the model.
type Completion string

// Completion modes (reference: worlds-and-story.md §17.3).
const (
	CompleteByStory       Completion = "story"
	CompleteByTool        Completion = "completing-tool"
	CompleteByOutput      Completion = "structured-output"
	CompleteByRuntimeDone Completion = "runtime-done"
)

// CompletionMode is the mode of this configuration.
func (c Config) CompletionMode() Completion {
	return completionMode(c.Story, c.Require, c.AfterTools, c.OutputSchema)
}

// CompletionOf is the mode of a runtime, before there is a configuration.
func CompletionOf(rt manifest.Runtime) Completion {
	return completionMode(rt.IO.Visibility == manifest.VisibilityStory, rt.Agent.Require, rt.Agent.AfterTools, rt.IO.OutputSchema)
}

func completionMode(story bool, require string, afterTools []string, schema json.RawMessage) Completion {
	switch {
	case story:
		return CompleteByStory
	case require == RequireToolUse && len(afterTools) > 0:
		return CompleteByTool
	case len(schema) > 0:
		return CompleteByOutput
	}
	return CompleteByRuntimeDone
}

// outputFromTool: the completing tool's result is the output and prose is ignored (reference: plugins.md §9.1).
func (c Config) outputFromTool() bool {
	return !c.Story && len(c.OutputSchema) > 0 && c.Require == RequireToolUse && len(c.AfterTools) > 0
}

// RuntimeDoneTool is what the model is told about runtime-done (seed: tools.txt, "runtime-done"). Tool texts are English.
func RuntimeDoneTool() model.Tool {
	return model.Tool{
		Name: RuntimeDone,
		Description: "Ends this task. Call it last, only after every needed tool call has succeeded or when nothing needs doing. " +
			"It records nothing; make no more calls and write no more prose after it.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","description":"Optional note for the trace."}},"additionalProperties":false}`),
	}
}

package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// HookEvent names a place in a session's life where plugins may look on or step in.
type HookEvent string

// Enforce is when a handler is called among the handlers of one event: all of pre, then of normal, then of post.
type Enforce string

// The three groups. The zero value counts as EnforceNormal.
const (
	EnforcePre    Enforce = "pre"
	EnforceNormal Enforce = "normal"
	EnforcePost   Enforce = "post"
)

// Limits of HookOptions.TimeoutMs.
const (
	DefaultHookTimeoutMs = 5000
	MaxHookTimeoutMs     = 600_000
)

// HookContext is what a hook gets to know beside its payload. A hook has no way to write: it answers.
type HookContext struct {
	Event     HookEvent
	SessionID string
	TurnID    string // the execution; "" for SessionStart and SessionEnd
	// LogicalTurn is the number of the turn that the execution belongs to, fixed when it began; 0 outside of one.
	LogicalTurn int
	Locale      string // content language of the session, BCP 47
	// PluginID and RuntimeID are of the runtime the event concerns, not of the handler; "" for events of a turn or a session.
	PluginID        string
	RuntimeID       string
	ActivePluginIDs []string
	OwnSettings     map[string]json.RawMessage // of the handler's own plugin
}

// HookResult is the answer of a handler. The zero value changes nothing.
type HookResult[R any] struct {
	Action  HookAction
	Replace *R     // what to change; every event says which fields it takes
	Reason  string // of an abort
}

// HookAction is what a handler asks for.
type HookAction string

// Actions. The zero value counts as HookContinue.
const (
	HookContinue HookAction = "continue"
	HookAbort    HookAction = "abort" // on events that can be intercepted; changes nothing elsewhere
)

// Replace answers with a change.
func Replace[R any](with R) HookResult[R] { return HookResult[R]{Action: HookContinue, Replace: &with} }

// Abort answers with a refusal.
func Abort[R any](reason string) HookResult[R] {
	return HookResult[R]{Action: HookAbort, Reason: reason}
}

// HookOptions of one handler.
type HookOptions[P any] struct {
	Match     func(payload P) bool // nil: always; gets its own copy
	TimeoutMs int                  // per call; 0: DefaultHookTimeoutMs
	Enforce   Enforce
}

// Hook is a registered handler in the form in which every plugin language hands it over: payloads and answers are JSON.
type Hook struct {
	Event     HookEvent
	Enforce   Enforce
	TimeoutMs int
	Match     func(payload json.RawMessage) (bool, error) // nil: always
	// Handle answers with {action?, replace?, reason?}, or nothing for no change. It is called concurrently for different
	// sessions. Its context ends when the call's time is up.
	Handle func(ctx context.Context, h *HookContext, payload json.RawMessage) (json.RawMessage, error)
}

// Event describes a hook event: P is its payload, R what a handler may replace.
type Event[P, R any] struct{ Name HookEvent }

// Nothing is the R of events whose payload cannot be changed.
type Nothing struct{}

// On registers a handler for an event that contributes.hooks declares with the same enforce. It may be called several times
// for one declaration.
//
//	sdk.On(c, sdk.OnPreToolUse, func(ctx context.Context, h *sdk.HookContext, p sdk.ToolUse) (sdk.HookResult[sdk.ToolUseChange], error) {
//		if p.ToolCall.Name == "roll-dice" {
//			return sdk.Abort[sdk.ToolUseChange]("no dice in this scene"), nil
//		}
//		return sdk.HookResult[sdk.ToolUseChange]{}, nil
//	}, sdk.HookOptions[sdk.ToolUse]{})
func On[P, R any](c *Covel, e Event[P, R], handle func(context.Context, *HookContext, P) (HookResult[R], error), o HookOptions[P]) {
	h := Hook{Event: e.Name, Enforce: o.Enforce, TimeoutMs: o.TimeoutMs}
	if h.Enforce == "" {
		h.Enforce = EnforceNormal
	}
	if o.Match != nil {
		h.Match = func(raw json.RawMessage) (bool, error) {
			var p P
			if err := json.Unmarshal(raw, &p); err != nil {
				return false, fmt.Errorf("payload of %s: %w", e.Name, err)
			}
			return o.Match(p), nil
		}
	}
	if handle != nil {
		h.Handle = func(ctx context.Context, hc *HookContext, raw json.RawMessage) (json.RawMessage, error) {
			var p P
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, fmt.Errorf("payload of %s: %w", e.Name, err)
			}
			res, err := handle(ctx, hc, p)
			if err != nil {
				return nil, err
			}
			return encodeHookResult(res)
		}
	}
	c.Hooks = append(c.Hooks, h)
}

func encodeHookResult[R any](r HookResult[R]) (json.RawMessage, error) {
	answer := HookAnswer{Action: r.Action, Reason: r.Reason}
	if r.Replace != nil {
		var err error
		if answer.Replace, err = plainJSON(r.Replace); err != nil {
			return nil, fmt.Errorf("the replacement is not JSON: %w", err)
		}
	}
	return plainJSON(answer)
}

// HookAnswer is a handler's answer as JSON.
type HookAnswer struct {
	Action  HookAction      `json:"action,omitempty"`
	Replace json.RawMessage `json:"replace,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// CheckHook checks a registration, whether On made it or not.
func CheckHook(h Hook) error {
	switch {
	case h.Handle == nil:
		return errors.New("it has no function to call")
	case h.Enforce != EnforcePre && h.Enforce != EnforceNormal && h.Enforce != EnforcePost:
		return fmt.Errorf("enforce %q: use pre, normal or post", h.Enforce)
	case h.TimeoutMs < 0 || h.TimeoutMs > MaxHookTimeoutMs:
		return fmt.Errorf("timeoutMs must be 1 to %d, got %d", MaxHookTimeoutMs, h.TimeoutMs)
	}
	for _, known := range HookEvents {
		if h.Event == known {
			return nil
		}
	}
	return fmt.Errorf("there is no event %q", h.Event)
}

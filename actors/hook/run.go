package hook

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/internal/safego"
	kernel "github.com/covel/covel/kernel/hook"
	"github.com/covel/covel/plugins/sdk"
)

// Run asks the handlers of an event and gives the payload as they left it. It blocks, at most as long as its handlers may
// take: it is called outside of a mailbox. When ctx ends, the handlers that were not asked yet are left out; what a guard
// event comes to then is of no use any more.
func Run[P, R any](ctx context.Context, s *Set, e sdk.Event[P, R], about trace.Scope, payload P) (P, kernel.Outcome) {
	if !s.Has(e.Name) {
		return payload, kernel.Outcome{}
	}
	raw, err := plainjson.Marshal(payload)
	if err != nil { // the host's own value
		s.Log.Error("a hook payload is not JSON", "event", e.Name, "error", err)
		return payload, kernel.Outcome{}
	}
	o := s.run(ctx, e.Name, about, targetOf(payload), raw)
	if o.Rewrote {
		var changed P
		if err := json.Unmarshal(o.Payload, &changed); err != nil { // the kernel wrote it from a P
			s.Log.Error("a hook payload cannot be read back", "event", e.Name, "error", err)
			return payload, o
		}
		payload = changed
	}
	return payload, o
}

// target is what a hook was asked about, for the trace: a tool call, a proposal.
type target struct{ id, kind string }

func targetOf(payload any) target {
	switch p := payload.(type) {
	case sdk.ToolUse:
		return target{p.ToolCall.ID, p.ToolCall.Name}
	case sdk.ToolUsed:
		return target{p.ToolCall.ID, p.ToolCall.Name}
	case sdk.Committing:
		return target{"", p.Proposal.Type}
	case sdk.Committed:
		return target{"", p.Proposal.Type}
	}
	return target{}
}

func (s *Set) run(ctx context.Context, event sdk.HookEvent, about trace.Scope, at target, payload json.RawMessage) kernel.Outcome {
	handlers := s.handlers[event]
	o := kernel.Outcome{Payload: payload}
	if kernel.RuleOf(event).Parallel {
		var all sync.WaitGroup
		for _, h := range handlers {
			all.Add(1)
			safego.Go("hook "+string(event), func() {
				defer all.Done()
				s.ask(ctx, event, about, at, h, o)
			})
		}
		all.Wait()
		return o
	}
	for _, h := range handlers {
		if o.Aborted || ctx.Err() != nil {
			break
		}
		o = s.ask(ctx, event, about, at, h, o)
	}
	return o
}

// ask calls one handler and takes its answer.
func (s *Set) ask(ctx context.Context, event sdk.HookEvent, about trace.Scope, at target, h kernel.Handler, o kernel.Outcome) kernel.Outcome {
	began := time.Now()
	raw, called, err := s.call(ctx, event, about, h, o.Payload)
	if !called && err == nil {
		return o // it does not match
	}
	if ctx.Err() != nil {
		return o // the run is over; what a handler says now, or does not say, is nobody's fault
	}
	next, report := kernel.Take(event, o, h, raw, err)
	var fault error
	if report.Error != "" {
		fault = errors.Errorf("hook %s: %s", event, report.Error)
		s.Log.Warn("a hook failed", "event", event, "plugin", h.PluginID, "session", s.SessionID, "runtime", about.RuntimeID, "error", report.Error)
	}
	s.note(h.PluginID, fault)
	about.SessionID = s.SessionID
	fired := trace.Hook{Event: string(event), HookPlugin: h.PluginID, TargetID: at.id, TargetType: at.kind, DurationMs: time.Since(began).Milliseconds()}
	s.Trace.Emit(about, trace.HookFired, fired)
	if report.Kind == kernel.Fired {
		return next
	}
	entry := fired
	entry.Reason, entry.Error = report.Reason, report.Error
	if report.Diff != nil {
		entry.Diff = report.Diff
	}
	if fault != nil && report.Kind == kernel.Aborted {
		s.Trace.Emit(about, trace.HookError, entry)
	}
	s.Trace.Emit(about, trace.Type(report.Kind), entry)
	return next
}

type answer struct {
	raw    json.RawMessage
	called bool
	err    error
}

// call runs the plugin's code with its own copy of the payload. A handler that does not heed its context is left behind; what
// it still says is not heard.
func (s *Set) call(ctx context.Context, event sdk.HookEvent, about trace.Scope, h kernel.Handler, payload json.RawMessage) (json.RawMessage, bool, error) {
	limit := time.Duration(h.Hook.TimeoutMs) * time.Millisecond
	if limit <= 0 {
		limit = sdk.DefaultHookTimeoutMs * time.Millisecond
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan answer, 1) // buffered: a late answer finds no reader
	safego.Go("hook "+string(event)+" of "+h.PluginID, func() {
		a := answer{called: true, err: errors.New("it did not return")}
		defer func() { done <- a }()
		defer safego.Recover("hook "+string(event)+" of "+h.PluginID, func(err error) { a = answer{called: true, err: err} })
		if h.Hook.Match != nil {
			matches, err := h.Hook.Match(append(json.RawMessage(nil), payload...))
			if err != nil || !matches {
				a = answer{called: err != nil, err: errors.Wrap(err, "match")}
				return
			}
		}
		raw, err := h.Hook.Handle(within, s.context(event, about, h.PluginID), append(json.RawMessage(nil), payload...))
		a = answer{raw: append(json.RawMessage(nil), raw...), called: true, err: err}
	})
	select {
	case a := <-done:
		return a.raw, a.called, a.err
	case <-within.Done():
		return nil, true, errors.Errorf("it took longer than %d ms", limit.Milliseconds())
	}
}

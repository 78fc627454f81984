package session

import (
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	kernel "github.com/covel/covel/kernel/session"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// committed tells the trace how executions ended, and lets hooks look on at what was written. Nobody waits for them.
func (s *session) committed(p kernel.Publish) {
	for _, r := range p.Events {
		switch r.Type {
		case "ExecutionCommitted", "ExecutionFailed", "ExecutionAborted", "SessionEnded":
		default:
			continue
		}
		m, err := events.Decode(r.Event)
		if err != nil {
			s.Log.Error("an appended event cannot be read", "session", s.SessionID, "type", r.Type, "error", err)
			continue
		}
		switch m := m.(type) {
		case *eventsv1.ExecutionCommitted:
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Committed: true, Runtimes: len(m.Outcomes), Usage: usageOf(m.Usage)})
			s.tellCommitted(m, uint64(r.Version))
		case *eventsv1.ExecutionFailed:
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Reason: m.Reason, Error: m.Error, Runtimes: len(m.Outcomes), Usage: usageOf(m.Usage)})
		case *eventsv1.ExecutionAborted:
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Reason: m.Reason})
		case *eventsv1.SessionEnded:
			if s.Ended != nil {
				s.Ended(p.After)
			}
		}
	}
}

func (s *session) emitEnd(execution string, end trace.TurnEnd) {
	if s.live != nil && s.live.ExecutionID == execution && !s.started.IsZero() {
		end.DurationMs = time.Since(s.started).Milliseconds()
	}
	s.Trace.Emit(trace.Scope{SessionID: s.SessionID, TurnID: execution}, trace.TurnCompleted, end)
}

func usageOf(u *eventsv1.Usage) trace.Usage {
	return trace.Usage{InputTokens: int(u.GetInputTokens()), OutputTokens: int(u.GetOutputTokens()), CachedInputTokens: int(u.GetCachedInputTokens())}
}

// tellCommitted runs the PostStateCommit hooks of an execution (reference: plugins.md §15, "observe, after commit").
func (s *session) tellCommitted(m *eventsv1.ExecutionCommitted, version uint64) {
	after := s.after
	if after.ExecutionID != m.ExecutionId {
		return
	}
	s.after.Tell, s.after.ExecutionID = nil, ""
	dropped := map[string]bool{}
	for _, o := range m.Outcomes {
		dropped[o.RunId] = o.Dropped
	}
	background, ctx := s.Background, s.ctx
	if background == nil {
		background = safego.Go
	}
	background("PostStateCommit", func() {
		after.Tell(ctx, func(runID string) bool { return !dropped[runID] }, version)
	})
}

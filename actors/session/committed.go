package session

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// committed tells the trace how executions began and ended, and lets hooks look on at what was written. Nobody waits for them.
func (s *session) committed(p kernel.Publish) {
	for _, r := range p.Events {
		switch r.Type {
		case "UIRendered":
			if s.Trace == nil {
				continue
			}
		case "ExecutionStarted", "ExecutionCommitted", "ExecutionFailed", "ExecutionAborted", "SessionEnded",
			"JobTimedOut", "JobCancelled", "JobStale", "JobRequeued":
		default:
			continue
		}
		m, err := events.Decode(r.Event)
		if err != nil {
			s.Log.Error("an appended event cannot be read", "session", s.SessionID, "type", r.Type, "error", err)
			continue
		}
		switch m := m.(type) {
		case *eventsv1.UIRendered:
			s.emitBlock(r, m, concealed(p.Events))
		case *eventsv1.ExecutionStarted:
			s.emitSettle(m)
		case *eventsv1.ExecutionCommitted:
			s.tellCommitted(m, uint64(r.Version))
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Committed: true, Runtimes: len(m.Outcomes), Usage: usageOf(m.Usage)})
		case *eventsv1.ExecutionFailed:
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Reason: m.Reason, Error: m.Error, Runtimes: len(m.Outcomes), Usage: usageOf(m.Usage)})
		case *eventsv1.ExecutionAborted:
			s.emitEnd(m.ExecutionId, trace.TurnEnd{Reason: m.Reason, Usage: usageOf(m.Usage)})
		case *eventsv1.SessionEnded:
			if s.Ended != nil {
				s.Ended(p.After)
			}
		case interface{ GetJobId() string }: // it ended without a commit of its execution
			j, _ := p.After.Jobs.Find(m.GetJobId())
			if _, here := s.began[j.ExecutionID]; here {
				s.emitEnd(j.ExecutionID, trace.TurnEnd{Reason: cmp.Or(j.Reason, j.Status)})
			}
		}
	}
}

// emitBlock tells which block a commit shows, and each part of it (seed: tools.txt, "ui.render").
func (s *session) emitBlock(r events.Recorded, m *eventsv1.UIRendered, concealed map[string]bool) {
	scope := trace.Scope{
		SessionID: s.SessionID, TurnID: r.Metadata.GetCausationId(), RunID: r.Metadata.GetRunId(), RuntimeID: m.RuntimeId, PluginID: m.PluginId,
		Concealed: concealed[r.Metadata.GetRunId()],
	}
	s.Trace.Emit(scope, trace.UIRendered, trace.UIBlock{MessageID: m.MessageId, Render: m.Render})
	gjson.GetBytes(m.Render, "parts").ForEach(func(_, part gjson.Result) bool {
		s.Trace.Emit(scope, trace.UIPartUpdate, trace.UIPart{
			MessageID: m.MessageId, PartID: part.Get("id").String(), Type: part.Get("type").String(), Status: part.Get("status").String(),
			Content: json.RawMessage(part.Get("content").Raw),
		})
		return true
	})
}

// concealed names the runs of a commit that hide what they read and write.
func concealed(list []events.Recorded) map[string]bool {
	out := map[string]bool{}
	for _, r := range list {
		if r.Type != "ExecutionCommitted" {
			continue
		}
		if m, err := events.Decode(r.Event); err == nil {
			for _, o := range m.(*eventsv1.ExecutionCommitted).Outcomes {
				out[o.RunId] = o.Concealed
			}
		}
	}
	return out
}

// emitSettle tells which background jobs an execution went on without (seed: turn-pipeline.txt §2.4, 4. and 5.).
func (s *session) emitSettle(m *eventsv1.ExecutionStarted) {
	scope := trace.Scope{SessionID: s.SessionID, TurnID: m.ExecutionId}
	if jobs := m.Settle.GetTimedOut(); len(jobs) > 0 {
		s.Trace.Emit(scope, trace.ExecutionSettleTimeout, trace.Settle{Jobs: jobs})
	}
	if jobs := m.Settle.GetSkipped(); len(jobs) > 0 {
		s.Trace.Emit(scope, trace.ExecutionSettleSkipped, trace.Settle{Jobs: jobs})
	}
}

// emitStart tells of an execution, a turn's or a job's, that begins here.
func (s *session) emitStart(e projections.Execution) {
	s.began[e.ID] = time.Now()
	s.Trace.Emit(trace.Scope{SessionID: s.SessionID, TurnID: e.ID}, trace.TurnStarted, trace.Turn{
		Origin: e.Origin, Phase: e.Phase, LogicalTurn: e.LogicalTurn, RequestID: e.RequestID,
	})
}

func (s *session) emitEnd(execution string, end trace.TurnEnd) {
	if began, here := s.began[execution]; here {
		end.DurationMs = time.Since(began).Milliseconds()
		delete(s.began, execution)
	}
	delete(s.after, execution)
	s.Trace.Emit(trace.Scope{SessionID: s.SessionID, TurnID: execution}, trace.TurnCompleted, end)
}

func usageOf(u *eventsv1.Usage) trace.Usage {
	out := trace.Usage{InputTokens: int(u.GetInputTokens()), OutputTokens: int(u.GetOutputTokens()), CachedInputTokens: int(u.GetCachedInputTokens()), Unpriced: int(u.GetUnpricedCalls())}
	if u != nil {
		out.CostMicros = u.CostMicros
	}
	return out
}

// tellCommitted runs the PostStateCommit hooks of an execution (reference: plugins.md §15, "observe, after commit").
func (s *session) tellCommitted(m *eventsv1.ExecutionCommitted, version uint64) {
	after, listens := s.after[m.ExecutionId]
	if !listens {
		return
	}
	dropped := map[string]bool{}
	for _, o := range m.Outcomes {
		dropped[o.RunId] = o.Dropped
	}
	background, ctx, tell := s.Background, s.ctx, s.tell
	if background == nil {
		background = safego.Go
	}
	background("PostStateCommit", func() {
		tell(after.Tell(ctx, func(runID string) bool { return !dropped[runID] }, version))
	})
}

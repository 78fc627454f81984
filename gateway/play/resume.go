package play

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// resumePayload is what an answer to a suspension says, over the socket too.
type resumePayload struct {
	SuspensionID string          `json:"suspensionId"`
	Data         json.RawMessage `json:"data"`
}

// readResume reads an answer; body gets what the request asks for, by which a repeat is known.
func readResume(payload json.RawMessage, out *kernel.Command, body map[string]any) *Problem {
	var p resumePayload
	if problem := decodeStrict(payload, &p, "payload"); problem != nil {
		return problem
	}
	if p.SuspensionID == "" {
		return invalid("payload.suspensionId", "payload.suspensionId is missing")
	}
	if len(p.Data) == 0 {
		return invalid("payload.data", "payload.data is missing: send the answer, null for none")
	}
	answer, err := text.CleanJSON(p.Data)
	if err != nil {
		return invalid("payload.data", "payload.data: %v", err)
	}
	out.SuspensionID, out.Answer = p.SuspensionID, projections.RawJSON(answer)
	body["suspensionId"], body["data"] = out.SuspensionID, out.Answer
	return nil
}

// suspensions is GET /api/sessions/{id}/suspensions.
func (s *server) suspensions(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"items": suspensionsOf(v.State)})
}

// abandon is DELETE of a suspension: the player gives it up.
func (s *server) abandon(w http.ResponseWriter, r *http.Request) {
	a, err := s.Node.AbandonSuspension(r.Context(), r.PathValue("id"), r.PathValue("suspension"))
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "suspensionId": r.PathValue("suspension")})
}

// resume is the answer to a suspension. It waits until the execution that goes on with it has ended; to close the connection
// does not cancel it.
func (s *server) resume(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RequestID string          `json:"requestId"`
		Data      json.RawMessage `json:"data"`
	}
	if !s.body(w, r, &in) {
		return
	}
	cmd, ok := s.command(w, r, kernel.ResumeSuspension, in.RequestID, resumePayload{r.PathValue("suspension"), in.Data})
	if !ok {
		return
	}
	ended, err := s.run(r.Context(), r.PathValue("id"), cmd)
	if err != nil {
		s.error(w, err)
		return
	}
	if !ended.committed {
		s.fail(w, http.StatusInternalServerError, problem("resume_failed", "Resume failed: %s", orElse(ended.failure, "it did not commit")))
		return
	}
	s.reply(w, http.StatusOK, map[string]any{
		"result": map[string]any{"executionId": ended.execution, "committed": true, "outcomes": ended.outcomes}, "events": ended.events,
	})
}

// ran is what became of a request.
type ran struct {
	request   string
	execution string
	events    []Event // committed ones of the request, in order
	outcomes  any
	committed bool
	failure   string
	done      bool

	job        string // the background job it became, "" when it ran at once
	results    []*eventsv1.RunResult
	took       map[string]int64 // milliseconds by run id, as far as somebody looked on
	began      time.Time
	durationMs int64
}

// run submits a command and gathers its committed events until it has ended.
func (s *server) run(ctx context.Context, session string, cmd kernel.Command) (ran, error) {
	out := ran{request: cmd.RequestID, events: []Event{}, took: map[string]int64{}}
	sub := node.NewSubscription()
	defer sub.Close()
	before, err := s.Node.Follow(ctx, session, sub)
	if err != nil {
		return out, err
	}
	answers := make(chan kernel.Answer, 8)
	if err := s.Node.Submit(ctx, session, cmd, func(a kernel.Answer) {
		select {
		case answers <- a:
		default:
		}
	}); err != nil {
		return out, err
	}
	for accepted := false; !accepted; {
		select {
		case a := <-answers:
			if a.Refusal != nil {
				return out, a.Refusal
			}
			accepted = a.Status == kernel.Accepted
			if accepted {
				out.execution, out.job = a.ExecutionID, a.JobID
			}
			if out.job != "" {
				return out, nil
			}
			if accepted && a.Repeat && a.Version <= before.State.Version { // its outcome may stand in the log already
				if err := s.recall(ctx, session, &out, a.Version, before.State.Version); err != nil || out.done {
					return out, err
				}
			}
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	for !out.done {
		u, err := sub.Next(ctx)
		switch {
		case err != nil:
			return out, err
		case u.Publish != nil:
			out.keep(u.Publish.Events)
			out.take(frameOf(u.Publish.Events, u.Publish.After))
		case u.Progress != nil && u.Progress.DurationMs > 0:
			out.took[u.Progress.RunID] = u.Progress.DurationMs
		case u.Reset != "":
			return out, problem("session_busy", "the session had to start over; ask again with the same requestId")
		}
	}
	return out, nil
}

// recall reads what became of a request from the log.
func (s *server) recall(ctx context.Context, session string, out *ran, accepted, until events.Version) error {
	base, recorded, err := s.Node.ReadFrom(ctx, session, 0, until)
	if err != nil {
		return err
	}
	frames, err := framesOf(base, recorded)
	if err != nil {
		return err
	}
	out.keep(recorded)
	for _, f := range frames {
		if f.Seq >= accepted {
			out.take(f)
		}
	}
	return nil
}

// keep takes what the runs gave from the log.
func (r *ran) keep(recorded []events.Recorded) {
	for _, ev := range recorded {
		if ev.Metadata.GetCausationId() != r.execution {
			continue
		}
		switch ev.Type {
		case "ExecutionStarted":
			r.began = ev.RecordedAt
		case "ExecutionCommitted":
			r.durationMs = ev.RecordedAt.Sub(r.began).Milliseconds()
		case "ExecutionResults":
			if m, err := events.Decode(ev.Event); err == nil {
				r.results = m.(*eventsv1.ExecutionResults).Results
			}
		}
	}
}

func (r *ran) take(f Frame) {
	for _, e := range f.Events {
		if e.RequestID != r.request || r.done {
			continue
		}
		r.events = append(r.events, e)
		payload, _ := e.Payload.(map[string]any)
		switch e.Type {
		case "turn.completed":
			if e.TurnID == r.execution {
				r.outcomes = payload["outcomes"]
				r.committed, _ = payload["committed"].(bool)
			}
		case "execution.completed":
			r.done = true
			r.failure, _ = payload["error"].(string)
			if reason, ok := payload["abortReason"].(string); ok && r.failure == "" {
				r.failure = reason
			}
		}
	}
}

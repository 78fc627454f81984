package play

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
)

// actions is POST /api/actions: a command answered by Server-Sent Events (docs/protocol.md §4). Closing the stream does
// not cancel the turn.
func (s *server) actions(w http.ResponseWriter, r *http.Request) {
	var in command
	if !s.body(w, r, &in) {
		return
	}
	if !node.ValidSessionID(in.SessionID) {
		s.fail(w, http.StatusBadRequest, invalid("sessionId", "sessionId is missing or not a session id"))
		return
	}
	cmd, p := readCommand(in)
	if p == nil && elsewhere(in.Type) {
		p = problem("unknown_type", "%q has an address of its own (docs/protocol.md), since no stream can follow it", in.Type)
	}
	if p != nil {
		s.fail(w, statusOf(p.Code), p)
		return
	}
	if err := s.seated(r.Context(), in.SessionID, tokenOf(r), &cmd); err != nil {
		s.error(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	sub := node.NewSubscription()
	defer sub.Close()
	before, err := s.Node.Follow(ctx, in.SessionID, sub)
	if err != nil {
		s.error(w, err)
		return
	}
	answers := make(chan kernel.Answer, 8)
	if err := s.Node.Submit(ctx, in.SessionID, cmd, func(a kernel.Answer) {
		select {
		case answers <- a:
		default:
		}
	}); err != nil {
		s.error(w, err)
		return
	}
	st := &stream{server: s, w: w, session: in.SessionID, request: in.RequestID, turn: in.RequestID}
	for {
		select {
		case a := <-answers:
			switch {
			case a.Refusal != nil && !st.open:
				p := problemOf(a.Refusal)
				s.fail(w, statusOf(p.Code), p)
				return
			case a.Refusal != nil:
				st.event(0, Event{Type: "error.occurred", Timestamp: time.Now().UTC(), Payload: errorPayload(problemOf(a.Refusal))})
				return
			case a.Status == kernel.Queued:
				st.begin()
				if w := a.SettleWait; w != nil {
					st.event(0, transientOf(kernel.Progress{ExecutionID: w.ExecutionID, Kind: kernel.TurnSettling, Settle: w}, time.Now().UTC()).Event)
				}
				continue
			}
			if a.JobID != "" { // it runs in the background; nobody waits for it
				s.reply(w, http.StatusAccepted, map[string]any{"status": "accepted", "jobId": a.JobID, "pending": true})
				return
			}
			st.begin()
			from := before.State.Version
			if a.Repeat && a.Version <= from {
				// It ran before this stream was opened: show its outcome from the log, then what is still to come.
				if st.replay(ctx, a.Version, from) {
					return
				}
			}
			st.follow(ctx, sub)
			return
		case <-ctx.Done():
			return
		}
	}
}

func errorPayload(p *Problem) map[string]any {
	out := map[string]any{"message": p.Message, "code": p.Code}
	if p.Details != nil {
		out["details"] = p.Details
	}
	return out
}

// stream writes the events of one request.
type stream struct {
	*server
	w          http.ResponseWriter
	session    string
	request    string
	open       bool
	turn       string          // the request under which its turn runs, where that is another's
	executions map[string]bool // of this request
}

// joined notes that the request has gone into the turn of several.
func (st *stream) joined(e Event) {
	payload, _ := e.Payload.(map[string]any)
	requests, _ := payload["gathered"].([]Gathered)
	if slices.ContainsFunc(requests, func(g Gathered) bool { return g.RequestID == st.request }) {
		st.turn = e.RequestID
	}
}

func (st *stream) begin() {
	if st.open {
		return
	}
	st.open = true
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	st.w.WriteHeader(http.StatusOK)
	st.flush()
}

func (st *stream) flush() {
	if f, ok := st.w.(http.Flusher); ok {
		f.Flush()
	}
}

// follow writes what happens until the request has ended.
func (st *stream) follow(ctx context.Context, sub *node.Subscription) {
	for {
		u, err := sub.Next(ctx)
		if err != nil {
			return
		}
		switch {
		case u.Publish != nil:
			if st.frame(frameOf(u.Publish.Events, u.Publish.After)) {
				return
			}
		case u.Progress != nil:
			if u.Progress.ExecutionID == "" || st.executions[u.Progress.ExecutionID] {
				t := transientOf(*u.Progress, time.Now().UTC())
				st.event(0, t.Event)
			}
		case u.Reset != "":
			st.event(0, Event{Type: "system.reset", Timestamp: time.Now().UTC(), Payload: map[string]any{"reason": u.Reset}})
			return
		}
	}
}

// replay writes the request's events that stand in the log up to a version; true when it has ended there.
func (st *stream) replay(ctx context.Context, accepted, until events.Version) bool {
	base, recorded, err := st.Node.ReadFrom(ctx, st.session, 0, until)
	if err != nil {
		st.event(0, Event{Type: "error.occurred", Timestamp: time.Now().UTC(), Payload: errorPayload(st.problem(err))})
		return true
	}
	frames, err := framesOf(base, recorded)
	if err != nil {
		st.event(0, Event{Type: "error.occurred", Timestamp: time.Now().UTC(), Payload: errorPayload(st.problem(err))})
		return true
	}
	for _, f := range frames {
		if f.Seq >= accepted && st.frame(f) {
			return true
		}
	}
	return false
}

// frame writes the events of a frame that belong to the request; true when it has ended.
func (st *stream) frame(f Frame) bool {
	for _, e := range f.Events {
		st.joined(e)
		if e.RequestID != st.request && e.RequestID != st.turn {
			continue
		}
		if e.TurnID != "" {
			if st.executions == nil {
				st.executions = map[string]bool{}
			}
			st.executions[e.TurnID] = true
		}
		st.event(f.Seq, e)
		if e.Type == "execution.completed" {
			return true
		}
	}
	return false
}

func (st *stream) event(seq events.Version, e Event) {
	envelope := map[string]any{
		"type": e.Type, "requestId": st.request, "traceId": orElse(e.TurnID, st.request), "flowId": orElse(e.TurnID, st.request),
		"sessionId": st.session, "seq": seq, "timestamp": e.Timestamp, "payload": e.Payload,
	}
	if e.TurnID != "" {
		envelope["turnId"] = e.TurnID
	}
	b, err := json.Marshal(envelope)
	if err != nil {
		st.Log.Error("event is not JSON", "error", err)
		return
	}
	_ = http.NewResponseController(st.w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a reader that stands still ends its stream
	fmt.Fprintf(st.w, "data: %s\n\n", b)
	st.flush()
}

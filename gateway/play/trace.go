package play

import (
	"net/http"
	"strconv"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
)

// Sizes of a page of the trace. Prompts are long: a page also ends once its payloads are over tracePageBytes.
const (
	tracePage      = 400
	maxTracePage   = 500
	tracePageBytes = 8 << 20
)

// trace answers what happened in the turns of a session, for whoever runs the server (docs/protocol.md §1). What is concealed
// from players is not in the trace at all.
func (s *server) trace(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	ask := trace.Query{SessionID: r.PathValue("id"), TurnID: q.Get("turn"), Limit: tracePage, Bytes: tracePageBytes}
	for _, t := range q["type"] {
		ask.Types = append(ask.Types, trace.Type(t))
	}
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		ask.Limit = min(n, maxTracePage)
	}
	if c := q.Get("before"); c != "" {
		n, err := strconv.ParseUint(c, 10, 63)
		if err != nil {
			s.fail(w, http.StatusBadRequest, problem("invalid_cursor", "the cursor is not one of this server"))
			return
		}
		ask.Before = n
	}
	if _, err := s.Node.View(r.Context(), ask.SessionID); err != nil {
		s.error(w, err)
		return
	}
	entries, err := s.Trace.Read(r.Context(), ask)
	damaged := []string{}
	var d *trace.Damaged
	if errors.As(err, &d) {
		damaged, err = d.Files, nil
	}
	if err != nil {
		s.error(w, err)
		return
	}
	size := 0
	for _, e := range entries {
		size += len(e.Payload)
	}
	var next any
	if len(entries) == ask.Limit || size >= ask.Bytes {
		next = strconv.FormatUint(entries[0].Seq, 10)
	}
	s.reply(w, http.StatusOK, map[string]any{"sessionId": ask.SessionID, "items": nonNil(entries), "nextCursor": next, "damaged": damaged})
}

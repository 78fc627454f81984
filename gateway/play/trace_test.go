package play

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/covel/covel/events/trace"
)

type tracePageOf struct {
	SessionID  string
	Items      []trace.Entry
	NextCursor string
	Damaged    []string
}

func (s *site) tracePage(t *testing.T, id, query string) tracePageOf {
	t.Helper()
	status, body := s.call("GET", "/api/sessions/"+id+"/trace?"+query, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", query, status, body)
	}
	b, _ := json.Marshal(body)
	var p tracePageOf
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Rule REF:api-and-protocol.md §1.20: the trace is read in pages from the newest, 400 entries by default and at most 500.
func TestTraceInPages(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	for i := range 600 {
		s.trace.Emit(trace.Scope{SessionID: id, TurnID: "t/雾"}, trace.StepStarted, trace.Step{Step: i})
	}
	if err := s.trace.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"turn=t/雾": 400, "turn=t/雾&limit=9999": 500, "limit=7": 7, "limit=x": 400, "type=turn.started&type=turn.completed": 6, "turn=none": 0} {
		if p := s.tracePage(t, id, query); len(p.Items) != want || p.SessionID != id || p.Damaged == nil || (p.NextCursor != "") != (want >= 400 || want == 7) {
			t.Errorf("%s: %d entries, next %q", query, len(p.Items), p.NextCursor)
		}
	}
	var steps []string
	for before := ""; ; {
		p := s.tracePage(t, id, "turn=t/雾&limit=250"+before)
		var page []string
		for _, e := range p.Items {
			page = append(page, string(e.Payload))
		}
		if steps = append(page, steps...); p.NextCursor == "" {
			break
		}
		before = "&before=" + p.NextCursor
	}
	if len(steps) != 600 || steps[0] != `{"step":0}` || steps[599] != `{"step":599}` {
		t.Errorf("%d entries in three pages", len(steps))
	}

	// A page of long prompts ends before it is too long for anybody.
	for range 20 {
		s.trace.Emit(trace.Scope{SessionID: id, TurnID: "long"}, trace.MessageCompleted, trace.Message{Content: strings.Repeat("x", 900_000)})
	}
	if p := s.tracePage(t, id, "turn=long"); len(p.Items) != 10 || p.NextCursor == "" {
		t.Errorf("%d long entries", len(p.Items))
	}
	if status, body := s.call("GET", "/api/sessions/"+id+"/trace?before=x", ""); status != http.StatusBadRequest || body["code"] != "invalid_cursor" {
		t.Errorf("%d %v", status, body)
	}
	if status, body := s.call("GET", "/api/sessions/none/trace", ""); status != http.StatusNotFound || body["code"] != "session_not_found" {
		t.Errorf("%d %v", status, body)
	}
	for header, value := range map[string]string{"Origin": "http://example.org", "X-Forwarded-For": "10.0.0.1"} {
		if status, _ := s.call("GET", "/api/sessions/"+id+"/trace", "", header, value); status != http.StatusForbidden {
			t.Errorf("%s: %d", header, status)
		}
	}

	// A deleted session takes its trace along.
	if status, body := s.call("DELETE", "/api/sessions/"+id, ""); status != http.StatusOK {
		t.Fatal(fmt.Sprint(status, body))
	}
	left, err := s.trace.Read(t.Context(), trace.Query{SessionID: id})
	if err != nil || len(left) != 0 {
		t.Errorf("%d entries are left (%v)", len(left), err)
	}
}

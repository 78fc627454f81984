package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/gateway/llm/scripted"
)

// A connection that drops in the middle of an answer goes on where it was: no event is lost, none comes twice.

// follower collects what one client was shown, over all of its connections.
type follower struct {
	t           *testing.T
	id          string
	s           *socket
	seq         uint64
	lastID      string
	incarnation string
	frames      []message // in the order in which they came
	text        string    // streamed of the running execution
	n           uint64
	execution   string
}

// follow begins to follow a session from its first event on.
func follow(t *testing.T, url, id string) *follower {
	f := &follower{t: t, id: id, incarnation: view(t, url, id).Incarnation}
	if m := f.resume(url); m.Type != "welcome" || !m.Resumed {
		t.Fatalf("from the beginning: %+v", m)
	}
	return f
}

// resume connects and goes on after the last frame; it gives the first message.
func (f *follower) resume(url string) message {
	f.t.Helper()
	f.s = dial(f.t, url, f.id)
	f.s.send(map[string]any{"type": "hello", "lastSeq": f.seq, "lastId": f.lastID, "incarnation": f.incarnation})
	m := f.s.next()
	if m.Running != nil {
		f.text, f.n, f.execution = m.Running.Text, m.Running.N, m.Running.ExecutionID
	}
	return m
}

func (f *follower) until(what string, fits func(message) bool) {
	f.t.Helper()
	f.s.until(what, func(m message) bool {
		f.take(m)
		return fits(m)
	})
}

func (f *follower) take(m message) {
	f.t.Helper()
	switch m.Type {
	case "frame":
		if m.Seq <= f.seq {
			f.t.Errorf("frame %d comes after %d", m.Seq, f.seq)
		}
		f.seq, f.lastID = m.Seq, m.LastID
		f.frames = append(f.frames, m)
	case "transient":
		if m.ExecutionID != f.execution {
			f.execution, f.n, f.text = m.ExecutionID, 0, ""
		}
		if m.N != f.n+1 && !m.is("narrative.delta") { // adjacent deltas may merge and keep the last number
			f.t.Errorf("transient %d of %s after %d", m.N, m.ExecutionID, f.n)
		}
		if m.N <= f.n {
			f.t.Errorf("transient %d comes after %d", m.N, f.n)
		}
		f.n = m.N
		if m.is("narrative.delta") {
			var p struct {
				Delta string
				Reset bool
			}
			if err := m.Event.Into(&p); err != nil {
				f.t.Fatal(err)
			}
			if p.Reset {
				f.text = ""
			}
			f.text += p.Delta
		}
	case "error", "system.reset":
		if m.Code == "server_shutting_down" && m.RequestID == "" {
			return // it goes down with grace: come back later
		}
		f.t.Fatalf("%s %s %s", m.Type, m.Code, m.Reason)
	}
}

// same compares what two clients were shown.
func same(t *testing.T, got, want *follower) {
	t.Helper()
	for i := 0; i < max(len(got.frames), len(want.frames)); i++ {
		if i >= len(got.frames) || i >= len(want.frames) {
			t.Fatalf("%d frames, want %d", len(got.frames), len(want.frames))
		}
		if g, w := got.frames[i], want.frames[i]; !reflect.DeepEqual(g, w) {
			gb, _ := json.Marshal(g)
			wb, _ := json.Marshal(w)
			t.Fatalf("frame %d differs:\n%s\n%s", i, gb, wb)
		}
	}
}

// appends are the versions at which the appends of a log end: one frame each.
func appends(t *testing.T, data, id string) (ends []uint64) {
	t.Helper()
	for _, r := range stored(t, data, id) {
		if uint64(r.Version) >= r.Metadata.GetAppendEnd() {
			ends = append(ends, uint64(r.Version))
		}
	}
	return ends
}

func (f *follower) sawAll(data string) {
	f.t.Helper()
	var seqs []uint64
	for _, m := range f.frames {
		seqs = append(seqs, m.Seq)
	}
	if want := appends(f.t, data, f.id); !reflect.DeepEqual(seqs, want) {
		f.t.Errorf("frames %v, appends end at %v", seqs, want)
	}
}

// heldNarrator is a model whose narrator stops in the middle of each page, at the gate "mid".
func heldNarrator() *scripted.Model {
	return scripted.New(scripted.Script{
		Replies: []scripted.Reply{{Subject: "narrator", Steps: []scripted.Step{
			scripted.Segment{Kind: "narration", Text: "The rain has stopped. 雨停了。"},
			scripted.Hold("mid"),
			scripted.Segment{Kind: "dialogue", Speaker: "陆青云", Text: "“你来了。” 🏮"},
		}}},
		Otherwise: scripted.BundledGame(),
	})
}

func TestResumeAfterADropInMidAnswer(t *testing.T) {
	for _, back := range []string{"while it streams", "after the commit", "two drops"} {
		t.Run(back, func(t *testing.T) {
			t.Parallel()
			const id = "low-water-1"
			data, m := t.TempDir(), heldNarrator()
			mid := m.Gate("mid")
			srv := startServer(t, data, m)
			s := open(t, srv.url, id)
			steady, dropped := follow(t, srv.url, id), follow(t, srv.url, id)
			s.send(answer(t, "form", view(t, srv.url, id), map[string]any{"characterName": "陆青云"}))
			delta := func(m message) bool { return m.is("narrative.delta") }
			dropped.until("the first words", delta)
			dropped.s.close()
			if back == "two drops" {
				if w := dropped.resume(srv.url); !w.Resumed || w.Running == nil {
					t.Fatalf("welcome: %+v", w)
				}
				dropped.s.close()
			}
			if back == "after the commit" {
				mid.Pass()
				steady.until("the end", ended("form"))
			}
			w := dropped.resume(srv.url)
			if w.Type != "welcome" || !w.Resumed || w.View != nil {
				t.Fatalf("welcome: %+v", w)
			}
			if back != "after the commit" {
				if w.Running == nil || w.Running.Text != "The rain has stopped. 雨停了。" {
					t.Fatalf("the buffer of the running turn: %+v", w.Running)
				}
				mid.Pass()
				steady.until("the end", ended("form"))
			}
			dropped.until("the end", ended("form"))
			same(t, dropped, steady)
			dropped.sawAll(data)
			v := view(t, srv.url, id)
			if page := v.Messages[len(v.Messages)-1].Text; steady.text != page || back != "after the commit" && dropped.text != page {
				t.Errorf("streamed %q and %q, the page is %q", steady.text, dropped.text, page)
			}
		})
	}
}

func TestResumeAcrossARestart(t *testing.T) {
	for _, how := range []string{"SIGTERM", "SIGKILL"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const id = "low-water-1"
			data := t.TempDir()
			p := startProgram(t, data, narratorStalls(1, "  narration The lamp in the\n"))
			s := playing(t, p.url, id, "陆青云")
			f := follow(t, p.url, id)
			s.send(say("line", "我去看看水边的灯。"))
			f.until("the first words", func(m message) bool { return m.is("narrative.delta") })
			if how == "SIGTERM" {
				p.term()
			} else {
				p.kill()
			}
			for { // what was still on its way
				m, err := f.s.read()
				if err != nil {
					break
				}
				f.take(m)
			}

			p = startProgram(t, data, normal)
			closed(t, data, id)
			if w := f.resume(p.url); w.Type != "welcome" || !w.Resumed {
				t.Fatalf("welcome: %+v", w)
			}
			f.s.send(retryTurn("again"))
			f.until("the end of the retry", ended("again"))
			all := follow(t, p.url, id)
			all.until("the end of the retry", ended("again"))
			same(t, f, all)
			f.sawAll(data)
			ends := 0
			for _, m := range f.frames {
				if e, ok := m.has("execution.completed"); ok && e.RequestID == "line" {
					ends++
					if committed(t, m) || !strings.Contains(string(e.Payload), `"retry"`) {
						t.Errorf("the end of the turn that was cut off: %s", e.Payload)
					}
				}
			}
			if ends != 1 {
				t.Errorf("the request ended %d times", ends)
			}
			if v := view(t, p.url, id); v.Session.CompletedPlayerTurns != 1 || count(lines(v), "我去看看水边的灯。") != 1 {
				t.Errorf("%d turns, lines %q", v.Session.CompletedPlayerTurns, lines(v))
			}
		})
	}
}

// Numbers that are not of this stream are no place to go on from: the client starts over with a whole view.
func TestNumbersOfAnotherLife(t *testing.T) {
	const id = "low-water-1"
	srv := startServer(t, t.TempDir(), bundledGame())
	playing(t, srv.url, id, "Élodie")
	v := view(t, srv.url, id)
	for name, hello := range map[string]map[string]any{
		"a number from the future":     {"lastSeq": v.Seq + 7, "lastId": v.LastID, "incarnation": v.Incarnation},
		"a foreign incarnation":        {"lastSeq": v.Seq, "lastId": v.LastID, "incarnation": "another"},
		"no incarnation":               {"lastSeq": v.Seq, "lastId": v.LastID},
		"another event at the head":    {"lastSeq": v.Seq, "lastId": "0b5dcb1e-6b0c-5c3e-9d5c-0d4e9a1a7f11", "incarnation": v.Incarnation},
		"another event in the middle":  {"lastSeq": v.Seq - 2, "lastId": v.LastID, "incarnation": v.Incarnation},
		"the beginning of another log": {"lastSeq": 0, "lastId": v.LastID, "incarnation": v.Incarnation},
	} {
		t.Run(name, func(t *testing.T) {
			s := dial(t, srv.url, id)
			hello["type"] = "hello"
			s.send(hello)
			reset, welcome := s.next(), s.next()
			want := "gap"
			if strings.Contains(name, "incarnation") {
				want = "epoch-change"
			}
			if reset.Type != "system.reset" || reset.Reason != want {
				t.Errorf("first: %s %s, want system.reset %s", reset.Type, reset.Reason, want)
			}
			if welcome.Type != "welcome" || welcome.Resumed || welcome.View == nil || welcome.Seq != uint64(v.Seq) || welcome.LastID != v.LastID {
				t.Errorf("then: %+v", welcome)
			}
			s.do(say("line-"+strings.ReplaceAll(name, " ", "-"), "I go on. 我接着走。"))
			*v = *view(t, srv.url, id)
		})
	}
}

// The connection of a session that is deleted ends, and its id is not used again.
func TestDeletedWhileFollowed(t *testing.T) {
	const id = "low-water-1"
	srv := startServer(t, t.TempDir(), bundledGame())
	s := playing(t, srv.url, id, "陆青云")
	if err := srv.api.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := s.read()
		if err != nil {
			break // the connection ends
		}
		if m.Type == "error" && m.Code != "session_not_found" {
			t.Errorf("%+v", m)
		}
	}
	if status := get(t, srv.url+"/api/sessions/"+id+"/view", nil); status != 404 {
		t.Errorf("the view of a deleted session: %d", status)
	}
	if err := create(t, srv.url, id, "en"); err == nil || !strings.Contains(err.Error(), "session_already_exists") {
		t.Errorf("its id is used again: %v", err)
	}
}

package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// fake is a server whose conversations are played one after the other, one a connection; later connections get the last.
type fake struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex
	plays []func(*peer)
}

type peer struct {
	t  *testing.T
	ws *websocket.Conn
}

func (p *peer) read() map[string]any {
	_ = p.ws.SetReadDeadline(time.Now().Add(patience))
	var m map[string]any
	if err := p.ws.ReadJSON(&m); err != nil {
		return nil
	}
	return m
}

func (p *peer) want(typ string) map[string]any {
	p.t.Helper()
	m := p.read()
	if m["type"] != typ {
		p.t.Errorf("the client says %v, want %s", m, typ)
	}
	return m
}

func (p *peer) say(text string) { _ = p.ws.WriteMessage(websocket.TextMessage, []byte(text)) }

// stay reads until the client goes.
func (p *peer) stay() {
	for p.read() != nil {
	}
}

func serve(t *testing.T, plays ...func(*peer)) *API {
	f := &fake{t: t, plays: plays}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/sessions/s/ws" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":"Session not found","code":"session_not_found"}`))
			return
		}
		up := websocket.Upgrader{}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		f.mu.Lock()
		play := f.plays[0]
		if len(f.plays) > 1 {
			f.plays = f.plays[1:]
		}
		f.mu.Unlock()
		play(&peer{t, ws})
	}))
	api := New(f.URL)
	t.Cleanup(func() {
		api.Close()
		f.Close()
	})
	return api
}

func next(t *testing.T, l *Link) Update {
	t.Helper()
	select {
	case u, ok := <-l.Updates():
		if !ok {
			t.Fatal("the link ended")
		}
		return u
	case <-time.After(patience):
		t.Fatal("nothing happens")
	}
	return Update{}
}

const (
	freshWelcome   = `{"type":"welcome","seq":5,"lastId":"e5","incarnation":"i","resumed":false,"view":{"seq":5}}`
	resumedWelcome = `{"type":"welcome","seq":6,"lastId":"e6","incarnation":"i","resumed":true}`
)

func frame(seq string) string {
	return `{"type":"frame","seq":` + seq + `,"lastId":"e` + seq + `","events":[{"type":"session.changed","payload":{"x":` + seq + `}}]}`
}

func TestADroppedLinkResumes(t *testing.T) {
	api := serve(t, func(p *peer) {
		if h := p.want("hello"); h["lastSeq"] != nil {
			t.Errorf("the first hello: %v", h)
		}
		p.say(freshWelcome)
		p.say(frame("6"))
	}, func(p *peer) {
		if h := p.want("hello"); h["lastSeq"] != 6.0 || h["lastId"] != "e6" || h["incarnation"] != "i" {
			t.Errorf("the second hello: %v", h)
		}
		p.say(resumedWelcome)
		p.say(frame("6")) // again: it must not be shown twice
		p.say(`{"type":"news","of":"tomorrow"}`)
		p.say(frame("8"))
		p.stay()
	})
	l := api.Connect(t.Context(), "s", Options{})
	defer l.Close()
	if u := next(t, l); u.Welcome == nil || u.Welcome.View == nil {
		t.Fatalf("%+v", u)
	}
	if u := next(t, l); u.Frame == nil || u.Frame.Seq != 6 {
		t.Fatalf("%+v", u)
	}
	if u := next(t, l); u.Lost == nil {
		t.Fatalf("%+v", u)
	}
	if u := next(t, l); u.Welcome == nil || !u.Welcome.Resumed {
		t.Fatalf("%+v", u)
	}
	u := next(t, l)
	if u.Frame == nil || u.Frame.Seq != 8 {
		t.Fatalf("%+v", u)
	}
	var payload struct{ X int }
	if err := u.Frame.Events[0].Into(&payload); err != nil || payload.X != 8 {
		t.Errorf("%+v, %v", payload, err)
	}
}

// A command is sent again with its requestId until it is stored or refused, and then never again.
func TestCommandsAreSentAgainUntilTheyAreStored(t *testing.T) {
	var first, second, third string
	id := func(m map[string]any) string { s, _ := m["requestId"].(string); return s }
	api := serve(t, func(p *peer) {
		p.want("hello")
		p.say(freshWelcome)
		first, second, third = id(p.want("retry_turn")), id(p.want("retry_turn")), id(p.want("retry_turn"))
		p.say(`{"type":"ack","requestId":"` + first + `","status":"accepted","version":6,"executionId":"x"}`)
		p.say(`{"type":"ack","requestId":"` + second + `","status":"queued","n":1}`)
		p.say(`{"type":"error","requestId":"` + third + `","code":"server_shutting_down","error":"later"}`)
	}, func(p *peer) {
		p.want("hello")
		p.say(freshWelcome)
		if a, b := id(p.want("retry_turn")), id(p.want("retry_turn")); a != second || b != third {
			t.Errorf("sent again: %s %s, want %s %s", a, b, second, third)
		}
		p.say(`{"type":"ack","requestId":"` + second + `","status":"accepted","version":7,"repeat":true}`)
		p.say(`{"type":"error","requestId":"` + third + `","code":"form_rejected","error":"no","details":{"issues":[{"field":"a","message":"b"}]}}`)
	}, func(p *peer) {
		p.want("hello")
		p.say(freshWelcome)
		if m := p.want("stop"); m["type"] != "stop" { // nothing is pending
			t.Errorf("%v", m)
		}
		p.stay()
	})
	l := api.Connect(t.Context(), "s", Options{})
	defer l.Close()
	ids := map[string]bool{}
	for range 3 {
		ids[l.Submit("retry_turn", map[string]any{})] = true
	}
	if len(ids) != 3 {
		t.Errorf("ids %v", ids)
	}
	seen := map[string]int{}
	welcomes := 0
	for welcomes < 3 {
		u := next(t, l)
		switch {
		case u.Welcome != nil:
			welcomes++
		case u.Ack != nil:
			seen[u.Ack.Status]++
		case u.Refusal != nil:
			seen[u.Refusal.Code]++
			if len(u.Refusal.Issues) != 1 || u.Refusal.Issues[0] != (Issue{"a", "b"}) {
				t.Errorf("%+v", u.Refusal)
			}
		}
	}
	if seen["accepted"] != 2 || seen["queued"] != 1 || seen["form_rejected"] != 1 || len(seen) != 3 {
		t.Errorf("%v", seen)
	}
	l.Stop()
}

func TestAResetStartsOver(t *testing.T) {
	api := serve(t, func(p *peer) {
		p.want("hello")
		p.say(freshWelcome)
		p.say(`{"type":"system.reset","reason":"slow-consumer"}`)
	}, func(p *peer) {
		if h := p.want("hello"); h["lastSeq"] != nil {
			t.Errorf("hello after a reset: %v", h)
		}
		p.say(freshWelcome)
		p.say(frame("4")) // of another life
		p.stay()
	})
	l := api.Connect(t.Context(), "s", Options{})
	defer l.Close()
	for _, want := range []func(Update) bool{
		func(u Update) bool { return u.Welcome != nil }, func(u Update) bool { return u.Lost != nil }, func(u Update) bool { return u.Welcome != nil },
	} {
		if u := next(t, l); !want(u) {
			t.Fatalf("%+v", u)
		}
	}
}

func TestALinkThatCannotGoOn(t *testing.T) {
	api := serve(t, func(p *peer) { p.stay() })
	l := api.Connect(t.Context(), "gone", Options{})
	if u := next(t, l); u.Gone == nil || !strings.Contains(u.Gone.Error(), "session_not_found") {
		t.Errorf("%+v", u)
	}
	l.Close()

	nobody := New("http://127.0.0.1:1")
	l = nobody.Connect(t.Context(), "s", Options{GiveUp: time.Nanosecond})
	if u := next(t, l); u.Gone == nil || !strings.Contains(u.Gone.Error(), "no server answers") {
		t.Errorf("%+v", u)
	}
	l.Close()

	ctx, cancel := context.WithCancel(t.Context())
	l = nobody.Connect(ctx, "s", Options{})
	if u := next(t, l); u.Lost == nil {
		t.Errorf("%+v", u)
	}
	cancel()
	for range l.Updates() {
	}
	l.Close()
}

// What a server says wrongly ends the connection and not the program.
func TestAServerThatTalksNonsense(t *testing.T) {
	for _, said := range []string{`{`, `[]`, `{"type":7}`, `{"type":"frame","seq":"six"}`, `{"type":"welcome","view":[]}`} {
		api := serve(t, func(p *peer) {
			p.want("hello")
			p.say(said)
			p.stay()
		})
		l := api.Connect(t.Context(), "s", Options{})
		if u := next(t, l); u.Lost == nil {
			t.Errorf("%s: %+v", said, u)
		}
		l.Close()
	}
}

func TestAPIErrors(t *testing.T) {
	answers := map[string]string{
		"/api/health":   `{"status":"ok"}`,
		"/api/worlds":   `{"items":`,
		"/api/sessions": `{"items":[{"id":"s","worldName":"水落"}]}`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte("no tea"))
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	api := New(strings.TrimPrefix(srv.URL, "http://") + "/")
	defer srv.Close()
	defer api.Close()
	if api.Address() != srv.URL {
		t.Error(api.Address())
	}
	ctx := t.Context()
	if _, err := api.Health(ctx); err == nil || !strings.Contains(err.Error(), "no Covel server") {
		t.Error(err)
	}
	if _, err := api.Worlds(ctx, "en"); err == nil || !strings.Contains(err.Error(), "not what a Covel server says") {
		t.Error(err)
	}
	if list, err := api.Sessions(ctx); err != nil || len(list) != 1 || list[0].WorldName != "水落" {
		t.Error(list, err)
	}
	if err := api.Delete(ctx, "../x"); err == nil || !strings.Contains(err.Error(), "418") {
		t.Error(err)
	}
	if _, err := New("http://%zz").Health(ctx); err == nil {
		t.Error("no error for an address that is none")
	}
	b, _ := json.Marshal(Action{Kind: "say", Text: "走"})
	if string(b) != `{"kind":"say","text":"走"}` {
		t.Errorf("%s", b)
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, s := range []string{freshWelcome, resumedWelcome, frame("6"), `{"type":"ack","requestId":"a","status":"queued","n":2}`, `{"type":"error","code":"x","details":{"issues":[{}]}}`, `{"type":"transient","event":{"payload":null}}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		u, reset, err := readMessage(b)
		if err != nil {
			return
		}
		l := &Link{}
		l.take(Update{Frame: u.Frame, Ack: u.Ack, Refusal: u.Refusal}, reset)
	})
}

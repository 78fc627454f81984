package play

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/trace"
	tracememory "github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections/engine"
	readmodels "github.com/covel/covel/projections/sql"
	"github.com/covel/covel/worlds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, nodetest.LeakOptions()...) }

// site is a server under test on a memory log.
type site struct {
	t     *testing.T
	store *memory.Store
	reads *readmodels.ReadModels
	node  *nodetest.Node
	trace *trace.Writer
	http  *httptest.Server
	down  chan struct{}
}

func open(t *testing.T, m model.Provider, more ...registry.Source) *site {
	t.Helper()
	s := &site{t: t, store: memory.New(memory.Options{}), down: make(chan struct{})}
	var err error
	if s.reads, err = readmodels.Open(filepath.Join(t.TempDir(), "read.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.reads.Close() })
	ctx, stop := context.WithCancel(context.Background())
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		engine.Run(ctx, s.store, s.reads, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { stop(); <-reading })
	gen := nodetest.Plugins(t, more...)
	if s.trace, err = trace.NewWriter(t.Context(), &tracememory.Store{}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.trace.Close)
	s.node = nodetest.Start(t, nodetest.Options{Store: s.store, Model: m, Plugins: gen, Trace: s.trace})
	lib, err := worlds.Open()
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(Handler(Config{
		Node: s.node.Node, Worlds: lib, Sessions: s.reads, Trace: s.trace, Plugins: func() *registry.Generation { return gen },
		Version: "test", Storage: "memory", Offline: true, Log: slog.New(slog.DiscardHandler), Shutdown: s.down,
	}))
	t.Cleanup(func() {
		select {
		case <-s.down:
		default:
			close(s.down)
		}
		s.http.Close()
	})
	return s
}

func game() model.Provider {
	return scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})
}

// call makes a request and gives status and body.
func (s *site) call(method, path, body string, header ...string) (int, map[string]any) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]any{}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		var list []any
		for _, line := range bytes.Split(b, []byte("\n\n")) {
			var e map[string]any
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && json.Unmarshal(data, &e) == nil {
				list = append(list, e)
			}
		}
		out["events"] = list
		return res.StatusCode, out
	}
	if err := json.Unmarshal(b, &out); err != nil {
		s.t.Fatalf("%s %s: not a JSON object: %s", method, path, b)
	}
	return res.StatusCode, out
}

// version is how many events a session has.
func (s *site) version(id string) events.Version {
	v, err := s.store.StreamVersion(context.Background(), "session-"+id)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// session makes a session and gives its id.
func (s *site) session(locale string) string {
	s.t.Helper()
	status, body := s.call("POST", "/api/sessions", `{"worldId":"low-water","locale":"`+locale+`"}`)
	if status != http.StatusCreated {
		s.t.Fatalf("create: %d %v", status, body)
	}
	return body["id"].(string)
}

// act posts a command and gives its events.
func (s *site) act(id, requestID, typ, payload string) []map[string]any {
	s.t.Helper()
	status, body := s.call("POST", "/api/actions", `{"requestId":"`+requestID+`","type":"`+typ+`","sessionId":"`+id+`","payload":`+payload+`}`)
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d %v", typ, status, body)
	}
	var out []map[string]any
	for _, e := range body["events"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

// played gives a session that has its opening.
func (s *site) played(locale string) string {
	s.t.Helper()
	id := s.session(locale)
	s.act(id, "p1", "start_session", "{}")
	s.act(id, "p2", "submit_actions", `{"actions":[`+s.formAnswer(id, "陆青云")+`]}`)
	return id
}

func (s *site) formAnswer(id, name string) string {
	s.t.Helper()
	_, view := s.call("GET", "/api/sessions/"+id+"/view", "")
	for _, m := range view["messages"].([]any) {
		list, _ := m.(map[string]any)["interactions"].([]any)
		for _, i := range list {
			q := i.(map[string]any)
			if q["status"] == "open" {
				b, _ := json.Marshal(map[string]any{
					"interaction": map[string]any{"turnId": q["turnId"], "interactionId": q["interactionId"], "type": q["type"]},
					"fields":      map[string]any{"characterName": name},
				})
				return string(b)
			}
		}
	}
	s.t.Fatal("no form is open")
	return ""
}

// socket is a client's connection.
type socketClient struct {
	t  *testing.T
	ws *websocket.Conn
}

func (s *site) dial(id string) *socketClient {
	s.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.http.URL, "http")+"/api/sessions/"+id+"/ws", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = ws.Close() })
	return &socketClient{s.t, ws}
}

func (c *socketClient) send(text string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *socketClient) next() map[string]any {
	c.t.Helper()
	_ = c.ws.SetReadDeadline(time.Now().Add(nodetest.Patience))
	_, b, err := c.ws.ReadMessage()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// until reads messages until one fits, and gives it.
func (c *socketClient) until(fits func(map[string]any) bool) map[string]any {
	c.t.Helper()
	for {
		if m := c.next(); fits(m) {
			return m
		}
	}
}

// holdsEvent fits a frame with an event of a type.
func holdsEvent(typ string) func(map[string]any) bool {
	return func(m map[string]any) bool {
		list, _ := m["events"].([]any)
		for _, e := range list {
			if e.(map[string]any)["type"] == typ {
				return true
			}
		}
		return false
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/events"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/gateway/play"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
)

// patience bounds every wait: a test that hangs says where.
const patience = 60 * time.Second

// Environment of a child: run the program, and die at an append.
const (
	asProgram = "COVEL_TEST_MAIN"
	killAt    = "COVEL_TEST_KILL" // before|after:TYPE:N, the Nth append that holds an event of the type
)

// TestMain lets the test binary be the program itself, so that the program under test is built like the tests (-race too)
// and can be killed.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if at := os.Getenv(killAt); at != "" {
			wrapStore = func(s events.Store) events.Store { return newKiller(s, at) }
		}
		main()
		os.Exit(0)
	}
	for _, v := range os.Environ() { // what the machine is set to is no business of the tests
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "COVEL_") || name == "STORE_BACKEND" || name == "OPENAI_API_KEY" {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// killer ends its own process with SIGKILL before or after an append.
type killer struct {
	events.Store
	after bool
	typ   string
	left  atomic.Int64
}

func newKiller(s events.Store, at string) *killer {
	parts := strings.Split(at, ":")
	n, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if len(parts) != 3 || err != nil {
		panic("bad " + killAt + " " + at)
	}
	k := &killer{Store: s, after: parts[0] == "after", typ: parts[1]}
	k.left.Store(n)
	return k
}

func (k *killer) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	due := false
	for _, ev := range evs {
		if ev.Type == k.typ {
			due = k.left.Add(-1) == 0
		}
	}
	if due && !k.after {
		dieNow()
	}
	done, err := k.Store.Append(ctx, stream, expected, evs)
	if due && err == nil {
		dieNow()
	}
	return done, err
}

func dieNow() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// program is the real program in a process of its own, serving.
type program struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string
	api    *client.API
	ended  chan struct{}
	stderr bytes.Buffer
}

// command is the program with arguments and more environment.
func command(args []string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), append(env, asProgram+"=1")...)
	return cmd
}

// startProgram serves a data folder with a scripted model, on a free port.
func startProgram(t testing.TB, data, script string, env ...string) *program {
	t.Helper()
	return startProgramAt(t, "127.0.0.1:0", data, script, env...)
}

func startProgramAt(t testing.TB, addr, data, script string, env ...string) *program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.txt")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, ended: make(chan struct{})}
	p.cmd = command([]string{"serve", "--addr", addr, "--data", data, "--home", filepath.Join(data, "home"), "--model", "scripted:" + file}, env...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, url, ok := strings.Cut(lines.Text(), "Covel is ready: "); ok {
				ready <- url
			}
		}
		_ = p.cmd.Wait()
		close(ready)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	select {
	case url, ok := <-ready:
		if !ok {
			t.Fatalf("the program ended: %s", p.stderr.String())
		}
		p.url, p.api = url, client.New(url)
	case <-time.After(patience):
		t.Fatal("the program does not become ready")
	}
	return p
}

// kill ends the program at once; gone waits until it has ended by itself.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	p.gone()
}

func (p *program) gone() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.api.Close()
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
}

// term ends the program in order.
func (p *program) term() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.gone()
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Fatalf("the program ended with %d: %s", code, p.stderr.String())
	}
}

// testServer is the server in this process, on a data folder.
type testServer struct {
	*server
	api *client.API
}

// startServer serves a data folder with a model and what plugins are given beside the bundled ones; it is stopped at the end of the test, or before by stop.
func startServer(t testing.TB, data string, m model.Provider, more ...registry.Source) *testServer {
	t.Helper()
	s, err := openServer(t.Context(), serverConfig{
		addr: "127.0.0.1:0", appConfig: appConfig{home: filepath.Join(data, "home"), data: data, backend: "sqlite", model: m, plugins: more, log: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ts := &testServer{s, client.New(s.url)}
	t.Cleanup(func() { ts.stop(t) })
	return ts
}

func (s *testServer) stop(t testing.TB) {
	t.Helper()
	if s.server == nil {
		return
	}
	s.api.Close()
	if err := s.close(); err != nil {
		t.Errorf("stop: %v", err)
	}
	s.server = nil
}

// bundledGame is a model that answers everything at once.
func bundledGame() *scripted.Model {
	return scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})
}

// message is anything a server says over the socket.
type message struct {
	Type        string          `json:"type"`
	RequestID   string          `json:"requestId"`
	Status      string          `json:"status"`
	Version     uint64          `json:"version"`
	ExecutionID string          `json:"executionId"`
	Repeat      bool            `json:"repeat"`
	Code        string          `json:"code"`
	Error       string          `json:"error"`
	Reason      string          `json:"reason"`
	Seq         uint64          `json:"seq"`
	LastID      string          `json:"lastId"`
	Incarnation string          `json:"incarnation"`
	Resumed     bool            `json:"resumed"`
	View        *play.View      `json:"view"`
	Running     *play.Running   `json:"running"`
	N           uint64          `json:"n"`
	Events      []client.Event  `json:"events"`
	Event       client.Event    `json:"event"`
	Frames      []client.Frame  `json:"frames"`
	Details     json.RawMessage `json:"details"`
}

// socket is a client that hides nothing.
type socket struct {
	t  testing.TB
	ws *websocket.Conn
}

func dial(t testing.TB, url, session string) *socket {
	t.Helper()
	ws, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/api/sessions/"+session+"/ws", nil)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	_ = res.Body.Close()
	t.Cleanup(func() { _ = ws.Close() })
	return &socket{t, ws}
}

// join dials, says hello and gives the welcome.
func join(t testing.TB, url, session string) (*socket, message) {
	t.Helper()
	s := dial(t, url, session)
	s.send(map[string]any{"type": "hello"})
	return s, s.next()
}

func (s *socket) close() { _ = s.ws.Close() }

func (s *socket) send(v any) {
	s.t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.ws.WriteMessage(websocket.TextMessage, b); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

func (s *socket) read() (m message, err error) {
	_ = s.ws.SetReadDeadline(time.Now().Add(patience))
	_, b, err := s.ws.ReadMessage()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}

func (s *socket) next() message {
	s.t.Helper()
	m, err := s.read()
	if err != nil {
		s.t.Fatalf("read: %v", err)
	}
	return m
}

// until reads until a message fits, and gives all that were read.
func (s *socket) until(what string, fits func(message) bool) []message {
	s.t.Helper()
	var all []message
	for {
		m, err := s.read()
		if err != nil {
			s.t.Fatalf("waiting for %s after %d messages: %v", what, len(all), err)
		}
		all = append(all, m)
		if fits(m) {
			return all
		}
	}
}

// has finds a committed event in a frame.
func (m message) has(typ string) (client.Event, bool) {
	for _, e := range m.Events {
		if m.Type == "frame" && e.Type == typ {
			return e, true
		}
	}
	return client.Event{}, false
}

func (m message) is(transient string) bool { return m.Type == "transient" && m.Event.Type == transient }

// ended says whether a frame ends a request.
func ended(request string) func(message) bool {
	return func(m message) bool {
		e, ok := m.has("execution.completed")
		return ok && e.RequestID == request
	}
}

func committed(t testing.TB, m message) bool {
	t.Helper()
	e, ok := m.has("execution.completed")
	if !ok {
		t.Fatalf("no end in %+v", m)
	}
	var p struct{ Committed bool }
	if err := e.Into(&p); err != nil {
		t.Fatal(err)
	}
	return p.Committed
}

// commands of a player.
func startSession(request string) map[string]any {
	return map[string]any{"type": kernel.StartSession, "requestId": request, "payload": map[string]any{}}
}

func retryTurn(request string) map[string]any {
	return map[string]any{"type": kernel.RetryTurn, "requestId": request, "payload": map[string]any{}}
}

func say(request, text string) map[string]any {
	return map[string]any{"type": kernel.SubmitActions, "requestId": request, "payload": map[string]any{"actions": []any{map[string]any{"kind": "say", "text": text}}}}
}

func answer(t testing.TB, request string, v *play.View, fields map[string]any) map[string]any {
	t.Helper()
	for _, m := range v.Messages {
		for _, i := range m.Interactions {
			if i.Status == projections.InteractionOpen {
				ref := map[string]any{"turnId": i.TurnID, "interactionId": i.InteractionID, "type": i.Type}
				return map[string]any{"type": kernel.SubmitActions, "requestId": request, "payload": map[string]any{"actions": []any{map[string]any{"interaction": ref, "fields": fields}}}}
			}
		}
	}
	t.Fatal("no question is open")
	return nil
}

// do sends a command and waits for the end of its request, which must commit.
func (s *socket) do(command map[string]any) []message {
	s.t.Helper()
	s.send(command)
	id := command["requestId"].(string)
	all := s.until("the end of "+id, func(m message) bool {
		if m.Type == "error" {
			s.t.Fatalf("%s was refused: %s %s %s", id, m.Code, m.Error, m.Details)
		}
		return ended(id)(m)
	})
	if !committed(s.t, all[len(all)-1]) {
		s.t.Fatalf("%s did not commit: %s", id, all[len(all)-1].Events[len(all[len(all)-1].Events)-1].Payload)
	}
	return all
}

// open starts a session and brings it to its form.
func open(t testing.TB, url, id string) *socket {
	t.Helper()
	if err := create(t, url, id, "en"); err != nil {
		t.Fatal(err)
	}
	s, _ := join(t, url, id)
	s.do(startSession("start"))
	return s
}

// playing brings a new session to its opening.
func playing(t testing.TB, url, id, name string) *socket {
	t.Helper()
	s := open(t, url, id)
	s.do(answer(t, "form", view(t, url, id), map[string]any{"characterName": name}))
	return s
}

func create(t testing.TB, url, id, locale string) error {
	t.Helper()
	status, body := post(t, url+"/api/sessions", "application/json", fmt.Sprintf(`{"worldId":"low-water","id":%q,"locale":%q}`, id, locale))
	if status != http.StatusCreated {
		return fmt.Errorf("create: %d %s", status, body)
	}
	return nil
}

func post(t testing.TB, url, contentType, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func get(t testing.TB, url string, into any) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatalf("%s: %v: %s", url, err, b)
		}
	}
	return res.StatusCode
}

func view(t testing.TB, url, id string) *play.View {
	t.Helper()
	var v play.View
	if status := get(t, url+"/api/sessions/"+id+"/view", &v); status != http.StatusOK {
		t.Fatalf("view of %s: %d", id, status)
	}
	return &v
}

// lines are the player's lines in the history.
func lines(v *play.View) (out []string) {
	for _, m := range v.Messages {
		if m.Role == projections.RoleUser {
			out = append(out, m.Text)
		}
	}
	return out
}

// stored reads the events of a session from the data folder, beside whoever writes it.
func stored(t testing.TB, data, id string) []events.Recorded {
	t.Helper()
	store, err := readLog(data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var out []events.Recorded
	for r, err := range store.ReadStream(t.Context(), kernel.StreamOf(id), 1) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// closed waits until no execution of a session is open in the log, and gives the fold. It asks the server for nothing.
func closed(t testing.TB, data, id string) projections.State {
	t.Helper()
	store, err := readLog(data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	head, err := store.StreamVersion(t.Context(), kernel.StreamOf(id))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var state projections.State
	for r, err := range store.SubscribeStream(ctx, kernel.StreamOf(id), 0) {
		if err != nil {
			t.Fatalf("waiting for the end of %+v: %v", state.Session.Open, err)
		}
		if state, err = projections.Apply(state, r); err != nil {
			t.Fatal(err)
		}
		if state.Version >= head && state.Session.Open == nil && uint64(r.Version) >= r.Metadata.GetAppendEnd() {
			return state
		}
	}
	t.Fatal("the log ended")
	return state
}

// run executes a command line in this process.
func run(t testing.TB, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := root()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SetIn(strings.NewReader(""))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = c.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

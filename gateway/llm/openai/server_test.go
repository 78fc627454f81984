package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/gateway/llm/openai"
	"github.com/covel/covel/gateway/llm/secret"
	"github.com/covel/covel/kernel/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-龙胆-0123456789"

// fake is a server on loopback that answers as the test says and keeps what it was asked.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []json.RawMessage
	heads  []http.Header
}

func serve(t *testing.T, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.bodies = append(f.bodies, body)
		f.heads = append(f.heads, r.Header)
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// asked gives the only request that came, decoded.
func (f *fake) asked(t *testing.T) map[string]any {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.bodies) != 1 {
		t.Fatalf("the server got %d requests, want 1", len(f.bodies))
	}
	var out map[string]any
	if err := json.Unmarshal(f.bodies[0], &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fake) provider(t *testing.T) *openai.Provider {
	t.Helper()
	p, err := openai.New(openai.Options{BaseURL: f.URL + "/v1", Model: "test-model", Key: secret.New(testKey)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// sse answers 200 with these bytes, flushed one write at a time, and then ends the body properly.
func sse(writes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		for _, s := range writes {
			_, _ = io.WriteString(w, s)
			w.(http.Flusher).Flush()
		}
	}
}

// cutOff answers like sse but closes the TCP connection in the middle of the body.
func cutOff(writes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000000\r\n\r\n")
		_ = buf.Flush()
		for _, s := range writes {
			_, _ = buf.WriteString(s)
			_ = buf.Flush()
		}
	}
}

func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

const done = "data: [DONE]\n\n"

// frame is one chat completion chunk with the given delta and finish reason ("" for none).
func frame(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":` + reason + "}]}\n\n"
}

// say is a chunk of text, quoted without escaping anything but what JSON demands.
func say(text string) string {
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)
	return frame(`{"content":`+strings.TrimSpace(quoted.String())+`}`, "")
}

func words(n int) string {
	var out strings.Builder
	for range n {
		out.WriteString(say("字 "))
	}
	return out.String()
}

// listen runs one streamed request and collects its deltas.
func listen(ctx context.Context, p model.Provider, req model.Request) (model.Reply, []model.Delta, error) {
	req.Stream = true
	if req.Messages == nil {
		req.Messages = []model.Message{{Role: model.User, Content: "(Begin.)"}}
	}
	var deltas []model.Delta
	reply, err := p.Generate(ctx, req, func(d model.Delta) { deltas = append(deltas, d) })
	return reply, deltas, err
}

func textOf(deltas []model.Delta) string {
	var out strings.Builder
	for _, d := range deltas {
		out.WriteString(d.Text)
	}
	return out.String()
}

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/openai"
	"github.com/covel/covel/gateway/llm/secret"
	"github.com/covel/covel/kernel/model"
)

func mustFail(t *testing.T, err error, kind model.ErrorKind, status int, message string) *model.Error {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %T %v, want a *model.Error", err, err)
	}
	if failed.Kind != kind || failed.Status != status || !strings.Contains(failed.Message, message) {
		t.Errorf("got %s, status %d, %q; want %s, status %d, …%q…", failed.Kind, failed.Status, failed.Message, kind, status, message)
	}
	if shown := fmt.Sprintf("%v %+v %#v", failed, failed, *failed); strings.Contains(shown, testKey) || strings.Contains(shown, "0123456789") {
		t.Errorf("the failure shows the key: %s", shown)
	}
	return failed
}

// Fault case BL-03.
func TestStreamThatEndsBadly(t *testing.T) {
	overloaded := `data: {"error":{"message":"The engine is overloaded 请稍后","type":"overloaded_error","code":null}}` + "\n\n"
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		kind    model.ErrorKind
		status  int
		message string
		text    string
	}{
		{"BL-03.1: 40 deltas, then an error frame", sse(words(40), overloaded), model.Interrupted, 0, "The engine is overloaded 请稍后", strings.Repeat("字 ", 40)},
		{"BL-03.1 with a status in the frame", sse(words(40), `data: {"error":{"message":"Upstream died","code":502}}`+"\n\n"), model.Interrupted, 502, "Upstream died", strings.Repeat("字 ", 40)},
		{"BL-03.2: 40 deltas, then the connection closes", cutOff(words(40)), model.Interrupted, 0, "unexpected EOF", strings.Repeat("字 ", 40)},
		{"BL-03.2 with a proper end of the body", sse(words(40)), model.Interrupted, 0, "without an end mark", strings.Repeat("字 ", 40)},
		{"cut inside a frame", cutOff(words(2), say("停")[:90]), model.Interrupted, 0, "unexpected EOF", "字 字 "},
		{"cut inside a character", cutOff(words(1), frame("{\"content\":\"\xe9\xbe\"}", "")), model.Interrupted, 0, "unexpected EOF", "字 "},
		{"a frame that is not JSON", sse(words(1), "data: {oops\n\n"), model.Interrupted, 0, "not a chat completion chunk", "字 "},
		{"BL-03.3: 200 with an empty body", sse(), model.Empty, 0, "nothing in it", ""},
		{"200, not one byte, cut", cutOff(), model.Transient, 0, "unexpected EOF", ""},
		{"only the end mark", sse(done), model.Empty, 0, "without any text", ""},
		{"role and finish but no text", sse(frame(`{"role":"assistant","content":""}`, ""), frame(`{}`, "stop"), done), model.Empty, 0, "without any text", ""},
		{"only comments", sse(": keep-alive\n\n", ": keep-alive\n\n"), model.Empty, 0, "nothing in it", ""},
		{"BL-03.4: the error frame first", sse(overloaded), model.Transient, 0, "The engine is overloaded 请稍后", ""},
		{"error frame first: rate limit", sse(`data: {"error":{"message":"slow down","code":"rate_limit_exceeded"}}` + "\n\n"), model.RateLimited, 0, "slow down", ""},
		{"error frame first: 429 as number", sse(`data: {"error":{"message":"slow down","code":429}}` + "\n\n"), model.RateLimited, 429, "slow down", ""},
		{"error frame first: quota", sse(`data: {"error":{"message":"pay","type":"insufficient_quota","code":429}}` + "\n\n"), model.Permanent, 429, "pay", ""},
		{"error frame first: bad request", sse(`data: {"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}` + "\n\n"), model.Overflow, 0, "too long", ""},
		{"a context that is too long, by its words", status(400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000"}}`), model.Overflow, 400, "8192 tokens", ""},
		{"the same in other words", status(400, `{"error":{"message":"the request exceeds the available context size"}}`), model.Overflow, 400, "context size", ""},
		{"a bad request about something else", status(400, `{"error":{"message":"context must be a string"}}`), model.Permanent, 400, "must be a string", ""},
		{"error event without error member", sse("event: error\ndata: {\"message\":\"no capacity\"}\n\n"), model.Transient, 0, "no capacity", ""},
		{"error as text", sse(`data: {"error":"model crashed"}` + "\n\n"), model.Transient, 0, "model crashed", ""},
		{"error as JSON body instead of a stream", status(200, `{"error":{"message":"no such model","code":404}}`), model.Permanent, 404, "no such model", ""},
		{"a call that breaks off can be tried again", sse(part(0, "a", "take", rope[:5])), model.Transient, 0, "without an end mark", ""},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html><body>Log in</body></html>")
		}, model.Permanent, 0, "check the base URL", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, deltas, err := listen(context.Background(), serve(t, c.answer).provider(t), model.Request{})
			mustFail(t, err, c.kind, c.status, c.message)
			if textOf(deltas) != c.text || reply.Text != c.text {
				t.Errorf("deltas %q, reply %q, want %q", textOf(deltas), reply.Text, c.text)
			}
			if len(reply.ToolCalls) != 0 {
				t.Errorf("a broken answer has calls: %+v", reply.ToolCalls)
			}
		})
	}
}

func TestRefusedByStatus(t *testing.T) {
	const plain = `{"error":{"message":"no 陆青云","type":"t","code":"c"}}`
	for _, c := range []struct {
		name    string
		code    int
		body    string
		kind    model.ErrorKind
		message string
	}{
		{"429", 429, plain, model.RateLimited, "no 陆青云"},
		{"429 that is a quota (BL-04.5)", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.Permanent, "current quota"},
		{"402", 402, plain, model.Permanent, "no 陆青云"},
		{"400", 400, plain, model.Permanent, "no 陆青云"},
		{"401", 401, plain, model.Permanent, "no 陆青云"},
		{"404 with a bare message", 404, `{"error":"model 'x' not found"}`, model.Permanent, "model 'x' not found"},
		{"408", 408, plain, model.Transient, "no 陆青云"},
		{"422 with detail", 422, `{"detail":"bad schema"}`, model.Permanent, "bad schema"},
		{"500", 500, plain, model.Transient, "no 陆青云"},
		{"502 with a web page", 502, `<html>nginx</html>`, model.Transient, "Bad Gateway"},
		{"503 with nothing", 503, ``, model.Transient, "Service Unavailable"},
		{"503 with text", 503, `upstream connect error`, model.Transient, "upstream connect error"},
		{"529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Transient, "Overloaded"},
		{"an error in a list", 400, `[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`, model.Permanent, "API key not valid"},
		{"a message without end", 500, strings.Repeat("长", 1<<20), model.Transient, "长长"},
		{"invalid UTF-8", 500, "bad \xff\x00 bytes", model.Transient, "bad \uFFFD\uFFFD bytes"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", c.name, stream), func(t *testing.T) {
				f := serve(t, status(c.code, c.body))
				_, err := f.provider(t).Generate(context.Background(), model.Request{Stream: stream}, nil)
				failed := mustFail(t, err, c.kind, c.code, c.message)
				if n := len([]rune(failed.Message)); n > 1001 {
					t.Errorf("the message has %d characters", n)
				}
				f.asked(t) // exactly one request: the library must not retry
			})
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7":                             7 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"Wed, 21 Oct 2099 07:28:00 GMT": time.Hour, // BL-04.3
		"Wed, 21 Oct 2099":              0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0,
		"-5":                            0,
		"99999999999999999999":          time.Hour,
		"NaN":                           0,
		"+Inf":                          time.Hour,
		"soon":                          0,
		"":                              0,
	} {
		f := serve(t, status(429, `{"error":{"message":"slow down"}}`, "Retry-After", header))
		_, _, err := listen(context.Background(), f.provider(t), model.Request{})
		if got := mustFail(t, err, model.RateLimited, 429, "slow down").RetryAfter; got != want {
			t.Errorf("Retry-After %q: got %s, want %s", header, got, want)
		}
	}
	f := serve(t, status(503, `{}`, "Retry-After-Ms", "250", "Retry-After", "9"))
	_, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if got := mustFail(t, err, model.Transient, 503, "").RetryAfter; got != 250*time.Millisecond {
		t.Errorf("Retry-After-Ms: got %s", got)
	}
}

func TestRetryAfterDateInTheNearFuture(t *testing.T) {
	at := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	f := serve(t, status(429, `{}`, "Retry-After", at))
	_, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if got := mustFail(t, err, model.RateLimited, 429, "").RetryAfter; got <= 0 || got > 90*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestKeyThatTheServerEchoes(t *testing.T) {
	echo := func(code int, stream bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			message, _ := json.Marshal("bad header " + r.Header.Get("Authorization"))
			body := `{"error":{"message":` + string(message) + `,"code":"invalid_api_key"}}`
			if stream {
				body = "data: " + body + "\n\n"
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	_, _, err := listen(context.Background(), serve(t, echo(401, false)).provider(t), model.Request{})
	mustFail(t, err, model.Permanent, 401, "bad header Bearer [secret]")
	_, _, err = listen(context.Background(), serve(t, echo(200, true)).provider(t), model.Request{})
	mustFail(t, err, model.Permanent, 0, "bad header Bearer [secret]")
}

func TestServerThatIsNotThere(t *testing.T) {
	f := serve(t, status(200, ``))
	f.Close()
	_, _, err := listen(context.Background(), f.provider(t), model.Request{})
	failed := mustFail(t, err, model.Transient, 0, "could not be reached")
	if strings.Contains(failed.Message, "/chat/completions") {
		t.Errorf("the message holds the address: %q", failed.Message)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no model":   {BaseURL: "http://127.0.0.1:1/v1"},
		"no scheme":  {Model: "m", BaseURL: "localhost:1234/v1"},
		"file":       {Model: "m", BaseURL: "file:///etc"},
		"no host":    {Model: "m", BaseURL: "http:///v1"},
		"user":       {Model: "m", BaseURL: "http://me:" + "0123456789" + "@host/v1"},
		"query":      {Model: "m", BaseURL: "http://host/v1?key=0123456789"},
		"no URL":     {Model: "m", BaseURL: "http://host:port/0123456789"},
		"blank name": {Model: " "},
	} {
		o.Key = secret.New(testKey)
		_, err := openai.New(o)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}

func TestAnswerWithoutEnd(t *testing.T) {
	junk := ": " + strings.Repeat("x", 1<<20) + "\n"
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, junk); err != nil {
				return
			}
		}
	})
	_, _, err := listen(context.Background(), f.provider(t), model.Request{})
	mustFail(t, err, model.Permanent, 0, "longer than 64 MiB")
}

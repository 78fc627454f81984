package openai

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/model"
)

// A server that says it is done but keeps the stream open is not waited for long.
func TestAStreamThatStaysOpenAfterItsEnd(t *testing.T) {
	const (
		text   = `data: {"choices":[{"index":0,"delta":{"content":"雨"}}]}` + "\n\n"
		finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		usage  = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}` + "\n\n"
		end    = "data: [DONE]\n\n"
	)
	for name, c := range map[string]struct {
		frames []string // a second apart
		after  time.Duration
		usage  int
		text   string
	}{
		"finish, then nothing":        {[]string{text, finish}, 2*time.Second + afterFinish, 0, "雨"},
		"finish, then late usage":     {[]string{text, finish, usage}, 2*time.Second + afterFinish, 9, "雨"},
		"finish, usage, end":          {[]string{text, finish + usage, end}, 3*time.Second + afterEnd, 9, "雨"},
		"an end that comes without":   {[]string{text, end}, 2*time.Second + afterEnd, 0, "雨"},
		"what comes after the end":    {[]string{text, end + text}, 2*time.Second + afterEnd, 0, "雨"},
		"no end while text is coming": {[]string{text, text, text, text, text, end}, 6*time.Second + afterEnd, 0, "雨雨雨雨雨"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				body, server := io.Pipe()
				cancel := func() { _ = body.CloseWithError(context.Canceled) }
				safego.Go("server", func() {
					for _, f := range c.frames {
						time.Sleep(time.Second)
						_, _ = io.WriteString(server, f)
					}
				})
				a := newAnswer(model.Request{Stream: true}, nil)
				start := time.Now()
				failed := (&Provider{}).readStream(ctx, cancel, &http.Response{Header: http.Header{}, Body: body}, a)
				if failed != nil {
					t.Fatal(failed)
				}
				if after := time.Since(start); after != c.after {
					t.Errorf("ended after %s, want %s", after, c.after)
				}
				if got := a.reply(); got.FinishReason != model.FinishStop || got.Usage.InputTokens != c.usage || got.Text != c.text {
					t.Errorf("got %+v", got)
				}
				cancel()
			})
		})
	}
}

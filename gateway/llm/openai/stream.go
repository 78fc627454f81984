package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

const (
	maxAnswer = 64 << 20 // bytes of one answer on the wire
	maxRefuse = 64 << 10 // bytes read of an error body
	// How long a stream may stay open after the finish reason (the usage is still to come) and after the end mark (only the
	// end of the body is, and reading it lets the connection serve the next call).
	afterFinish = 2 * time.Second
	afterEnd    = 100 * time.Millisecond
)

var errTooLong = errors.New("the answer is longer than 64 MiB")

// boundBody keeps a hostile server from filling the memory.
func boundBody(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res == nil || res.Body == nil {
		return res, err
	}
	if res.StatusCode >= 400 {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxRefuse), res.Body}
	} else {
		res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer}
	}
	return res, nil
}

type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func mediaType(res *http.Response) string {
	t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

func isJSON(res *http.Response) bool {
	t := mediaType(res)
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

// readStream reads frames until the end mark. It returns nil when the answer is whole. cancel ends the call's own
// context, not the caller's.
func (p *Provider) readStream(ctx context.Context, cancel context.CancelFunc, res *http.Response, a *answer) *model.Error {
	closing := time.AfterFunc(time.Hour, cancel)
	closing.Stop()
	defer closing.Stop()
	frames := ssestream.NewDecoder(res)
	for frames.Next() {
		event := frames.Event()
		data := bytes.TrimSpace(event.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			a.ended = true
			closing.Reset(afterEnd)
		} else if len(data) > 0 && !a.ended {
			if failure, ok := frameFailure(event.Type, data); ok {
				return p.broken(a, failure)
			}
			var chunk sdk.ChatCompletionChunk
			if err := json.Unmarshal(data, &chunk); err != nil {
				return p.broken(a, refusal{message: "the stream holds a frame that is not a chat completion chunk"})
			}
			finished := a.whole()
			a.chunk(chunk)
			if a.whole() && !finished {
				closing.Reset(afterFinish)
			}
		}
	}
	if ctx.Err() != nil {
		return failure.Ended(ctx)
	}
	if a.whole() { // whatever happened after the end does not matter
		a.end()
		return nil
	}
	if err := frames.Err(); errors.Is(err, errTooLong) {
		return p.fail(model.Permanent, refusal{message: err.Error()})
	} else if err != nil {
		return p.broken(a, refusal{message: "the stream broke: " + err.Error()})
	}
	if t := mediaType(res); t == "text/html" {
		return &model.Error{Kind: model.Permanent, Message: "the server answered with a web page: check the base URL"}
	}
	if a.said.Len() == 0 && a.calls.list == nil {
		return &model.Error{Kind: model.Empty, Message: "the stream ended with nothing in it"}
	}
	return p.broken(a, refusal{message: "the stream ended without an end mark"})
}

// readWhole reads an answer that comes in one piece.
func (p *Provider) readWhole(ctx context.Context, res *http.Response, a *answer) *model.Error {
	body, err := io.ReadAll(res.Body)
	switch {
	case ctx.Err() != nil:
		return failure.Ended(ctx)
	case errors.Is(err, errTooLong):
		return p.fail(model.Permanent, refusal{message: err.Error()})
	case err != nil:
		return p.broken(a, refusal{message: "the answer broke off: " + err.Error()})
	case len(bytes.TrimSpace(body)) == 0:
		return &model.Error{Kind: model.Empty, Message: "the server answered with an empty body"}
	}
	if failure, ok := frameFailure("", body); ok {
		return p.broken(a, failure)
	}
	var completion sdk.ChatCompletion
	if err := json.Unmarshal(body, &completion); err != nil {
		return &model.Error{Kind: model.Permanent, Message: "the server's answer is not a chat completion: check the base URL"}
	}
	a.completion(completion)
	return nil
}

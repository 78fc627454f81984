package openai

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

const (
	maxMessage    = 1000 // characters of a provider's message that we keep
	maxRetryAfter = time.Hour
)

// refusal is what a server said when it did not answer.
type refusal struct {
	status   int    // 0 when unknown
	code     string // "code" of the error object, a word or a number
	category string // its "type"
	message  string
}

// refused sorts a call that brought no answer at all: the server refused it, or it was not reached.
func (p *Provider) refused(ctx context.Context, res *http.Response, err error) *model.Error {
	if ctx.Err() != nil {
		return failure.Ended(ctx)
	}
	if res != nil && res.StatusCode >= 400 {
		// The library has put the body back for us. Its own error carries the request with its key, so it ends here.
		body, _ := io.ReadAll(res.Body)
		r := readRefusal(body)
		r.status = res.StatusCode
		if r.message == "" {
			r.message = http.StatusText(res.StatusCode)
		}
		failed := p.fail(kindOf(r), r)
		if failed.Kind == model.RateLimited || failed.Kind == model.Transient {
			failed.RetryAfter = retryAfter(res.Header, time.Now())
		}
		return failed
	}
	// url.Error repeats the address; the reason is inside.
	var located *url.Error
	if !errors.As(err, &located) {
		return p.fail(model.Permanent, refusal{message: err.Error()})
	}
	kind := model.Transient
	var network net.Error
	if errors.As(located.Err, &network) && network.Timeout() {
		kind = model.Timeout
	}
	if strings.Contains(located.Err.Error(), "x509:") || strings.Contains(located.Err.Error(), "tls: ") {
		kind = model.Permanent
	}
	return p.fail(kind, refusal{message: "the server could not be reached: " + located.Err.Error()})
}

// broken sorts an answer that stopped: once text was given out it cannot be taken back, so it is Interrupted.
func (p *Provider) broken(a *answer, r refusal) *model.Error {
	if a.said.Len() > 0 {
		return p.fail(model.Interrupted, r)
	}
	return p.fail(kindOf(r), r)
}

func (p *Provider) fail(kind model.ErrorKind, r refusal) *model.Error {
	message := []rune(text.Clean(p.key.Scrub(r.message)))
	if len(message) > maxMessage {
		message = append(message[:maxMessage], '…')
	}
	return &model.Error{Kind: kind, Status: r.status, Message: string(message)}
}

// frameFailure finds an error inside a 200: {"error": …} in a frame or body, or an SSE event named error.
func frameFailure(event string, data []byte) (refusal, bool) {
	found := gjson.GetBytes(data, "error")
	if event != "error" && (!found.Exists() || found.Type == gjson.Null || found.Type == gjson.False) {
		return refusal{}, false
	}
	r := readRefusal(data)
	if status, err := strconv.Atoi(r.code); err == nil && status >= 400 && status < 600 {
		r.status = status
	}
	if r.message == "" {
		r.message = "the server sent an error without a message"
	}
	return r, true
}

// readRefusal reads the forms in which compatible servers say no: OpenAI's {"error":{message,type,code}}, a plain
// {"error":"…"}, {"message":"…"}, {"detail":"…"}, or a line of text. A web page says nothing.
func readRefusal(body []byte) refusal {
	said := strings.TrimSpace(string(body))
	if !json.Valid(body) {
		if strings.HasPrefix(said, "<") {
			return refusal{}
		}
		return refusal{message: said}
	}
	for _, path := range []string{"error", "0.error", "@this"} {
		e := gjson.Get(said, path)
		if e.Type == gjson.String {
			return refusal{message: e.String()}
		}
		if !e.IsObject() {
			continue
		}
		r := refusal{code: e.Get("code").String(), category: e.Get("type").String()}
		for _, member := range []string{"message", "detail", "type", "code"} {
			if r.message == "" {
				r.message = e.Get(member).String()
			}
		}
		return r
	}
	return refusal{}
}

// tooLong are the words of servers that have no code for a request beyond the model's window.
var tooLong = regexp.MustCompile(`(?i)maximum context length|context (length|window|size).{0,40}(exceed|too (long|large|small))|(exceed|larger than).{0,40}context (length|window|size)|prompt is too long`)

// kindOf sorts by status, and where there is none, by the words in the error object.
func kindOf(r refusal) model.ErrorKind {
	code := strings.ToLower(r.code + " " + r.category)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(code, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length") || r.status >= 400 && r.status < 500 && tooLong.MatchString(r.message):
		return model.Overflow
	case has("insufficient_quota", "billing", "insufficient_balance"):
		return model.Permanent // comes as 429, but waiting does not fill an account
	case r.status == http.StatusTooManyRequests, r.status == 0 && has("rate_limit", "too_many_requests"):
		return model.RateLimited
	case r.status == http.StatusRequestTimeout, r.status == http.StatusConflict, r.status == http.StatusTooEarly:
		return model.Transient
	case r.status >= 400 && r.status < 500:
		return model.Permanent
	case r.status == 0 && has("invalid", "authentication", "permission", "not_found", "unsupported", "content_policy"):
		return model.Permanent
	}
	return model.Transient
}

// retryAfter reads how long the server asks to wait: milliseconds, seconds or a date. Past and unreadable values are 0,
// absurd ones are capped at an hour; how long is really waited is decided by the loop and its actor.
func retryAfter(h http.Header, now time.Time) time.Duration {
	wait := time.Duration(0)
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = capped(ms / 1000)
	} else if after := strings.TrimSpace(h.Get("Retry-After")); after == "" {
		return 0
	} else if s, err := strconv.ParseFloat(after, 64); err == nil {
		wait = capped(s)
	} else if at, err := http.ParseTime(after); err == nil {
		wait = min(at.Sub(now), maxRetryAfter)
	}
	return max(wait, 0)
}

// capped turns seconds into a duration without overflow; NaN is 0.
func capped(seconds float64) time.Duration {
	switch {
	case seconds >= maxRetryAfter.Seconds():
		return maxRetryAfter
	case seconds > 0:
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}

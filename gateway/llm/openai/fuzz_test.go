package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/covel/covel/gateway/llm/secret"
	"github.com/covel/covel/kernel/model"
)

func clean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Whatever a server sends: no panic, only clean text, the reply is the sum of the deltas, and the key stays inside.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"龍\\ud83d\"}}]}\n\ndata: [DONE]\n\n"), true)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"arguments\":{}}}]},\"finish_reason\":\"stop\"}]}\n\n"), true)
	f.Add([]byte("data: {\"error\":{\"message\":[\"x\"],\"code\":\"429\"}}\n\n"), false)
	f.Add([]byte("event: error\ndata: sk-fuzz-0123\n\n"), true)
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}`), false)
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		p := &Provider{key: secret.New("sk-fuzz-0123")}
		res := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body)))}
		var text strings.Builder
		a := newAnswer(model.Request{ResponseFormat: &model.ResponseFormat{}}, func(d model.Delta) {
			if !clean(d.Text) || !clean(d.Reasoning) {
				t.Fatalf("delta %+q", d)
			}
			text.WriteString(d.Text)
		})
		var failed *model.Error
		if stream {
			failed = p.readStream(context.Background(), func() {}, res, a)
		} else {
			failed = p.readWhole(context.Background(), res, a)
		}
		reply := a.reply()
		if failed == nil && !a.whole() {
			t.Fatal("an answer without an end was taken for whole")
		}
		if failed != nil && (!clean(failed.Message) || strings.Contains(failed.Message, "sk-fuzz-0123")) {
			t.Fatalf("message %+q", failed.Message)
		}
		if !clean(reply.Text) || reply.Text != text.String() && a.refusal.Len() == 0 {
			t.Fatalf("reply %+q, deltas %+q", reply.Text, text.String())
		}
		ids := map[string]bool{}
		for _, c := range reply.ToolCalls {
			if c.ID == "" || ids[c.ID] || !clean(c.ID+c.Name+c.Arguments) {
				t.Fatalf("calls %+q", reply.ToolCalls)
			}
			ids[c.ID] = true
		}
	})
}

func FuzzRefusal(f *testing.F) {
	f.Add(`{"error":{"message":"陆青云","code":429}}`, "Wed, 21 Oct 2099 07:28:00 GMT")
	f.Add(`[{"error":"x"}]`, "1e300")
	f.Fuzz(func(t *testing.T, body, after string) {
		_ = kindOf(readRefusal([]byte(body)))
		h := http.Header{"Retry-After": {after}, "Retry-After-Ms": {body}}
		if wait := retryAfter(h, time.Unix(0, 0)); wait < 0 || wait > maxRetryAfter {
			t.Fatalf("wait %s", wait)
		}
	})
}

// Calls that are told apart by id or by index come out as they were made, however they are cut and interleaved.
func TestAssemblyIsFaithful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "calls")
		byID := rapid.Bool().Draw(t, "id in every fragment")
		oneIndex := byID && rapid.Bool().Draw(t, "one index for all")
		noIndex := byID && rapid.Bool().Draw(t, "no index")
		var want []model.ToolCall
		pieces := make([][]fragment, n)
		for i := range n {
			args := fmt.Sprintf(`{"n":%d,"text":%q}`, i, rapid.StringMatching(`[a-z陆青云🐉{}"]{0,12}`).Draw(t, "text"))
			c := model.ToolCall{ID: fmt.Sprintf("id-%d", i), Name: "take", Arguments: args}
			want = append(want, c)
			for first := true; first || args != ""; first = false {
				size := rapid.IntRange(0, len(args)).Draw(t, "size")
				if !first && size == 0 {
					size = len(args)
				}
				f := fragment{index: int64(i), hasIndex: !noIndex, arguments: args[:size]}
				if oneIndex {
					f.index = 0
				}
				if first {
					f.id, f.name = c.ID, c.Name
				}
				if byID {
					f.id = c.ID
				}
				pieces[i], args = append(pieces[i], f), args[size:]
			}
		}
		var cs calls
		for i := range n { // calls begin in their order, what follows is mixed
			cs.add(pieces[i][0])
			pieces[i] = pieces[i][1:]
			for k := range i + 1 {
				for len(pieces[k]) > 0 && rapid.Bool().Draw(t, "more") {
					cs.add(pieces[k][0])
					pieces[k] = pieces[k][1:]
				}
			}
		}
		for i := range n {
			for _, f := range pieces[i] {
				cs.add(f)
			}
		}
		if got := cs.finish(nil); !slices.Equal(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

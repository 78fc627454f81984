package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/covel/covel/gateway/llm/openai"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/model"
)

const schema = `{"type":"object","properties":{"segments":{"type":"array"},"a":{}},"required":["segments"]}`

func fullRequest() model.Request {
	return model.Request{
		Slot: "story", Subject: "narrator/story", Stream: true, MaxOutputTokens: 500, ReasoningEffort: "low",
		Messages: []model.Message{
			{Role: model.System, Content: "[RUNTIME] <world>", CacheMark: true},
			{Role: model.User, Content: "看看四周"},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{
				{ID: "a", Name: "take", Arguments: rope}, {ID: "b", Name: "take", Arguments: `{"cut`},
			}},
			{Role: model.ToolRole, ToolCallID: "a", Content: `{"ok":true}`},
			{Role: model.ToolRole, ToolCallID: "b", Content: `{"ok":false}`},
			{Role: model.Assistant, Content: "雨停了。"},
			{Role: model.System, Content: "<player-character/>"},
			{Role: model.User, Content: "(Go on.)"},
		},
		Tools:          []model.Tool{{Name: "take", Description: "Take <it>", Parameters: json.RawMessage(`{"z":{"b":1,"a":2},"type":"object"}`)}},
		ToolChoice:     model.ToolChoice{Mode: "required"},
		ResponseFormat: &model.ResponseFormat{Name: "story output", Schema: json.RawMessage(schema)},
	}
}

func TestRequestOnTheWire(t *testing.T) {
	f := serve(t, sse(say("好"), frame(`{}`, "stop"), done))
	if _, _, err := listen(context.Background(), f.provider(t), fullRequest()); err != nil {
		t.Fatal(err)
	}
	got := f.asked(t)
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"model":"test-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":500,"reasoning_effort":"low",
		"messages":[
			{"role":"system","content":"[RUNTIME] <world>"},
			{"role":"user","content":"看看四周"},
			{"role":"assistant","tool_calls":[
				{"id":"a","type":"function","function":{"name":"take","arguments":"{\"item\":\"rope\"}"}},
				{"id":"b","type":"function","function":{"name":"take","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"a","content":"{\"ok\":true}"},
			{"role":"tool","tool_call_id":"b","content":"{\"ok\":false}"},
			{"role":"assistant","content":"雨停了。"},
			{"role":"system","content":"<player-character/>"},
			{"role":"user","content":"(Go on.)"}],
		"tools":[{"type":"function","function":{"name":"take","description":"Take <it>","parameters":{"z":{"b":1,"a":2},"type":"object"}}}],
		"tool_choice":"required",
		"response_format":{"type":"json_schema","json_schema":{"name":"story_output","schema":`+schema+`}}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("the request was\n%s", g)
	}
	raw := string(f.bodies[0])
	for _, kept := range []string{`{"z":{"b":1,"a":2},"type":"object"}`, schema} {
		if !strings.Contains(raw, kept) {
			t.Errorf("the order of properties was changed: %s not in %s", kept, raw)
		}
	}
	if got := f.heads[0].Get("Authorization"); got != "Bearer "+testKey {
		t.Errorf("Authorization %q", got)
	}
}

func TestWhatIsNotAskedForIsNotSent(t *testing.T) {
	f := serve(t, status(200, `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`))
	// A choice without tools is refused by servers.
	_, err := f.provider(t).Generate(context.Background(), model.Request{
		Messages: []model.Message{{Role: model.User, Content: "x"}}, ToolChoice: model.ToolChoice{Mode: "required"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := f.asked(t)
	if len(got) != 2 || got["model"] == nil || got["messages"] == nil {
		t.Errorf("the request was %v", got)
	}
}

func TestToolChoiceAndEffort(t *testing.T) {
	for _, c := range []struct {
		choice model.ToolChoice
		effort string
		want   any
		sent   any
	}{
		{model.ToolChoice{}, "", nil, nil},
		{model.ToolChoice{Mode: "auto"}, "high", nil, "high"},
		{model.ToolChoice{Mode: "none"}, "disabled", "none", "none"},
		{model.ToolChoice{Mode: "required", Named: "take"}, "minimal", map[string]any{"type": "function", "function": map[string]any{"name": "take"}}, "minimal"},
	} {
		f := serve(t, sse(say("好"), frame(`{}`, "stop"), done))
		req := fullRequest()
		req.ToolChoice, req.ReasoningEffort = c.choice, c.effort
		if _, _, err := listen(context.Background(), f.provider(t), req); err != nil {
			t.Fatal(err)
		}
		got := f.asked(t)
		if !reflect.DeepEqual(got["tool_choice"], c.want) || got["reasoning_effort"] != c.sent {
			t.Errorf("%+v, %q: sent %v, %v", c.choice, c.effort, got["tool_choice"], got["reasoning_effort"])
		}
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	f := serve(t, status(200, `{}`))
	for name, req := range map[string]model.Request{
		"role":       {Messages: []model.Message{{Role: "narrator"}}},
		"parameters": {Tools: []model.Tool{{Name: "x", Parameters: json.RawMessage(`{`)}}},
		"schema":     {ResponseFormat: &model.ResponseFormat{Name: "story", Schema: json.RawMessage(`{`)}},
	} {
		_, err := f.provider(t).Generate(context.Background(), req, nil)
		mustFail(t, err, model.Permanent, 0, name)
	}
	if len(f.bodies) != 0 {
		t.Error("a request was sent")
	}
}

func TestUsageModelAndFinishReasons(t *testing.T) {
	usage := `data: {"id":"c1","model":"m-1","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":12,"total_tokens":102,"prompt_tokens_details":{"cached_tokens":64}}}` + "\n\n"
	for finish, want := range map[string]model.FinishReason{
		"stop": model.FinishStop, "eos": model.FinishStop, "end_turn": model.FinishStop,
		"length": model.FinishLength, "max_tokens": model.FinishLength,
		"content_filter": model.FinishContentFilter, "error": model.FinishError, "tool_calls": model.FinishStop,
		"moon_phase": model.FinishOther,
	} {
		f := serve(t, sse(say("好"), frame(`{}`, finish), usage, done))
		reply, _, err := listen(context.Background(), f.provider(t), model.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if reply.FinishReason != want {
			t.Errorf("%s reads as %s, want %s", finish, reply.FinishReason, want)
		}
		if reply.Usage != (model.Usage{InputTokens: 90, OutputTokens: 12, CachedInputTokens: 64}) || reply.Model != "m-1" {
			t.Errorf("usage %+v, model %q", reply.Usage, reply.Model)
		}
	}
}

func TestNoTextForAReason(t *testing.T) {
	for finish, want := range map[string]model.FinishReason{"length": model.FinishLength, "content_filter": model.FinishContentFilter} {
		f := serve(t, sse(frame(`{"content":""}`, finish), done))
		reply, _, err := listen(context.Background(), f.provider(t), model.Request{})
		if err != nil || reply.FinishReason != want {
			t.Errorf("%s: %+v, %v", finish, reply, err)
		}
	}
	f := serve(t, sse(frame(`{"refusal":"I will "}`, ""), frame(`{"refusal":"not."}`, "stop"), done))
	reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil || reply.FinishReason != model.FinishContentFilter || reply.Text != "I will not." || textOf(deltas) != "" {
		t.Errorf("refusal: %+v, deltas %q, %v", reply, textOf(deltas), err)
	}
}

const whole = `{"id":"c","model":"m-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",
	"content":"来た\ud83d\udc09\u0000","tool_calls":[{"id":"a","type":"function","function":{"name":"take","arguments":"{\"item\":\"rope\"}"}},
	{"id":"a","type":"function","function":{"name":"take","arguments":"{\"item\":\"rope\"}"}}]}}],
	"usage":{"prompt_tokens":9,"completion_tokens":2}}`

func TestAnswerInOnePiece(t *testing.T) {
	want := model.Reply{
		Text: "来た🐉\uFFFD", FinishReason: model.FinishToolCalls, Model: "m-1", Usage: model.Usage{InputTokens: 9, OutputTokens: 2},
		ToolCalls: []model.ToolCall{{ID: "a", Name: "take", Arguments: rope}},
	}
	f := serve(t, status(200, whole))
	reply, err := f.provider(t).Generate(context.Background(), model.Request{}, func(d model.Delta) {
		t.Errorf("an answer that was not streamed came as delta %+v", d)
	})
	if err != nil || !reflect.DeepEqual(reply, want) {
		t.Errorf("got %+v, %v", reply, err)
	}
	// A server that cannot stream answers so although it was asked to.
	reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil || !reflect.DeepEqual(reply, want) || textOf(deltas) != want.Text {
		t.Errorf("got %+v, %q, %v", reply, textOf(deltas), err)
	}
}

func TestAnswerInOnePieceThatIsNone(t *testing.T) {
	for _, c := range []struct {
		body    string
		kind    model.ErrorKind
		message string
	}{
		{``, model.Empty, "empty body"},
		{`{}`, model.Empty, "without any text"},
		{`{"choices":[]}`, model.Empty, "without any text"},
		{`[]`, model.Permanent, "not a chat completion"},
		{`{"choices":[{`, model.Permanent, "not a chat completion"},
		{`{"error":{"message":"asleep"}}`, model.Transient, "asleep"},
	} {
		_, err := serve(t, status(200, c.body)).provider(t).Generate(context.Background(), model.Request{}, nil)
		mustFail(t, err, c.kind, 0, c.message)
	}
}

// hang answers with the writes and then stays silent until the client closes the connection.
func hang(arrived, closed chan<- struct{}, writes ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(writes) > 0 {
			sse(writes...)(w, r)
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		closed <- struct{}{}
	}
}

func TestCancellationClosesTheConnection(t *testing.T) {
	for name, writes := range map[string][]string{"before the first byte": nil, "in mid-stream": {say("雨")}} {
		t.Run(name, func(t *testing.T) {
			arrived, closed := make(chan struct{}, 1), make(chan struct{}, 1)
			p := serve(t, hang(arrived, closed, writes...)).provider(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			written := make(chan struct{}, 1)
			safego.Go("player stops", func() {
				<-arrived
				if writes != nil {
					<-written
				}
				cancel()
			})
			var returned atomic.Bool
			req := model.Request{Stream: true, Messages: []model.Message{{Role: model.User}}}
			reply, err := p.Generate(ctx, req, func(model.Delta) {
				if returned.Load() {
					t.Error("a delta after the end")
				}
				written <- struct{}{}
			})
			returned.Store(true)
			mustFail(t, err, model.Cancelled, 0, "cancelled")
			if writes != nil && reply.Text != "雨" {
				t.Errorf("the text so far is %q", reply.Text)
			}
			<-closed
		})
	}
}

func TestDeadlineIsATimeout(t *testing.T) {
	f := serve(t, hang(make(chan struct{}, 1), make(chan struct{}, 1), say("雨")))
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	_, _, err := listen(ctx, f.provider(t), model.Request{})
	mustFail(t, err, model.Timeout, 0, "deadline")
}

func TestStreamThatStaysOpenAfterItsEnd(t *testing.T) {
	closed := make(chan struct{}, 1)
	f := serve(t, hang(make(chan struct{}, 1), closed, say("雨"), frame(`{}`, "stop"), done))
	reply, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil || reply.Text != "雨" {
		t.Errorf("got %+v, %v", reply, err)
	}
	<-closed
}

func TestConnectionServesTheNextCall(t *testing.T) {
	var addresses []string
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		addresses = append(addresses, r.RemoteAddr)
		sse(say("雨"), frame(`{}`, "stop"), done)(w, r)
	})
	p := f.provider(t)
	for range 3 {
		if _, _, err := listen(context.Background(), p, model.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if addresses[0] != addresses[2] {
		t.Errorf("each call opened a connection: %v", addresses)
	}
}

func TestNothingComesFromTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-env")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: yes")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	f := serve(t, sse(say("雨"), frame(`{}`, "stop"), done))
	p, err := openai.New(openai.Options{BaseURL: f.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if _, _, err := listen(context.Background(), p, model.Request{}); err != nil {
		t.Fatal(err)
	}
	if h := f.heads[0]; h.Get("Authorization") != "" || h.Get("X-Leak") != "" {
		t.Errorf("sent %v", h)
	}
}

func TestRedirectDoesNotCarryTheKeyAway(t *testing.T) {
	var elsewhere atomic.Bool
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { elsewhere.Store(true); _, _ = io.WriteString(w, "{}") })
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if err == nil || elsewhere.Load() {
		t.Errorf("err %v, the other server was asked: %v", err, elsewhere.Load())
	}
}

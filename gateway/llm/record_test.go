package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/model"
)

func request(text string) model.Request {
	return model.Request{
		Slot: "story", Subject: "narrator", Stream: true, Messages: []model.Message{{Role: model.User, Content: text}},
		Tools: []model.Tool{{Name: "take", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
}

type outcome struct {
	reply  model.Reply
	deltas []model.Delta
	err    error
}

func call(p model.Provider, req model.Request) outcome {
	var o outcome
	o.reply, o.err = p.Generate(context.Background(), req, func(d model.Delta) { o.deltas = append(o.deltas, d) })
	return o
}

func replayOf(t *testing.T, recording string) *llm.Replay {
	t.Helper()
	r, err := llm.NewReplay(strings.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplaySaysWhatWasRecorded(t *testing.T) {
	m := scripted.New(scripted.Script{AtEnd: scripted.Fail, Replies: []scripted.Reply{
		{Steps: []scripted.Step{scripted.Reasoning("嗯"), scripted.Text("龍が来た🐉👩‍👩‍👧 é <&>\u2028"), scripted.Tool{Name: "take", Arguments: `{"cut`}}, Chunk: 1},
		{Steps: []scripted.Step{scripted.Text("雨"), scripted.Fault{Kind: model.Interrupted, Status: 502, Message: "断了"}}},
		{Steps: []scripted.Step{scripted.Fault{Kind: model.RateLimited, Status: 429, Message: "慢点", RetryAfter: 7 * time.Second}}},
		{Steps: []scripted.Step{scripted.Text("again, with success")}},
	}})
	var file bytes.Buffer
	recorder := llm.NewRecorder(m, &file)
	asked := []model.Request{request("看"), request("听"), request("问"), request("问")}
	var want []outcome
	for _, req := range asked {
		want = append(want, call(recorder, req))
	}
	if recorder.Err() != nil {
		t.Fatal(recorder.Err())
	}
	if lines := strings.Count(file.String(), "\n"); lines != 4 {
		t.Fatalf("%d lines", lines)
	}

	replay := replayOf(t, file.String())
	for i, req := range asked {
		req.Subject = "somebody else"
		req.Tools = []model.Tool{{Name: "take", Parameters: json.RawMessage(`{ "type" : "object" }`)}}
		got := call(replay, req)
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("call %d:\ngot  %+v\nwant %+v", i, got, want[i])
		}
	}
	if got := call(replay, asked[3]); got.reply.Text != "again, with success" {
		t.Errorf("the last answer stays, got %+v", got)
	}
}

func TestReplayOfSomethingElse(t *testing.T) {
	var file bytes.Buffer
	call(llm.NewRecorder(plays(scripted.Text("雨")), &file), request("看"))
	got := call(replayOf(t, file.String()), request("听"))
	mustFail(t, got.err, model.Permanent)
	var missing *llm.NotRecordedError
	if !errors.As(got.err, &missing) || missing.Subject != "narrator" || len(missing.Hash) != 64 {
		t.Errorf("got %+v", got.err)
	}
}

func TestReplayEndsWithItsContext(t *testing.T) {
	var file bytes.Buffer
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Text("雨停了")}, Chunk: 1}}})
	call(llm.NewRecorder(m, &file), request("看"))
	replay := replayOf(t, file.String())
	ctx, cancel := context.WithCancel(context.Background())
	deltas := 0
	_, err := replay.Generate(ctx, request("看"), func(model.Delta) { deltas++; cancel() })
	if mustFail(t, err, model.Cancelled); deltas != 1 {
		t.Errorf("%d deltas after the end", deltas-1)
	}
	_, err = replay.Generate(ctx, request("看"), nil)
	mustFail(t, err, model.Cancelled)
	if reply, err := replay.Generate(context.Background(), request("看"), nil); err != nil || reply.Text != "雨停了" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestCallsThatWereCancelledAreNotAnswers(t *testing.T) {
	var file bytes.Buffer
	recorder := llm.NewRecorder(scripted.New(scripted.Script{Replies: []scripted.Reply{
		{Steps: []scripted.Step{scripted.Text("half"), scripted.Stall{}}}, {Steps: []scripted.Step{scripted.Text("whole")}},
	}}), &file)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := recorder.Generate(ctx, request("看"), func(model.Delta) { cancel() })
	mustFail(t, err, model.Cancelled)
	call(recorder, request("看"))
	if !strings.Contains(file.String(), `"kind":"cancelled"`) {
		t.Error("the cancelled call is not recorded")
	}
	if got := call(replayOf(t, file.String()), request("看")); got.reply.Text != "whole" {
		t.Errorf("got %+v", got)
	}
}

func TestRecordingsHoldNoSecret(t *testing.T) {
	const key, other = `sk-龙胆"<0123456789>`, "second-key-42"
	m := plays(scripted.Text("you sent "+key), scripted.Fault{Kind: model.Permanent, Message: "bad key " + key + " and " + other})
	var file bytes.Buffer
	call(llm.NewRecorder(m, &file, llm.NewSecret(key), llm.NewSecret(other), llm.Secret{}), request("my key is "+key))
	for _, part := range []string{"0123456789", "龙胆", other} {
		if strings.Contains(file.String(), part) {
			t.Errorf("%q is in the recording: %s", part, file.String())
		}
	}
	if strings.Count(file.String(), "[secret]") < 4 {
		t.Errorf("got %s", file.String())
	}
	replayOf(t, file.String()) // still JSON
}

func TestConcurrentCallsGetWholeLines(t *testing.T) {
	var file bytes.Buffer
	recorder := llm.NewRecorder(scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		return scripted.Reply{Steps: []scripted.Step{scripted.Text(strings.Repeat(req.Messages[0].Content, 1000))}, Chunk: 7}
	}}), &file)
	done := make(chan outcome)
	for i := range 20 {
		safego.Go("call", func() { done <- call(recorder, request(fmt.Sprint("第", i))) })
	}
	for range 20 {
		if o := <-done; o.err != nil {
			t.Error(o.err)
		}
	}
	replay := replayOf(t, file.String())
	for i := range 20 {
		text := fmt.Sprint("第", i)
		if got := call(replay, request(text)); got.reply.Text != strings.Repeat(text, 1000) {
			t.Errorf("%s: got %.40q, %v", text, got.reply.Text, got.err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestARecordThatCannotBeWritten(t *testing.T) {
	recorder := llm.NewRecorder(plays(scripted.Text("雨")), full{})
	if got := call(recorder, request("看")); got.err != nil || got.reply.Text != "雨" {
		t.Errorf("the call must not fail: %+v", got)
	}
	if err := recorder.Err(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

func TestRequestsThatHaveNoName(t *testing.T) {
	req := request("看")
	req.Tools[0].Parameters = json.RawMessage(`{`)
	m := plays(scripted.Text("雨"))
	mustFail(t, call(llm.NewRecorder(m, io.Discard), req).err, model.Permanent)
	mustFail(t, call(replayOf(t, ""), req).err, model.Permanent)
	if len(m.Requests()) != 0 {
		t.Error("the model was asked")
	}
}

func TestRecordingsThatAreNone(t *testing.T) {
	good := `{"hash":"h","request":{},"reply":{"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}}` + "\n"
	for text, want := range map[string]string{
		"{\n":                        "line 1: not an entry",
		good + "[]\n":                "line 2: not an entry",
		good + good + "{}\n":         "line 3: the entry has no hash",
		good + `{"hash":"h"}` + "\n": "line 2: the entry has neither",
		"\n":                         "line 1: not an entry",
	} {
		if _, err := llm.NewReplay(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	replayOf(t, good+`{"hash":"cut off by a cra`)
}

func FuzzNewReplay(f *testing.F) {
	f.Add(`{"hash":"h","request":{},"fault":{"kind":"empty","message":""}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := llm.NewReplay(strings.NewReader(text))
		if err == nil {
			call(r, model.Request{})
		}
	})
}

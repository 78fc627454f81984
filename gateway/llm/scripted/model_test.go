package scripted_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"go.uber.org/goleak"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type heard struct {
	reply  model.Reply
	deltas []string
	err    error
}

func ask(ctx context.Context, m model.Provider, subject string) heard {
	var h heard
	h.reply, h.err = m.Generate(ctx, model.Request{Subject: subject, Stream: true}, func(d model.Delta) {
		h.deltas = append(h.deltas, d.Reasoning+d.Text)
	})
	return h
}

func mustFail(t *testing.T, err error, kind model.ErrorKind) *model.Error {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != kind {
		t.Fatalf("got %v, want a *model.Error of kind %s", err, kind)
	}
	return failed
}

func say(subject, text string) scripted.Reply {
	return scripted.Reply{Subject: subject, Steps: []scripted.Step{scripted.Text(text)}}
}

func TestRows(t *testing.T) {
	replies := []scripted.Reply{say("", "any 1"), say("narrator", "story 1"), say("", "any 2"), say("narrator", "story 2")}
	asked := []string{"narrator", "guide", "narrator", "", "narrator", "guide"}
	otherwise := func(req model.Request) scripted.Reply { return say("", "for "+req.Subject) }
	for _, c := range []struct {
		atEnd scripted.AtEnd
		want  []string
	}{
		{"", []string{"story 1", "any 1", "story 2", "any 2", "story 2", "any 2"}},
		{scripted.Repeat, []string{"story 1", "any 1", "story 2", "any 2", "story 2", "any 2"}},
		{scripted.Loop, []string{"story 1", "any 1", "story 2", "any 2", "story 1", "any 1"}},
		{scripted.Fail, []string{"story 1", "any 1", "story 2", "any 2", "", ""}},
		{scripted.Otherwise, []string{"story 1", "any 1", "story 2", "any 2", "for narrator", "for guide"}},
	} {
		script := scripted.Script{Replies: replies, AtEnd: c.atEnd}
		if c.atEnd == scripted.Otherwise {
			script.Otherwise = otherwise
		}
		m := scripted.New(script)
		for i, subject := range asked {
			h := ask(context.Background(), m, subject)
			if h.reply.Text != c.want[i] {
				t.Errorf("at end %q, request %d: got %q, want %q", c.atEnd, i, h.reply.Text, c.want[i])
			}
			if c.want[i] == "" {
				mustFail(t, h.err, model.Permanent)
			}
		}
		var subjects []string
		for _, r := range m.Requests() {
			subjects = append(subjects, r.Subject)
		}
		if !slices.Equal(subjects, asked) {
			t.Errorf("recorded %v", subjects)
		}
	}
}

func TestNoReplyNamesTheSubject(t *testing.T) {
	failed := mustFail(t, ask(context.Background(), scripted.New(scripted.Script{}), "世界/初始化").err, model.Permanent)
	if !strings.Contains(failed.Message, "世界/初始化") {
		t.Errorf("got %q", failed.Message)
	}
}

func TestDeltasAddUpAndKeepCharactersTogether(t *testing.T) {
	text := "龍が来た🐉👩‍👩‍👧👍🏽 E\u0301lodie 陆青云"
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{Steps: []scripted.Step{scripted.Reasoning("想"), scripted.Text(text)}, Chunk: 1},
		{Steps: []scripted.Step{scripted.Text("a\x00b\xff")}},
	}})
	h := ask(context.Background(), m, "")
	want := []string{"想", "龍", "が", "来", "た", "🐉", "👩‍👩‍👧", "👍🏽", " ", "E\u0301", "l", "o", "d", "i", "e", " ", "陆", "青", "云"}
	if h.err != nil || h.reply.Text != text || !slices.Equal(h.deltas, want) {
		t.Errorf("reply %q, deltas %q, %v", h.reply.Text, h.deltas, h.err)
	}
	if h := ask(context.Background(), m, ""); h.reply.Text != "a\uFFFDb\uFFFD" {
		t.Errorf("unclean text: %q", h.reply.Text)
	}
}

func TestSegmentsAreOneObject(t *testing.T) {
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{
		scripted.Segment{Kind: "narration", Text: "雨 <停>了。"}, scripted.Segment{Kind: "dialogue", Speaker: "陆青云", Text: "“来。”"},
	}}}})
	h := ask(context.Background(), m, "narrator")
	want := `{"segments":[{"kind":"narration","text":"雨 <停>了。"},{"kind":"dialogue","speaker":"陆青云","text":"“来。”"}]}`
	if h.err != nil || h.reply.Text != want || strings.Join(h.deltas, "") != want || h.reply.FinishReason != model.FinishStop {
		t.Errorf("got %+v", h)
	}
}

func TestToolCalls(t *testing.T) {
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{
		scripted.Tool{Name: "take", Arguments: `{"item":"rope"}`},
		scripted.Tool{Name: "take", Arguments: `{"quest":"Amulet","state":`},
		scripted.Tool{ID: "mine", Name: "看", Arguments: `null`},
	}}}})
	var deltas int
	reply, err := m.Generate(context.Background(), model.Request{Stream: true, Messages: []model.Message{
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "call-1"}}},
	}}, func(model.Delta) { deltas++ })
	want := []model.ToolCall{
		{ID: "call-2", Name: "take", Arguments: `{"item":"rope"}`},
		{ID: "call-3", Name: "take", Arguments: `{"quest":"Amulet","state":`},
		{ID: "mine", Name: "看", Arguments: `null`},
	}
	if err != nil || !slices.Equal(reply.ToolCalls, want) || reply.FinishReason != model.FinishToolCalls || deltas != 0 {
		t.Errorf("got %+v, %d deltas, %v", reply, deltas, err)
	}
}

func TestEveryKindOfFault(t *testing.T) {
	for _, kind := range []model.ErrorKind{
		model.Transient, model.RateLimited, model.Interrupted, model.Empty, model.Permanent, model.Timeout, model.Cancelled,
	} {
		fault := scripted.Fault{Kind: kind, Status: 503, Message: "请稍后", RetryAfter: 7 * time.Second}
		m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{
			scripted.Text("雨"), scripted.Tool{Name: "x"}, fault, scripted.Text("never"),
		}}}})
		h := ask(context.Background(), m, "")
		failed := mustFail(t, h.err, kind)
		if *failed != model.Error(fault) {
			t.Errorf("got %+v", failed)
		}
		if h.reply.Text != "雨" || len(h.reply.ToolCalls) != 0 || h.reply.FinishReason != model.FinishError {
			t.Errorf("%s: the reply so far is %+v", kind, h.reply)
		}
	}
}

func TestNothingIsEmpty(t *testing.T) {
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{}, {Finish: model.FinishLength}}})
	mustFail(t, ask(context.Background(), m, "").err, model.Empty)
	if h := ask(context.Background(), m, ""); h.err != nil || h.reply.FinishReason != model.FinishLength {
		t.Errorf("got %+v", h)
	}
}

func TestCutAfterDeltas(t *testing.T) {
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{
		Steps: []scripted.Step{scripted.Text(strings.Repeat("字", 100))}, Chunk: 1, Cut: 40,
	}}})
	h := ask(context.Background(), m, "")
	mustFail(t, h.err, model.Interrupted)
	if len(h.deltas) != 40 || h.reply.Text != strings.Repeat("字", 40) {
		t.Errorf("%d deltas, %q", len(h.deltas), h.reply.Text)
	}
}

func TestUnstreamedRequestsGetNoDeltas(t *testing.T) {
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{say("", "雨")}})
	reply, err := m.Generate(context.Background(), model.Request{}, func(d model.Delta) { t.Errorf("delta %+v", d) })
	if err != nil || reply.Text != "雨" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Script{Replies: []scripted.Reply{{
			Steps: []scripted.Step{scripted.Delay(time.Second), scripted.Text("雨停了"), scripted.Delay(2 * time.Second), scripted.Text("。")},
			Chunk: 1, Pace: 10 * time.Millisecond,
		}}})
		start := time.Now()
		var at []time.Duration
		_, err := m.Generate(context.Background(), model.Request{Stream: true}, func(model.Delta) { at = append(at, time.Since(start)) })
		want := []time.Duration{1010, 1020, 1030, 3040}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if err != nil || !slices.Equal(at, want) {
			t.Errorf("deltas at %v, want %v, %v", at, want, err)
		}
	})
}

func TestCallsEndWithTheirContext(t *testing.T) {
	for name, steps := range map[string][]scripted.Step{
		"stall": {scripted.Text("雨"), scripted.Stall{}},
		"delay": {scripted.Text("雨"), scripted.Delay(time.Hour)},
		"gate":  {scripted.Text("雨"), scripted.Hold("mid")},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: steps}}})
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			h := ask(ctx, m, "")
			mustFail(t, h.err, model.Timeout)
			if h.reply.Text != "雨" {
				t.Errorf("%s: the text so far is %q", name, h.reply.Text)
			}

			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			mustFail(t, ask(ctx, m, "").err, model.Cancelled)
			mustFail(t, ask(ctx, m, "").err, model.Cancelled) // and one that never began
		})
	}
}

func TestGateHoldsTheModelInMidStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{
			scripted.Text("雨"), scripted.Hold("mid"), scripted.Text("停"),
		}}}})
		results := make(chan heard, 3)
		begin := func() { safego.Go("model", func() { results <- ask(context.Background(), m, "") }) }
		gate := m.Gate("mid")

		begin()
		<-gate.Reached()
		synctest.Wait()
		if len(results) != 0 {
			t.Fatal("the model did not wait")
		}
		gate.Pass()
		if h := <-results; h.err != nil || h.reply.Text != "雨停" {
			t.Fatalf("got %+v", h)
		}

		gate.Pass() // ahead of time, for the next one only
		begin()
		if h := <-results; h.reply.Text != "雨停" {
			t.Fatalf("got %+v", h)
		}
		begin()
		begin()
		synctest.Wait()
		if len(results) != 0 {
			t.Fatal("a pass was used twice")
		}
		gate.Open()
		gate.Open()
		<-results
		<-results
		begin()
		<-results
		if m.Gate("mid") != gate || m.Gate("other") == gate {
			t.Error("gates go by their name")
		}
	})
}

func TestCallbacks(t *testing.T) {
	var seen []string
	refusal := errors.New("没有历史")
	m := scripted.New(scripted.Script{
		Replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Text("x")}, Check: func(req model.Request) error {
			if len(req.Messages) == 0 {
				return refusal
			}
			return nil
		}}},
		OnRequest: func(req model.Request) { seen = append(seen, req.Subject) },
	})
	if failed := mustFail(t, ask(context.Background(), m, "guide").err, model.Permanent); !errors.Is(failed, refusal) {
		t.Errorf("got %v", failed)
	}
	reply, err := m.Generate(context.Background(), model.Request{Subject: "b", Messages: []model.Message{{Content: "12345678"}}}, nil)
	if err != nil || reply.Text != "x" || !slices.Equal(seen, []string{"guide", "b"}) {
		t.Errorf("got %+v, seen %v, %v", reply, seen, err)
	}
	if reply.Usage.InputTokens != 2 || reply.Model != scripted.Name {
		t.Errorf("got %+v", reply)
	}
}

func TestCallsMayOverlap(t *testing.T) {
	m := scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})
	done := make(chan heard)
	for i := range 16 {
		safego.Go("model", func() { done <- ask(context.Background(), m, fmt.Sprint(i)) })
	}
	for range 16 {
		if h := <-done; h.err != nil {
			t.Error(h.err)
		}
	}
	if len(m.Requests()) != 16 {
		t.Errorf("recorded %d", len(m.Requests()))
	}
}

func TestReplyUsage(t *testing.T) {
	usage := model.Usage{InputTokens: 9, OutputTokens: 4, CachedInputTokens: 8}
	m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Text("x")}, Usage: &usage}}})
	if h := ask(context.Background(), m, ""); !reflect.DeepEqual(h.reply.Usage, usage) {
		t.Errorf("got %+v", h.reply.Usage)
	}
}

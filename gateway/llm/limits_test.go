package llm_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"go.uber.org/goleak"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a model made of a function.
type provider func(context.Context, model.Request, func(model.Delta)) (model.Reply, error)

func (p provider) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return p(ctx, req, onDelta)
}

func plays(steps ...scripted.Step) *scripted.Model {
	return scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: steps}}})
}

func mustFail(t *testing.T, err error, kind model.ErrorKind) *model.Error {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != kind {
		t.Fatalf("got %v, want a *model.Error of kind %s", err, kind)
	}
	return failed
}

var (
	stream = model.Request{Stream: true}
	whole  = model.Request{}
)

func TestLimits(t *testing.T) {
	const s = time.Second
	limits := llm.Limits{FirstToken: 10 * s, Idle: 3 * s, Call: 5 * s}
	text := scripted.Text("雨")
	for _, c := range []struct {
		name   string
		limits llm.Limits
		req    model.Request
		steps  []scripted.Step
		reason error // nil: the call succeeds
		after  time.Duration
	}{
		{"nothing at all", limits, stream, []scripted.Step{scripted.Stall{}}, llm.ErrFirstToken, 10 * s},
		{"first word just in time", limits, stream, []scripted.Step{scripted.Delay(9 * s), text}, nil, 9 * s},
		{"silence after the first word", limits, stream, []scripted.Step{scripted.Delay(9 * s), text, scripted.Stall{}}, llm.ErrIdle, 12 * s},
		{"thinking is a sign of life", limits, stream, []scripted.Step{scripted.Delay(9 * s), scripted.Reasoning("嗯"), scripted.Delay(2 * s), text}, nil, 11 * s},
		{"writing as long as it likes", limits, stream, slices.Repeat([]scripted.Step{text, scripted.Delay(2 * s)}, 500), nil, 1000 * s},
		{"in one piece, in time", limits, whole, []scripted.Step{scripted.Delay(4 * s), text}, nil, 4 * s},
		{"in one piece, too late", limits, whole, []scripted.Step{scripted.Delay(6 * s), text}, llm.ErrCall, 5 * s},
		{"default first token", llm.Limits{}, stream, []scripted.Step{scripted.Stall{}}, llm.ErrFirstToken, 120 * s},
		{"default idle", llm.Limits{}, stream, []scripted.Step{text, scripted.Stall{}}, llm.ErrIdle, 120 * s},
		{"default call", llm.Limits{}, whole, []scripted.Step{scripted.Stall{}}, llm.ErrCall, 120 * s},
		{"floor", llm.Limits{FirstToken: 1, Idle: -1, Call: 1}, stream, []scripted.Step{scripted.Stall{}}, llm.ErrFirstToken, s},
		{"floor of idle", llm.Limits{FirstToken: 1, Idle: -1, Call: 1}, stream, []scripted.Step{text, scripted.Stall{}}, llm.ErrIdle, s},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				reply, err := llm.WithLimits(plays(c.steps...), c.limits).Generate(context.Background(), c.req, nil)
				if after := time.Since(start); after != c.after {
					t.Errorf("ended after %s, want %s", after, c.after)
				}
				if c.reason == nil {
					if err != nil || !strings.HasPrefix(reply.Text, "雨") {
						t.Fatalf("got %+v, %v", reply, err)
					}
					return
				}
				failed := mustFail(t, err, model.Timeout)
				if !errors.Is(err, c.reason) || !strings.Contains(failed.Message, c.reason.Error()) {
					t.Errorf("got %v, want %v", err, c.reason)
				}
				if errors.Is(c.reason, llm.ErrIdle) && reply.Text != "雨" {
					t.Errorf("the text so far is %q", reply.Text)
				}
			})
		})
	}
}

func TestAToolCallBeingWrittenIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := provider(func(ctx context.Context, _ model.Request, onDelta func(model.Delta)) (model.Reply, error) {
			for range 10 { // a long tool call being written
				time.Sleep(9 * time.Second)
				if ctx.Err() != nil {
					return model.Reply{}, failure.Ended(ctx)
				}
				onDelta(model.Delta{})
			}
			onDelta(model.Delta{Text: "好"})
			return model.Reply{Text: "好"}, nil
		})
		var got []model.Delta
		_, err := llm.WithLimits(inner, llm.Limits{FirstToken: 10 * time.Second, Idle: 10 * time.Second}).
			Generate(context.Background(), stream, func(d model.Delta) { got = append(got, d) })
		if err != nil || len(got) != 11 || got[10] != (model.Delta{Text: "好"}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestASlowListenerIsNotTheModelsSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := llm.WithLimits(plays(scripted.Text("a"), scripted.Text("b"), scripted.Text("c")), llm.Limits{Idle: time.Second})
		reply, err := p.Generate(context.Background(), stream, func(model.Delta) { time.Sleep(time.Minute) })
		if err != nil || reply.Text != "abc" {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
}

func TestTheCallersOwnEndIsNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := llm.WithLimits(plays(scripted.Stall{}), llm.Limits{})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := p.Generate(ctx, stream, nil)
		mustFail(t, err, model.Cancelled)

		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = p.Generate(ctx, stream, nil)
		if mustFail(t, err, model.Timeout); errors.Is(err, llm.ErrFirstToken) {
			t.Errorf("the caller's deadline is taken for a limit: %v", err)
		}
	})
}

func TestOtherFailuresPassTheLimits(t *testing.T) {
	fault := scripted.Fault{Kind: model.RateLimited, Status: 429, Message: "慢点", RetryAfter: time.Second}
	_, err := llm.WithLimits(plays(fault), llm.Limits{}).Generate(context.Background(), stream, nil)
	if failed := mustFail(t, err, model.RateLimited); *failed != model.Error(fault) {
		t.Errorf("got %+v", failed)
	}
	_, err = llm.WithLimits(provider(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
		return model.Reply{}, errors.New("not of the port")
	}), llm.Limits{}).Generate(context.Background(), stream, nil)
	mustFail(t, err, model.Transient)
}

// Rule BL-04: the limits of a request come before the provider's, so that its retries fit.
func TestLimitsOfARequest(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		req    model.Request
		after  time.Duration
		reason error
	}{
		{model.Request{Stream: true, Limits: model.Limits{FirstToken: 4 * s}}, 4 * s, llm.ErrFirstToken},
		{model.Request{Stream: true, Limits: model.Limits{FirstToken: 60 * s}}, 60 * s, llm.ErrFirstToken},
		{model.Request{Stream: true}, 10 * s, llm.ErrFirstToken},
		{model.Request{Limits: model.Limits{Call: 3 * s}}, 3 * s, llm.ErrCall},
		{model.Request{Limits: model.Limits{Call: time.Millisecond}}, s, llm.ErrCall},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			p := llm.WithLimits(plays(scripted.Stall{}), llm.Limits{FirstToken: 10 * s, Idle: 3 * s, Call: 5 * s})
			_, err := p.Generate(context.Background(), c.req, nil)
			if failed := mustFail(t, err, model.Timeout); !errors.Is(failed, c.reason) || time.Since(begun) != c.after {
				t.Errorf("%+v: %v after %s", c.req.Limits, err, time.Since(begun))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := llm.WithLimits(plays(scripted.Text("雨"), scripted.Stall{}), llm.Limits{})
		_, err := p.Generate(context.Background(), model.Request{Stream: true, Limits: model.Limits{Idle: 2 * s}}, nil)
		if failed := mustFail(t, err, model.Timeout); !errors.Is(failed, llm.ErrIdle) {
			t.Errorf("%v", err)
		}
	})
}

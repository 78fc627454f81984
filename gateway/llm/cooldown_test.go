package llm_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

// Rule BL-04: a rate limit is shared by all calls under one key and by no others.
// What one session learns of a rate limit, the others under the same key need not ask again.
func TestARateLimitIsSharedPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := scripted.Fault{Kind: model.RateLimited, Status: 429, Message: "慢点", RetryAfter: 7 * time.Second}
		m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{limited}}, {Steps: []scripted.Step{scripted.Text("x")}}}})
		other := plays(scripted.Text("y"))
		var shared, own llm.Cooldown
		story, fast, elsewhere := shared.Wrap(m), shared.Wrap(m), own.Wrap(other)

		_, err := story.Generate(context.Background(), whole, nil)
		mustFail(t, err, model.RateLimited)
		time.Sleep(2 * time.Second)
		for range 20 {
			_, err = fast.Generate(context.Background(), whole, nil)
			if failed := mustFail(t, err, model.RateLimited); failed.RetryAfter != 5*time.Second || failed.Message != "慢点" || failed.Status != 429 {
				t.Fatalf("got %+v", failed)
			}
		}
		if _, err := elsewhere.Generate(context.Background(), whole, nil); err != nil {
			t.Errorf("another key must not wait: %v", err)
		}
		time.Sleep(5 * time.Second)
		if _, err := fast.Generate(context.Background(), whole, nil); err != nil {
			t.Errorf("the time is over: %v", err)
		}
		if got := len(m.Requests()); got != 2 {
			t.Errorf("the server was asked %d times", got)
		}
	})
}

func TestCooldownIsCappedAndOnlyForRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(scripted.Script{Replies: []scripted.Reply{
			{Steps: []scripted.Step{scripted.Fault{Kind: model.Transient, RetryAfter: time.Minute}}},
			{Steps: []scripted.Step{scripted.Fault{Kind: model.RateLimited}}}, // no time named
			{Steps: []scripted.Step{scripted.Fault{Kind: model.RateLimited, RetryAfter: 50 * 365 * 24 * time.Hour}}},
			{Steps: []scripted.Step{scripted.Text("x")}},
		}})
		var c llm.Cooldown
		p := c.Wrap(m)
		for range 3 {
			_, _ = p.Generate(context.Background(), whole, nil)
			time.Sleep(time.Second) // what a key rests after a 429 that named no time
		}
		if got := len(m.Requests()); got != 3 {
			t.Fatalf("the server was asked %d times, want 3", got)
		}
		time.Sleep(llm.MaxRetryAfter)
		if _, err := p.Generate(context.Background(), whole, nil); err != nil {
			t.Error(err)
		}
	})
}

// Rule BL-04: a 429 that names no time makes the key rest too, twice as long each time, until a call succeeds.
func TestAKeyRestsWithoutRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, healthy := 0, false
		var c llm.Cooldown
		p := c.Wrap(provider(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
			asked++
			if healthy {
				return model.Reply{Text: "x", FinishReason: model.FinishStop}, nil
			}
			return model.Reply{}, &model.Error{Kind: model.RateLimited, Status: 429, Message: "慢点"}
		}))
		for _, rest := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			for range 3 {
				_, err := p.Generate(context.Background(), whole, nil)
				if failed := mustFail(t, err, model.RateLimited); failed.RetryAfter != rest*time.Second {
					t.Fatalf("rests %s, want %d s", failed.RetryAfter, rest)
				}
			}
			time.Sleep(rest * time.Second)
		}
		if asked != 7 {
			t.Errorf("the server was asked %d times, want once per rest", asked)
		}
		healthy = true
		if _, err := p.Generate(context.Background(), whole, nil); err != nil {
			t.Fatal(err)
		}
		healthy = false
		_, err := p.Generate(context.Background(), whole, nil)
		if failed := mustFail(t, err, model.RateLimited); failed.RetryAfter != time.Second {
			t.Errorf("after a success it rests %s", failed.RetryAfter)
		}
	})
}

// Rule BL-04: twenty sessions that hit a rate limit at once make no storm: one rest, then they come back one after another, others are not affected.
func TestTwentySessionsHitARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		limited := time.Now().Add(5 * time.Second)
		var shared llm.Cooldown
		p := shared.Wrap(provider(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
			asked.Add(1)
			time.Sleep(10 * time.Millisecond)
			if time.Now().Before(limited) {
				return model.Reply{}, &model.Error{Kind: model.RateLimited, Status: 429, RetryAfter: 7 * time.Second}
			}
			return model.Reply{Text: "x", FinishReason: model.FinishStop}, nil
		}))
		var sessions sync.WaitGroup
		for range 20 {
			sessions.Go(func() {
				for {
					_, err := p.Generate(context.Background(), whole, nil)
					if err == nil {
						return
					}
					failed := mustFail(t, err, model.RateLimited)
					if failed.RetryAfter <= 0 || failed.RetryAfter > 7*time.Second {
						t.Errorf("told to wait %s", failed.RetryAfter)
					}
					time.Sleep(failed.RetryAfter)
				}
			})
		}
		begun := time.Now()
		time.Sleep(time.Second)
		if _, err := p.Generate(context.Background(), whole, nil); err == nil { // a session that comes later does not ask
			t.Error("the key does not rest")
		}
		if asked.Load() != 20 {
			t.Errorf("%d calls", asked.Load())
		}
		sessions.Wait()
		if took := time.Since(begun); took > 8*time.Second || asked.Load() != 40 {
			t.Errorf("%d calls in %s, want each session once more", asked.Load(), took)
		}
	})
}

package llm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

// Fault case BL-04: what one session learns of a rate limit, the others under the same key need not ask again.
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

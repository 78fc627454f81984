package loop

import (
	"testing"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// Rule BL-04: the first-token and idle limits leave room for every retry that is still allowed, and for what it must wait.
// Rule REF plugins.md §9.4: an unstreamed call gets the run's time divided by its attempts, at most 60 s; an explicit limit is kept.
func TestLimitsLeaveRoomForTheRetries(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		agent   manifest.Agent
		stream  bool
		left    time.Duration
		retried int
		after   time.Duration
		want    model.Limits
	}{
		"unknown time":           {manifest.Agent{MaxRetries: 1}, true, 0, 0, 0, model.Limits{FirstToken: 120 * s, Idle: 120 * s}},
		"much time":              {manifest.Agent{MaxRetries: 1}, true, 600 * s, 0, 0, model.Limits{FirstToken: 120 * s, Idle: 120 * s}},
		"the default deadline":   {manifest.Agent{MaxRetries: 1}, true, 180 * s, 0, 0, model.Limits{FirstToken: 88250 * time.Millisecond, Idle: 88250 * time.Millisecond}},
		"five retries":           {manifest.Agent{MaxRetries: 5}, true, 180 * s, 0, 0, model.Limits{FirstToken: 26916666666, Idle: 26916666666}},
		"the last attempt":       {manifest.Agent{MaxRetries: 5}, true, 71 * s, 5, 0, model.Limits{FirstToken: 60 * s, Idle: 60 * s}},
		"a wait before it":       {manifest.Agent{MaxRetries: 1}, true, 63500 * time.Millisecond, 1, 20 * s, model.Limits{FirstToken: 40 * s, Idle: 40 * s}},
		"written limits are cut": {manifest.Agent{MaxRetries: 1, FirstTokenMs: 500_000, IdleMs: 7000}, true, 63500 * time.Millisecond, 0, 0, model.Limits{FirstToken: 30 * s, Idle: 7 * s}},
		"hardly any time":        {manifest.Agent{MaxRetries: 1}, true, 3 * s, 0, 0, model.Limits{FirstToken: s, Idle: s}},
		"whole":                  {manifest.Agent{MaxRetries: 1}, false, 180 * s, 0, 0, model.Limits{Call: 60 * s}},
		"whole, three retries":   {manifest.Agent{MaxRetries: 3}, false, 180 * s, 0, 0, model.Limits{Call: 43375 * time.Millisecond}},
		"whole, a short run":     {manifest.Agent{MaxRetries: 1, TimeoutMs: 8000}, false, 0, 0, 0, model.Limits{Call: 5 * s}},
		"whole, explicit":        {manifest.Agent{MaxRetries: 1, CallTimeoutMs: 170_000}, false, 10 * s, 0, 0, model.Limits{Call: 170 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			config := NewConfig(manifest.Runtime{Agent: c.agent}, nil, "en")
			m := machine{s: State{Config: config, Left: c.left, Call: modelCall{Retries: c.retried, Attempt: c.retried + 1}}}
			if got := m.limits(c.stream, c.after); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Rule DEC Loop profiles: the default agent deadline is 180 s.
func TestDeadlineOf(t *testing.T) {
	if got := DeadlineOf(manifest.Runtime{}); got != 180*time.Second {
		t.Errorf("default %s", got)
	}
	if got := DeadlineOf(manifest.Runtime{Agent: manifest.Agent{TimeoutMs: 5}}); got != 5*time.Millisecond {
		t.Errorf("written %s", got)
	}
}

// Rule BL-04: Retry-After is honoured within the run's time, and an absurd one is cut to a minute.
func TestRetryAfter(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		after, left time.Duration
		waits       time.Duration
		again       bool
	}{
		{7 * s, 180 * s, 7 * s, true},
		{7 * s, 9 * s, 0, false}, // it would not fit
		{73 * 365 * 24 * time.Hour, 180 * s, 60 * s, true},
		{73 * 365 * 24 * time.Hour, 30 * s, 0, false},
		{-s, 180 * s, 0, true},
	} {
		config := Config{Profile: ResolveProfile(SystemProfile), Retry: DefaultRetryPolicy(1), Locale: "en"}
		st, _ := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "hi"}}, Left: c.left})
		_, effects := Step(st, ModelFailed{Err: &model.Error{Kind: model.RateLimited, Status: 429, Message: "慢点", RetryAfter: c.after}, Left: c.left})
		call, again := effects[0].(CallModel)
		if again != c.again || call.After != c.waits {
			t.Errorf("Retry-After %s with %s left: %+v", c.after, c.left, effects[0])
		}
	}
}

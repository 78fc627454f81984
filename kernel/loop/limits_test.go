package loop

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// Rule BL-04: the first-token and idle limits leave room for every retry that is still allowed, and for what it must wait.
// Rule REF plugins.md §9.4: first output within firstTokenTimeoutMs, then at most idleTimeoutMs of silence, both at least 1 s.
// Rule REF plugins.md §9.4: a request has 120 s for all its attempts, unless its runtime names longer limits.
// Rule REF plugins.md §9.4: an unstreamed call gets the run's time divided by its attempts, at most 60 s; an explicit limit is kept.
func TestLimitsLeaveRoomForTheRetries(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		agent   manifest.Agent
		stream  bool
		left    time.Duration
		retried int
		after   time.Duration
		waited  time.Duration
		want    model.Limits
	}{
		"unknown time":                 {manifest.Agent{MaxRetries: 1}, true, 0, 0, 0, 0, model.Limits{FirstToken: 60 * s, Idle: 60 * s}},
		"much time":                    {manifest.Agent{MaxRetries: 1}, true, 600 * s, 0, 0, 0, model.Limits{FirstToken: 60 * s, Idle: 60 * s}},
		"no retry":                     {manifest.Agent{}, true, 600 * s, 0, 0, 0, model.Limits{FirstToken: 120 * s, Idle: 120 * s}},
		"the default deadline":         {manifest.Agent{MaxRetries: 1}, true, 180 * s, 0, 0, 0, model.Limits{FirstToken: 60 * s, Idle: 60 * s}},
		"five retries":                 {manifest.Agent{MaxRetries: 5}, true, 180 * s, 0, 0, 0, model.Limits{FirstToken: 20 * s, Idle: 20 * s}},
		"the last attempt":             {manifest.Agent{MaxRetries: 5}, true, 71 * s, 5, 0, 0, model.Limits{FirstToken: 60 * s, Idle: 60 * s}},
		"the last gets the rest":       {manifest.Agent{MaxRetries: 1}, true, 600 * s, 1, 0, 25 * s, model.Limits{FirstToken: 95 * s, Idle: 95 * s}},
		"a wait before it":             {manifest.Agent{MaxRetries: 1}, true, 63500 * time.Millisecond, 1, 20 * s, 0, model.Limits{FirstToken: 40 * s, Idle: 40 * s}},
		"written limits are cut":       {manifest.Agent{MaxRetries: 1, FirstTokenMs: 500_000, IdleMs: 7000}, true, 63500 * time.Millisecond, 0, 0, 0, model.Limits{FirstToken: 30 * s, Idle: 7 * s}},
		"written limits may be longer": {manifest.Agent{MaxRetries: 1, FirstTokenMs: 300_000}, true, 900 * s, 0, 0, 0, model.Limits{FirstToken: 300 * s, Idle: 120 * s}},
		"hardly any time":              {manifest.Agent{MaxRetries: 1}, true, 3 * s, 0, 0, 0, model.Limits{FirstToken: s, Idle: s}},
		"whole":                        {manifest.Agent{MaxRetries: 1}, false, 180 * s, 0, 0, 0, model.Limits{Call: 60 * s}},
		"whole, three retries":         {manifest.Agent{MaxRetries: 3}, false, 180 * s, 0, 0, 0, model.Limits{Call: 30 * s}},
		"whole, a short run":           {manifest.Agent{MaxRetries: 1, TimeoutMs: 8000}, false, 0, 0, 0, 0, model.Limits{Call: 5 * s}},
		"whole, explicit":              {manifest.Agent{MaxRetries: 1, CallTimeoutMs: 170_000}, false, 10 * s, 0, 0, 0, model.Limits{Call: 170 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			config := NewConfig(manifest.Runtime{Agent: c.agent}, nil, "en")
			m := machine{s: State{Config: config, Left: c.left, Call: modelCall{Retries: c.retried, Attempt: c.retried + 1, Waited: c.waited}}}
			if got := m.limits(c.stream, c.after); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Rule REF plugins.md §9.4: whatever a runtime says, a model that is silent at every attempt is asked as often as is allowed,
// within the run's time, and at most eight times for one request.
// Rule DEC Loop profiles: the limits are cut so that every allowed retry still fits.
func TestEveryAllowedRetryFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		retries := rapid.IntRange(0, 5).Draw(t, "retries")
		agent := manifest.Agent{
			MaxRetries: retries, TimeoutMs: rapid.IntRange(30_000, 900_000).Draw(t, "timeout"),
			FirstTokenMs: rapid.SampledFrom([]int{0, 1000, 45_000, 500_000}).Draw(t, "firstToken"),
		}
		rt := manifest.Runtime{Agent: agent}
		if rapid.Bool().Draw(t, "story") {
			rt.IO.Visibility = manifest.VisibilityStory
		}
		left := DeadlineOf(rt)
		s, effects := Step(State{}, Begin{Config: NewConfig(rt, nil, "zh"), Messages: []model.Message{{Role: model.User, Content: "嗯"}}, Left: left})
		asked := 0
		for s.Outcome == nil {
			call, ok := effects[len(effects)-1].(CallModel)
			if !ok {
				t.Fatalf("%T", effects[len(effects)-1])
			}
			asked++
			left -= max(call.After, Backoff(call.Attempt)) + max(call.Request.Limits.FirstToken, call.Request.Limits.Call)
			if left <= 0 {
				t.Fatalf("attempt %d of %d ends %s after the run's time", asked, 1+retries, -left)
			}
			s, effects = Step(s, ModelFailed{Err: &model.Error{Kind: model.Timeout, Message: "first-token-timeout"}, Left: left})
		}
		if asked != 1+retries || s.Outcome.Stop != StopModelError {
			t.Fatalf("asked %d times, stopped with %s; %d retries are allowed", asked, s.Outcome.Stop, retries)
		}
	})
}

// Rule REF plugins.md §9.4: a request is sent at most eight times and waits at most 120 s in all; a failure after that ends the run.
func TestTheBudgetOfARequest(t *testing.T) {
	begin := Begin{Config: Config{Profile: ResolveProfile(SystemProfile), Retry: DefaultRetryPolicy(20), Locale: "en"}, Messages: []model.Message{{Role: model.User, Content: "hi"}}, Left: 900 * time.Second}
	for name, c := range map[string]struct {
		each time.Duration // what an attempt takes
		want int
	}{
		"quick failures": {time.Second, CallRequests}, "silence": {40 * time.Second, 3},
	} {
		s, _ := Step(State{}, begin)
		left, asked := begin.Left, 0
		for s.Outcome == nil {
			asked++
			left -= c.each
			s, _ = Step(s, ModelFailed{Err: &model.Error{Kind: model.Transient, Message: "reset"}, Left: left})
		}
		if asked != c.want {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.want)
		}
	}
}

// Rule REF plugins.md §9.4: from the second attempt on a small hint in the instruction language stands behind the request, with
// white space that differs.
func TestTheHintOfARepeatedAttempt(t *testing.T) {
	for locale, want := range map[string]string{"en": "The previous attempt", "zh": "上一次尝试"} {
		config := Config{Profile: ResolveProfile(SystemProfile), Retry: DefaultRetryPolicy(3), Locale: locale}
		s, effects := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "hi"}}})
		seen := map[string]bool{}
		for n := range 4 {
			sent := effects[len(effects)-1].(CallModel).Request.Messages
			last := sent[len(sent)-1]
			if hinted := last.Role == model.System; hinted != (n > 0) || hinted && !strings.HasPrefix(last.Content, want) || seen[last.Content] {
				t.Errorf("%s: attempt %d ends on %q", locale, n+1, last.Content)
			}
			seen[last.Content] = true
			s, effects = Step(s, ModelFailed{Err: &model.Error{Kind: model.RateLimited, Message: "slow down"}})
		}
	}
}

// Rule REF plugins.md §9.4: the reasons of repeated attempts.
func TestRetryReasons(t *testing.T) {
	for want, e := range map[string]model.Error{
		"first-token-timeout": {Kind: model.Timeout, Message: "the model wrote nothing for 1s: first-token-timeout"},
		"idle-timeout":        {Kind: model.Timeout, Message: "the model was silent for 1s: idle-timeout"},
		"call-timeout":        {Kind: model.Timeout, Message: "i/o timeout"},
		"transient-error":     {Kind: model.Transient, Message: "reset"},
		"rate-limited":        {Kind: model.RateLimited},
		"unknown":             {Kind: "new"},
	} {
		if got := retryReason(&e); got != want {
			t.Errorf("%+v: %s, want %s", e, got, want)
		}
	}
}

// Rule REF plugins.md §9.4: timeouts, network, 429, 5xx and broken streams are tried again; permanent errors, refusals of the
// request and cancellations are not.
func TestWhatIsTriedAgain(t *testing.T) {
	for kind, again := range map[model.ErrorKind]bool{
		model.Transient: true, model.RateLimited: true, model.Timeout: true, model.Empty: true, model.Interrupted: true,
		model.Permanent: false, model.Cancelled: false, model.Overflow: false,
	} {
		s, _ := Step(State{}, Begin{Config: Config{Profile: ResolveProfile(SystemProfile), Retry: DefaultRetryPolicy(1)}, Messages: []model.Message{{Role: model.User, Content: "hi"}}})
		if s, _ = Step(s, ModelFailed{Err: &model.Error{Kind: kind, Message: "no"}}); (s.Outcome == nil) != again {
			t.Errorf("%s: again %v, want %v", kind, s.Outcome == nil, again)
		}
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

package llm_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/kernel/model"
)

func TestBackoff(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name        string
		err         *model.Error
		attempt     int
		least, most time.Duration // with rnd at 0 and just below 1
	}{
		{"first", &model.Error{Kind: model.Transient}, 1, 250 * ms, 500 * ms},
		{"second", &model.Error{Kind: model.Empty}, 2, 500 * ms, 1 * s},
		{"third", &model.Error{Kind: model.Timeout}, 3, 1 * s, 2 * s},
		{"fifth", &model.Error{Kind: model.Transient}, 5, 4 * s, 8 * s},
		{"hundredth", &model.Error{Kind: model.Transient}, 100, 4 * s, 8 * s},
		{"nonsense attempt", &model.Error{Kind: model.Transient}, -3, 250 * ms, 500 * ms},
		{"retry after", &model.Error{Kind: model.RateLimited, RetryAfter: 7 * s}, 1, 7 * s, 8750 * ms},
		{"retry after of a 503", &model.Error{Kind: model.Transient, RetryAfter: 4 * s}, 3, 4 * s, 5 * s},
		{"absurd retry after", &model.Error{Kind: model.RateLimited, RetryAfter: 1 << 62}, 1, 30 * s, 37500 * ms},
		{"negative retry after", &model.Error{Kind: model.RateLimited, RetryAfter: -s}, 1, 250 * ms, 500 * ms},
		{"permanent", &model.Error{Kind: model.Permanent, RetryAfter: 7 * s}, 1, 0, 0},
		{"cancelled", &model.Error{Kind: model.Cancelled}, 1, 0, 0},
		{"none", nil, 1, 0, 0},
	} {
		least := llm.Backoff(c.err, c.attempt, func() float64 { return 0 })
		most := llm.Backoff(c.err, c.attempt, func() float64 { return math.Nextafter(1, 0) })
		if least != c.least || (most-c.most).Abs() > 1 {
			t.Errorf("%s: got %s to %s, want %s to %s", c.name, least, most, c.least, c.most)
		}
	}
}

func TestBackoffIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		err := &model.Error{
			Kind:       rapid.SampledFrom([]model.ErrorKind{model.Transient, model.RateLimited, model.Empty, model.Permanent}).Draw(t, "kind"),
			RetryAfter: time.Duration(rapid.Int64().Draw(t, "retry after")),
		}
		wait := llm.Backoff(err, rapid.Int().Draw(t, "attempt"), func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "random") })
		if wait < 0 || wait > llm.MaxRetryAfter+llm.MaxRetryAfter/4 {
			t.Fatalf("%+v waits %s", err, wait)
		}
	})
}

func TestRetryable(t *testing.T) {
	for kind, want := range map[model.ErrorKind]bool{
		model.Transient: true, model.RateLimited: true, model.Interrupted: true, model.Empty: true, model.Timeout: true,
		model.Permanent: false, model.Cancelled: false, "": false,
	} {
		if llm.Retryable(kind) != want {
			t.Errorf("%q: want %v", kind, want)
		}
	}
}

package failure_test

import (
	"context"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

func TestEnded(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if got := failure.Ended(cancelled); got.Kind != model.Cancelled || !errors.Is(got, context.Canceled) {
		t.Errorf("got %+v", got)
	}
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	if got := failure.Ended(late); got.Kind != model.Timeout || !errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("got %+v", got)
	}
}

func TestOf(t *testing.T) {
	if failure.Of(nil) != nil {
		t.Error("nil is no failure")
	}
	inner := &model.Error{Kind: model.Empty, Message: "无"}
	if got := failure.Of(errors.Wrap(inner, "step 3")); got != inner {
		t.Errorf("got %+v", got)
	}
	strange := errors.New("strange")
	if got := failure.Of(strange); got.Kind != model.Transient || got.Message != "strange" || !errors.Is(got, strange) {
		t.Errorf("got %+v", got)
	}
}

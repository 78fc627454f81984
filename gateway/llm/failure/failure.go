// Package failure makes the two *model.Error values that every provider and wrapper needs.
package failure

import (
	"context"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
)

// Ended is the failure of a call whose ctx is done: Timeout when a deadline passed, else Cancelled.
func Ended(ctx context.Context) *model.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &model.Error{Kind: model.Timeout, Message: "the deadline of the call passed", Err: ctx.Err()}
	}
	return &model.Error{Kind: model.Cancelled, Message: "the call was cancelled", Err: ctx.Err()}
}

// Of gives the *model.Error inside err, nil for nil. A provider that breaks its contract and returns another error is
// taken for transiently broken, so that the caller still learns the text.
func Of(err error) *model.Error {
	if err == nil {
		return nil
	}
	var failed *model.Error
	if errors.As(err, &failed) {
		return failed
	}
	return &model.Error{Kind: model.Transient, Message: err.Error(), Err: err}
}

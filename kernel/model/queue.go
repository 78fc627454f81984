package model

import "context"

type queueKey struct{}

// WithQueue makes a call tell when it begins and ends to wait for its place among the calls that are open at once: the time
// it waits is not the model's and not charged to its caller.
func WithQueue(ctx context.Context, tell func(waiting bool)) context.Context {
	return context.WithValue(ctx, queueKey{}, tell)
}

// Queued tells whoever asked for it. It is for providers that bound the calls that are open.
func Queued(ctx context.Context, waiting bool) {
	if tell, ok := ctx.Value(queueKey{}).(func(bool)); ok {
		tell(waiting)
	}
}

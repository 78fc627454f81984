// Package safego starts goroutines whose panics end the goroutine and not the process.
package safego

import (
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/pkg/errors"
)

// ErrPanic is what every recovered panic is wrapped around: errors.Is(err, ErrPanic) tells it from other failures.
var ErrPanic = errors.New("panic")

// Hook is told of every recovered panic: the name of the goroutine and the panic as an error (errors.Is ErrPanic, and
// the panic value too when it was an error).
type Hook func(name string, err error)

var hook atomic.Pointer[Hook]

// SetHook sets the hook for the process (metrics, tests) and returns the function that puts the former one back. nil
// removes it.
func SetHook(h Hook) (restore func()) {
	var next *Hook
	if h != nil {
		next = &h
	}
	former := hook.Swap(next)
	return func() { hook.Store(former) }
}

// Go runs f in a new goroutine. A panic in f is logged under name and ends that goroutine only.
func Go(name string, f func()) {
	go func() {
		defer Recover(name, nil)
		f()
	}()
}

// Recover is to be deferred directly: it stops a panic, logs it with its stack at Error, tells the hook, and then calls
// onPanic, if there is one, with the panic as an error. Without a panic it does nothing. runtime.Goexit passes through.
func Recover(name string, onPanic func(err error)) {
	v := recover()
	if v == nil {
		return
	}
	err := asError(v)
	slog.Error("recovered panic", "goroutine", name, "error", err, "stack", string(debug.Stack()))
	report(name, err)
	if onPanic != nil {
		onPanic(err)
	}
}

// report calls the hook; a hook that panics itself must not bring down what the recovery just saved.
func report(name string, err error) {
	h := hook.Load()
	if h == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			slog.Error("panic hook panicked", "goroutine", name, "error", asError(v), "stack", string(debug.Stack()))
		}
	}()
	(*h)(name, err)
}

// panicError keeps both: that it was a panic, and the error that was thrown.
type panicError struct {
	text   string
	thrown error
}

func (e *panicError) Error() string { return e.text }

func (e *panicError) Unwrap() []error {
	if e.thrown == nil {
		return []error{ErrPanic}
	}
	return []error{ErrPanic, e.thrown}
}

func asError(v any) error {
	thrown, _ := v.(error)
	return &panicError{text: errors.Errorf("panic: %v", v).Error(), thrown: thrown}
}

package safego

import (
	"bytes"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pkg/errors"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// captureLog sends the default logger into a buffer for the time of a test.
func captureLog(t *testing.T) *bytes.Buffer {
	var buf bytes.Buffer
	former := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&buf, nil)))
	t.Cleanup(func() { slog.SetDefault(former) })
	return &buf
}

func explodeHere(v any) { panic(v) }

func TestGoRecoversLogsAndReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := captureLog(t)
		var name string
		var got error
		defer SetHook(func(n string, err error) { name, got = n, err })()

		Go("会话 陆青云", func() { explodeHere(io.ErrUnexpectedEOF) })
		synctest.Wait()

		if name != "会话 陆青云" {
			t.Errorf("hook was told of goroutine %q", name)
		}
		if !errors.Is(got, ErrPanic) || !errors.Is(got, io.ErrUnexpectedEOF) {
			t.Errorf("hook got %v, want ErrPanic and the thrown error in its chain", got)
		}
		for _, want := range []string{"level=ERROR", "陆青云", "unexpected EOF", "explodeHere"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log lacks %q:\n%s", want, log)
			}
		}
	})
}

func TestGoRunsWithoutPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer SetHook(func(n string, err error) { t.Errorf("hook called: %s %v", n, err) })()
		ran := false
		Go("quiet", func() { ran = true })
		synctest.Wait()
		if !ran {
			t.Error("f did not run")
		}
	})
}

func TestRecover(t *testing.T) {
	captureLog(t)
	tests := []struct {
		name  string
		throw any
		text  string
	}{
		{"string", "龙胆", "panic: 龙胆"},
		{"error", errors.New("boom"), "panic: boom"},
		{"number", 7, "panic: 7"},
		{"nil", nil, "panic called with nil argument"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got error
			func() {
				defer Recover("table", func(err error) { got = err })
				explodeHere(tt.throw)
			}()
			if got == nil || !errors.Is(got, ErrPanic) || !strings.Contains(got.Error(), tt.text) {
				t.Errorf("got %v, want an ErrPanic with %q", got, tt.text)
			}
		})
	}
}

func TestRecoverWithoutPanicDoesNothing(t *testing.T) {
	defer SetHook(func(string, error) { t.Error("hook called") })()
	func() { defer Recover("calm", func(error) { t.Error("onPanic called") }) }()
}

func TestPanickingHookIsContained(t *testing.T) {
	log := captureLog(t)
	defer SetHook(func(string, error) { panic("hook") })()
	called := false
	func() {
		defer Recover("outer", func(error) { called = true })
		explodeHere("first")
	}()
	if !called {
		t.Error("onPanic was not called after the hook panicked")
	}
	if !strings.Contains(log.String(), "panic hook panicked") {
		t.Errorf("the hook's panic was not logged:\n%s", log)
	}
}

func TestSetHookRestores(t *testing.T) {
	captureLog(t)
	calls := ""
	restoreA := SetHook(func(string, error) { calls += "a" })
	restoreB := SetHook(func(string, error) { calls += "b" })
	throw := func() {
		defer Recover("x", nil)
		explodeHere("x")
	}
	throw()
	restoreB()
	throw()
	restoreA()
	throw()
	if calls != "ba" {
		t.Errorf("hooks were called in the order %q, want %q", calls, "ba")
	}
}

func TestGoexitPassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer SetHook(func(n string, err error) { t.Errorf("hook called: %s %v", n, err) })()
		Go("exit", runtime.Goexit)
		synctest.Wait()
	})
}

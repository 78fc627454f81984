package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/storetest"
)

// Set in the environment of a child: the folder of the log, and what it does there.
const (
	childDir = "COVEL_TEST_CHILD_DIR"
	childJob = "COVEL_TEST_CHILD_JOB"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		if err := childJobs[job](os.Getenv(childDir)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childJobs run in processes of their own.
var childJobs = map[string]func(dir string) error{
	"append until killed": func(dir string) error {
		s, err := Open(dir, Options{})
		if err != nil {
			return err
		}
		return storetest.AppendUntilKilled(s)
	},
}

func child(job, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childJob+"="+job, childDir+"="+dir)
	return cmd
}

func TestStore(t *testing.T) {
	features := storetest.Features{Reopen: true, Faults: true, Kill: true, MaxAppend: MaxAppend}
	storetest.Run(t, features, func(t *testing.T) storetest.Factory {
		dir := t.TempDir()
		var next atomic.Pointer[storetest.Fault]
		opts := Options{commit: func(commit func() error) error {
			switch f := next.Swap(nil); {
			case f == nil:
				return commit()
			case *f == storetest.LoseAck:
				if err := commit(); err != nil {
					return err
				}
			}
			return errors.New("injected: the commit did not answer")
		}}
		return storetest.Factory{
			Open:   func() (events.Store, error) { return Open(dir, opts) },
			Inject: func(f storetest.Fault) { next.Store(&f) },
			Child:  func() *exec.Cmd { return child("append until killed", dir) },
		}
	})
}

//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

func init() { childJobs["fill the disk"] = fillTheDisk }

// TestFullDisk runs in a process of its own, whose files the system does not let grow: what a full disk does to a commit.
func TestFullDisk(t *testing.T) {
	out, err := child("fill the disk", t.TempDir()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "survived") {
		t.Errorf("%v\n%s", err, out)
	}
}

func fillTheDisk(dir string) error {
	signal.Ignore(syscall.SIGXFSZ) // writing then fails with an error
	ctx := context.Background()
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	var acknowledged []events.Event
	add := func(evs []events.Event) error {
		_, err := s.Append(ctx, stream, events.Version(len(acknowledged)), evs)
		if err == nil {
			acknowledged = append(acknowledged, evs...)
		}
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for round := range 3 {
		if err := add(newEvents(3)); err != nil {
			return errors.Wrap(err, "with room")
		}
		wal, err := os.Stat(s.writer.path + "-wal")
		if err != nil {
			return err
		}
		full := limit
		full.Cur = uint64(wal.Size()) + 40_000
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
			return err
		}
		pending := newEvents(2)
		for range 1000 {
			if err = add(pending); err != nil {
				break
			}
			pending = newEvents(2)
		}
		if !errors.Is(err, events.ErrUnknown) {
			return errors.Errorf("round %d: the disk is full and the append answers %v", round, err)
		}
		for range 3 { // still full
			if err := add(pending); !errors.Is(err, events.ErrUnknown) {
				return errors.Errorf("round %d: repeated on the full disk: %v", round, err)
			}
		}
		if err := checkLog(ctx, s, acknowledged); err != nil {
			return errors.Wrapf(err, "round %d: reading on the full disk", round)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		if round == 1 { // another stream comes first
			if _, err := s.Append(ctx, "other", 0, newEvents(1)); err != nil {
				return errors.Wrap(err, "another stream, with room again")
			}
		}
		if round == 2 { // or a restart
			if err := s.Close(); err != nil {
				return err
			}
			if s, err = Open(dir, Options{}); err != nil {
				return err
			}
		}
		if err := add(pending); err != nil {
			return errors.Wrapf(err, "round %d: with room again", round)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(dir, Options{}); err != nil {
		return err
	}
	defer s.Close()
	if err := checkLog(ctx, s, acknowledged); err != nil {
		return errors.Wrap(err, "at the end")
	}
	fmt.Println("survived with", len(acknowledged), "events")
	return nil
}

func checkLog(ctx context.Context, s *Store, want []events.Event) error {
	got, err := read(s.ReadStream(ctx, stream, 0))
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return errors.Errorf("%d events, %d were acknowledged", len(got), len(want))
	}
	for i := range want {
		if got[i].ID != want[i].ID {
			return errors.Errorf("event %d is another", i)
		}
	}
	return nil
}

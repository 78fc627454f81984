// Package bench measures appends against what the disk can do, for `covel bench append` and for Go benchmarks.
package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/disk"
	"github.com/covel/covel/events/sqlite"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Result is what a run did: how many durable writes in which time, and how long one took at the median and at the 99th
// percentile.
type Result struct {
	Ops      int
	Elapsed  time.Duration
	P50, P99 time.Duration
}

// PerSecond is the rate of the run.
func (r Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Ops) / r.Elapsed.Seconds()
}

// Append appends single events of eventBytes bytes to a new log in a folder of its own below dir, which is removed
// afterwards. Each of the writers has its own stream and waits for each append before the next. It ends after duration;
// each writer does one append at least.
func Append(ctx context.Context, dir string, writers, eventBytes int, duration time.Duration) (Result, error) {
	if writers < 1 || eventBytes < 0 {
		return Result{}, errors.Errorf("bench append: %d writers of %d bytes: want at least 1 writer and 0 bytes", writers, eventBytes)
	}
	var res Result
	err := inFolder(dir, func(dir string) error {
		store, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			return err
		}
		res, err = AppendTo(ctx, store, writers, eventBytes, duration)
		if e := store.Close(); err == nil {
			err = e
		}
		return err
	})
	return res, errors.Wrap(err, "bench append")
}

// AppendTo is Append on a store that is open; its streams are named bench-1 and so on and must not exist.
func AppendTo(ctx context.Context, store events.Store, writers, eventBytes int, duration time.Duration) (Result, error) {
	run, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	took := make([][]time.Duration, writers)
	failed := make([]error, writers)
	begun := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			stream := fmt.Sprintf("bench-%d", w+1)
			meta := &eventsv1.Metadata{CorrelationId: "bench", LogicalTurn: 1}
			evs := []events.Event{{Type: "NarrativeAppended", SchemaVersion: 1, Data: make([]byte, eventBytes), Metadata: meta}}
			for version := events.NoStream; version == 0 || run.Err() == nil; version++ {
				evs[0].ID = events.NewID(stream, "bench", int(version), 0)
				start := time.Now()
				// Not the context of the run: its end would cut the last append off and leave it unknown.
				if _, err := store.Append(ctx, stream, version, evs); err != nil {
					failed[w] = err
					return
				}
				took[w] = append(took[w], time.Since(start))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(begun)
	for _, err := range failed {
		if err != nil {
			return Result{}, err
		}
	}
	return result(elapsed, slices.Concat(took...)), nil
}

// RawDurable appends blocks of so many bytes to one file below dir and makes each durable (fdatasync where there is one)
// before the next: what a single writer without any store could do.
func RawDurable(dir string, bytes int, duration time.Duration) (Result, error) {
	if bytes < 1 {
		return Result{}, errors.Errorf("bench raw: blocks of %d bytes: want at least 1", bytes)
	}
	var res Result
	err := inFolder(dir, func(dir string) error {
		f, err := os.Create(filepath.Join(dir, "raw"))
		if err != nil {
			return err
		}
		defer f.Close()
		block := make([]byte, bytes)
		var took []time.Duration
		begun := time.Now()
		for n := uint64(1); time.Since(begun) < duration; n++ {
			if len(block) >= 8 {
				binary.LittleEndian.PutUint64(block, n) // no two blocks alike
			}
			start := time.Now()
			if _, err := f.Write(block); err != nil {
				return err
			}
			if err := disk.Datasync(f); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		res = result(time.Since(begun), took)
		return nil
	})
	return res, errors.Wrap(err, "bench raw durable writes")
}

// inFolder runs f with a new folder below dir and removes it.
func inFolder(dir string, f func(dir string) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sub, err := os.MkdirTemp(dir, "bench-")
	if err != nil {
		return err
	}
	err = f(sub)
	if e := os.RemoveAll(sub); err == nil {
		err = e
	}
	return err
}

func result(elapsed time.Duration, took []time.Duration) Result {
	r := Result{Ops: len(took), Elapsed: elapsed}
	if len(took) > 0 {
		slices.Sort(took)
		r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return r
}

package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/disk"
	"github.com/covel/covel/events/sqlite"
)

const eventBytes = 500

func BenchmarkAppend1(b *testing.B)  { benchmarkAppend(b, 1) }
func BenchmarkAppend64(b *testing.B) { benchmarkAppend(b, 64) }

// benchmarkAppend appends single events, each writer to its own stream.
func benchmarkAppend(b *testing.B, writers int) {
	s := openBench(b)
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			stream := fmt.Sprintf("stream-%d", w)
			evs := []events.Event{{Type: "NarrativeAppended", SchemaVersion: 1, Data: make([]byte, eventBytes)}}
			for v := events.NoStream; left.Add(-1) >= 0; v++ {
				evs[0].ID = events.NewID(stream, "bench", int(v), 0)
				if _, err := s.Append(context.Background(), stream, v, evs); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkRawDurable is the comparison: the same bytes to a file, each made durable before the next.
func BenchmarkRawDurable(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, eventBytes+100) // and what an append adds to it
	b.ResetTimer()
	for range b.N {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := disk.Datasync(f); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkReadStream reads a stream of 1,000 events, ten to an append.
func BenchmarkReadStream(b *testing.B) {
	s := openBench(b)
	const n, size = 1000, 10
	for v := 0; v < n; v += size {
		evs := make([]events.Event, size)
		for i := range evs {
			evs[i] = events.Event{ID: events.NewID("s", "bench", v, i), Type: "NarrativeAppended", SchemaVersion: 1, Data: make([]byte, eventBytes)}
		}
		if _, err := s.Append(b.Context(), "s", events.Version(v), evs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		got := 0
		for _, err := range s.ReadStream(b.Context(), "s", 0) {
			if err != nil {
				b.Fatal(err)
			}
			got++
		}
		if got != n {
			b.Fatalf("read %d events", got)
		}
	}
}

func openBench(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

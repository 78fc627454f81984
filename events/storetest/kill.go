package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/covel/covel/events"
)

const killWriters = 6

// AppendUntilKilled is the child of the Kill test: it appends to several streams without end and prints a line for each
// append that was acknowledged. It returns only with an error.
func AppendUntilKilled(s events.Store) error {
	ctx := context.Background()
	var out sync.Mutex
	failed := make(chan error, killWriters)
	for w := range killWriters {
		go func() {
			stream := fmt.Sprintf("%s-%d", stream1, w)
			version, err := s.StreamVersion(ctx, stream)
			for err == nil {
				size := 1 + int(version)%4
				evs := make([]events.Event, size)
				for i := range evs {
					evs[i] = event(fmt.Sprintf("%d of %d %s", i, size, strings.Repeat("龙胆", 40)))
				}
				var done events.Appended
				if done, err = s.Append(ctx, stream, version, evs); err != nil {
					break
				}
				version = done.Version
				out.Lock()
				_, err = fmt.Fprintf(os.Stdout, "ack %s %d %d %s\n", stream, done.Version, done.Position, evs[size-1].ID)
				out.Unlock()
			}
			failed <- err
		}()
	}
	return <-failed
}

type ack struct {
	version  events.Version
	position events.Position
	id       uuid.UUID
}

// testKill kills a process that appends, at different moments, and opens what it left: each acknowledged append must be
// there, and no part of another.
func testKill(t *testing.T, h *harness) {
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	acks := map[string][]ack{}
	for round, moment := range []int{1, 40, 150} {
		cmd := h.factory.Child()
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(pipe)
		for n := 0; ; n++ {
			if n == moment {
				if err := cmd.Process.Kill(); err != nil { // SIGKILL
					t.Fatal(err)
				}
			}
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				if n < moment {
					t.Fatalf("round %d: the child ended by itself after %d appends", round, n)
				}
				break // a line without end was cut off by the kill and is no acknowledgement
			}
			if err != nil {
				t.Fatal(err)
			}
			var stream string
			var a ack
			var id string
			_, err = fmt.Sscanf(line, "ack %s %d %d %s", &stream, &a.version, &a.position, &id)
			if err == nil {
				a.id, err = uuid.Parse(id)
			}
			if err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			acks[stream] = append(acks[stream], a)
		}
		_ = cmd.Wait() // it was killed

		s, err := h.factory.Open()
		if err != nil {
			t.Fatalf("round %d: open what the killed process left: %v", round, err)
		}
		h.store = s
		log := all(t, h.store.ReadAll(h.ctx, 0))
		if err := inOrder(log, nil); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		for w := range killWriters {
			stream := fmt.Sprintf("%s-%d", stream1, w)
			checkKilled(t, h.stream(stream), acks[stream])
		}
		if v := h.version(stream4); v != events.Version(round) { // and it can be written
			t.Errorf("round %d: version %d", round, v)
		}
		h.append(stream4, events.Version(round), event("after the kill"))
		if err := h.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acks) == 0 {
		t.Error("no append was acknowledged")
	}
	h.store = nil
	h.reopen()
}

func checkKilled(t *testing.T, evs []events.Recorded, acks []ack) {
	t.Helper()
	for _, a := range acks {
		if int(a.version) > len(evs) {
			t.Errorf("acknowledged version %d is lost, the stream ends at %d", a.version, len(evs))
			continue
		}
		if r := evs[a.version-1]; r.ID != a.id || r.Position != a.position {
			t.Errorf("acknowledged version %d changed: %s at %d, want %s at %d", a.version, r.ID, r.Position, a.id, a.position)
		}
	}
	for i := 0; i < len(evs); {
		var at, size int
		if _, err := fmt.Sscanf(string(evs[i].Data), "%d of %d", &at, &size); err != nil || at != 0 || i+size > len(evs) {
			t.Fatalf("version %d is %.12q of %d events: a part of an append", i+1, evs[i].Data, len(evs))
		}
		i += size
	}
}

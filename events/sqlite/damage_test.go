package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/covel/covel/events"
)

// TestDamage changes the tables behind the store's back. Appends of two events stand at versions 2, 4, 6, 8.
func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage string
		at     string // what the error must name
		all    bool   // ReadAll sees it too
	}{
		{"a bit of the body", "UPDATE appends SET body = substr(body, 1, 40) || x'ff' || substr(body, 42) WHERE version = 4", "version 4", true},
		{"a short body", "UPDATE appends SET body = substr(body, 1, 40) WHERE version = 4", "version 4", true},
		{"an empty body", "UPDATE appends SET body = x'' WHERE version = 4", "version 4", true},
		{"the time", "UPDATE appends SET recorded_at = recorded_at + 1 WHERE version = 4", "version 4", true},
		{"the checksum", "UPDATE appends SET sum = sum + 1 WHERE version = 4", "version 4", true},
		{"the version", "UPDATE appends SET version = 40 WHERE version = 4", "version 3", true},
		{"the position", "UPDATE appends SET position = 40 WHERE version = 4", "version 4", true},
		{"the stream", "UPDATE appends SET stream = (SELECT id FROM streams WHERE name = 'other') WHERE version = 4", "version 3", true},
		{"the name of the stream", "UPDATE streams SET name = name || '?'", "version", true},
		{"a lost append", "DELETE FROM appends WHERE version = 4", "version 3", false},
		{"the first append is lost", "DELETE FROM appends WHERE version = 2", "version 1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := mustOpen(t, dir, Options{})
			var evs []events.Event
			for v := events.Version(0); v < 8; v += 2 {
				evs = append(evs, mustAppend(t, s, stream, v, 2)...)
			}
			mustAppend(t, s, "other", 0, 1)
			mustExec(t, raw(t, dir), tt.damage)
			name := stream
			if strings.Contains(tt.damage, "name ||") {
				name += "?"
			}
			check := func(what string, seq iter.Seq2[events.Recorded, error]) {
				t.Helper()
				got, err := read(seq)
				if !errors.Is(err, events.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), tt.at) {
					t.Errorf("%s: %d events and %v, want ErrCorrupt at %s", what, len(got), err, tt.at)
				}
			}
			check("forward", s.ReadStream(t.Context(), name, 0))
			if tt.all {
				if _, err := read(s.ReadAll(t.Context(), 0)); !errors.Is(err, events.ErrCorrupt) {
					t.Errorf("all: %v", err)
				}
			}
			if got, err := read(s.ReadStreamBackward(t.Context(), name, 0)); !errors.Is(err, events.ErrCorrupt) {
				t.Errorf("backward: %d events and %v", len(got), err)
			}
			if name == stream {
				// A repeat must not be answered with done from a damaged log, nor with a wrong version: it is known to be neither.
				if _, err := s.Append(t.Context(), stream, 0, evs[:6]); !errors.Is(err, events.ErrCorrupt) {
					t.Errorf("repeat: %v", err)
				}
				if _, err := s.Append(t.Context(), "third", 0, newEvents(1)); err != nil {
					t.Errorf("other streams: %v", err)
				}
			}
		})
	}
}

func TestTextThatIsNotUTF8InMetadataIsRefused(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	evs := newEvents(1)
	evs[0].Metadata = metadata("龙\xff")
	if _, err := s.Append(t.Context(), stream, 0, evs); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestRowsAtTheEdge reads rows as damage could leave them, with a checksum that fits.
func TestRowsAtTheEdge(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, stream, 0, 1)
	var id int64
	if err := raw(t, dir).QueryRow("SELECT id FROM streams").Scan(&id); err != nil {
		t.Fatal(err)
	}
	put := func(r row) {
		t.Helper()
		body, err := appendBody(nil, newEvents(3))
		if err != nil {
			t.Fatal(err)
		}
		r.body = body
		r.sum, _ = checksum(crc(body), stream, &r, nil)
		mustExec(t, raw(t, dir), "INSERT OR REPLACE INTO appends (position, stream, version, recorded_at, sum, body) VALUES (?, ?, ?, ?, ?, ?)",
			r.position, id, r.version, r.recordedAt, r.sum, r.body)
	}
	for _, r := range []row{{position: 9, version: 2}, {position: 2, version: 9}, {position: 9, version: 3}, {position: 9, version: -1}, {position: -4, version: 9}} {
		put(r) // three events that end there: overlapping, impossible, or with a gap
		if got, err := read(s.ReadStream(t.Context(), stream, 0)); !errors.Is(err, events.ErrCorrupt) && r.version > 0 {
			t.Errorf("%+v: %d events and %v", r, len(got), err)
		}
		if _, err := read(s.ReadStreamBackward(t.Context(), stream, 0)); !errors.Is(err, events.ErrCorrupt) && r.version > 0 {
			t.Errorf("%+v backward: %v", r, err)
		}
		mustExec(t, raw(t, dir), "DELETE FROM appends WHERE position <> 1")
	}
	var none sql.NullInt64
	if err := raw(t, dir).QueryRow("SELECT max(position) FROM appends").Scan(&none); err != nil || none.Int64 != 1 {
		t.Errorf("the test left %v (%v)", none, err)
	}
}

package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
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
		{"a bit of the body", "UPDATE appends SET body = CAST(substr(body, 1, 40) || x'ff' || substr(body, 42) AS BLOB) WHERE version = 4", "version 4", true},
		{"a short body", "UPDATE appends SET body = substr(body, 1, 40) WHERE version = 4", "version 4", true},
		{"an empty body", "UPDATE appends SET body = x'' WHERE version = 4", "version 4", true},
		{"the time", "UPDATE appends SET recorded_at = recorded_at + 1 WHERE version = 4", "version 4", true},
		{"the checksum", "UPDATE appends SET sum = sum + 1 WHERE version = 4", "version 4", true},
		{"the version", "UPDATE appends SET version = 40 WHERE version = 4", "version 3", true},
		{"the position", "UPDATE appends SET position = 40 WHERE version = 4", "version 4", true},
		{"the stream", "UPDATE appends SET stream = (SELECT id FROM streams WHERE name = 'other') WHERE version = 4", "version 3", true},
		{"the name of the stream", "UPDATE streams SET name = name || '?'", "version", true},
		{"a lost append", "DELETE FROM appends WHERE version = 4", "version 3", false},
		{"the last append is lost", "DELETE FROM appends WHERE version = 8", "version 7", false},
		{"all appends are lost", "DELETE FROM appends", "version 1", true},
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
				if _, err := s.Append(t.Context(), stream, 0, evs); !errors.Is(err, events.ErrCorrupt) {
					t.Errorf("repeat: %v", err)
				}
				if _, err := s.Append(t.Context(), "third", 0, newEvents(1)); err != nil {
					t.Errorf("other streams: %v", err)
				}
			}
		})
	}
}

// TestDamagedPages overwrites a part of the file: SQLite notices, or the checksum does.
func TestDamagedPages(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for v := events.Version(0); v < 600; v += 20 {
		mustAppend(t, s, stream, v, 20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	noticed := 0
	for at := page; at+page <= len(whole); at += page {
		damaged := slices.Clone(whole)
		copy(damaged[at+100:at+page-100], bytes.Repeat([]byte("龙胆"), page))
		copy(damaged[at+page:], whole[at+page:])
		if err := os.WriteFile(filepath.Join(dir, FileName), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil { // the damage is where the store looks first
			noticed++
			continue
		}
		for _, seq := range []iter.Seq2[events.Recorded, error]{s.ReadStream(t.Context(), stream, 0), s.ReadStreamBackward(t.Context(), stream, 0), s.ReadAll(t.Context(), 0)} {
			switch got, err := read(seq); {
			case errors.Is(err, events.ErrCorrupt):
				noticed++
			case err != nil || len(got) != 600:
				t.Errorf("page %d: %d events and %v: neither all nor ErrCorrupt", at/page, len(got), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
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
		mustExec(t, raw(t, dir), "UPDATE streams SET version = ?", r.version)
	}
	// Three events that end there: overlapping with the first, impossible, or with a gap before them.
	for _, r := range []row{{position: 9, version: 2}, {position: 2, version: 9}, {position: 9, version: 3}, {position: 9, version: 9}, {position: -4, version: 9}} {
		put(r)
		for name, seq := range map[string]iter.Seq2[events.Recorded, error]{
			"forward":  s.ReadStream(t.Context(), stream, 0),
			"backward": s.ReadStreamBackward(t.Context(), stream, 0),
		} {
			if got, err := read(seq); !errors.Is(err, events.ErrCorrupt) {
				t.Errorf("%d at %d, %s: %d events and %v", r.version, r.position, name, len(got), err)
			}
		}
		mustExec(t, raw(t, dir), "DELETE FROM appends WHERE position <> 1")
		mustExec(t, raw(t, dir), "UPDATE streams SET version = 1")
	}
	if got, err := read(s.ReadStream(t.Context(), stream, 0)); err != nil || len(got) != 1 {
		t.Errorf("the test left %d events (%v)", len(got), err)
	}
}

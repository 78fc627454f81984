package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/covel/covel/events"
)

const stream = "session-龙胆"

func mustOpen(t *testing.T, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustAppend(t *testing.T, s *Store, name string, expected events.Version, n int) []events.Event {
	t.Helper()
	evs := newEvents(n)
	if _, err := s.Append(t.Context(), name, expected, evs); err != nil {
		t.Fatal(err)
	}
	return evs
}

func newEvents(n int) []events.Event {
	evs := make([]events.Event, n)
	for i := range evs {
		evs[i] = events.Event{ID: uuid.New(), Type: "NarrativeAppended", SchemaVersion: 1, Data: []byte("陆青云推开门。")}
	}
	return evs
}

func read(seq func(func(events.Recorded, error) bool)) (evs []events.Recorded, err error) {
	for r, err := range seq {
		if err != nil {
			return evs, err
		}
		evs = append(evs, r)
	}
	return evs, nil
}

// raw opens the file beside the store, as an operator with a tool would.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, FileName), "rw"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	res, err := db.Exec(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changed %d rows (%v)", query, n, err)
	}
}

func TestOnlyOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "数据 %41?#", "new")
	s := mustOpen(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("second: %v", err)
	}
	mustAppend(t, s, stream, 0, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := mustOpen(t, dir, Options{}).StreamVersion(t.Context(), stream); err != nil || v != 1 {
		t.Errorf("after the first was closed: version %d, %v", v, err)
	}
}

func TestSettingsOfConnections(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	ctx := t.Context()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
		var got string
		if err := s.writer.conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("writer: %s is %q (%v), want %q", pragma, got, err, want)
		}
	}
	var conns []*sql.Conn
	for range s.read.Stats().MaxOpenConnections { // all at once: each is another connection
		c, err := s.read.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		for pragma, want := range map[string]string{"query_only": "1", "busy_timeout": "10000"} {
			var got string
			if err := c.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("reader: %s is %q (%v), want %q", pragma, got, err, want)
			}
		}
	}
	for _, c := range conns {
		c.Close()
	}
}

func TestOpenReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without a log: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, stream, 0, 3)

	check := func(when string, events_ int) {
		t.Helper()
		r, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer r.Close()
		if evs, err := read(r.ReadStream(t.Context(), stream, 0)); err != nil || len(evs) != events_ {
			t.Errorf("%s: %d events, %v", when, len(evs), err)
		}
		if id := r.LogID(); id != s.LogID() {
			t.Errorf("%s: log id %s, want %s", when, id, s.LogID())
		}
		if _, err := r.Append(t.Context(), stream, 3, newEvents(1)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: append: %v", when, err)
		}
		if err := r.DeleteStream(t.Context(), stream); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: delete: %v", when, err)
		}
	}
	check("beside the server", 3)

	// A reader follows what the other process writes.
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range r.Subscribe(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			mustAppend(t, s, stream, 3, 2)
		}
		if n == 5 {
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, FileName+"-*")); len(left) > 0 {
		t.Errorf("the closed store left %v", left)
	}
	check("after the server", 5)
	if err := os.Chmod(filepath.Join(dir, FileName), 0o400); err != nil {
		t.Fatal(err)
	}
	check("of a file that cannot be written", 5)
}

func TestNewerPrograms(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{generation: 7})
	mustAppend(t, s, stream, 0, 1)
	s.Close()

	if _, err := Open(dir, Options{generation: 6}); !errors.Is(err, events.ErrTooNew) {
		t.Errorf("older program: %v", err)
	}
	r, err := OpenReadOnly(dir) // reading harms nobody
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for _, generation := range []uint32{7, 8} { // and 8 raises it
		s := mustOpen(t, dir, Options{generation: generation})
		s.Close()
	}
	if _, err := Open(dir, Options{generation: 7}); !errors.Is(err, events.ErrTooNew) {
		t.Errorf("program that has become older: %v", err)
	}
	mustExec(t, raw(t, dir), "UPDATE meta SET value = ? WHERE key = ?", layout+1, metaLayout)
	if _, err := Open(dir, Options{generation: 8}); !errors.Is(err, events.ErrTooNew) {
		t.Errorf("newer tables, to write: %v", err)
	}
	if _, err := OpenReadOnly(dir); !errors.Is(err, events.ErrTooNew) {
		t.Errorf("newer tables, to read: %v", err)
	}
}

func TestForeignFiles(t *testing.T) {
	t.Run("not SQLite", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte("陆青云's letters, which are no database at all"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantNoLog(t, dir)
	})
	t.Run("another database", func(t *testing.T) {
		dir := t.TempDir()
		db, err := sql.Open("sqlite", dsn(filepath.Join(dir, FileName), "rwc"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE meta (key, value)"); err != nil {
			t.Fatal(err)
		}
		db.Close()
		wantNoLog(t, dir)
	})
}

// wantNoLog: the file is refused, keeps its bytes, and nothing stays locked.
func wantNoLog(t *testing.T, dir string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(dir, Options{}); err == nil || errors.Is(err, ErrLocked) {
			t.Errorf("open: %v", err)
		}
		if _, err := OpenReadOnly(dir); err == nil {
			t.Error("open for reading: no error")
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || len(after) != len(before) {
		t.Errorf("the file went from %d to %d bytes (%v)", len(before), len(after), err)
	}
}

func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "sub"), Options{}); err == nil {
		t.Error("a folder below a file: no error")
	}
}

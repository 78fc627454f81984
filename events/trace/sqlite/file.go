package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/pkg/errors"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/plainjson"
)

// name is one file: trace-20261201-001.db is the first of its day (UTC).
type name struct {
	day int // 20261201
	n   int
}

func dayOf(t time.Time) int {
	t = t.UTC()
	return t.Year()*10000 + int(t.Month())*100 + t.Day()
}

func (f name) String() string { return fmt.Sprintf("trace-%08d-%03d.db", f.day, f.n) }

func (f name) path(dir string) string { return filepath.Join(dir, f.String()) }

// size is 0 for a file that is not there.
func (f name) size(dir string) int64 {
	if info, err := os.Stat(f.path(dir)); err == nil {
		return info.Size()
	}
	return 0
}

func (f name) remove(dir string) error {
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(f.path(dir) + beside); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return os.Remove(f.path(dir))
}

var nameForm = regexp.MustCompile(`^trace-(\d{8})-(\d{3,9})\.db$`)

func parse(file string) (name, bool) {
	m := nameForm.FindStringSubmatch(file)
	if m == nil {
		return name{}, false
	}
	day, _ := strconv.Atoi(m[1]) // of digits
	n, _ := strconv.Atoi(m[2])
	f := name{day, n}
	return f, f.String() == file
}

// list gives the files of a folder, oldest first.
func list(dir string) ([]name, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []name
	for _, e := range found {
		if f, ok := parse(e.Name()); ok {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b name) int {
		if a.day != b.day {
			return a.day - b.day
		}
		return a.n - b.n
	})
	return out, nil
}

// applicationID marks a file as a trace of ours, layout is the version of its tables.
const (
	applicationID = 0x436f7654 // "CovT"
	layout        = 1
)

const tables = `
CREATE TABLE entries (
	seq       INTEGER PRIMARY KEY,
	at        INTEGER NOT NULL, -- microseconds since 1970
	type      TEXT NOT NULL,
	session   TEXT NOT NULL,
	turn      TEXT NOT NULL,
	scope     BLOB NOT NULL, -- JSON: whole, with session and turn
	payload   BLOB           -- JSON
) STRICT;
CREATE INDEX by_turn ON entries (session, turn);
`

// errForeign: the file is no trace that this program can use.
var errForeign = errors.New("it is no trace file of this version of Covel")

// unusable says that a file is damaged or foreign, so that trying again cannot help.
func unusable(err error) bool {
	var failed *driver.Error
	if errors.As(err, &failed) {
		switch failed.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
	}
	return errors.Is(err, errForeign)
}

func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{"busy_timeout(10000)"}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// writing is a file that is open for writing, on one connection.
type writing struct {
	name    name
	db      *sql.DB
	full    bool // a commit waits for the disk
	spoiled bool // it was found to be damaged
}

func openWriting(ctx context.Context, dir string, f name) (_ *writing, err error) {
	db, err := sql.Open("sqlite", dsn(f.path(dir), "rwc", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	db.SetMaxOpenConns(1)
	var objects int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return nil, err
	}
	if objects > 0 {
		return &writing{name: f, db: db}, check(ctx, db)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, layout)+tables); err != nil {
		return nil, err
	}
	return &writing{name: f, db: db}, tx.Commit()
}

func check(ctx context.Context, db *sql.DB) error {
	var app, version int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if app != applicationID || version != layout {
		return errForeign
	}
	return nil
}

func (w *writing) insert(ctx context.Context, entries []trace.Entry, durable bool) (err error) {
	if durable != w.full {
		// In WAL mode a commit of synchronous=FULL syncs the write-ahead log, with everything that was committed before.
		level := "NORMAL"
		if durable {
			level = "FULL"
		}
		if _, err := w.db.ExecContext(ctx, "PRAGMA synchronous = "+level); err != nil {
			return err
		}
		w.full = durable
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	put, err := tx.PrepareContext(ctx, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer put.Close()
	for _, e := range entries {
		var payload any
		if e.Payload != nil {
			payload = []byte(e.Payload)
		}
		scope, err := plainjson.Marshal(e.Scope)
		if err != nil {
			return errors.Wrapf(err, "entry %d", e.Seq)
		}
		if _, err := put.ExecContext(ctx, int64(e.Seq), e.At.UnixMicro(), string(e.Type), e.SessionID, e.TurnID, []byte(scope), payload); err != nil {
			return errors.Wrapf(err, "entry %d", e.Seq)
		}
	}
	return tx.Commit()
}

func (w *writing) forget(ctx context.Context, session string) error {
	done, err := w.db.ExecContext(ctx, "DELETE FROM entries WHERE session = ?", session)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	// The write-ahead log still holds the rows.
	_, err = w.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (w *writing) close() error { return w.db.Close() }

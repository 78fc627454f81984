package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// Beside the appends, the tables say where each stream and the whole log end. Without that, damage that hides rows would look
// like a shorter log.

// layout is the version of the tables below. A file with a newer one is neither written nor read.
const layout = 1

// applicationID marks the file as a log of ours, so that another SQLite file is not taken for one.
const applicationID = 0x436f764c // "CovL"

const tables = `
PRAGMA application_id = 1131378252;
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value ANY NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tail (
	one       INTEGER PRIMARY KEY CHECK (one = 1),
	head      INTEGER NOT NULL, -- the highest position that was ever given
	last      INTEGER NOT NULL, -- the position of the last append that is there; below head when the newest were deleted
	deletions INTEGER NOT NULL, -- how many streams were deleted
	verified  INTEGER NOT NULL  -- microseconds since 1970: when the log was last checked after a failed commit
) STRICT;
INSERT INTO tail VALUES (1, 0, 0, 0, 0);
CREATE TABLE streams (
	id      INTEGER PRIMARY KEY,
	name    TEXT NOT NULL UNIQUE,
	version INTEGER NOT NULL,          -- of its last event; 0 when it is deleted
	deleted INTEGER NOT NULL DEFAULT 0 -- 1: a tombstone, the name is not used again
) STRICT;
CREATE TABLE appends (
	position    INTEGER PRIMARY KEY, -- of the last event of the append
	stream      INTEGER NOT NULL REFERENCES streams (id),
	version     INTEGER NOT NULL,    -- of the last event of the append
	recorded_at INTEGER NOT NULL,    -- microseconds since 1970
	sum         INTEGER NOT NULL,    -- CRC-32C over body, position, version, recorded_at, stream name
	body        BLOB NOT NULL,       -- the events, see record.go
	UNIQUE (stream, version)
) STRICT;
`

// Keys of the meta table.
const (
	metaLogID      = "log_id"     // 16 bytes
	metaLayout     = "layout"     // version of the tables
	metaGeneration = "generation" // events.Generation of the newest program that wrote here: the oldest that may
)

// dsn names a database file with settings that hold on every connection of its pool.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}}
	q.Add("_pragma", "busy_timeout(10000)")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// meta is what a file says about itself.
type meta struct {
	logID      uuid.UUID
	layout     int64
	generation int64
}

// prepare makes the tables in a new file and checks them in an old one, in one transaction.
func prepare(ctx context.Context, conn *sql.Conn, generation uint32) (m meta, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return meta{}, err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
		}
	}()
	var objects int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return meta{}, err
	}
	if objects == 0 {
		m = meta{logID: uuid.New(), layout: layout}
		if _, err := conn.ExecContext(ctx, tables); err != nil {
			return meta{}, err
		}
		const put = "INSERT INTO meta (key, value) VALUES (?, ?), (?, ?), (?, ?)"
		if _, err := conn.ExecContext(ctx, put, metaLogID, m.logID[:], metaLayout, layout, metaGeneration, generation); err != nil {
			return meta{}, err
		}
	} else if m, err = readMeta(ctx, conn); err != nil {
		return meta{}, err
	}
	switch {
	case m.layout > layout:
		return meta{}, errors.Wrapf(events.ErrTooNew, "its tables have version %d, this program knows %d", m.layout, layout)
	case m.generation > int64(generation):
		return meta{}, errors.Wrapf(events.ErrTooNew, "its events have generation %d, this program knows %d: update the program, or use the data folder it belongs to", m.generation, generation)
	case m.generation < int64(generation):
		if _, err := conn.ExecContext(ctx, "UPDATE meta SET value = ? WHERE key = ?", generation, metaGeneration); err != nil {
			return meta{}, err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return m, err
}

// queryer is a connection or a pool.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readMeta(ctx context.Context, q queryer) (m meta, err error) {
	var app int64
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return meta{}, err
	}
	if app != applicationID {
		return meta{}, errors.Errorf("the file is no event log: its application id is %s", strconv.FormatInt(app, 16))
	}
	var id []byte
	const get = "SELECT (SELECT value FROM meta WHERE key = ?), (SELECT value FROM meta WHERE key = ?), (SELECT value FROM meta WHERE key = ?)"
	if err := q.QueryRowContext(ctx, get, metaLogID, metaLayout, metaGeneration).Scan(&id, &m.layout, &m.generation); err != nil {
		return meta{}, err
	}
	m.logID, err = uuid.FromBytes(id)
	return m, errors.Wrap(err, "log id")
}

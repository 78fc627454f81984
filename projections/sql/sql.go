// Package sql keeps the read models of one node in SQLite: the session list, messages, what is due, and snapshots of hot
// state. Nothing in the file is precious: without it everything is built from the log again.
package sql

import (
	"context"
	"database/sql"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"
	_ "modernc.org/sqlite" // the driver

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/engine"
)

// schemaVersion names the tables; another version, or other folds, starts over.
const schemaVersion = "2/" + projections.Fingerprint

// tables are dropped and made anew when the meaning of their rows has changed. Of checkpoint every version must be able to
// read the column schema.
var tables = []string{"checkpoint", "sessions", "expiries", "messages", "parked", "forgotten", "snapshots"}

const schema = `
CREATE TABLE IF NOT EXISTS checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), schema TEXT NOT NULL, log_id TEXT NOT NULL, position INTEGER NOT NULL, last_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, updated_at INTEGER NOT NULL, open INTEGER NOT NULL, fold BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_time ON sessions (updated_at DESC);
CREATE INDEX IF NOT EXISTS sessions_due ON sessions (open) WHERE open = 1;
CREATE TABLE IF NOT EXISTS expiries (session TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS expiries_due ON expiries (at);
CREATE TABLE IF NOT EXISTS messages (session TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (session, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parked (session TEXT PRIMARY KEY, position INTEGER NOT NULL, error TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (session TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots (session TEXT NOT NULL, version INTEGER NOT NULL, fold TEXT NOT NULL, state BLOB NOT NULL, PRIMARY KEY (session, version)) WITHOUT ROWID;
`

// ReadModels is the open file. Its methods may be called concurrently.
type ReadModels struct {
	write *sql.DB // one connection
	read  *sql.DB

	applying sync.Mutex
	known    map[string]projections.Rows // folds at knownAt, the checkpoint that this handle wrote last; the tables hold the same
	knownAt  engine.Checkpoint
}

// Open opens or creates the file.
func Open(path string) (*ReadModels, error) {
	open := func(connections int, mode string) (*sql.DB, error) {
		q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(5000)"}, "_txlock": {mode}}
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
		if err != nil {
			return nil, errors.Wrapf(err, "open read models %s", path)
		}
		db.SetMaxOpenConns(connections)
		return db, nil
	}
	w, err := open(1, "immediate")
	if err != nil {
		return nil, err
	}
	if _, err := w.Exec(schema); err != nil {
		_ = w.Close()
		return nil, errors.Wrapf(err, "open read models %s", path)
	}
	r, err := open(4, "deferred")
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return &ReadModels{write: w, read: r}, nil
}

// Close closes the file.
func (m *ReadModels) Close() error {
	err := m.write.Close()
	if rerr := m.read.Close(); err == nil {
		err = rerr
	}
	return errors.Wrap(err, "close read models")
}

// Checkpoint implements engine.Target.
func (m *ReadModels) Checkpoint(ctx context.Context) (engine.Checkpoint, error) {
	return checkpoint(ctx, m.read)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func checkpoint(ctx context.Context, q querier) (engine.Checkpoint, error) {
	var version, logID, lastID string
	var position int64
	err := q.QueryRowContext(ctx, `SELECT schema FROM checkpoint`).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && version != schemaVersion) {
		return engine.Checkpoint{}, nil
	}
	if err == nil {
		err = q.QueryRowContext(ctx, `SELECT log_id, position, last_id FROM checkpoint`).Scan(&logID, &position, &lastID)
	}
	if err != nil {
		return engine.Checkpoint{}, errors.Wrap(err, "read checkpoint")
	}
	l, err := uuid.Parse(logID)
	if err != nil {
		return engine.Checkpoint{}, errors.Wrap(err, "read checkpoint")
	}
	last, err := uuid.Parse(lastID)
	return engine.Checkpoint{LogID: l, Position: events.Position(position), LastID: last}, errors.Wrap(err, "read checkpoint")
}

// Reset implements engine.Target.
func (m *ReadModels) Reset(ctx context.Context, log uuid.UUID) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.known = nil
	return m.tx(ctx, func(tx *sql.Tx) error {
		for _, table := range tables {
			if _, err := tx.ExecContext(ctx, `DROP TABLE IF EXISTS `+table); err != nil {
				return errors.Wrapf(err, "empty %s", table)
			}
		}
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return errors.Wrap(err, "make the tables")
		}
		return setCheckpoint(ctx, tx, engine.Checkpoint{LogID: log})
	})
}

func setCheckpoint(ctx context.Context, tx *sql.Tx, c engine.Checkpoint) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO checkpoint (one, schema, log_id, position, last_id) VALUES (1, ?, ?, ?, ?)
		ON CONFLICT (one) DO UPDATE SET schema = excluded.schema, log_id = excluded.log_id, position = excluded.position, last_id = excluded.last_id`,
		schemaVersion, c.LogID.String(), int64(c.Position), c.LastID.String())
	return errors.Wrap(err, "write checkpoint")
}

func (m *ReadModels) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := m.write.BeginTx(ctx, nil)
	if err != nil {
		return errors.Wrap(err, "begin")
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return errors.Wrap(tx.Commit(), "commit")
}

// Due gives the sessions in which an execution or a job was open when they were projected, and those in which a suspension
// has expired by now. A parked session is not due: nobody can fold it, and to try it again is for an operator.
func (m *ReadModels) Due(ctx context.Context, now time.Time) ([]string, error) {
	ids, err := m.ids(ctx, `SELECT id FROM (SELECT id FROM sessions WHERE open = 1 UNION SELECT session FROM expiries WHERE at <= ?)
		WHERE id NOT IN (SELECT session FROM parked) ORDER BY id`, now.UnixMicro())
	return ids, errors.Wrap(err, "read due sessions")
}

func (m *ReadModels) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := m.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

package sql

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/covel/covel/projections"
)

// Sessions lists all sessions, newest activity first. A row that cannot be read is left out: it is of another version of
// these folds and about to be rebuilt, or damaged and then named by Parked as soon as its session goes on.
func (m *ReadModels) Sessions(ctx context.Context) ([]projections.Session, error) {
	rows, err := m.read.QueryContext(ctx, `SELECT fold FROM sessions ORDER BY updated_at DESC, id`)
	if err != nil {
		return nil, errors.Wrap(err, "list sessions")
	}
	defer rows.Close()
	var out []projections.Session
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, errors.Wrap(err, "list sessions")
		}
		if f, err := projections.DecodeRows(b); err == nil {
			out = append(out, f.Session())
		}
	}
	return out, errors.Wrap(rows.Err(), "list sessions")
}

// Parked is a session whose projection stopped at an event.
type Parked struct {
	SessionID string
	Position  uint64 // of the event
	Error     string // why; with the stack when it was a panic
}

// Parked lists the sessions that are parked, by id.
func (m *ReadModels) Parked(ctx context.Context) ([]Parked, error) {
	rows, err := m.read.QueryContext(ctx, `SELECT session, position, error FROM parked ORDER BY session`)
	if err != nil {
		return nil, errors.Wrap(err, "list parked sessions")
	}
	defer rows.Close()
	var out []Parked
	for rows.Next() {
		var p Parked
		var position int64
		if err := rows.Scan(&p.SessionID, &position, &p.Error); err != nil {
			return nil, errors.Wrap(err, "list parked sessions")
		}
		p.Position = uint64(position)
		out = append(out, p)
	}
	return out, errors.Wrap(rows.Err(), "list parked sessions")
}

// Messages gives at most limit messages of the session's path before a stream version (0: the newest), oldest first.
func (m *ReadModels) Messages(ctx context.Context, sessionID string, before uint64, limit int) ([]projections.Message, error) {
	if before == 0 || before > math.MaxInt64 {
		before = math.MaxInt64
	}
	tree, err := m.tree(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	shown := append(slices.Clone(tree.Visible), projections.Range{From: tree.Since + 1, To: math.MaxInt64})
	slices.Reverse(shown)
	var out []projections.Message
	for _, r := range shown { // the newest stretch of the path first
		if len(out) >= limit {
			break
		}
		part, err := m.stretch(ctx, sessionID, r, before, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(part, out...)
	}
	return out, nil
}

// tree is how the turns of the session stand to each other, as the read model knows it.
func (m *ReadModels) tree(ctx context.Context, sessionID string) (projections.Tree, error) {
	var b []byte
	err := m.read.QueryRowContext(ctx, `SELECT fold FROM sessions WHERE id = ?`, sessionID).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return projections.Tree{}, nil
	}
	if err != nil {
		return projections.Tree{}, errors.Wrapf(err, "read session %s", sessionID)
	}
	rows, err := projections.DecodeRows(b)
	return rows.Tree(), err
}

func (m *ReadModels) stretch(ctx context.Context, sessionID string, r projections.Range, before uint64, limit int) ([]projections.Message, error) {
	rows, err := m.read.QueryContext(ctx,
		`SELECT body FROM messages WHERE session = ? AND version < ? AND version BETWEEN ? AND ? ORDER BY version DESC LIMIT ?`,
		sessionID, int64(before), int64(r.From), int64(r.To), max(limit, 0))
	if err != nil {
		return nil, errors.Wrapf(err, "read messages of session %s", sessionID)
	}
	defer rows.Close()
	var out []projections.Message
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, errors.Wrapf(err, "read messages of session %s", sessionID)
		}
		msg, err := projections.DecodeMessage(b)
		if err != nil {
			return nil, err
		}
		out = append(out, msg)
	}
	slices.Reverse(out)
	return out, errors.Wrapf(rows.Err(), "read messages of session %s", sessionID)
}

// keptSnapshots is how many snapshots a session keeps.
const keptSnapshots = 3

// Save keeps a snapshot of hot state and drops old ones. Of a forgotten session nothing is kept: its last snapshot may
// come after its end.
func (m *ReadModels) Save(ctx context.Context, sessionID string, s projections.State) error {
	b, err := s.Encode()
	if err != nil {
		return err
	}
	return m.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO snapshots (session, version, fold, state)
			SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE session = ?1)`, sessionID, int64(s.Version), projections.Fingerprint, b); err != nil {
			return errors.Wrapf(err, "save snapshot of session %s", sessionID)
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM snapshots WHERE session = ? AND version NOT IN
			(SELECT version FROM snapshots WHERE session = ? ORDER BY version DESC LIMIT ?)`, sessionID, sessionID, keptSnapshots)
		return errors.Wrapf(err, "drop old snapshots of session %s", sessionID)
	})
}

// Load gives the newest snapshot that these folds made; one that does not fit or is damaged is no snapshot.
func (m *ReadModels) Load(ctx context.Context, sessionID string) (projections.State, bool, error) {
	rows, err := m.read.QueryContext(ctx, `SELECT state FROM snapshots WHERE session = ? AND fold = ? ORDER BY version DESC`, sessionID, projections.Fingerprint)
	if err != nil {
		return projections.State{}, false, errors.Wrapf(err, "load snapshot of session %s", sessionID)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return projections.State{}, false, errors.Wrapf(err, "load snapshot of session %s", sessionID)
		}
		s, err := projections.DecodeState(b)
		if !errors.Is(err, projections.ErrStaleSnapshot) {
			return s, err == nil, err
		}
	}
	return projections.State{}, false, errors.Wrapf(rows.Err(), "load snapshot of session %s", sessionID)
}

package sql

import (
	"context"
	"database/sql"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/engine"
)

// streamPrefix begins the name of a session's stream; what follows is the session's id.
const streamPrefix = "session-"

// Apply implements engine.Target. A session whose event cannot be folded is parked with the reason: its later events wait,
// every other session goes on.
func (m *ReadModels) Apply(ctx context.Context, from, to engine.Checkpoint, batch []events.Recorded) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	known := m.known
	if from != m.knownAt { // another worker was here since
		known = nil
	}
	m.known = nil // until the transaction has committed
	p := projector{ctx: ctx, known: known, folds: map[string]projections.Rows{}, parked: map[string]bool{}}
	err := m.tx(ctx, func(tx *sql.Tx) error {
		p.tx = tx
		at, err := checkpoint(ctx, tx)
		if err != nil {
			return err
		}
		if at != from {
			return errors.Wrapf(engine.ErrFenced, "at position %d instead of %d", at.Position, from.Position)
		}
		for _, r := range batch {
			if err := p.event(r); err != nil {
				return err
			}
		}
		if err := p.save(); err != nil {
			return err
		}
		return setCheckpoint(ctx, tx, to)
	})
	if err != nil {
		return err
	}
	if len(known)+len(p.folds) > maxKnown {
		known = nil
	}
	if known == nil {
		known = map[string]projections.Rows{}
	}
	for id, f := range p.folds {
		known[id] = f
	}
	for id := range p.parked {
		delete(known, id)
	}
	m.known, m.knownAt = known, to
	return nil
}

// maxKnown is how many folds are kept in memory; past it they are read from their rows again.
const maxKnown = 256

// projector holds the folds that one batch touches.
type projector struct {
	ctx    context.Context
	tx     *sql.Tx
	known  map[string]projections.Rows // as the former batch left them
	folds  map[string]projections.Rows
	parked map[string]bool // or forgotten
}

func (p *projector) event(r events.Recorded) error {
	id, ok := strings.CutPrefix(r.Stream, streamPrefix)
	if !ok {
		return nil
	}
	fold, err := p.fold(id)
	if errors.Is(err, projections.ErrStaleSnapshot) {
		return p.park(id, r.Position, errors.Wrap(err, "the row of the session is damaged"))
	}
	if err != nil || p.parked[id] || r.Version <= fold.Version() { // an event delivered twice changes nothing
		return err
	}
	next, messages, err := apply(fold, r)
	if err != nil {
		return p.park(id, r.Position, err)
	}
	p.folds[id] = next
	if revision, ok := projections.RevisionOf(r); ok {
		return p.revise(id, revision)
	}
	for _, msg := range messages {
		body, err := projections.EncodeMessage(msg)
		if err != nil {
			return err
		}
		if _, err := p.tx.ExecContext(p.ctx, `INSERT OR REPLACE INTO messages (session, version, body) VALUES (?, ?, ?)`,
			id, int64(msg.Version), body); err != nil {
			return errors.Wrapf(err, "write message of session %s", id)
		}
	}
	return nil
}

// revise changes what a row shows. A row that is not there was never committed.
func (p *projector) revise(id string, revision projections.Revision) error {
	var version int64
	var body []byte
	err := p.tx.QueryRowContext(p.ctx, `SELECT version, body FROM messages WHERE session = ? AND json_extract(CAST(body AS TEXT), '$.id') = ?`,
		id, revision.MessageID).Scan(&version, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return errors.Wrapf(err, "read message %s of session %s", revision.MessageID, id)
	}
	msg, err := projections.DecodeMessage(body)
	if err != nil {
		return err
	}
	if body, err = projections.EncodeMessage(msg.Revise(revision.Text)); err != nil {
		return err
	}
	_, err = p.tx.ExecContext(p.ctx, `UPDATE messages SET body = ? WHERE session = ? AND version = ?`, body, id, version)
	return errors.Wrapf(err, "revise message %s of session %s", revision.MessageID, id)
}

// apply folds an event; a panic of the fold is an error that holds the stack.
func apply(fold projections.Rows, r events.Recorded) (next projections.Rows, messages []projections.Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.Errorf("fold %s version %d: panic: %v\n%s", r.Stream, r.Version, v, debug.Stack())
		}
	}()
	return foldEvent(fold, r)
}

// foldEvent is projections.Rows.Apply; a test stands in for a fold that panics.
var foldEvent = projections.Rows.Apply

// park takes a session out of the projection, with the event it cannot get past and the reason.
func (p *projector) park(id string, at events.Position, reason error) error {
	p.parked[id] = true
	_, err := p.tx.ExecContext(p.ctx, `INSERT OR REPLACE INTO parked (session, position, error) VALUES (?, ?, ?)`, id, int64(at), reason.Error())
	return errors.Wrapf(err, "park session %s", id)
}

// fold gives what is known of a session so far. Of one that is parked or forgotten nothing is asked any more.
func (p *projector) fold(id string) (projections.Rows, error) {
	if f, ok := p.folds[id]; ok || p.parked[id] {
		return f, nil
	}
	if f, ok := p.known[id]; ok {
		return f, nil
	}
	var parked bool
	if err := p.tx.QueryRowContext(p.ctx, `SELECT EXISTS (SELECT 1 FROM parked WHERE session = ?1) OR EXISTS (SELECT 1 FROM forgotten WHERE session = ?1)`,
		id).Scan(&parked); err != nil {
		return projections.Rows{}, errors.Wrap(err, "read parked sessions")
	}
	if parked {
		p.parked[id] = true
		return projections.Rows{}, nil
	}
	var b []byte
	err := p.tx.QueryRowContext(p.ctx, `SELECT fold FROM sessions WHERE id = ?`, id).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return projections.Rows{}, nil
	}
	if err != nil {
		return projections.Rows{}, errors.Wrapf(err, "read session %s", id)
	}
	return projections.DecodeRows(b)
}

func (p *projector) save() error {
	for id, f := range p.folds {
		b, err := f.Encode()
		if err != nil {
			return errors.Wrapf(err, "write session %s", id)
		}
		open := 0
		if f.Due() {
			open = 1
		}
		if _, err := p.tx.ExecContext(p.ctx, `INSERT OR REPLACE INTO sessions (id, updated_at, open, fold) VALUES (?, ?, ?, ?)`,
			id, f.Session().UpdatedAt.UnixMicro(), open, b); err != nil {
			return errors.Wrapf(err, "write session %s", id)
		}
		if err := p.saveExpiry(id, f.NextDue()); err != nil {
			return err
		}
	}
	return nil
}

// saveExpiry keeps when something of a session is due by itself.
func (p *projector) saveExpiry(id string, at time.Time) error {
	query, args := `DELETE FROM expiries WHERE session = ?`, []any{id}
	if !at.IsZero() {
		query, args = `INSERT OR REPLACE INTO expiries (session, at) VALUES (?, ?)`, []any{id, at.UnixMicro()}
	}
	_, err := p.tx.ExecContext(p.ctx, query, args...)
	return errors.Wrapf(err, "write when suspensions of session %s expire", id)
}

// Forget removes a deleted session from the tables, for good: events of it that are still on their way change nothing. An
// id is never used again.
func (m *ReadModels) Forget(ctx context.Context, sessionID string) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.known = nil
	return m.tx(ctx, func(tx *sql.Tx) error {
		for _, q := range []string{
			`DELETE FROM sessions WHERE id = ?`, `DELETE FROM expiries WHERE session = ?`, `DELETE FROM messages WHERE session = ?`, `DELETE FROM parked WHERE session = ?`,
			`DELETE FROM snapshots WHERE session = ?`, `INSERT OR IGNORE INTO forgotten (session) VALUES (?)`,
		} {
			if _, err := tx.ExecContext(ctx, q, sessionID); err != nil {
				return errors.Wrapf(err, "forget session %s", sessionID)
			}
		}
		return nil
	})
}

// Sweep implements engine.Target: a crash between the deletion of a stream and Forget leaves rows of a session that is no
// more.
func (m *ReadModels) Sweep(ctx context.Context, exists func(stream string) (bool, error)) error {
	ids, err := m.ids(ctx, `SELECT id FROM sessions UNION SELECT session FROM parked UNION SELECT session FROM snapshots`)
	if err != nil {
		return errors.Wrap(err, "list sessions")
	}
	for _, id := range ids {
		there, err := exists(streamPrefix + id)
		if err == nil && !there {
			err = m.Forget(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

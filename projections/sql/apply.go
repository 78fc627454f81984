package sql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/engine"
)

// Apply implements engine.Target. A session whose event cannot be folded is parked with the reason: its later events wait,
// every other session goes on.
func (m *ReadModels) Apply(ctx context.Context, from, to engine.Checkpoint, batch []events.Recorded) error {
	return m.tx(ctx, func(tx *sql.Tx) error {
		at, err := checkpoint(ctx, tx)
		if err != nil {
			return err
		}
		if at != from {
			return errors.Wrapf(engine.ErrFenced, "at position %d instead of %d", at.Position, from.Position)
		}
		p := projector{ctx: ctx, tx: tx, folds: map[string]projections.Rows{}, parked: map[string]bool{}}
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
}

// projector holds the folds that one batch touches.
type projector struct {
	ctx    context.Context
	tx     *sql.Tx
	folds  map[string]projections.Rows
	parked map[string]bool
}

func (p *projector) event(r events.Recorded) error {
	id, ok := strings.CutPrefix(r.Stream, "session-")
	if !ok {
		return nil
	}
	fold, err := p.fold(id)
	if err != nil || p.parked[id] || r.Version <= fold.Version() { // an event delivered twice changes nothing
		return err
	}
	next, messages, err := fold.Apply(r)
	if err != nil {
		p.parked[id] = true
		_, err = p.tx.ExecContext(p.ctx, `INSERT OR REPLACE INTO parked (session, position, error) VALUES (?, ?, ?)`, id, int64(r.Position), err.Error())
		return errors.Wrapf(err, "park session %s", id)
	}
	p.folds[id] = next
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

func (p *projector) fold(id string) (projections.Rows, error) {
	if f, ok := p.folds[id]; ok || p.parked[id] {
		return f, nil
	}
	var parked int
	if err := p.tx.QueryRowContext(p.ctx, `SELECT count(*) FROM parked WHERE session = ?`, id).Scan(&parked); err != nil {
		return projections.Rows{}, errors.Wrap(err, "read parked sessions")
	}
	if parked > 0 {
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
		if f.Session().Open != nil {
			open = 1
		}
		if _, err := p.tx.ExecContext(p.ctx, `INSERT OR REPLACE INTO sessions (id, updated_at, open, fold) VALUES (?, ?, ?, ?)`,
			id, f.Session().UpdatedAt.UnixMicro(), open, b); err != nil {
			return errors.Wrapf(err, "write session %s", id)
		}
	}
	return nil
}

// Forget removes a deleted session from the tables.
func (m *ReadModels) Forget(ctx context.Context, sessionID string) error {
	return m.tx(ctx, func(tx *sql.Tx) error {
		for _, q := range []string{
			`DELETE FROM sessions WHERE id = ?`, `DELETE FROM messages WHERE session = ?`, `DELETE FROM parked WHERE session = ?`, `DELETE FROM snapshots WHERE session = ?`,
		} {
			if _, err := tx.ExecContext(ctx, q, sessionID); err != nil {
				return errors.Wrapf(err, "forget session %s", sessionID)
			}
		}
		return nil
	})
}

// Package engine drives read models from the log: it catches up, then follows, and moves rows and checkpoint together.
// Read models can be deleted and rebuilt at any time; nothing else ever writes them.
package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// Checkpoint says up to where a read model has read, and of which log. The zero value is the beginning of no log.
type Checkpoint struct {
	LogID    uuid.UUID
	Position events.Position
	LastID   uuid.UUID // of the event at Position
}

// ErrFenced: another worker moved the checkpoint.
var ErrFenced = errors.New("engine: another worker moved the checkpoint")

// Target is a set of tables with their checkpoint.
type Target interface {
	// Checkpoint reads the checkpoint. A target whose tables were made by other folds gives the zero value.
	Checkpoint(ctx context.Context) (Checkpoint, error)
	// Reset empties the tables and sets the checkpoint to the beginning of a log.
	Reset(ctx context.Context, log uuid.UUID) error
	// Apply writes the rows of a batch and moves the checkpoint from → to in one transaction; ErrFenced, and nothing
	// written, when the checkpoint is not at from.
	Apply(ctx context.Context, from, to Checkpoint, batch []events.Recorded) error
	// Sweep forgets, for good, what the tables hold of streams that are there no more: the log does not tell of a deletion.
	Sweep(ctx context.Context, exists func(stream string) (bool, error)) error
}

// maxBatch is how many events one transaction takes while catching up.
const maxBatch = 500

// CatchUp brings a target to the head the log has now. A checkpoint of another log, or of another life of it, starts over.
// A batch never cuts an append in two.
func CatchUp(ctx context.Context, store events.Store, t Target) (Checkpoint, error) {
	at, err := verified(ctx, store, t)
	if err != nil {
		return at, err
	}
	if err := t.Sweep(ctx, func(stream string) (bool, error) {
		v, err := store.StreamVersion(ctx, stream)
		return v > 0, err
	}); err != nil {
		return at, errors.Wrap(err, "forget deleted streams")
	}
	var batch []events.Recorded
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		last := batch[len(batch)-1]
		to := Checkpoint{at.LogID, last.Position, last.ID}
		if err := t.Apply(ctx, at, to, batch); err != nil {
			return errors.Wrapf(err, "project up to position %d", last.Position)
		}
		at, batch = to, nil
		return nil
	}
	for r, err := range store.ReadAll(ctx, at.Position) {
		if err != nil {
			return at, errors.Wrap(err, "read the log")
		}
		batch = append(batch, r)
		if len(batch) >= maxBatch && endsAppend(r) {
			if err := flush(); err != nil {
				return at, err
			}
		}
	}
	return at, flush()
}

// Run catches up and follows until ctx ends. Failures are logged and tried again: a read model that lags harms no session.
func Run(ctx context.Context, store events.Store, t Target, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := follow(ctx, store, t); err != nil && ctx.Err() == nil {
			log.Warn("projection was interrupted", "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

func follow(ctx context.Context, store events.Store, t Target) error {
	at, err := CatchUp(ctx, store, t)
	if err != nil {
		return err
	}
	var batch []events.Recorded
	for r, err := range store.Subscribe(ctx, at.Position) {
		if err != nil {
			return errors.Wrap(err, "follow the log")
		}
		batch = append(batch, r)
		if !endsAppend(r) {
			continue
		}
		to := Checkpoint{at.LogID, r.Position, r.ID}
		if err := t.Apply(ctx, at, to, batch); err != nil {
			return errors.Wrapf(err, "project up to position %d", r.Position)
		}
		at, batch = to, nil
	}
	return nil
}

// endsAppend says whether an event is the last of its append: a batch never cuts one.
func endsAppend(r events.Recorded) bool { return uint64(r.Version) >= r.Metadata.GetAppendEnd() }

// verified reads the checkpoint and holds it against the log; one that does not belong to it starts over.
func verified(ctx context.Context, store events.Store, t Target) (Checkpoint, error) {
	at, err := t.Checkpoint(ctx)
	if err != nil {
		return at, errors.Wrap(err, "read the checkpoint")
	}
	if at.LogID == store.LogID() {
		stands, err := stands(ctx, store, at)
		if err != nil || stands {
			return at, err
		}
	}
	fresh := Checkpoint{LogID: store.LogID()}
	return fresh, errors.Wrap(t.Reset(ctx, fresh.LogID), "reset the read models")
}

// stands says whether the log still has at a checkpoint's position the event it was made at, or none because its stream was
// deleted.
func stands(ctx context.Context, store events.Store, at Checkpoint) (bool, error) {
	if at.Position == 0 {
		return true, nil
	}
	head, err := store.Head(ctx)
	if err != nil {
		return false, errors.Wrap(err, "read the head of the log")
	}
	if at.Position > head {
		return false, nil
	}
	for r, err := range store.ReadAll(ctx, at.Position-1) {
		if err != nil {
			return false, errors.Wrap(err, "read the log")
		}
		return r.Position != at.Position || r.ID == at.LastID, nil
	}
	return true, nil
}

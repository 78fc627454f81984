package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"math"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/feed"
)

// A page ends at this many appends, or at this many bytes of bodies. No connection is held while a consumer works on a page.
const (
	pageAppends = 256
	pageBytes   = 1 << 20
)

const (
	selectStream = "SELECT position, version, recorded_at, sum, body FROM appends WHERE stream = ? AND version >= ?"
	selectAll    = "SELECT a.position, a.version, a.recorded_at, a.sum, a.body, s.name FROM appends a CROSS JOIN streams s ON s.id = a.stream" +
		" WHERE a.position > ? AND a.position <= ? ORDER BY a.position LIMIT ?"
	// A deletion may have taken the newest events; then meta knows the head.
	selectHead = "SELECT max((SELECT coalesce(max(position), 0) FROM appends), (SELECT value FROM meta WHERE key = '" + metaHead + "'))"
)

type readStmts struct {
	stream, version, forward, upTo, backward, all, head *sql.Stmt
}

func prepareReads(db *sql.DB) (r readStmts, err error) {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.stream, "SELECT id, deleted FROM streams WHERE name = ?"},
		{&r.version, "SELECT coalesce(max(a.version), 0) FROM appends a WHERE a.stream = (SELECT id FROM streams WHERE name = ?)"},
		{&r.forward, selectStream + " ORDER BY version LIMIT ?"},
		{&r.upTo, "SELECT version FROM appends WHERE stream = ? AND version >= ? ORDER BY version LIMIT 1"},
		{&r.backward, "SELECT position, version, recorded_at, sum, body FROM appends WHERE stream = ? AND version <= ? ORDER BY version DESC LIMIT ?"},
		{&r.all, selectAll},
		{&r.head, selectHead},
	} {
		if *p.stmt, err = db.Prepare(p.text); err != nil {
			return readStmts{}, err
		}
	}
	return r, nil
}

// look counts a read in and lends it a context. Statements run without the caller's: pages are short, and the driver would
// start a goroutine for each to watch it. The sequences look at it between pages.
func (s *Store) look(ctx context.Context, f func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return f(context.WithoutCancel(ctx))
}

// StreamVersion implements events.Store.
func (s *Store) StreamVersion(ctx context.Context, stream string) (events.Version, error) {
	var v int64
	err := s.look(ctx, func(ctx context.Context) error { return s.stmts.version.QueryRowContext(ctx, stream).Scan(&v) })
	return events.Version(v), errors.Wrapf(err, "version of %s", stream)
}

// Head implements events.Store.
func (s *Store) Head(ctx context.Context) (events.Position, error) {
	var p int64
	err := s.look(ctx, func(ctx context.Context) error { return s.stmts.head.QueryRowContext(ctx).Scan(&p) })
	return events.Position(p), errors.Wrap(err, "head of the log")
}

// ReadStream implements events.Store.
func (s *Store) ReadStream(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page { return s.streamPage(ctx, stream, max(sqlInt(from), 1), false) })
}

// SubscribeStream implements events.Store.
func (s *Store) SubscribeStream(ctx context.Context, stream string, after events.Version) iter.Seq2[events.Recorded, error] {
	return feed.Follow(ctx, s.source, stream, func() feed.Page { return s.streamPage(ctx, stream, sqlInt(after+1), true) })
}

// streamPage reads a stream on from version next.
func (s *Store) streamPage(ctx context.Context, stream string, next int64, following bool) feed.Page {
	c := streamCursor{stream: stream, next: next}
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(ctx context.Context) error {
			deleted := false
			if c.id == 0 {
				if c.id, deleted, err = s.findStream(ctx, stream); err != nil || c.id == 0 {
					atEnd = true
					return err
				}
			}
			if !deleted {
				rows, err := s.stmts.forward.QueryContext(ctx, c.id, c.next, pageAppends)
				if err != nil {
					return err
				}
				if evs, atEnd, err = c.scan(rows, pageAppends); err != nil || len(evs) > 0 {
					return err
				}
				// Nothing follows: because this is the end, or because the stream was deleted meanwhile.
				if _, deleted, err = s.findStream(ctx, stream); err != nil {
					return err
				}
			}
			if deleted && (c.begun || following) {
				return events.ErrStreamDeleted
			}
			atEnd = true
			return nil
		})
		return evs, atEnd, errors.Wrapf(err, "read %s", stream)
	}
}

// findStream gives the id of a stream, 0 when there is none, and whether it was deleted.
func (s *Store) findStream(ctx context.Context, stream string) (id int64, deleted bool, err error) {
	err = s.stmts.stream.QueryRowContext(ctx, stream).Scan(&id, &deleted)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, deleted, err
}

// streamCursor is how far a stream was read, and checks that what comes next is what must come next.
type streamCursor struct {
	stream string
	id     int64 // 0: not found yet
	next   int64 // version to read next
	begun  bool  // next is where an append ends; before that an append may lie across it
}

// scan reads the rows of a page forward and closes them. Fewer than limit mean the end.
func (c *streamCursor) scan(rows *sql.Rows, limit int) (evs []events.Recorded, atEnd bool, err error) {
	defer rows.Close()
	appends, size := 0, 0
	for ; size < pageBytes && rows.Next(); appends++ {
		r, got, err := scanRow(rows, c.stream)
		if err != nil {
			return evs, false, err
		}
		first := int64(got[0].Version)
		if first > c.next || (first < c.next && c.begun) {
			return evs, false, corrupt(c.stream, c.next, "missing or doubled; the next append found covers versions %d to %d", first, r.version)
		}
		evs = append(evs, got[c.next-first:]...)
		c.next, c.begun = r.version+1, true
		size += len(r.body)
	}
	return evs, appends < limit && size < pageBytes, rows.Err()
}

// scanBackward is scan from the newest to the oldest. c.next goes down to 0.
func (c *streamCursor) scanBackward(rows *sql.Rows, limit int) (evs []events.Recorded, atEnd bool, err error) {
	defer rows.Close()
	appends, size := 0, 0
	for ; size < pageBytes && rows.Next(); appends++ {
		r, got, err := scanRow(rows, c.stream)
		if err != nil {
			return evs, false, err
		}
		first := int64(got[0].Version)
		if first > c.next || r.version < c.next || (r.version > c.next && c.begun) {
			return evs, false, corrupt(c.stream, c.next, "missing or doubled; the next append found covers versions %d to %d", first, r.version)
		}
		for v := c.next; v >= first; v-- {
			evs = append(evs, got[v-first])
		}
		c.next, c.begun = first-1, true
		size += len(r.body)
	}
	if err := rows.Err(); err != nil {
		return evs, false, err
	}
	if appends > 0 && appends < limit && size < pageBytes && c.next > 0 {
		return evs, false, corrupt(c.stream, c.next, "missing; nothing stands before version %d", c.next+1)
	}
	return evs, c.next == 0, nil
}

// scanRow reads one append of a stream.
func scanRow(rows *sql.Rows, stream string) (r row, evs []events.Recorded, err error) {
	if err := rows.Scan(&r.position, &r.version, &r.recordedAt, &r.sum, &r.body); err != nil {
		return r, nil, err
	}
	evs, err = r.recorded(stream)
	return r, evs, err
}

// ReadStreamBackward implements events.Store.
func (s *Store) ReadStreamBackward(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page {
		c := streamCursor{stream: stream, next: sqlInt(from)}
		return func() (evs []events.Recorded, atEnd bool, err error) {
			err = s.look(ctx, func(ctx context.Context) error {
				id, deleted, err := s.findStream(ctx, stream)
				if deleted && c.begun {
					return events.ErrStreamDeleted
				}
				if err != nil || id == 0 || deleted {
					atEnd = true
					return err
				}
				c.id = id
				evs, atEnd, err = s.backwardPage(ctx, &c)
				return err
			})
			return evs, atEnd, errors.Wrapf(err, "read %s", stream)
		}
	})
}

func (s *Store) backwardPage(ctx context.Context, c *streamCursor) (evs []events.Recorded, atEnd bool, err error) {
	top := c.next // version of the append to begin with
	if !c.begun {
		err := sql.ErrNoRows
		if c.next > 0 {
			err = s.stmts.upTo.QueryRowContext(ctx, c.id, c.next).Scan(&top)
		}
		if errors.Is(err, sql.ErrNoRows) { // from the newest
			err = s.stmts.version.QueryRowContext(ctx, c.stream).Scan(&top)
			c.next = top
		}
		if err != nil {
			return nil, false, err
		}
		if top == 0 {
			return nil, true, nil
		}
	}
	rows, err := s.stmts.backward.QueryContext(ctx, c.id, top, pageAppends)
	if err != nil {
		return nil, false, err
	}
	evs, atEnd, err = c.scanBackward(rows, pageAppends)
	if err == nil && len(evs) == 0 {
		// Deleted after it was looked up. A reader that has begun looks again and is told.
		atEnd = !c.begun
	}
	return evs, atEnd, err
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page { return s.allPage(ctx, sqlInt(after), false) })
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.Follow(ctx, s.source, feed.All, func() feed.Page { return s.allPage(ctx, sqlInt(after), true) })
}

// allPage reads on to the head; unless it follows, to the head as it is at the first page.
func (s *Store) allPage(ctx context.Context, after int64, following bool) feed.Page {
	until, begun := int64(math.MaxInt64), false
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(ctx context.Context) error {
			if !following && !begun {
				if err := s.stmts.head.QueryRowContext(ctx).Scan(&until); err != nil {
					return err
				}
				begun = true
			}
			rows, err := s.stmts.all.QueryContext(ctx, after, until, pageAppends)
			if err != nil {
				return err
			}
			evs, atEnd, err = scanAll(rows, &after)
			return err
		})
		return evs, atEnd, errors.Wrap(err, "read the log")
	}
}

// scanAll reads the rows of a page of the whole log and closes them. after becomes the position of the last event.
func scanAll(rows *sql.Rows, after *int64) (evs []events.Recorded, atEnd bool, err error) {
	defer rows.Close()
	appends, size := 0, 0
	for ; size < pageBytes && rows.Next(); appends++ {
		var r row
		var stream string
		if err := rows.Scan(&r.position, &r.version, &r.recordedAt, &r.sum, &r.body, &stream); err != nil {
			return evs, false, err
		}
		got, err := r.recorded(stream)
		if err != nil {
			return evs, false, err
		}
		for i := range got {
			if int64(got[i].Position) > *after {
				evs = append(evs, got[i])
			}
		}
		*after = r.position
		size += len(r.body)
	}
	return evs, appends < pageAppends && size < pageBytes, rows.Err()
}

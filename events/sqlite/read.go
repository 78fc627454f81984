package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"math"

	"github.com/pkg/errors"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/feed"
)

// A page ends at this many appends, or at this many bytes of bodies. No connection is held while a consumer works on a page.
const (
	pageAppends = 256
	pageBytes   = 1 << 20
)

const (
	selectStream   = "SELECT id, version, deleted FROM streams WHERE name = ?"
	selectForward  = "SELECT position, version, recorded_at, sum, body FROM appends WHERE stream = ? AND version >= ? ORDER BY version LIMIT ?"
	selectBackward = "SELECT position, version, recorded_at, sum, body FROM appends WHERE stream = ? AND version <= ? ORDER BY version DESC LIMIT ?"
	selectCovering = "SELECT version FROM appends WHERE stream = ? AND version >= ? ORDER BY version LIMIT 1"
	selectAll      = "SELECT a.position, a.version, a.recorded_at, a.sum, a.body, a.stream, s.name FROM appends a CROSS JOIN streams s ON s.id = a.stream" +
		" WHERE a.position > ? AND a.position <= ? ORDER BY a.position LIMIT ?"
	selectTail = "SELECT head, last, deletions FROM tail"
)

type readStmts struct {
	stream, forward, backward, covering, all, tail *sql.Stmt
}

func prepareReads(db *sql.DB) (r readStmts, err error) {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.stream, selectStream}, {&r.forward, selectForward}, {&r.backward, selectBackward}, {&r.covering, selectCovering},
		{&r.all, selectAll}, {&r.tail, selectTail},
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
	err := f(context.WithoutCancel(ctx))
	if e := (*driver.Error)(nil); errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB: // damage that SQLite itself noticed
			return errors.Wrap(events.ErrCorrupt, err.Error())
		}
	}
	return err
}

// streamRow is what the streams table says of a stream. id 0: there is none.
type streamRow struct {
	id      int64
	version int64 // of its last event
	deleted bool
}

func findStream(ctx context.Context, stmt *sql.Stmt, name string) (st streamRow, err error) {
	err = stmt.QueryRowContext(ctx, name).Scan(&st.id, &st.version, &st.deleted)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return st, err
}

// tail is where the log ends.
type tail struct {
	head      int64 // the highest position that was ever given
	last      int64 // the position of the last append that is there: below head when the newest were deleted
	deletions int64 // how many streams were deleted
}

func readTail(ctx context.Context, stmt *sql.Stmt) (t tail, err error) {
	return t, stmt.QueryRowContext(ctx).Scan(&t.head, &t.last, &t.deletions)
}

// StreamVersion implements events.Store.
func (s *Store) StreamVersion(ctx context.Context, stream string) (v events.Version, err error) {
	err = s.look(ctx, func(ctx context.Context) error {
		st, err := findStream(ctx, s.stmts.stream, stream)
		v = events.Version(st.version)
		return err
	})
	return v, errors.Wrapf(err, "version of %s", stream)
}

// Head implements events.Store.
func (s *Store) Head(ctx context.Context) (p events.Position, err error) {
	err = s.look(ctx, func(ctx context.Context) error {
		t, err := readTail(ctx, s.stmts.tail)
		p = events.Position(t.head)
		return err
	})
	return p, errors.Wrap(err, "head of the log")
}

// ReadStream implements events.Store.
func (s *Store) ReadStream(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page {
		return s.streamPage(ctx, &streamCursor{stream: stream, next: max(sqlInt(from), 1)}, s.forward)
	})
}

// SubscribeStream implements events.Store.
func (s *Store) SubscribeStream(ctx context.Context, stream string, after events.Version) iter.Seq2[events.Recorded, error] {
	return feed.Follow(ctx, s.source, stream, func() feed.Page {
		return s.streamPage(ctx, &streamCursor{stream: stream, next: min(sqlInt(after), math.MaxInt64-1) + 1, told: true}, s.forward)
	})
}

// ReadStreamBackward implements events.Store.
func (s *Store) ReadStreamBackward(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page {
		return s.streamPage(ctx, &streamCursor{stream: stream, next: sqlInt(from)}, s.backward)
	})
}

// direction reads the next page of a stream that was found. short means that it ended before the events did that the
// stream is known to have.
type direction func(ctx context.Context, c *streamCursor, st streamRow) (evs []events.Recorded, atEnd, short bool, err error)

// streamPage looks up the stream and reads the next page. One that is too short is damage, unless the stream was deleted
// between the look-up and the reading.
func (s *Store) streamPage(ctx context.Context, c *streamCursor, read direction) feed.Page {
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(ctx context.Context) error {
			st, err := findStream(ctx, s.stmts.stream, c.stream)
			if err != nil || st.id == 0 {
				atEnd = true
				return err
			}
			short := false
			if !st.deleted {
				if evs, atEnd, short, err = read(ctx, c, st); err != nil {
					return err
				}
				c.told = c.told || len(evs) > 0
			}
			if short {
				version := st.version
				if st, err = findStream(ctx, s.stmts.stream, c.stream); err != nil {
					return err
				}
				if !st.deleted {
					return corrupt(c.stream, c.next, "missing; the stream has versions 1 to %d", version)
				}
			}
			if st.deleted {
				atEnd = true
				if c.told {
					return events.ErrStreamDeleted
				}
			}
			return nil
		})
		return evs, atEnd, errors.Wrapf(err, "read %s", c.stream)
	}
}

func (s *Store) forward(ctx context.Context, c *streamCursor, st streamRow) (evs []events.Recorded, atEnd, short bool, err error) {
	if c.next > st.version {
		return nil, true, false, nil
	}
	rows, err := s.stmts.forward.QueryContext(ctx, st.id, c.next, pageAppends)
	if err != nil {
		return nil, false, false, err
	}
	evs, full, err := c.scan(rows, pageAppends)
	return evs, !full, !full && c.next <= st.version, err
}

func (s *Store) backward(ctx context.Context, c *streamCursor, st streamRow) (evs []events.Recorded, atEnd, short bool, err error) {
	if !c.begun && (c.next == 0 || c.next > st.version) {
		c.next = st.version
	}
	top := c.next // where the append ends that holds next
	if !c.begun {
		err := s.stmts.covering.QueryRowContext(ctx, st.id, c.next).Scan(&top)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, false, true, nil
		}
		if err != nil {
			return nil, false, false, err
		}
	}
	rows, err := s.stmts.backward.QueryContext(ctx, st.id, top, pageAppends)
	if err != nil {
		return nil, false, false, err
	}
	evs, full, err := c.scanBackward(rows, pageAppends)
	return evs, c.next == 0, !full && c.next > 0, err
}

// streamCursor is how far a stream was read, and checks that what comes next is what must come next.
type streamCursor struct {
	stream string
	next   int64 // version to read next
	begun  bool  // next is where an append ends; before that an append may lie across it
	told   bool  // the reader is told when the stream is deleted: it follows, or it has begun
}

// scan reads the rows of a page, oldest first, and closes them. full means that it stopped at a limit.
func (c *streamCursor) scan(rows *sql.Rows, limit int) (evs []events.Recorded, full bool, err error) {
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
	return evs, appends == limit || size >= pageBytes, rows.Err()
}

// scanBackward is scan, newest first. c.next goes down to 0.
func (c *streamCursor) scanBackward(rows *sql.Rows, limit int) (evs []events.Recorded, full bool, err error) {
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
	return evs, appends == limit || size >= pageBytes, rows.Err()
}

// scanRow reads one append of a stream.
func scanRow(rows *sql.Rows, stream string) (r row, evs []events.Recorded, err error) {
	if err := rows.Scan(&r.position, &r.version, &r.recordedAt, &r.sum, &r.body); err != nil {
		return r, nil, err
	}
	evs, err = r.recorded(stream)
	return r, evs, err
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page { return s.logPage(ctx, &logCursor{after: sqlInt(after)}) })
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.Follow(ctx, s.source, feed.All, func() feed.Page {
		return s.logPage(ctx, &logCursor{after: sqlInt(after), following: true})
	})
}

// logPage reads on to the head; unless it follows, to the head as it is at the first page. A page that ends before the last
// append that is known to be there is damage, unless a stream was deleted between the look and the reading.
func (s *Store) logPage(ctx context.Context, c *logCursor) feed.Page {
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(ctx context.Context) error {
			if c.following || !c.begun {
				if c.end, err = readTail(ctx, s.stmts.tail); err != nil {
					return err
				}
				c.begun = true
			}
			if c.after >= c.end.last {
				atEnd = true
				return nil
			}
			rows, err := s.stmts.all.QueryContext(ctx, c.after, c.end.last, pageAppends)
			if err != nil {
				return err
			}
			full := false
			if evs, full, err = c.scan(rows); err != nil {
				return err
			}
			atEnd = !full
			if atEnd && c.after < c.end.last {
				now, err := readTail(ctx, s.stmts.tail)
				if err != nil {
					return err
				}
				if now.deletions == c.end.deletions {
					return errors.Wrapf(events.ErrCorrupt, "events after position %d are missing; the log goes to %d", c.after, c.end.last)
				}
			}
			return nil
		})
		return evs, atEnd, errors.Wrap(err, "read the log")
	}
}

// logCursor is how far the log was read, and checks that the versions of each stream follow each other.
type logCursor struct {
	after     int64
	end       tail
	begun     bool
	following bool
	versions  map[int64]int64 // by stream id: the last that was read
}

// scan reads the rows of a page and closes them. full means that it stopped at a limit.
func (c *logCursor) scan(rows *sql.Rows) (evs []events.Recorded, full bool, err error) {
	defer rows.Close()
	if c.versions == nil {
		c.versions = map[int64]int64{}
	}
	appends, size := 0, 0
	for ; size < pageBytes && rows.Next(); appends++ {
		var r row
		var id int64
		var stream string
		if err := rows.Scan(&r.position, &r.version, &r.recordedAt, &r.sum, &r.body, &id, &stream); err != nil {
			return evs, false, err
		}
		got, err := r.recorded(stream)
		if err != nil {
			return evs, false, err
		}
		before := int64(got[0].Version) - 1
		if last, known := c.versions[id]; known && last != before {
			return evs, false, corrupt(stream, last+1, "missing or doubled; the next append found covers versions %d to %d", before+1, r.version)
		}
		c.versions[id] = r.version
		for i := range got {
			if int64(got[i].Position) > c.after {
				evs = append(evs, got[i])
			}
		}
		c.after = r.position
		size += len(r.body)
	}
	return evs, appends == pageAppends || size >= pageBytes, rows.Err()
}

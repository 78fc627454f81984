package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/feed"
	"github.com/covel/covel/internal/safego"
)

// A batch ends at this many requests, or at this many bytes.
const (
	maxBatch      = 512
	maxBatchBytes = 8 << 20
)

// rememberStreams is of how many streams the writer remembers where they end. Another costs it two look-ups.
const rememberStreams = 8192

// writer owns the one connection that writes. Everything in it is used by its goroutine only, queue, hub and done apart.
//
// A commit that fails leaves the outcome of its batch open, also for SQLite: the bytes may be on the disk. The writer then
// writes nothing more until a fresh connection has shown that all acknowledged events are there and that a commit succeeds.
type writer struct {
	path   string
	opts   Options
	queue  chan *request
	done   chan struct{}
	hub    *feed.Hub
	logged int64 // the position that callers know of as written

	db       *sql.DB
	conn     *sql.Conn
	stmts    writeStmts
	prepared []*sql.Stmt

	tail    tail                  // where the log ends, the open transaction included
	streams map[string]*streamRow // likewise
	inTx    bool
	failed  error    // why the last commit failed; nil when the log is known to be good
	doubted []string // streams of the batches whose outcome is open

	batch   []*request
	touched []string
	scratch []byte
}

type writeStmts struct {
	begin, commit, rollback *sql.Stmt
	findStream, tail        *sql.Stmt
	addStream, add, move    *sql.Stmt
	bury, deleteAppends     *sql.Stmt
	lastAppend, setTail     *sql.Stmt
	find                    *sql.Stmt
}

// openWriter connects, and prepares a new file or checks an old one.
func openWriter(path string, opts Options) (*writer, meta, error) {
	w := &writer{
		path: path, opts: opts, streams: map[string]*streamRow{},
		queue: make(chan *request, maxBatch), done: make(chan struct{}),
	}
	m, err := w.connect()
	if err != nil {
		w.disconnect()
		return nil, meta{}, err
	}
	w.logged = w.tail.head
	return w, m, nil
}

// connect opens a fresh connection and learns from the file where the log ends.
func (w *writer) connect() (m meta, err error) {
	ctx := context.Background()
	// FULL: a commit is synced when it returns. The checkpoint is far enough apart not to show in the appends.
	name := dsn(w.path, "rwc", "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)", "cache_size(-16000)")
	if w.db, err = sql.Open("sqlite", name); err != nil {
		return meta{}, err
	}
	w.db.SetMaxOpenConns(1)
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return meta{}, err
	}
	if m, err = prepare(ctx, w.conn, w.opts.generation); err != nil {
		return meta{}, err
	}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.stmts.begin, "BEGIN IMMEDIATE"},
		{&w.stmts.commit, "COMMIT"},
		{&w.stmts.rollback, "ROLLBACK"},
		{&w.stmts.findStream, selectStream},
		{&w.stmts.tail, selectTail},
		{&w.stmts.addStream, "INSERT INTO streams (name, version) VALUES (?, ?)"},
		{&w.stmts.move, "UPDATE streams SET version = ? WHERE id = ?"},
		{&w.stmts.add, "INSERT INTO appends (position, stream, version, recorded_at, sum, body) VALUES (?, ?, ?, ?, ?, ?)"},
		{&w.stmts.bury, "UPDATE streams SET version = 0, deleted = 1 WHERE id = ?"},
		{&w.stmts.deleteAppends, "DELETE FROM appends WHERE stream = ?"},
		{&w.stmts.setTail, "UPDATE tail SET head = ?, last = ?, deletions = ?"},
		{&w.stmts.lastAppend, "SELECT coalesce(max(position), 0) FROM appends"},
		{&w.stmts.find, selectForward},
	} {
		if *p.stmt, err = w.conn.PrepareContext(ctx, p.text); err != nil {
			return meta{}, err
		}
		w.prepared = append(w.prepared, *p.stmt)
	}
	w.tail, err = readTail(ctx, w.stmts.tail)
	return m, err
}

// disconnect closes the connection; an open transaction is rolled back by that.
func (w *writer) disconnect() (err error) {
	// A statement of a connection is not closed with it, and would keep the file open and locked.
	for _, stmt := range w.prepared {
		_ = stmt.Close()
	}
	w.prepared = nil
	if w.conn != nil {
		err = w.conn.Close()
	}
	if w.db != nil {
		if e := w.db.Close(); err == nil {
			err = e
		}
	}
	w.conn, w.db, w.inTx = nil, nil, false
	return err
}

// run answers requests until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.done)
	for first := range w.queue {
		w.take(first)
		if len(w.batch) > 0 {
			w.process()
		}
	}
}

// take makes a batch of the first request and of all that wait behind it.
func (w *writer) take(r *request) {
	w.batch = w.batch[:0]
	for size := 0; ; {
		if r.state.CompareAndSwap(waiting, taken) {
			w.batch = append(w.batch, r)
			size += len(r.body)
		}
		if len(w.batch) == maxBatch || size >= maxBatchBytes {
			return
		}
		var ok bool
		select {
		case r, ok = <-w.queue:
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// process writes the batch in one transaction and answers. Requests that do not fit their stream fail alone; whatever else
// goes wrong leaves the outcome of the whole batch unknown.
func (w *writer) process() {
	if w.failed != nil {
		if err := w.verify(); err != nil {
			w.answerAll(errors.Wrapf(err, "writing stopped after a failed commit (%v); see that the disk has room and is healthy", w.failed))
			return
		}
	}
	if err := w.transact(); err != nil {
		w.failed = err
		w.doubted = append(w.doubted, w.touched...)
		_ = w.disconnect()
		w.answerAll(err)
		return
	}
	w.logged = w.tail.head
	if len(w.touched) > 0 {
		w.hub.Ring(w.touched...)
	}
	for i, r := range w.batch {
		r.answer <- r.result
		w.batch[i] = nil
	}
}

func (w *writer) answerAll(cause error) {
	err := unknown{cause}
	for i, r := range w.batch {
		r.answer <- answer{err: err}
		w.batch[i] = nil
	}
}

// unknown is ErrUnknown with its cause.
type unknown struct{ cause error }

func (u unknown) Error() string   { return events.ErrUnknown.Error() + ": " + u.cause.Error() }
func (u unknown) Unwrap() []error { return []error{events.ErrUnknown, u.cause} }

// transact carries out the batch and commits. An error, or a panic below, means that nobody knows what was written.
func (w *writer) transact() (err error) {
	defer safego.Recover("sqlite log writer", func(e error) { err = e })
	w.touched = w.touched[:0]
	at := w.opts.Clock().UnixMicro()
	for _, r := range w.batch {
		r.result = answer{}
		if r.delete {
			err = w.delete(r)
		} else {
			err = w.append(r, at)
		}
		if err != nil {
			return err
		}
	}
	if !w.inTx {
		return nil
	}
	if err := w.exec(w.stmts.setTail, w.tail.head, w.tail.last, w.tail.deletions); err != nil {
		return err
	}
	commit := func() error { return w.exec(w.stmts.commit) }
	if w.opts.commit != nil {
		err = w.opts.commit(commit)
	} else {
		err = commit()
	}
	if err == nil {
		w.inTx = false
	}
	return err
}

// begin opens the transaction with the first write, so that a batch of refused appends needs none.
func (w *writer) begin() error {
	if w.inTx {
		return nil
	}
	if err := w.exec(w.stmts.begin); err != nil {
		return err
	}
	w.inTx = true
	return nil
}

func (w *writer) exec(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

// append carries out one append. An error is one of the transaction; what is wrong with the append goes into its result.
func (w *writer) append(r *request, at int64) error {
	st, err := w.stream(r.stream)
	if err != nil {
		return err
	}
	if st.deleted {
		r.result.err = events.ErrStreamDeleted
		return nil
	}
	if r.expected != events.Version(st.version) {
		return w.repeated(r, st)
	}
	if err := w.begin(); err != nil {
		return err
	}
	if st.id == 0 {
		if err := w.create(r.stream, st); err != nil {
			return err
		}
	}
	n := int64(len(r.ids))
	row := row{position: w.tail.head + n, version: st.version + n, recordedAt: at}
	row.sum, w.scratch = checksum(r.sum, r.stream, &row, w.scratch)
	if err := w.exec(w.stmts.add, row.position, st.id, row.version, row.recordedAt, row.sum, r.body); err != nil {
		return err
	}
	if err := w.exec(w.stmts.move, row.version, st.id); err != nil {
		return err
	}
	w.tail.head, w.tail.last, st.version = row.position, row.position, row.version
	r.result.done = events.Appended{
		Version: events.Version(row.version), Position: events.Position(row.position), RecordedAt: time.UnixMicro(at).UTC(),
	}
	w.touched = append(w.touched, r.stream)
	return nil
}

// repeated answers an append that does not stand at the end of its stream: done when exactly its ids are where it wanted
// them, else the wrong version.
func (w *writer) repeated(r *request, st *streamRow) error {
	wrong := func() error {
		r.result.err = errors.Wrapf(events.ErrWrongVersion, "expected version %d, is at %d", r.expected, st.version)
		return nil
	}
	from, n := sqlInt(r.expected), int64(len(r.ids))
	if from > st.version || st.version-from < n {
		return wrong()
	}
	c := streamCursor{stream: r.stream, next: from + 1}
	var found []events.Recorded
	for int64(len(found)) < n {
		rows, err := w.stmts.find.QueryContext(context.Background(), st.id, c.next, n)
		if err != nil {
			return err
		}
		evs, _, err := c.scan(rows, int(n))
		if errors.Is(err, events.ErrCorrupt) {
			r.result.err = err
			return nil
		}
		if err != nil {
			return err
		}
		if len(evs) == 0 {
			r.result.err = corrupt(r.stream, c.next, "missing; the stream ends at version %d", st.version)
			return nil
		}
		found = append(found, evs...)
	}
	if !sameIDs(found[:n], r.ids) {
		return wrong()
	}
	last := found[n-1]
	r.result.done = events.Appended{Version: last.Version, Position: last.Position, RecordedAt: last.RecordedAt}
	return nil
}

// delete carries out one deletion. The tombstone keeps the name; the head stays, so that no position is used again.
func (w *writer) delete(r *request) error {
	st, err := w.stream(r.stream)
	if err != nil || st.deleted {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if st.id == 0 {
		if err := w.create(r.stream, st); err != nil {
			return err
		}
	}
	for _, stmt := range []*sql.Stmt{w.stmts.bury, w.stmts.deleteAppends} {
		if err := w.exec(stmt, st.id); err != nil {
			return err
		}
	}
	if err := w.stmts.lastAppend.QueryRowContext(context.Background()).Scan(&w.tail.last); err != nil {
		return err
	}
	w.tail.deletions++
	st.deleted, st.version = true, 0
	w.touched = append(w.touched, r.stream)
	return nil
}

// stream finds out where a stream ends: from memory, else from the tables.
func (w *writer) stream(name string) (*streamRow, error) {
	if st, ok := w.streams[name]; ok {
		return st, nil
	}
	found, err := findStream(context.Background(), w.stmts.findStream, name)
	if err != nil {
		return nil, err
	}
	if found.id != 0 {
		w.remember(name, &found)
	}
	return &found, nil
}

func (w *writer) create(name string, st *streamRow) error {
	res, err := w.stmts.addStream.ExecContext(context.Background(), name, 0)
	if err != nil {
		return err
	}
	if st.id, err = res.LastInsertId(); err != nil {
		return err
	}
	w.remember(name, st)
	return nil
}

func (w *writer) remember(name string, st *streamRow) {
	if len(w.streams) >= w.opts.remember {
		for other := range w.streams { // whichever comes first
			delete(w.streams, other)
			break
		}
	}
	w.streams[name] = st
}

// verify decides whether writing may go on after a failed commit. The batch in doubt may turn out to be there or not; both
// are fine, since its callers were told that they do not know. What was acknowledged must be there.
func (w *writer) verify() (err error) {
	defer safego.Recover("sqlite log writer", func(e error) { err = e })
	defer func() {
		if err != nil {
			_ = w.disconnect()
		}
	}()
	if _, err := w.connect(); err != nil {
		return err
	}
	ctx := context.Background()
	var last int64
	if err := w.stmts.lastAppend.QueryRowContext(ctx).Scan(&last); err != nil {
		return err
	}
	if w.tail.head < w.logged || last < w.tail.last {
		return errors.Wrapf(events.ErrCorrupt, "the log has appends up to position %d and says that it ends at %d; %d was acknowledged", last, w.tail.last, w.logged)
	}
	if _, err := w.conn.ExecContext(ctx, "UPDATE tail SET verified = ?", w.opts.Clock().UnixMicro()); err != nil {
		return err
	}
	clear(w.streams)
	w.logged, w.failed = w.tail.head, nil
	w.hub.Ring(w.doubted...)
	w.doubted = nil
	return nil
}

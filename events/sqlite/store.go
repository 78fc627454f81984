// Package sqlite is the log in one SQLite file: the default store, without a server. One goroutine writes; appends of many
// streams that wait at the same time share a transaction and with it one sync to the disk (group commit). Reading goes
// through its own connections and never waits for the writer.
package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/pkg/errors"
	driver "modernc.org/sqlite"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/disk"
	"github.com/covel/covel/events/internal/feed"
)

// Names in the data folder.
const (
	FileName = "events.db"   // with -wal and -shm beside it while it is open
	LockName = "events.lock" // held by the one process that writes
)

// MaxAppend is the size in bytes over which an append is events.ErrTooLarge.
const MaxAppend = 64 << 20

var (
	// ErrLocked: another process has the log of this folder open for writing.
	ErrLocked = errors.New("sqlite log: the data folder is in use by another process")
	// ErrReadOnly: the store was opened with OpenReadOnly.
	ErrReadOnly = errors.New("sqlite log: opened for reading only")
)

// Options of a log.
type Options struct {
	// Clock gives the time of an append; nil is time.Now.
	Clock func() time.Time

	// For tests; zero is what the constants say.
	generation uint32
	remember   int                             // how many streams the writer remembers
	commit     func(commit func() error) error // stands between the writer and its COMMIT
}

// Store is the log of one data folder.
type Store struct {
	read   *sql.DB
	stmts  readStmts
	source feed.Source
	hub    feed.Hub
	meta   meta

	closed chan struct{} // closed when Close has begun
	once   sync.Once

	mu       sync.RWMutex // guards shut; held while an operation is counted in
	shut     bool
	inFlight sync.WaitGroup

	writer   *writer // nil when opened for reading only
	requests sync.Pool
	lock     *flock.Flock
}

var _ events.Store = (*Store)(nil)

// Open opens the log in the folder dir for reading and writing, and creates both when they are missing. One process at a
// time can do so: ErrLocked. A log that a newer program wrote is events.ErrTooNew.
func Open(dir string, opts Options) (_ *Store, err error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.generation == 0 {
		opts.generation = events.Generation
	}
	if opts.remember == 0 {
		opts.remember = rememberStreams
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "open log")
	}
	lock := flock.New(filepath.Join(dir, LockName), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return nil, errors.Wrapf(err, "lock %s", lock.Path())
	}
	if !got {
		return nil, errors.Wrapf(ErrLocked, "%s: stop the other server, or read beside it", dir)
	}
	defer func() {
		if err != nil {
			_ = lock.Unlock()
		}
	}()

	// A commit syncs what is needed to read the data back, and not the time stamps of the file. Where the system cannot,
	// SQLite goes on with fsync.
	_, _ = driver.Fdatasync(true)

	path := filepath.Join(dir, FileName)
	w, m, err := openWriter(path, opts)
	if err != nil {
		return nil, errors.Wrapf(err, "open log %s", path)
	}
	if err := syncDir(dir); err != nil {
		w.disconnect()
		return nil, errors.Wrapf(err, "open log %s", path)
	}
	s, err := openReaders(dsn(path, "rw", "query_only(1)"))
	if err != nil {
		w.disconnect()
		return nil, errors.Wrapf(err, "open log %s", path)
	}
	s.meta, s.lock, s.writer = m, lock, w
	w.hub = &s.hub
	go w.run()
	return s, nil
}

// OpenReadOnly opens the log in the folder dir for reading, beside a server that writes it or without one. Append and
// DeleteStream fail with ErrReadOnly; subscriptions look for new events a few times a second. No log is fs.ErrNotExist.
func OpenReadOnly(dir string) (*Store, error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return nil, errors.Wrap(err, "open log")
	}
	s, err := openReaders(dsn(path, "ro", "query_only(1)"))
	if err != nil {
		return nil, errors.Wrapf(err, "open log %s", path)
	}
	s.meta, err = readMeta(context.Background(), s.read)
	if err == nil && s.meta.layout > layout {
		err = errors.Wrapf(events.ErrTooNew, "its tables have version %d, this program knows %d", s.meta.layout, layout)
	}
	if err != nil {
		_ = s.read.Close()
		return nil, errors.Wrapf(err, "open log %s", path)
	}
	s.source.Poll = 250 * time.Millisecond
	return s, nil
}

func openReaders(dsn string) (*Store, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	n := max(4, runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	s := &Store{read: db, closed: make(chan struct{})}
	s.source = feed.Source{Hub: &s.hub, Closed: s.closed}
	if s.stmts, err = prepareReads(db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// LogID implements events.Store.
func (s *Store) LogID() uuid.UUID { return s.meta.logID }

// Close implements events.Store.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		s.mu.Lock()
		s.shut = true
		s.mu.Unlock()
		close(s.closed)
		s.inFlight.Wait()
		if s.writer != nil {
			close(s.writer.queue)
			<-s.writer.done // also finishes what callers no longer wait for
		}
		err = s.read.Close()
		if s.writer != nil {
			// Last, so that its closing moves the write-ahead log into the file.
			if e := s.writer.disconnect(); err == nil {
				err = e
			}
			if e := s.lock.Unlock(); err == nil {
				err = e
			}
		}
		err = errors.Wrap(err, "close log")
	})
	return err
}

// enter counts an operation in; leave must follow when there is no error.
func (s *Store) enter() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.shut {
		return events.ErrClosed
	}
	s.inFlight.Add(1)
	return nil
}

func (s *Store) leave() { s.inFlight.Done() }

// syncDir makes the entries of a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return disk.SyncDir(d)
}

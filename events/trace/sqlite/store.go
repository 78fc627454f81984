// Package sqlite keeps the trace in SQLite files of its own, beside the log: one a day, and another one when a file has
// grown large. Old entries go by dropping whole files. Nothing else depends on the files: one that is damaged is left
// behind, and the next entries begin a new one.
package sqlite

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/internal/disk"
	"github.com/covel/covel/events/trace"
)

// DirName is the folder of the files in the data folder.
const DirName = "traces"

// DefaultMaxBytes is the size at which a file is followed by another of the same day.
const DefaultMaxBytes = 256 << 20

// Options of a Store.
type Options struct {
	Clock    func() time.Time // nil is time.Now
	MaxBytes int64            // of one file; 0 is DefaultMaxBytes
	KeepDays int              // files of so many days before today are kept; 0 keeps all
	Log      *slog.Logger     // nil says nothing
}

// Store is the trace in one folder. One Store at a time may write to a folder.
type Store struct {
	dir  string
	opts Options

	mu  sync.Mutex
	cur *writing // nil until something is written, and after damage
}

var _ trace.Store = (*Store)(nil)

// Open opens the trace in a folder, creates it when it is missing, and drops the files that are too old.
func Open(dir string, opts Options) (*Store, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "open trace")
	}
	s := &Store{dir: dir, opts: opts}
	files, err := list(dir)
	if err != nil {
		return nil, errors.Wrap(err, "open trace")
	}
	s.dropOld(files)
	return s, nil
}

// Append implements trace.Store. A damaged file, or one of a newer program, is left as it is and the entries stand in a new
// one.
func (s *Store) Append(ctx context.Context, entries []trace.Entry, durable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.append(ctx, entries, durable)
	if unusable(err) {
		s.opts.Log.Warn("a trace file cannot be written any more; the trace goes on in a new one", "error", err)
		err = s.append(ctx, entries, durable)
	}
	return err
}

func (s *Store) append(ctx context.Context, entries []trace.Entry, durable bool) error {
	if err := s.roll(ctx); err != nil {
		return err
	}
	err := s.cur.insert(ctx, entries, durable)
	if unusable(err) {
		s.cur.spoiled = true
	}
	return err
}

// roll makes cur the file that the next entries belong in.
func (s *Store) roll(ctx context.Context) error {
	today := dayOf(s.opts.Clock())
	want, fresh := name{}, false
	if s.cur != nil {
		want = s.cur.name
	} else {
		files, err := list(s.dir)
		if err != nil {
			return errors.Wrap(err, "trace")
		}
		if len(files) > 0 {
			want = files[len(files)-1]
		}
	}
	switch {
	case want.day < today: // also when there is none; a clock that goes back opens no older file
		want, fresh = name{today, 1}, true
	case s.cur != nil && s.cur.spoiled, want.size(s.dir) >= s.opts.MaxBytes:
		want, fresh = name{want.day, want.n + 1}, true
	}
	if s.cur != nil && !fresh {
		return nil
	}
	s.leave()
	w, err := openWriting(ctx, s.dir, want)
	for unusable(err) {
		s.opts.Log.Warn("a trace file cannot be used; the trace goes on in a new one", "file", want.String(), "error", err)
		want.n, fresh = want.n+1, true
		w, err = openWriting(ctx, s.dir, want)
	}
	if err != nil {
		return errors.Wrapf(err, "trace file %s", want)
	}
	s.cur = w
	if !fresh {
		return nil
	}
	if files, err := list(s.dir); err == nil {
		s.dropOld(files)
	}
	return errors.Wrap(syncDir(s.dir), "trace")
}

func (s *Store) leave() {
	if s.cur == nil {
		return
	}
	if err := s.cur.close(); err != nil && !s.cur.spoiled {
		s.opts.Log.Warn("a trace file was not closed", "file", s.cur.name.String(), "error", err)
	}
	s.cur = nil
}

// dropOld removes the files of days that are not kept. The newest one stays: it says how far the trace has come.
func (s *Store) dropOld(files []name) {
	if s.opts.KeepDays <= 0 || len(files) == 0 {
		return
	}
	oldest := dayOf(s.opts.Clock().UTC().AddDate(0, 0, -s.opts.KeepDays))
	for _, f := range files[:len(files)-1] {
		if f.day >= oldest {
			return
		}
		if err := f.remove(s.dir); err != nil {
			s.opts.Log.Warn("an old trace file was not removed", "file", f.String(), "error", err)
		}
	}
}

// Read implements trace.Store.
func (s *Store) Read(ctx context.Context, q trace.Query) ([]trace.Entry, error) {
	return Read(ctx, s.dir, q)
}

// Last implements trace.Store.
func (s *Store) Last(ctx context.Context) (uint64, error) {
	files, err := list(s.dir)
	if err != nil {
		return 0, errors.Wrap(err, "trace")
	}
	for i := len(files) - 1; i >= 0; i-- {
		last, err := lastOf(ctx, files[i].path(s.dir))
		switch {
		case unusable(err):
			s.opts.Log.Warn("a trace file cannot be read", "file", files[i].String(), "error", err)
		case err != nil:
			return 0, errors.Wrapf(err, "trace file %s", files[i])
		case last > 0:
			return last, nil
		}
	}
	return 0, nil
}

// Forget implements trace.Store. What was removed is overwritten in the files. A file that cannot be used is named in the
// error; the others are done all the same.
func (s *Store) Forget(ctx context.Context, sessionID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := list(s.dir)
	if err != nil {
		return errors.Wrap(err, "trace")
	}
	var failure error
	for _, f := range files {
		w, own := s.cur, true
		if w == nil || w.name != f || w.spoiled {
			if w, err = openWriting(ctx, s.dir, f); err != nil {
				failure = errors.Wrapf(err, "trace file %s", f)
				continue
			}
			own = false
		}
		if err := w.forget(ctx, sessionID); err != nil {
			failure = errors.Wrapf(err, "trace file %s", f)
		}
		if !own {
			_ = w.close()
		}
	}
	return failure
}

// Close implements trace.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return disk.SyncDir(d)
}

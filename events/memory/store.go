// Package memory is the log in memory: the twin of the durable stores for tests and throw-away sessions. It behaves as they
// do, survives a simulated restart (Reopen), and can be told to fail at any append (Inject).
package memory

import (
	"context"
	"iter"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/feed"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Options of a log in memory.
type Options struct {
	// Clock gives the time of an append; nil is time.Now. It runs under a lock and must not call the store.
	Clock func() time.Time
	// LogID names the log; zero is a new one at random.
	LogID uuid.UUID
	// MaxAppend is the size in bytes over which an append is ErrTooLarge; 0 is 64 MiB.
	MaxAppend int
}

// Store is one handle on a log in memory. Its goroutines are its callers; it starts none.
type Store struct {
	log    *log
	closed chan struct{} // closed by Close and Reopen

	mu       sync.RWMutex // guards the following; held while an append is counted in
	shut     bool
	inFlight sync.WaitGroup
}

var _ events.Store = (*Store)(nil)

// New creates an empty log and opens it.
func New(opts Options) *Store {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.LogID == uuid.Nil {
		opts.LogID = uuid.New()
	}
	if opts.MaxAppend == 0 {
		opts.MaxAppend = 64 << 20
	}
	return open(&log{opts: opts, streams: map[string]*stream{}})
}

func open(l *log) *Store { return &Store{log: l, closed: make(chan struct{})} }

// Reopen is a restart: this handle is closed at once, appends that a fault holds up end with ErrClosed and write nothing,
// and the new handle has the same data. Faults and their count go on.
func (s *Store) Reopen() *Store {
	s.shutDown()
	s.inFlight.Wait()
	return open(s.log)
}

// Close implements events.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.inFlight.Wait()
	s.shutDown()
	return nil
}

func (s *Store) shutDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
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

// log is the data: what stands for the disk.
type log struct {
	opts Options
	hub  feed.Hub

	mu      sync.Mutex
	all     []events.Recorded // by position; events of deleted streams are taken out
	head    events.Position
	streams map[string]*stream
	faults  faults
}

type stream struct {
	deleted bool
	evs     []events.Recorded
}

// Append implements events.Store.
func (s *Store) Append(ctx context.Context, name string, expected events.Version, evs []events.Event) (events.Appended, error) {
	if err := events.CheckAppend(name, evs); err != nil {
		return events.Appended{}, err
	}
	if size := sizeOf(evs); size > s.log.opts.MaxAppend {
		return events.Appended{}, errors.Wrapf(events.ErrTooLarge, "append to %s: %d bytes, at most %d", name, size, s.log.opts.MaxAppend)
	}
	if err := ctx.Err(); err != nil {
		return events.Appended{}, err
	}
	if err := s.enter(); err != nil {
		return events.Appended{}, err
	}
	defer s.leave()

	fault := s.log.nextFault(name, evs)
	if err := fault.before(ctx, s.closed); err != nil {
		return events.Appended{}, errors.Wrapf(err, "append to %s", name)
	}
	done, err := s.log.append(name, expected, evs)
	if err != nil {
		return events.Appended{}, err
	}
	if err := fault.after(); err != nil {
		return events.Appended{}, errors.Wrapf(err, "append to %s", name)
	}
	return done, nil
}

func (l *log) append(name string, expected events.Version, evs []events.Event) (events.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.opts.Clock().UTC().Truncate(time.Microsecond)

	st := l.streams[name]
	if st == nil {
		st = &stream{}
	}
	if st.deleted {
		return events.Appended{}, errors.Wrapf(events.ErrStreamDeleted, "append to %s", name)
	}
	version := events.Version(len(st.evs))
	if expected != version {
		return st.repeated(name, expected, evs)
	}
	for _, ev := range evs {
		version++
		l.head++
		r := clone(events.Recorded{Event: ev, Stream: name, Version: version, Position: l.head, RecordedAt: at})
		st.evs = append(st.evs, r)
		l.all = append(l.all, r)
	}
	l.streams[name] = st
	l.hub.Ring(name)
	return events.Appended{Version: version, Position: l.head, RecordedAt: at}, nil
}

// repeated answers an append that does not stand at the end: done when exactly its ids are where it wanted them.
func (st *stream) repeated(name string, expected events.Version, evs []events.Event) (events.Appended, error) {
	version := uint64(len(st.evs))
	if from := uint64(expected); from < version && version-from >= uint64(len(evs)) {
		there := st.evs[from : from+uint64(len(evs))]
		if slices.EqualFunc(there, evs, func(r events.Recorded, ev events.Event) bool { return r.ID == ev.ID }) {
			last := there[len(there)-1]
			return events.Appended{Version: last.Version, Position: last.Position, RecordedAt: last.RecordedAt}, nil
		}
	}
	return events.Appended{}, errors.Wrapf(events.ErrWrongVersion, "append to %s: expected version %d, is at %d", name, expected, version)
}

// DeleteStream implements events.Store.
func (s *Store) DeleteStream(ctx context.Context, name string) error {
	if err := events.CheckStream(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()

	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(r events.Recorded) bool { return r.Stream == name })
	l.streams[name] = &stream{deleted: true}
	l.hub.Ring(name)
	return nil
}

// StreamVersion implements events.Store.
func (s *Store) StreamVersion(ctx context.Context, name string) (v events.Version, err error) {
	err = s.look(ctx, func(l *log) error {
		if st := l.streams[name]; st != nil {
			v = events.Version(len(st.evs))
		}
		return nil
	})
	return v, err
}

// Head implements events.Store.
func (s *Store) Head(ctx context.Context) (p events.Position, err error) {
	err = s.look(ctx, func(l *log) error {
		p = l.head
		return nil
	})
	return p, err
}

// LogID implements events.Store.
func (s *Store) LogID() uuid.UUID { return s.log.opts.LogID }

// look runs f under the lock of the data.
func (s *Store) look(ctx context.Context, f func(l *log) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return f(s.log)
}

// pageSize is small on purpose: tests then cross the border between pages.
const pageSize = 16

// ReadStream implements events.Store.
func (s *Store) ReadStream(ctx context.Context, name string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page { return s.streamPage(ctx, name, from, false) })
}

// SubscribeStream implements events.Store.
func (s *Store) SubscribeStream(ctx context.Context, name string, after events.Version) iter.Seq2[events.Recorded, error] {
	from := after
	if from < math.MaxUint64 {
		from++
	}
	return feed.Follow(ctx, s.source(), name, func() feed.Page { return s.streamPage(ctx, name, from, true) })
}

func (s *Store) source() feed.Source { return feed.Source{Hub: &s.log.hub, Closed: s.closed} }

func (s *Store) streamPage(ctx context.Context, name string, from events.Version, following bool) feed.Page {
	next := max(from, 1) // version to read next
	begun := following   // a follower, and a reader that had something, is told of a deletion
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(l *log) error {
			st, err := l.readable(name, begun)
			if st == nil || uint64(next) > uint64(len(st.evs)) {
				atEnd = true
				return err
			}
			evs, atEnd = page(st.evs[next-1:])
			next += events.Version(len(evs))
			begun = true
			return nil
		})
		return evs, atEnd, err
	}
}

// readable finds a stream; nil is one that has nothing to read. A deletion is an error only for who has begun to read.
func (l *log) readable(name string, begun bool) (*stream, error) {
	st := l.streams[name]
	if st == nil || !st.deleted {
		return st, nil
	}
	if begun {
		return nil, errors.Wrapf(events.ErrStreamDeleted, "read %s", name)
	}
	return nil, nil
}

// ReadStreamBackward implements events.Store.
func (s *Store) ReadStreamBackward(ctx context.Context, name string, from events.Version) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page {
		next, begun := from, false
		return func() (evs []events.Recorded, atEnd bool, err error) {
			err = s.look(ctx, func(l *log) error {
				st, err := l.readable(name, begun)
				if st == nil {
					atEnd = true
					return err
				}
				if n := events.Version(len(st.evs)); !begun && (next == 0 || next > n) {
					next = n
				}
				begun = true
				for ; next > 0 && len(evs) < pageSize; next-- {
					evs = append(evs, clone(st.evs[next-1]))
				}
				atEnd = next == 0
				return nil
			})
			return evs, atEnd, err
		}
	})
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.ToEnd(ctx, func() feed.Page { return s.allPage(ctx, after, false) })
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return feed.Follow(ctx, s.source(), feed.All, func() feed.Page { return s.allPage(ctx, after, true) })
}

// allPage reads on to the head; unless it follows, to the head as it is at the first page.
func (s *Store) allPage(ctx context.Context, after events.Position, following bool) feed.Page {
	var until events.Position
	begun := false
	return func() (evs []events.Recorded, atEnd bool, err error) {
		err = s.look(ctx, func(l *log) error {
			if following || !begun {
				until, begun = l.head, true
			}
			lo := sort.Search(len(l.all), func(i int) bool { return l.all[i].Position > after })
			hi := sort.Search(len(l.all), func(i int) bool { return l.all[i].Position > until })
			if lo >= hi {
				atEnd = true
				return nil
			}
			evs, atEnd = page(l.all[lo:hi])
			after = evs[len(evs)-1].Position
			return nil
		})
		return evs, atEnd, err
	}
}

// page copies the first events and says whether these were all.
func page(evs []events.Recorded) (copied []events.Recorded, all bool) {
	n := min(len(evs), pageSize)
	copied = make([]events.Recorded, n)
	for i := range copied {
		copied[i] = clone(evs[i])
	}
	return copied, n == len(evs)
}

// clone makes a copy that shares nothing: a caller who changes an event must not change the log.
func clone(r events.Recorded) events.Recorded {
	r.Data = slices.Clone(r.Data)
	if r.Metadata != nil {
		r.Metadata = proto.Clone(r.Metadata).(*eventsv1.Metadata)
	}
	return r
}

func sizeOf(evs []events.Event) int {
	n := 0
	for i := range evs {
		n += len(evs[i].Data) + len(evs[i].Type) + proto.Size(evs[i].Metadata) + 32
	}
	return n
}

package trace

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/internal/safego"
)

// Limits of a Writer.
const (
	// QueueLen is how many entries may wait to be written; one more is dropped and counted.
	QueueLen = 2048
	// MaxPayload is the most of one payload that is kept, in bytes of JSON.
	MaxPayload = 1 << 20
	maxBatch   = 256
	storeWait  = 10 * time.Second
)

// ErrClosed: the writer takes no more entries.
var ErrClosed = errors.New("trace: closed")

// Writer takes entries from whoever has something to tell and writes them in the background. A nil Writer takes everything
// and keeps nothing. Its methods may be called concurrently.
type Writer struct {
	store   Store
	log     *slog.Logger
	secrets []Secret
	queue   chan item
	stop    chan struct{}
	done    chan struct{}
	closing sync.Once
	last    uint64        // of the goroutine that writes
	dropped atomic.Uint64 // since the start

	mu   sync.Mutex
	lost map[string]uint64 // dropped entries by session that its trace does not tell of yet
}

type item struct {
	at      time.Time
	scope   Scope
	typ     Type // "" of what only waits for its place in the queue
	payload any
	done    chan error // of an item somebody waits for
	forget  string     // a session whose entries go
}

// NewWriter starts a writer on a store. It reads from the store how far the trace has come. Of secrets, the host's own, nothing
// is written.
func NewWriter(ctx context.Context, store Store, log *slog.Logger, secrets ...Secret) (*Writer, error) {
	last, err := store.Last(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: store, log: log, secrets: secrets, queue: make(chan item, QueueLen), stop: make(chan struct{}), done: make(chan struct{}), last: last, lost: map[string]uint64{}}
	safego.Go("trace", w.run)
	return w, nil
}

// Emit adds an entry. It never blocks. The payload belongs to the writer from here on: nobody may change it.
func (w *Writer) Emit(s Scope, t Type, payload any) {
	if w == nil {
		return
	}
	select {
	case w.queue <- item{at: time.Now(), scope: s, typ: t, payload: payload}:
	default:
		w.drop(s.SessionID, 1)
	}
}

func (w *Writer) drop(session string, n uint64) {
	w.dropped.Add(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost[session] += n
}

// EmitSync adds an entry and returns when it is durable: the intent of an outside call that must not be repeated silently
// (design §5, "Supervision"). An error means that the call must not be made.
func (w *Writer) EmitSync(ctx context.Context, s Scope, t Type, payload any) error {
	if w == nil {
		return nil
	}
	return w.wait(ctx, item{at: time.Now(), scope: s, typ: t, payload: payload})
}

// Flush returns when everything that was emitted before is written.
func (w *Writer) Flush(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.wait(ctx, item{})
}

// Forget removes what is kept of a session, also what still waits to be written.
func (w *Writer) Forget(ctx context.Context, sessionID string) error {
	if w == nil {
		return nil
	}
	return w.wait(ctx, item{forget: sessionID})
}

// Read gives the selected entries, oldest first, also those that were emitted just now. With a Damaged error come the entries
// that could be read.
func (w *Writer) Read(ctx context.Context, q Query) ([]Entry, error) {
	if w == nil {
		return nil, nil
	}
	if err := w.Flush(ctx); err != nil && !errors.Is(err, ErrClosed) {
		return nil, err
	}
	return w.store.Read(ctx, q)
}

// wait puts an item into the queue and returns when its turn has come.
func (w *Writer) wait(ctx context.Context, it item) error {
	it.done = make(chan error, 1)
	select {
	case <-w.stop:
		return ErrClosed
	default:
	}
	select {
	case w.queue <- it:
	case <-w.stop:
		return ErrClosed
	case <-ctx.Done():
		return errors.Wrap(ctx.Err(), "trace")
	}
	select {
	case err := <-it.done:
		return err
	case <-w.done:
		return ErrClosed
	case <-ctx.Done():
		return errors.Wrap(ctx.Err(), "trace")
	}
}

// Dropped is how many entries were not kept since the start.
func (w *Writer) Dropped() uint64 {
	if w == nil {
		return 0
	}
	return w.dropped.Load()
}

// Close writes what waits and stops. It does not close the store.
func (w *Writer) Close() {
	if w == nil {
		return
	}
	w.closing.Do(func() { close(w.stop) })
	<-w.done
}

func (w *Writer) run() {
	defer close(w.done)
	for {
		select {
		case it := <-w.queue:
			w.write(w.gather(it))
		case <-w.stop:
			for {
				select {
				case it := <-w.queue:
					w.write(w.gather(it))
				default:
					return
				}
			}
		}
	}
}

// gather takes what waits already, so that a burst is one transaction. A session is forgotten in a batch of its own.
func (w *Writer) gather(first item) []item {
	batch := []item{first}
	for len(batch) < maxBatch && batch[len(batch)-1].forget == "" {
		select {
		case it := <-w.queue:
			batch = append(batch, it)
		default:
			return batch
		}
	}
	return batch
}

func (w *Writer) write(batch []item) {
	lost := w.untold()
	var entries []Entry
	for _, session := range slices.Sorted(maps.Keys(lost)) {
		entries = append(entries, w.entry(item{at: time.Now(), typ: Dropped, scope: Scope{SessionID: session},
			payload: Lost{Count: lost[session], Reason: "the queue was full, or the store refused"}}))
	}
	durable, forget := false, ""
	for _, it := range batch {
		durable = durable || it.done != nil && it.typ != ""
		if it.typ != "" {
			entries = append(entries, w.entry(it))
		}
		forget = it.forget // only the last can have one
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	var err error
	if len(entries) > 0 {
		err = w.store.Append(ctx, entries, durable)
	}
	if err != nil {
		w.keep(lost)
		for _, it := range batch {
			if it.typ != "" {
				w.drop(it.scope.SessionID, 1)
			}
		}
		w.log.Warn("trace entries were not kept", "count", len(entries), "error", err)
	}
	if forget != "" {
		forgetErr := w.store.Forget(ctx, forget)
		w.mu.Lock()
		delete(w.lost, forget)
		w.mu.Unlock()
		batch[len(batch)-1].done <- forgetErr
		batch = batch[:len(batch)-1]
	}
	for _, it := range batch {
		if it.done != nil {
			it.done <- err
		}
	}
}

// untold takes the counts of what was dropped since the last time.
func (w *Writer) untold() map[string]uint64 {
	w.mu.Lock()
	lost := w.lost
	if len(lost) == 0 {
		w.mu.Unlock()
		return nil
	}
	w.lost = map[string]uint64{}
	w.mu.Unlock()
	total := uint64(0)
	for _, n := range lost {
		total += n
	}
	w.log.Warn("trace entries were dropped", "count", total, "sessions", len(lost))
	return lost
}

// keep puts counts back that could not be told.
func (w *Writer) keep(lost map[string]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for session, n := range lost {
		w.lost[session] += n
	}
}

func (w *Writer) entry(it item) Entry {
	w.last = max(w.last+1, uint64(max(it.at.UnixMicro(), 0)))
	return Entry{Seq: w.last, At: it.at, Type: it.typ, Scope: it.scope, Payload: w.encode(it.scope, it.payload)}
}

// encode writes a payload as JSON. One that is too large, or none, says so in its place.
func (w *Writer) encode(s Scope, payload any) (out json.RawMessage) {
	defer safego.Recover("trace payload", func(err error) { out = w.problem(err.Error()) })
	if s.Concealed {
		c, ok := payload.(Conceals)
		if !ok {
			return json.RawMessage(`{"concealed":true}`)
		}
		payload = c.WithoutContents()
	}
	if payload == nil {
		return nil
	}
	b, err := plainjson.Marshal(payload)
	if err != nil {
		return w.problem(err.Error())
	}
	if b = scrub(b, w.secrets); len(b) > MaxPayload {
		return cut(b)
	}
	return b
}

func (w *Writer) problem(why string) json.RawMessage {
	b, _ := plainjson.Marshal(map[string]string{"unreadable": scrubText(why, w.secrets)}) // of strings: cannot fail
	return b
}

func cut(b []byte) json.RawMessage {
	head := strings.ToValidUTF8(string(b[:MaxPayload/4]), "")
	out, _ := plainjson.Marshal(map[string]any{"truncated": true, "bytes": len(b), "head": head}) // cannot fail
	return out
}

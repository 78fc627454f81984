package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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
	queue   chan item
	stop    chan struct{}
	done    chan struct{}
	closing sync.Once
	last    uint64        // of the goroutine that writes
	dropped atomic.Uint64 // since the start
	told    uint64        // dropped entries that the trace tells of
}

type item struct {
	at      time.Time
	scope   Scope
	typ     Type
	payload any
	done    chan error // of an entry somebody waits for
}

// NewWriter starts a writer on a store. It reads from the store how far the trace has come.
func NewWriter(ctx context.Context, store Store, log *slog.Logger) (*Writer, error) {
	last, err := store.Last(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: store, log: log, queue: make(chan item, QueueLen), stop: make(chan struct{}), done: make(chan struct{}), last: last}
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
		w.dropped.Add(1)
	}
}

// EmitSync adds an entry and returns when it is durable: the intent of an outside call that must not be repeated silently
// (design §5, "Supervision"). An error means that the call must not be made.
func (w *Writer) EmitSync(ctx context.Context, s Scope, t Type, payload any) error {
	if w == nil {
		return nil
	}
	it := item{at: time.Now(), scope: s, typ: t, payload: payload, done: make(chan error, 1)}
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

// Flush returns when everything that was emitted before is written.
func (w *Writer) Flush(ctx context.Context) error {
	if w == nil {
		return nil
	}
	it := item{done: make(chan error, 1)}
	select {
	case w.queue <- it:
	case <-w.done:
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

// gather takes what waits already, so that a burst is one transaction.
func (w *Writer) gather(first item) []item {
	batch := []item{first}
	for len(batch) < maxBatch {
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
	var entries []Entry
	var waiting []chan error
	durable := false
	if lost := w.dropped.Load(); lost > w.told {
		entries = append(entries, w.entry(item{at: time.Now(), typ: Dropped, scope: Scope{SessionID: batch[0].scope.SessionID},
			payload: Lost{Count: lost - w.told, Reason: "the queue was full or the store refused"}}))
		w.told = lost
	}
	for _, it := range batch {
		if it.done != nil {
			waiting = append(waiting, it.done)
			durable = durable || it.typ != ""
		}
		if it.typ != "" {
			entries = append(entries, w.entry(it))
		}
	}
	var err error
	if len(entries) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), storeWait)
		err = w.store.Append(ctx, entries, durable)
		cancel()
	}
	if err != nil {
		w.dropped.Add(uint64(len(entries)))
		w.log.Warn("trace entries were not kept", "count", len(entries), "error", err)
	}
	for _, done := range waiting {
		done <- err
	}
}

func (w *Writer) entry(it item) Entry {
	w.last = max(w.last+1, uint64(max(it.at.UnixMicro(), 0)))
	return Entry{Seq: w.last, At: it.at, Type: it.typ, Scope: it.scope, Payload: encode(it.scope, it.payload)}
}

// encode writes a payload as JSON. One that is too large, or none, says so in its place.
func encode(s Scope, payload any) (out json.RawMessage) {
	defer safego.Recover("trace payload", func(err error) { out = problem(err.Error()) })
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
	switch {
	case err != nil:
		return problem(err.Error())
	case len(b) > MaxPayload:
		return cut(b)
	}
	return b
}

func problem(why string) json.RawMessage {
	b, _ := plainjson.Marshal(map[string]string{"unreadable": why}) // of strings: cannot fail
	return b
}

func cut(b []byte) json.RawMessage {
	head := strings.ToValidUTF8(string(b[:MaxPayload/4]), "")
	out, err := plainjson.Marshal(map[string]any{"truncated": true, "bytes": len(b), "head": head})
	if err != nil {
		return problem(fmt.Sprintf("%d bytes", len(b)))
	}
	return out
}

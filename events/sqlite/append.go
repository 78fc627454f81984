package sqlite

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// request is an append, or the deletion of a stream, on its way to the writer.
type request struct {
	stream   string
	delete   bool
	expected events.Version
	ids      []uuid.UUID
	body     []byte
	sum      uint32 // CRC-32C of body

	state  atomic.Uint32 // waiting, then taken or withdrawn
	answer chan answer   // holds one
	result answer        // the writer's, until the commit
}

type answer struct {
	done events.Appended
	err  error
}

// States of a request. Whoever moves it from waiting owns the outcome: the writer, or a caller whose ctx ended.
const (
	waiting uint32 = iota
	taken
	withdrawn
)

// keepBody is the largest buffer that is kept for reuse.
const keepBody = 64 << 10

// newRequest reuses what answered requests left behind. The pool is the store's own, since a channel that was made in a
// synctest bubble must stay there.
func (s *Store) newRequest(stream string) *request {
	r, ok := s.requests.Get().(*request)
	if !ok {
		r = &request{answer: make(chan answer, 1)}
	}
	r.stream, r.delete, r.expected = stream, false, 0
	r.ids, r.body = r.ids[:0], r.body[:0]
	r.state.Store(waiting)
	return r
}

// release gives back a request that nobody else will touch: one that was answered or never sent.
func (s *Store) release(r *request) {
	if cap(r.body) <= keepBody {
		s.requests.Put(r)
	}
}

// Append implements events.Store.
func (s *Store) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	if err := events.CheckAppend(stream, evs); err != nil {
		return events.Appended{}, err
	}
	size := 0
	for i := range evs {
		size += len(evs[i].Data)
	}
	if size > MaxAppend {
		return events.Appended{}, errors.Wrapf(events.ErrTooLarge, "append to %s: %d bytes, at most %d", stream, size, MaxAppend)
	}
	r := s.newRequest(stream)
	r.expected = expected
	for i := range evs {
		r.ids = append(r.ids, evs[i].ID)
	}
	// The body is made here and not by the writer: callers encode in parallel, and the slices stay theirs.
	body, err := appendBody(r.body, evs)
	if err != nil {
		s.release(r)
		return events.Appended{}, errors.Wrapf(err, "append to %s", stream)
	}
	r.body, r.sum = body, crc32.Checksum(body, castagnoli)
	return s.write(ctx, "append to ", r)
}

// DeleteStream implements events.Store.
func (s *Store) DeleteStream(ctx context.Context, stream string) error {
	if err := events.CheckStream(stream); err != nil {
		return err
	}
	r := s.newRequest(stream)
	r.delete = true
	_, err := s.write(ctx, "delete ", r)
	return err
}

// write hands a request to the writer and waits for the answer.
func (s *Store) write(ctx context.Context, what string, r *request) (events.Appended, error) {
	stream := r.stream
	if s.writer == nil {
		s.release(r)
		return events.Appended{}, errors.Wrap(ErrReadOnly, what+stream)
	}
	if err := ctx.Err(); err != nil {
		s.release(r)
		return events.Appended{}, err
	}
	if err := s.enter(); err != nil {
		s.release(r)
		return events.Appended{}, err
	}
	defer s.leave()

	select {
	case s.writer.queue <- r:
	case <-ctx.Done():
		s.release(r)
		return events.Appended{}, ctx.Err()
	}
	select {
	case a := <-r.answer:
		s.release(r)
		return a.done, wrap(a.err, what, stream)
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, withdrawn) {
		return events.Appended{}, ctx.Err() // the writer still holds r and skips it
	}
	select {
	case a := <-r.answer: // it came at the same time
		s.release(r)
		return a.done, wrap(a.err, what, stream)
	default:
		return events.Appended{}, fmt.Errorf("%s%s: %w: %w", what, stream, events.ErrUnknown, ctx.Err())
	}
}

func wrap(err error, what, stream string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%s: %w", what, stream, err)
}

// sqlInt brings a number of the contract into SQLite's range: no version or position is above it.
func sqlInt[N ~uint64](n N) int64 { return int64(min(uint64(n), math.MaxInt64)) }

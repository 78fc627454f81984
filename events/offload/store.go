// Package offload keeps large payloads beside the log: a payload above events.BlobThreshold becomes a blob that is durable
// before the append that names it, so that an append stays far below any store's limit. Readers see no difference.
package offload

import (
	"context"
	"iter"
	"slices"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Store is an events.Store whose large payloads live in a blob store, in the scope of their stream. Streams whose names are
// no scope (events.CheckScope) keep all payloads in the log.
type Store struct {
	events.Store
	blobs events.BlobStore
}

// New wraps a store.
func New(store events.Store, blobs events.BlobStore) *Store { return &Store{store, blobs} }

// Append implements events.Store. Metadata that names a blob already is refused with events.ErrInvalid: only this store says
// where a payload is.
func (s *Store) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	if err := events.CheckAppend(stream, evs); err != nil {
		return events.Appended{}, err
	}
	for i, ev := range evs {
		if ev.Metadata.GetDataBlob() != "" {
			return events.Appended{}, errors.Wrapf(events.ErrInvalid, "append to %s: event %d (%s) names a blob", stream, i, ev.Type)
		}
	}
	if events.CheckScope(stream) != nil {
		return s.Store.Append(ctx, stream, expected, evs)
	}
	out := slices.Clone(evs)
	for i, ev := range evs {
		if len(ev.Data) <= events.BlobThreshold {
			continue
		}
		ref, err := s.blobs.Put(ctx, stream, ev.Data)
		if err != nil {
			return events.Appended{}, errors.Wrapf(err, "store the payload of %s beside the log", ev.Type)
		}
		meta := &eventsv1.Metadata{}
		if ev.Metadata != nil {
			meta = proto.CloneOf(ev.Metadata)
		}
		meta.DataBlob = ref.Digest
		out[i].Data, out[i].Metadata = nil, meta
	}
	done, err := s.Store.Append(ctx, stream, expected, out)
	if errors.Is(err, events.ErrStreamDeleted) { // nothing of a deleted stream is kept, late payloads neither
		if cleanErr := s.blobs.DeleteScope(ctx, stream); cleanErr != nil {
			return done, errors.Wrapf(err, "%v; its blobs are left: %v", stream, cleanErr)
		}
	}
	return done, err
}

// ReadStream implements events.Store.
func (s *Store) ReadStream(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadStream(ctx, stream, from), ends)
}

// ReadStreamBackward implements events.Store.
func (s *Store) ReadStreamBackward(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadStreamBackward(ctx, stream, from), ends)
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadAll(ctx, after), goesOn)
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.Subscribe(ctx, after), goesOn)
}

// SubscribeStream implements events.Store.
func (s *Store) SubscribeStream(ctx context.Context, stream string, after events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.SubscribeStream(ctx, stream, after), ends)
}

// atDeletion is what a reader does when a stream was deleted, blobs and all, under its eyes.
type atDeletion bool

const (
	ends   atDeletion = false // of this stream: ErrStreamDeleted
	goesOn atDeletion = true  // of the whole log: without the event
)

func (s *Store) inflate(ctx context.Context, seq iter.Seq2[events.Recorded, error], then atDeletion) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range seq {
			if err == nil && r.Metadata.GetDataBlob() != "" {
				r, err = s.whole(ctx, r)
				if then == goesOn && errors.Is(err, events.ErrStreamDeleted) {
					continue
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// whole gives an event with its payload. A payload that is missing is an error, never an empty payload: ErrStreamDeleted
// when the stream is gone too, else the blob store's.
func (s *Store) whole(ctx context.Context, r events.Recorded) (events.Recorded, error) {
	data, err := s.blobs.Get(ctx, events.BlobRef{Scope: r.Stream, Digest: r.Metadata.GetDataBlob()})
	if errors.Is(err, events.ErrNoBlob) {
		if v, versionErr := s.StreamVersion(ctx, r.Stream); versionErr == nil && v == 0 {
			return events.Recorded{}, errors.Wrapf(events.ErrStreamDeleted, "payload of %s version %d", r.Stream, r.Version)
		}
	}
	if err != nil {
		return events.Recorded{}, errors.Wrapf(err, "payload of %s version %d", r.Stream, r.Version)
	}
	meta := proto.CloneOf(r.Metadata)
	if meta.DataBlob = ""; proto.Size(meta) == 0 {
		meta = nil // as it was handed in
	}
	r.Data, r.Metadata = data, meta
	return r, nil
}

// DeleteStream implements events.Store: the blobs go with their stream.
func (s *Store) DeleteStream(ctx context.Context, stream string) error {
	if err := s.Store.DeleteStream(ctx, stream); err != nil || events.CheckScope(stream) != nil {
		return err
	}
	return errors.Wrapf(s.blobs.DeleteScope(ctx, stream), "delete blobs of %s", stream)
}

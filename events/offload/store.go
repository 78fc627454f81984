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

// Append implements events.Store.
func (s *Store) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	if events.CheckScope(stream) != nil {
		return s.Store.Append(ctx, stream, expected, evs)
	}
	out := evs
	for i, ev := range evs {
		if len(ev.Data) <= events.BlobThreshold {
			continue
		}
		ref, err := s.blobs.Put(ctx, stream, ev.Data)
		if err != nil {
			return events.Appended{}, errors.Wrapf(err, "store the payload of %s beside the log", ev.Type)
		}
		if &out[0] == &evs[0] {
			out = slices.Clone(evs)
		}
		meta := &eventsv1.Metadata{}
		if ev.Metadata != nil {
			meta = proto.CloneOf(ev.Metadata)
		}
		meta.DataBlob = ref.Digest
		out[i].Data, out[i].Metadata = nil, meta
	}
	return s.Store.Append(ctx, stream, expected, out)
}

// ReadStream implements events.Store.
func (s *Store) ReadStream(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadStream(ctx, stream, from))
}

// ReadStreamBackward implements events.Store.
func (s *Store) ReadStreamBackward(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadStreamBackward(ctx, stream, from))
}

// ReadAll implements events.Store.
func (s *Store) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.ReadAll(ctx, after))
}

// Subscribe implements events.Store.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.Subscribe(ctx, after))
}

// SubscribeStream implements events.Store.
func (s *Store) SubscribeStream(ctx context.Context, stream string, after events.Version) iter.Seq2[events.Recorded, error] {
	return s.inflate(ctx, s.Store.SubscribeStream(ctx, stream, after))
}

func (s *Store) inflate(ctx context.Context, seq iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range seq {
			if digest := r.Metadata.GetDataBlob(); err == nil && digest != "" {
				data, blobErr := s.blobs.Get(ctx, events.BlobRef{Scope: r.Stream, Digest: digest})
				if blobErr != nil {
					yield(events.Recorded{}, errors.Wrapf(blobErr, "payload of %s version %d", r.Stream, r.Version))
					return
				}
				r.Data, r.Metadata = data, proto.CloneOf(r.Metadata)
				r.Metadata.DataBlob = ""
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// DeleteStream implements events.Store: the blobs go with their stream.
func (s *Store) DeleteStream(ctx context.Context, stream string) error {
	if err := s.Store.DeleteStream(ctx, stream); err != nil || events.CheckScope(stream) != nil {
		return err
	}
	return errors.Wrapf(s.blobs.DeleteScope(ctx, stream), "delete blobs of %s", stream)
}

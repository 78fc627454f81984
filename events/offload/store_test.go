package offload_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/blobfs"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/offload"
	"github.com/covel/covel/events/sqlite"
	"github.com/covel/covel/events/storetest"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Features{Reopen: true, Faults: true}, func(t *testing.T) storetest.Factory {
		var log *memory.Store
		blobs := &memory.Blobs{}
		return storetest.Factory{
			Open: func() (events.Store, error) {
				if log == nil {
					log = memory.New(memory.Options{})
				} else {
					log = log.Reopen()
				}
				return offload.New(log, blobs), nil
			},
			Inject: func(f storetest.Fault) {
				kind := map[storetest.Fault]memory.Kind{storetest.LoseAck: memory.LoseAck, storetest.UnknownNotWritten: memory.UnknownNotWritten}
				log.Inject(memory.Fault{Kind: kind[f]})
			},
		}
	})
}

// TestStoreOnDisk is the pair the program runs on.
func TestStoreOnDisk(t *testing.T) {
	storetest.Run(t, storetest.Features{Reopen: true}, func(t *testing.T) storetest.Factory {
		dir := t.TempDir()
		blobs, err := blobfs.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { blobs.Close() })
		return storetest.Factory{Open: func() (events.Store, error) {
			log, err := sqlite.Open(dir, sqlite.Options{})
			if err != nil {
				return nil, err
			}
			return offload.New(log, blobs), nil
		}}
	})
}

const stream = "low-water-7k2m9qxa"

// TestWhereThePayloadIs looks at the log below: payloads up to the threshold stand in it, larger ones only by their digest.
func TestWhereThePayloadIs(t *testing.T) {
	log, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	s := offload.New(log, blobs)
	sizes := []int{0, 10, events.BlobThreshold, events.BlobThreshold + 1, 1 << 20}
	evs := make([]events.Event, len(sizes))
	for i, n := range sizes {
		evs[i] = events.Event{
			ID: uuid.New(), Type: "PluginDataChanged", SchemaVersion: 1, Data: bytes.Repeat([]byte{byte(i + 1)}, n),
			Metadata: &eventsv1.Metadata{CorrelationId: "请求", SeatId: "龙胆"},
		}
	}
	if _, err := s.Append(t.Context(), stream, 0, evs); err != nil {
		t.Fatal(err)
	}
	i := 0
	for r, err := range log.ReadStream(t.Context(), stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		large := sizes[i] > events.BlobThreshold
		if digest := r.Metadata.GetDataBlob(); (digest != "") != large || (large && (len(r.Data) > 0 || digest != events.Digest(evs[i].Data))) {
			t.Errorf("%d bytes: the log has %d and the digest %q", sizes[i], len(r.Data), digest)
		}
		if !large && (!bytes.Equal(r.Data, evs[i].Data) || !proto.Equal(r.Metadata, evs[i].Metadata)) {
			t.Errorf("%d bytes: the log has other bytes or metadata", sizes[i])
		}
		if evs[i].Metadata.DataBlob != "" || len(evs[i].Data) != sizes[i] {
			t.Errorf("%d bytes: what was handed in changed", sizes[i])
		}
		i++
	}
	i = 0
	for r, err := range s.ReadStream(t.Context(), stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Data, evs[i].Data) || !proto.Equal(r.Metadata, evs[i].Metadata) {
			t.Errorf("%d bytes: read %d and %v", sizes[i], len(r.Data), r.Metadata)
		}
		i++
	}
	if i != len(sizes) {
		t.Errorf("read %d events", i)
	}

	if err := s.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	ref := events.BlobRef{Scope: stream, Digest: events.Digest(evs[4].Data)}
	if _, err := blobs.Get(t.Context(), ref); !errors.Is(err, events.ErrNoBlob) {
		t.Errorf("the blobs of a deleted stream: %v", err)
	}
}

// TestLostBlob: an event whose payload is gone is an error with its place, and no empty event.
func TestLostBlob(t *testing.T) {
	blobs := &memory.Blobs{}
	s := offload.New(memory.New(memory.Options{}), blobs)
	ev := events.Event{ID: uuid.New(), Type: "PluginDataChanged", SchemaVersion: 1, Data: make([]byte, events.BlobThreshold+1)}
	if _, err := s.Append(t.Context(), stream, 0, []events.Event{ev}); err != nil {
		t.Fatal(err)
	}
	if err := blobs.DeleteScope(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range s.ReadAll(t.Context(), 0) {
		if n++; !errors.Is(err, events.ErrNoBlob) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results, want the error alone", n)
	}
}

func large() events.Event {
	return events.Event{ID: uuid.New(), Type: "PluginDataChanged", SchemaVersion: 1, Data: bytes.Repeat([]byte("龙"), events.BlobThreshold)}
}

// TestNoMetadata: an event without metadata comes back without.
func TestNoMetadata(t *testing.T) {
	s := offload.New(memory.New(memory.Options{}), &memory.Blobs{})
	if _, err := s.Append(t.Context(), stream, 0, []events.Event{large()}); err != nil {
		t.Fatal(err)
	}
	for r, err := range s.ReadStream(t.Context(), stream, 0) {
		if err != nil || r.Metadata != nil || len(r.Data) != 3*events.BlobThreshold {
			t.Errorf("%d bytes, metadata %v (%v)", len(r.Data), r.Metadata, err)
		}
	}
}

// TestForeignBlobName: nobody but the store says where a payload is.
func TestForeignBlobName(t *testing.T) {
	log := memory.New(memory.Options{})
	s := offload.New(log, &memory.Blobs{})
	for _, name := range []string{stream, "龙胆"} {
		ev := large()
		ev.Data, ev.Metadata = nil, &eventsv1.Metadata{DataBlob: events.Digest([]byte("x"))}
		if _, err := s.Append(t.Context(), name, 0, []events.Event{ev}); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
	if log.Appends() != 0 {
		t.Error("it was appended")
	}
}

// TestLateAppend: what is appended to a deleted stream leaves no payload behind.
func TestLateAppend(t *testing.T) {
	blobs := &memory.Blobs{}
	s := offload.New(memory.New(memory.Options{}), blobs)
	if err := s.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	ev := large()
	if _, err := s.Append(t.Context(), stream, 0, []events.Event{ev}); !errors.Is(err, events.ErrStreamDeleted) {
		t.Errorf("got %v", err)
	}
	if _, err := blobs.Get(t.Context(), events.BlobRef{Scope: stream, Digest: events.Digest(ev.Data)}); !errors.Is(err, events.ErrNoBlob) {
		t.Errorf("the payload is there: %v", err)
	}
}

// TestDeletedUnderTheReader: a stream that goes, blobs and all, while it is read ends its own readers as deleted, and those
// of the whole log go on without it.
func TestDeletedUnderTheReader(t *testing.T) {
	for name, c := range map[string]struct {
		read func(*offload.Store) iter.Seq2[events.Recorded, error]
		want error
		seen int
	}{
		"stream": {func(s *offload.Store) iter.Seq2[events.Recorded, error] { return s.ReadStream(t.Context(), stream, 0) }, events.ErrStreamDeleted, 1},
		"backward": {func(s *offload.Store) iter.Seq2[events.Recorded, error] {
			return s.ReadStreamBackward(t.Context(), stream, 0)
		}, events.ErrStreamDeleted, 1},
		"all": {func(s *offload.Store) iter.Seq2[events.Recorded, error] { return s.ReadAll(t.Context(), 0) }, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			log, blobs := memory.New(memory.Options{}), &memory.Blobs{}
			s := offload.New(&unhurried{log}, blobs)
			for v := range events.Version(3) {
				if _, err := s.Append(t.Context(), stream, v, []events.Event{large()}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Append(t.Context(), "another", 0, []events.Event{large()}); err != nil {
				t.Fatal(err)
			}
			seen := 0
			var last error
			for _, err := range c.read(s) {
				if last = err; err != nil {
					break
				}
				if seen++; seen == 1 {
					if err := s.DeleteStream(t.Context(), stream); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !errors.Is(last, c.want) || seen != c.seen {
				t.Errorf("%d events, then %v", seen, last)
			}
		})
	}
}

// unhurried is a store whose readers have all their events in hand before they yield the first, as a reader with a buffer.
type unhurried struct{ *memory.Store }

func (u *unhurried) ReadStream(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return buffered(u.Store.ReadStream(ctx, stream, from))
}

func (u *unhurried) ReadStreamBackward(ctx context.Context, stream string, from events.Version) iter.Seq2[events.Recorded, error] {
	return buffered(u.Store.ReadStreamBackward(ctx, stream, from))
}

func (u *unhurried) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return buffered(u.Store.ReadAll(ctx, after))
}

func buffered(seq iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	var all []events.Recorded
	for r := range seq {
		all = append(all, r)
	}
	return func(yield func(events.Recorded, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// TestNamesThatAreNoScope keeps everything in the log.
func TestNamesThatAreNoScope(t *testing.T) {
	log := memory.New(memory.Options{})
	s := offload.New(log, &memory.Blobs{})
	ev := events.Event{ID: uuid.New(), Type: "PluginDataChanged", SchemaVersion: 1, Data: make([]byte, events.BlobThreshold+1)}
	if _, err := s.Append(t.Context(), "龙胆", 0, []events.Event{ev}); err != nil {
		t.Fatal(err)
	}
	for r, err := range log.ReadStream(t.Context(), "龙胆", 0) {
		if err != nil || len(r.Data) != len(ev.Data) {
			t.Errorf("the log has %d bytes (%v)", len(r.Data), err)
		}
	}
	if err := s.DeleteStream(t.Context(), "龙胆"); err != nil {
		t.Error(err)
	}
}

// failingBlobs cannot store anything.
type failingBlobs struct{ memory.Blobs }

var errFull = errors.New("the disk is full")

func (*failingBlobs) Put(context.Context, string, []byte) (events.BlobRef, error) {
	return events.BlobRef{}, errFull
}

// TestBlobBeforeAppend: when the payload cannot be stored, nothing is appended.
func TestBlobBeforeAppend(t *testing.T) {
	log := memory.New(memory.Options{})
	s := offload.New(log, &failingBlobs{})
	ev := events.Event{ID: uuid.New(), Type: "PluginDataChanged", SchemaVersion: 1, Data: make([]byte, events.BlobThreshold+1)}
	if _, err := s.Append(t.Context(), stream, 0, []events.Event{ev}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if log.Appends() != 0 {
		t.Error("it was appended")
	}
}

package offload_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/offload"
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

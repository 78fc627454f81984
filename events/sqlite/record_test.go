package sqlite

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func metadata(text string) *eventsv1.Metadata {
	return &eventsv1.Metadata{CorrelationId: text, SeatId: text, LogicalTurn: 3}
}

func crc(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

func sameEvents(a, b []events.Event) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.ID != y.ID || x.Type != y.Type || x.SchemaVersion != y.SchemaVersion || !bytes.Equal(x.Data, y.Data) ||
			(x.Metadata == nil) != (y.Metadata == nil) || !proto.Equal(x.Metadata, y.Metadata) {
			return false
		}
	}
	return true
}

func TestBodyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := make([]events.Event, rapid.IntRange(1, 6).Draw(t, "n"))
		for i := range evs {
			evs[i] = events.Event{
				ID:            uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
				Type:          rapid.SampledFrom([]string{"NarrativeAppended", "龙胆", "X"}).Draw(t, "type"),
				SchemaVersion: rapid.Uint32().Draw(t, "schema"),
				Data:          rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			}
			switch rapid.IntRange(0, 2).Draw(t, "metadata") {
			case 1:
				evs[i].Metadata = &eventsv1.Metadata{}
			case 2:
				evs[i].Metadata = metadata(rapid.String().Draw(t, "text"))
			}
		}
		body, err := appendBody([]byte("before"), evs)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.TrimPrefix(body, []byte("before"))
		got, err := decodeBody(body)
		if err != nil {
			t.Fatal(err)
		}
		if !sameEvents(got, evs) {
			t.Fatalf("got %+v, want %+v", got, evs)
		}
		// Each shorter body is damaged, and so is a longer one.
		cut := rapid.IntRange(0, len(body)-1).Draw(t, "cut")
		if _, err := decodeBody(body[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", cut, len(body))
		}
		if _, err := decodeBody(append(body, 0)); err == nil {
			t.Fatal("a byte too much was accepted")
		}
	})
}

func TestDecodingSparesTheLog(t *testing.T) {
	body, err := appendBody(nil, newEvents(2))
	if err != nil {
		t.Fatal(err)
	}
	evs, err := decodeBody(body)
	if err != nil {
		t.Fatal(err)
	}
	// Growing the data of one event must not run into the next.
	_ = append(evs[0].Data, "xxxxxxxxxxxxxxxxxxxxxxxx"...)
	if again, err := decodeBody(body); err != nil || !sameEvents(again, evs) {
		t.Errorf("the body changed: %v", err)
	}
}

func FuzzDecodeBody(f *testing.F) {
	whole, err := appendBody(nil, newEvents(2))
	if err != nil {
		f.Fatal(err)
	}
	evs := newEvents(1)
	evs[0].Metadata = metadata("E\u0301lodie 🐉")
	rich, err := appendBody(nil, evs)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, {bodyFormat}, {bodyFormat, 0}, {bodyFormat, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, whole, whole[:30], rich} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		evs, err := decodeBody(bytes.Clone(body))
		if err != nil {
			return
		}
		if len(evs) == 0 {
			t.Fatal("no events and no error")
		}
		again, err := appendBody(nil, evs)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if same, err := decodeBody(again); err != nil || !sameEvents(same, evs) {
			t.Fatalf("decoded %+v, encoded and decoded %+v (%v)", evs, same, err)
		}
	})
}

// FuzzRow reads rows with any numbers, with a checksum that fits and with one that does not.
func FuzzRow(f *testing.F) {
	body, err := appendBody(nil, newEvents(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(int64(2), int64(2), int64(0), int64(0), "session-陆青云", body)
	f.Add(int64(-1), int64(1), int64(-1), int64(1)<<62, "", []byte{})
	f.Add(int64(1)<<62, int64(1)<<62, int64(1)<<62, int64(-1), "\xff", body[:20])
	f.Fuzz(func(t *testing.T, position, version, at, sum int64, stream string, body []byte) {
		r := row{position: position, version: version, recordedAt: at, sum: sum, body: body}
		fits, _ := checksum(crc(body), stream, &r, nil)
		if _, err := r.recorded(stream); err == nil && sum != fits {
			t.Fatal("a wrong checksum was accepted")
		}
		r.sum = fits
		evs, err := r.recorded(stream)
		if err != nil {
			return
		}
		last := evs[len(evs)-1]
		if int64(last.Version) != version || int64(last.Position) != position || evs[0].Version < 1 || evs[0].Position < 1 {
			t.Fatalf("events %d to %d at %d to %d from row %d at %d", evs[0].Version, last.Version, evs[0].Position, last.Position, version, position)
		}
	})
}

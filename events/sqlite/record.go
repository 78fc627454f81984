package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// One append is one row, and its events are the body of that row: they are written together, checked together and read
// together. The body is a format byte, the number of events, and for each event id (16 bytes), type, schema version,
// metadata and data; numbers are varints, texts and bytes carry their length, and metadata its length plus one, so that
// none (0) and empty (1) differ.
const bodyFormat = 1

// minEvent is the least number of bytes an event takes in a body. It keeps a wrong count from asking for memory.
const minEvent = 16 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBody adds the body of an append to b.
func appendBody(b []byte, evs []events.Event) ([]byte, error) {
	b = append(b, bodyFormat)
	b = protowire.AppendVarint(b, uint64(len(evs)))
	for i := range evs {
		ev := &evs[i]
		b = append(b, ev.ID[:]...)
		b = protowire.AppendString(b, ev.Type)
		b = protowire.AppendVarint(b, uint64(ev.SchemaVersion))
		if ev.Metadata == nil {
			b = protowire.AppendVarint(b, 0)
		} else {
			var err error
			b = protowire.AppendVarint(b, uint64(proto.Size(ev.Metadata))+1)
			if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, ev.Metadata); err != nil {
				return nil, errors.Wrapf(events.ErrInvalid, "metadata of event %d (%s): %v", i, ev.Type, err)
			}
		}
		b = protowire.AppendBytes(b, ev.Data)
	}
	return b, nil
}

// bodyReader takes a body apart. After a failure all further values are zero and err says what was wrong.
type bodyReader struct {
	rest []byte
	err  error
}

func (r *bodyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

func (r *bodyReader) take(n uint64, what string) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("%s wants %d bytes, %d are left", what, n, len(r.rest))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *bodyReader) number(what string) uint64 {
	v, n := protowire.ConsumeVarint(r.rest)
	if n < 0 {
		r.fail("%s is no number", what)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// decodeBody is the reverse of appendBody. Data of the events are parts of b. Damaged bytes give an error, never a panic.
func decodeBody(b []byte) ([]events.Event, error) {
	r := bodyReader{rest: b}
	if f := r.take(1, "format"); r.err == nil && f[0] != bodyFormat {
		return nil, fmt.Errorf("body has format %d, this program knows %d", f[0], bodyFormat)
	}
	count := r.number("count")
	if r.err == nil && (count == 0 || count > uint64(len(r.rest)/minEvent)) {
		r.fail("%d events in %d bytes", count, len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	evs := make([]events.Event, count)
	for i := range evs {
		ev := &evs[i]
		copy(ev.ID[:], r.take(uint64(len(ev.ID)), "id"))
		ev.Type = typeName(r.take(r.number("length of the type"), "type"))
		schema := r.number("schema version")
		if schema > 1<<32-1 {
			r.fail("schema version %d", schema)
		}
		ev.SchemaVersion = uint32(schema)
		if n := r.number("length of the metadata"); n > 0 {
			meta := r.take(n-1, "metadata")
			if r.err == nil {
				ev.Metadata = new(eventsv1.Metadata)
				if err := proto.Unmarshal(meta, ev.Metadata); err != nil {
					r.fail("metadata: %v", err)
				}
			}
		}
		ev.Data = r.take(r.number("length of the data"), "data")
		if r.err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, count, r.err)
		}
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the last event", len(r.rest))
	}
	return evs, nil
}

// typeName spares the allocation for the types of the catalogue.
func typeName(b []byte) string {
	if e, ok := events.Lookup(string(b)); ok {
		return e.Type
	}
	return string(b)
}

// row is one append as the table holds it. version and position are those of its last event.
type row struct {
	position   int64
	version    int64
	recordedAt int64 // microseconds since 1970
	sum        int64 // CRC-32C, see checksum
	body       []byte
}

// checksum covers everything that makes an append: what it says (bodySum is the CRC-32C of the body), where it stands, and
// when it was written. scratch is returned for the next call.
func checksum(bodySum uint32, stream string, r *row, scratch []byte) (int64, []byte) {
	b := binary.LittleEndian.AppendUint64(scratch[:0], uint64(r.position))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.version))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.recordedAt))
	b = append(b, stream...)
	return int64(crc32.Update(bodySum, castagnoli, b)), b
}

// recorded gives the events of a row, at least one. Damage is events.ErrCorrupt with stream and version.
func (r *row) recorded(stream string) ([]events.Recorded, error) {
	sum, _ := checksum(crc32.Checksum(r.body, castagnoli), stream, r, nil)
	if sum != r.sum {
		return nil, corrupt(stream, r.version, "checksum is %08x, the append was written with %08x", sum, r.sum)
	}
	evs, err := decodeBody(r.body)
	if err != nil {
		return nil, corrupt(stream, r.version, "%v", err)
	}
	if r.version < int64(len(evs)) || r.position < int64(len(evs)) {
		return nil, corrupt(stream, r.version, "%d events end at version %d and position %d", len(evs), r.version, r.position)
	}
	at := time.UnixMicro(r.recordedAt).UTC()
	out := make([]events.Recorded, len(evs))
	for i := range evs {
		n := int64(len(evs) - 1 - i)
		out[i] = events.Recorded{
			Event: evs[i], Stream: stream, RecordedAt: at,
			Version: events.Version(r.version - n), Position: events.Position(r.position - n),
		}
	}
	return out, nil
}

func corrupt(stream string, version int64, format string, args ...any) error {
	return errors.Wrapf(events.ErrCorrupt, "stream %q version %d: %s", stream, version, fmt.Sprintf(format, args...))
}

// sameIDs says whether these events have exactly these ids.
func sameIDs(evs []events.Recorded, ids []uuid.UUID) bool {
	if len(evs) != len(ids) {
		return false
	}
	for i := range ids {
		if evs[i].ID != ids[i] {
			return false
		}
	}
	return true
}

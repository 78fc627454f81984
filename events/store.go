// Package events is the append-only log: the envelope, the catalogue of event types, the codec with its upcasters, the
// Store contract and the blobs that large values live in. State is a fold of what is here and of nothing else.
package events

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Version counts the events of one stream: the first event has version 1, an empty stream has version 0.
type Version uint64

// Position orders all events of a store. Positions rise strictly in commit order; numbers may be left out, and a reader
// that has seen position p will never be shown a smaller one later. 0 is before the first event.
type Position uint64

// NoStream is the expected version of a stream that must not exist yet.
const NoStream Version = 0

// Event is a fact that is ready to be appended. Data is the protobuf payload of Type at SchemaVersion.
type Event struct {
	ID            uuid.UUID
	Type          string
	SchemaVersion uint32
	Data          []byte
	Metadata      *eventsv1.Metadata
}

// Recorded is an event as a store holds it.
type Recorded struct {
	Event
	Stream     string
	Version    Version
	Position   Position
	RecordedAt time.Time // UTC, microseconds; the store's clock at the append
}

// Appended says where an append ended up: the version and position of its last event, and the recorded time that all
// its events share. A repeat of an append gives what the first one gave.
type Appended struct {
	Version    Version
	Position   Position
	RecordedAt time.Time
}

// Generation is raised by one in each release that may write events an older binary cannot read. A log remembers the
// highest generation that wrote to it, and a binary of a lower one refuses to write there (design §4).
const Generation uint32 = 1

// The outcomes of an append besides "done". An error that is none of these (the ctx ended while the append was waiting)
// means that this call wrote nothing; it says nothing about an earlier call that it repeats.
var (
	// ErrWrongVersion: the stream is not at the expected version. Nothing was written.
	ErrWrongVersion = errors.New("events: wrong expected version")
	// ErrUnknown: the append may or may not have happened (timeout, lost connection). Repeat it with the same expected
	// version and the same events: it then answers done if exactly these ids stand there, else ErrWrongVersion.
	ErrUnknown = errors.New("events: outcome of the append is unknown")
	// ErrStreamDeleted: the stream was deleted; its name is not used again.
	ErrStreamDeleted = errors.New("events: stream was deleted")
	// ErrTooLarge: the append is over the store's limit. Nothing was written.
	ErrTooLarge = errors.New("events: append is too large for this store")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("events: store is closed")
	// ErrTooNew: a newer version of this program wrote the log; this one must not write to it.
	ErrTooNew = errors.New("events: the log was written by a newer version of this program")
	// ErrCorrupt: a checksum or the order of versions does not hold. The text names stream and version.
	ErrCorrupt = errors.New("events: stored events are damaged")
)

// Store is the log. All methods may be called concurrently. Slices handed in are not kept or changed; slices handed out
// belong to the caller. A sequence may be ranged over more than once and begins anew each time; when its ctx ends, it ends
// with the error of the ctx.
type Store interface {
	// Append writes events at the end of stream, all or none, and has made them durable when it returns. expected is the
	// version the stream must have now. An append whose ids stand exactly at expected+1… is done and written once
	// (idempotent repeat); every other disagreement is ErrWrongVersion. CheckAppend says what is refused as ErrInvalid.
	//
	// A ctx that ends while the append is still waiting withdraws it: the ctx's error, nothing written. One that ends
	// later gives ErrUnknown with the ctx's error in its chain.
	Append(ctx context.Context, stream string, expected Version, evs []Event) (Appended, error)

	// ReadStream yields the events of a stream in order, beginning with version from (0 and 1 both mean the first). A
	// stream that does not exist yields nothing. A read failure is yielded once as an error and ends the sequence; it
	// is never an empty stream. A stream that is deleted meanwhile ends the sequence with ErrStreamDeleted; one that was
	// deleted before yields nothing.
	ReadStream(ctx context.Context, stream string, from Version) iter.Seq2[Recorded, error]

	// ReadStreamBackward yields the newest event first, beginning with version from (0, and anything above
	// the newest, mean the newest).
	ReadStreamBackward(ctx context.Context, stream string, from Version) iter.Seq2[Recorded, error]

	// ReadAll yields the events of all streams with a position greater than after, in order, and ends at the position that
	// was the head when it began.
	ReadAll(ctx context.Context, after Position) iter.Seq2[Recorded, error]

	// Subscribe yields everything after the given position: first what is stored, then what is appended, with no gap
	// and no repeat, until ctx ends or the consumer stops. A slow consumer holds up nobody: it reads from the store at
	// its own pace.
	Subscribe(ctx context.Context, after Position) iter.Seq2[Recorded, error]

	// SubscribeStream is Subscribe for one stream, by version. It ends with ErrStreamDeleted when the stream is deleted.
	SubscribeStream(ctx context.Context, stream string, after Version) iter.Seq2[Recorded, error]

	// StreamVersion is the version of the last event, 0 when there is none or the stream was deleted.
	StreamVersion(ctx context.Context, stream string) (Version, error)

	// Head is the position of the newest event that was ever appended. It never falls, also when that event is deleted.
	Head(ctx context.Context) (Position, error)

	// DeleteStream removes the events and remembers the name: later appends fail with ErrStreamDeleted. Deleting a
	// stream that does not exist, or was deleted before, succeeds, and its name is taken in any case. ReadAll no longer
	// yields its events. It may fail with ErrUnknown like an append, and may then be repeated.
	DeleteStream(ctx context.Context, stream string) error

	// LogID names this log; it changes when a log is created anew or restored, so that a checkpoint or a client's number
	// from another life is noticed.
	LogID() uuid.UUID

	// Close waits for appends in flight and releases the store. Later calls fail with ErrClosed, and subscriptions end with
	// it; closing again does nothing.
	Close() error
}

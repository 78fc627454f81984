package events

import (
	"github.com/google/uuid"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// ErrUnknownType: this binary does not know the event type or its schema version.
var ErrUnknownType = errors.New("events: unknown event type")

// registry is what the codec knows: the catalogue by both its keys, and the steps from old schema versions.
type registry struct {
	byType    map[string]Entry
	byName    map[protoreflect.FullName]Entry
	upcasters map[upcastKey]Upcaster
}

var registered = newRegistry(Catalogue, upcasters)

func newRegistry(entries []Entry, steps map[upcastKey]Upcaster) *registry {
	r := &registry{make(map[string]Entry, len(entries)), make(map[protoreflect.FullName]Entry, len(entries)), steps}
	for _, e := range entries {
		r.byType[e.Type] = e
		r.byName[e.New().ProtoReflect().Descriptor().FullName()] = e
	}
	return r
}

// Lookup finds the catalogue entry of an event type.
func Lookup(typ string) (Entry, bool) {
	e, ok := registered.byType[typ]
	return e, ok
}

// TypeOf is the event type of a payload, "" when it is no domain event.
func TypeOf(msg proto.Message) string {
	e, _ := registered.entryOf(msg)
	return e.Type
}

func (r *registry) entryOf(msg proto.Message) (Entry, bool) {
	if msg == nil {
		return Entry{}, false
	}
	e, ok := r.byName[msg.ProtoReflect().Descriptor().FullName()]
	return e, ok
}

var eventNamespace = uuid.MustParse("6f1f2a52-3c0c-5b0e-9c0a-0f5d8b1c7e11")

// NewID derives the id of an event from where it is written: the same execution that repeats an append makes the same
// ids, which is what makes a repeat harmless (design §4).
func NewID(stream, execution string, ordinal, index int) uuid.UUID {
	b := make([]byte, 0, len(stream)+len(execution)+18)
	b = append(b, stream...)
	b = append(b, 0)
	b = append(b, execution...)
	b = append(b, 0)
	for _, n := range [...]int{ordinal, index} {
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(n>>shift))
		}
	}
	return uuid.NewSHA1(eventNamespace, b)
}

// Encode makes an event of a payload. Bytes are deterministic: the same payload always gives the same bytes. A message that
// is no domain event fails with ErrUnknownType; text that is not UTF-8 fails too.
func Encode(id uuid.UUID, meta *eventsv1.Metadata, msg proto.Message) (Event, error) {
	return registered.encode(id, meta, msg)
}

func (r *registry) encode(id uuid.UUID, meta *eventsv1.Metadata, msg proto.Message) (Event, error) {
	e, ok := r.entryOf(msg)
	if !ok {
		return Event{}, errors.Wrapf(ErrUnknownType, "encode %T", msg)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		return Event{}, errors.Wrapf(err, "encode %s", e.Type)
	}
	return Event{ID: id, Type: e.Type, SchemaVersion: e.SchemaVersion, Data: data, Metadata: meta}, nil
}

// Upcaster lifts a payload from one schema version to the next. It is pure and does not change the bytes it is given.
type Upcaster func(data []byte) ([]byte, error)

type upcastKey struct {
	typ  string
	from uint32
}

// upcasters holds the named step from each old schema version to its successor. An incompatible change of a payload adds
// its step here and keeps the old bytes in testdata/golden.
var upcasters = map[upcastKey]Upcaster{}

// Decode gives the payload of an event at today's schema version. A type or version that this binary does not know fails
// with ErrUnknownType.
func Decode(ev Event) (proto.Message, error) { return registered.decode(ev) }

func (r *registry) decode(ev Event) (proto.Message, error) {
	e, ok := r.byType[ev.Type]
	if !ok || ev.SchemaVersion > e.SchemaVersion || ev.SchemaVersion == 0 {
		return nil, errors.Wrapf(ErrUnknownType, "decode %.64q v%d", ev.Type, ev.SchemaVersion)
	}
	data := ev.Data
	for v := ev.SchemaVersion; v < e.SchemaVersion; v++ {
		up, ok := r.upcasters[upcastKey{ev.Type, v}]
		if !ok {
			return nil, errors.Wrapf(ErrUnknownType, "no upcaster for %s from v%d", ev.Type, v)
		}
		var err error
		if data, err = up(data); err != nil {
			return nil, errors.Wrapf(err, "upcast %s from v%d", ev.Type, v)
		}
	}
	msg := e.New()
	if err := proto.Unmarshal(data, msg); err != nil {
		return nil, errors.Wrapf(err, "decode %s v%d", ev.Type, ev.SchemaVersion)
	}
	return msg, nil
}

// ToEnvelope is the portable form of a recorded event.
func ToEnvelope(r Recorded) *eventsv1.Envelope {
	return &eventsv1.Envelope{
		Id: r.ID[:], Type: r.Type, SchemaVersion: r.SchemaVersion, Stream: r.Stream,
		Version: uint64(r.Version), Position: uint64(r.Position), RecordedAt: timestamppb.New(r.RecordedAt),
		Metadata: r.Metadata, Data: r.Data,
	}
}

// FromEnvelope reads the portable form back. An id that is no UUID is an error; the other rules are those of CheckAppend.
func FromEnvelope(env *eventsv1.Envelope) (Recorded, error) {
	id, err := uuid.FromBytes(env.GetId())
	if err != nil {
		return Recorded{}, errors.Wrap(err, "envelope id")
	}
	return Recorded{
		Event: Event{
			ID: id, Type: env.GetType(), SchemaVersion: env.GetSchemaVersion(), Data: env.GetData(), Metadata: env.GetMetadata(),
		},
		Stream: env.GetStream(), Version: Version(env.GetVersion()), Position: Position(env.GetPosition()),
		RecordedAt: env.GetRecordedAt().AsTime(),
	}, nil
}

package events

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func TestDecodeRefusals(t *testing.T) {
	good, err := Encode(uuid.New(), nil, &eventsv1.SessionEnded{Reason: "故事讲完了"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		change  func(*Event)
		unknown bool
		names   string
	}{
		{"unknown type", func(ev *Event) { ev.Type = "龙胆" }, true, "龙胆"},
		{"no type", func(ev *Event) { ev.Type = "" }, true, ""},
		{"a value that is no event", func(ev *Event) { ev.Type = "Seat" }, true, "Seat"},
		{"newer schema version", func(ev *Event) { ev.SchemaVersion = 2 }, true, "v2"},
		{"no schema version", func(ev *Event) { ev.SchemaVersion = 0 }, true, "v0"},
		{"damaged bytes", func(ev *Event) { ev.Data = ev.Data[:len(ev.Data)-1] }, false, "SessionEnded v1"},
		{"text that is not UTF-8", func(ev *Event) { ev.Data = []byte{0x0a, 1, 0xff} }, false, "SessionEnded v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := good
			tt.change(&ev)
			msg, err := Decode(ev)
			if err == nil || msg != nil || errors.Is(err, ErrUnknownType) != tt.unknown || !strings.Contains(err.Error(), tt.names) {
				t.Errorf("got %v, %v", msg, err)
			}
		})
	}
}

func TestEncodeRefusals(t *testing.T) {
	var none *eventsv1.SessionEnded
	for name, msg := range map[string]proto.Message{"nothing": nil, "a value that is no event": &eventsv1.Seat{}, "foreign": timestamppb.Now()} {
		if _, err := Encode(uuid.New(), nil, msg); !errors.Is(err, ErrUnknownType) {
			t.Errorf("%s: %v", name, err)
		}
		if typ := TypeOf(msg); typ != "" {
			t.Errorf("%s has type %q", name, typ)
		}
	}
	if _, err := Encode(uuid.New(), nil, &eventsv1.SessionEnded{Reason: "a\xff"}); err == nil || !strings.Contains(err.Error(), "SessionEnded") {
		t.Errorf("text that is not UTF-8: %v", err)
	}
	if ev, err := Encode(uuid.New(), nil, none); err != nil || ev.Type != "SessionEnded" || len(ev.Data) != 0 {
		t.Errorf("a nil payload is an empty one: %+v, %v", ev, err)
	}
}

// TestUpcasters reads SessionEnded as if it had changed twice: version 1 had a number, version 2 the reason with a mark.
func TestUpcasters(t *testing.T) {
	var order []uint32
	steps := map[upcastKey]Upcaster{
		{"SessionEnded", 1}: func(data []byte) ([]byte, error) {
			order = append(order, 1)
			_, _, n := protowire.ConsumeTag(data)
			number, m := protowire.ConsumeVarint(data[max(n, 0):])
			if n < 0 || m < 0 {
				return nil, errors.New("no number")
			}
			return proto.Marshal(&eventsv1.SessionEnded{Reason: "#" + strings.Repeat("终", int(number))})
		},
		{"SessionEnded", 2}: func(data []byte) ([]byte, error) {
			order = append(order, 2)
			var v2 eventsv1.SessionEnded
			if err := proto.Unmarshal(data, &v2); err != nil {
				return nil, err
			}
			return proto.Marshal(&eventsv1.SessionEnded{Reason: strings.TrimPrefix(v2.Reason, "#")})
		},
	}
	entry, _ := Lookup("SessionEnded")
	entry.SchemaVersion = 3
	r := newRegistry([]Entry{entry}, steps)

	v1 := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	v2, _ := proto.Marshal(&eventsv1.SessionEnded{Reason: "#终终"})
	v3, err := r.encode(uuid.New(), nil, &eventsv1.SessionEnded{Reason: "终终"})
	if err != nil || v3.SchemaVersion != 3 {
		t.Fatalf("encodes as v%d (%v)", v3.SchemaVersion, err)
	}
	for version, data := range map[uint32][]byte{1: v1, 2: v2, 3: v3.Data} {
		order = nil
		before := bytes.Clone(data)
		msg, err := r.decode(Event{Type: "SessionEnded", SchemaVersion: version, Data: data})
		if err != nil {
			t.Fatalf("v%d: %v", version, err)
		}
		if got := msg.(*eventsv1.SessionEnded).Reason; got != "终终" || !bytes.Equal(data, before) {
			t.Errorf("v%d reads %q", version, got)
		}
		if len(order) != int(3-version) || (len(order) == 2 && (order[0] != 1 || order[1] != 2)) {
			t.Errorf("v%d went through the steps %v", version, order)
		}
	}
	if _, err := r.decode(Event{Type: "SessionEnded", SchemaVersion: 1, Data: []byte{0xff}}); err == nil || !strings.Contains(err.Error(), "upcast SessionEnded from v1") {
		t.Errorf("a step that fails: %v", err)
	}
	if _, err := r.decode(Event{Type: "SessionEnded", SchemaVersion: 4}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("newer than the newest: %v", err)
	}
	delete(steps, upcastKey{"SessionEnded", 2})
	if _, err := r.decode(Event{Type: "SessionEnded", SchemaVersion: 1, Data: v1}); !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), "from v2") {
		t.Errorf("a missing step: %v", err)
	}
}

func TestNewID(t *testing.T) {
	base := NewID("session-陆青云", "exec", 1, 2)
	if base != NewID("session-陆青云", "exec", 1, 2) {
		t.Error("not the same for the same place")
	}
	if base.Version() != 5 {
		t.Errorf("version %d, want 5", base.Version())
	}
	if want := uuid.MustParse("39f9f1a5-9818-52cc-aef3-dfb041daf754"); base != want {
		t.Errorf("is %s and was %s: ids of stored events are for ever", base, want)
	}
	seen := map[uuid.UUID]string{base: "base"}
	for name, id := range map[string]uuid.UUID{
		"stream":           NewID("session-龙胆", "exec", 1, 2),
		"execution":        NewID("session-陆青云", "exec2", 1, 2),
		"ordinal":          NewID("session-陆青云", "exec", 2, 2),
		"index":            NewID("session-陆青云", "exec", 1, 3),
		"ordinal by index": NewID("session-陆青云", "exec", 2, 1),
		"border moved":     NewID("session-陆青云e", "xec", 1, 2),
		"large index":      NewID("session-陆青云", "exec", 1, 258),
		"composed":         NewID("session-É", "exec", 1, 2),
		"decomposed":       NewID("session-E\u0301", "exec", 1, 2),
	} {
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same id", name, other)
		}
		seen[id] = name
	}
}

func TestEnvelope(t *testing.T) {
	ev, err := Encode(uuid.New(), &eventsv1.Metadata{CorrelationId: "请求", SeatId: "龙胆"}, &eventsv1.SessionEnded{Reason: "终"})
	if err != nil {
		t.Fatal(err)
	}
	want := Recorded{Event: ev, Stream: "session-陆青云", Version: 3, Position: 1 << 40, RecordedAt: time.Unix(1767225600, 123456000).UTC()}
	b, err := proto.Marshal(ToEnvelope(want))
	if err != nil {
		t.Fatal(err)
	}
	var env eventsv1.Envelope
	if err := proto.Unmarshal(b, &env); err != nil {
		t.Fatal(err)
	}
	got, err := FromEnvelope(&env)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != want.ID || got.Type != want.Type || got.SchemaVersion != want.SchemaVersion || !bytes.Equal(got.Data, want.Data) ||
		!proto.Equal(got.Metadata, want.Metadata) || got.Stream != want.Stream || got.Version != want.Version ||
		got.Position != want.Position || got.RecordedAt != want.RecordedAt {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []*eventsv1.Envelope{nil, {}, {Id: []byte("short")}} {
		if _, err := FromEnvelope(bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// FuzzDecode: foreign bytes give an error or a message whose bytes give the same message.
func FuzzDecode(f *testing.F) {
	for i, e := range Catalogue {
		data, err := readHex(goldenDir + "/" + e.Type + ".v1.hex")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, uint32(1), data)
	}
	f.Add(-1, uint32(0), []byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, which int, schema uint32, data []byte) {
		ev := Event{ID: uuid.Max, Type: "陆青云", SchemaVersion: schema, Data: data}
		if which >= 0 {
			ev.Type = Catalogue[which%len(Catalogue)].Type
		}
		msg, err := Decode(ev)
		if err != nil {
			if msg != nil {
				t.Fatalf("error %v with a message", err)
			}
			return
		}
		again, err := Encode(ev.ID, nil, msg)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		same, err := Decode(again)
		if err != nil || !proto.Equal(same, msg) {
			t.Fatalf("decoded %v, again %v (%v)", msg, same, err)
		}
	})
}

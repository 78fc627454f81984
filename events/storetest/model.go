package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
)

// model is a log as simple as it can be.
type model struct {
	t     *rapid.T
	store events.Store
	ctx   context.Context

	log     []events.Recorded // without those of deleted streams
	head    events.Position
	deleted map[string]bool
	appends []done // those that were acknowledged, for repeats
}

type done struct {
	stream   string
	expected events.Version
	evs      []events.Event
	at       events.Appended
}

var modelStreams = []string{stream1, stream2, stream3, stream4}

func (m *model) stream(name string) (evs []events.Recorded) {
	for _, r := range m.log {
		if r.Stream == name {
			evs = append(evs, r)
		}
	}
	return evs
}

// testModel carries out random operations on the store and on the model, and compares.
func testModel(t *testing.T, features Features, newFactory func(t *testing.T) Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		factory := newFactory(t)
		s, err := factory.Open()
		if err != nil {
			rt.Fatalf("open: %v", err)
		}
		m := &model{t: rt, store: s, ctx: t.Context(), deleted: map[string]bool{}}
		defer func() {
			if err := m.store.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		actions := map[string]func(*rapid.T){
			"append":       m.appendNext,
			"appendWrong":  m.appendWrong,
			"repeat":       m.repeat,
			"repeatMixed":  m.repeatMixed,
			"delete":       m.delete,
			"readForward":  m.readForward,
			"readBackward": m.readBackward,
			"readAll":      m.readAll,
			"subscribe":    m.subscribe,
			"":             m.invariants,
		}
		if features.Faults {
			actions["fault"] = func(rt *rapid.T) { m.fault(rt, factory) }
		}
		if features.Reopen {
			actions["reopen"] = func(rt *rapid.T) {
				if err := m.store.Close(); err != nil {
					rt.Fatalf("close: %v", err)
				}
				if s, err = factory.Open(); err != nil {
					rt.Fatalf("open: %v", err)
				}
				m.store = s
			}
		}
		rt.Repeat(actions)
	})
}

func drawStream(t *rapid.T) string { return rapid.SampledFrom(modelStreams).Draw(t, "stream") }

func drawEvents(t *rapid.T) []events.Event {
	return some(rapid.IntRange(1, 5).Draw(t, "n"), rapid.StringN(0, 20, -1).Draw(t, "text"))
}

// written takes an acknowledged append into the model.
func (m *model) written(t *rapid.T, stream string, expected events.Version, evs []events.Event, at events.Appended) {
	if at.Version != expected+events.Version(len(evs)) || at.Position < m.head+events.Position(len(evs)) {
		t.Fatalf("append of %d at %d with head %d: %+v", len(evs), expected, m.head, at)
	}
	got, err := until(m.store.ReadStream(m.ctx, stream, expected+1), -1)
	if err != nil {
		t.Fatalf("read back: %v", err)
	}
	if err := same(got, evs); err != nil {
		t.Fatalf("read back: %v", err)
	}
	for i, r := range got {
		if r.Stream != stream || r.Version != expected+1+events.Version(i) || r.Position <= m.head {
			t.Fatalf("event %d is %s %d at %d, head was %d", i, r.Stream, r.Version, r.Position, m.head)
		}
		m.head = r.Position
	}
	if last := got[len(got)-1]; last.Position != at.Position || last.RecordedAt != at.RecordedAt {
		t.Fatalf("last event is at %d of %v, the append answered %+v", last.Position, last.RecordedAt, at)
	}
	m.log = append(m.log, got...)
	m.appends = append(m.appends, done{stream, expected, evs, at})
}

func (m *model) appendNext(t *rapid.T) {
	stream, evs := drawStream(t), drawEvents(t)
	expected := events.Version(len(m.stream(stream)))
	at, err := m.store.Append(m.ctx, stream, expected, evs)
	if m.deleted[stream] {
		m.want(t, err, events.ErrStreamDeleted)
		return
	}
	m.want(t, err, nil)
	m.written(t, stream, expected, evs, at)
}

func (m *model) appendWrong(t *rapid.T) {
	stream, evs := drawStream(t), drawEvents(t)
	right := uint64(len(m.stream(stream)))
	expected := rapid.Uint64Range(0, right+3).Filter(func(v uint64) bool { return v != right }).Draw(t, "expected")
	_, err := m.store.Append(m.ctx, stream, events.Version(expected), evs)
	m.want(t, err, m.refusal(stream))
}

func (m *model) refusal(stream string) error {
	if m.deleted[stream] {
		return events.ErrStreamDeleted
	}
	return events.ErrWrongVersion
}

func (m *model) earlier(t *rapid.T) done {
	if len(m.appends) == 0 {
		t.Skip("nothing to repeat")
	}
	return rapid.SampledFrom(m.appends).Draw(t, "earlier")
}

func (m *model) repeat(t *rapid.T) {
	d := m.earlier(t)
	at, err := m.store.Append(m.ctx, d.stream, d.expected, d.evs)
	if m.deleted[d.stream] {
		m.want(t, err, events.ErrStreamDeleted)
		return
	}
	m.want(t, err, nil)
	if at != d.at {
		t.Fatalf("repeat answers %+v, the first time it was %+v", at, d.at)
	}
}

// repeatMixed repeats with something changed: an id, the order, one event more that does not stand there.
func (m *model) repeatMixed(t *rapid.T) {
	d := m.earlier(t)
	evs := slices.Clone(d.evs)
	switch i := rapid.IntRange(0, len(evs)).Draw(t, "changed"); {
	case i < len(evs):
		evs[i].ID = uuid.New()
	default:
		evs = append(evs, event("more"))
	}
	_, err := m.store.Append(m.ctx, d.stream, d.expected, evs)
	m.want(t, err, m.refusal(d.stream))
}

func (m *model) delete(t *rapid.T) {
	stream := drawStream(t)
	if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		t.Skip("not this time")
	}
	m.want(t, m.store.DeleteStream(m.ctx, stream), nil)
	m.deleted[stream] = true
	m.log = slices.DeleteFunc(m.log, func(r events.Recorded) bool { return r.Stream == stream })
}

func (m *model) fault(t *rapid.T, factory Factory) {
	stream, evs := drawStream(t), drawEvents(t)
	if m.deleted[stream] {
		t.Skip("deleted")
	}
	fault := rapid.SampledFrom([]Fault{LoseAck, UnknownNotWritten}).Draw(t, "fault")
	expected := events.Version(len(m.stream(stream)))
	factory.Inject(fault)
	_, err := m.store.Append(m.ctx, stream, expected, evs)
	m.want(t, err, events.ErrUnknown)
	at, err := m.store.Append(m.ctx, stream, expected, evs)
	m.want(t, err, nil)
	m.written(t, stream, expected, evs, at)
}

func (m *model) readForward(t *rapid.T) {
	stream := drawStream(t)
	want := m.stream(stream)
	from := rapid.IntRange(0, len(want)+2).Draw(t, "from")
	got, err := until(m.store.ReadStream(m.ctx, stream, events.Version(from)), -1)
	m.compare(t, got, err, want[min(max(from-1, 0), len(want)):])
}

func (m *model) readBackward(t *rapid.T) {
	stream := drawStream(t)
	want := m.stream(stream)
	from := rapid.IntRange(0, len(want)+2).Draw(t, "from")
	if from > 0 && from < len(want) {
		want = want[:from]
	}
	slices.Reverse(want)
	got, err := until(m.store.ReadStreamBackward(m.ctx, stream, events.Version(from)), -1)
	m.compare(t, got, err, want)
}

func (m *model) after(t *rapid.T) (events.Position, []events.Recorded) {
	after := events.Position(rapid.Uint64Range(0, uint64(m.head)+1).Draw(t, "after"))
	i, _ := slices.BinarySearchFunc(m.log, after, func(r events.Recorded, p events.Position) int {
		if r.Position <= p {
			return -1
		}
		return 1
	})
	return after, m.log[i:]
}

func (m *model) readAll(t *rapid.T) {
	after, want := m.after(t)
	got, err := until(m.store.ReadAll(m.ctx, after), -1)
	m.compare(t, got, err, want)
}

// subscribe reads what there is; it would wait for more.
func (m *model) subscribe(t *rapid.T) {
	after, want := m.after(t)
	got, err := until(m.store.Subscribe(m.ctx, after), len(want))
	m.compare(t, got, err, want)
	stream := drawStream(t)
	if want = m.stream(stream); len(want) > 0 {
		v := rapid.IntRange(0, len(want)-1).Draw(t, "after version")
		got, err = until(m.store.SubscribeStream(m.ctx, stream, events.Version(v)), len(want)-v)
		m.compare(t, got, err, want[v:])
	}
}

func (m *model) invariants(t *rapid.T) {
	head, err := m.store.Head(m.ctx)
	m.want(t, err, nil)
	if head != m.head {
		t.Fatalf("head %d, want %d", head, m.head)
	}
	for _, stream := range modelStreams {
		v, err := m.store.StreamVersion(m.ctx, stream)
		m.want(t, err, nil)
		if v != events.Version(len(m.stream(stream))) {
			t.Fatalf("%s is at version %d, want %d", stream, v, len(m.stream(stream)))
		}
	}
}

func (m *model) want(t *rapid.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func (m *model) compare(t *rapid.T, got []events.Recorded, err error, want []events.Recorded) {
	t.Helper()
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if err := sameRecorded(got, want); err != nil {
		t.Fatal(err)
	}
}

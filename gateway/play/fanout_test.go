package play

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func recordedOf(t *testing.T, msgs ...proto.Message) ([]events.Recorded, projections.State) {
	t.Helper()
	var out []events.Recorded
	var s projections.State
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID("session-s1", "e1", 0, i), &eventsv1.Metadata{CausationId: "e1", CorrelationId: "请求"}, m)
		if err != nil {
			t.Fatal(err)
		}
		r := events.Recorded{Event: ev, Stream: "session-s1", Version: events.Version(i + 1)}
		if s, err = projections.Apply(s, r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out, s
}

// Rule TP:212: publishing runs one event at a time; one that fails takes no other with it, the end says resync, and the
// failure is traced.
func TestOneFrameEventFails(t *testing.T) {
	recorded, after := recordedOf(t,
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: "player"},
		&eventsv1.DomainEventEmitted{Topic: "first", Data: []byte(`{"在":"码头"}`)},
		&eventsv1.DomainEventEmitted{Topic: "broken", Data: []byte(`{"在":`)},
		&eventsv1.DomainEventEmitted{Topic: "last"},
		&eventsv1.ExecutionCommitted{ExecutionId: "e1"})
	f := frameOf(recorded, after)
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("the frame is lost: %v", err)
	}
	var types []string
	for _, e := range f.Events {
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "execution.started event.emitted event.emitted session.changed turn.completed execution.completed" {
		t.Errorf("events %s", got)
	}
	text := string(b)
	if !strings.Contains(text, `"first"`) || !strings.Contains(text, `"last"`) || strings.Contains(text, "broken") || !strings.Contains(text, `"resync":true`) {
		t.Errorf("frame %s", text)
	}
	if len(f.lost) != 1 || !strings.HasPrefix(f.lost[0], "DomainEventEmitted: ") || f.total != 5 {
		t.Errorf("lost %q of %d", f.lost, f.total)
	}
	whole, _ := recordedOf(t, &eventsv1.ExecutionStarted{ExecutionId: "e1"}, &eventsv1.ExecutionCommitted{ExecutionId: "e1"})
	if b, _ := json.Marshal(frameOf(whole, after)); strings.Contains(string(b), "resync") {
		t.Errorf("a whole frame says resync: %s", b)
	}

	store := &memory.Store{}
	w, err := trace.NewWriter(t.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Config: Config{Node: &node.Node{Config: node.Config{Trace: w}}, Log: slog.New(slog.DiscardHandler)}}
	s.publishFailed("s1", f)
	w.Close()
	entries, err := store.Read(t.Context(), trace.Query{SessionID: "s1"})
	if err != nil || len(entries) != 1 || entries[0].Type != trace.CommitFanoutFailed || entries[0].TurnID != "e1" || !strings.Contains(string(entries[0].Payload), `"failedCount":1,"totalCount":5`) {
		t.Errorf("traced %+v, %v", entries, err)
	}
}

// A panic while an event is shown is such a failure as well.
func TestFramePanics(t *testing.T) {
	recorded, _ := recordedOf(t, &eventsv1.SessionPaused{})
	f := Frame{}
	b := framer{frame: &f}
	b.one(recorded[0], func(r events.Recorded, _ proto.Message) {
		b.add(r, "half", nil)
		panic("坏了")
	})
	if len(f.Events) != 0 || len(f.lost) != 1 || f.lost[0] != "SessionPaused: 坏了" {
		t.Errorf("%+v", f)
	}
}

package runtime

import (
	"strings"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TL:1956: context.historyFor gives the stories that a character has witnessed, by their presence records.
// Rule TP:1176: the tail of stories is that of the execution; a suspension freezes the boundary.
// Rule TP:709: a character's actor reads the newest stories it was present at, and no other history.
func TestHistoryFor(t *testing.T) {
	var state projections.State
	told := func(id, turn, kind string, presence ...string) {
		at := state.Version + 1
		var m events.Event
		var err error
		meta := &eventsv1.Metadata{AppendEnd: uint64(at)}
		if kind == "story" {
			m, err = events.Encode(events.NewID("session-s", id, 0, 0), meta, &eventsv1.NarrativeAppended{MessageId: id, Kind: "story", Text: "故事" + id, Presence: presence})
		} else {
			m, err = events.Encode(events.NewID("session-s", id, 0, 0), meta, &eventsv1.MessageAppended{MessageId: id, Role: "assistant", Text: "旁白" + id})
		}
		if err != nil {
			t.Fatal(err)
		}
		if state, err = projections.Apply(state, events.Recorded{Event: m, Stream: "session-s", Version: at}); err != nil {
			t.Fatal(err)
		}
	}
	told("1", "t1", "story", "陆青云", "龙胆")
	told("2", "t2", "story", "龙胆")
	told("3", "t2", "note")
	told("4", "t3", "story", "陆青云", "阿夏")
	told("5", "t4", "story", "陆青云")
	for _, c := range []struct {
		name, who string
		limit     int
		asked     *projections.Suspension
		want      string
	}{
		{"what he has seen", "陆青云", 0, nil, "故事1 故事4 故事5"},
		{"what she has seen", "龙胆", 0, nil, "故事1 故事2"},
		{"the newest", "陆青云", 2, nil, "故事4 故事5"},
		{"seen once", "阿夏", 9, nil, "故事4"},
		{"seen nothing", "无人", 0, nil, ""},
		{"a name is no id", "龙", 0, nil, ""},
		{"asked when four were told", "陆青云", 0, &projections.Suspension{Frozen: projections.FrozenStart{History: 4}}, "故事1 故事4"},
		{"asked before the first", "陆青云", 0, &projections.Suspension{Version: 9}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range (conversation{history: state.History, asked: c.asked}).HistoryFor(c.who, c.limit) {
				got = append(got, m.Content)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

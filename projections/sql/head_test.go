package sql

import (
	"slices"
	"testing"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// shown gives the ids of the messages that a reader of the path gets, and the text each is shown with.
func shown(t *testing.T, m *ReadModels, before uint64, limit int) (out []string) {
	t.Helper()
	list, err := m.Messages(t.Context(), "s1", before, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range list {
		out = append(out, msg.ID+" "+msg.Shown())
	}
	return out
}

// Rule DESIGN §7: HeadMoved changes which stretches of the log are shown, and not the rows.
func TestMessagesFollowTheHead(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store events.Store) {
		m := open(t)
		create(t, store, "s1", "潮汐镇")
		turn(t, store, "s1", "e1", "我去码头")
		turn(t, store, "s1", "e2", "我敲钟")
		put(t, store, "s1", "", &eventsv1.HeadMoved{To: 5, Reason: "undo"})
		turn(t, store, "s1", "e3", "我不敲")
		catchUp(t, store, m)
		want := []string{"m-e1 我去码头", "s-e1 答：我去码头", "m-e3 我不敲", "s-e3 答：我不敲"}
		if got := shown(t, m, 0, 9); !slices.Equal(got, want) {
			t.Errorf("after an undo: %v", got)
		}
		if got := shown(t, m, 0, 3); !slices.Equal(got, want[1:]) {
			t.Errorf("the newest three: %v", got)
		}
		if got := shown(t, m, 5, 9); !slices.Equal(got, want[:2]) {
			t.Errorf("before version 5: %v", got)
		}
		put(t, store, "s1", "", &eventsv1.HeadMoved{To: 9, Reason: "take"})
		catchUp(t, store, m)
		want = []string{"m-e1 我去码头", "s-e1 答：我去码头", "m-e2 我敲钟", "s-e2 答：我敲钟"}
		if got := shown(t, m, 0, 9); !slices.Equal(got, want) {
			t.Errorf("gone back to the first take: %v", got)
		}
		if got := shown(t, openAt(t, t.TempDir()+"/read.db"), 0, 9); got != nil {
			t.Errorf("a session nobody projected: %v", got)
		}
	})
}

// Rule DEC Alternatives, undo, edits: a revised row is shown with its new text; as committed it stays.
func TestRevisedMessageInTheTable(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store events.Store) {
		m := open(t)
		create(t, store, "s1", "潮汐镇")
		turn(t, store, "s1", "e1", "我去码头")
		put(t, store, "s1", "", &eventsv1.MessageRevised{MessageId: "s-e1", Text: "雪停了"}, &eventsv1.MessageRevised{MessageId: "nobody", Text: "x"})
		catchUp(t, store, m)
		if got := shown(t, m, 0, 9); !slices.Equal(got, []string{"m-e1 我去码头", "s-e1 雪停了"}) {
			t.Errorf("%v", got)
		}
		put(t, store, "s1", "", &eventsv1.MessageRevised{MessageId: "s-e1"})
		catchUp(t, store, m)
		if got := shown(t, m, 0, 9); !slices.Equal(got, []string{"m-e1 我去码头", "s-e1 答：我去码头"}) {
			t.Errorf("taken back: %v", got)
		}
	})
}

package projections_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// turn plays one player turn that writes to everything that follows the head.
func (s *story) turn(id, text string) *story {
	n := len(s.log)
	return s.in(id, say(id, "r-"+id, text), started(id), told(id, text+"。雨停了。"),
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-" + id, Name: "龙胆" + id, Type: "npc", Version: 1}},
		&eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "last", Value: fmt.Appendf(nil, "%q", id), Revision: uint64(n)}}},
		form(id, "p", "谁"+id),
		&eventsv1.PlayerTurnCounted{LogicalTurnId: id, CompletedPlayerTurns: s.state().Session.CompletedPlayerTurns + 1},
		&eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "narrator", Runs: uint32(n)}}},
		committed(id))
}

func (s *story) move(to events.Version) *story {
	return s.in("", &eventsv1.HeadMoved{To: uint64(to), Reason: "undo"})
}

// Rule DESIGN §8: undo moves the head to the end of a logical turn in the same stream; what follows the head is as it was.
func TestHeadMovesBackAndForth(t *testing.T) {
	s := begin(t).turn("e1", "我去码头").turn("e2", "我敲钟")
	before := s.state()
	base := before.Tree.OnPath()[0].Base
	undone := s.move(base).state()
	if n := s.in("", say("e9", "r-e9", "我敲钟")).state().Tree.Told(); n != 1 {
		t.Errorf("the moment was told %d times before", n)
	}
	s.log = s.log[:len(s.log)-1]
	if undone.Session.CompletedPlayerTurns != 1 || undone.Tree.Head != "e1" || len(undone.Characters.List) != 1 || undone.Session.LedgerOf("narrator").Runs == before.Session.LedgerOf("narrator").Runs {
		t.Errorf("after the undo: %d turns, head %s, %d characters", undone.Session.CompletedPlayerTurns, undone.Tree.Head, len(undone.Characters.List))
	}
	again := s.turn("e3", "我不敲钟").state()
	if takes := again.Tree.Takes("e3"); len(takes) != 2 || takes[0].TurnID != "e2" || takes[1].TurnID != "e3" {
		t.Errorf("takes of the moment: %+v", takes)
	}
	tip, ok := again.Tree.EndOf("e2", again.Version)
	if !ok {
		t.Fatalf("the turn that was left cannot be reached: %+v", again.Tree)
	}
	back := s.move(tip).state()
	if !reflect.DeepEqual(back.Path.Characters, before.Path.Characters) || back.Tree.Head != "e2" || back.Session.CompletedPlayerTurns != 2 {
		t.Errorf("gone back to e2: head %s, %+v", back.Tree.Head, back.Characters)
	}
	if tip, ok := back.Tree.EndOf("e3", back.Version); !ok {
		t.Errorf("e3 is lost: %v %v", tip, back.Tree.Turns)
	}
}

// Rule DEC Alternatives, undo, edits: siblings stay reachable and named.
func TestTurnsHaveNames(t *testing.T) {
	s := begin(t).turn("e1", "我去码头")
	s.move(s.state().Tree.OnPath()[0].Base).turn("e2", "我去灯塔").in("", &eventsv1.BranchNamed{TurnId: "e1", Name: "码头的一夜"})
	if x, _ := s.state().Tree.Take("e1"); x.Name != "码头的一夜" {
		t.Errorf("%+v", x)
	}
}

// Rule DEC Alternatives, undo, edits: MessageRevised changes what views and prompts show; the canonical row stays.
func TestRevisedMessage(t *testing.T) {
	s := begin(t).turn("e1", "我去码头").in("", &eventsv1.MessageRevised{MessageId: "m-e1-story", Text: "雪停了。"})
	m, _ := s.state().History.Find("m-e1-story")
	if m.Shown() != "雪停了。" || m.Text != "我去码头。雨停了。" {
		t.Errorf("shown %q, committed %q", m.Shown(), m.Text)
	}
	m, _ = s.in("", &eventsv1.MessageRevised{MessageId: "m-e1-story"}).state().History.Find("m-e1-story")
	if m.Shown() != "我去码头。雨停了。" {
		t.Errorf("taken back: shown %q", m.Shown())
	}
}

func TestHeadGoesNowhereElse(t *testing.T) {
	s := begin(t).turn("e1", "我去码头")
	n := len(s.log)
	s.move(3)
	if _, err := projections.Apply(fold(t, projections.State{}, s.log[:n]), s.log[n]); !errors.Is(err, projections.ErrNoMeaning) {
		t.Errorf("a move into the middle of a turn: %v", err)
	}
	snapshot, err := projections.DecodeState(encode(t, fold(t, projections.State{}, s.log[:n])))
	if err != nil {
		t.Fatal(err)
	}
	s.log = s.log[:n]
	s.move(snapshot.Tree.OnPath()[0].Base)
	if _, err := projections.Apply(snapshot, s.log[n]); !errors.Is(err, projections.ErrWholeNeeded) {
		t.Errorf("a move to before the snapshot: %v", err)
	}
}

// Moves and turns in any order: what follows the head is what it was at the point it moved to, the turns that are shown are
// those of the path, and the read models' fold agrees.
func TestHeadModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := begin(t)
		states := map[events.Version]projections.State{}
		path := map[events.Version][]string{} // by version: turns of the path
		var rows projections.Rows
		var told []projections.Message
		st, seen, now := projections.State{}, 0, []string(nil)
		catchUp := func() {
			for ; seen < len(s.log); seen++ {
				var err error
				var messages []projections.Message
				if st, err = projections.Apply(st, s.log[seen]); err != nil {
					rt.Fatal(err)
				}
				if rows, messages, err = rows.Apply(s.log[seen]); err != nil {
					rt.Fatal(err)
				}
				told = append(told, messages...)
			}
			states[st.Version], path[st.Version] = st, now
		}
		catchUp()
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if marks := st.Tree.Marks; len(marks) > 0 && rapid.Bool().Draw(rt, "move") {
				to := rapid.SampledFrom(marks).Draw(rt, "to").Version
				s.move(to)
				now = path[to]
				catchUp()
				if want := states[to]; !bytes.Equal(encode(t, projections.State{Path: st.Path}), encode(t, projections.State{Path: want.Path})) || st.Session.CompletedPlayerTurns != want.Session.CompletedPlayerTurns {
					rt.Fatalf("moved to %d: %d turns, want %d", to, st.Session.CompletedPlayerTurns, want.Session.CompletedPlayerTurns)
				}
			} else {
				id := fmt.Sprint("e", i)
				s.turn(id, "我去码头")
				now = append(slices.Clone(now), id)
				catchUp()
			}
			var onPath []string
			for _, x := range st.Tree.OnPath() {
				onPath = append([]string{x.TurnID}, onPath...)
			}
			if !slices.Equal(onPath, now) {
				rt.Fatalf("the path is %v, want %v", onPath, now)
			}
			var shown []string
			for _, m := range told {
				if m.Role == projections.RoleUser && rows.Tree().Shows(m.Version) {
					shown = append(shown, m.TurnID)
				}
			}
			if !slices.Equal(shown, now) {
				rt.Fatalf("rows of the turns %v are shown, want %v", shown, now)
			}
			if rows.Session().CompletedPlayerTurns != st.Session.CompletedPlayerTurns {
				rt.Fatalf("the read model counts %d turns, the session %d", rows.Session().CompletedPlayerTurns, st.Session.CompletedPlayerTurns)
			}
			for _, x := range st.Tree.Turns {
				if end, ok := st.Tree.EndOf(x.TurnID, st.Version); !ok {
					rt.Fatalf("turn %s cannot be reached", x.TurnID)
				} else if end != st.Version {
					if _, ok := st.Tree.Mark(end); !ok {
						rt.Fatalf("the end of turn %s, version %d, is no point to go to", x.TurnID, end)
					}
				}
			}
		}
	})
}

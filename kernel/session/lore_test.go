package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:948: editing by a player writes the player's own entries only; TP:945–947: one with the id of a world's or a plugin's is
// another entry.
func TestEditLore(t *testing.T) {
	s := playing(t, extract(false))
	before := len(s.state.Hot.Lorebook)
	world, err := commit.LorebookEvent("world", "", []sdk.LorebookEntry{{ID: "潮汐", Content: "潮水有自己的脾气。", Strategy: "constant"}})
	if err != nil {
		t.Fatal(err)
	}
	s.outside(world)
	off, many := false, make([]string, maxLoreKeys+1)
	for _, c := range []struct {
		name  string
		entry sdk.LorebookEntry
		want  string
	}{
		{"a new one", sdk.LorebookEntry{ID: "潮汐", Keys: []string{"退潮"}, Content: "退潮时钟会响。", Strategy: "selective"}, "accepted"},
		{"in its place", sdk.LorebookEntry{ID: "潮汐", Content: "涨潮时钟会响。", Strategy: "constant"}, "accepted"},
		{"out of the game", sdk.LorebookEntry{ID: "灯", Content: "灯塔没有人。", Strategy: "constant", Enabled: &off}, "accepted"},
		{"without a text", sdk.LorebookEntry{ID: "空", Strategy: "constant"}, "entry"},
		{"without a strategy", sdk.LorebookEntry{ID: "空", Content: "x"}, "entry"},
		{"too many keys", sdk.LorebookEntry{ID: "多", Content: "x", Strategy: "constant", Keys: many}, "entry.keys"},
		{"a long id", sdk.LorebookEntry{ID: strings.Repeat("长", maxLoreID+1), Content: "x", Strategy: "constant"}, "entryId"},
		{"a long text", sdk.LorebookEntry{ID: "长", Content: strings.Repeat("长", MaxText+1), Strategy: "constant"}, "entry.content"},
	} {
		a := s.send(Command{RequestID: c.name, Type: EditLore, Lore: &c.entry})
		got := string(a.Status)
		if a.Refusal != nil && a.Refusal.Code == "invalid_lore" {
			got = a.Refusal.Issues[0].Field
		}
		if got != c.want {
			t.Errorf("%s: %+v %v", c.name, a, a.Refusal)
		}
	}
	var book []string
	for _, e := range s.state.Hot.Lorebook[before:] {
		book = append(book, fmt.Sprint(e.OwnerKind, " ", e.ID, " ", e.Content, " ", e.Enabled))
	}
	if got := strings.Join(book, "|"); got != "world 潮汐 潮水有自己的脾气。 true|player 潮汐 涨潮时钟会响。 true|player 灯 灯塔没有人。 false" {
		t.Errorf("the book: %s", got)
	}
	if again := s.send(Command{RequestID: "in its place", Type: EditLore, Lore: &sdk.LorebookEntry{ID: "潮汐", Content: "涨潮时钟会响。", Strategy: "constant"}}); !again.Repeat {
		t.Errorf("the same request: %+v", again)
	}
	s.check()
	full := s.state.Hot
	for i := range MaxLore {
		full = full.Preview(&eventsv1.LoreEdited{Entry: &eventsv1.LorebookEntry{Id: fmt.Sprint("e", i), Content: "x", Strategy: "constant"}})
	}
	for id, code := range map[string]string{"e3": "", "新": "lorebook_full"} {
		_, refusal := Check(full, Command{Type: EditLore, Lore: &sdk.LorebookEntry{ID: id, Content: "y", Strategy: "constant"}}, nil)
		if refusal == nil && code != "" || refusal != nil && refusal.Code != code {
			t.Errorf("%s in a full book: %v", id, refusal)
		}
	}
	if got := len(full.Lorebook.Of(projections.OwnerPlayer)); got != MaxLore+2 {
		t.Errorf("%d entries", got)
	}
}

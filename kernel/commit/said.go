package commit

import (
	"slices"

	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Said is a line that a player said into the execution.
type Said struct {
	ID          string // of its row
	Text        string // as it was said
	Rendered    string // as the model read it
	SeatID      string
	CharacterID string
	Request     *eventsv1.Request
}

// said writes the lines that a run has merged, before what it told after them (design §5, "event with the commit"). A run
// that goes on after a suspension brought its earlier lines with the commit that saved it.
func (p *planner) said(r turn.Result) []Fact {
	var facts []Fact
	for _, merged := range r.Interjections {
		i := slices.IndexFunc(p.in.Said, func(s Said) bool { return s.ID == merged.ID })
		if i < 0 {
			continue
		}
		s := p.in.Said[i]
		ev := &eventsv1.InterjectionMerged{MessageId: s.ID, Text: s.Text, SeatId: s.SeatID, CharacterId: s.CharacterID, Request: s.Request}
		if s.Rendered != s.Text {
			ev.Rendered = s.Rendered
		}
		facts = append(facts, Fact{Message: ev, RunID: r.RunID, PluginID: r.PluginID})
	}
	return facts
}

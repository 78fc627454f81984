package commit

import (
	"slices"

	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// seats binds new player characters to the primary seat; the first becomes the one it plays, when it plays none (seed:
// tools.txt, "Duplicate check": "A new player character is bound to the default seat automatically").
func (p *planner) seats() []Fact {
	seat, ok := p.in.State.Session.PrimarySeat()
	if !ok {
		return nil
	}
	bound := len(seat.CharacterIDs)
	for _, f := range p.facts {
		up, ok := f.Message.(*eventsv1.CharacterUpserted)
		if !ok || up.Record.Type != world.PlayerType || p.hasPlayer(up.Record.Id) || slices.Contains(seat.CharacterIDs, up.Record.Id) {
			continue
		}
		seat.CharacterIDs = append(slices.Clone(seat.CharacterIDs), up.Record.Id)
		if seat.CurrentCharacterID == "" {
			seat.CurrentCharacterID = up.Record.Id
		}
	}
	if len(seat.CharacterIDs) == bound {
		return nil
	}
	return []Fact{{Message: &eventsv1.SeatChanged{Seat: &eventsv1.Seat{
		Id: seat.ID, Name: seat.Name, Role: seat.Role, Control: seat.Control, CharacterIds: seat.CharacterIDs,
		CurrentCharacterId: seat.CurrentCharacterID, Primary: seat.Primary,
	}}}}
}

// hasPlayer says whether the session had this player character before the commit, or a seat plays it.
func (p *planner) hasPlayer(id string) bool {
	c, known := p.in.State.Characters.Find(id)
	return known && c.Type == world.PlayerType || slices.ContainsFunc(p.in.State.Session.Seats, func(s projections.Seat) bool {
		return slices.Contains(s.CharacterIDs, id)
	})
}

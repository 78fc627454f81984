package sdk

import "testing"

func TestActingCharacterOf(t *testing.T) {
	characters := []Character{{ID: "lu", Name: "陆青云", Type: "player"}, {ID: "mira", Name: "Mira", Type: "player"}, {ID: "npc", Name: "龙胆"}}
	seats := []Seat{{ID: "second", CurrentCharacterID: "mira"}, {ID: "first", Primary: true, CurrentCharacterID: "lu"}}
	for name, c := range map[string]struct {
		actions []Action
		seats   []Seat
		want    string
	}{
		"no actions: the primary seat's character": {nil, seats, "lu"},
		"the action's character":                   {[]Action{{CharacterID: "mira"}}, seats, "mira"},
		"the first action that has one":            {[]Action{{SeatID: "host"}, {CharacterID: "npc"}, {CharacterID: "mira"}}, seats, "npc"},
		"a character that is gone":                 {[]Action{{CharacterID: "gone"}}, seats, "lu"},
		"no primary seat":                          {nil, seats[:1], ""},
		"a primary seat without character":         {nil, []Seat{{Primary: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ActingCharacterOf(c.actions, characters, c.seats)
			if got.ID != c.want || ok != (c.want != "") {
				t.Errorf("got %q %v, want %q", got.ID, ok, c.want)
			}
		})
	}
}

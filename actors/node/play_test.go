package node_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, nodetest.LeakOptions()...) }

// A session from nothing to its second turn: set-up, form, opening, two lines.
func TestASessionIsPlayed(t *testing.T) {
	for _, locale := range []string{"en", "zh-CN"} {
		t.Run(locale, func(t *testing.T) {
			n := nodetest.Start(t, nodetest.Options{Model: scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})})
			p := n.Create("low-water-1", locale)
			s := p.Play("陆青云")
			if s.Session.Phase != projections.PhasePlaying || s.Session.CompletedPlayerTurns != 0 || s.History.Stories != 1 {
				t.Fatalf("after the opening: phase %s, %d turns, %d stories", s.Session.Phase, s.Session.CompletedPlayerTurns, s.History.Stories)
			}
			for turn := 1; turn <= 2; turn++ {
				if a := p.Say("我去看看水边的灯。"); a.Refusal != nil {
					t.Fatal(a.Refusal)
				}
				s = p.Settled()
				if int(s.Session.CompletedPlayerTurns) != turn || s.History.Stories != turn+1 {
					t.Fatalf("after line %d: %d turns, %d stories: %+v", turn, s.Session.CompletedPlayerTurns, s.History.Stories, s.Session.Last)
				}
			}
			if _, ok := s.PluginData.Get("guide", "message", "current"); !ok {
				t.Error("the guide wrote nothing")
			}
			seat, _ := s.Session.PrimarySeat()
			if c, ok := s.Characters.Find(seat.CurrentCharacterID); !ok || c.Name != "陆青云" {
				t.Errorf("the seat plays %q", seat.CurrentCharacterID)
			}
		})
	}
}

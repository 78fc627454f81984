package terminal

import (
	"slices"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// move goes to another point of the story: before the newest turn without a turnID, else to the end of that turn's path. It
// ends when the view of the new point is shown; no execution tells of it.
func (g *Game) move(turnID string) {
	payload := map[string]any{}
	if turnID != "" {
		payload["turnId"] = turnID
	}
	g.moving[g.submit(kernel.MoveHead, payload)] = 0
}

// moved ends the moves whose point the screen has come to.
func (g *Game) moved() {
	for id, version := range g.moving {
		if version > 0 && version <= g.viewed {
			g.ended(id, outcome{committed: true})
		}
	}
}

// forward is the turn taken back last that can be gone to again, "" when there is none.
func forward(t play.Tree) string {
	for _, x := range slices.Backward(t.Turns) {
		if x.Before == t.Head && !x.OnPath {
			return x.TurnID
		}
	}
	return ""
}

// grow takes in what a played turn changed in the tree.
func (g *Game) grow(e client.Event) error {
	var change play.Tree
	if err := e.Into(&change); err != nil {
		return err
	}
	g.tree.Head = change.Head
	for _, x := range change.Turns {
		i := slices.IndexFunc(g.tree.Turns, func(t play.Turn) bool { return t.TurnID == x.TurnID })
		if i < 0 {
			g.tree.Turns = append(g.tree.Turns, x)
			continue
		}
		g.tree.Turns[i] = x
	}
	return nil
}

// turnBack forgets what stood on the screen and is no part of the story any more, so that it is printed when the story comes
// to it again, and lets the newest turn of the story be shown as such. It does nothing when all of it stands.
func (g *Game) turnBack(v play.View) {
	stands := func(id string) bool {
		return slices.ContainsFunc(v.Messages, func(m play.Message) bool { return m.ID == id })
	}
	if g.newest == "" || len(v.Messages) == 0 || stands(g.newest) {
		return
	}
	g.note(g.texts.elsewhere)
	for id := range g.printed {
		if !stands(id) {
			delete(g.printed, id)
		}
	}
	if g.running { // another take is told: what comes is the newest page
		return
	}
	last := v.Messages[len(v.Messages)-1].TurnID
	for _, m := range v.Messages {
		if m.TurnID == last {
			delete(g.printed, m.ID)
		}
	}
}

// stood remembers the newest committed row, by which is known whether the story still goes through what is on the screen.
func (g *Game) stood(m play.Message) {
	if m.Role != projections.RoleUser {
		g.newest = m.ID
	}
}

package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
)

// ChooseStory asks which world to begin in, or which session to go on with, and gives the index in worlds followed by
// sessions. ok is false when the player left.
func ChooseStory(ctx context.Context, screen *Screen, lines Lines, locale string, worlds []client.World, sessions []play.Session) (chosen int, ok bool) {
	t := textsFor(locale)
	var names []string
	screen.Line(screen.Strong(t.chooseWorld))
	for _, w := range worlds {
		names = append(names, w.ID, w.Name)
		screen.Line(fmt.Sprintf("  %d. %s", len(names)/2, screen.Strong(Printable(oneLine(w.Name)))))
		screen.Faint("     " + Printable(oneLine(w.Summary)))
	}
	if len(sessions) > 0 {
		screen.Line(screen.Strong(t.continueOne))
	}
	for _, s := range sessions {
		names = append(names, s.ID, s.ID)
		title := fmt.Sprintf(t.resumed, s.WorldName, s.CompletedPlayerTurns)
		screen.Line(fmt.Sprintf("  %d. %s · %s", len(names)/2, Printable(oneLine(title)), s.ID))
	}
	for {
		screen.Prompt(t.prompt)
		select {
		case line, open := <-lines.C:
			if !open {
				return 0, false
			}
			screen.Typed(line, true)
			line = strings.TrimSpace(line)
			if line == "/quit" {
				return 0, false
			}
			if i, found := pick(line, names, len(names)/2, 2); found {
				return i, true
			}
			screen.Faint(fmt.Sprintf(t.number, len(names)/2))
		case <-ctx.Done():
			return 0, false
		}
	}
}

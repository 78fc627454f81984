package turn

import (
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

func agent(r *manifest.Runtime) {
	r.Type = "agent"
	r.IO.Visibility = manifest.VisibilityStory
}

// What becomes of a line that a player says while the execution is at a certain point.
//
// Rule TP:559: the turn asks each runtime's loop profile whether anybody still reads the interjection queue.
func TestInterjectionsFindTheirReader(t *testing.T) {
	line := func(s *stage) { s.step(Interject{Interjection{"i1", "小声点。"}}) }
	answer := func(merged bool) func(s *stage) {
		return func(s *stage) { s.step(InterjectionTold{"story#2", "i1", merged}) }
	}
	begin := func(s *stage) { s.step(Begin{}) }
	end := func(ids ...string) func(*stage) { return func(s *stage) { s.end(ids...) } }
	for _, c := range []struct {
		name  string
		steps []func(*stage)
		log   string
	}{
		{"it waits for the story", []func(*stage){begin, line, end("before")}, "start before; start story; tell story#2 i1"},
		{"before anything began", []func(*stage){line, begin, end("before")}, "start before; start story; tell story#2 i1"},
		{"the story goes on", []func(*stage){begin, end("before"), line, answer(true), end("story"), end("after")}, "start before; start story; tell story#2 i1; start after; finish"},
		{"the story has read its last", []func(*stage){begin, end("before"), line, answer(false)}, "start before; start story; tell story#2 i1; refuse i1"},
		{"the story ends without an answer", []func(*stage){begin, end("before"), line, end("story")}, "start before; start story; tell story#2 i1; start after; refuse i1"},
		{"the story is told", []func(*stage){begin, end("before", "story"), line}, "start before; start story; start after; refuse i1"},
		{"it is over", []func(*stage){begin, end("before", "story", "after"), line}, "start before; start story; start after; finish; refuse i1"},
		{"it was stopped", []func(*stage){begin, func(s *stage) { s.step(Cancel{}) }, line}, "start before; cancel before#1; refuse i1"},
		{"a late answer changes nothing", []func(*stage){begin, end("before"), line, answer(true), answer(false)}, "start before; start story; tell story#2 i1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, projections.PhasePlaying, projections.Session{}, auto("before", manifest.PreTurn), auto("story", manifest.Narrative, agent), auto("after", manifest.PostTurn))
			for _, step := range c.steps {
				step(s)
			}
			expect(t, "log", strings.Join(s.log, "; "), c.log)
		})
	}
	s := newStage(t, projections.PhasePlaying, projections.Session{}, auto("before", manifest.PreTurn))
	s.step(Begin{})
	line(s)
	expect(t, "nobody reads at all", strings.Join(s.log, "; "), "start before; refuse i1")
	s = newStage(t, projections.PhasePlaying, projections.Session{}, auto("one", manifest.Narrative, agent), auto("two", manifest.Narrative, agent))
	s.step(Begin{})
	line(s)
	s.step(InterjectionTold{"one#1", "i1", false})
	expect(t, "the next reader", strings.Join(s.log, "; "), "start one; start two; tell one#1 i1; tell two#2 i1")
}

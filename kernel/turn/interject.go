package turn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/plugins/manifest"
)

// Interject is a line that a player says into the execution while it goes on.
type Interject struct{ Interjection }

// InterjectionTold is what a run made of a line it was told: it stands in its conversation, or the run reads it no more.
type InterjectionTold struct {
	RunID  string
	ID     string
	Merged bool
}

// TellRun hands a line to a run.
type TellRun struct {
	RunID string
	Interjection
}

// RefuseInterjection: nobody in this execution will read the line any more.
type RefuseInterjection struct{ ID string }

func (Interject) turnInput()           {}
func (InterjectionTold) turnInput()    {}
func (TellRun) turnEffect()            {}
func (RefuseInterjection) turnEffect() {}

// heard is a line that a run was told and has not answered for.
type heard struct {
	runID string
	line  Interjection
}

// pass hands the lines that wait to a run that reads them. A line stays as long as such a run is still to come; when there
// is none it is refused, not lost (seed: turn-pipeline.txt, "The turn level uses the same resolver to tell whether any
// runtime still reads the interjection queue").
func (s State) pass(effects []Effect) (State, []Effect) {
	if len(s.said) == 0 {
		return s, effects
	}
	if run, ok := s.listener(); ok {
		for _, line := range s.said {
			s.told = append(slices.Clip(s.told), heard{run.RunID, line})
			effects = append(effects, TellRun{run.RunID, line})
		}
		s.said = nil
		return s, effects
	}
	if s.listens() {
		return s, effects
	}
	for _, line := range s.said {
		effects = append(effects, RefuseInterjection{line.ID})
	}
	s.said = nil
	return s, effects
}

// listener is the first run by id that goes on and reads lines.
func (s State) listener() (Run, bool) {
	if s.stopping || s.finished {
		return Run{}, false
	}
	for _, run := range slices.SortedFunc(maps.Values(s.running), func(a, b Run) int { return cmp.Compare(a.RunID, b.RunID) }) {
		if loop.ReadsInterjections(run.Runtime) && !slices.Contains(s.deaf, run.RunID) {
			return run, true
		}
	}
	return Run{}, false
}

// listens says whether a runtime that reads lines is still to start.
func (s State) listens() bool {
	if s.stopping || s.finished {
		return false
	}
	if s.bands == nil { // it has not begun
		return true
	}
	ahead := slices.Concat(s.levels...)
	for _, band := range s.bands[min(len(s.bands), s.band+1):] {
		ahead = append(ahead, band...)
	}
	return slices.ContainsFunc(ahead, func(r manifest.Runtime) bool { return loop.ReadsInterjections(r) })
}

// answerFor takes what a run made of a line. What it did not take is passed on; it is told no more.
func (s State) answerFor(in InterjectionTold) (State, []Effect) {
	i := slices.IndexFunc(s.told, func(h heard) bool { return h.runID == in.RunID && h.line.ID == in.ID })
	if i < 0 {
		return s, nil
	}
	line := s.told[i].line
	s.told = slices.Delete(slices.Clone(s.told), i, i+1)
	if in.Merged {
		return s, nil
	}
	s.deaf = append(slices.Clip(s.deaf), in.RunID)
	s.said = append(slices.Clip(s.said), line)
	return s, nil
}

// left takes back the lines that a run which has ended did not answer for.
func (s State) left(runID string) State {
	var rest []heard
	for _, h := range s.told {
		if h.runID == runID {
			s.said = append(slices.Clip(s.said), h.line)
		} else {
			rest = append(rest, h)
		}
	}
	s.told = rest
	return s
}

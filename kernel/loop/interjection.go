package loop

import (
	"slices"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// ReadsInterjections says whether a runtime's loop merges what the player says while it runs. The turn asks it to tell
// whether anybody still reads the queue (seed: turn-pipeline.txt, "The turn level uses the same resolver").
func ReadsInterjections(rt manifest.Runtime) bool {
	return rt.Type == "agent" && ProfileOf(rt).Steering
}

// interject keeps a line until the next step. After the last request it is too late.
func (m *machine) interject(in Interject) {
	if !m.s.Config.Profile.Steering || m.s.Phase == Finalizing || m.s.Phase == Preparing {
		m.emit(InterjectionRefused{ID: in.ID})
		return
	}
	m.s.Queue = append(slices.Clip(m.s.Queue), Interjection(in))
}

// merge adds the lines that wait to the conversation.
func (m *machine) merge() {
	for _, line := range m.s.Queue {
		m.tell(model.User, line.Text)
		m.emit(InterjectionMerged{ID: line.ID})
	}
	m.s.Merged = slices.Concat(m.s.Merged, m.s.Queue)
	m.s.Queue = nil
}

func (m *machine) refuseQueue() {
	for _, line := range m.s.Queue {
		m.emit(InterjectionRefused{ID: line.ID})
	}
	m.s.Queue = nil
}

// carryOn: a line that came while the final answer was being written causes one more step, if steps remain. The prose that
// was already read stays, and the next answer goes on from it.
func (m *machine) carryOn() bool {
	if len(m.s.Queue) == 0 || m.s.Step >= m.s.StepLimit || !m.timeForMore() {
		return false
	}
	if m.s.Config.Story {
		story, err := ParseStory(m.s.Reply.Text)
		if err == nil {
			m.keep(story.Segments)
		}
	}
	m.withdraw()
	m.recordUnexecuted()
	if len(m.s.Kept) > 0 {
		m.tell(model.System, m.s.Config.sayCarryOn())
	}
	m.nextStep()
	return true
}

// keep shows the rest of an accepted answer and makes it the beginning of the story.
func (m *machine) keep(segments []Segment) {
	if m.s.Config.Stream {
		whole := slices.Concat(m.s.Kept, segments)
		m.showRest(DeriveNarrative(whole))
	}
	m.s.Kept, m.s.Shown = slices.Concat(m.s.Kept, segments), nil
}

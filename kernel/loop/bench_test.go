package loop

import (
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
)

// One streamed answer of 2,000 deltas, from Begin to Finish.
func BenchmarkStreamedStory(b *testing.B) {
	const n = 2000
	answer := `{"segments":[{"kind":"narration","text":"` + strings.Repeat("雾散了。", n) + `"}]}`
	pieces := make([]string, 0, n)
	for rest := answer; rest != ""; {
		k := min(len(rest), len(answer)/n)
		pieces, rest = append(pieces, rest[:k]), rest[k:]
	}
	config := Config{Profile: ResolveProfile(StoryProfile), Story: true, Segments: true, Stream: true}
	b.ReportAllocs()
	for b.Loop() {
		s, _ := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "hi"}}})
		s, _ = Step(s, PreStepDone{})
		for _, p := range pieces {
			s, _ = Step(s, ModelDelta{Text: p})
		}
		s, _ = Step(s, ModelReplied{Reply: model.Reply{Text: answer, FinishReason: model.FinishStop}})
		if s.Outcome == nil || s.Outcome.Status != Success {
			b.Fatal("no story")
		}
	}
}

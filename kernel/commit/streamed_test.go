package commit

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"

	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/sdk"
)

// Rule TP:549: after the commit the story's text is what was streamed: drafts that were rejected, repaired, replaced or written
// beside tool calls were withdrawn by a reset, however the model's answers were cut into pieces.
// Rule TP:502: the text of a segmented story is derived the same way when it is streamed and when it is committed.
func TestWhatIsStreamedIsCommitted(t *testing.T) {
	state := playing(t)
	rapid.Check(t, func(t *rapid.T) {
		s := streamedStory{t: t}
		s.step(loop.Begin{Config: loop.Config{
			RuntimeID: "narrator", Profile: loop.ResolveProfile(loop.StoryProfile), Story: true, Stream: true, Segments: rapid.Bool().Draw(t, "segments"),
			Tools: []loop.ToolOffer{{Tool: model.Tool{Name: "look"}}}, Retry: loop.DefaultRetryPolicy(1), MaxSteps: 6,
			Hooks: loop.Hooks{Review: rapid.Bool().Draw(t, "review")}, Locale: "zh",
		}, Messages: []model.Message{{Role: model.User, Content: "我走进雾里。"}}})
		for s.outcome == nil {
			s.answer()
		}
		o := s.outcome
		if o.Status != loop.Success {
			if s.shown != o.PartialText {
				t.Fatalf("shown %q, the draft is %q", s.shown, o.PartialText)
			}
			return
		}
		var segments []sdk.StorySegment
		for _, seg := range o.Segments {
			segments = append(segments, sdk.StorySegment(seg))
		}
		plan := Plan(in(state, teller(segments...)))
		for _, fact := range plan.Facts {
			if told, ok := fact.Message.(*eventsv1.NarrativeAppended); ok && told.GetText() != s.shown {
				t.Fatalf("streamed %q, committed %q", s.shown, told.GetText())
			} else if ok {
				return
			}
		}
		t.Fatalf("no story in %v", plan.Facts)
	})
}

// streamedStory is a loop that tells a story, and what a player has seen of it.
type streamedStory struct {
	t       *rapid.T
	state   loop.State
	await   loop.Effect
	shown   string
	said    int
	outcome *loop.Outcome
}

func (s *streamedStory) step(in loop.Input) {
	var effects []loop.Effect
	s.state, effects = loop.Step(s.state, in)
	for _, e := range effects {
		switch e := e.(type) {
		case loop.EmitDelta:
			s.shown += e.Text
		case loop.EmitReset:
			s.shown = ""
		case loop.CallModel, loop.Review, loop.RunTools:
			s.await = e
		case loop.Finish:
			s.outcome = &e.Outcome
		}
	}
}

func (s *streamedStory) answer() {
	t := s.t
	switch e := s.await.(type) {
	case loop.CallModel:
		text := s.story()
		cut := 0
		for cut < len(text) && s.outcome == nil {
			n := rapid.IntRange(1, len(text)-cut).Draw(t, "piece")
			s.step(loop.ModelDelta{Text: text[cut : cut+n]})
			cut += n
			if rapid.IntRange(0, 30).Draw(t, "line") == 0 {
				s.said++
				s.step(loop.Interject{ID: strings.Repeat("i", s.said), Text: "等等！"})
			}
		}
		r := model.Reply{Text: text, FinishReason: model.FinishStop}
		switch rapid.IntRange(0, 6).Draw(t, "ends") {
		case 0:
			r.FinishReason = model.FinishLength
		case 1:
			r.ToolCalls = []model.ToolCall{{ID: "c", Name: "look", Arguments: `{"at":"雾"}`}}
		case 2:
			r.ToolCalls = []model.ToolCall{{ID: "d", Name: loop.RuntimeDone, Arguments: `{}`}}
		}
		s.step(loop.ModelReplied{Reply: r})
	case loop.Review:
		switch rapid.IntRange(0, 4).Draw(t, "review") {
		case 0:
			s.step(loop.ReviewDone{Correction: "用第二人称。"})
		case 1:
			s.step(loop.ReviewDone{Reply: &model.Reply{Text: s.story()}})
		default:
			s.step(loop.ReviewDone{})
		}
	case loop.RunTools:
		var outcomes []loop.ToolOutcome
		for _, b := range e.Batches {
			for _, c := range b.Calls {
				outcomes = append(outcomes, loop.ToolOutcome{CallID: c.ID, OK: true, Content: json.RawMessage(`{"done":true}`)})
			}
		}
		s.step(loop.ToolsFinished{Outcomes: outcomes})
	}
}

// story is an answer: segments, prose, or what is no story at all.
func (s *streamedStory) story() string {
	t := s.t
	piece := rapid.SampledFrom([]string{"雾散了", "The fog lifts", "🐉", "👩‍👩‍👧", "e\u0301", " ", "\n", "\n\n", "　", "\"", "\\", "{", "}", "。", "```", "<b>&"})
	words := func(label string) string { return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, label), "") }
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return words("prose")
	case 1:
		return rapid.SampledFrom([]string{"", "{}", `{"segments":[]}`, `{"segments":[{"text":"雾`, "Here:\n```json\n{\"segments\":[{\"text\":\"灯。\"}]}\n```"}).Draw(t, "broken")
	}
	type segment struct {
		Kind    string `json:"kind"`
		Text    string `json:"text"`
		Speaker string `json:"speaker,omitempty"`
	}
	var list []segment
	for range rapid.IntRange(1, 4).Draw(t, "paragraphs") {
		list = append(list, segment{
			rapid.SampledFrom([]string{"narration", "dialogue", "action", "thought"}).Draw(t, "kind"), words("text"), rapid.SampledFrom([]string{"", "龙胆", "Élodie"}).Draw(t, "speaker"),
		})
	}
	b, err := json.Marshal(map[string]any{"segments": list, "advance": map[string]string{"reason": "雾"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

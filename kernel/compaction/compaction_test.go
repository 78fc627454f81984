package compaction_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/compaction"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// talk makes messages from letters: u the player, a the story.
func talk(roles string) []sdk.HistoryMessage {
	var out []sdk.HistoryMessage
	for i, r := range roles {
		role := "user"
		if r == 'a' {
			role = "assistant"
		}
		out = append(out, sdk.HistoryMessage{ID: fmt.Sprint(i), Role: role, Content: "雾"})
	}
	return out
}

// Rule REF plugins.md §18.5: the last two turns of the player and the last five messages are kept raw.
func TestCompactable(t *testing.T) {
	for roles, want := range map[string]int{
		"": 0, "ua": 0, "uaua": 0, "uauaua": 1, "uauauaua": 3, "uauauauaua": 5, "aaaaaaaa": 0, "uaaaaaaaua": 0, "uauaaaaaaua": 2, "uuuuuuuuuu": 5,
	} {
		if got := compaction.Compactable(talk(roles)); got != want {
			t.Errorf("%s: %d, want %d", roles, got, want)
		}
	}
}

// Rule TP:280: the measure is the first agent's real system prompt with messages and summaries, above 0.6 of the window.
// Rule EP:164–170: the input: messages, existing summaries, locale, tokens, both windows, the budget.
// Rule EP:168: the window is the smaller of the story's and the fast model's without their reserves; EP:169: a summary request must fit the fast one's own.
func TestDue(t *testing.T) {
	window := func(n int) model.Capacity { return model.Capacity{ContextWindow: n + 100, MaxOutputTokens: 100} }
	messages := talk(strings.Repeat("ua", 10))
	for i := range messages {
		messages[i].Content = strings.Repeat("word ", 40) // 50 tokens and 4
	}
	for _, c := range []struct {
		name        string
		system      int // tokens
		story, fast model.Capacity
		due         bool
		context, in int
	}{
		{"unknown windows", 100000, model.Capacity{}, model.Capacity{}, false, 0, 0},
		{"short", 100, window(2000), window(2000), false, 0, 0},
		{"long by its prompt", 150, window(2000), window(2000), true, 2000, 2000},
		{"the smaller counts", 100, window(4000), window(1000), true, 1000, 1000},
		{"the smaller is the story's", 100, window(1500), window(9000), true, 1500, 9000},
		{"only the story's is known", 100, window(1500), model.Capacity{}, true, 1500, 1500},
		{"only the fast one's is known", 100, model.Capacity{}, window(1500), true, 1500, 1500},
	} {
		in, due := compaction.Due(compaction.View{System: strings.Repeat("abcd", c.system), Messages: messages, Story: c.story, Fast: c.fast, Locale: "zh-CN"})
		if due != c.due || in.ContextWindow != c.context || in.InputWindow != c.in {
			t.Errorf("%s: due %v, window %d, input %d", c.name, due, in.ContextWindow, in.InputWindow)
		}
		if due && (len(in.Messages) != 15 || in.EstimatedTokens != c.system+20*54 || in.Locale != "zh-CN") {
			t.Errorf("%s: %d messages, %d tokens", c.name, len(in.Messages), in.EstimatedTokens)
		}
	}
	if _, due := compaction.Due(compaction.View{System: strings.Repeat("龙", 9000), Messages: talk("ua"), Story: window(1000)}); due {
		t.Error("there is nothing that could be compacted")
	}
}

// What the session is about to forget is summarised before, however wide the window is.
func TestDueBeforeTheSessionForgets(t *testing.T) {
	wide := model.Capacity{ContextWindow: 2_000_000}
	for n, due := range map[int]bool{projections.HotMessages*4/5 - 1: false, projections.HotMessages*4/5 + 1: true} {
		if _, got := compaction.Due(compaction.View{Messages: talk(strings.Repeat("ua", n)[:n]), Story: wide, Fast: wide}); got != due {
			t.Errorf("%d messages: due %v", n, got)
		}
	}
}

// Rule REF plugins.md §18.5: 12 % of the window in all, 128 to 8192; 4 % for each, 128 to 2048; at most eight.
func TestBudget(t *testing.T) {
	for window, want := range map[int]sdk.SummaryBudget{
		500:    {MaxTokens: 128, MaxSegmentTokens: 128, MaxSegments: 8},
		10000:  {MaxTokens: 1200, MaxSegmentTokens: 400, MaxSegments: 8},
		200000: {MaxTokens: 8192, MaxSegmentTokens: 2048, MaxSegments: 8},
	} {
		if d := cmp.Diff(want, compaction.Budget(window)); d != "" {
			t.Errorf("%d: %s", window, d)
		}
	}
}

func over(ids ...string) sdk.NewSummary {
	return sdk.NewSummary{MessageIDs: ids, Content: "messages " + strings.Join(ids, ""), FocusSections: []string{"key events"}}
}

func merge(ids ...string) sdk.NewSummary {
	return sdk.NewSummary{ReplacesSummaryIDs: ids, Content: "merged " + strings.Join(ids, "")}
}

func input() sdk.CompactInput {
	return sdk.CompactInput{
		Messages: talk("uauau"), ExistingSummaries: []sdk.Summary{{ID: "s1", Content: "one"}, {ID: "s2", Content: "two"}, {ID: "s3", Content: "three"}},
		SummaryBudget: sdk.SummaryBudget{MaxTokens: 60, MaxSegmentTokens: 30, MaxSegments: 4},
	}
}

// Rule REF plugins.md §18.5: a merged summary keeps the oldest replaced id.
// Rule EP:181: a segment covers the oldest messages without a gap, or the oldest summaries; EP:182: the host checks references, order and budget, and
// replaces only the summaries listed.
// Rule EP:190: with a deferral up to twice the budget, in number and in tokens, and not more.
func TestVerify(t *testing.T) {
	long := over("0")
	long.Content = strings.Repeat("龙胆", 20)
	big := func(ids ...string) sdk.NewSummary {
		s := over(ids...)
		s.Content = strings.Repeat("abcd", 29)
		return s
	}
	later := &sdk.Deferral{Reason: "the model failed"}
	for name, c := range map[string]struct {
		out  sdk.CompactOutput
		want string // ids of the summaries after it, and through; "" rejected
	}{
		"a prefix":              {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0", "1")}}, "s1 s2 s3 n1 | 1"},
		"two segments, a merge": {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0"), merge("s1", "s2"), over("1", "2")}}, "s1 s3 n1 n2 | 2"},
		"only a merge":          {sdk.CompactOutput{Summaries: []sdk.NewSummary{merge("s1", "s2", "s3")}}, "s1 | "},
		"nothing":               {sdk.CompactOutput{}, ""},
		"a gap":                 {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0"), over("2")}}, ""},
		"not from the start":    {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("1")}}, ""},
		"twice":                 {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0"), over("0")}}, ""},
		"out of order":          {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("1", "0")}}, ""},
		"foreign":               {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0", "龙")}}, ""},
		"past what may be":      {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0", "1", "2", "3", "4", "5")}}, ""},
		"a newer summary":       {sdk.CompactOutput{Summaries: []sdk.NewSummary{merge("s2", "s3")}}, ""},
		"neither":               {sdk.CompactOutput{Summaries: []sdk.NewSummary{{Content: "x"}}}, ""},
		"both":                  {sdk.CompactOutput{Summaries: []sdk.NewSummary{{MessageIDs: []string{"0"}, ReplacesSummaryIDs: []string{"s1"}, Content: "x"}}}, ""},
		"a segment too long":    {sdk.CompactOutput{Summaries: []sdk.NewSummary{long}}, ""},
		"too many":              {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0"), over("1")}}, ""},
		"too many, put off":     {sdk.CompactOutput{Summaries: []sdk.NewSummary{over("0"), over("1")}, Deferred: later}, "s1 s2 s3 n1 n2 | 1"},
		"too long in all":       {sdk.CompactOutput{Summaries: []sdk.NewSummary{merge("s1", "s2", "s3"), big("0"), big("1"), big("2")}}, ""},
		"put off, within twice": {sdk.CompactOutput{Summaries: []sdk.NewSummary{merge("s1", "s2", "s3"), big("0"), big("1"), big("2")}, Deferred: later}, "s1 n1 n2 n3 | 2"},
		"put off, past twice":   {sdk.CompactOutput{Summaries: []sdk.NewSummary{big("0"), big("1"), big("2"), big("3"), big("4")}, Deferred: later}, ""},
	} {
		r, err := compaction.Verify(input(), c.out, "p", func(n int) string { return fmt.Sprint("n", n) })
		if (c.want == "") != errors.Is(err, compaction.ErrRejected) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		var ids []string
		for _, s := range r.Summaries {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " ") + " | " + r.Through; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if (r.Deferred != "") != (c.out.Deferred != nil) || len(r.Apply(input().Messages)) != 5-r.Messages {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Rule EP:181–182: whatever a provider returns, what is accepted covers a prefix, loses no summary it did not name, and keeps the
// budget.
func TestAnyOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := input()
		var out sdk.CompactOutput
		for range rapid.IntRange(0, 4).Draw(t, "segments") {
			s := sdk.NewSummary{Content: strings.Repeat("字", rapid.IntRange(1, 30).Draw(t, "length"))}
			ids := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2", "s1", "s2", "x"}), 1, 3).Draw(t, "ids")
			if rapid.Bool().Draw(t, "messages") {
				s.MessageIDs = ids
			} else {
				s.ReplacesSummaryIDs = ids
			}
			out.Summaries = append(out.Summaries, s)
		}
		r, err := compaction.Verify(in, out, "p", func(n int) string { return fmt.Sprint("n", n) })
		if err != nil {
			return
		}
		total, seen := 0, map[string]bool{}
		for _, s := range r.Summaries {
			if seen[s.ID] {
				t.Fatalf("%s stands there twice", s.ID)
			}
			seen[s.ID] = true
			total += sdk.EstimateTokens(s.Content)
		}
		if total > in.SummaryBudget.MaxTokens || len(r.Summaries) > in.SummaryBudget.MaxSegments || r.Messages > 0 && in.Messages[r.Messages-1].ID != r.Through {
			t.Fatalf("%+v", r)
		}
		if !seen["s3"] {
			t.Fatal("a summary that nobody could name is gone")
		}
	})
}

// Rule EP:200–201: the third failure in a row is shown and then every third; a success resets the count.
func TestCount(t *testing.T) {
	n, show, told := 0, false, ""
	for _, c := range "xxxxxxx.xx.xxx" {
		n, show = compaction.Count(n, c == 'x')
		if show {
			told += "!"
		} else {
			told += "-"
		}
	}
	if told != "--!--!-------!" {
		t.Error(told)
	}
}

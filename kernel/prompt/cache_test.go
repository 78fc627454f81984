package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/sdk"
)

// turnOf is a turn of a story with segments of all volatilities: what is of the turn says which one it is.
func turnOf(t *rapid.T, n int) prompt.In {
	in := cases()["narrator-later-en"]
	in.Runtime.Body = map[string]string{"en": "You tell the story of {{ world.name }}."}
	in.History, in.LogicalTurn = nil, n
	for i := range n {
		in.History = append(in.History, prompt.HistoryRow{Role: "user", Text: fmt.Sprint("我看灯 ", i)}, prompt.HistoryRow{Role: "assistant", Text: fmt.Sprint("灯亮了 ", i)})
	}
	in.PlayerMessage = fmt.Sprint("我看灯 ", n)
	in.Segments = nil
	for i, s := range []struct{ volatility, role, place string }{
		{"stable", "system", "system"}, {"session", "system", "system"}, {"turn", "system", "system"}, {"session", "system", "pre-history"},
		{"turn", "system", "pre-history"}, {"stable", "user", "pre-history"}, {"turn", "system", "post-history"},
	} {
		content := fmt.Sprintf("§%d %s", i, s.volatility)
		if s.volatility == "turn" {
			content += rapid.StringMatching(`of-turn-[a-z]{0,20}`).Draw(t, "content")
		}
		in.Segments = append(in.Segments, prompt.Segment{ProviderPluginID: "memory", Segment: sdk.Segment{
			ID: fmt.Sprint(i), Content: content, Position: sdk.Position{Place: s.place}, Role: s.role, Audience: sdk.Audience{Group: "all"}, Volatility: s.volatility,
		}})
	}
	return in
}

// Rule EP:105: volatility places the boundaries of the prompt cache: whatever a turn brings, the system prompt up to its last
// boundary and all messages up to the moving one are the same in the next turn.
// Rule EP:110–111: what is of the turn stands behind the boundaries.
// Rule EP:112: messages have no boundary of their own: the one of the history is the only one.
// Rule TP:443: content that never changes stands at the front, what changes each turn at the back.
// Rule REF:plugins.md §18.4: at most four marks in the system prompt and one on the history.
func TestTheCachedPrefixStays(t *testing.T) {
	cached := func(t *rapid.T, n int) []model.Message {
		messages := prompt.Build(turnOf(t, n))
		marks := messages[0].CacheAt
		if len(marks) == 0 || len(marks) > 4 || !slices.IsSorted(marks) || slices.Max(marks) > len(messages[0].Content) {
			t.Fatalf("marks %v", marks)
		}
		for _, at := range marks {
			if rest := messages[0].Content[at:]; rest != "" && !strings.HasPrefix(rest, "\n\n") {
				t.Fatalf("a mark in the midst of a section, before %.20q", rest)
			}
		}
		at := -1
		for i, m := range messages {
			if i > 0 && len(m.CacheAt) > 0 || m.CacheMark && at >= 0 {
				t.Fatalf("message %d has a mark too", i)
			}
			if m.CacheMark {
				at = i
			}
		}
		if at < 0 || messages[at].Content != fmt.Sprint("灯亮了 ", n-1) {
			t.Fatalf("the history's mark is on message %d", at)
		}
		out := slices.Clone(messages[:at+1])
		out[0].Content = out[0].Content[:slices.Max(marks)]
		for i := range out {
			if strings.Contains(out[i].Content, "of-turn") {
				t.Fatalf("message %d holds what is of the turn before the mark", i)
			}
			out[i].CacheMark = false
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "turns")
		before, next := cached(t, n), cached(t, n+1)
		if len(next) != len(before)+2 {
			t.Fatalf("%d messages, then %d", len(before), len(next))
		}
		if d := cmp.Diff(before, next[:len(before)]); d != "" {
			t.Fatal(d)
		}
	})
}

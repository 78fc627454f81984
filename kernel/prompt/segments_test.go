package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Rule REF plugins.md §18.1: segments are filtered by audience; contract means the reading runtime's output contract.
func TestAudience(t *testing.T) {
	segment := func(to sdk.Audience) prompt.Segment {
		return prompt.Segment{ProviderPluginID: "memory", Segment: sdk.Segment{ID: "x", Content: "HEARD", Position: sdk.Position{Place: "system"}, Audience: to, Volatility: "stable"}}
	}
	runtimes := map[string]manifest.Runtime{
		"story": {ID: "narrator", PluginID: "narrator", IO: manifest.IO{Visibility: manifest.VisibilityStory}},
		"own":   {ID: "memory/keep", PluginID: "memory"},
		"guide": {ID: "guide", PluginID: "guide", IO: manifest.IO{OutputContract: "guide@1"}},
	}
	for _, c := range []struct {
		audience sdk.Audience
		heard    []string
	}{
		{sdk.Audience{Group: "all"}, []string{"guide", "own", "story"}},
		{sdk.Audience{Group: "story"}, []string{"story"}},
		{sdk.Audience{Group: "self"}, []string{"own"}},
		{sdk.Audience{Contract: "guide@1"}, []string{"guide"}},
		{sdk.Audience{Contract: "guide@2"}, nil},
		{sdk.Audience{}, nil},
	} {
		var heard []string
		for name, rt := range runtimes {
			if strings.Contains(prompt.System(prompt.In{Runtime: rt, Segments: []prompt.Segment{segment(c.audience)}}), "HEARD") {
				heard = append(heard, name)
			}
		}
		slices.Sort(heard)
		if d := cmp.Diff(c.heard, heard); d != "" {
			t.Errorf("%+v: %s", c.audience, d)
		}
	}
}

// Rule EP:112: volatility is ignored where a segment stands outside of the system prompt: there order alone decides.
// Rule EP:116: within a level segments stand by order, 0 by default; EP:118: then by provider, then by id.
func TestOrderOutsideOfTheSystemPrompt(t *testing.T) {
	for _, c := range []struct {
		at   sdk.Position
		role string
		want string
	}{
		{sdk.Position{Place: "system"}, "", "a/1 b/1 b/2 c/0 d/0"},
		{sdk.Position{Place: "pre-history"}, "system", "a/1 b/1 b/2 c/0 d/0"},
		{sdk.Position{Place: "pre-history"}, "user", "d/0 a/1 b/1 b/2 c/0"},
		{sdk.Position{Place: "post-history"}, "system", "d/0 a/1 b/1 b/2 c/0"},
		{sdk.Position{Depth: 1}, "user", "d/0 a/1 b/1 b/2 c/0"},
	} {
		in := prompt.In{Runtime: manifest.Runtime{ID: "x"}, Locale: "en"}
		for _, s := range []struct {
			provider, id, volatility string
			order                    int
		}{{"d", "0", "turn", -5}, {"c", "0", "session", 3}, {"b", "2", "stable", 0}, {"b", "1", "stable", 0}, {"a", "1", "stable", 0}} {
			in.Segments = append(in.Segments, prompt.Segment{ProviderPluginID: s.provider, Segment: sdk.Segment{
				ID: s.id, Content: "§" + s.provider + "/" + s.id + "§", Position: c.at, Role: c.role, Audience: sdk.Audience{Group: "all"}, Volatility: s.volatility, Order: s.order,
			}})
		}
		var all, got []string
		for _, m := range prompt.Build(in) {
			all = append(all, m.Content)
		}
		for i, part := range strings.Split(strings.Join(all, "\n"), "§") {
			if i%2 == 1 {
				got = append(got, part)
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%+v %s: %s", c.at, c.role, d)
		}
	}
}

// Rule EP:118: the order of segments does not hang on the order in which providers answered.
// Rule EP:110: a turn segment at system never changes the system message.
func TestSegmentsDoNotHangOnArrival(t *testing.T) {
	base := cases()["segments-en"]
	want := dump(prompt.Build(base))
	rapid.Check(t, func(t *rapid.T) {
		in := base
		in.Segments = rapid.Permutation(base.Segments).Draw(t, "order")
		if got := dump(prompt.Build(in)); got != want {
			t.Fatalf("another prompt:\n%s", got)
		}
		system := prompt.System(in)
		in.Segments = append(slices.Clone(in.Segments), prompt.Segment{Segment: sdk.Segment{
			ID: "now", Content: rapid.String().Draw(t, "content"), Position: sdk.Position{Place: "system"}, Audience: sdk.Audience{Group: "all"}, Volatility: "turn",
		}})
		if prompt.System(in) != system {
			t.Fatal("a turn segment changed the system message")
		}
	})
}

// Rule REF plugins.md §18.1: depth counts conversation messages only, from the end; the turn context stands right before the
// player's line wherever things are put in.
// Rule REF:plugins.md §18.1: the turn context is one system message between the history and the player's line.
func TestDepth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := cases()["narrator-later-en"]
		in.History = nil
		n := rapid.IntRange(0, 6).Draw(t, "rows")
		for i := range n {
			in.History = append(in.History, prompt.HistoryRow{Role: []string{"user", "assistant"}[i%2], Text: "row"})
		}
		depth := rapid.IntRange(0, 9).Draw(t, "depth")
		in.Segments = []prompt.Segment{{Segment: sdk.Segment{ID: "d", Content: "DEEP", Position: sdk.Position{Depth: depth}, Audience: sdk.Audience{Group: "all"}, Volatility: "stable"}}}
		after, at := 0, -1
		messages := prompt.Build(in)
		for i, m := range messages {
			switch {
			case m.Content == "DEEP":
				at = i
			case at >= 0 && m.Role != model.System:
				after++
			}
			if m.Content == in.PlayerMessage && !strings.HasPrefix(messages[i-1].Content, "<player-character>") {
				t.Fatalf("before the player's line stands %q", messages[i-1].Content)
			}
		}
		if want := min(depth, n+1); at < 0 || after != want {
			t.Fatalf("%d messages after it, want %d", after, want)
		}
	})
}

// Rule REF plugins.md §18.7: lore by position; extra.coordinate overrides, an unknown position is after the plugin.
func TestPlaceLore(t *testing.T) {
	var in prompt.In
	in.PlaceLore([]sdk.LorebookEntry{
		{ID: "before", Position: "before_plugin"}, {ID: "none"}, {ID: "odd", Position: "龙"},
		{ID: "deep", Position: "at_depth"}, {ID: "two", Position: "at_depth", Extra: map[string]any{"depth": 2.0}},
		{ID: "moved", Position: "before_plugin", Extra: map[string]any{"coordinate": map[string]any{"position": "at_depth", "depth": 7}}},
	})
	var got []string
	for _, e := range in.LoreBefore {
		got = append(got, "before "+e.ID)
	}
	for _, e := range in.LoreAfter {
		got = append(got, "after "+e.ID)
	}
	for _, e := range in.LoreAt {
		got = append(got, strings.Repeat(".", e.Depth)+e.Entry.ID)
	}
	if d := cmp.Diff([]string{"before before", "after none", "after odd", "....deep", "..two", ".......moved"}, got); d != "" {
		t.Error(d)
	}
}

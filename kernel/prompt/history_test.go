package prompt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Rule TP:1004: a runtime reads its window of turns, without other plugins' structured output and rows without text, and the
// summaries of what they stand for.
// Rule REF:plugins.md §18.2: other plugins' structured output and textless rows are removed.
func TestVisible(t *testing.T) {
	row := func(turn, role, source, plugin, content string) sdk.HistoryMessage {
		return sdk.HistoryMessage{ID: content, TurnID: turn, Role: role, Source: source, PluginID: plugin, Content: content}
	}
	talk := []sdk.HistoryMessage{
		row("1", "user", "player", "", "一"), row("1", "assistant", "story", "narrator", "Fog."),
		row("1", "assistant", "runtime", "guide", `{"a":1}`), row("1", "assistant", "runtime", "me", `[1]`), row("1", "assistant", "runtime", "guide", "A word."),
		row("2", "user", "player", "", `{"json":"of the player"}`), row("2", "assistant", "story", "narrator", "Water."), row("2", "assistant", "runtime", "x", ""),
		row("3", "assistant", "story", "narrator", "Stone."),
	}
	window := func(n int, summaries bool) manifest.Runtime {
		return manifest.Runtime{PluginID: "me", Agent: manifest.Agent{HistoryMaxTurns: &n, HistorySummaries: summaries}}
	}
	for name, c := range map[string]struct {
		rt        manifest.Runtime
		rows      string
		summaries bool
	}{
		"shared":           {manifest.Runtime{PluginID: "me"}, `一|Fog.|[1]|A word.|{"json":"of the player"}|Water.|Stone.`, true},
		"none":             {window(0, false), "", false},
		"one turn":         {window(1, false), "Stone.", false},
		"two turns":        {window(2, true), `{"json":"of the player"}|Water.|Stone.`, true},
		"more than it has": {window(1000, false), `一|Fog.|[1]|A word.|{"json":"of the player"}|Water.|Stone.`, false},
	} {
		rows, summaries := prompt.Visible(c.rt, talk)
		var texts []string
		for _, r := range rows {
			texts = append(texts, r.Text)
		}
		if d := cmp.Diff(c.rows, strings.Join(texts, "|")); d != "" || summaries != c.summaries {
			t.Errorf("%s: summaries %v, %s", name, summaries, d)
		}
	}
}

// Rule REF plugins.md §18.2: history.maxTurns never removes the current input or this turn's story.
func TestTheCurrentTurnIsNotHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := cases()["guide-en"]
		n := rapid.IntRange(0, 2).Draw(t, "window")
		in.Runtime.Agent.HistoryMaxTurns = &n
		in.History, _ = prompt.Visible(in.Runtime, []sdk.HistoryMessage{{TurnID: "1", Role: "user", Content: "old"}})
		var texts []string
		for _, m := range prompt.Build(in) {
			texts = append(texts, m.Content)
		}
		all := strings.Join(texts, "\n")
		if !strings.Contains(all, told) || !strings.Contains(all, "Onward.") || strings.Contains(all, "old") != (n > 0) {
			t.Fatalf("window %d:\n%s", n, all)
		}
	})
}

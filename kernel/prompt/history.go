package prompt

import (
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Shared says whether a runtime reads the shared view of the conversation. A bounded window neither starts a compaction nor
// waits for one (reference: plugins.md §18.2).
func Shared(rt manifest.Runtime) bool { return rt.Agent.HistoryMaxTurns == nil }

// Visible gives the rows of the conversation that a runtime reads, and whether it reads the summaries: its own window, other
// plugins' structured output and rows without text removed (seed: turn-pipeline.txt §6.3, "runtime history filtering").
// messages are oldest first, without this turn: history.maxTurns never takes away the current input or this turn's story.
func Visible(rt manifest.Runtime, messages []sdk.HistoryMessage) (rows []HistoryRow, summaries bool) {
	for _, m := range messages[windowStart(rt, messages):] {
		if m.Content == "" || m.Source == sourceRuntime && m.PluginID != rt.PluginID && isStructured(m.Content) {
			continue
		}
		rows = append(rows, HistoryRow{Role: m.Role, Text: m.Content})
	}
	return rows, Shared(rt) || rt.Agent.HistorySummaries
}

// sourceRuntime is the source of rows that are neither the player's nor the story.
const sourceRuntime = "runtime"

// windowStart is where the last history.maxTurns turns begin. The rows of one execution are one turn.
func windowStart(rt manifest.Runtime, messages []sdk.HistoryMessage) int {
	if Shared(rt) {
		return 0
	}
	turns, start := *rt.Agent.HistoryMaxTurns, len(messages)
	for start > 0 {
		if start == len(messages) || messages[start-1].TurnID != messages[start].TurnID {
			if turns--; turns < 0 {
				break
			}
		}
		start--
	}
	return start
}

// isStructured: the text is one JSON object or list.
func isStructured(s string) bool {
	switch decode([]byte(s)).(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

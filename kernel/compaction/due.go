// Package compaction decides when older messages of a session are summarised, holds what a provider of history.compact@2
// gives against what it was asked for, and counts failures (seed: extension-points.txt, "History compression"). It is pure.
package compaction

import (
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// What is compacted and how much summaries may take (reference: plugins.md §18.5, worlds-and-story.md §18).
const (
	triggerShare = 0.6 // of the window: more than this begins a compaction

	// mostMessages begins one too: the hot state of a session keeps projections.HotMessages, and none is to leave it without a
	// summary that stands for it.
	mostMessages = projections.HotMessages * 4 / 5

	keptTurns    = 2 // of the player, with all that follows them
	keptMessages = 5

	totalShare   = 0.12
	segmentShare = 0.04
	leastTokens  = 128
	mostTotal    = 8192
	mostSegment  = 2048
	maxSegments  = 8
)

// View is what the first agent of a turn is about to read.
type View struct {
	System    string // its real system prompt
	Messages  []sdk.HistoryMessage
	Summaries []sdk.Summary
	Locale    string
	Story     model.Capacity // of the model that tells the story
	Fast      model.Capacity // of the model that writes summaries
}

// Due says whether the view is too long, and what the provider is asked then. Without a known window nothing is ever due.
func Due(v View) (sdk.CompactInput, bool) {
	window := smaller(usable(v.Story), usable(v.Fast))
	if window <= 0 {
		return sdk.CompactInput{}, false
	}
	n := sdk.EstimateTokens(v.System)
	for _, m := range v.Messages {
		n += messageTokens(m)
	}
	for _, s := range v.Summaries {
		n += sdk.EstimateTokens(s.Content)
	}
	old := v.Messages[:Compactable(v.Messages)]
	long := float64(n) > triggerShare*float64(window) || len(v.Messages) > mostMessages
	if !long || len(old) == 0 && len(v.Summaries) == 0 {
		return sdk.CompactInput{}, false
	}
	input := usable(v.Fast)
	if input <= 0 {
		input = window
	}
	if old == nil {
		old = []sdk.HistoryMessage{}
	}
	return sdk.CompactInput{
		Messages: old, ExistingSummaries: append([]sdk.Summary{}, v.Summaries...), Locale: v.Locale, EstimatedTokens: n,
		ContextWindow: window, InputWindow: input, SummaryBudget: Budget(window),
	}, true
}

func messageTokens(m sdk.HistoryMessage) int { return sdk.EstimateTokens(m.Content) + 4 }

// usable is what a model can read: its window without the reserve for the answer; 0 when nobody knows.
func usable(c model.Capacity) int {
	if c.ContextWindow <= 0 {
		return 0
	}
	return max(c.ContextWindow-budget.Reserve(c, 0), 0)
}

func smaller(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Budget is what all summaries together and each one may take.
func Budget(window int) sdk.SummaryBudget {
	return sdk.SummaryBudget{
		MaxTokens:        min(max(int(totalShare*float64(window)), leastTokens), mostTotal),
		MaxSegmentTokens: max(min(int(segmentShare*float64(window)), mostSegment), leastTokens),
		MaxSegments:      maxSegments,
	}
}

// Compactable is how many messages, from the oldest on, may be compacted. The last two turns of the player and the last five
// messages stay as they are, whichever reaches further back.
func Compactable(messages []sdk.HistoryMessage) int {
	end, turns := len(messages)-keptMessages, 0
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == string(model.User) {
			if turns++; turns == keptTurns {
				return max(min(end, i), 0)
			}
		}
	}
	return 0
}

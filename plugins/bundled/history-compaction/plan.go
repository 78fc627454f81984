package historycompaction

import "github.com/covel/covel/plugins/sdk"

// Sizes in estimated tokens (reference: plugins.md §18.5).
const (
	sourceShare = 4   // a summary takes a quarter of its source,
	leastTokens = 128 // but not less than this
)

// target is how long the summary of a source is to be.
func target(source int, b sdk.SummaryBudget) int {
	return min(max(source/sourceShare, leastTokens), b.MaxSegmentTokens, max(b.MaxTokens/2, 1))
}

// mergeRun says how many of the oldest summaries are to become one, and how long that one may be: the fewest that bring all
// of them back into the budget. 0: they keep it. More than there are: no merge can.
func mergeRun(old []sdk.Summary, others []sdk.NewSummary, b sdk.SummaryBudget) (k, room int) {
	count, total := len(old)+len(others), 0
	for _, s := range old {
		total += sdk.EstimateTokens(s.Content)
	}
	for _, s := range others {
		total += sdk.EstimateTokens(s.Content)
	}
	if count <= b.MaxSegments && total <= b.MaxTokens {
		return 0, 0
	}
	run := 0
	for k := 1; k <= len(old); k++ {
		run += sdk.EstimateTokens(old[k-1].Content)
		room := b.MaxTokens - (total - run)
		if (k > 1 || len(old) == 1) && count-k+1 <= b.MaxSegments && room >= min(run/sourceShare, b.MaxSegmentTokens) && room > 0 {
			return k, room
		}
	}
	return len(old) + 1, 0
}

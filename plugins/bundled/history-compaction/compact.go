package historycompaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/covel/covel/plugins/sdk"
)

// maxCalls is how often one compaction asks the model: a minute is all the time there is.
const maxCalls = 6

// compact answers the extension point. nil means that there is nothing to compress; whoever cannot finish fails with a reason.
// Segments that are written stay as they are; the oldest are merged only when all together are too many or too long. What was
// written when a later step fails is kept, with the reason why the rest is put off.
func compact(ctx context.Context, in sdk.CompactInput, x *sdk.ExtensionContext) (*sdk.CompactOutput, error) {
	if x.Gateway == nil {
		return nil, errors.New("the host offers no model to write summaries with")
	}
	w := &writer{in: in, x: x, calls: maxCalls}
	added, err := w.summaries(ctx)
	if err != nil && len(added) == 0 {
		return nil, err
	}
	out := &sdk.CompactOutput{}
	if err == nil {
		var merged []sdk.NewSummary
		if merged, err = w.merges(ctx, added); err != nil && len(added)+len(merged) == 0 {
			return nil, err
		}
		out.Summaries = merged
	}
	if err != nil {
		out.Deferred = &sdk.Deferral{Reason: err.Error()}
	}
	if out.Summaries = append(out.Summaries, added...); len(out.Summaries) == 0 {
		return nil, nil
	}
	return out, nil
}

// summaries writes segments for the messages, from the oldest on, each of as many as one request can hold.
func (w *writer) summaries(ctx context.Context) ([]sdk.NewSummary, error) {
	var out []sdk.NewSummary
	earlier, total := "", 0
	if n := len(w.in.ExistingSummaries); n > 0 {
		earlier = w.in.ExistingSummaries[n-1].Content
	}
	for left := w.in.Messages; len(left) > 0 && w.calls > 1; { // one call is left for a merge
		r, n, err := w.pages(earlier, left)
		if err != nil {
			return out, err
		}
		switch {
		case r.tokens >= leastTokens:
		case n < len(left):
			return out, w.tooLong(left[n])
		default: // what is this short is shorter than its summary would be
			return out, nil
		}
		want := target(r.tokens, w.in.SummaryBudget)
		if total += want; total > w.in.SummaryBudget.MaxTokens {
			return out, nil // the rest is for the next turn
		}
		s, err := w.write(ctx, r, want, w.in.SummaryBudget.MaxSegmentTokens)
		if err != nil {
			return out, err
		}
		for _, m := range left[:n] {
			s.MessageIDs = append(s.MessageIDs, m.ID)
		}
		out, earlier, left = append(out, s), s.Content, left[n:]
	}
	return out, nil
}

// merges puts the oldest summaries together until all of them keep the budget.
func (w *writer) merges(ctx context.Context, added []sdk.NewSummary) ([]sdk.NewSummary, error) {
	var out []sdk.NewSummary
	left := w.in.ExistingSummaries
	for {
		k, room := mergeRun(left, append(out[:len(out):len(out)], added...), w.in.SummaryBudget)
		switch {
		case k == 0:
			return out, nil
		case k > len(left) || w.calls == 0:
			return out, fmt.Errorf("older summaries were not merged: %d summaries need more room than %d tokens", len(w.in.ExistingSummaries)+len(added), w.in.SummaryBudget.MaxTokens)
		}
		r, k, err := w.old(left[:k])
		if err == nil {
			var s sdk.NewSummary
			most := min(room, w.in.SummaryBudget.MaxSegmentTokens)
			if s, err = w.write(ctx, r, min(most, max(r.tokens/2, leastTokens)), most); err == nil {
				for _, old := range left[:k] {
					s.ReplacesSummaryIDs = append(s.ReplacesSummaryIDs, old.ID)
				}
				out, left = append(out, s), left[k:]
				continue
			}
		}
		return out, fmt.Errorf("older summaries were not merged: %w", err)
	}
}

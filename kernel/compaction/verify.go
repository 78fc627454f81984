package compaction

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// ErrRejected: the provider's output breaks a rule; nothing of it is kept.
var ErrRejected = errors.New("the provider's summaries cannot be used")

// Result is a compaction that holds: what stands for the older messages from now on.
type Result struct {
	PluginID  string
	Summaries []sdk.Summary // all there are, oldest first
	Truncated map[string]bool
	// Through is the newest message that summaries stand for, "" when only summaries were merged; Messages counts the messages
	// that were compacted now.
	Through  string
	Messages int
	// Deferred is why older summaries were not merged; it counts as a failure. "" when nothing was put off.
	Deferred string
}

// Verify holds a provider's output against its input: every segment covers the next messages of the uncompacted prefix or the
// oldest summaries, without gap and without repeat, and keeps the budget; a merge that was put off may leave up to twice the
// budget (seed: extension-points.txt, "Output" and "The new summary is written, but merging the old summaries fails"). newID
// names the nth new summary; a merged one keeps the oldest id it replaces.
func Verify(in sdk.CompactInput, out sdk.CompactOutput, pluginID string, newID func(n int) string) (Result, error) {
	reject := func(format string, args ...any) (Result, error) {
		return Result{}, errors.Wrapf(ErrRejected, format, args...)
	}
	r := Result{PluginID: pluginID, Truncated: map[string]bool{}}
	var merged, added []sdk.Summary
	taken, replaced := 0, 0
	for n, s := range out.Summaries {
		switch {
		case (len(s.MessageIDs) > 0) == (len(s.ReplacesSummaryIDs) > 0):
			return reject("summary %d must cover either messages or summaries", n+1)
		case sdk.EstimateTokens(s.Content) > in.SummaryBudget.MaxSegmentTokens:
			return reject("summary %d has about %d tokens, at most %d are allowed", n+1, sdk.EstimateTokens(s.Content), in.SummaryBudget.MaxSegmentTokens)
		}
		entry := sdk.Summary{Content: s.Content, FocusSections: s.FocusSections}
		if len(s.MessageIDs) > 0 {
			for _, id := range s.MessageIDs {
				if taken >= len(in.Messages) || in.Messages[taken].ID != id {
					return reject("summary %d: message %q is not the next one; segments cover the oldest messages without a gap", n+1, id)
				}
				taken++
			}
			entry.ID = newID(len(added) + 1)
			added = append(added, entry)
		} else {
			entry.ID = s.ReplacesSummaryIDs[0]
			for _, id := range s.ReplacesSummaryIDs {
				if replaced >= len(in.ExistingSummaries) || in.ExistingSummaries[replaced].ID != id {
					return reject("summary %d: %q is not the next of the oldest summaries", n+1, id)
				}
				replaced++
			}
			merged = append(merged, entry)
		}
		if s.Truncated {
			r.Truncated[entry.ID] = true
		}
	}
	if taken+replaced == 0 {
		return reject("there are no summaries")
	}
	r.Summaries = append(append(merged, in.ExistingSummaries[replaced:]...), added...)
	if taken > 0 {
		r.Through, r.Messages = in.Messages[taken-1].ID, taken
	}
	allowed := 1
	if out.Deferred != nil {
		allowed, r.Deferred = 2, out.Deferred.Reason
	}
	total := 0
	for _, s := range r.Summaries {
		total += sdk.EstimateTokens(s.Content)
	}
	if len(r.Summaries) > allowed*in.SummaryBudget.MaxSegments || total > allowed*in.SummaryBudget.MaxTokens {
		return reject("%s", overBudget(len(r.Summaries), total, allowed, in.SummaryBudget))
	}
	return r, nil
}

func overBudget(segments, total, times int, b sdk.SummaryBudget) string {
	return fmt.Sprintf("%d summaries of about %d tokens in all; at most %d of %d are allowed", segments, total, times*b.MaxSegments, times*b.MaxTokens)
}

// Apply gives the messages and summaries of a view after a compaction.
func (r Result) Apply(messages []sdk.HistoryMessage) []sdk.HistoryMessage {
	return messages[r.Messages:]
}

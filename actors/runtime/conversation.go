package runtime

import (
	"slices"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Sizes of a reading of the conversation (reference: plugins.md §28, "Turn-message page").
const (
	defaultMessages = 100
	maxMessages     = 500
)

// conversation is the committed history as plugin code reads it (reference: plugins.md §11, "store"). It is frozen with the
// execution.
type conversation struct {
	history projections.History
	asked   *projections.Suspension // what the execution goes on with, nil otherwise
}

func conversationOf(f Frozen) conversation {
	c := conversation{history: f.State.History}
	if x, ok := f.State.Suspensions.Find(f.Execution.SuspensionID); ok {
		c.asked = &x
	}
	return c
}

// HistoryFor implements sdk.Conversation. The presence record of a story says who has witnessed it.
func (c conversation) HistoryFor(characterID string, limit int) []sdk.HistoryMessage {
	var out []projections.Message
	for _, m := range c.history.Tail(c.history.Len()) {
		if m.WitnessedBy(characterID) && c.before(m) {
			out = append(out, m)
		}
	}
	return sdkMessages(out[max(0, len(out)-page(limit)):])
}

// before says whether a row was there when the execution began that the run belongs to: a suspension freezes this, whatever
// was told until the answer came (seed: turn-pipeline.txt, "suspension freezes that boundary").
func (c conversation) before(m projections.Message) bool {
	return c.asked == nil || m.Version < c.asked.Version && m.TurnID != c.asked.ExecutionID
}

// Latest implements sdk.Conversation.
func (c conversation) Latest(limit int) []sdk.HistoryMessage {
	return sdkMessages(c.history.Tail(page(limit)))
}

// Page implements sdk.Conversation. A cursor that is not kept any more begins with the oldest message that is.
func (c conversation) Page(cursor string, limit int) (messages []sdk.HistoryMessage, next string, more bool) {
	kept := c.history.Tail(maxMessages)
	if i := slices.IndexFunc(kept, func(m projections.Message) bool { return m.ID == cursor }); cursor != "" && i >= 0 {
		kept = kept[i+1:]
	}
	n := min(page(limit), len(kept))
	messages, more = sdkMessages(kept[:n]), n < len(kept)
	if n > 0 {
		next = messages[n-1].ID
	} else {
		next = cursor
	}
	return messages, next, more
}

func page(limit int) int {
	if limit <= 0 {
		return defaultMessages
	}
	return min(limit, maxMessages)
}

// historyMessages is the conversation as the context builder and providers see it: what is not compacted yet, oldest first.
func historyMessages(h projections.History) []sdk.HistoryMessage { return sdkMessages(h.Uncompacted()) }

func sdkMessages(list []projections.Message) []sdk.HistoryMessage {
	var out []sdk.HistoryMessage
	for _, m := range list {
		out = append(out, sdk.HistoryMessage{
			ID: m.ID, Role: m.Role, Content: m.Shown(), TurnID: m.TurnID, RuntimeID: m.RuntimeID, PluginID: m.PluginID, Source: m.Source,
		})
	}
	return out
}

package runtime

import (
	"encoding/json"
	"slices"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Sizes of a reading of the conversation (reference: plugins.md §28, "Turn-message page").
const (
	defaultMessages = 100
	maxMessages     = 500
	maxWitnessed    = 20 // stories a character actor is told
)

// conversation is the committed history as plugin code reads it (reference: plugins.md §11, "store"). It is frozen with the
// execution.
type conversation struct {
	history projections.History
	answers projections.Interactions
	asked   *projections.Suspension // what the execution goes on with, nil otherwise
}

func conversationOf(f Frozen) conversation {
	c := conversation{history: f.State.History, answers: f.State.Interactions}
	if x, ok := f.State.Suspensions.Find(f.Execution.SuspensionID); ok {
		c.asked = &x
	}
	return c
}

// HistoryFor implements sdk.Conversation.
func (c conversation) HistoryFor(characterID string, limit int) []sdk.HistoryMessage {
	return sdkMessages(c.witnessed(characterID, page(limit)))
}

// witnessed are the newest stories that a character was present at, oldest first, as far as the execution knows them: what was told
// after the first execution of its chain began is behind the boundary that a suspension freezes (seed: turn-pipeline.txt,
// "Character composition and durable execution allowances").
func (c conversation) witnessed(characterID string, limit int) []projections.Message {
	var out []projections.Message
	for i := c.history.Len() - 1; i >= 0 && len(out) < limit; i-- {
		if m := c.history.At(i); m.WitnessedBy(characterID) && (c.asked == nil || m.Version <= c.asked.Frozen.History) {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return out
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

// PlayerInputs implements sdk.Conversation.
func (c conversation) PlayerInputs() []sdk.PlayerInput {
	var out []sdk.PlayerInput
	for _, a := range c.answers.Answers() {
		out = append(out, playerInput(a))
	}
	return out
}

func playerInput(a projections.Interaction) sdk.PlayerInput {
	in := sdk.PlayerInput{
		ID: a.AnswerID(), PluginID: a.PluginID, TurnID: a.TurnID, InteractionID: a.InteractionID, FormID: a.InteractionID, Values: map[string]any{},
		CreatedAt: a.AnsweredAt,
	}
	_ = json.Unmarshal(a.Values, &in.Values) // checked when it was accepted
	return in
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

package play

import (
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Suspension is a run that waits for the player, as clients see it. How it goes on stays inside.
type Suspension struct {
	ID           string              `json:"id"`
	SessionID    string              `json:"sessionId"`
	TurnID       string              `json:"turnId"`
	RuntimeID    string              `json:"runtimeId"`
	PluginID     string              `json:"pluginId"`
	Reason       string              `json:"reason"`
	ResumeSchema projections.RawJSON `json:"resumeSchema"`
	CreatedAt    time.Time           `json:"createdAt"`
	ExpiresAt    *time.Time          `json:"expiresAt,omitempty"`
}

func suspensionOf(session string, x projections.Suspension) Suspension {
	out := Suspension{
		ID: x.ID, SessionID: session, TurnID: x.ExecutionID, RuntimeID: x.RuntimeID, PluginID: x.PluginID, Reason: x.Reason,
		ResumeSchema: x.ResumeSchema, CreatedAt: x.CreatedAt,
	}
	if !x.ExpiresAt.IsZero() {
		out.ExpiresAt = &x.ExpiresAt
	}
	return out
}

// suspensionsOf lists what waits, oldest first.
func suspensionsOf(s projections.State) []Suspension {
	out := make([]Suspension, 0, len(s.Suspensions.Waiting))
	for _, x := range s.Suspensions.Waiting {
		out = append(out, suspensionOf(s.Session.ID, x))
	}
	return out
}

// suspended shows a saved item. An append that was read together with its end has nothing to show any more.
func (b *framer) suspended(r events.Recorded, m *eventsv1.SuspensionSaved) {
	x, ok := b.after.Suspensions.Find(m.SuspensionId)
	if !ok {
		return
	}
	b.add(r, "turn.suspended", map[string]any{
		"sessionId": b.after.Session.ID, "turnId": m.ExecutionId, "suspensionId": m.SuspensionId, "reason": m.Reason,
		"resumeSchema": rawOrNull(m.ResumeSchema), "suspension": suspensionOf(b.after.Session.ID, x),
	})
}

// resumed shows that the run of an item went on and committed; next is the item it waits with now, if it does.
func (b *framer) resumed(r events.Recorded, id, next string) {
	payload := map[string]any{"sessionId": b.after.Session.ID, "turnId": r.Metadata.GetCausationId(), "suspensionId": id}
	if x, ok := b.after.Suspensions.Ended(id); ok {
		payload["runtimeId"], payload["pluginId"] = x.RuntimeID, r.Metadata.GetPluginId()
	}
	if next != "" {
		payload["nextSuspensionId"] = next
	}
	b.add(r, "turn.resumed", payload)
}

// suspensionClosed shows that an item ended without an answer.
func (b *framer) suspensionClosed(r events.Recorded, id, end, reason string) {
	payload := map[string]any{"sessionId": b.after.Session.ID, "suspensionId": id, "state": end}
	if reason != "" {
		payload["reason"] = reason
	}
	b.add(r, "suspension.closed", payload)
}

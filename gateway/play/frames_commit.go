package play

import (
	"encoding/json"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Dimension is the public side of a world's changing value: never its initial value, its rule or what it follows.
type Dimension struct {
	Name        string              `json:"name"`
	Description string              `json:"description,omitempty"`
	Schema      projections.RawJSON `json:"schema"`
	Value       projections.RawJSON `json:"value"`
	Version     uint32              `json:"version"`
}

func dimensionsOf(list []projections.Dimension) map[string]Dimension {
	out := map[string]Dimension{}
	for _, d := range list {
		out[d.ID] = Dimension{d.Name, d.Description, d.Schema, d.Value, d.Version}
	}
	return out
}

func (b *framer) initialized(r events.Recorded, m *eventsv1.DimensionsInitialized) {
	ids := make([]string, len(m.Dimensions))
	for i, d := range m.Dimensions {
		ids[i] = d.Id
	}
	b.dimensions(r, m.PluginId, ids)
}

func (b *framer) updated(r events.Recorded, m *eventsv1.DimensionsUpdated) {
	ids := make([]string, len(m.Values))
	for i, v := range m.Values {
		ids[i] = v.Id
	}
	b.dimensions(r, m.PluginId, ids)
	if x := m.Receipt; x != nil {
		b.add(r, "dimensions.settlement.changed", map[string]any{
			"providerPluginId": m.PluginId, "source": map[string]any{"resultId": x.GetSource().GetResultId(), "turnNumber": x.GetSource().GetTurnNumber()},
			"sourceTurnId": x.SourceTurnId, "version": x.Version, "status": x.Status,
		})
	}
}

// dimensions shows what changed; readers merge it by id.
func (b *framer) dimensions(r events.Recorded, provider string, ids []string) {
	var changed []projections.Dimension
	for _, id := range ids {
		if d, ok := b.after.Dimensions.Find(id); ok {
			changed = append(changed, d)
		}
	}
	if changed != nil {
		b.add(r, "dimensions.changed", map[string]any{"providerPluginId": provider, "dimensions": dimensionsOf(changed)})
	}
}

func (b *framer) asset(r events.Recorded, m *eventsv1.AssetGenerated) {
	asset := map[string]any{"ref": map[string]any{"id": m.Ref.GetId(), "mime": m.Ref.GetMime(), "size": m.Ref.GetSize()}, "modality": m.Modality}
	if len(m.Meta) > 0 {
		asset["meta"] = json.RawMessage(m.Meta)
	}
	b.add(r, "asset.generated", map[string]any{"runtimeId": m.RuntimeId, "pluginId": m.PluginId, "asset": asset})
}

// refused tells of the writes that the commit did not take.
func (b *framer) refused(r events.Recorded, outcomes []*eventsv1.RuntimeOutcome) {
	for _, o := range outcomes {
		if o.Code != "" {
			payload := map[string]any{"runtimeId": o.RuntimeId, "pluginId": o.PluginId, "code": o.Code, "message": shownError(o)}
			if o.ProposalType != "" {
				payload["type"] = o.ProposalType
			}
			b.add(r, "proposal.failed", payload)
		}
	}
}

// shownError is the failure of a run as players may read it.
func shownError(o *eventsv1.RuntimeOutcome) string {
	if o.Concealed && o.Error != "" {
		return turn.ConcealedFailure
	}
	return o.Error
}

// operations tells once how many operations failed; what they were is for the agent that asked for them (seed:
// turn-pipeline.txt, "the action stream emits one operation.failed and the player immediately sees a count notice").
func (b *framer) operations(r events.Recorded, list []*eventsv1.OperationOutcome) {
	failed := 0
	for _, o := range list {
		if o.Status == projections.OperationFailed {
			failed++
		}
	}
	if failed > 0 {
		b.add(r, "operation.failed", map[string]any{"count": failed})
	}
}

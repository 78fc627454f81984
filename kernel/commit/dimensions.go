package commit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// DimensionContract is provided by the one plugin that manages the dimensions of a session.
const DimensionContract = "world.dimensions@1"

// DimensionProvider gives the plugin that provides the dimensions among the runtimes of a session, "" when there is none or
// more than one.
func DimensionProvider(active []manifest.Runtime) string {
	provider := ""
	for _, r := range active {
		if r.IO.OutputContract != DimensionContract || r.PluginID == provider {
			continue
		}
		if provider != "" {
			return ""
		}
		provider = r.PluginID
	}
	return provider
}

// Codes of a refused write to dimensions.
const (
	RefusedDimensionOwner   = "dimension-not-owner"
	RefusedDimensionVersion = "dimension-version-conflict"
	RefusedDimensionSettled = "dimension-already-settled"
	RefusedDimensionOther   = "dimension-defined-otherwise"
)

const (
	maxDimensionUpdates = 64
	maxReason           = 2000 // characters
)

// owns refuses everybody but the session's provider of world.dimensions@1 (seed: turn-pipeline.txt §6.2, "exactly one
// provider manages the current values").
func (w *writer) owns() error {
	if p := w.planner.in.DimensionProvider; p == "" || p != w.run.PluginID {
		return &world.Rejection{Code: RefusedDimensionOwner, Message: "only the session's one provider of " + DimensionContract + " writes dimensions"}
	}
	return nil
}

// initialize creates dimensions that are missing. The same definition again changes nothing, another one is a conflict.
func (w *writer) initialize(payload json.RawMessage) error {
	var in sdk.DimensionInitialize
	if _, err := world.ReadPayload(payload, &in); err != nil {
		return err
	}
	if err := w.owns(); err != nil {
		return err
	}
	ev := &eventsv1.DimensionsInitialized{PluginId: w.run.PluginID}
	for _, id := range slices.Sorted(maps.Keys(in.Definitions)) {
		d := in.Definitions[id]
		if err := world.CheckDimension(id, d); err != nil {
			return err
		}
		if have, ok := w.stand.dimensions.Find(id); ok {
			if !sameDefinition(have, d) {
				return &world.Rejection{Code: RefusedDimensionOther, Message: fmt.Sprintf("the dimension %q is defined otherwise already", id)}
			}
			continue
		}
		ev.Dimensions = append(ev.Dimensions, &eventsv1.Dimension{
			Id: id, Value: compact(d.InitialValue), Version: 1, Definition: &eventsv1.DimensionDefinition{
				Name: d.Name, Description: d.Description, Schema: compact(d.Schema), InitialValue: compact(d.InitialValue), UpdateRule: d.UpdateRule,
			},
		})
	}
	if len(in.Definitions) == 0 {
		return fmt.Errorf("definitions must not be empty")
	}
	if len(ev.Dimensions) > 0 {
		w.stand.dimensions = w.stand.dimensions.Apply(ev)
		w.add(ev)
	}
	return nil
}

func sameDefinition(have projections.Dimension, d sdk.DimensionDefinition) bool {
	return have.Name == d.Name && have.Description == d.Description && have.UpdateRule == d.UpdateRule &&
		world.SameJSON(have.Schema, d.Schema) && world.SameJSON(have.InitialValue, d.InitialValue)
}

// dimensions changes values, all of them or none: every version that was read must be the current one. With a source it
// also settles what that story left open.
func (w *writer) dimensions(payload json.RawMessage) error {
	var in sdk.DimensionUpdate
	if _, err := world.ReadPayload(payload, &in); err != nil {
		return err
	}
	if err := w.owns(); err != nil {
		return err
	}
	if err := consistent(in, w.planner.in.Execution.LogicalTurn); err != nil {
		return err
	}
	now := w.stand.dimensions
	for _, id := range slices.Sorted(maps.Keys(in.ReadVersions)) {
		if err := current(now, id, in.ReadVersions[id]); err != nil {
			return err
		}
	}
	ev := &eventsv1.DimensionsUpdated{PluginId: w.run.PluginID}
	for i, u := range in.Updates {
		at := fmt.Sprintf("updates[%d]", i)
		if err := current(now, u.ID, u.ExpectedVersion); err != nil {
			return err
		}
		d, _ := now.Find(u.ID)
		if in.Source != nil && in.Source.TurnNumber < int(d.Tracked) {
			return &world.Rejection{Code: RefusedDimensionVersion, Message: fmt.Sprintf("%s: %q follows turn %d already, the source is turn %d", at, u.ID, d.Tracked, in.Source.TurnNumber)}
		}
		if err := world.CheckDimensionValue(at+".value", json.RawMessage(d.Schema), u.Value); err != nil {
			return err
		}
		v := &eventsv1.DimensionValue{Id: u.ID, Value: compact(u.Value), Version: d.Version, Reason: u.Reason}
		if !world.SameJSON(d.Value, u.Value) {
			v.Version++
		}
		ev.Values = append(ev.Values, v)
	}
	if in.Source != nil {
		receipt, err := w.receipt(in)
		if err != nil {
			return err
		}
		ev.Receipt = receipt
	}
	w.stand.dimensions = now.Apply(ev)
	w.add(ev)
	return nil
}

// consistent holds the parts of an update against each other (reference: worlds-and-story.md §13.5).
func consistent(in sdk.DimensionUpdate, turnNow uint32) error {
	settles := in.Settlement != ""
	switch {
	case len(in.Updates) > maxDimensionUpdates:
		return fmt.Errorf("updates has %d entries, the limit is %d", len(in.Updates), maxDimensionUpdates)
	case settles && !slices.Contains([]string{projections.SettledNoChange, projections.SettledManual, projections.SettledSkipped}, in.Settlement):
		return fmt.Errorf("settlement: %q is none of no-change, manual, skipped", in.Settlement)
	case in.Source != nil && in.ReadVersions == nil:
		return fmt.Errorf("source needs readVersions")
	case in.Source != nil && (in.Source.ResultID == "" || in.Source.TurnNumber < 1):
		return fmt.Errorf("source needs a resultId and a turnNumber above 0")
	case in.Source != nil && in.Source.TurnNumber > int(turnNow):
		return fmt.Errorf("source.turnNumber: turn %d has not been told yet", in.Source.TurnNumber)
	case settles && in.Source == nil:
		return fmt.Errorf("settlement needs source")
	case len(in.Updates) == 0 && !settles:
		return fmt.Errorf("empty updates need source and settlement")
	case len(in.Updates) > 0 && (in.Settlement == projections.SettledNoChange || in.Settlement == projections.SettledSkipped):
		return fmt.Errorf("settlement %s goes with empty updates", in.Settlement)
	}
	var ids []string
	for i, u := range in.Updates {
		switch {
		case slices.Contains(ids, u.ID):
			return fmt.Errorf("updates[%d].id: %q is there twice", i, u.ID)
		case utf8.RuneCountInString(u.Reason) > maxReason:
			return fmt.Errorf("updates[%d].reason: has more than %d characters", i, maxReason)
		}
		ids = append(ids, u.ID)
	}
	return nil
}

func current(d projections.Dimensions, id string, version int) error {
	have, ok := d.Find(id)
	switch {
	case !ok:
		return fmt.Errorf("there is no dimension %q", id)
	case int(have.Version) != version:
		return &world.Rejection{Code: RefusedDimensionVersion, Message: fmt.Sprintf("%q is at version %d, the update expects %d", id, have.Version, version)}
	}
	return nil
}

// receipt says that a story is settled. A receipt that says so already is final.
func (w *writer) receipt(in sdk.DimensionUpdate) (*eventsv1.DimensionReceipt, error) {
	status := in.Settlement
	if status == "" {
		status = projections.Settled
	}
	out := &eventsv1.DimensionReceipt{
		Source: &eventsv1.DimensionSource{ResultId: in.Source.ResultID, TurnNumber: uint32(in.Source.TurnNumber)},
		Status: status, SourceTurnId: w.planner.in.Execution.ID, Version: 1,
	}
	if open, ok := w.stand.dimensions.Receipt(in.Source.ResultID); ok {
		if open.Status != projections.SettlementPending {
			return nil, &world.Rejection{Code: RefusedDimensionSettled, Message: "the story of turn " + fmt.Sprint(open.TurnNumber) + " is settled already: " + open.Status}
		}
		out.SourceTurnId, out.Version = open.SourceTurnID, open.Version+1
		for _, d := range open.Definitions {
			out.Definitions = append(out.Definitions, ruled(d))
		}
	} else {
		out.Definitions = definitions(w.stand.dimensions)
	}
	for _, id := range slices.Sorted(maps.Keys(in.ReadVersions)) {
		out.ReadVersions = append(out.ReadVersions, &eventsv1.DimensionVersion{Id: id, Version: uint32(in.ReadVersions[id])})
	}
	return out, nil
}

// obligation notes that the story of this commit is still to be followed by the dimensions that have a rule, unless it was
// settled in the same commit: a tracker that did not run or was dropped is never "no change" (reference: worlds-and-story.md
// §13.6).
func (p *planner) obligation() []Fact {
	open := definitions(p.stand.dimensions)
	if len(open) == 0 || p.in.DimensionProvider == "" || p.in.Execution.Phase != projections.PhasePlaying {
		return nil
	}
	i := slices.IndexFunc(p.in.Results, func(r turn.Result) bool { return r.Story && r.Status == turn.Succeeded })
	if i < 0 {
		return nil
	}
	story := p.in.Results[i]
	if _, settled := p.stand.dimensions.Receipt(story.RunID); settled {
		return nil
	}
	receipt := &eventsv1.DimensionReceipt{
		Source: &eventsv1.DimensionSource{ResultId: story.RunID, TurnNumber: p.in.Execution.LogicalTurn},
		Status: projections.SettlementPending, SourceTurnId: p.in.Execution.ID, Version: 1, Definitions: open,
	}
	for _, d := range p.in.State.Dimensions.List { // as the turn has read them
		receipt.ReadVersions = append(receipt.ReadVersions, &eventsv1.DimensionVersion{Id: d.ID, Version: d.Version})
	}
	return []Fact{{Message: &eventsv1.DimensionsUpdated{PluginId: p.in.DimensionProvider, Receipt: receipt}, RunID: story.RunID}}
}

// definitions are those that somebody has to follow: with a rule, and without their value.
func definitions(d projections.Dimensions) (out []*eventsv1.Dimension) {
	for _, x := range d.List {
		if x.UpdateRule != "" {
			out = append(out, ruled(x))
		}
	}
	return out
}

func ruled(d projections.Dimension) *eventsv1.Dimension {
	return &eventsv1.Dimension{Id: d.ID, Version: d.Version, Definition: &eventsv1.DimensionDefinition{
		Name: d.Name, Description: d.Description, Schema: d.Schema, InitialValue: d.InitialValue, UpdateRule: d.UpdateRule,
	}}
}

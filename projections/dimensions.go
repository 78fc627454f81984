package projections

import (
	"slices"

	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Dimensions are the world's changing values, by id, and how far they follow the stories that were told.
type Dimensions struct {
	List     []Dimension        `json:"list"`
	Receipts []DimensionReceipt `json:"receipts"` // oldest first; of the settled ones the newest MaxReceipts
}

// Dimension is one value with its definition.
type Dimension struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Description  string  `json:"description,omitempty"`
	Schema       RawJSON `json:"schema"`
	InitialValue RawJSON `json:"initialValue"`
	UpdateRule   string  `json:"updateRule,omitempty"`
	Value        RawJSON `json:"value"`
	Version      uint32  `json:"version"`
	// Tracked is the newest logical turn whose story the value follows; 0 for none.
	Tracked uint32 `json:"tracked,omitempty"`
}

// Receipt statuses (reference: worlds-and-story.md §13.6).
const (
	SettlementPending = "pending-settlement"
	Settled           = "settled"
	SettledNoChange   = "no-change"
	SettledManual     = "manual"
	SettledSkipped    = "skipped"
)

// MaxReceipts is how many settled receipts a session keeps; what is open is kept however old it is.
const MaxReceipts = 16

// DimensionReceipt says whether the values follow from one story yet.
type DimensionReceipt struct {
	ResultID     string            `json:"resultId"`
	TurnNumber   uint32            `json:"turnNumber"`
	Status       string            `json:"status"`
	ReadVersions map[string]uint32 `json:"readVersions,omitempty"`
	Definitions  []Dimension       `json:"definitions,omitempty"` // those with a rule, without values
	SourceTurnID string            `json:"sourceTurnId"`
	Version      uint32            `json:"version"`
}

// Find gives a dimension by id.
func (d Dimensions) Find(id string) (Dimension, bool) {
	i := slices.IndexFunc(d.List, func(x Dimension) bool { return x.ID == id })
	if i < 0 {
		return Dimension{}, false
	}
	return d.List[i], true
}

// Receipt gives the receipt of a story.
func (d Dimensions) Receipt(resultID string) (DimensionReceipt, bool) {
	i := slices.IndexFunc(d.Receipts, func(x DimensionReceipt) bool { return x.ResultID == resultID })
	if i < 0 {
		return DimensionReceipt{}, false
	}
	return d.Receipts[i], true
}

// Pending gives the receipts that are still open, oldest first.
func (d Dimensions) Pending() (open []DimensionReceipt) {
	for _, r := range d.Receipts {
		if r.Status == SettlementPending {
			open = append(open, r)
		}
	}
	return open
}

// Apply folds one event; the commit uses it for the events it is about to write.
func (d Dimensions) Apply(msg proto.Message) Dimensions {
	switch m := msg.(type) {
	case *eventsv1.DimensionsInitialized:
		for _, x := range m.Dimensions {
			d.List = putBy(d.List, dimensionOf(x), func(y Dimension) string { return y.ID })
		}
	case *eventsv1.DimensionsUpdated:
		for _, v := range m.Values {
			x, ok := d.Find(v.Id)
			if !ok {
				continue
			}
			x.Value, x.Version = RawJSON(v.Value), v.Version
			x.Tracked = max(x.Tracked, m.GetReceipt().GetSource().GetTurnNumber())
			d.List = putBy(d.List, x, func(y Dimension) string { return y.ID })
		}
		if m.Receipt != nil {
			d.Receipts = d.received(receiptOf(m.Receipt))
		}
	}
	return d
}

func (d Dimensions) received(r DimensionReceipt) []DimensionReceipt {
	out := slices.DeleteFunc(slices.Clone(d.Receipts), func(x DimensionReceipt) bool { return x.ResultID == r.ResultID })
	out = append(out, r)
	settled := 0
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Status == SettlementPending {
			continue
		}
		if settled++; settled > MaxReceipts {
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

func dimensionOf(x *eventsv1.Dimension) Dimension {
	def := x.GetDefinition()
	return Dimension{
		ID: x.Id, Name: def.GetName(), Description: def.GetDescription(), Schema: RawJSON(def.GetSchema()), InitialValue: RawJSON(def.GetInitialValue()),
		UpdateRule: def.GetUpdateRule(), Value: RawJSON(x.Value), Version: x.Version,
	}
}

func receiptOf(m *eventsv1.DimensionReceipt) DimensionReceipt {
	r := DimensionReceipt{
		ResultID: m.GetSource().GetResultId(), TurnNumber: m.GetSource().GetTurnNumber(), Status: m.Status, SourceTurnID: m.SourceTurnId, Version: m.Version,
	}
	for _, v := range m.ReadVersions {
		if r.ReadVersions == nil {
			r.ReadVersions = map[string]uint32{}
		}
		r.ReadVersions[v.Id] = v.Version
	}
	for _, x := range m.Definitions {
		r.Definitions = append(r.Definitions, dimensionOf(x))
	}
	return r
}

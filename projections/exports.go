package projections

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Export is a value that a runtime published under a name, for inputs with scope: committed (seed: turn-pipeline.txt §4.2,
// "Committed exports"). Revision counts from 1.
type Export struct {
	PluginID  string         `json:"pluginId"`
	RuntimeID string         `json:"runtimeId"`
	Name      string         `json:"name"`
	Contract  string         `json:"contract,omitempty"`
	Value     RawJSON        `json:"value"`
	Revision  uint64         `json:"revision"`
	RunID     string         `json:"runId"`
	Version   events.Version `json:"version"`
}

// Exports are the newest published values of a session, by runtime and name.
type Exports []Export

func compareExport(a, b Export) int {
	return cmp.Or(cmp.Compare(a.RuntimeID, b.RuntimeID), cmp.Compare(a.Name, b.Name))
}

// Find gives what a runtime published under a name.
func (x Exports) Find(runtimeID, name string) (Export, bool) {
	i, ok := slices.BinarySearchFunc(x, Export{RuntimeID: runtimeID, Name: name}, compareExport)
	if !ok {
		return Export{}, false
	}
	return x[i], true
}

func (x Exports) apply(r events.Recorded, msg proto.Message) Exports {
	m, ok := msg.(*eventsv1.OutputExported)
	if !ok {
		return x
	}
	e := Export{m.PluginId, m.RuntimeId, m.Name, m.Contract, RawJSON(m.Value), m.Revision, m.RunId, r.Version}
	out := append(make(Exports, 0, len(x)+1), x...)
	i, known := slices.BinarySearchFunc(out, e, compareExport)
	if known {
		out[i] = e
		return out
	}
	return slices.Insert(out, i, e)
}

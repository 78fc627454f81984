package world

import (
	"maps"
	"slices"
	"sync"

	"github.com/covel/covel/plugins/sdk"
)

// Write is what one run of an execution has staged, as the runs after it see it.
type Write struct {
	RunID     string // with whom the write is dropped
	PluginID  string // owner of its plugin data
	Proposals []sdk.Proposal
}

// Reads notes whose staged writes a run has read: where such a run is dropped at the commit, an auxiliary reader goes with
// it (seed: turn-pipeline.txt §4.2, "A runtime that read an upstream write depends on it"). Everything a run calls shares
// one; it may be used concurrently. Nil notes nothing.
type Reads struct {
	mu   sync.Mutex
	runs map[string]bool
}

// Note adds runs that were read.
func (r *Reads) Note(runIDs ...string) {
	if r == nil || len(runIDs) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]bool{}
	}
	for _, id := range runIDs {
		r.runs[id] = true
	}
}

// List gives the runs that were read, sorted.
func (r *Reads) List() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.runs))
}

// Producers are the runs whose writes a view of the world shows, by part.
type Producers map[sdk.WorldPart][]string

// Visible shows the staged writes of earlier runs in the world, in commit order, and says whose they are. What the world
// model refuses does not enter the view, and makes nobody a producer.
func Visible(w sdk.World, writes []Write) (sdk.World, Producers) {
	by := Producers{}
	for _, write := range writes {
		for _, p := range write.Proposals {
			part := partOf(p)
			if part == "" {
				continue
			}
			next, err := Apply(w, p)
			if err != nil {
				continue
			}
			w = next
			if !slices.Contains(by[part], write.RunID) {
				by[part] = append(by[part], write.RunID)
			}
		}
	}
	return w, by
}

func partOf(p sdk.Proposal) sdk.WorldPart {
	switch p.Type {
	case sdk.CharacterSchemaSet{}.ProposalType():
		return sdk.PartSchema
	case sdk.CharacterUpsert{}.ProposalType():
		return sdk.PartCharacters
	}
	return ""
}

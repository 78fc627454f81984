package projections

import (
	"slices"

	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// LoreEntry is a lorebook entry with its owner; (owner, id) is its identity (seed: turn-pipeline.txt §6.2).
type LoreEntry struct {
	OwnerKind      string   `json:"ownerKind"` // world | player | plugin
	OwnerPlugin    string   `json:"ownerPlugin,omitempty"`
	ID             string   `json:"id"`
	Keys           []string `json:"keys,omitempty"`
	Content        string   `json:"content"`
	Strategy       string   `json:"strategy"`
	Position       string   `json:"position,omitempty"`
	InsertionOrder int32    `json:"insertionOrder,omitempty"`
	Enabled        bool     `json:"enabled"`
	Extra          RawJSON  `json:"extra,omitempty"`
}

// Lorebook is all entries in the order they came.
type Lorebook []LoreEntry

// OwnerPlayer owns what players write into the book themselves (seed: turn-pipeline.txt §6.2).
const OwnerPlayer = "player"

// Of gives the entries of one owner that is no plugin, in the order they came.
func (l Lorebook) Of(kind string) (out []LoreEntry) {
	for _, e := range l {
		if e.OwnerKind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (l Lorebook) apply(msg proto.Message) Lorebook {
	switch m := msg.(type) {
	case *eventsv1.LorebookUpserted:
		return l.put(m.GetOwner(), m.Entries)
	case *eventsv1.LoreEdited:
		return l.put(&eventsv1.LorebookOwner{Kind: OwnerPlayer}, []*eventsv1.LorebookEntry{m.Entry})
	}
	return l
}

func (l Lorebook) put(owner *eventsv1.LorebookOwner, entries []*eventsv1.LorebookEntry) Lorebook {
	type identity struct{ kind, plugin, id string }
	at := make(map[identity]int, len(l)+len(entries))
	for i, e := range l {
		at[identity{e.OwnerKind, e.OwnerPlugin, e.ID}] = i
	}
	out := slices.Clone(l)
	for _, e := range entries {
		x := LoreEntry{
			OwnerKind: owner.GetKind(), OwnerPlugin: owner.GetPluginId(), ID: e.Id, Keys: e.Keys, Content: e.Content,
			Strategy: e.Strategy, Position: e.Position, InsertionOrder: e.InsertionOrder, Enabled: e.Enabled, Extra: RawJSON(e.Extra),
		}
		who := identity{x.OwnerKind, x.OwnerPlugin, x.ID}
		if i, known := at[who]; known {
			out[i] = x
			continue
		}
		at[who] = len(out)
		out = append(out, x)
	}
	return out
}

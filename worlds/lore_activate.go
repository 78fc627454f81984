package worlds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/covel/covel/plugins/sdk"
)

// Activated is a lorebook entry that a turn tells, and why.
type Activated struct {
	Entry sdk.LorebookEntry
	// Key is the key that occurred, as the author wrote it; "" for a constant entry.
	Key string
	// MessagesBack says where the key occurred: 0 in the player's current message, n in the nth message before it.
	MessagesBack int
}

// Reason says why the entry is told, for the trace.
func (a Activated) Reason() string {
	switch {
	case a.Key == "":
		return Constant
	case a.MessagesBack == 0:
		return fmt.Sprintf("key %q in the player's message", a.Key)
	}
	return fmt.Sprintf("key %q, messages back: %d", a.Key, a.MessagesBack)
}

// Activate chooses the entries a turn tells, by insertionOrder and then id (reference: worlds-and-story.md §19). Disabled
// entries never fire; constant ones always; selective ones when one of their keys occurs in the player's current message
// or, with extra.scanDepth n, in the last n messages before it (history is oldest first). Keys match without regard to
// case and width, as whole words in scripts with spaces and anywhere in others; see foldLore and spacedScript. Activate
// is pure, and told lore wakes no lore.
func Activate(book []sdk.LorebookEntry, message string, history []string) []Activated {
	index, depth := keyIndex{}, 0
	for _, e := range book {
		if enabled(e) && e.Strategy == Selective {
			depth = max(depth, scanDepth(e))
			for _, key := range e.Keys {
				index.add(foldLore(key))
			}
		}
	}
	newest := index.scan(message, history, depth)

	var out []Activated
	for _, e := range book {
		if !enabled(e) {
			continue
		}
		if e.Strategy != Selective {
			out = append(out, Activated{Entry: e})
			continue
		}
		a := Activated{Entry: e, MessagesBack: scanDepth(e) + 1}
		for _, key := range e.Keys {
			if back, ok := newest[foldLore(key)]; ok && back < a.MessagesBack {
				a.Key, a.MessagesBack = key, back
			}
		}
		if a.Key != "" {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b Activated) int {
		return cmp.Or(cmp.Compare(a.Entry.InsertionOrder, b.Entry.InsertionOrder), cmp.Compare(a.Entry.ID, b.Entry.ID))
	})
	return out
}

func enabled(e sdk.LorebookEntry) bool { return e.Enabled == nil || *e.Enabled }

// scanDepth is extra.scanDepth, how many messages before the current one an entry looks at: 0 to MaxScanDepth.
func scanDepth(e sdk.LorebookEntry) int {
	switch n := e.Extra["scanDepth"].(type) {
	case float64:
		return int(min(max(n, 0), MaxScanDepth))
	case int:
		return min(max(n, 0), MaxScanDepth)
	}
	return 0
}

package worlds

import (
	"unicode/utf8"

	"github.com/covel/covel/plugins/sdk"
)

// Words of a lorebook entry (reference: worlds-and-story.md §19).
const (
	Constant  = "constant"
	Selective = "selective"

	BeforePlugin = "before_plugin"
	AfterPlugin  = "after_plugin"
	AtDepth      = "at_depth"

	MaxScanDepth = 100 // extra.scanDepth
	MaxKeyRunes  = 100 // longer keys never fire
)

const (
	maxEntries = 20_000
	maxKeys    = 200
)

// readLorebook reads data/lorebook.yaml: a list of entries. extra may hold title, scanDepth, coordinate and anything else.
func readLorebook(c cursor) []sdk.LorebookEntry {
	out := []sdk.LorebookEntry{}
	ids := map[string]bool{}
	for _, item := range c.items(maxEntries) {
		o := item.object("id", "keys", "content", "strategy", "position", "insertionOrder", "enabled", "extra")
		if o.noMap {
			continue
		}
		var e sdk.LorebookEntry
		if id := o.get("id"); id.require() {
			e.ID = id.matching(recordID, recordIDRule)
			if e.ID != "" && ids[e.ID] {
				id.fail("choose another id.", "another entry has the id %q.", e.ID)
			}
			ids[e.ID] = true
		}
		if content := o.get("content"); content.require() {
			e.Content = content.prose(maxLongRunes)
		}
		e.Keys = o.get("keys").labels(maxKeys, MaxKeyRunes)
		e.Strategy = o.get("strategy").oneOf(Constant, Constant, Selective)
		if e.Strategy == Selective && len(e.Keys) == 0 {
			o.get("keys").warn("add keys, or make the strategy constant.", "a selective entry without keys is never told.")
		}
		e.Position = o.get("position").oneOf(AfterPlugin, BeforePlugin, AfterPlugin, AtDepth)
		e.InsertionOrder = o.get("insertionOrder").whole(-1_000_000, 1_000_000)
		if on, ok := o.get("enabled").flag(); ok && !on {
			e.Enabled = &on
		}
		if extra := o.get("extra"); extra.present() {
			members := extra.members()
			members.get("title").label(maxNameRunes)
			members.get("scanDepth").whole(0, MaxScanDepth)
			if place := members.get("coordinate"); place.present() {
				p := place.object("position", "depth")
				p.get("position").oneOf("", BeforePlugin, AfterPlugin, AtDepth)
				p.get("depth").whole(0, 1_000)
			}
			if m, _ := extra.any().(map[string]any); len(m) > 0 {
				e.Extra = m
			}
		}
		out = append(out, e)
	}
	return out
}

// loreTokens estimates the tokens of a text: one for a character of a script without spaces, else one for four bytes.
func loreTokens(text string) int {
	wide, bytes := 0, 0
	for _, r := range text {
		if r > 0x2FF && !spacedScript(r) {
			wide++
		} else {
			bytes += utf8.RuneLen(r)
		}
	}
	return wide + bytes/4
}

// loreBudget is how many estimated tokens of WORLD.md a prompt holds (reference: worlds-and-story.md §4).
const loreBudget = 8_000

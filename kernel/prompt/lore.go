package prompt

import (
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// selective entries come and go with the talk; every other strategy is constant.
const selective = "selective"

// loreTitle is the heading of an entry: extra.title, else the first key, else the id.
func loreTitle(e sdk.LorebookEntry) string {
	if t, ok := e.Extra["title"].(string); ok && strings.TrimSpace(t) != "" {
		return oneLine(t)
	}
	if len(e.Keys) > 0 && strings.TrimSpace(e.Keys[0]) != "" {
		return oneLine(e.Keys[0])
	}
	return e.ID
}

func loreBlock(tag string, entries []sdk.LorebookEntry) string {
	var parts []string
	for _, e := range entries {
		if c := strings.TrimSpace(e.Content); c != "" {
			parts = append(parts, "## "+Escape(loreTitle(e))+"\n"+Escape(c))
		}
	}
	return block(tag, strings.Join(parts, "\n\n"))
}

// Positions of an entry, and the depth of one that names none.
const (
	beforePlugin     = "before_plugin"
	atDepth          = "at_depth"
	defaultLoreDepth = 4
)

// PlaceLore sorts the active entries into their places: before_plugin, at_depth, and after_plugin for everything else.
// extra.coordinate overrides the position (reference: plugins.md §18.7).
func (in *In) PlaceLore(entries []sdk.LorebookEntry) {
	for _, e := range entries {
		position, depth := e.Position, number(e.Extra["depth"])
		if c, ok := e.Extra["coordinate"].(map[string]any); ok {
			if p, ok := c["position"].(string); ok {
				position = p
			}
			if d := number(c["depth"]); d != nil {
				depth = d
			}
		}
		switch position {
		case beforePlugin:
			in.LoreBefore = append(in.LoreBefore, e)
		case atDepth:
			at := defaultLoreDepth
			if depth != nil {
				at = *depth
			}
			in.LoreAt = append(in.LoreAt, LoreAtDepth{at, e})
		default:
			in.LoreAfter = append(in.LoreAfter, e)
		}
	}
}

// number reads a whole number that came out of JSON or YAML, nil when it is none that makes sense as a depth.
func number(v any) *int {
	var n int
	switch v := v.(type) {
	case int:
		n = v
	case float64:
		n = int(min(max(v, -1), 1e6))
	default:
		return nil
	}
	return &n
}

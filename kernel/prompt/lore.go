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

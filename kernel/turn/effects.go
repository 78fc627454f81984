package turn

import (
	"slices"
	"strings"

	"github.com/covel/covel/plugins/manifest"
)

// clashes reports the pairs of a level that declare effects which do not go together: one writes what the other reads or
// writes. They run in parallel all the same; effects are hints (reference: plugins.md §4.4, api-and-protocol.md §4.2,
// "Effects policy `warn`").
func clashes(level []manifest.Runtime) (out []Diagnostic) {
	for i, a := range level {
		for _, b := range level[i+1:] {
			if a.Effects.ParallelSafe || b.Effects.ParallelSafe {
				continue
			}
			if what := clash(a, b); what != "" {
				out = append(out, Diagnostic{
					Code: HazardEffects, RuntimeID: b.ID, Message: a.ID + " and " + b.ID + " run side by side, and one writes " + what + " of the other",
					Data: map[string]string{"with": a.ID, "effect": what},
				})
			}
		}
	}
	return out
}

func clash(a, b manifest.Runtime) string {
	for _, pair := range [][2]manifest.Runtime{{a, b}, {b, a}} {
		for _, w := range pair[0].Effects.Writes {
			if own := strings.HasPrefix(w, "plugin-data:self:"); own && a.PluginID != b.PluginID || !own && isolated(w) {
				continue // each has its own
			}
			if slices.Contains(pair[1].Effects.Reads, w) || slices.Contains(pair[1].Effects.Writes, w) {
				return w
			}
		}
	}
	return ""
}

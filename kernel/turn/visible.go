package turn

import "github.com/covel/covel/kernel/world"

// VisibleWrites are the staged writes that a run sees of the runs before it, in the order they are committed: those of
// recursive calls before their caller's, those of write services after it, for the plugin that owns them. What cannot be
// committed is not seen, and what a retry or a background job brought along is committed already (seed: turn-pipeline.txt
// §4.2, "copying them in recursive child-before-parent commit order").
func VisibleWrites(upstream []Result) []world.Write {
	var out []world.Write
	for _, r := range upstream {
		if r.Seed || !r.Committable() {
			continue
		}
		out = append(out, VisibleWrites(r.Nested)...)
		if len(r.Proposals) > 0 {
			out = append(out, world.Write{RunID: r.RunID, PluginID: r.PluginID, Proposals: r.Proposals})
		}
		for _, op := range r.Operations {
			out = append(out, world.Write{RunID: r.RunID, PluginID: op.PluginID, Proposals: op.Proposals})
		}
	}
	return out
}

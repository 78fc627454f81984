package node

import (
	"slices"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/projections"
)

// outOfDate says whether the code that suspended is still the code of the session that would go on (seed: tools.txt, "the plugin changed
// version").
func (n *Node) outOfDate(view projections.State, suspensionID string) string {
	x, ok := view.Suspensions.Find(suspensionID)
	if !ok {
		return "" // the session itself says so
	}
	rt, loaded, ok := n.Plugins().Runtime(x.RuntimeID)
	in := slices.ContainsFunc(view.Session.Plugins, func(p projections.PluginRef) bool { return p.ID == x.PluginID })
	if !ok || !in || rt.ID != x.RuntimeID || loaded.Manifest.Digest != x.PluginDigest || loaded.Manifest.Version != x.PluginVersion {
		return commit.VoidPluginChanged
	}
	return ""
}

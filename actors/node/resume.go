package node

import (
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/projections"
)

// outOfDate says whether the code that suspended is still the code that would go on (seed: tools.txt, "the plugin changed
// version").
func (n *Node) outOfDate(view projections.State, suspensionID string) string {
	x, ok := view.Suspensions.Find(suspensionID)
	if !ok {
		return "" // the session itself says so
	}
	rt, loaded, ok := n.Plugins().Runtime(x.RuntimeID)
	if !ok || rt.ID != x.RuntimeID || loaded.Manifest.Digest != x.PluginDigest || loaded.Manifest.Version != x.PluginVersion {
		return commit.VoidPluginChanged
	}
	return ""
}

package hook

import (
	"slices"

	"github.com/covel/covel/plugins/sdk"
)

// Handler is a registered hook and whose it is; "" is the framework.
type Handler struct {
	PluginID string
	Hook     sdk.Hook
}

// groups are the groups in the order they are called.
var groups = []sdk.Enforce{sdk.EnforcePre, sdk.EnforceNormal, sdk.EnforcePost}

// Order gives the handlers of every event in the order they are asked: pre, normal, post, and inside a group the framework's
// before the plugins', otherwise as they come (reference: plugins.md §15).
func Order(handlers []Handler) map[sdk.HookEvent][]Handler {
	if len(handlers) == 0 {
		return nil
	}
	out := map[sdk.HookEvent][]Handler{}
	for _, h := range handlers {
		out[h.Hook.Event] = append(out[h.Hook.Event], h)
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b Handler) int {
			if d := slices.Index(groups, a.Hook.Enforce) - slices.Index(groups, b.Hook.Enforce); d != 0 {
				return d
			}
			return foreign(a) - foreign(b)
		})
	}
	return out
}

func foreign(h Handler) int {
	if h.PluginID == "" {
		return 0
	}
	return 1
}

package registry

import (
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// declaredHooks names what contributes.hooks declares: event and enforce together.
func declaredHooks(m manifest.Plugin) []string {
	var out []string
	for _, h := range m.Contributes.Hooks {
		out = append(out, h.Event+" ("+h.Enforce+")")
	}
	return out
}

// registeredHooks names what the entry registered; several handlers of one declaration count once.
func registeredHooks(add func(string, ...any), hooks []sdk.Hook) []string {
	var out []string
	for _, h := range hooks {
		if err := sdk.CheckHook(h); err != nil {
			add("a hook of %s: %s", h.Event, err)
			continue
		}
		if name := string(h.Event) + " (" + string(h.Enforce) + ")"; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

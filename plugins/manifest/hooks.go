package manifest

import (
	"slices"

	"github.com/covel/covel/plugins/sdk"
)

// hooks reads contributes.hooks: which events the entry registers handlers for. Several handlers may stand behind one
// declaration (reference: plugins.md §15).
func (l *loader) hooks(o *object) {
	known := make([]string, len(sdk.HookEvents))
	for i, e := range sdk.HookEvents {
		known[i] = string(e)
	}
	for _, n := range o.list("hooks") {
		h := n.object()
		if h == nil {
			continue
		}
		h.required("event", "Name the event, as in PreToolUse")
		decl := HookDecl{
			Event:   h.choice("event", "", known...),
			Enforce: h.choice("enforce", string(sdk.EnforceNormal), string(sdk.EnforcePre), string(sdk.EnforceNormal), string(sdk.EnforcePost)),
		}
		h.done(nil)
		if slices.Contains(l.plugin.Contributes.Hooks, decl) {
			n.problem("Keep one of them", "%s (%s) is declared twice", decl.Event, decl.Enforce)
			continue
		}
		l.plugin.Contributes.Hooks = append(l.plugin.Contributes.Hooks, decl)
	}
}

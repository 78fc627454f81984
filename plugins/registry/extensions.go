package registry

import (
	"cmp"
	"slices"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

// compareExtensions holds the declared providers against the registered ones (seed: extension-points.txt, "If something is
// declared but not registered, or registered but not declared, the plugin fails to load").
func compareExtensions(add func(string, ...any), m manifest.Plugin, registered []sdk.Extension) {
	type key struct{ point, id string }
	seen := map[key]bool{}
	for _, x := range registered {
		k := key{x.Point, x.ID}
		switch {
		case seen[k]:
			add("the extension %q of %s is registered twice", x.ID, x.Point)
		case x.Handle == nil:
			add("the extension %q of %s has no handler", x.ID, x.Point)
		}
		if !slices.ContainsFunc(m.Contributes.Extensions, func(d manifest.ExtensionDecl) bool { return k == key{d.Point, d.ID} }) {
			add("the extension %q of %s is registered but not declared (contributes.extensions)", x.ID, x.Point)
		}
		seen[k] = true
	}
	for i, d := range m.Contributes.Extensions {
		if p, _ := points.Find(d.Point); p.Mode == points.Single &&
			slices.ContainsFunc(m.Contributes.Extensions[:i], func(o manifest.ExtensionDecl) bool { return o.Point == d.Point }) {
			add("%s has one provider, and the package declares several", d.Point)
		}
		if !seen[key{d.Point, d.ID}] {
			add("the extension %q of %s is declared (contributes.extensions) but not registered", d.ID, d.Point)
		}
	}
}

// Provider is one provider of an extension point as it is called.
type Provider struct {
	Plugin *Loaded
	Decl   manifest.ExtensionDecl
	Handle sdk.ExtensionHandler
}

// Providers are the providers of a point among the active plugins, in declared order: by order, then plugin id, then id. slot
// narrows those of ui.slot@1; "" takes all.
func (g *Generation) Providers(active []string, point, slot string) []Provider {
	var out []Provider
	for _, id := range active {
		p, ok := g.Plugins[id]
		if !ok {
			continue
		}
		for _, d := range p.Manifest.Contributes.Extensions {
			if d.Point != point || slot != "" && d.Slot != slot {
				continue
			}
			for _, x := range p.Entry.Extensions {
				if x.Point == d.Point && x.ID == d.ID {
					out = append(out, Provider{Plugin: p, Decl: d, Handle: x.Handle})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Provider) int {
		return cmp.Or(cmp.Compare(a.Decl.Order, b.Decl.Order), cmp.Compare(a.Plugin.Manifest.ID, b.Plugin.Manifest.ID), cmp.Compare(a.Decl.ID, b.Decl.ID))
	})
	return out
}

// implements says whether a plugin provides a point or fills a slot of the kernel. Only real providers count, never the name
// in provides; fixed segments are provided by the host on the plugin's behalf (seed: extension-points.txt, "Depending on an
// extension point").
func implements(m manifest.Plugin, contract string) bool {
	if contract == points.PromptSegment && len(m.Contributes.Prompt) > 0 {
		return true
	}
	return slices.ContainsFunc(m.Contributes.Extensions, func(d manifest.ExtensionDecl) bool {
		return d.Point == contract || d.Point == points.UISlot && d.Slot == contract
	})
}

// sharedSingle is a point of mode single that two plugins both provide, "" for none.
func sharedSingle(a, b manifest.Plugin) string {
	for _, p := range points.All {
		if p.Mode == points.Single && implements(a, p.ID) && implements(b, p.ID) {
			return p.ID
		}
	}
	return ""
}

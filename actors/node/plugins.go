package node

import (
	"context"

	"github.com/covel/covel/actors/session"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
)

// Choice is what whoever begins a session chooses of plugins.
type Choice struct {
	Requested []string // plugin ids; nil: those that the world asks for
	Excluded  []string // also of core plugins
}

// choose resolves a choice with the plugins that are published now.
func (n *Node) choose(choice projections.PluginSelection, requires []string) kernel.Chosen {
	gen := n.Plugins()
	selected, err := gen.Select(choice.Requested, choice.Excluded, registry.Policy{Requires: requires})
	out := kernel.Chosen{Rejected: map[string]string{}, Aside: map[string]string{}}
	if err != nil {
		out.Unmet = err.Error()
	}
	for _, r := range selected.Rejected {
		if r.Code == registry.DefaultReplaced {
			out.Aside[r.PluginID] = r.Reason
		} else {
			out.Rejected[r.PluginID] = r.Reason
		}
	}
	for _, id := range selected.Active {
		m := gen.Plugins[id].Manifest
		out.Plugins = append(out.Plugins, projections.PluginRef{ID: id, Version: m.Version, Digest: m.Digest})
	}
	return out
}

// runtimesOf gives the runtimes of the plugins of a session that are installed, after provider resolution, by id.
func runtimesOf(gen *registry.Generation, plugins []projections.PluginRef) []manifest.Runtime {
	var chosen registry.Selection
	for _, p := range plugins {
		chosen.Active = append(chosen.Active, p.ID)
	}
	return gen.ResolveRuntimeProviders(gen.ActiveRuntimes(chosen))
}

// EnablePlugin lets a plugin take part in a session from its next execution on.
func (n *Node) EnablePlugin(ctx context.Context, id, plugin string) (kernel.Answer, error) {
	return n.changePlugins(ctx, id, kernel.PluginChange{Enable: plugin})
}

// DisablePlugin excludes a plugin from a session, from its next execution on.
func (n *Node) DisablePlugin(ctx context.Context, id, plugin string) (kernel.Answer, error) {
	return n.changePlugins(ctx, id, kernel.PluginChange{Disable: plugin})
}

func (n *Node) changePlugins(ctx context.Context, id string, change kernel.PluginChange) (kernel.Answer, error) {
	v, err := n.View(ctx, id)
	if err != nil {
		return kernel.Answer{}, err
	}
	pack, err := n.World(ctx, v.State.Session)
	if err != nil {
		return kernel.Answer{}, err
	}
	change.Requires = pack.PluginPolicy.Requires
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kernel.ChangePlugins, Plugins: &change, Reply: reply}
	})
}

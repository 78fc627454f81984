package node

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/prompt"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// packScope is where world packs are kept, once for all sessions.
const packScope = "worlds"

// packs keeps the world packs of sessions by digest.
type packs struct {
	blobs events.BlobStore
	mu    sync.Mutex
	known map[string]worlds.View
}

func newPacks(blobs events.BlobStore) *packs {
	return &packs{blobs: blobs, known: map[string]worlds.View{}}
}

func (p *packs) put(ctx context.Context, v worlds.View) (digest string, err error) {
	data, _ := v.Encode()
	ref, err := p.blobs.Put(ctx, packScope, data)
	return ref.Digest, errors.Wrapf(err, "store world %s", v.Record.ID)
}

func (p *packs) get(ctx context.Context, digest string) (worlds.View, error) {
	p.mu.Lock()
	v, ok := p.known[digest]
	p.mu.Unlock()
	if ok {
		return v, nil
	}
	data, err := p.blobs.Get(ctx, events.BlobRef{Scope: packScope, Digest: digest})
	if err != nil {
		return v, errors.Wrap(err, "load the session's world")
	}
	if v, err = worlds.DecodeView(data); err != nil {
		return v, err
	}
	p.mu.Lock()
	p.known[digest] = v
	p.mu.Unlock()
	return v, nil
}

// World gives the world of a session as the session stored it.
func (n *Node) World(ctx context.Context, s projections.Session) (worlds.View, error) {
	return n.packs.get(ctx, s.WorldDigest)
}

// installed tells what the session's plugins bring with them now.
func (n *Node) installed(view projections.State) *kernel.Installed {
	gen := n.Plugins()
	out := &kernel.Installed{Versions: map[string]string{}, Digests: map[string]string{}, Contracts: map[string]json.RawMessage{}}
	for _, p := range view.Session.Plugins {
		if loaded, ok := gen.Plugins[p.ID]; ok {
			out.Versions[p.ID], out.Digests[p.ID] = loaded.Manifest.Version, loaded.Manifest.Digest
			maps.Copy(out.Contracts, loaded.Manifest.Contracts)
		}
	}
	out.Runtimes = runtimesOf(gen, view.Session.Plugins)
	return out
}

// actionKinds finds the kinds of action that the session's plugins declare, by <pluginId>/<name>.
func (n *Node) actionKinds(view projections.State) kernel.Kinds {
	return func(kind string) (manifest.ActionKindDecl, bool) {
		plugin, name, _ := strings.Cut(kind, "/")
		loaded, ok := n.Plugins().Plugins[plugin]
		if !ok || !slices.ContainsFunc(view.Session.Plugins, func(p projections.PluginRef) bool { return p.ID == plugin }) {
			return manifest.ActionKindDecl{}, false
		}
		i := slices.IndexFunc(loaded.Manifest.Contributes.ActionKinds, func(d manifest.ActionKindDecl) bool { return d.Name == name })
		if i < 0 {
			return manifest.ActionKindDecl{}, false
		}
		return loaded.Manifest.Contributes.ActionKinds[i], true
	}
}

// freeze fixes what an execution reads: the generation of now, the session's plugins in it, the world it stored.
func (n *Node) freeze(ctx context.Context, start kernel.StartTurn) (runtime.Frozen, error) {
	gen := n.Plugins()
	pack, err := n.packs.get(ctx, start.View.Session.WorldDigest)
	if err != nil {
		return runtime.Frozen{}, err
	}
	f := runtime.Frozen{Execution: start.Execution, State: start.View, Pack: pack, World: world.View(start.View, pack), Generation: gen, Declared: map[string]json.RawMessage{}, Contracts: map[string]json.RawMessage{}}
	f.Instructions = prompt.InstructionLocale(f.Locale(), n.InstructionLocale)
	var chosen registry.Selection
	for _, p := range start.View.Session.Plugins {
		loaded, ok := gen.Plugins[p.ID]
		if !ok {
			n.Log.Warn("a plugin of the session is not installed", "session", start.View.Session.ID, "plugin", p.ID)
			continue
		}
		chosen.Active = append(chosen.Active, p.ID)
		maps.Copy(f.Contracts, loaded.Manifest.Contracts)
		for _, e := range loaded.Manifest.Contributes.Events {
			f.Declared[e.Topic] = e.Schema
		}
	}
	f.Topics = gen.Topics(chosen)
	// A paused plugin keeps its place, so that no other provider takes it: its runtimes, hooks and extensions are left out.
	paused := func(plugin string) bool { return slices.Contains(start.Paused, plugin) }
	f.Paused = start.Paused
	f.Hooks = n.hooks(gen, slices.DeleteFunc(slices.Clone(chosen.Active), paused), start.View.Session, pack, start.Execution.LogicalTurn)
	f.Active = slices.DeleteFunc(runtimesOf(gen, start.View.Session.Plugins), func(r manifest.Runtime) bool { return paused(r.PluginID) })
	f.Account, f.Policy = n.account(start), turn.BindPolicy(f.Active, start.View.Session.Settings.Orchestration.Policy)
	if x, ok := start.View.Suspensions.Find(start.Execution.SuspensionID); ok {
		f.Policy = x.Frozen.Policy
	}
	extensions := runtime.NewExtensions(f, f.Account.Provider(n.Model), n.Trace, n.Log)
	if f.World, err = extensions.World(ctx, f.World); err != nil {
		return f, err
	}
	f.Shared = runtime.NewShared(extensions, &n.compactions)
	return f, nil
}

// validate asks the form validators of plugins about the answers of a command. A validator that panics refuses the answer
// and harms nothing else.
func (n *Node) validate(_ context.Context, view projections.State, cmd kernel.Command) []kernel.Issue {
	var out []kernel.Issue
	for _, a := range cmd.Actions {
		if a.Interaction == nil {
			continue
		}
		q, ok := view.Interactions.Find(a.Interaction.TurnID, a.Interaction.InteractionID)
		if !ok {
			continue
		}
		out = append(out, n.validateAnswer(view, q, a)...)
	}
	return out
}

func (n *Node) validateAnswer(view projections.State, q projections.Interaction, a projections.Action) (out []kernel.Issue) {
	block, issues := tools.ReadInteraction(json.RawMessage(q.Block))
	if len(issues) > 0 || block.Validation == nil {
		return nil
	}
	loaded, ok := n.Plugins().Plugins[q.PluginID]
	if !ok || !slices.ContainsFunc(view.Session.Plugins, func(p projections.PluginRef) bool { return p.ID == q.PluginID }) {
		return []kernel.Issue{{Message: "the plugin that asked is not active any more"}}
	}
	check, ok := loaded.Entry.Validators[block.Validation.Name]
	if !ok {
		return []kernel.Issue{{Message: "the form asks for a check that its plugin does not have; start again"}}
	}
	defer safego.Recover("form validator", func(error) {
		out = []kernel.Issue{{Message: "the form's own check failed; try again"}}
	})
	var values map[string]any
	if err := json.Unmarshal(a.Fields, &values); err != nil {
		return []kernel.Issue{{Message: err.Error()}}
	}
	locale := view.Session.Locale
	for _, is := range check(values, block.Validation.Data, locale, loaded.Manifest.MessagesIn(locale)) {
		out = append(out, kernel.Issue{Field: is.Field, Message: is.Message})
	}
	return out
}

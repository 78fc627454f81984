package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/tools"
)

// Codes of a Rejection (reference: plugins.md §29).
const (
	UnknownPlugin     = "unknown-plugin"
	Excluded          = "excluded"
	InvalidConflict   = "invalid-conflict"
	MissingProvider   = "missing-provider"
	AmbiguousProvider = "ambiguous-provider"
	Conflict          = "conflict"
	SingleProvider    = "single-provider-conflict"
	DefaultReplaced   = "default-replaced"
)

// Policy is what a world asks of the plugins of its sessions.
type Policy struct {
	Requires []string // contracts that must have a provider
}

// Rejection is a plugin that does not take part although it was wanted, or (with PluginID "") a contract the world needs.
type Rejection struct {
	PluginID string
	Code     string
	Contract string // the contract it is about, "" for none
	Reason   string
}

// Selection is the outcome: Active by id, AutoAdded those of them that only serve a requirement.
type Selection struct {
	Active    []string
	AutoAdded []string
	Rejected  []Rejection
}

// SelectionError means that no session can be created: the world needs what cannot be had. What a player excluded is no such
// thing: the world then does without.
type SelectionError struct{ Unmet []Rejection }

func (e *SelectionError) Error() string {
	reasons := make([]string, len(e.Unmet))
	for i, r := range e.Unmet {
		reasons[i] = r.Reason
	}
	return strings.Join(reasons, "; ")
}

// Select decides which plugins a session runs (reference: plugins.md §21): every core plugin and the requested ones, less
// the excluded, with the providers their requirements need. The same input gives the same answer with the same reasons. The
// error is a *SelectionError; the selection is valid beside it.
func (g *Generation) Select(requested, excluded []string, world Policy) (Selection, error) {
	s := &selecting{g: g, excluded: excluded, wanted: map[string]bool{}, rejected: map[string]Rejection{}}
	for _, id := range requested {
		s.want(id)
	}
	for _, id := range slices.Sorted(maps.Keys(g.Plugins)) {
		if g.Plugins[id].Manifest.Kind == "core" {
			s.want(id)
		}
	}
	unmet := s.worldNeeds(world.Requires)
	s.addProviders()
	s.dropReplacedDefaults()
	s.dropConflicts()
	s.dropUnserved()
	s.dropUnneeded()
	return s.result(), unmetError(append(unmet, s.lost(world.Requires, unmet)...))
}

func unmetError(unmet []Rejection) error {
	if len(unmet) == 0 {
		return nil
	}
	return &SelectionError{Unmet: unmet}
}

// selecting is the state of one selection. active is in the order of acceptance.
type selecting struct {
	g        *Generation
	excluded []string
	active   []string
	wanted   map[string]bool // requested, core, or needed by the world
	rejected map[string]Rejection
}

func (s *selecting) reject(id, code, contract, format string, args ...any) {
	s.active = slices.DeleteFunc(s.active, func(a string) bool { return a == id })
	if _, already := s.rejected[id]; !already {
		s.rejected[id] = Rejection{PluginID: id, Code: code, Contract: contract, Reason: fmt.Sprintf(format, args...)}
	}
}

// want takes a plugin in for its own sake.
func (s *selecting) want(id string) {
	p, known := s.g.Plugins[id]
	switch {
	case slices.Contains(s.active, id):
	case slices.Contains(s.excluded, id):
		s.reject(id, Excluded, "", "%s is excluded in this session", id)
	case !known:
		s.reject(id, UnknownPlugin, "", "there is no plugin %s%s", id, s.g.whyMissing(id))
	default:
		for _, c := range p.Manifest.Conflicts {
			if points.IsKernel(c) {
				s.reject(id, InvalidConflict, c, "%s names %s in conflicts, which belongs to the kernel", id, c)
				return
			}
		}
		s.active = append(s.active, id)
		s.wanted[id] = true
	}
}

// whyMissing adds that a plugin exists and could not be loaded.
func (g *Generation) whyMissing(id string) string {
	if slices.ContainsFunc(g.Errors, func(e LoadError) bool { return e.PluginID == id }) {
		return " that could be loaded"
	}
	return ""
}

// offers says whether a plugin provides a contract, and whether only as the default.
func (g *Generation) offers(id, contract string) (offered, isDefault bool) {
	m := g.Plugins[id].Manifest
	i := slices.IndexFunc(m.Provides, func(p manifest.Provided) bool { return p.Contract == contract })
	isDefault = i >= 0 && m.Provides[i].Default
	if points.IsKernel(contract) { // here provides only says that the provider steps aside for another
		return implements(m, contract), isDefault
	}
	return i >= 0, isDefault
}

func (s *selecting) served(contract string) bool {
	return slices.ContainsFunc(s.active, func(id string) bool { ok, _ := s.g.offers(id, contract); return ok })
}

// provider finds the plugin that may be added for a contract: the only regular provider, else the only default one.
func (s *selecting) provider(contract string) (id, code, reason string) {
	var regular, defaults []string
	for _, p := range slices.Sorted(maps.Keys(s.g.Plugins)) {
		if _, out := s.rejected[p]; out || slices.Contains(s.excluded, p) {
			continue
		}
		switch offered, isDefault := s.g.offers(p, contract); {
		case offered && isDefault:
			defaults = append(defaults, p)
		case offered:
			regular = append(regular, p)
		}
	}
	switch {
	case len(regular) == 1:
		return regular[0], "", ""
	case len(defaults) == 1:
		return defaults[0], "", ""
	case len(regular)+len(defaults) > 0:
		return "", AmbiguousProvider, fmt.Sprintf("several plugins provide %s (%s) and none was chosen", contract, strings.Join(append(regular, defaults...), ", "))
	}
	return "", MissingProvider, fmt.Sprintf("no available plugin provides %s", contract)
}

// worldNeeds adds the providers of the world's contracts; they are never taken for leftovers.
func (s *selecting) worldNeeds(contracts []string) (unmet []Rejection) {
	for _, c := range contracts {
		if s.served(c) {
			continue
		}
		id, code, reason := s.provider(c)
		if id == "" && code == MissingProvider && s.excludedProvider(c) {
			continue
		}
		if id == "" {
			unmet = append(unmet, Rejection{Code: code, Contract: c, Reason: "the world needs " + c + ": " + reason})
			continue
		}
		s.active = append(s.active, id)
		s.wanted[id] = true
	}
	return unmet
}

// excludedProvider says whether somebody who provides a contract was excluded by the player.
func (s *selecting) excludedProvider(contract string) bool {
	return slices.ContainsFunc(s.excluded, func(id string) bool {
		if _, known := s.g.Plugins[id]; !known {
			return false
		}
		offered, _ := s.g.offers(id, contract)
		return offered
	})
}

// lost are the world's contracts whose provider was dropped later on.
func (s *selecting) lost(contracts []string, already []Rejection) (unmet []Rejection) {
	for _, c := range contracts {
		if s.served(c) || s.excludedProvider(c) || slices.ContainsFunc(already, func(r Rejection) bool { return r.Contract == c }) {
			continue
		}
		unmet = append(unmet, Rejection{Code: MissingProvider, Contract: c, Reason: "the world needs " + c + ", and its provider could not take part"})
	}
	return unmet
}

// addProviders walks the growing set and adds a provider for every requirement without one.
func (s *selecting) addProviders() {
	for i := 0; i < len(s.active); i++ {
		id := s.active[i]
		for _, c := range s.g.Plugins[id].Manifest.Requires {
			if s.served(c) {
				continue
			}
			provider, code, reason := s.provider(c)
			if provider == "" {
				s.reject(id, code, c, "%s needs %s: %s", id, c, reason)
				i--
				break
			}
			s.active = append(s.active, provider)
		}
	}
}

// dropReplacedDefaults: a default provider steps aside when another provider of the contract is active.
func (s *selecting) dropReplacedDefaults() {
	for _, id := range slices.Clone(s.active) {
		for _, p := range s.g.Plugins[id].Manifest.Provides {
			if !p.Default {
				continue
			}
			if other := s.regularProvider(p.Contract, id); other != "" {
				s.reject(id, DefaultReplaced, p.Contract, "%s provides %s by default and steps aside for %s", id, p.Contract, other)
				break
			}
		}
	}
}

func (s *selecting) regularProvider(contract, except string) string {
	for _, id := range s.active {
		if offered, isDefault := s.g.offers(id, contract); id != except && offered && !isDefault {
			return id
		}
	}
	return ""
}

// dropConflicts accepts the plugins one by one, wanted before added; the earlier wins.
func (s *selecting) dropConflicts() {
	order := slices.Clone(s.active)
	slices.SortStableFunc(order, func(a, b string) int {
		switch {
		case s.wanted[a] == s.wanted[b]:
			return 0
		case s.wanted[a]:
			return -1
		}
		return 1
	})
	var accepted []string
	for _, id := range order {
		clash := ""
		for _, other := range accepted {
			if reason, contract := s.g.clash(id, other); reason != "" {
				s.reject(id, Conflict, contract, "%s cannot run beside %s: %s", id, other, reason)
				clash = other
				break
			}
			if point := sharedSingle(s.g.Plugins[id].Manifest, s.g.Plugins[other].Manifest); point != "" {
				s.reject(id, SingleProvider, point, "%s cannot run beside %s: both provide %s, which has one provider in a session", id, other, point)
				clash = other
				break
			}
		}
		if clash == "" {
			accepted = append(accepted, id)
		}
	}
}

// clash says why two plugins exclude each other, "" when they do not.
func (g *Generation) clash(a, b string) (reason, contract string) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for _, c := range g.Plugins[pair[0]].Manifest.Conflicts {
			if offered, _ := g.offers(pair[1], c); offered {
				return fmt.Sprintf("%s conflicts with %s, which %s provides", pair[0], c, pair[1]), c
			}
		}
	}
	for _, e := range g.Plugins[a].Manifest.Contributes.Events {
		for _, other := range g.Plugins[b].Manifest.Contributes.Events {
			if e.Topic == other.Topic {
				return fmt.Sprintf("both declare the event %s, and a topic has one owner in a session", e.Topic), ""
			}
		}
	}
	return "", ""
}

// dropUnserved rejects, until nothing changes, who lost the provider of a requirement. Nobody is added again.
func (s *selecting) dropUnserved() {
	for again := true; again; {
		again = false
		for _, id := range slices.Clone(s.active) {
			for _, c := range s.g.Plugins[id].Manifest.Requires {
				if !s.served(c) {
					s.reject(id, MissingProvider, c, "%s needs %s, and its provider could not take part", id, c)
					again = true
					break
				}
			}
		}
	}
}

// dropUnneeded takes out what was added for a consumer that is gone.
func (s *selecting) dropUnneeded() {
	needed := map[string]bool{}
	var reach func(id string)
	reach = func(id string) {
		if needed[id] {
			return
		}
		needed[id] = true
		for _, c := range s.g.Plugins[id].Manifest.Requires {
			for _, p := range s.active {
				if offered, _ := s.g.offers(p, c); offered {
					reach(p)
				}
			}
		}
	}
	for _, id := range s.active {
		if s.wanted[id] {
			reach(id)
		}
	}
	s.active = slices.DeleteFunc(s.active, func(id string) bool { return !needed[id] })
}

func (s *selecting) result() Selection {
	out := Selection{Active: slices.Sorted(slices.Values(s.active))}
	for _, id := range out.Active {
		if !s.wanted[id] {
			out.AutoAdded = append(out.AutoAdded, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.rejected)) {
		out.Rejected = append(out.Rejected, s.rejected[id])
	}
	return out
}

// ActiveRuntimes are the runtimes of a selection, by id. Plugins that are no longer loaded have none.
func (g *Generation) ActiveRuntimes(sel Selection) []manifest.Runtime {
	var out []manifest.Runtime
	for _, id := range sel.Active {
		if p, ok := g.Plugins[id]; ok {
			out = append(out, p.Manifest.Runtimes...)
		}
	}
	slices.SortFunc(out, func(a, b manifest.Runtime) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// ResolveRuntimeProviders leaves out the runtimes whose plugin provides their output contract only by default, when another
// of the runtimes gives the same contract otherwise. The order is kept.
func (g *Generation) ResolveRuntimeProviders(runtimes []manifest.Runtime) []manifest.Runtime {
	regular := map[string]bool{}
	for _, r := range runtimes {
		if c := r.IO.OutputContract; c != "" && !g.isDefault(r) {
			regular[c] = true
		}
	}
	var out []manifest.Runtime
	for _, r := range runtimes {
		if c := r.IO.OutputContract; c != "" && regular[c] && g.isDefault(r) {
			continue
		}
		out = append(out, r)
	}
	return out
}

func (g *Generation) isDefault(r manifest.Runtime) bool {
	if _, ok := g.Plugins[r.PluginID]; !ok {
		return false
	}
	_, isDefault := g.offers(r.PluginID, r.IO.OutputContract)
	return isDefault
}

// Topics are the events agents of a selection may emit, by topic.
func (g *Generation) Topics(sel Selection) []tools.Topic {
	var out []tools.Topic
	for _, id := range sel.Active {
		p, ok := g.Plugins[id]
		if !ok {
			continue
		}
		for _, e := range p.Manifest.Contributes.Events {
			if e.Advertise {
				out = append(out, tools.Topic{Topic: e.Topic, Description: e.Description, Schema: e.Schema})
			}
		}
	}
	slices.SortFunc(out, func(a, b tools.Topic) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

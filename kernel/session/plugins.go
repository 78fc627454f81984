package session

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// PluginChange enables or disables a plugin in a session; one of the two is named.
type PluginChange struct {
	Enable, Disable string
	Requires        []string // contracts that the session's world needs
}

// Chosen is what a choice of plugins comes to (seed: turn-pipeline.txt, "Plugin dependencies and choosing providers").
type Chosen struct {
	Plugins  []projections.PluginRef // that take part, by id
	Rejected map[string]string       // by id, why those do not that somebody wanted or needed
	Aside    map[string]string       // by id, why default providers do not: another one is there
	Unmet    string                  // what the world needs and cannot have, "" for nothing
}

// Choose resolves a choice with the plugins that are installed. It must not block.
type Choose func(choice projections.PluginSelection, requires []string) Chosen

// Check refuses a choice that cannot be: the world would lose what it needs, or one of the plugins that a player asked for
// does not come in. asked names these.
func (c Chosen) Check(asked ...string) *Refusal {
	if c.Unmet != "" {
		return &Refusal{Code: "world_requirement_unmet", Message: c.Unmet}
	}
	var issues []Issue
	for _, id := range asked {
		if why, out := c.Rejected[id]; out {
			issues = append(issues, Issue{Field: "plugins." + id, Message: why})
		}
	}
	if len(issues) > 0 {
		return &Refusal{Code: "plugin_rejected", Message: issues[0].Message, Issues: issues}
	}
	return nil
}

// decidePlugins gives the choice as it is after a change, nothing when it is so already. The choice is kept beside what it
// comes to, so that what came in for somebody else goes with it. Plugins that stay are named as they were selected, for
// what they are installed as is found out before each execution; those that are not installed keep their place.
func decidePlugins(now projections.Session, c PluginChange, env Env) ([]proto.Message, *Refusal) {
	id := c.Enable + c.Disable
	place := func(list []projections.PluginRef, id string) int {
		return slices.IndexFunc(list, func(p projections.PluginRef) bool { return p.ID == id })
	}
	installed := func(id string) bool { return env.Digest == nil || env.Digest(id) != "" }
	if !installed(id) && place(now.Plugins, id) < 0 {
		return nil, &Refusal{Code: "plugin_not_found", Message: "there is no plugin " + strconv.Quote(id)}
	}
	without := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
	}
	next := projections.PluginSelection{Requested: without(now.Selection.Requested), Excluded: without(now.Selection.Excluded)}
	if c.Enable != "" {
		next.Requested = append(next.Requested, id)
	} else {
		next.Excluded = append(next.Excluded, id)
	}
	chosen := Chosen{}
	if env.Choose != nil {
		chosen = env.Choose(next, c.Requires)
	}
	if refusal := chosen.Check(c.Enable); refusal != nil {
		return nil, refusal
	}
	if why, aside := chosen.Aside[c.Enable]; aside {
		return nil, &Refusal{Code: "plugin_rejected", Message: why}
	}
	var plugins []projections.PluginRef
	for _, p := range chosen.Plugins {
		if at := place(now.Plugins, p.ID); at >= 0 {
			p = now.Plugins[at]
		}
		plugins = append(plugins, p)
	}
	for _, p := range now.Plugins {
		if place(plugins, p.ID) < 0 && !installed(p.ID) && !slices.Contains(next.Excluded, p.ID) {
			plugins = append(plugins, p)
		}
	}
	slices.SortFunc(plugins, func(a, b projections.PluginRef) int { return strings.Compare(a.ID, b.ID) })
	chosenBefore := now.Selection.Requested
	if c.Enable == "" {
		chosenBefore = now.Selection.Excluded
	}
	if slices.Contains(chosenBefore, id) && slices.Equal(plugins, now.Plugins) {
		return nil, nil
	}
	return []proto.Message{&eventsv1.PluginSelectionChanged{Selection: selectionEvent(next), Plugins: pluginRefs(plugins)}}, nil
}

func selectionEvent(s projections.PluginSelection) *eventsv1.PluginSelection {
	return &eventsv1.PluginSelection{Requested: s.Requested, Excluded: s.Excluded}
}

func pluginRefs(plugins []projections.PluginRef) (out []*eventsv1.PluginRef) {
	for _, p := range plugins {
		out = append(out, &eventsv1.PluginRef{Id: p.ID, Version: p.Version, Digest: p.Digest})
	}
	return out
}

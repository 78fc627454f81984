package turn

import (
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// ReasonSetupCycle is the reason of a setup runtime that no order can unblock.
const ReasonSetupCycle = "setup-session-cycle"

// SetupRemoved is the resolution of a setup runtime whose plugin is no longer in the session, or no longer has it.
const SetupRemoved = "removed"

// SetupChanges gives what the setup mirror of a session has to say anew before an execution: runtimes of plugins that came
// in, or whose version changed, are pending in a new generation, so that an old "done" does not hide a rerun; those that are
// gone keep nobody waiting; and those that no order can unblock are blocked (reference: plugins.md §7.5; seed:
// turn-pipeline.txt §2.1). active are the runtimes of the session's plugins, versions the versions of those plugins that
// are installed: what a plugin that could not be loaded has done is left alone.
func SetupChanges(s projections.Session, active []manifest.Runtime, versions map[string]string) []projections.SetupRuntime {
	changed := map[string]projections.SetupRuntime{}
	there := map[string]bool{}
	for _, r := range active {
		if r.Schedule.Stage != manifest.Setup || r.Schedule.SubagentOnly || r.Schedule.Trigger != manifest.TriggerAuto {
			continue
		}
		there[r.ID] = true
		version := versions[r.PluginID]
		mirror, known := s.SetupOf(r.ID)
		if known && mirror.Resolution != SetupRemoved && madeFor(s, r.PluginID, mirror) == version {
			continue
		}
		changed[r.ID] = projections.SetupRuntime{
			RuntimeID: r.ID, Status: projections.SetupPending, Generation: mirror.Generation + 1, MaxAttempts: uint32(r.Schedule.MaxTriggerCount), PluginVersion: version,
		}
	}
	for _, mirror := range s.Setup {
		plugin := manifest.PluginOf(mirror.RuntimeID)
		_, installed := versions[plugin]
		selected := slices.ContainsFunc(s.Plugins, func(p projections.PluginRef) bool { return p.ID == plugin })
		if there[mirror.RuntimeID] || mirror.Resolution == SetupRemoved || selected && !installed {
			continue
		}
		mirror.Status, mirror.Resolution, mirror.Reason, mirror.LastError = projections.SetupDone, SetupRemoved, "", ""
		changed[mirror.RuntimeID] = mirror
	}
	now := func(id string) (projections.SetupRuntime, bool) {
		if su, ok := changed[id]; ok {
			return su, true
		}
		return s.SetupOf(id)
	}
	for _, id := range setupCycles(active, now) {
		su, _ := now(id)
		su.Status, su.Reason = projections.SetupBlocked, ReasonSetupCycle
		changed[id] = su
	}
	return slices.SortedFunc(maps.Values(changed), func(a, b projections.SetupRuntime) int { return strings.Compare(a.RuntimeID, b.RuntimeID) })
}

// madeFor is the plugin version a mirror was made for; one that does not say was made when the session was.
func madeFor(s projections.Session, plugin string, mirror projections.SetupRuntime) string {
	if mirror.PluginVersion != "" {
		return mirror.PluginVersion
	}
	for _, p := range s.Plugins {
		if p.ID == plugin {
			return p.Version
		}
	}
	return ""
}

// setupCycles gives the pending setup runtimes that wait for each other through needs(scope: session) in a way no order can
// unblock, by id. A target that is done is met; one that is blocked, or in no enabled plugin, is for the player to deal
// with, and makes no cycle. Whoever only waits behind a cycle is none of its members (seed: §2.1, "Only members that no
// order can unblock are marked blocked").
func setupCycles(active []manifest.Runtime, mirror func(string) (projections.SetupRuntime, bool)) []string {
	rest := map[string]manifest.Runtime{}
	for _, r := range active {
		if su, ok := mirror(r.ID); ok && su.Status == projections.SetupPending && r.Schedule.Stage == manifest.Setup {
			rest[r.ID] = r
		}
	}
	// Who can be done in some order leaves; who is left waits for somebody who is left.
	for again := true; again; {
		again = false
		for _, id := range slices.Sorted(maps.Keys(rest)) {
			if len(stuck(rest[id], rest, active, mirror)) == 0 {
				delete(rest, id)
				again = true
			}
		}
	}
	waits := map[string][]string{}
	for id, r := range rest {
		waits[id] = stuck(r, rest, active, mirror)
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		if reaches(waits, id, id, map[string]bool{}) {
			out = append(out, id)
		}
	}
	return out
}

// stuck are the runtimes among rest that a runtime cannot do without: of a need for one provider all those that are left,
// when there is none that is done, blocked, or can finish first.
func stuck(r manifest.Runtime, rest map[string]manifest.Runtime, active []manifest.Runtime, mirror func(string) (projections.SetupRuntime, bool)) (out []string) {
	for _, n := range r.Schedule.Needs {
		if n.Scope != "session" {
			continue
		}
		var left []string
		free := false
		for _, a := range active {
			if a.ID == r.ID && n.Runtime == "" || !provides(a.ID, a.IO.OutputContract, n.Runtime, n.Contract) {
				continue
			}
			if _, ok := mirror(a.ID); !ok {
				continue
			}
			if _, waiting := rest[a.ID]; waiting {
				left = append(left, a.ID)
			} else {
				free = true
			}
		}
		if n.Runtime != "" || n.Cardinality == "all" || !free {
			out = append(out, left...)
		}
	}
	return out
}

// reaches says whether there is a way from one runtime to another along what they wait for.
func reaches(waits map[string][]string, from, to string, seen map[string]bool) bool {
	for _, next := range waits[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(waits, next, to, seen) {
				return true
			}
		}
	}
	return false
}

package turn

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

func session(n manifest.Need) manifest.Need { n.Scope = "session"; return n }

func pending(ids ...string) (out []projections.SetupRuntime) {
	for _, id := range ids {
		out = append(out, projections.SetupRuntime{RuntimeID: id, Status: projections.SetupPending, Generation: 1, PluginVersion: "1"})
	}
	return out
}

func changes(list []projections.SetupRuntime) (out []string) {
	for _, su := range list {
		line := su.RuntimeID + " " + su.Status
		if su.Reason+su.Resolution != "" {
			line += " " + su.Reason + su.Resolution
		}
		out = append(out, line)
	}
	return out
}

// Rule TP:149–152: only setup runtimes that no order can unblock are blocked before anything runs, with the reason
// setup-session-cycle; what is done, blocked or not enabled makes no cycle; one provider that can finish first is enough,
// with cardinality all every one counts.
func TestSetupCycles(t *testing.T) {
	s := manifest.Setup
	with := func(status string, list ...projections.SetupRuntime) []projections.SetupRuntime {
		list[0].Status = status
		return list
	}
	for _, c := range []struct {
		name   string
		active []manifest.Runtime
		mirror []projections.SetupRuntime
		want   []string
	}{
		{"a chain", []manifest.Runtime{auto("a", s, needs(session(run("b")))), auto("b", s)}, pending("a", "b"), nil},
		{"two wait for each other", []manifest.Runtime{auto("a", s, needs(session(run("b")))), auto("b", s, needs(session(run("a"))))}, pending("a", "b"), []string{"a", "b"}},
		{"itself", []manifest.Runtime{auto("a", s, needs(session(run("a"))))}, pending("a"), []string{"a"}},
		{"behind a cycle is no member", []manifest.Runtime{auto("a", s, needs(session(run("b")))), auto("b", s, needs(session(run("a")))), auto("龙胆", s, needs(session(run("a"))))}, pending("a", "b", "龙胆"), []string{"a", "b"}},
		{"before a cycle is no member", []manifest.Runtime{auto("a", s, needs(session(run("b")), session(run("c")))), auto("b", s, needs(session(run("a")))), auto("c", s)}, pending("a", "b", "c"), []string{"a", "b"}},
		{"one of them is done", []manifest.Runtime{auto("a", s, needs(session(run("b")))), auto("b", s, needs(session(run("a"))))}, with(projections.SetupDone, pending("a", "b")...), nil},
		{"one of them is blocked already", []manifest.Runtime{auto("a", s, needs(session(run("b")))), auto("b", s, needs(session(run("a"))))}, with(projections.SetupBlocked, pending("a", "b")...), nil},
		{"a target that is not enabled", []manifest.Runtime{auto("a", s, needs(session(run("gone"))))}, pending("a"), nil},
		{"turn scope is another matter", []manifest.Runtime{auto("a", s, needs(run("b"))), auto("b", s, needs(run("a")))}, pending("a", "b"), nil},
		{"another provider can finish first", []manifest.Runtime{auto("a", s, needs(session(one("k@1")))), auto("b", s, gives("k@1"), needs(session(run("a")))), auto("c", s, gives("k@1"))}, pending("a", "b", "c"), nil},
		{"another provider is blocked", []manifest.Runtime{auto("a", s, needs(session(one("k@1")))), auto("b", s, gives("k@1"), needs(session(run("a")))), auto("c", s, gives("k@1"))}, with(projections.SetupBlocked, pending("c", "a", "b")...), nil},
		{"the only provider", []manifest.Runtime{auto("a", s, needs(session(one("k@1")))), auto("b", s, gives("k@1"), needs(session(run("a"))))}, pending("a", "b"), []string{"a", "b"}},
		{"every provider", []manifest.Runtime{auto("a", s, needs(session(all("k@1")))), auto("b", s, gives("k@1"), needs(session(run("a")))), auto("c", s, gives("k@1"))}, pending("a", "b", "c"), []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			versions := map[string]string{}
			for _, r := range c.active {
				versions[r.PluginID] = "1"
			}
			var want []string
			for _, id := range c.want {
				want = append(want, id+" blocked setup-session-cycle")
			}
			expect(t, "blocked", changes(SetupChanges(projections.Session{Setup: c.mirror}, c.active, versions)), want)
		})
	}
}

// Rule REF plugins.md §7.5: a plugin that comes in, comes back or changes its version makes its setup runtimes pending in a
// new generation; one that is gone keeps nobody waiting; one that could not be loaded is left alone.
func TestSetupChanges(t *testing.T) {
	su := func(id, status, version string) projections.SetupRuntime {
		return projections.SetupRuntime{RuntimeID: id, Status: status, Generation: 2, Attempts: 3, PluginVersion: version, Resolution: map[string]string{projections.SetupDone: "completed"}[status]}
	}
	s := projections.Session{
		Plugins: []projections.PluginRef{{ID: "same", Version: "1"}, {ID: "new", Version: "1"}, {ID: "unsaid", Version: "1"}, {ID: "unsaid-new", Version: "1"}, {ID: "broken", Version: "1"}, {ID: "lost", Version: "1"}},
		Setup: []projections.SetupRuntime{
			su("back", projections.SetupDone, "1"), su("broken/x", projections.SetupPending, "1"), su("gone/x", projections.SetupBlocked, "1"), su("lost/old", projections.SetupPending, "1"),
			su("new", projections.SetupDone, "1"), su("same", projections.SetupDone, "1"), su("unsaid", projections.SetupDone, ""), su("unsaid-new", projections.SetupDone, ""),
		},
	}
	s.Setup[0].Resolution = SetupRemoved
	tries := func(r *manifest.Runtime) { r.Schedule.MaxTriggerCount = 5 }
	active := []manifest.Runtime{
		auto("back", manifest.Setup), auto("fresh", manifest.Setup, tries), auto("new", manifest.Setup), auto("same", manifest.Setup), auto("unsaid", manifest.Setup), auto("unsaid-new", manifest.Setup),
		auto("story", manifest.Narrative), auto("helper", manifest.Setup, func(r *manifest.Runtime) { r.Schedule.SubagentOnly = true }),
	}
	versions := map[string]string{"back": "1", "fresh": "1", "new": "2", "same": "1", "unsaid": "1", "unsaid-new": "2", "lost": "1"}
	got := SetupChanges(s, active, versions)
	expect(t, "changes", changes(got), []string{"back pending", "fresh pending", "gone/x done removed", "lost/old done removed", "new pending", "unsaid-new pending"})
	for _, c := range got {
		switch c.RuntimeID {
		case "fresh":
			expect(t, "fresh", c, projections.SetupRuntime{RuntimeID: "fresh", Status: projections.SetupPending, Generation: 1, MaxAttempts: 5, PluginVersion: "1"})
		case "new":
			expect(t, "new", c, projections.SetupRuntime{RuntimeID: "new", Status: projections.SetupPending, Generation: 3, PluginVersion: "2"})
		}
	}
	after := s
	for _, c := range got {
		i := slices.IndexFunc(after.Setup, func(su projections.SetupRuntime) bool { return su.RuntimeID == c.RuntimeID })
		if after.Setup = slices.Clone(after.Setup); i < 0 {
			after.Setup = append(after.Setup, c)
		} else {
			after.Setup[i] = c
		}
	}
	expect(t, "said once", len(SetupChanges(after, active, versions)), 0)
}

// Whatever the needs: who is not blocked can be done in some order once the blocked ones are waived, and nobody is blocked
// who could have been done without that.
func TestSetupCyclesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "龙胆"}[:rapid.IntRange(1, 5).Draw(rt, "runtimes")]
		var active []manifest.Runtime
		for _, id := range names {
			r := auto(id, manifest.Setup, gives(rapid.SampledFrom([]string{"", "k@1", "m@1"}).Draw(rt, "contract")))
			for range rapid.IntRange(0, 3).Draw(rt, "needs") {
				n := session(manifest.Need{Runtime: rapid.SampledFrom(append(slices.Clone(names), "nobody")).Draw(rt, "runtime")})
				if rapid.Bool().Draw(rt, "by contract") {
					n = session(manifest.Need{Contract: rapid.SampledFrom([]string{"k@1", "m@1"}).Draw(rt, "needed"), Cardinality: rapid.SampledFrom([]string{"one", "all"}).Draw(rt, "cardinality")})
				}
				r.Schedule.Needs = append(r.Schedule.Needs, n)
			}
			active = append(active, r)
		}
		versions := map[string]string{}
		for _, id := range names {
			versions[id] = "1"
		}
		blocked := map[string]bool{}
		for _, c := range SetupChanges(projections.Session{Setup: pending(names...)}, active, versions) {
			blocked[c.RuntimeID] = true
		}
		// play does everyone whose needs are met, until nobody is left to do; start is done from the beginning.
		play := func(start map[string]bool) map[string]bool {
			done := maps.Clone(start)
			for again := true; again; {
				again = false
				for _, r := range active {
					ok := !done[r.ID]
					for _, n := range r.Schedule.Needs {
						total, good := 0, 0
						for _, a := range active {
							if provides(a.ID, a.IO.OutputContract, n.Runtime, n.Contract) && (n.Runtime != "" || a.ID != r.ID) {
								if total++; done[a.ID] {
									good++
								}
							}
						}
						ok = ok && (total == 0 || good == total || n.Runtime == "" && n.Cardinality != "all" && good > 0) // nobody there: the player's matter
					}
					if ok {
						done[r.ID], again = true, true
					}
				}
			}
			return done
		}
		for id := range play(map[string]bool{}) {
			if blocked[id] {
				rt.Fatalf("%s is blocked and could have been done", id)
			}
		}
		if done := play(blocked); len(done) != len(names) {
			rt.Fatalf("with %v waived only %v can be done", blocked, done)
		}
	})
}

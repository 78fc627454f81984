package turn

import (
	"slices"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

func never(manifest.Need) bool  { return false }
func always(manifest.Need) bool { return true }

func one(contract string) manifest.Need {
	return manifest.Need{Contract: contract, Cardinality: "one", Scope: "turn"}
}

func all(contract string) manifest.Need {
	return manifest.Need{Contract: contract, Cardinality: "all", Scope: "turn"}
}

func run(id string) manifest.Need {
	return manifest.Need{Runtime: id, Cardinality: "one", Scope: "turn"}
}

// Rule TP:627: needs orders and gates, after only orders, and an input of the turn is an edge too.
// Rule TP:642: runtimes of a stage that do not depend on each other are of one level.
// Rule TP:307–309: edges of needs, after and inputs order a stage; ties go by name; cycles and all behind them are set apart.
// Rule TP:151: with cardinality one a provider that can finish first is no cycle; with all it waits for every one.
func TestLevels(t *testing.T) {
	s := manifest.PostTurn
	for _, c := range []struct {
		name     string
		runtimes []manifest.Runtime
		met      func(manifest.Need) bool
		levels   [][]string
		cyclic   []string
	}{
		{"nobody", nil, never, nil, nil},
		{"independent, by name", []manifest.Runtime{auto("c", s), auto("a", s), auto("b/龙", s)}, never, [][]string{{"a", "b/龙", "c"}}, nil},
		{"needs", []manifest.Runtime{auto("a", s, needs(run("b"))), auto("b", s)}, never, [][]string{{"b"}, {"a"}}, nil},
		{"after", []manifest.Runtime{auto("a", s, after("b")), auto("b", s)}, never, [][]string{{"b"}, {"a"}}, nil},
		{"after nobody there", []manifest.Runtime{auto("a", s, after("elsewhere"))}, never, [][]string{{"a"}}, nil},
		{"input", []manifest.Runtime{auto("a", s, reads("x", manifest.Binding{Contract: "k@1"})), auto("b", s, gives("k@1"))}, never, [][]string{{"b"}, {"a"}}, nil},
		{"optional input orders too", []manifest.Runtime{auto("a", s, reads("x", manifest.Binding{Runtime: "b", Required: false})), auto("b", s)}, never, [][]string{{"b"}, {"a"}}, nil},
		{"committed input does not", []manifest.Runtime{auto("a", s, reads("x", manifest.Binding{Contract: "k@1", Scope: "committed"})), auto("b", s, gives("k@1"))}, never, [][]string{{"a", "b"}}, nil},
		{"kernel input does not", []manifest.Runtime{auto("a", s, reads("x", manifest.Binding{Kernel: "turn-digest@1"})), auto("b", s)}, never, [][]string{{"a", "b"}}, nil},
		{"a chain and a diamond", []manifest.Runtime{
			auto("d", s, needs(run("b"), run("c"))), auto("b", s, needs(run("a"))), auto("c", s, after("a")), auto("a", s),
		}, never, [][]string{{"a"}, {"b", "c"}, {"d"}}, nil},
		{"all providers", []manifest.Runtime{auto("a", s, needs(all("k@1"))), auto("b", s, gives("k@1")), auto("c", s, gives("k@1"), after("b"))}, never, [][]string{{"b"}, {"c"}, {"a"}}, nil},
		{"one provider waits for all that are there", []manifest.Runtime{auto("a", s, needs(one("k@1"))), auto("b", s, gives("k@1")), auto("c", s, gives("k@1"), after("b"))}, never, [][]string{{"b"}, {"c"}, {"a"}}, nil},
		{"an own contract is no edge", []manifest.Runtime{auto("a", s, gives("k@1"), needs(one("k@1")))}, never, [][]string{{"a"}}, nil},
		{"cycle", []manifest.Runtime{auto("a", s, needs(run("b"))), auto("b", s, after("a"))}, never, nil, []string{"a", "b"}},
		{"cycle, what is behind it, and others", []manifest.Runtime{
			auto("a", s, needs(run("b"))), auto("b", s, after("a")), auto("behind", s, after("b")), auto("far behind", s, reads("x", manifest.Binding{Runtime: "behind"})), auto("free", s), auto("after free", s, after("free")),
		}, never, [][]string{{"free"}, {"after free"}}, []string{"a", "b", "behind", "far behind"}},
		{"waits for itself", []manifest.Runtime{auto("a", s, after("a"))}, never, [][]string{{"a"}}, nil},
		// "As long as one provider is done, blocked, or can finish first, it does not count as a cycle" (seed §2.1).
		{"false cycle: another provider can finish first", []manifest.Runtime{auto("a", s, needs(one("k@1"))), auto("b", s, gives("k@1"), after("a")), auto("c", s, gives("k@1"))}, never, [][]string{{"c"}, {"a"}, {"b"}}, nil},
		{"true cycle: it is the only provider", []manifest.Runtime{auto("a", s, needs(one("k@1"))), auto("b", s, gives("k@1"), after("a"))}, never, nil, []string{"a", "b"}},
		{"true cycle: all are needed", []manifest.Runtime{auto("a", s, needs(all("k@1"))), auto("b", s, gives("k@1"), after("a")), auto("c", s, gives("k@1"))}, never, [][]string{{"c"}}, []string{"a", "b"}},
		{"a provider in a cycle of others", []manifest.Runtime{
			auto("a", s, needs(one("k@1"))), auto("b", s, gives("k@1"), after("x")), auto("x", s, after("b")), auto("c", s, gives("k@1")),
		}, never, [][]string{{"c"}, {"a"}}, []string{"b", "x"}},
		// "A provider that already satisfied the single-provider needs in an earlier stage counts; after, all and input
		// edges are kept" (reference §7.3).
		{"met earlier", []manifest.Runtime{auto("a", s, needs(one("k@1"))), auto("b", s, gives("k@1"), after("a"))}, always, [][]string{{"a"}, {"b"}}, nil},
		{"met earlier, but all are needed", []manifest.Runtime{auto("a", s, needs(all("k@1"))), auto("b", s, gives("k@1"), after("a"))}, always, nil, []string{"a", "b"}},
		{"met earlier, but after", []manifest.Runtime{
			auto("a", s, needs(one("k@1")), func(r *manifest.Runtime) { r.Schedule.After = []manifest.Need{{Contract: "k@1"}} }), auto("b", s, gives("k@1"), after("a")),
		}, always, nil, []string{"a", "b"}},
		{"met earlier, but read", []manifest.Runtime{auto("a", s, needs(one("k@1")), reads("x", manifest.Binding{Contract: "k@1"})), auto("b", s, gives("k@1"), after("a"))}, always, nil, []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 3 { // whatever the order they come in
				levels, cyclic := Levels(c.runtimes, c.met)
				var got [][]string
				for _, l := range levels {
					got = append(got, ids(l))
				}
				expect(t, "levels", got, c.levels)
				expect(t, "cyclic", ids(cyclic), c.cyclic)
				if n := len(c.runtimes); n > 0 {
					c.runtimes = append(slices.Clone(c.runtimes[1:]), c.runtimes[0])
				}
			}
		})
	}
}

// Rule REF plugins.md §7.3: who needs what did not succeed is skipped; TP:147–150: scope session reads the saved done state:
// met at once when it is done, unmet while it is blocked or not enabled.
func TestGate(t *testing.T) {
	const pre, post = manifest.PreTurn, manifest.PostTurn
	ok := func(id, contract, output string) Result {
		return Result{RuntimeID: id, PluginID: "p", Contract: contract, Status: Succeeded, Output: []byte(output)}
	}
	with := func(r Result, change func(*Result)) Result { change(&r); return r }
	failed := func(r *Result) { r.Status = Failed }
	skippedBy := func(reason string) func(*Result) {
		return func(r *Result) { r.Status, r.SkipReason = Skipped, reason }
	}
	session := func(n manifest.Need) manifest.Need { n.Scope = "session"; return n }
	done := projections.Session{Setup: []projections.SetupRuntime{{RuntimeID: "a", Status: projections.SetupDone}, {RuntimeID: "b", Status: projections.SetupPending}, {RuntimeID: "c", Status: projections.SetupBlocked}}}

	for _, c := range []struct {
		name    string
		r       manifest.Runtime
		active  []manifest.Runtime
		results []Result
		session projections.Session
		phase   string
		skip    string
		needs   [][]string
	}{
		{name: "nothing needed", r: auto("x", post)},
		{name: "runtime succeeded", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{ok("a", "", "1")}, needs: [][]string{{"a"}}},
		{name: "runtime is absent", r: auto("x", post, needs(run("a"))), skip: SkipDependency},
		{name: "runtime did not run", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, skip: SkipDependency},
		{name: "runtime failed", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{with(ok("a", "", "1"), failed)}, skip: SkipDependency},
		{name: "its guard answered", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{with(ok("a", "", "1"), skippedBy(SkipGuard))}, needs: [][]string{{"a"}}},
		{name: "it was skipped for a dependency", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{with(ok("a", "", "1"), skippedBy(SkipDependency))}, skip: SkipDependency},
		{name: "its handler skipped", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{with(ok("a", "", "1"), skippedBy("handler"))}, skip: SkipDependency},
		{name: "without an output it still succeeded", r: auto("x", post, needs(run("a"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{ok("a", "", "")}, needs: [][]string{{"a"}}},
		{name: "one of two providers", r: auto("x", post, needs(one("k@1"))), active: []manifest.Runtime{auto("a", pre, gives("k@1")), auto("b", pre, gives("k@1"))},
			results: []Result{with(ok("a", "k@1", "1"), failed), ok("b", "k@1", "1")}, needs: [][]string{{"b"}}},
		{name: "either of two providers", r: auto("x", post, needs(one("k@1"))), active: []manifest.Runtime{auto("b", pre, gives("k@1")), auto("a", pre, gives("k@1"))},
			results: []Result{ok("b", "k@1", "1"), ok("a", "k@1", "1")}, needs: [][]string{{"a", "b"}}},
		{name: "no provider", r: auto("x", post, needs(one("k@1"))), active: []manifest.Runtime{auto("a", pre)}, results: []Result{ok("a", "", "1")}, skip: SkipDependency},
		{name: "all providers", r: auto("x", post, needs(all("k@1"))), active: []manifest.Runtime{auto("b", pre, gives("k@1")), auto("a", pre, gives("k@1"))},
			results: []Result{ok("b", "k@1", "1"), ok("a", "k@1", "1")}, needs: [][]string{{"a"}, {"b"}}},
		{name: "all but one", r: auto("x", post, needs(all("k@1"))), active: []manifest.Runtime{auto("a", pre, gives("k@1")), auto("b", pre, gives("k@1"))}, results: []Result{ok("a", "k@1", "1")}, skip: SkipDependency},
		{name: "all of none", r: auto("x", post, needs(all("k@1"))), skip: SkipDependency},
		{name: "all, apart from who never runs by itself", r: auto("x", post, needs(all("k@1"))), active: []manifest.Runtime{
			auto("a", pre, gives("k@1")), auto("b", "", gives("k@1"), func(r *manifest.Runtime) { r.Schedule.Trigger = manifest.TriggerManual }),
			auto("c", "", gives("k@1"), func(r *manifest.Runtime) { r.Schedule.SubagentOnly = true }), auto("d", manifest.Setup, gives("k@1")),
		}, results: []Result{ok("a", "k@1", "1")}, needs: [][]string{{"a"}}},

		{name: "saved done state", r: auto("x", manifest.Setup, needs(session(run("a")))), active: []manifest.Runtime{auto("a", manifest.Setup)}, session: done, phase: "setup"},
		{name: "pending", r: auto("x", manifest.Setup, needs(session(run("b")))), active: []manifest.Runtime{auto("b", manifest.Setup)}, session: done, phase: "setup", skip: SkipDependency},
		{name: "blocked", r: auto("x", manifest.Setup, needs(session(run("c")))), active: []manifest.Runtime{auto("c", manifest.Setup)}, session: done, phase: "setup", skip: SkipDependency},
		{name: "not enabled", r: auto("x", manifest.Setup, needs(session(run("gone")))), session: done, phase: "setup", skip: SkipDependency},
		{name: "done in this execution", r: auto("x", manifest.Setup, needs(session(run("b")))), active: []manifest.Runtime{auto("b", manifest.Setup)}, session: done, phase: "setup",
			results: []Result{with(ok("b", "", "1"), func(r *Result) { r.Done = true })}, needs: [][]string{{"b"}}},
		{name: "succeeded in this execution but not done", r: auto("x", manifest.Setup, needs(session(run("b")))), active: []manifest.Runtime{auto("b", manifest.Setup)}, session: done, phase: "setup",
			results: []Result{ok("b", "", "1")}, skip: SkipDependency},
		{name: "turn scope in the set-up reads no saved state", r: auto("x", manifest.Setup, needs(run("a"))), active: []manifest.Runtime{auto("a", manifest.Setup)}, session: done, phase: "setup", skip: SkipDependency},
		{name: "one of a contract is done", r: auto("x", manifest.Setup, needs(session(one("k@1")))), active: []manifest.Runtime{auto("a", manifest.Setup, gives("k@1")), auto("b", manifest.Setup, gives("k@1"))}, session: done, phase: "setup"},
		{name: "all of a contract, one is pending", r: auto("x", manifest.Setup, needs(session(all("k@1")))), active: []manifest.Runtime{auto("a", manifest.Setup, gives("k@1")), auto("b", manifest.Setup, gives("k@1"))}, session: done, phase: "setup", skip: SkipDependency},
		{name: "all of a contract, the last one now", r: auto("x", manifest.Setup, needs(session(all("k@1")))), active: []manifest.Runtime{auto("a", manifest.Setup, gives("k@1")), auto("b", manifest.Setup, gives("k@1"))}, session: done, phase: "setup",
			results: []Result{with(ok("b", "k@1", "1"), func(r *Result) { r.Done = true })}, needs: [][]string{{"b"}}},

		{name: "required input", r: auto("x", post, reads("i", manifest.Binding{Contract: "k@1", Required: true})), results: []Result{ok("b", "k@1", "1"), ok("a", "k@1", "2")}, needs: [][]string{{"a", "b"}}},
		{name: "required input of all", r: auto("x", post, reads("i", manifest.Binding{Contract: "k@1", Cardinality: "all", Required: true})), results: []Result{ok("b", "k@1", "1"), ok("a", "k@1", "2")}, needs: [][]string{{"a"}, {"b"}}},
		{name: "required input is missing", r: auto("x", post, reads("i", manifest.Binding{Contract: "k@1", Required: true})), skip: SkipInput},
		{name: "required input has no output", r: auto("x", post, reads("i", manifest.Binding{Runtime: "a", Required: true})), results: []Result{ok("a", "", "")}, skip: SkipInput},
		{name: "required input selects nothing", r: auto("x", post, reads("i", manifest.Binding{Runtime: "a", Select: "/name", Required: true})), results: []Result{ok("a", "", `{"text":"x"}`)}, skip: SkipInput},
		{name: "required input failed", r: auto("x", post, reads("i", manifest.Binding{Runtime: "a", Required: true})), results: []Result{with(ok("a", "", "1"), failed)}, skip: SkipInput},
		{name: "optional input is missing", r: auto("x", post, reads("i", manifest.Binding{Contract: "k@1"}))},
		{name: "optional input is no dependency", r: auto("x", post, reads("i", manifest.Binding{Runtime: "a"})), results: []Result{ok("a", "", "1")}},
		{name: "committed input is not asked for", r: auto("x", post, reads("i", manifest.Binding{Contract: "k@1", Scope: "committed", Required: true}))},
		{name: "kernel input is not asked for", r: auto("x", post, reads("i", manifest.Binding{Kernel: "turn-digest@1", Required: true}))},
		{name: "need before input", r: auto("x", post, needs(run("a")), reads("i", manifest.Binding{Contract: "k@1", Required: true})), skip: SkipDependency},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.phase == "" {
				c.phase = projections.PhasePlaying
			}
			skip, needs := Plan{Phase: c.phase, Session: c.session, Active: c.active}.gate(c.r, c.results)
			expect(t, "skip", skip, c.skip)
			expect(t, "needs", needs, c.needs)
		})
	}
}

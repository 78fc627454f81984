package turn

import (
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// planned begins an execution that is not the ordinary one of a playing session.
func planned(t testing.TB, change func(*Plan), active ...manifest.Runtime) *stage {
	s := newStage(t, projections.PhasePlaying, projections.Session{ID: "s1", Status: projections.StatusActive}, active...)
	change(&s.state.plan)
	s.state = New(s.state.plan)
	return s
}

func named(ids ...string) (out []projections.Target) {
	for _, id := range ids {
		out = append(out, projections.Target{RuntimeID: id})
	}
	return out
}

func manual(id string, change ...func(*manifest.Runtime)) manifest.Runtime {
	return auto(id, "", append([]func(*manifest.Runtime){func(r *manifest.Runtime) { r.Schedule.Trigger = manifest.TriggerManual }}, change...)...)
}

// Rule TP:658–661: a run by name is selected by its name and passes every gate; its turn inputs are projected away
// (REF plugins.md §8, "Manual activation"), its payload is its activation.
func TestManual(t *testing.T) {
	gated := func(r *manifest.Runtime) {
		r.Schedule.StartTurn, r.Schedule.MaxTriggerCount, r.Schedule.Every = 9, 1, 7
	}
	s := planned(t, func(p *Plan) {
		p.Session.Ledger = []projections.LedgerEntry{{RuntimeID: "paint", Runs: 5}}
		p.Targets = []projections.Target{{RuntimeID: "paint", Payload: projections.RawJSON(`{"what":"码头"}`)}}
	}, auto("paint", manifest.PostTurn, gated, needs(run("nobody")), reads("text", manifest.Binding{Contract: "k@1", Required: true}), reads("digest", manifest.Binding{Kernel: InputTurnDigest, Required: true})),
		auto("story", manifest.Narrative, gives("k@1")), manual("other"))
	s.step(Begin{})
	r := s.running["paint"]
	expect(t, "log", s.log, []string{"start paint"})
	expect(t, "run", []any{r.Manual, string(r.Payload), len(r.Inputs), len(r.Needs), r.Event == nil}, []any{true, `{"what":"码头"}`, 0, 0, true})
	s.end("paint")
	expect(t, "log", strings.Join(s.log, "; "), "start paint; finish")
}

// Rule TP:699: a sub-agent is selected by no name; REF plugins.md §7.1: a paused or ended session runs nothing.
func TestUnavailableTargets(t *testing.T) {
	helper := manual("helper", func(r *manifest.Runtime) { r.Schedule.SubagentOnly = true })
	s := planned(t, func(p *Plan) { p.Targets = named("helper", "gone", "paint", "paint") }, helper, manual("paint")).play()
	expect(t, "log", strings.Join(s.log, "; "), "target-unavailable helper; target-unavailable gone; start paint; finish")
	expect(t, "results", s.order(), []string{"paint"})
	for _, status := range []string{projections.StatusPaused, projections.StatusEnded} {
		s = planned(t, func(p *Plan) { p.Session.Status, p.Targets = status, named("paint") }, manual("paint")).play()
		expect(t, status, s.log, []string{"finish"})
	}
}

// Rule REF plugins.md §4.2: io.payloadSchema holds for what activates a manual and an event run; one that does not fit
// fails without being started.
func TestPayloads(t *testing.T) {
	wants := func(raw string) func(*manifest.Runtime) {
		return func(r *manifest.Runtime) { r.IO.PayloadSchema = []byte(raw) }
	}
	object := wants(`{"type":"object","required":["名"],"properties":{"名":{"type":"string"}}}`)
	contract := func(r *manifest.Runtime) { r.IO.PayloadFrom = "k@1" }
	for _, c := range []struct {
		name    string
		r       manifest.Runtime
		payload string
		status  Status
	}{
		{"fits", manual("x", object), `{"名":"龙胆"}`, Succeeded},
		{"does not fit", manual("x", object), `{"名":1}`, Failed},
		{"nothing", manual("x", object), ``, Failed},
		{"anything goes without a schema", manual("x"), `[1]`, Succeeded},
		{"fits a contract", manual("x", contract), `3`, Succeeded},
		{"does not fit a contract", manual("x", contract), `"3"`, Failed},
		{"a schema that is none", manual("x", wants(`{"type":7}`)), `{}`, Failed},
		{"of an event", on("x", "a.b", object), `{"名":"龙胆"}`, Succeeded},
		{"of an event, does not fit", on("x", "a.b", object), `{}`, Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := planned(t, func(p *Plan) {
				p.Contracts = map[string]rawJSON{"k@1": rawJSON(`{"type":"number"}`)}
				if c.r.Schedule.Trigger == manifest.TriggerManual {
					p.Targets = []projections.Target{{RuntimeID: "x", Payload: projections.RawJSON(c.payload)}}
				}
			}, c.r, auto("a", manifest.PostTurn))
			s.behave["a"] = func(r *Result) { r.Events = []sdk.EmittedEvent{{Topic: "a.b", Data: rawJSON(c.payload)}} }
			s.play()
			last := s.ended.Results[len(s.ended.Results)-1]
			expect(t, "result", []any{last.RuntimeID, last.Status, last.Error == ""}, []any{"x", c.status, c.status == Succeeded})
		})
	}
}

// Rule TP:324–332: a retry runs the failed runtimes it names, in the order of their stages, on top of the good results of
// the source turn; the seeds are upstream, satisfy needs and inputs, and are no results.
func TestRetry(t *testing.T) {
	active := []manifest.Runtime{
		auto("before", manifest.PreTurn), auto("story", manifest.Narrative, gives("story@1")), auto("guarded", manifest.PreTurn, gives("g@1")), auto("skipped", manifest.PreTurn),
		auto("extract", manifest.PostTurn, reads("text", manifest.Binding{Contract: "story@1", Required: true, Select: "/t"}), reads("guard", manifest.Binding{Contract: "g@1", Required: true})),
		auto("report", manifest.Audit, needs(run("extract"), run("story"))), auto("orphan", manifest.Audit, needs(run("skipped"))),
		on("follower", "facts.found"), auto("bystander", manifest.PostTurn), auto("detached", manifest.PostTurn, detaches),
	}
	seeds := []Result{
		{RuntimeID: "story", RunID: "old-1", Contract: "story@1", Status: Succeeded, Story: true, Output: []byte(`{"t":"雨"}`), Proposals: []sdk.Proposal{{Type: "plugin.data"}}},
		{RuntimeID: "guarded", RunID: "old-2", Contract: "g@1", Status: Skipped, SkipReason: SkipGuard, Output: []byte(`1`)},
		{RuntimeID: "skipped", RunID: "old-3", Status: Skipped, SkipReason: SkipDependency},
		{RuntimeID: "extract", RunID: "old-4", Status: Succeeded, Output: []byte(`"stale"`)}, // tried again: no seed
		{RuntimeID: "bystander", RunID: "old-5", Status: Failed},
	}
	s := planned(t, func(p *Plan) {
		p.Targets, p.Seeds, p.SourceTurnID = named("report", "orphan", "extract", "detached"), seeds, "e0"
	}, active...)
	s.behave["extract"] = emits("facts.found")
	s.step(Begin{})
	r := s.running["extract"]
	expect(t, "inputs", string(r.Inputs["text"].Value())+string(r.Inputs["guard"].Value()), `"雨"1`)
	expect(t, "what is committed cannot be dropped", len(r.Needs), 0)
	for _, u := range r.Upstream {
		if !u.Seed {
			t.Errorf("%s is no seed", u.RuntimeID)
		}
	}
	expect(t, "staged writes of seeds", len(VisibleWrites(r.Upstream)), 0)
	s.end("detached", "extract")
	expect(t, "needs of the report", s.running["report"].Needs, [][]string{{"extract"}})
	s.end("report")
	// Nobody follows a retry, nothing of it becomes a job, and what a failed dependency skipped satisfies nobody.
	expect(t, "log", strings.Join(s.log, "; "), "start detached; start extract; skip orphan dependency; start report; finish")
	expect(t, "results", s.order(), []string{"detached", "extract", "orphan", "report"})
	expect(t, "jobs", len(s.ended.Deferred), 0)
}

// Rule REF api-and-protocol.md §2.5: a retried follower gets the event that set it off in its source turn.
func TestRetryOfAFollower(t *testing.T) {
	s := planned(t, func(p *Plan) {
		p.Targets, p.SourceTurnID = named("f"), "e0"
		p.Seeds = []Result{{RuntimeID: "a", Status: Succeeded, Events: []sdk.EmittedEvent{{Topic: "a.b", Data: []byte(`{"n":1}`)}}}}
	}, on("f", "a.b"), auto("a", manifest.PostTurn))
	s.step(Begin{})
	if e := s.running["f"].Event; e == nil || string(e.Data) != `{"n":1}` {
		t.Errorf("event %+v", e)
	}
}

// Rule TP:328: seeds come from the latest turn of the stages and its committed retries: successes, and answers of guards.
func TestSeedsOf(t *testing.T) {
	latest := projections.Latest{TurnID: "e0", Runs: []projections.Run{
		{RuntimeID: "a", RunID: "1", Status: "success", Output: projections.RawJSON(`1`), Stage: "narrative", Story: true, Contract: "k@1", PluginID: "p"},
		{RuntimeID: "b", Status: "skipped", SkipReason: SkipGuard}, {RuntimeID: "c", Status: "skipped", SkipReason: SkipDependency},
		{RuntimeID: "d", Status: "failed"}, {RuntimeID: "e", Status: "success"},
	}}
	var got []string
	for _, r := range SeedsOf(latest, projections.Execution{SourceTurnID: "e0", Targets: named("d", "e")}) {
		got = append(got, r.RuntimeID)
		if !r.Seed || r.RuntimeID == "a" && (r.Stage != manifest.Narrative || !r.Story || r.Contract != "k@1" || string(r.Output) != "1" || r.RunID != "1" || r.PluginID != "p") {
			t.Errorf("seed %+v", r)
		}
	}
	expect(t, "seeds", got, []string{"a", "b"})
	expect(t, "of another turn", len(SeedsOf(latest, projections.Execution{SourceTurnID: "e9", Targets: named("d")})), 0)
	expect(t, "of no retry", len(SeedsOf(latest, projections.Execution{Targets: named("d")})), 0)
}

// Rule REF plugins.md §7.5: a session that plays already catches up on pending set-up before pre-turn, behind a barrier; a
// need on it reads this pass, and one on a set-up that is done never holds in a turn.
func TestLateSetup(t *testing.T) {
	s := planned(t, func(p *Plan) {
		p.Session.Setup = []projections.SetupRuntime{{RuntimeID: "late", Status: projections.SetupPending}, {RuntimeID: "old", Status: projections.SetupDone}, {RuntimeID: "stuck", Status: projections.SetupBlocked}}
	}, auto("late", manifest.Setup), auto("old", manifest.Setup), auto("stuck", manifest.Setup), auto("before", manifest.PreTurn), auto("story", manifest.Narrative, needs(run("late"))), auto("z", manifest.Audit, needs(run("old"))))
	s.step(Begin{})
	expect(t, "log", s.log, []string{"start late"})
	s.end("late", "before", "story")
	expect(t, "log", strings.Join(s.log, "; "), "start late; start before; start story; skip z dependency; finish")
}

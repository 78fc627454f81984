package turn

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// stage plays the world around an execution: runs end when the test says so, with what behave makes of them.
type stage struct {
	t       testing.TB
	state   State
	running map[string]Run // by runtime id
	behave  map[string]func(*Result)
	log     []string // what happened, as a reader would tell it
	ended   *Finish
}

func newStage(t testing.TB, phase string, s projections.Session, active ...manifest.Runtime) *stage {
	return &stage{t: t, running: map[string]Run{}, behave: map[string]func(*Result){}, state: New(Plan{
		ExecutionID: "exec", Phase: phase, LogicalTurn: 1, Session: s, Active: active,
		RunID: func(id string, n int) string { return fmt.Sprint(id, "#", n) },
	})}
}

func (s *stage) step(in Input) {
	s.t.Helper()
	var effects []Effect
	s.state, effects = Step(s.state, in)
	for _, e := range effects {
		switch e := e.(type) {
		case StartRun:
			if s.ended != nil {
				s.t.Fatalf("%s was started after the end", e.Run.Runtime.ID)
			}
			s.log = append(s.log, "start "+e.Run.Runtime.ID)
			s.running[e.Run.Runtime.ID] = e.Run
		case SkipRun:
			s.log = append(s.log, "skip "+e.Result.RuntimeID+" "+e.Result.SkipReason)
		case Report:
			s.log = append(s.log, e.Diagnostic.Code+" "+e.Diagnostic.RuntimeID)
		case TellRun:
			s.log = append(s.log, "tell "+e.RunID+" "+e.ID)
		case RefuseInterjection:
			s.log = append(s.log, "refuse "+e.ID)
		case CancelRuns:
			s.log = append(s.log, "cancel "+strings.Join(e.RunIDs, " "))
		case Finish:
			if s.ended != nil {
				s.t.Fatal("finished twice")
			}
			s.ended = &e
			s.log = append(s.log, "finish")
		}
	}
}

// result is what a run gives.
func (s *stage) result(id string) Result {
	run, ok := s.running[id]
	if !ok {
		s.t.Fatalf("%s does not run; running are %v", id, slices.Sorted(maps.Keys(s.running)))
	}
	r := Result{
		RuntimeID: id, PluginID: run.Runtime.PluginID, RunID: run.RunID, Stage: run.Runtime.Schedule.Stage, Contract: run.Runtime.IO.OutputContract,
		Status: Succeeded, Output: []byte(`{}`), Needs: run.Needs,
	}
	if b := s.behave[id]; b != nil {
		b(&r)
	}
	return r
}

func (s *stage) end(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		r := s.result(id)
		delete(s.running, id)
		s.step(RunEnded{r})
	}
}

// play ends whatever runs, by name, until the execution is over.
func (s *stage) play() *stage {
	s.t.Helper()
	s.step(Begin{})
	for len(s.running) > 0 {
		s.end(slices.Sorted(maps.Keys(s.running))[0])
	}
	return s
}

func (s *stage) order() (out []string) {
	for _, r := range s.ended.Results {
		out = append(out, r.RuntimeID)
	}
	return out
}

func emits(topics ...string) func(*Result) {
	return func(r *Result) {
		for _, topic := range topics {
			r.Events = append(r.Events, sdk.EmittedEvent{Topic: topic, Data: []byte(`{"from":"` + r.RuntimeID + `"}`)})
		}
	}
}

func fails(r *Result) { r.Status, r.Error = Failed, "坏了" }

// "There is a strict barrier between stages. The next stage starts only after every runtime in the previous stage has a
// result (success, failure, or skipped)."
//
// Rule TP:171: a turn in play runs pre-turn, narrative, post-turn and audit, and no set-up.
// Rule TP:306: a stage begins when every run of the stage before it has a result.
func TestStages(t *testing.T) {
	s := newStage(t, projections.PhasePlaying, projections.Session{},
		auto("audit", manifest.Audit), auto("after-a", manifest.PostTurn), auto("after-b", manifest.PostTurn, needs(run("after-a"))),
		auto("story", manifest.Narrative), auto("before-a", manifest.PreTurn), auto("before-b", manifest.PreTurn), auto("setup", manifest.Setup))
	s.behave["before-b"] = fails
	s.step(Begin{})
	s.end("before-b")
	expect(t, "running", slices.Sorted(maps.Keys(s.running)), []string{"before-a"})
	s.end("before-a", "story", "after-a", "after-b", "audit")
	expect(t, "log", strings.Join(s.log, "; "), "start before-a; start before-b; start story; start after-a; start after-b; start audit; finish")
	expect(t, "results", s.order(), []string{"before-a", "before-b", "story", "after-a", "after-b", "audit"})
}

// Rule TP:93: the phase decides which stages run. Rule TP:129: in the set-up nothing but set-up runtimes that are not done.
func TestSetupRunsAlone(t *testing.T) {
	pending := projections.Session{Setup: []projections.SetupRuntime{{RuntimeID: "maker", Status: "pending"}, {RuntimeID: "opener", Status: "pending"}, {RuntimeID: "ready", Status: "done"}}}
	s := newStage(t, projections.PhaseSetup, pending,
		auto("opener", manifest.Setup), auto("maker", manifest.Setup, needs(manifest.Need{Runtime: "opener", Scope: "session", Cardinality: "one"})), auto("ready", manifest.Setup), auto("story", manifest.Narrative), on("follower", "a.b"))
	s.behave["opener"] = func(r *Result) { r.Done = true; emits("a.b")(r) }
	s.play()
	expect(t, "log", strings.Join(s.log, "; "), "start opener; start maker; finish")

	s = newStage(t, projections.PhaseSetup, pending, auto("opener", manifest.Setup), auto("maker", manifest.Setup, needs(manifest.Need{Runtime: "opener", Scope: "session", Cardinality: "one"})))
	s.play() // opener waits for the player: not done
	expect(t, "log", strings.Join(s.log, "; "), "start opener; skip maker dependency; finish")
}

func TestNothingToRun(t *testing.T) {
	s := newStage(t, projections.PhasePlaying, projections.Session{}).play()
	expect(t, "log", s.log, []string{"finish"})
	s = newStage(t, projections.PhasePlaying, projections.Session{}, auto("a", manifest.PreTurn, after("b")), auto("b", manifest.PreTurn, after("a")), auto("c", manifest.Audit, needs(run("a")))).play()
	expect(t, "log", strings.Join(s.log, "; "), "skip a dependency-cycle; skip b dependency-cycle; skip c dependency; finish")
	for _, r := range s.ended.Results {
		if r.Status != Skipped || r.RunID != r.RuntimeID+"#0" || r.Committable() || r.Satisfies() {
			t.Errorf("result %+v", r)
		}
	}
}

// Rule TP:651: what a run sees is taken when it starts: everything of earlier levels and stages, nothing of its siblings.
func TestUpstream(t *testing.T) {
	s := newStage(t, projections.PhasePlaying, projections.Session{},
		auto("a", manifest.PreTurn, gives("k@1")), auto("b", manifest.PreTurn), auto("c", manifest.PreTurn, reads("in", manifest.Binding{Contract: "k@1", Required: true})), auto("story", manifest.Narrative))
	seen := map[string][]string{}
	look := func() {
		for id, r := range s.running {
			seen[id] = []string{}
			for _, u := range r.Upstream {
				seen[id] = append(seen[id], u.RuntimeID)
			}
		}
	}
	s.behave["a"] = func(r *Result) { r.Output = []byte(`"龙胆"`) }
	s.step(Begin{})
	look()
	s.end("b", "a")
	look()
	in := s.running["c"].Inputs["in"]
	expect(t, "input", string(in.Value()), `"龙胆"`)
	expect(t, "needs", s.running["c"].Needs, [][]string{{"a"}})
	s.end("c")
	look()
	expect(t, "seen", seen, map[string][]string{"a": {}, "b": {}, "c": {"a", "b"}, "story": {"a", "b", "c"}})
}

// Rule REF plugins.md §7.4: events set off followers depth by depth, the first emission wins, failed runs raise nothing.
func TestEvents(t *testing.T) {
	post := manifest.PostTurn
	for _, c := range []struct {
		name    string
		active  []manifest.Runtime
		behave  map[string]func(*Result)
		session projections.Session
		log     string
		causes  map[string]string // runtime → payload and emitters it depends on
	}{
		{
			name: "a follower runs in the stage of its event", active: []manifest.Runtime{auto("a", manifest.PreTurn), on("f", "scene.set"), auto("story", manifest.Narrative)},
			behave: map[string]func(*Result){"a": emits("scene.set")}, log: "start a; start f; start story; finish",
			causes: map[string]string{"f": `{"from":"a"} [[a]]`},
		},
		{
			name: "nobody follows", active: []manifest.Runtime{auto("a", post), on("f", "other.topic")}, behave: map[string]func(*Result){"a": emits("scene.set", "")}, log: "start a; finish",
		},
		{
			name: "the first emission wins, by name", active: []manifest.Runtime{auto("b", post), auto("a", post), on("f", "scene.set")},
			behave: map[string]func(*Result){"a": emits("scene.set"), "b": emits("scene.set", "scene.set")}, log: "start a; start b; event-payload-dropped b; event-payload-dropped b; start f; finish",
			causes: map[string]string{"f": `{"from":"a"} [[a b]]`},
		},
		{
			name: "failed runs raise nothing", active: []manifest.Runtime{auto("a", post), auto("b", post), on("f", "scene.set")},
			behave: map[string]func(*Result){"a": func(r *Result) { emits("scene.set")(r); fails(r) }, "b": emits("scene.set")}, log: "start a; start b; start f; finish",
			causes: map[string]string{"f": `{"from":"b"} [[b]]`},
		},
		{
			name: "a guard's answer raises", active: []manifest.Runtime{auto("a", post), on("f", "scene.set")},
			behave: map[string]func(*Result){"a": func(r *Result) { emits("scene.set")(r); r.Status, r.SkipReason = Skipped, SkipGuard }}, log: "start a; start f; finish",
		},
		{
			name: "by depth", active: []manifest.Runtime{auto("a", post), on("f1", "one.x"), on("f2", "two.x"), on("g1", "one.x")},
			behave: map[string]func(*Result){"a": emits("one.x"), "f1": emits("two.x")}, log: "start a; start f1; start g1; start f2; finish",
			causes: map[string]string{"f2": `{"from":"f1"} [[f1]]`},
		},
		{
			name: "each once in an execution", active: []manifest.Runtime{auto("a", post), on("f", "one.x"), auto("z", manifest.Audit)},
			behave: map[string]func(*Result){"a": emits("one.x"), "f": emits("one.x"), "z": emits("one.x")}, log: "start a; start f; start z; finish",
		},
		{
			name: "followers have an order too", active: []manifest.Runtime{auto("a", post), on("f", "one.x", needs(run("g"))), on("g", "one.x")},
			behave: map[string]func(*Result){"a": emits("one.x")}, log: "start a; start g; start f; finish", causes: map[string]string{"f": `{"from":"a"} [[g] [a]]`},
		},
		{
			name: "a declared need does not pull in who was not matched", active: []manifest.Runtime{auto("a", post), on("f", "one.x", needs(run("g"))), on("g", "two.x")},
			behave: map[string]func(*Result){"a": emits("one.x")}, log: "start a; skip f dependency; finish",
		},
		{
			name: "followers in a cycle", active: []manifest.Runtime{auto("a", post), on("f", "one.x", after("g")), on("g", "one.x", after("f"))},
			behave: map[string]func(*Result){"a": emits("one.x")}, log: "start a; skip f dependency-cycle; skip g dependency-cycle; finish",
		},
		{
			name: "gates hold for events", active: []manifest.Runtime{auto("a", post), on("f", "one.x", func(r *manifest.Runtime) { r.Schedule.MaxTriggerCount = 1 })},
			behave: map[string]func(*Result){"a": emits("one.x")}, session: projections.Session{Ledger: []projections.LedgerEntry{{RuntimeID: "f", Runs: 1}}}, log: "start a; finish",
		},
		{
			name: "two topics of one run", active: []manifest.Runtime{auto("a", post), on("f", "one.x"), on("g", "two.x")},
			behave: map[string]func(*Result){"a": emits("two.x", "one.x")}, log: "start a; start f; start g; finish", causes: map[string]string{"g": `{"from":"a"} [[a]]`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, projections.PhasePlaying, c.session, c.active...)
			maps.Copy(s.behave, c.behave)
			got := map[string]string{}
			s.step(Begin{})
			for len(s.running) > 0 {
				for id, r := range s.running {
					if r.Event != nil {
						got[id] = fmt.Sprint(string(r.Event.Data), " ", r.Needs)
					}
				}
				s.end(slices.Sorted(maps.Keys(s.running))[0])
			}
			expect(t, "log", strings.Join(s.log, "; "), c.log)
			for id, want := range c.causes {
				expect(t, "cause of "+id, got[id], want)
			}
		})
	}
}

// A chain of events has an end, and what lies beyond it does not come up again in the next stage.
func TestEventDepth(t *testing.T) {
	active := []manifest.Runtime{auto("a", manifest.PostTurn), auto("z", manifest.Audit)}
	s := newStage(t, projections.PhasePlaying, projections.Session{})
	for i := range MaxEventDepth + 5 {
		id := fmt.Sprintf("f%02d", i)
		active = append(active, on(id, fmt.Sprint("t.n", i)))
		s.behave[id] = emits(fmt.Sprint("t.n", i+1))
	}
	s.behave["a"] = emits("t.n0")
	s.state = New(Plan{Phase: projections.PhasePlaying, LogicalTurn: 1, Active: active, RunID: func(id string, n int) string { return fmt.Sprint(id, n) }})
	s.play()
	want := []string{"a"}
	for i := range MaxEventDepth {
		want = append(want, fmt.Sprintf("f%02d", i))
	}
	expect(t, "results", s.order(), append(want, "z"))
}

func TestCancel(t *testing.T) {
	active := []manifest.Runtime{auto("a", manifest.PreTurn), auto("b", manifest.PreTurn), auto("c", manifest.PreTurn, after("a")), auto("story", manifest.Narrative)}
	begin := func() *stage { return newStage(t, projections.PhasePlaying, projections.Session{}, active...) }
	t.Run("before it begins", func(t *testing.T) {
		s := begin()
		s.step(Cancel{})
		s.step(Begin{})
		s.step(Cancel{})
		expect(t, "log", s.log, []string{"finish"})
	})
	t.Run("while runs are going", func(t *testing.T) {
		s := begin()
		s.step(Begin{})
		s.end("b")
		s.step(Cancel{})
		s.step(Cancel{})
		expect(t, "log", strings.Join(s.log, "; "), "start a; start b; cancel a#1")
		s.end("a")
		expect(t, "results", s.order(), []string{"a", "b"})
		expect(t, "log", strings.Join(s.log, "; "), "start a; start b; cancel a#1; finish")
	})
	t.Run("after the end", func(t *testing.T) {
		s := begin().play()
		n := len(s.log)
		s.step(Cancel{})
		s.step(Begin{})
		expect(t, "log", len(s.log), n)
	})
}

func TestLateAndRepeatedEnds(t *testing.T) {
	s := newStage(t, projections.PhasePlaying, projections.Session{}, auto("a", manifest.PreTurn), auto("b", manifest.PreTurn), auto("story", manifest.Narrative))
	s.step(Begin{})
	s.step(Begin{})
	r := s.result("a")
	s.end("a")
	for range 3 {
		s.step(RunEnded{r})
	}
	s.step(RunEnded{Result{RunID: "nobody#9", Status: Succeeded}})
	expect(t, "log", strings.Join(s.log, "; "), "start a; start b")
	s.end("b")
	s.step(RunEnded{r})
	s.end("story")
	s.step(RunEnded{r})
	expect(t, "log", strings.Join(s.log, "; "), "start a; start b; start story; finish")
	expect(t, "results", s.order(), []string{"a", "b", "story"})
}

// A state is a value: stepping from it again, whatever became of it, gives the same.
func TestStepIsPure(t *testing.T) {
	s := newStage(t, projections.PhasePlaying, projections.Session{}, auto("a", manifest.PreTurn), auto("b", manifest.PreTurn), auto("c", manifest.PreTurn, needs(run("a"))), on("f", "x.y"), auto("story", manifest.Narrative))
	s.behave["c"] = emits("x.y")
	type moment struct {
		state State
		in    Input
		after []Effect
	}
	var moments []moment
	step := func(in Input) {
		before := s.state
		_, effects := Step(before, in)
		moments = append(moments, moment{before, in, effects})
		s.step(in)
	}
	step(Begin{})
	for _, id := range []string{"b", "a", "c", "f", "story"} {
		r := s.result(id)
		delete(s.running, id)
		step(RunEnded{r})
	}
	for i, m := range moments {
		Step(m.state, Cancel{})
		if _, effects := Step(m.state, m.in); !reflect.DeepEqual(effects, m.after) {
			t.Errorf("step %d gives %v, gave %v", i, effects, m.after)
		}
	}
}

func TestRunID(t *testing.T) {
	const exec = "01939a3e-8f00-7abc-9def-0123456789ab"
	seen := map[string]string{}
	for _, runtime := range []string{"a", "b", "龙胆", "a/b", ""} {
		for _, n := range []int{0, 1, 2, 10} {
			id := RunID(exec, runtime, n)
			u, err := uuid.Parse(id)
			if err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 || id[:13] != exec[:13] {
				t.Errorf("RunID(%q, %d) = %s (%v)", runtime, n, id, err)
			}
			if other, taken := seen[id]; taken {
				t.Errorf("%q/%d and %s have the same id", runtime, n, other)
			}
			seen[id] = fmt.Sprint(runtime, n)
			if RunID(exec, runtime, n) != id || RunID("01939a3e-8f00-7abc-9def-0123456789ac", runtime, n) == id {
				t.Errorf("RunID(%q, %d) does not follow from its arguments", runtime, n)
			}
		}
	}
	if u, err := uuid.Parse(RunID("not a uuid", "a", 1)); err != nil || u.Version() != 7 {
		t.Errorf("without an execution id: %v (%v)", u, err)
	}
}

func TestResult(t *testing.T) {
	for _, c := range []struct {
		status             Status
		reason             string
		commits, satisfies bool
	}{
		{Succeeded, "", true, true}, {Failed, "", false, false}, {Failed, SkipGuard, false, false}, {"", "", false, false},
		{Skipped, SkipGuard, true, true}, {Skipped, "handler", true, false}, {Skipped, "今天不下雨", true, false},
		{Skipped, SkipDependency, false, false}, {Skipped, SkipInput, false, false}, {Skipped, SkipCycle, false, false},
	} {
		r := Result{Status: c.status, SkipReason: c.reason}
		if r.Committable() != c.commits || r.Satisfies() != c.satisfies {
			t.Errorf("%s %q: committable %v, satisfies %v", c.status, c.reason, r.Committable(), r.Satisfies())
		}
	}
	for reason, want := range map[string]string{"": "handler", "不需要": "不需要", SkipGuard: "handler: guard", SkipDependency: "handler: dependency", SkipInput: "handler: missing-input", SkipCycle: "handler: dependency-cycle"} {
		expect(t, "reason", HandlerSkip(reason), want)
	}
	expect(t, "usage", Usage{InputTokens: 1, OutputTokens: 2, CachedInputTokens: 3, ModelCalls: 4, ToolCalls: 5}.Add(Usage{InputTokens: 10, OutputTokens: 20, CachedInputTokens: 30, ModelCalls: 40, ToolCalls: 50}), Usage{InputTokens: 11, OutputTokens: 22, CachedInputTokens: 33, ModelCalls: 44, ToolCalls: 55})
}

package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

type rawJSON = json.RawMessage

// detaches makes a runtime that may become a job.
func detaches(r *manifest.Runtime) {
	r.Type, r.Schedule.Detached = manifest.TypeFunction, &manifest.Detached{}
	r.Effects = manifest.Effects{Reads: []string{"narrative:*"}, Writes: []string{"plugin-data:self:memory", "plugin-data:self:_hidden.plan", "assets:*", "media:*", "ui:*", "http:https://example.org"}}
}

// Rule TP:245: schedule.detached holds for leaves that pass the safety check. Rule TP:355: one whose result is exported stays.
// Rule TP:349–358: only a post-turn or audit function that declares isolated effects, exports and emits nothing, and that
// nobody in the foreground waits for, becomes a job; the reason why another does not is told.
func TestKeepsForeground(t *testing.T) {
	writes := func(effect string) func(*manifest.Runtime) {
		return func(r *manifest.Runtime) { r.Effects.Writes = []string{effect} }
	}
	waits := auto("reader", manifest.Audit, reads("in", manifest.Binding{Runtime: "x"}))
	for _, c := range []struct {
		name   string
		change func(*manifest.Runtime)
		others []manifest.Runtime
		why    string
	}{
		{name: "a leaf that keeps to itself"},
		{name: "an agent", change: func(r *manifest.Runtime) { r.Type = manifest.TypeAgent }, why: "only a function"},
		{name: "an earlier stage", change: func(r *manifest.Runtime) { r.Schedule.Stage = manifest.PreTurn }, why: "only post-turn and audit"},
		{name: "without effects", change: func(r *manifest.Runtime) { r.Effects = manifest.Effects{} }, why: "does not declare its effects"},
		{name: "exports", change: func(r *manifest.Runtime) { r.IO.RecordAs = "facts" }, why: "exported as facts"},
		{name: "emits by a tool", change: func(r *manifest.Runtime) { r.Function.BuiltinTools = []string{"emit-event"} }, why: "can emit events"},
		{name: "advertises events", change: func(r *manifest.Runtime) { r.Agent.AdvertiseEvents = true }, why: "can emit events"},
		{name: "emits", change: writes("event:scene.set"), why: "writes event:scene.set"},
		{name: "writes characters", change: writes("characters:*"), why: "writes characters:*"},
		{name: "writes state", change: writes("state:*"), why: "writes state:*"},
		{name: "asks the player", change: writes("interaction:*"), why: "writes interaction:*"},
		{name: "writes anything", change: writes("unknown:*"), why: "writes unknown:*"},
		{name: "writes what the kernel keeps", change: writes("plugin-data:self:_jobs"), why: "writes plugin-data:self:_jobs"},
		{name: "is waited for by an input", others: []manifest.Runtime{waits}, why: "reader waits"},
		{name: "is waited for by a need", others: []manifest.Runtime{auto("z", manifest.PostTurn, needs(one("k@1")))}, why: "z waits"},
		{name: "is waited for by an order", others: []manifest.Runtime{auto("z", manifest.PostTurn, after("x"))}, why: "z waits"},
		{name: "is waited for by a follower", others: []manifest.Runtime{on("z", "a.b", needs(run("x")))}, why: "z waits"},
		{name: "a committed input does not wait", others: []manifest.Runtime{auto("z", manifest.Audit, reads("in", manifest.Binding{Runtime: "x", Scope: "committed"}))}},
		{name: "an earlier stage cannot wait", others: []manifest.Runtime{auto("z", manifest.PreTurn, after("x"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := auto("x", manifest.PostTurn, detaches, gives("k@1"))
			if c.change != nil {
				c.change(&r)
			}
			if got := KeepsForeground(r, append(c.others, r)); (c.why == "") != (got == "") || !strings.Contains(got, c.why) {
				t.Errorf("got %q, want …%s…", got, c.why)
			}
		})
	}
}

// Rule TP:244: a job takes the upstream results along as they stood when its level began: those it declares to depend on
// with their output, of the others only who they are and how they ended.
func TestDetached(t *testing.T) {
	s := planned(t, func(*Plan) {},
		auto("story", manifest.Narrative, gives("story@1")), auto("facts", manifest.PostTurn, gives("facts@1")),
		auto("memory", manifest.PostTurn, detaches, after("facts"), reads("digest", manifest.Binding{Kernel: InputTurnDigest, Required: true}), reads("text", manifest.Binding{Contract: "story@1", Required: true})),
		auto("kept", manifest.Audit, detaches, func(r *manifest.Runtime) { r.IO.RecordAs = "kept" }), auto("ops", manifest.Audit, detaches, reads("ops", manifest.Binding{Kernel: InputOperations, Required: true})),
		auto("ops-optional", manifest.Audit, detaches, reads("ops", manifest.Binding{Kernel: InputOperations})), auto("lost", manifest.Audit, detaches, needs(run("facts"))), auto("audit", manifest.Audit))
	s.behave["story"] = func(r *Result) {
		r.Story, r.Output, r.Segments, r.Proposals = true, []byte(`{"narrativeOutput":"雨停了。"}`), []sdk.StorySegment{{Kind: "narration", Text: "雨停了。"}}, []sdk.Proposal{{Type: "plugin.data"}}
	}
	s.behave["facts"] = fails
	s.play()
	// Rule TP:405: operations@1 is unavailable to a detached run: a required one skips it, an optional one stays away.
	expect(t, "log", strings.Join(s.log, "; "), "start story; start facts; start audit; detached-foreground kept; start kept; skip lost dependency; skip ops missing-input; finish")
	var jobs []string
	for _, d := range s.ended.Deferred {
		jobs = append(jobs, d.Activation+" "+d.Run.Runtime.ID+" "+d.Run.RunID)
	}
	expect(t, "jobs", jobs, []string{"stage memory memory#3", "stage ops-optional ops-optional#6"})
	expect(t, "inputs of the optional one", len(s.ended.Deferred[1].Run.Inputs), 0)
	memory := s.ended.Deferred[0].Run
	for _, u := range memory.Upstream {
		whole := u.RuntimeID == "story"
		if !u.Seed || (len(u.Output) > 0) != whole || (len(u.Segments) > 0) != whole || len(u.Proposals) > 0 || u.Status == "" {
			t.Errorf("upstream %+v", u)
		}
	}
	expect(t, "text", string(memory.Inputs["text"].Value()), `{"narrativeOutput":"雨停了。"}`)
	if got := string(memory.Inputs["digest"].Value()); !strings.Contains(got, `"narrative":"雨停了。"`) || !strings.Contains(got, `"runtimeResults":[{"runtimeId":"story","status":"success"},{"runtimeId":"facts","status":"failed"}]`) {
		t.Errorf("digest %s", got)
	}
	expect(t, "results", s.order(), []string{"story", "facts", "audit", "kept", "lost", "ops"})
}

// Rule REF api-and-protocol.md §4.6: a job that depends on a dropped run is not queued; to the others it has failed.
func TestDeferredAfterADrop(t *testing.T) {
	d := Deferred{Run: Run{
		Needs: [][]string{{"story"}, {"a", "b"}}, Upstream: []Result{{RuntimeID: "story", Status: Succeeded, Output: []byte(`1`)}, {RuntimeID: "c", Status: Succeeded, Output: []byte(`1`)}},
		Inputs: map[string]sdk.Input{
			"digest": kernelInput(InputTurnDigest, Plan{}.digestOf([]Result{{RuntimeID: "story", Status: Succeeded}, {RuntimeID: "c", Status: Succeeded}})),
			"c":      {Cardinality: "one", Items: []sdk.InputItem{{Value: []byte(`1`), Runtime: "c"}}},
			"both":   {Cardinality: "all", Items: []sdk.InputItem{{Value: []byte(`1`), Runtime: "c"}, {Value: []byte(`2`), Runtime: "d"}}},
		},
	}}
	drop := func(ids ...string) func(string) bool {
		return func(id string) bool { return strings.Contains(" "+strings.Join(ids, " ")+" ", " "+id+" ") }
	}
	if _, ok := d.Dropped(drop("a", "b")); ok {
		t.Error("it is queued though all it needs one of were dropped")
	}
	got, ok := d.Dropped(drop("a", "c"))
	if !ok {
		t.Fatal("it is not queued")
	}
	expect(t, "upstream", []any{got.Run.Upstream[0].Status, got.Run.Upstream[1].Status, len(got.Run.Upstream[1].Output)}, []any{Succeeded, Failed, 0})
	if v := string(got.Run.Inputs["digest"].Value()); !strings.Contains(v, `{"runtimeId":"c","status":"failed"}`) || !strings.Contains(v, `{"runtimeId":"story","status":"success"}`) {
		t.Errorf("digest %s", v)
	}
	expect(t, "inputs", []any{len(got.Run.Inputs), len(got.Run.Inputs["both"].Items)}, []any{2, 1})
	expect(t, "the run itself is unchanged", d.Run.Upstream[1].Status, Succeeded)
}

// Rule REF plugins.md §7.4: followers with schedule.background become jobs of their own; the others run at once.
func TestBackgroundFollowers(t *testing.T) {
	background := func(r *manifest.Runtime) { r.Schedule.Background = &manifest.Background{} }
	s := planned(t, func(*Plan) {}, auto("a", manifest.PostTurn), on("paint", "scene.set", background), on("note", "scene.set"), auto("z", manifest.Audit))
	s.behave["a"], s.behave["z"] = emits("scene.set"), emits("scene.set")
	s.play()
	expect(t, "log", strings.Join(s.log, "; "), "start a; start note; start z; finish")
	expect(t, "jobs", len(s.ended.Deferred), 1)
	d := s.ended.Deferred[0]
	expect(t, "job", []any{d.Activation, d.Run.Runtime.ID, string(d.Run.Event.Data), d.Run.Needs}, []any{"event", "paint", `{"from":"a"}`, [][]string{{"a"}}})

	// In the set-up nothing is put off.
	s = newStage(t, projections.PhaseSetup, projections.Session{Setup: []projections.SetupRuntime{{RuntimeID: "x", Status: "pending"}}}, auto("x", manifest.Setup, detaches)).play()
	expect(t, "log", strings.Join(s.log, "; "), "start x; finish")
}

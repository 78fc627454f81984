package job

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func session(jobs ...projections.Job) projections.State {
	s := projections.State{Session: projections.Session{
		ID: "s1", Incarnation: "inc", Status: projections.StatusActive, Plugins: []projections.PluginRef{{ID: "memory", Digest: "d1"}},
	}}
	for _, j := range jobs {
		if j.MaxQueueMs == 0 {
			j.MaxQueueMs = 1000
		}
		if j.EnqueuedAt.IsZero() {
			j.EnqueuedAt = at
		}
		if j.Status == "" {
			j.Status = projections.JobQueued
		}
		s.Jobs = append(s.Jobs, &j)
	}
	return s
}

func ids(jobs []projections.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return strings.Join(out, " ")
}

func TestNext(t *testing.T) {
	job := func(id, runtime string) projections.Job { return projections.Job{ID: id, RuntimeID: runtime} }
	settle := func(id, runtime string, turn uint32) projections.Job {
		return projections.Job{ID: id, RuntimeID: runtime, Settle: true, LogicalTurn: turn}
	}
	with := func(j projections.Job, change func(*projections.Job)) projections.Job { change(&j); return j }
	running := func(j *projections.Job) { j.Status = projections.JobRunning }
	needs := func(j *projections.Job) { j.Model = "keyless" }
	for name, c := range map[string]struct {
		jobs           []projections.Job
		status         string
		start, blocked string
		wait, skip     string
	}{
		// Rule TP:375: only one job of (session, plugin, runtime) is in progress; different runtimes run side by side.
		"one of a runtime":          {jobs: []projections.Job{job("a1", "p/a"), job("a2", "p/a"), job("b1", "p/b")}, start: "a1 b1"},
		"one of a runtime, running": {jobs: []projections.Job{with(job("a1", "p/a"), running), job("a2", "p/a"), job("b1", "p/b")}, start: "b1"},
		// Rule TP:417: settle jobs go one at a time, in the order of their source turns, however they were queued.
		"settle in order":        {jobs: []projections.Job{settle("late", "p/x", 7), settle("early", "p/y", 5), job("free", "p/z")}, start: "free early", wait: "early late"},
		"settle one at a time":   {jobs: []projections.Job{with(settle("s1", "p/x", 5), running), settle("s2", "p/y", 6)}, wait: "s1 s2"},
		"a failed one lets pass": {jobs: []projections.Job{with(settle("s1", "p/x", 5), func(j *projections.Job) { j.Status = projections.JobFailed }), settle("s2", "p/x", 6)}, start: "s2", wait: "s2"},
		// Rule TP:425: a job whose model has no credentials stays queued, and so do the later ones of the same runtime; nobody
		// waits for them.
		"no credentials": {jobs: []projections.Job{with(settle("k1", "p/x", 5), needs), settle("k2", "p/x", 6), settle("s1", "p/y", 7)},
			start: "s1", blocked: "k1 k2", wait: "s1", skip: "k1 k2"},
		// Rule TP:383: past the queue limit nothing is started.
		"queued for too long": {jobs: []projections.Job{with(job("old", "p/a"), func(j *projections.Job) { j.EnqueuedAt = at.Add(-time.Second) }), job("new", "p/a")}, start: "new"},
		"paused":              {jobs: []projections.Job{job("a", "p/a")}, status: projections.StatusPaused},
	} {
		t.Run(name, func(t *testing.T) {
			s := session(c.jobs...)
			if c.status != "" {
				s.Session.Status = c.status
			}
			ready := func(slot string) bool { return slot != "keyless" }
			nobody := func(string) bool { return false }
			q := Next(s, at, ready, nobody)
			if ids(q.Start) != c.start || ids(q.Blocked) != c.blocked {
				t.Errorf("start %q, blocked %q; want %q, %q", ids(q.Start), ids(q.Blocked), c.start, c.blocked)
			}
			if wait, skip := Awaited(s, at, ready, nobody); ids(wait) != c.wait || ids(skip) != c.skip {
				t.Errorf("wait %q, skip %q; want %q, %q", ids(wait), ids(skip), c.wait, c.skip)
			}
		})
	}
}

// Rule TP:367: maxQueueMs counts from the first queueing, also for a job that a shutdown put back.
func TestQueueLimit(t *testing.T) {
	j := projections.Job{Status: projections.JobQueued, EnqueuedAt: at, MaxQueueMs: 1000, Attempt: 1, UpdatedAt: at.Add(900 * time.Millisecond)}
	if QueueExpired(j, at.Add(999*time.Millisecond)) || !QueueExpired(j, at.Add(time.Second)) {
		t.Error("the limit is not one second after the queueing")
	}
	j.Status = projections.JobRunning
	if QueueExpired(j, at.Add(time.Hour)) {
		t.Error("a running job does not wait in the queue")
	}
	if j.MaxQueueMs = 1 << 63; !QueuedUntil(j).After(at) {
		t.Error("a huge limit lies in the past")
	}
}

// Rule TP:368–369: maxExecutionMs counts from running until the execution returns; the wait for the commit is not counted.
func TestExecutionLimit(t *testing.T) {
	l := Claim("x")
	if l.Overdue(at.Add(time.Hour)) {
		t.Error("a claimed job does not run yet")
	}
	l = l.Start(at, 1000)
	if l.Overdue(at.Add(999*time.Millisecond)) || !l.Overdue(at.Add(time.Second)) {
		t.Error("the limit is not one second after the start")
	}
	if l.Return().Overdue(at.Add(time.Hour)) {
		t.Error("the wait for the commit counts")
	}
}

// Rule TP:250–251: only a job that returned and was not halted goes on from running to committing.
func TestOnlyASoundJobCommits(t *testing.T) {
	run := Claim("x").Start(at, 1000)
	halted := func(why string) Live { l, _ := run.Return().Halted(why); return l }
	for name, c := range map[string]struct {
		live Live
		want bool
	}{
		"claimed": {Claim("x"), false}, "running": {run, false}, "returned": {run.Return(), true}, "cancelled": {halted(HaltCancelled), false},
		"timed out": {halted(HaltTimeout), false}, "shutdown": {halted(HaltShutdown), false},
	} {
		got, ok := c.live.Commit()
		if ok != c.want || ok && got.Phase != Committing {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
	committing, _ := run.Return().Commit()
	// Rule TP:392: a job that is committing finishes its commit.
	if _, ok := committing.Halted(HaltShutdown); ok {
		t.Error("a commit under way was stopped")
	}
	if l, _ := run.Halted(HaltTimeout); l.Halt != HaltTimeout {
		t.Error("not halted")
	} else if l, ok := l.Halted(HaltCancelled); ok || l.Halt != HaltTimeout {
		t.Error("halted twice")
	}
}

func TestStates(t *testing.T) {
	// Rule REF api-and-protocol.md §5.2: the public state, who may be cancelled, who may be tried again.
	for status, c := range map[string]struct {
		state             string
		cancel, retryable bool
	}{
		"queued": {"queued", true, false}, "claimed": {"running", false, false}, "running": {"running", true, false}, "committing": {"progress", false, false},
		"succeeded": {"succeeded", false, false}, "failed": {"failed", false, true}, "timed_out": {"failed", false, true},
		"cancelled": {"cancelled", false, true}, "stale": {"failed", false, true}, "orphaned": {"failed", false, true},
	} {
		if WireState(status) != c.state || Cancellable(status, "") != c.cancel || Retryable(status) != c.retryable {
			t.Errorf("%s: %s %v %v", status, WireState(status), Cancellable(status, ""), Retryable(status))
		}
		if ended := c.retryable; (ErrorText(projections.Job{Status: status, Reason: "x"}) != "") != ended {
			t.Errorf("%s: text %q", status, ErrorText(projections.Job{Status: status}))
		}
	}
	if Cancellable(projections.JobRunning, Committing) {
		t.Error("a commit under way is not taken back")
	}
}

// Rule TP:250: session and plugin must still be the same instance and version.
func TestStale(t *testing.T) {
	j := projections.Job{PluginID: "memory", PluginDigest: "d1", Incarnation: "inc"}
	same := map[string]string{"memory": "d1"}
	for name, c := range map[string]struct {
		change  func(*projections.Session)
		digests map[string]string
		want    string
	}{
		"nothing changed": {func(*projections.Session) {}, same, ""},
		"before it runs":  {func(*projections.Session) {}, nil, ""},
		"paused":          {func(s *projections.Session) { s.Status = projections.StatusPaused }, same, ReasonInactive},
		"ended":           {func(s *projections.Session) { s.Status = projections.StatusEnded }, same, ReasonInactive},
		"made anew":       {func(s *projections.Session) { s.Incarnation = "other" }, same, ReasonIncarnation},
		"unselected":      {func(s *projections.Session) { s.Plugins = nil }, same, ReasonPluginInactive},
		"other code":      {func(*projections.Session) {}, map[string]string{"memory": "d2"}, ReasonPluginChanged},
		"uninstalled":     {func(*projections.Session) {}, map[string]string{}, ReasonPluginChanged},
	} {
		s := session().Session
		c.change(&s)
		if got := Stale(j, s, c.digests); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Rule TP:352: what a detached run really wrote is held against the isolated writes it declared.
func TestIsolated(t *testing.T) {
	declared := []string{"plugin-data:self:blocks", "plugin-data:self:_hidden", "ui:*", "characters:*", "event:scene.set"}
	write := func(typ, payload string) turn.Result {
		return turn.Result{Proposals: []sdk.Proposal{{Type: typ, Payload: json.RawMessage(payload)}}}
	}
	for name, c := range map[string]struct {
		r       turn.Result
		allowed bool
	}{
		"own data":               {write("plugin.data", `{"namespace":"blocks","key":"玩家","value":{"namespace":"x"}}`), true},
		"a batch of own data":    {write("plugin.data.batch", `{"writes":[{"namespace":"blocks","key":"a"},{"namespace":"blocks","key":"b"}]}`), true},
		"deleting own data":      {write("plugin.data.delete", `{"namespace":"blocks","key":"a"}`), true},
		"undeclared data":        {write("plugin.data", `{"namespace":"notes","key":"a"}`), false},
		"a batch that hides one": {write("plugin.data.batch", `{"writes":[{"namespace":"blocks","key":"a"},{"namespace":"notes","key":"b"}]}`), false},
		"the kernel's data":      {write("plugin.data", `{"namespace":"_hidden","key":"a"}`), false},
		"no namespace":           {write("plugin.data", `{"key":"a"}`), false},
		"no JSON":                {write("plugin.data", `{`), false},
		"ui":                     {write("ui.render", `{}`), true},
		"a character":            {write("character.upsert", `{}`), false},
		"a question":             {write("interaction.request", `{}`), false},
		"a message":              {write("message.append", `{}`), false},
		"lore":                   {write("lorebook.upsert", `{}`), false},
		"an asset, undeclared":   {write("asset.create", `{}`), false},
		"an event":               {turn.Result{Events: []sdk.EmittedEvent{{Topic: "scene.set"}}}, false},
		"another plugin":         {turn.Result{Operations: []turn.Operation{{PluginID: "clock"}}}, false},
		"a nested run":           {turn.Result{Nested: []turn.Result{write("character.upsert", `{}`)}}, false},
		"nothing":                {turn.Result{}, true},
	} {
		if err := Isolated(declared, c.r); (err == nil) != c.allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Rule TP:247: only the upstream outputs that the runtime declares it depends on are kept; the rest keep identity and state.
func TestFreezeKeepsWhatItDependsOn(t *testing.T) {
	rt := manifest.Runtime{
		ID: "memory/extract", PluginID: "memory", Schedule: manifest.Schedule{After: []manifest.Need{{Contract: "mood@1"}}},
		IO: manifest.IO{Inputs: map[string]manifest.Binding{"story": {Runtime: "narrator"}}},
	}
	run := turn.Run{
		Runtime: rt, Inputs: map[string]sdk.Input{"story": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(`"雨"`), PluginID: "narrator", Runtime: "narrator"}}}},
		Upstream: []turn.Result{
			{RuntimeID: "narrator", PluginID: "narrator", RunID: "r1", Status: turn.Succeeded, Output: json.RawMessage(`{"a":1}`), Story: true, Segments: []sdk.StorySegment{{Kind: "narration", Text: "雨停了。"}}},
			{RuntimeID: "tone/mood", Contract: "mood@1", Status: turn.Succeeded, Output: json.RawMessage(`"calm"`)},
			{RuntimeID: "guide", Status: turn.Succeeded, Output: json.RawMessage(`"secret"`), Segments: []sdk.StorySegment{{Text: "x"}}, Proposals: []sdk.Proposal{{Type: "ui.render"}}},
		},
		Event:   &sdk.EmittedEvent{Topic: "scene.set", Data: json.RawMessage(`{"place":"码头"}`)},
		Exports: map[string]sdk.Input{"weather": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(`"雨"`), Runtime: "sky"}}}},
	}
	line := &projections.Input{Rendered: "我去码头。", Actions: []projections.Action{{Kind: "say", Text: "我去码头。", Interaction: &projections.InteractionRef{TurnID: "t"}}}}
	b, err := proto.Marshal(Freeze(run, line, map[string]json.RawMessage{"depth": json.RawMessage("2")}))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Thaw(b)
	if err != nil {
		t.Fatal(err)
	}
	got := f.Run(rt)
	if string(got.Inputs["story"].Value()) != `"雨"` || got.Event.Topic != "scene.set" || string(got.Event.Data) != `{"place":"码头"}` {
		t.Errorf("inputs %+v, event %+v", got.Inputs, got.Event)
	}
	outputs := map[string]string{}
	for _, u := range got.Upstream {
		outputs[u.RuntimeID] = string(u.Output)
		if u.Status != turn.Succeeded || len(u.Proposals) > 0 || !u.Seed || (len(u.Segments) > 0) != (u.RuntimeID == "narrator") {
			t.Errorf("%+v", u)
		}
	}
	if len(outputs) != 3 || outputs["narrator"] != `{"a":1}` || outputs["tone/mood"] != `"calm"` || outputs["guide"] != "" {
		t.Errorf("outputs %v", outputs)
	}
	if string(got.Exports["weather"].Value()) != `"雨"` {
		t.Errorf("exports %+v", got.Exports)
	}
	named, _ := Thaw(mustMarshal(t, FreezeManual([]byte(`{"n":1}`), nil)))
	if run := named.Run(manifest.Runtime{ID: "p"}); !run.Manual || string(run.Payload) != `{"n":1}` || run.Event != nil {
		t.Errorf("a manual run: %+v", run)
	}
	if f.Rendered != "我去码头。" || f.Actions[0].Interaction.TurnID != "t" || string(f.Settings["depth"]) != "2" {
		t.Errorf("%+v", f)
	}
}

// Rule DESIGN §4: a version this binary cannot continue makes the job stale.
func TestThawRefusesOtherVersions(t *testing.T) {
	other, _ := proto.Marshal(&eventsv1.JobInput{Version: InputVersion + 1})
	for name, b := range map[string][]byte{"newer": other, "none": nil, "garbage": {0xff, 0xff, 0x01}, "settings": mustMarshal(t, &eventsv1.JobInput{Version: InputVersion, Settings: []byte("[")})} {
		if _, err := Thaw(b); !errors.Is(err, ErrInputVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustMarshal(t *testing.T, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Rule REF api-and-protocol.md §5.2: a retry keeps what was frozen and takes a new id; what identifies the session is of now.
func TestAgain(t *testing.T) {
	input := mustMarshal(t, &eventsv1.JobInput{Version: 1, Rendered: "雨"})
	j := projections.Job{ID: "old", RuntimeID: "memory/extract", PluginID: "memory", PluginDigest: "d1", Activation: Stage, SourceTurnID: "t1",
		Settle: true, MaxQueueMs: 7, Writes: []string{"ui:*"}, Status: projections.JobFailed, Input: input}
	s := session().Session
	s.Incarnation = "now"
	q := Again(j, "new", s)
	if q.JobId != "new" || q.RetryOf != "old" || q.Incarnation != "now" || q.SourceTurnId != "t1" || q.Input.Rendered != "雨" || q.MaxQueueMs != 7 || !q.Settle || len(q.Writes) != 1 {
		t.Errorf("%v", q)
	}
	if j.Activation = Manual; Again(j, "new", s).SourceTurnId != "new" {
		t.Error("a manual job keeps its old turn")
	}
}

func TestQueuedTakesTheLimits(t *testing.T) {
	s := session().Session
	detached := manifest.Runtime{ID: "memory/extract", PluginID: "memory", Type: "function", Function: manifest.Function{Model: "fast"},
		Schedule: manifest.Schedule{Detached: &manifest.Detached{Settle: true, MaxQueueMs: 5}}, Effects: manifest.Effects{Writes: []string{"ui:*"}}}
	q := Queued("j", Stage, detached, s, nil)
	if q.MaxQueueMs != 5 || q.MaxExecutionMs != DefaultMaxExecutionMs || !q.Settle || q.MaxSettleWaitMs != DefaultMaxSettleWaitMs || q.Model != "fast" || q.Plugin.Digest != "d1" || !slices.Equal(q.Writes, []string{"ui:*"}) {
		t.Errorf("%v", q)
	}
	agent := manifest.Runtime{ID: "painter", PluginID: "painter", Type: "agent", Schedule: manifest.Schedule{Background: &manifest.Background{MaxExecutionMs: 9}}}
	if q = Queued("j", Manual, agent, s, nil); q.MaxExecutionMs != 9 || q.Settle || q.Model != "story" || q.Writes != nil {
		t.Errorf("%v", q)
	}
	if a, b := ID("01900000-0000-7000-8000-000000000001", "r", 1), ID("01900000-0000-7000-8000-000000000001", "r", 2); a == b || a == turn.RunID("01900000-0000-7000-8000-000000000001", "r", 1) {
		t.Error("ids of jobs are not their own")
	}
}

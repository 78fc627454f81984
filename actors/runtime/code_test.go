package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// desk runs plugin code of the package "book" in fake time: its runtimes play the functions they are given.
type desk struct {
	t      *testing.T
	system *actor.ActorSystem
	pid    *actor.PID // parent of the runs
	plugin *registry.Loaded
	frozen runtime.Frozen
	traces *memory.Store
	deps   runtime.Deps

	mu     sync.Mutex
	told   []kernelsession.Progress
	result *turn.Result
	run    *actor.PID
}

func (d *desk) Receive(c actor.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch m := c.Message().(type) {
	case *actor.Props:
		d.run = c.Spawn(m)
	case kernelsession.Progress:
		d.told = append(d.told, m)
	case runtime.Ended:
		d.result = &m.Result
	}
}

// atDesk runs fn in fake time. Handlers are named as their runtimes: book/<name>.
func atDesk(t *testing.T, handlers map[string]sdk.Handler, change func(*desk), fn func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, traces: &memory.Store{}, plugin: &registry.Loaded{
			Manifest: manifest.Plugin{ID: "book"}, Tools: map[string]sdk.Tool{}, Entry: sdk.Covel{Handlers: handlers, Guards: map[string]sdk.Guard{}},
		}}
		d.frozen = runtime.Frozen{Execution: projections.Execution{ID: "e1", Origin: "player", StartedAt: time.Now()}, Instructions: "en"}
		for name := range handlers {
			d.frozen.Active = append(d.frozen.Active, part(name))
		}
		log := slog.New(slog.DiscardHandler)
		w, err := trace.NewWriter(context.Background(), d.traces, log)
		if err != nil {
			t.Fatal(err)
		}
		d.deps = runtime.Deps{Tools: &tools.Executor{}, Trace: w, Log: log}
		if change != nil {
			change(d)
		}
		d.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log }))
		d.pid = d.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return d }))
		fn(d)
		d.system.Root.Stop(d.pid)
		d.system.Shutdown()
		w.Close()
		time.Sleep(2 * time.Second) // the library's throttle of dead letters
	})
}

func part(name string) manifest.Runtime {
	return manifest.Runtime{ID: "book/" + name, PluginID: "book", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Stage: manifest.PostTurn}, Function: manifest.Function{Handler: name}}
}

// play starts a runtime and waits until it has ended.
func (d *desk) play(rt manifest.Runtime) turn.Result {
	d.t.Helper()
	return d.start(turn.Run{RunID: "run-1", Runtime: rt})
}

// start starts a run and waits until it has ended.
func (d *desk) start(run turn.Run) turn.Result {
	d.t.Helper()
	d.mu.Lock()
	d.result, d.told = nil, nil
	d.mu.Unlock()
	d.system.Root.Send(d.pid, runtime.Props(d.deps, d.frozen, run, d.plugin))
	for range 1000 {
		time.Sleep(time.Second)
		synctest.Wait()
		d.mu.Lock()
		res := d.result
		d.mu.Unlock()
		if res != nil {
			return *res
		}
	}
	d.t.Fatal("the run does not end")
	return turn.Result{}
}

// heard gives what the parent was told, in order.
func (d *desk) heard() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.told {
		line := string(p.Kind) + " " + p.RuntimeID
		if p.Report != nil {
			line += fmt.Sprintf(" %s %s %d %s", p.Report.JobID, p.Report.State, p.Report.Sequence, p.Report.Message)
		}
		if a := p.Asset; a != nil {
			line += fmt.Sprintf(" %s %s %g %s", a.AssetID, a.Phase, a.Percent, a.Modality)
		}
		if p.ParentRunID != "" {
			line += " below " + p.ParentRunID
		}
		if p.Error != "" {
			line += ": " + p.Error
		}
		out = append(out, line)
	}
	return out
}

// traced gives the entries of the trace of some types.
func (d *desk) traced(types ...trace.Type) (out []string) {
	time.Sleep(time.Second)
	synctest.Wait()
	all, err := d.traces.Read(context.Background(), trace.Query{SessionID: d.frozen.State.Session.ID})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range all {
		if slices.Contains(types, e.Type) {
			out = append(out, string(e.Type)+" "+e.RuntimeID+" "+string(e.Payload))
		}
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func kinds(r turn.Result) (out []string) {
	for _, p := range r.Proposals {
		out = append(out, p.Type+" "+string(p.Payload))
	}
	return out
}

var ok = sdk.Result{Outcome: sdk.Success}

// Rule TP:180: a called run has the origin recursive.
// Rule REF:plugins.md §11: recursiveCall runs another runtime of the package; its result stands below the caller's.
// Rule TP:648: what a called run left is seen by its caller and by later calls; what the caller staged is not seen by them.
func TestRecursiveCall(t *testing.T) {
	handlers := map[string]sdk.Handler{
		"keep": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			if err := rt.PluginData.Set("n", "own", 1); err != nil {
				return ok, err
			}
			for _, n := range []int{1, 2} {
				res, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: "章", Payload: map[string]int{"n": n}, Reason: "every chapter"})
				if err != nil {
					return ok, err
				}
				if want := fmt.Sprintf(`{"depth":1,"origin":"recursive","own":"","seen":"%s"}`, []string{"", "1"}[n-1]); string(res.Output) != want || res.Status != sdk.Success {
					return ok, fmt.Errorf("call %d gave %s %s, want %s", n, res.Status, res.Output, want)
				}
			}
			return sdk.Result{Outcome: sdk.Success, Value: []string{string(rt.PluginData.Get("n", "章")), string(rt.PluginData.Get("n", "own"))}}, nil
		},
		"章": func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			value := map[string]any{"own": string(rt.PluginData.Get("n", "own")), "seen": string(rt.PluginData.Get("n", "章")), "depth": rt.RecursionDepth, "origin": rt.Execution.Origin}
			var in struct{ N int }
			if err := json.Unmarshal(rt.Activation, &in); err != nil {
				return ok, err
			}
			return sdk.Result{Outcome: sdk.Success, Value: value}, rt.PluginData.Set("n", "章", in.N)
		},
	}
	atDesk(t, handlers, nil, func(d *desk) {
		res := d.play(part("keep"))
		same(t, "result", []any{res.Status, res.Error, string(res.Output)}, []any{turn.Succeeded, "", `["2","1"]`})
		same(t, "own writes", kinds(res), []string{`plugin.data {"namespace":"n","key":"own","value":1}`})
		same(t, "writes below", [][]string{kinds(res.Nested[0]), kinds(res.Nested[1])}, [][]string{{`plugin.data {"namespace":"n","key":"章","value":1}`}, {`plugin.data {"namespace":"n","key":"章","value":2}`}})
		if res.Nested[0].RunID == res.Nested[1].RunID || res.Nested[0].RuntimeID != "book/章" {
			t.Errorf("nested %+v", res.Nested)
		}
		same(t, "told", d.heard(), []string{
			"runtime.started book/keep", "runtime.started book/章 below run-1", "runtime.completed book/章 below run-1",
			"runtime.started book/章 below run-1", "runtime.completed book/章 below run-1", "runtime.completed book/keep",
		})
		calls := d.traced(trace.RecursiveCalling, trace.RecursiveCompleted, trace.RecursiveFailed)
		same(t, "traced", len(calls), 4)
		if !strings.Contains(calls[0], `recursive.calling book/keep {"calledRunId":"`) || !strings.Contains(calls[0], `"depth":1,"reason":"every chapter"`) {
			t.Error(calls[0])
		}
	})
}

// Rule REF:plugins.md §13.3: a failed run writes nothing; the caller is told and goes on.
func TestFailedRecursiveCall(t *testing.T) {
	handlers := map[string]sdk.Handler{
		"keep": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			var said []string
			for _, name := range []string{"fails", "panics", "skips", "waits", "sleeps", "other/x"} {
				res, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: name})
				if err != nil {
					said = append(said, name+" refused")
					continue
				}
				said = append(said, fmt.Sprintf("%s %s %s %s%s", name, res.Status, res.StopReason, res.Error, res.SkipReason))
			}
			return sdk.Result{Outcome: sdk.Success, Value: said}, nil
		},
		"fails": func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			_ = rt.PluginData.Set("n", "k", 1)
			return sdk.Result{Outcome: sdk.Failed, Error: "雾太大"}, nil
		},
		"panics": func(context.Context, *sdk.Runtime) (sdk.Result, error) { panic("boom") },
		"skips": func(context.Context, *sdk.Runtime) (sdk.Result, error) {
			return sdk.Result{Outcome: sdk.Skipped, SkipReason: "没有人"}, nil
		},
		"waits": func(context.Context, *sdk.Runtime) (sdk.Result, error) {
			return sdk.Result{Outcome: sdk.Suspended, Reason: "谁？"}, nil
		},
		"sleeps": func(ctx context.Context, _ *sdk.Runtime) (sdk.Result, error) { <-ctx.Done(); return ok, ctx.Err() },
	}
	atDesk(t, handlers, func(d *desk) {
		for i := range d.frozen.Active {
			if d.frozen.Active[i].ID == "book/sleeps" {
				d.frozen.Active[i].Function.TimeoutMs = 3000
			}
		}
	}, func(d *desk) {
		res := d.play(part("keep"))
		var said []string
		_ = json.Unmarshal(res.Output, &said)
		same(t, "said", strings.Join(said, "\n"), strings.Join([]string{
			"fails failed internal 雾太大", "panics failed internal the handler panicked", "skips skipped completed 没有人",
			"waits failed invalid-output a run that was called by another one cannot wait for the player: let the caller suspend",
			"sleeps failed timeout the handler did not end within its time limit", "other/x refused",
		}, "\n"))
		same(t, "results", []any{res.Status, len(res.Nested), len(res.Nested[0].Proposals)}, []any{turn.Succeeded, 5, 0})
	})
}

// Rule REF:plugins.md §11: the caller's time limit and its end reach the runs it has called.
func TestCallerEnds(t *testing.T) {
	var below error
	handlers := map[string]sdk.Handler{
		"keep": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			_, err := rt.RecursiveCall(context.Background(), sdk.RecursiveCall{RuntimeID: "sleeps"})
			return ok, err
		},
		"sleeps": func(ctx context.Context, _ *sdk.Runtime) (sdk.Result, error) {
			<-ctx.Done()
			below = ctx.Err()
			return ok, nil
		},
	}
	atDesk(t, handlers, nil, func(d *desk) {
		rt := part("keep")
		rt.Function.TimeoutMs = 2000
		res := d.play(rt)
		same(t, "result", []any{res.Status, res.StopReason, res.Error}, []any{turn.Failed, "timeout", "the handler did not end within its time limit"})
		synctest.Wait()
		if below == nil {
			t.Error("the called run goes on")
		}
	})
	atDesk(t, map[string]sdk.Handler{
		"keep": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			res, err := rt.RecursiveCall(short, sdk.RecursiveCall{RuntimeID: "sleeps"})
			return sdk.Result{Outcome: sdk.Success, Value: string(res.Status) + " " + res.StopReason}, err
		},
		"sleeps": handlers["sleeps"],
	}, nil, func(d *desk) {
		res := d.play(part("keep"))
		same(t, "a call that was called off", string(res.Output), `"failed cancelled-by-parent"`)
		same(t, "below", len(res.Nested), 1)
	})
}

// Rule TL:1630: a guard has the context of a handler; once it has returned or its time is up, all of that stops working.
// Rule TL:263: a guard calls no tools.
func TestGuardContext(t *testing.T) {
	var kept *sdk.Runtime
	guards := map[string]sdk.Guard{
		"answers": func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
			kept = rt
			res, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: "part"})
			if err != nil {
				return sdk.GuardResult{}, err
			}
			return sdk.GuardResult{Skip: true, Output: map[string]any{"part": res.Output, "tools": rt.Tools != nil}}, rt.PluginData.Set("n", "k", "守")
		},
		"lets": func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
			_, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: "part"})
			return sdk.GuardResult{}, err
		},
		"sleeps": func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
			kept = rt
			time.Sleep(time.Minute)
			return sdk.GuardResult{}, nil
		},
		"panics": func(context.Context, *sdk.Runtime) (sdk.GuardResult, error) { panic("boom") },
		"errs": func(context.Context, *sdk.Runtime) (sdk.GuardResult, error) {
			return sdk.GuardResult{}, fmt.Errorf("门锁了")
		},
	}
	handlers := map[string]sdk.Handler{
		"part": func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			return sdk.Result{Outcome: sdk.Success, Value: "部分"}, rt.PluginData.Set("n", "part", 1)
		},
		"main": func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			return sdk.Result{Outcome: sdk.Success, Value: string(rt.PluginData.Get("n", "part"))}, nil
		},
	}
	atDesk(t, handlers, func(d *desk) { d.plugin.Entry.Guards = guards }, func(d *desk) {
		guarded := func(name string) turn.Result {
			rt := part("main")
			rt.Guard = name
			return d.play(rt)
		}
		over := func() {
			t.Helper()
			if kept.PluginData.Get("n", "k") != nil || kept.PluginData.Set("n", "k", 2) == nil {
				t.Error("plugin data still works")
			}
			if _, err := kept.RecursiveCall(context.Background(), sdk.RecursiveCall{RuntimeID: "part"}); err == nil {
				t.Error("recursiveCall still works")
			}
		}
		res := guarded("answers")
		same(t, "answer", []any{res.Status, res.SkipReason, string(res.Output), len(res.Nested), kinds(res)},
			[]any{turn.Skipped, turn.SkipGuard, `{"part":"部分","tools":false}`, 1, []string{`plugin.data {"namespace":"n","key":"k","value":"守"}`}})
		over()
		// What the guard called is seen by the handler after it, and commits with the run.
		res = guarded("lets")
		same(t, "after the guard", []any{res.Status, string(res.Output), len(res.Nested)}, []any{turn.Succeeded, `"1"`, 1})
		for name, want := range map[string]string{
			"sleeps": "timeout the guard did not end within its time limit", "panics": "internal guard: the guard panicked", "errs": "internal guard: 门锁了",
			"nobody": "internal its plugin registered no guard nobody",
		} {
			res = guarded(name)
			same(t, name, []any{res.Status, res.StopReason + " " + res.Error, len(res.Proposals)}, []any{turn.Failed, want, 0})
			if name == "sleeps" {
				over()
			}
		}
		time.Sleep(2 * time.Minute) // the sleeper wakes
	})
}

// Rule REF:plugins.md §11: gateway asks the slot of function.model unless a call names one; what it costs counts for the run.
func TestFunctionGateway(t *testing.T) {
	handlers := map[string]sdk.Handler{
		"ask": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			text, err := rt.Gateway.GenerateText(ctx, sdk.TextRequest{Prompt: "雾里有什么？"})
			if err != nil {
				return ok, err
			}
			object, err := rt.Gateway.GenerateObject(ctx, sdk.ObjectRequest{TextRequest: sdk.TextRequest{Slot: "story", Prompt: "x"}, Schema: json.RawMessage(`{"type":"object","required":["灯"]}`)})
			if err != nil {
				return ok, err
			}
			_, wrong := rt.Gateway.GenerateObject(ctx, sdk.ObjectRequest{TextRequest: sdk.TextRequest{Prompt: "x"}, Schema: json.RawMessage(`{"type":"array"}`)})
			return sdk.Result{Outcome: sdk.Success, Value: []any{text.Text, object, wrong != nil}}, nil
		},
	}
	var slots []string
	m := modelFunc(func(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
		slots = append(slots, req.Slot+" "+req.Subject)
		reply := model.Reply{Text: "灯。", FinishReason: model.FinishStop, Usage: model.Usage{InputTokens: 7, OutputTokens: 2}}
		if req.ResponseFormat != nil {
			reply.Text = "```json\n{\"灯\":1}\n```"
		}
		return reply, nil
	})
	atDesk(t, handlers, func(d *desk) { d.deps.Model = m }, func(d *desk) {
		rt := part("ask")
		rt.Function.Model = "cheap"
		res := d.play(rt)
		same(t, "result", []any{res.Error, string(res.Output)}, []any{"", `["灯。",{"灯":1},true]`})
		same(t, "slots", slots, []string{"cheap book/ask", "story book/ask", "cheap book/ask"})
		same(t, "usage", res.Usage, turn.Usage{InputTokens: 21, OutputTokens: 6, ModelCalls: 3, Unpriced: 3})
		same(t, "traced", len(d.traced(trace.GatewayCalling, trace.GatewayResponded)), 6)
	})
}

// Rule REF:api-and-protocol.md §5.3: reports have a rising sequence; the host closes what is open; a success of a run that
// failed becomes a failure, a failure stands.
// Rule REF:plugins.md §11: logger writes lines into the trace of the run.
func TestReportsAndLog(t *testing.T) {
	fail := false
	handlers := map[string]sdk.Handler{
		"work": func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			rt.Log.Info("开始", map[string]any{"n": 1})
			rt.Log.Warn("odd", map[string]any{"f": func() {}})
			for range 300 {
				rt.Log.Debug("again", nil)
			}
			say := func(job string, state sdk.ProgressState, seq int) {
				rt.Progress(sdk.ProgressReport{JobID: job, State: state, Sequence: seq, Message: "画"})
			}
			say("draw", sdk.ProgressRunning, 1)
			say("draw", sdk.ProgressStep, 3)
			say("draw", sdk.ProgressStep, 3)
			say("draw", sdk.ProgressStep, 2)
			say("", sdk.ProgressStep, 1)
			say("draw", "dancing", 4)
			say("print", sdk.ProgressSucceeded, 1)
			say("print", sdk.ProgressRunning, 2)
			say("bind", sdk.ProgressFailed, 1)
			if fail {
				return sdk.Result{Outcome: sdk.Failed, Error: "x"}, nil
			}
			return ok, nil
		},
	}
	atDesk(t, handlers, nil, func(d *desk) {
		reports := func() (out []string) {
			for _, line := range d.heard() {
				if rest, ok := strings.CutPrefix(line, "job-status.updated book/work "); ok {
					out = append(out, strings.TrimSpace(rest))
				}
			}
			slices.Sort(out)
			return out
		}
		d.play(part("work"))
		same(t, "reports", strings.Join(reports(), "\n"), "bind failed 1 画\ndraw progress 3 画\ndraw running 1 画\ndraw succeeded 4\nprint succeeded 1 画")
		lines := d.traced(trace.RuntimeLog)
		same(t, "lines", len(lines), 201)
		same(t, "first", lines[0], `runtime.log book/work {"level":"info","message":"开始","fields":{"n":1}}`)
		if !strings.Contains(lines[1], "cannot be written as JSON") || !strings.Contains(lines[200], "logs too much") {
			t.Error(lines[1], lines[200])
		}
		fail = true
		d.play(part("work"))
		same(t, "of a failed run", strings.Join(reports(), "\n"), "bind failed 1 画\ndraw failed 4\ndraw progress 3 画\ndraw running 1 画\nprint failed 2\nprint succeeded 1 画")
	})
}

// Rule REF:plugins.md §8: of a concealed runtime nobody is told what it read, wrote and why it failed; names, status and
// time stay. What it calls is concealed as well.
func TestConcealedRun(t *testing.T) {
	const secret = "凶手"
	told, reveal := false, sdk.Proposal{Type: "plugin.data", Payload: json.RawMessage(`{"namespace":"public","key":"a","value":"有人来过"}`)}
	handlers := map[string]sdk.Handler{
		"plot": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			rt.Log.Info(secret, map[string]any{"who": secret})
			rt.Progress(sdk.ProgressReport{JobID: "plan", State: sdk.ProgressRunning, Sequence: 1, Message: secret, Data: json.RawMessage(`"` + secret + `"`)})
			res, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: "part", Payload: secret, Reason: secret})
			if err != nil {
				return ok, err
			}
			if told {
				return sdk.Result{Outcome: sdk.Success, Value: secret, Effects: sdk.Effects{Narrative: secret, Proposals: []sdk.Proposal{reveal}}}, nil
			}
			return sdk.Result{Outcome: sdk.Failed, Error: secret + res.Error, Effects: sdk.Effects{Diagnostics: []sdk.Diagnostic{{Code: "c", Message: secret}}}}, nil
		},
		"part": func(context.Context, *sdk.Runtime) (sdk.Result, error) {
			return sdk.Result{Outcome: sdk.Skipped, SkipReason: secret}, nil
		},
	}
	atDesk(t, handlers, nil, func(d *desk) {
		rt := part("plot")
		rt.IO.Concealed = true
		res := d.play(rt)
		same(t, "the kernel knows", res.Error, secret)
		if all := fmt.Sprintf("%+v", d.told); strings.Contains(all, secret) {
			t.Errorf("watchers are told: %s", all)
		}
		for _, line := range d.traced(trace.RuntimeStarted, trace.RuntimeFailed, trace.RuntimeSkipped, trace.RuntimeLog, trace.RuntimeDiagnostic, trace.RecursiveCalling, trace.RecursiveCompleted) {
			if strings.Contains(line, secret) {
				t.Errorf("the trace tells: %s", line)
			}
		}
		if heard := d.heard(); !slices.Contains(heard, "runtime.failed book/plot: "+turn.ConcealedFailure) {
			t.Errorf("told %q", heard)
		}
		// It has no row in the conversation; what it reveals it writes as a record.
		told = true
		res = d.play(rt)
		same(t, "writes", kinds(res), []string{"plugin.data " + string(reveal.Payload)})
	})
}

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
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// provider is a model made of a function.
type provider func(ctx context.Context, n int, req model.Request, say func(model.Delta)) (model.Reply, error)

// rig is one run of an agent in fake time: its model, and what its parent heard.
type rig struct {
	t      *testing.T
	system *actor.ActorSystem
	pid    *actor.PID // the parent
	run    *actor.PID
	plugin *registry.Loaded
	rt     manifest.Runtime
	frozen runtime.Frozen // what runs read; set before start

	mu       sync.Mutex
	requests []model.Request
	told     []kernelsession.Progress
	heard    []runtime.Interjected
	result   *turn.Result
}

func (r *rig) Receive(c actor.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch m := c.Message().(type) {
	case *actor.Props:
		r.run = c.Spawn(m)
	case kernelsession.Progress:
		r.told = append(r.told, m)
	case runtime.Interjected:
		r.heard = append(r.heard, m)
	case runtime.Ended:
		r.result = &m.Result
	case runtime.Cancel, runtime.Interject:
		c.Send(r.run, m)
	}
}

// story is an agent that tells the story, with tools of its plugin.
func story(agent manifest.Agent) manifest.Runtime {
	return manifest.Runtime{ID: "teller", PluginID: "teller", Type: "agent", Agent: agent, IO: manifest.IO{Visibility: manifest.VisibilityStory}}
}

func system(agent manifest.Agent) manifest.Runtime {
	return manifest.Runtime{ID: "teller", PluginID: "teller", Type: "agent", Agent: agent, IO: manifest.IO{Visibility: manifest.VisibilitySystem}}
}

// play runs fn in fake time with a rig whose run has started.
func play(t *testing.T, rt manifest.Runtime, own map[string]sdk.Tool, m provider, fn func(r *rig)) {
	t.Helper()
	playIn(t, func(*rig) {}, rt, own, m, fn)
}

// playIn is play with what setup prepares.
func playIn(t *testing.T, setup func(*rig), rt manifest.Runtime, own map[string]sdk.Tool, m provider, fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, rt: rt, plugin: &registry.Loaded{Manifest: manifest.Plugin{ID: "teller"}, Tools: own}}
		r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
		r.pid = r.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return r }))
		setup(r)
		r.start(m, nil)
		fn(r)
		r.system.Root.Stop(r.pid)
		r.system.Shutdown()
		time.Sleep(2 * time.Second) // the library's throttle of dead letters
	})
}

func (r *rig) start(m provider, resumed *turn.Resumed) {
	var mu sync.Mutex
	n := 0
	base := modelFunc(func(ctx context.Context, req model.Request, say func(model.Delta)) (model.Reply, error) {
		mu.Lock()
		n++
		at := n
		mu.Unlock()
		r.mu.Lock()
		r.requests = append(r.requests, req)
		r.mu.Unlock()
		return m(ctx, at, req, say)
	})
	deps := runtime.Deps{Model: base, Tools: &tools.Executor{}, Log: slog.New(slog.DiscardHandler)}
	frozen := r.frozen
	frozen.Execution.ID, frozen.Instructions = "e1", "en"
	run := turn.Run{RunID: "run-1", Runtime: r.rt, Resumed: resumed}
	r.mu.Lock()
	r.result = nil
	r.mu.Unlock()
	r.system.Root.Send(r.pid, runtime.Props(deps, frozen, run, r.plugin))
}

type modelFunc func(context.Context, model.Request, func(model.Delta)) (model.Reply, error)

// Generate heeds the limits of the request the way providers do.
func (f modelFunc) Generate(ctx context.Context, req model.Request, say func(model.Delta)) (model.Reply, error) {
	limit, reason := req.Limits.FirstToken, "first-token-timeout"
	if !req.Stream {
		limit, reason = req.Limits.Call, "call-timeout"
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(limit, cancel)
	defer timer.Stop()
	reply, err := f(call, req, func(d model.Delta) {
		if req.Stream {
			timer.Stop()
		}
		say(d)
	})
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		return reply, &model.Error{Kind: model.Timeout, Message: reason}
	}
	return reply, err
}

// ended waits for the run's result and says how long it took.
func (r *rig) ended() (turn.Result, time.Duration) {
	r.t.Helper()
	begun := time.Now()
	for range 100_000 {
		r.mu.Lock()
		res := r.result
		r.mu.Unlock()
		if res != nil {
			return *res, time.Since(begun)
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.t.Fatal("the run never ended")
	return turn.Result{}, 0
}

func (r *rig) waits() []kernelsession.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.told), func(p kernelsession.Progress) bool { return p.Kind != kernelsession.ModelWaiting })
}

func (r *rig) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

// last are the messages of the latest request.
func (r *rig) last() []model.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[len(r.requests)-1].Messages
}

func (r *rig) send(msg any) {
	r.system.Root.Send(r.pid, msg)
	synctest.Wait()
}

func says(text string) (model.Reply, error) {
	return model.Reply{Text: text, FinishReason: model.FinishStop}, nil
}

func calls(c ...model.ToolCall) (model.Reply, error) {
	return model.Reply{ToolCalls: c, FinishReason: model.FinishToolCalls}, nil
}

func call(id, name, args string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: args}
}

func silent(ctx context.Context) (model.Reply, error) {
	<-ctx.Done()
	return model.Reply{}, &model.Error{Kind: model.Cancelled, Message: ctx.Err().Error()}
}

// Rule BL-04: a model that accepts and stays silent is given up in time for the retry that is allowed.
func TestASilentModelLeavesRoomForTheRetry(t *testing.T) {
	play(t, story(manifest.Agent{MaxRetries: 1}), nil, func(ctx context.Context, n int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
		if n == 1 {
			return silent(ctx)
		}
		return says("雨停了。")
	}, func(r *rig) {
		res, took := r.ended()
		if res.Status != turn.Succeeded || took < 60*time.Second || took > 62*time.Second {
			t.Errorf("%s after %s: %s", res.Status, took, res.Error)
		}
		if w := r.waits(); len(w) != 1 || w[0].Reason != "first-token-timeout" || w[0].Attempt != 2 {
			t.Errorf("told %+v", w)
		}
	})
}

// Rule BL-04: a model that is silent at every attempt fails the run by the model, within its own time.
func TestAModelThatIsAlwaysSilent(t *testing.T) {
	for _, retries := range []int{0, 1, 5} {
		play(t, story(manifest.Agent{MaxRetries: retries}), nil, func(ctx context.Context, _ int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			return silent(ctx)
		}, func(r *rig) {
			res, took := r.ended()
			if res.StopReason != string(loop.StopModelError) || r.asked() != retries+1 || took > 180*time.Second {
				t.Errorf("%d retries: %s after %d calls and %s: %s", retries, res.StopReason, r.asked(), took, res.Error)
			}
		})
	}
}

// Rule BL-04: Retry-After is waited for, the player sees for how long and why, and it is told again as it was.
func TestARateLimitIsWaitedFor(t *testing.T) {
	play(t, story(manifest.Agent{MaxRetries: 1}), nil, func(_ context.Context, n int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
		if n == 1 {
			return model.Reply{}, &model.Error{Kind: model.RateLimited, Status: 429, Message: "慢点", RetryAfter: 7 * time.Second}
		}
		return says("雨停了。")
	}, func(r *rig) {
		res, took := r.ended()
		if res.Status != turn.Succeeded || took < 7*time.Second || took > 9*time.Second {
			t.Errorf("%s after %s", res.Status, took)
		}
		if w := r.waits(); len(w) != 1 || w[0].WaitMs < 7000 || w[0].WaitMs > 8000 || w[0].Reason != "rate-limited" {
			t.Errorf("told %+v", w)
		}
	})
}

// Rule BL-04: the player can stop while the run waits to ask again.
// Rule DEC Stop reasons: the player's stop is aborted-by-player, any other cancel of a run is cancelled-by-parent.
func TestStopWhileWaiting(t *testing.T) {
	for reason, stop := range map[string]loop.StopReason{kernelsession.AbortPlayer: loop.StopAbortedByPlayer, "drained": loop.StopCancelledParent} {
		play(t, story(manifest.Agent{MaxRetries: 1}), nil, func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return model.Reply{}, &model.Error{Kind: model.RateLimited, Status: 429, RetryAfter: 50 * time.Second}
		}, func(r *rig) {
			time.Sleep(10 * time.Second)
			r.send(runtime.Cancel{Reason: reason})
			res, took := r.ended()
			if res.StopReason != string(stop) || took > time.Second || r.asked() != 1 {
				t.Errorf("%s: %s after %s and %d calls", reason, res.StopReason, took, r.asked())
			}
		})
	}
}

// Rule BL-04: a failure that can never pass, such as a spent quota, is not tried again.
func TestPermanentFailuresAreNotRetried(t *testing.T) {
	play(t, story(manifest.Agent{MaxRetries: 5}), nil, func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Status: 429, Message: "insufficient_quota"}
	}, func(r *rig) {
		res, _ := r.ended()
		if r.asked() != 1 || len(r.waits()) != 0 || res.StopReason != string(loop.StopModelError) || !strings.Contains(res.Error, "insufficient_quota") {
			t.Errorf("%d calls, %s: %s", r.asked(), res.StopReason, res.Error)
		}
	})
}

// Rule REF plugins.md §9.4: a model that keeps writing is never cut, and writing is not charged to the run's time.
func TestWritingIsNotCharged(t *testing.T) {
	play(t, story(manifest.Agent{MaxRetries: 1, TimeoutMs: 30_000, PluginTools: []string{"look"}}), map[string]sdk.Tool{"look": look(nil)},
		func(_ context.Context, n int, _ model.Request, say func(model.Delta)) (model.Reply, error) {
			if n == 1 {
				return calls(call("a", "look", `{}`))
			}
			var all strings.Builder
			for range 60 {
				say(model.Delta{Text: "雨。"})
				all.WriteString("雨。")
				time.Sleep(5 * time.Second)
			}
			return says(all.String())
		}, func(r *rig) {
			if res, took := r.ended(); res.Status != turn.Succeeded || took < 300*time.Second {
				t.Errorf("%s (%s) after %s: %s", res.Status, res.StopReason, took, res.Error)
			}
		})
}

// Rule REF plugins.md §9.4: the run's own time ends it with timeout, also while a tool hangs; a timeout tries no finalizer.
func TestTimeout(t *testing.T) {
	hangs := look(func(ctx context.Context) { <-ctx.Done() })
	play(t, story(manifest.Agent{TimeoutMs: 30_000, PluginTools: []string{"look"}}), map[string]sdk.Tool{"look": hangs},
		func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return calls(call("a", "look", `{}`))
		}, func(r *rig) {
			if res, took := r.ended(); res.StopReason != string(loop.StopTimeout) || took > 31*time.Second || r.asked() != 1 {
				t.Errorf("%s after %s and %d calls", res.StopReason, took, r.asked())
			}
		})
}

func look(during func(context.Context)) sdk.Tool {
	return sdk.Tool{
		Name: "look", Description: "Look at a place.", Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`),
		Annotations: sdk.Annotations{ReadOnly: true, ConcurrencySafe: true},
		Execute: func(ctx context.Context, args json.RawMessage, _ *sdk.Runtime) (sdk.ToolResult, error) {
			if during != nil {
				during(ctx)
			}
			return sdk.ToolResult{Content: map[string]json.RawMessage{"seen": args}}, nil
		},
	}
}

// Rule TL:89: the calls of a pool run at the same time, eight at once; TL:91: a call that is not safe waits for them and is waited for.
// Rule TL:93: their results stand in model order, whichever ended first.
func TestPools(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	var order []string
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		now += by
		most = max(most, now)
	}
	reads := look(func(context.Context) {
		count(1)
		time.Sleep(time.Second)
		count(-1)
	})
	writes := look(func(context.Context) {
		mu.Lock()
		order = append(order, fmt.Sprint("write beside ", now))
		mu.Unlock()
		time.Sleep(time.Second)
	})
	writes.Name, writes.Annotations = "save", sdk.Annotations{}
	play(t, system(manifest.Agent{PluginTools: []string{"look", "save"}}), map[string]sdk.Tool{"look": reads, "save": writes},
		func(_ context.Context, n int, req model.Request, _ func(model.Delta)) (model.Reply, error) {
			if n > 1 {
				var ids []string
				for _, m := range req.Messages {
					if m.Role == model.ToolRole {
						ids = append(ids, m.ToolCallID)
					}
				}
				return says(strings.Join(ids, " "))
			}
			var all []model.ToolCall
			for i := range 10 {
				all = append(all, call(fmt.Sprint("r", i), "look", fmt.Sprintf(`{"at":"%d"}`, i)))
			}
			return calls(append(all, call("w", "save", `{}`), call("r10", "look", `{}`))...)
		}, func(r *rig) {
			res, took := r.ended()
			if res.Status != turn.Succeeded || took < 4*time.Second || took > 5*time.Second {
				t.Errorf("%s after %s: two pools, a barrier and a pool take 4 s", res.Status, took)
			}
			if most != 8 || fmt.Sprint(order) != "[write beside 0]" {
				t.Errorf("%d at once, %v", most, order)
			}
			var ids []string
			for _, m := range r.last() {
				if m.Role == model.ToolRole {
					ids = append(ids, m.ToolCallID)
				}
			}
			if got := strings.Join(ids, " "); got != "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 w r10" {
				t.Errorf("order %s", got)
			}
		})
}

// Rule BL-01: of three calls in one answer only the valid one runs, once; null, an empty text and deep nesting never do; the turn ends.
func TestMalformedCallsNeverRun(t *testing.T) {
	ran := 0
	quest := sdk.Tool{
		Name: "quest.update", Description: "Update a quest.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"quest":{"type":"string"}},"required":["quest"],"additionalProperties":false}`),
		Execute: func(context.Context, json.RawMessage, *sdk.Runtime) (sdk.ToolResult, error) {
			ran++
			return sdk.ToolResult{Content: map[string]bool{"ok": true}}, nil
		},
	}
	play(t, story(manifest.Agent{PluginTools: []string{"quest.update"}}), map[string]sdk.Tool{"quest.update": quest},
		func(_ context.Context, n int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			switch n {
			case 1:
				return calls(call("a", "quest.update", `{"quest":"Amulet","state":`), call("b", "quest.update", `["done"]`), call("c", "quest.update", `{"quest":"护身符"}`))
			case 2:
				return calls(call("d", "quest.update", `null`), call("e", "quest.update", ``), call("f", "quest.update", strings.Repeat(`{"a":`, 200_000)))
			}
			return says("雨停了。")
		}, func(r *rig) {
			res, _ := r.ended()
			if res.Status != turn.Succeeded || ran != 1 {
				t.Fatalf("%s, ran %d times: %s", res.Status, ran, res.Error)
			}
			size, bad := 0, 0
			for _, m := range r.last() {
				size += len(m.Content)
				for _, c := range m.ToolCalls {
					size += len(c.Arguments)
				}
				if m.Role == model.ToolRole && strings.Contains(m.Content, `"invalid-input"`) {
					if bad++; !strings.Contains(m.Content, "quest.update") || !strings.Contains(m.Content, `\"quest\": string`) {
						t.Errorf("the error does not name the tool and what it takes: %s", m.Content)
					}
				}
			}
			if bad != 5 || size > 16_000 {
				t.Errorf("%d errors, %d bytes of conversation", bad, size)
			}
		})
}

// Rule BL-16: a model that repeats one call for ever is cut at a small count, with a reason to read.
func TestOneCallForEver(t *testing.T) {
	ran := 0
	play(t, system(manifest.Agent{PluginTools: []string{"look"}}), map[string]sdk.Tool{"look": look(func(context.Context) { ran++ })},
		func(_ context.Context, n int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			return calls(call(fmt.Sprint(n), "look", `{"at":"门"}`))
		}, func(r *rig) {
			res, _ := r.ended()
			if res.StopReason != string(loop.StopToolLoop) || ran > 5 || !strings.Contains(res.Error, "look 4 times in a row with the same arguments") {
				t.Errorf("%s after %d runs: %s", res.StopReason, ran, res.Error)
			}
		})
}

// Rule TL:661–663: a successful suspend call ends the run at once and keeps the conversation; later calls of the reply do not run.
// Rule TL:674: the resumed run goes on with the answer in the placeholder's place.
func TestSuspendAndResume(t *testing.T) {
	ran := 0
	agent := manifest.Agent{BuiltinTools: []string{tools.Suspend}, PluginTools: []string{"look"}}
	play(t, story(agent), map[string]sdk.Tool{"look": look(func(context.Context) { ran++ })},
		func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return calls(call("s", tools.Suspend, `{"reason":"你叫什么？","fields":[{"type":"text","name":"name","label":"名字","required":true}]}`), call("l", "look", `{}`))
		}, func(r *rig) {
			res, _ := r.ended()
			if res.Status != turn.Suspended || res.StopReason != string(loop.StopSuspended) || res.Suspension == nil || ran != 0 {
				t.Fatalf("%s %s, look ran %d times: %s", res.Status, res.StopReason, ran, res.Error)
			}
			if s := res.Suspension; s.Reason != "你叫什么？" || !strings.Contains(string(s.ResumeSchema), `"required":["name"]`) || len(s.Loop) == 0 {
				t.Errorf("suspension %+v", s)
			}
			r.start(func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
				return says("你好，陆青云。")
			},
				&turn.Resumed{SuspensionID: "x", Answer: json.RawMessage(`{"name":"陆青云"}`), Continuation: turn.Continuation{Loop: res.Suspension.Loop}})
			res, _ = r.ended()
			if res.Status != turn.Succeeded || res.Usage.ModelCalls != 1 {
				t.Fatalf("%s %s, %d calls: %s", res.Status, res.StopReason, res.Usage.ModelCalls, res.Error)
			}
			var answers []string
			for _, m := range r.last() {
				if m.Role == model.ToolRole {
					answers = append(answers, m.ToolCallID+" "+m.Content)
				}
			}
			want := `s {"summary":"The player answered.","data":{"name":"陆青云"}}|l {"error":{"code":"cancelled","message":"The call was not executed."}}`
			if got := strings.Join(answers, "|"); got != want {
				t.Errorf("answers %s", got)
			}
		})
}

// A state that this program cannot continue fails the run and not the program.
func TestResumeOfAnotherVersion(t *testing.T) {
	play(t, story(manifest.Agent{}), nil, func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) { return says("x") }, func(r *rig) {
		r.ended()
		r.start(nil, &turn.Resumed{Continuation: turn.Continuation{Loop: []byte(`{"version":1}`)}})
		if res, _ := r.ended(); res.Status != turn.Failed || !strings.Contains(res.Error, "another version") {
			t.Errorf("%s: %s", res.Status, res.Error)
		}
	})
}

// Rule TP:565: a line that comes while the answer streams is merged and answered in one more step; a later one is refused.
func TestInterjectionWhileStreaming(t *testing.T) {
	play(t, story(manifest.Agent{}), nil, func(_ context.Context, n int, req model.Request, say func(model.Delta)) (model.Reply, error) {
		if n == 1 {
			say(model.Delta{Text: "门开"})
			time.Sleep(time.Second)
			return says("门开了。")
		}
		return says("有人回答。")
	}, func(r *rig) {
		time.Sleep(500 * time.Millisecond)
		r.send(runtime.Interject{ID: "i1", Text: "我喊一声。"})
		res, _ := r.ended()
		if res.Status != turn.Succeeded || len(res.Segments) != 2 || fmt.Sprint(res.Interjections) != "[{i1 我喊一声。}]" {
			t.Errorf("%s, %+v, %v", res.Status, res.Segments, res.Interjections)
		}
		if fmt.Sprint(r.heard) != "[{run-1 i1 true}]" {
			t.Errorf("heard %v", r.heard)
		}
		var shown strings.Builder
		for _, p := range r.told {
			if p.Kind == kernelsession.NarrativeDelta {
				if p.Reset {
					shown.Reset()
				}
				shown.WriteString(p.Delta)
			}
		}
		if shown.String() != "门开了。\n\n有人回答。" {
			t.Errorf("shown %q", shown.String())
		}
	})
	play(t, system(manifest.Agent{}), nil, func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
		time.Sleep(time.Second)
		return says("x")
	}, func(r *rig) {
		time.Sleep(500 * time.Millisecond)
		r.send(runtime.Interject{ID: "i1", Text: "我喊一声。"})
		r.ended()
		if fmt.Sprint(r.heard) != "[{run-1 i1 false}]" {
			t.Errorf("a system runtime heard %v", r.heard)
		}
	})
}

// Rule TL:684–700: a deferred tool is not in the first request; after a search it is, and it runs.
func TestADeferredToolIsFound(t *testing.T) {
	ran := 0
	agent := manifest.Agent{PluginTools: []string{"look"}, DeferAll: true}
	play(t, system(agent), map[string]sdk.Tool{"look": look(func(context.Context) { ran++ })},
		func(_ context.Context, n int, req model.Request, _ func(model.Delta)) (model.Reply, error) {
			has := slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == "look" })
			if has != (n > 1) {
				return says(fmt.Sprintf("request %d has look: %v", n, has))
			}
			switch n {
			case 1:
				return calls(call("f", tools.SearchTools, `{"query":"look at a place"}`))
			case 2:
				return calls(call("l", "look", `{}`))
			}
			return says("ok")
		}, func(r *rig) {
			if res, _ := r.ended(); res.Status != turn.Succeeded || ran != 1 || r.asked() != 3 {
				t.Errorf("%s, ran %d, %d requests: %s", res.Status, ran, r.asked(), res.Error)
			}
		})
}

// Rule TL:85: a declared plugin tool that its plugin did not register fails the run before the model is called, also when it is deferred.
func TestAnUnregisteredTool(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		play(t, system(manifest.Agent{PluginTools: []string{"gone"}, DeferAll: deferred}), nil, func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return says("x")
		}, func(r *rig) {
			res, _ := r.ended()
			if r.asked() != 0 || res.Error != `runtime "teller" declares plugin tool "gone", but its plugin did not register it` {
				t.Errorf("%d calls: %s", r.asked(), res.Error)
			}
		})
	}
}

package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

var scoutRuntime = manifest.Runtime{
	ID: "scout", PluginID: "scout", Type: manifest.TypeAgent, Schedule: manifest.Schedule{SubagentOnly: true},
	IO: manifest.IO{OutputContract: "look.scene@1", Visibility: manifest.VisibilityPlugin},
}

// withScout makes the sub-agent scout an active runtime of the rig's session.
func withScout(rt manifest.Runtime) func(*rig) {
	return func(r *rig) {
		r.frozen.Active = []manifest.Runtime{rt}
		r.frozen.Generation = &registry.Generation{Plugins: map[string]*registry.Loaded{
			"scout": {Manifest: manifest.Plugin{ID: "scout", Runtimes: []manifest.Runtime{rt}}},
		}}
	}
}

var askScout = sdk.AgentRequest{Target: sdk.AgentTarget{Contract: "look.scene@1"}, Brief: "鼓楼里有谁？"}

// Rule TP:707: at most eight sub-agents of an execution run at once; a full pool refuses at once and nothing queues, so that a
// caller never waits for its own slot. A place that is given back is free.
func TestPoolOfSubagents(t *testing.T) {
	free := make(chan struct{})
	var mu sync.Mutex
	var refused []error
	answered := 0
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		var wg sync.WaitGroup
		for range allowance.MaxRunning + 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				begun := time.Now()
				_, err := rt.Agents.Run(ctx, askScout)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered++
					return
				}
				refused = append(refused, err)
				if waited := time.Since(begun); waited > 0 {
					t.Errorf("refused after %s", waited)
				}
			}()
		}
		wg.Wait()
		_, err := rt.Agents.Run(ctx, askScout) // there is a place again
		return sdk.Result{Outcome: sdk.Success}, err
	})
	playIn(t, func(r *rig) {
		withScout(scoutRuntime)(r)
		allowing(allowance.Limits{})(r)
		setup(r)
		free = make(chan struct{}) // of the bubble
		time.AfterFunc(10*time.Second, func() { close(free) })
	}, rt, nil, func(ctx context.Context, _ int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
		<-free
		return says("老更夫")
	}, func(r *rig) {
		res, _ := r.ended()
		if res.Status != turn.Succeeded || answered != allowance.MaxRunning || len(refused) != 2 || len(res.Subagents) != allowance.MaxRunning+1 {
			t.Fatalf("%d answered, refused %v, %d kept: %+v", answered, refused, len(res.Subagents), res)
		}
		for _, err := range refused {
			if failure, ok := err.(*sdk.ToolError); !ok || failure.Code != sdk.Unavailable || !strings.Contains(failure.Message, "8 sub-agents") {
				t.Errorf("refused with %v", err)
			}
		}
		if got := r.frozen.Account.Spent(); got.Subagents != allowance.MaxRunning+1 || got.ModelCalls != allowance.MaxRunning+1 {
			t.Errorf("spent %+v", got)
		}
	})
}

// Rule TP:708: the revocation at a caller's end reaches its sub-agents, and the caller reports when the last has ended.
// Rule DEC Stop reasons: a sub-agent that its caller ends is cancelled-by-parent, and its tag never becomes the caller's.
func TestACallerThatDoesNotWait(t *testing.T) {
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		go func() { _, _ = rt.Agents.Run(ctx, askScout) }()
		time.Sleep(time.Second)
		return sdk.Result{Outcome: sdk.Success, Value: "走了"}, nil
	})
	playIn(t, func(r *rig) { withScout(scoutRuntime)(r); setup(r) }, rt, nil,
		func(ctx context.Context, _ int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			return silent(ctx)
		},
		func(r *rig) {
			res, _ := r.ended()
			if res.Status != turn.Succeeded || res.StopReason != "completed" || len(res.Subagents) != 1 {
				t.Fatalf("%+v", res)
			}
			if s := res.Subagents[0]; s.StopReason != "cancelled-by-parent" || s.Status != turn.Failed || s.RuntimeID != "scout" || s.ParentCallID == "" || s.RunID == res.RunID {
				t.Errorf("%+v", s)
			}
		})
}

// Rule TP:1176: a run that suspends drains its sub-agents before it is saved: what they spent and how they ended is saved with it.
func TestASuspensionDrainsItsSubagents(t *testing.T) {
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		go func() { _, _ = rt.Agents.Run(ctx, askScout) }()
		time.Sleep(time.Second)
		return sdk.Result{Outcome: sdk.Suspended, Reason: "你信吗？"}, nil
	})
	var ended atomic.Bool
	playIn(t, func(r *rig) { withScout(scoutRuntime)(r); setup(r) }, rt, nil,
		func(ctx context.Context, _ int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			reply, err := silent(ctx)
			ended.Store(true)
			return reply, err
		},
		func(r *rig) {
			res, _ := r.ended()
			synctest.Wait() // its call was cancelled, and returns beside it
			if res.Status != turn.Suspended || !ended.Load() || len(res.Subagents) != 1 || res.Subagents[0].StopReason != "cancelled-by-parent" {
				t.Errorf("its model has ended: %t, %+v", ended.Load(), res)
			}
		})
}

// Rule TP:708: the call's own context ends the wait, and the sub-agent with it; what it did is taken back.
func TestACallThatIsGivenUp(t *testing.T) {
	var got error
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, got = rt.Agents.Run(call, askScout)
		time.Sleep(time.Second)
		return sdk.Result{Outcome: sdk.Success}, nil
	})
	playIn(t, func(r *rig) { withScout(scoutRuntime)(r); setup(r) }, rt, nil,
		func(ctx context.Context, _ int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			return silent(ctx)
		},
		func(r *rig) {
			res, _ := r.ended()
			failure, ok := got.(*sdk.ToolError)
			if !ok || failure.Code != sdk.Cancelled || res.Status != turn.Succeeded || len(res.Subagents) != 1 || res.Subagents[0].StopReason != "cancelled-by-parent" {
				t.Errorf("%v, %+v", got, res)
			}
		})
}

// Rule TP:573: a thrown exit's reason belongs to the run that made it: the player's stop ends both, each with its own tag.
func TestStopReachesTheSubagent(t *testing.T) {
	playIn(t, withScout(scoutRuntime), story(manifest.Agent{BuiltinTools: []string{"delegate"}}), nil,
		func(ctx context.Context, n int, req model.Request, _ func(model.Delta)) (model.Reply, error) {
			if req.Subject == "teller" {
				return calls(call("c1", "delegate", `{"target":{"contract":"look.scene@1"},"brief":"谁？"}`))
			}
			return silent(ctx)
		},
		func(r *rig) {
			synctest.Wait()
			r.send(runtime.Cancel{Reason: kernelsession.AbortPlayer})
			res, took := r.ended()
			if res.StopReason != string(loop.StopAbortedByPlayer) || took > time.Second || len(res.Subagents) != 1 || res.Subagents[0].StopReason != string(loop.StopAbortedByPlayer) {
				t.Errorf("after %s: %+v", took, res)
			}
		})
}

// Rule DEC Loop profiles: a sub-agent has the profile actor: what it writes does not stream, nobody speaks into it.
// Rule TP:709: no suspending; TL:715: maxSteps lowers its limit and never raises it.
// Rule TP:705: it reads its brief and its facts, and neither the player's line nor the story of the turn.
func TestHowASubagentRuns(t *testing.T) {
	chatty := scoutRuntime
	on := true
	chatty.Agent = manifest.Agent{Profile: "story", Stream: &on, Steering: &on, MaxSteps: 2, PluginTools: []string{"look"}}
	answers := func(_ context.Context, n int, req model.Request, say func(model.Delta)) (model.Reply, error) {
		if req.Subject == "teller" {
			if n == 1 {
				return calls(call("c1", "delegate", `{"target":{"contract":"look.scene@1"},"brief":"鼓楼里有谁？","data":{"at":"鼓楼"},"maxSteps":9}`))
			}
			return says("完")
		}
		say(model.Delta{Text: "不该看见"})
		if req.ToolChoice.Mode == "none" {
			return says("老更夫")
		}
		return calls(call("x", "look", `{"n":`+strings.Repeat("1", n)+`}`))
	}
	n := 0
	playIn(t, func(r *rig) {
		withScout(chatty)(r)
		r.frozen.Generation.Plugins["scout"].Tools = counting(&n)
	}, story(manifest.Agent{BuiltinTools: []string{"delegate"}}), nil, answers, func(r *rig) {
		res, _ := r.ended()
		if res.Status != turn.Succeeded || len(res.Subagents) != 1 || res.Subagents[0].Status != turn.Succeeded || res.Subagents[0].StopReason != "max-steps" || n != 2 {
			t.Fatalf("%d steps: %+v", n, res)
		}
		for _, p := range r.told {
			if strings.Contains(p.Delta, "不该看见") {
				t.Errorf("the player saw %+v", p)
			}
			if p.RuntimeID == "scout" && p.ParentRunID != "run-1" {
				t.Errorf("whose sub-agent is it? %+v", p)
			}
		}
		asked := r.requests[1]
		if len(asked.Messages) != 3 || asked.Messages[2].Content != "鼓楼里有谁？" || !strings.Contains(asked.Messages[1].Content, `"at":"鼓楼"`) || asked.Stream {
			t.Errorf("it read %+v", asked.Messages)
		}
		last := r.last()
		if got := last[len(last)-1].Content; !json.Valid([]byte(got)) || !strings.Contains(got, "老更夫") {
			t.Errorf("the caller read %s", got)
		}
	})
}

// Rule TP:709: a sub-agent can neither wait for the player nor start others, whatever its manifest lists.
// Rule TL:723: it keeps tools that only read.
func TestToolsOfASubagent(t *testing.T) {
	armed := scoutRuntime
	armed.Agent = manifest.Agent{BuiltinTools: []string{"suspend", "delegate", "emit-event", "create-form", "get-character"}, PluginTools: []string{"look", "write"}}
	n := 0
	tools := counting(&n)
	write := tools["look"]
	write.Name, write.Annotations = "write", sdk.Annotations{}
	tools["write"] = write
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		_, err := rt.Agents.Run(ctx, askScout)
		return sdk.Result{Outcome: sdk.Success}, err
	})
	playIn(t, func(r *rig) { withScout(armed)(r); setup(r); r.frozen.Generation.Plugins["scout"].Tools = tools }, rt, nil,
		func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) { return says("完") },
		func(r *rig) {
			r.ended()
			var names []string
			for _, tool := range r.requests[0].Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != "get-character look runtime-done" {
				t.Errorf("it is offered %s", got)
			}
		})
}

// Rule TP:407: an operation that a sub-agent made is its own to hear of: it is told in its own context when it is called next, in
// each call of the execution, and its caller is not.
func TestASubagentIsToldOfItsOwnOperations(t *testing.T) {
	playIn(t, func(r *rig) {
		withScout(scoutRuntime)(r)
		r.frozen.Execution.Origin = "player"
		r.frozen.State.Session.NotApplied = []projections.FailedOperation{{Service: "bag@1", Summary: "取走铜钱", Reason: "out-of-bounds", RuntimeID: "scout"}, {Service: "bag@1", Summary: "放下灯笼", Reason: "conflict", RuntimeID: "teller"}}
	}, story(manifest.Agent{BuiltinTools: []string{"delegate"}}), nil, func(_ context.Context, n int, req model.Request, _ func(model.Delta)) (model.Reply, error) {
		if req.Subject == "teller" && n == 1 {
			return calls(model.ToolCall{ID: "c1", Name: "delegate", Arguments: `{"target":{"contract":"look.scene@1"},"brief":"谁？"}`})
		}
		return says("老更夫")
	}, func(r *rig) {
		r.ended()
		if len(r.requests) < 2 {
			t.Fatalf("%d requests", len(r.requests))
		}
		for i, req := range r.requests {
			text, err := json.Marshal(req.Messages)
			if err != nil {
				t.Fatal(err)
			}
			own, other := "取走铜钱", "放下灯笼"
			if req.Subject == "teller" {
				own, other = other, own
			}
			if !strings.Contains(string(text), own) || strings.Contains(string(text), other) {
				t.Errorf("request %d, of %s: %s", i, req.Subject, text)
			}
		}
	})
}

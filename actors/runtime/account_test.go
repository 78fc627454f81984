package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/errors"
	"pgregory.net/rapid"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// allowing gives the rig's execution an account.
func allowing(l allowance.Limits) func(*rig) {
	return func(r *rig) { r.frozen.Account = runtime.NewAccount(allowance.Of(l), allowance.Spent{}) }
}

func counting(n *int) map[string]sdk.Tool {
	var mu sync.Mutex
	look := sdk.Tool{
		Name: "look", Parameters: json.RawMessage(`{"type":"object"}`), Annotations: sdk.Annotations{ReadOnly: true, ConcurrencySafe: true},
		Execute: func(context.Context, json.RawMessage, *sdk.Runtime) (sdk.ToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			*n++
			return sdk.ToolResult{Content: *n}, nil
		},
	}
	return map[string]sdk.Tool{"look": look}
}

// Rule DEC Execution allowances: admission is atomic: however many ask at once, never more calls reach the provider than the
// allowance has, and none is refused while some are left.
func TestConcurrentAdmissionNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, callers, each := rapid.IntRange(1, 40).Draw(t, "limit"), rapid.IntRange(1, 8).Draw(t, "callers"), rapid.IntRange(1, 8).Draw(t, "each")
		var mu sync.Mutex
		reached, refused := 0, 0
		account := runtime.NewAccount(allowance.Of(allowance.Limits{ModelCalls: limit}), allowance.Spent{})
		p := account.Provider(modelFunc(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			reached++
			return model.Reply{}, nil
		}))
		var wg sync.WaitGroup
		for range callers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range each {
					if _, err := p.Generate(context.Background(), model.Request{}, nil); err != nil {
						mu.Lock()
						refused++
						mu.Unlock()
						if !errors.Is(err, allowance.ErrExceeded) {
							t.Errorf("refused with %v", err)
						}
					}
				}
			}()
		}
		wg.Wait()
		if want := min(limit, callers*each); reached != want || refused != callers*each-want || account.Spent().ModelCalls != want {
			t.Fatalf("%d of %d reached the model, %d were refused, %d are spent", reached, callers*each, refused, account.Spent().ModelCalls)
		}
	})
}

// Rule DEC Execution allowances: past the model calls the run ends with budget-exceeded and the model is not asked again.
func TestModelCallsUsedUp(t *testing.T) {
	n := 0
	playIn(t, allowing(allowance.Limits{ModelCalls: 2}), system(manifest.Agent{PluginTools: []string{"look"}}), counting(&n),
		func(_ context.Context, at int, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
			return calls(call("a", "look", `{"n":`+strings.Repeat("1", at)+`}`))
		},
		func(r *rig) {
			res, _ := r.ended()
			if res.Status != turn.Failed || res.StopReason != "budget-exceeded" || !strings.Contains(res.Error, "model calls (2)") || r.asked() != 2 || res.Usage.ModelCalls != 2 {
				t.Errorf("asked %d: %+v", r.asked(), res)
			}
		})
}

// Rule DEC Execution allowances: retries of a request are calls too.
func TestRetriesAreCharged(t *testing.T) {
	playIn(t, allowing(allowance.Limits{ModelCalls: 1}), system(manifest.Agent{MaxRetries: 5}), nil,
		func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return model.Reply{}, &model.Error{Kind: model.Transient, Message: "不稳定"}
		},
		func(r *rig) {
			if res, _ := r.ended(); res.StopReason != "budget-exceeded" || r.asked() != 1 {
				t.Errorf("asked %d: %+v", r.asked(), res)
			}
		})
}

// Rule DEC Execution allowances: past the tool calls no further one runs, also of a pool that runs at once.
func TestToolCallsUsedUp(t *testing.T) {
	n := 0
	playIn(t, allowing(allowance.Limits{ToolCalls: 3}), system(manifest.Agent{PluginTools: []string{"look"}}), counting(&n),
		func(context.Context, int, model.Request, func(model.Delta)) (model.Reply, error) {
			return calls(call("a", "look", `{}`), call("b", "look", `{}`), call("c", "look", `{}`), call("d", "look", `{}`), call("e", "look", `{}`))
		},
		func(r *rig) {
			res, _ := r.ended()
			if res.StopReason != "budget-exceeded" || !strings.Contains(res.Error, "tool calls (3)") || n != 3 || res.Usage.ToolCalls != 3 || r.asked() != 1 {
				t.Errorf("%d ran: %+v", n, res)
			}
		})
}

// function is a function runtime played by fn.
func function(fn sdk.Handler) (manifest.Runtime, func(*rig)) {
	rt := manifest.Runtime{ID: "teller", PluginID: "teller", Type: manifest.TypeFunction, Function: manifest.Function{Handler: "h", PluginTools: []string{"look"}}}
	return rt, func(r *rig) { r.plugin.Entry.Handlers = map[string]sdk.Handler{"h": fn} }
}

// Rule TP:542: a function runtime goes through the same tools as an agent.
// Rule DEC Execution allowances: a function's tool calls draw on the same budget, and past it the function fails with
// budget-exceeded, also when it caught the error.
func TestFunctionsAreCharged(t *testing.T) {
	n := 0
	rt, setup := function(func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		for range 3 {
			_, _ = rt.Tools.Call(ctx, "look", map[string]any{})
		}
		return sdk.Result{Outcome: sdk.Success}, nil
	})
	playIn(t, func(r *rig) { allowing(allowance.Limits{ToolCalls: 2})(r); setup(r) }, rt, counting(&n), nil, func(r *rig) {
		res, _ := r.ended()
		if res.Status != turn.Failed || res.StopReason != "budget-exceeded" || n != 2 {
			t.Errorf("%d ran: %+v", n, res)
		}
	})
}

// Rule DEC Execution allowances: after its time the execution's runs end with budget-exceeded: an agent whose model writes on
// and on, and a function that waits.
func TestTimeUsedUp(t *testing.T) {
	t.Run("agent", func(t *testing.T) {
		playIn(t, allowing(allowance.Limits{Duration: time.Minute}), story(manifest.Agent{}), nil,
			func(ctx context.Context, _ int, _ model.Request, say func(model.Delta)) (model.Reply, error) {
				for ctx.Err() == nil {
					say(model.Delta{Text: "雾。"})
					time.Sleep(time.Second)
				}
				return silent(ctx)
			},
			func(r *rig) {
				res, took := r.ended()
				if res.StopReason != "budget-exceeded" || !strings.Contains(res.Error, "time (1m0s)") || !strings.HasPrefix(res.Draft, "雾。雾。") || took > 61*time.Second {
					t.Errorf("after %s: %+v", took, res)
				}
			})
	})
	t.Run("function", func(t *testing.T) {
		rt, setup := function(func(ctx context.Context, _ *sdk.Runtime) (sdk.Result, error) {
			<-ctx.Done()
			return sdk.Result{}, ctx.Err()
		})
		playIn(t, func(r *rig) { allowing(allowance.Limits{Duration: 20 * time.Second})(r); setup(r) }, rt, nil, nil, func(r *rig) {
			if res, took := r.ended(); res.StopReason != "budget-exceeded" || took > 21*time.Second {
				t.Errorf("after %s: %+v", took, res)
			}
		})
	})
}

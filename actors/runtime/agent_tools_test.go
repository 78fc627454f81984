package runtime_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covel/covel/actors/hook"
	kernelhook "github.com/covel/covel/kernel/hook"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// Rule TL:89: a call that a PreToolUse hook renames joins the pool only if the tool it names now reads and is safe beside
// others; Rule TP:569: every other call is a barrier.
// Rule TL:93: results stand in model order, whichever ended first.
func TestARenamedCallRunsAlone(t *testing.T) {
	var mu sync.Mutex
	var log []string
	say := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, s)
	}
	slow := func(name string, of time.Duration) func(context.Context, json.RawMessage, *sdk.Runtime) (sdk.ToolResult, error) {
		return func(context.Context, json.RawMessage, *sdk.Runtime) (sdk.ToolResult, error) {
			say(name + " begins")
			time.Sleep(of)
			say(name + " ends")
			return sdk.ToolResult{Content: name}, nil
		}
	}
	read := look(nil)
	read.Execute = slow("look", 2*time.Second)
	write := sdk.Tool{Name: "carve", Description: "Carve.", Parameters: json.RawMessage(`{"type":"object"}`), Execute: slow("carve", time.Second)}
	rename := kernelhook.Handler{Hook: sdk.Hook{Event: sdk.OnPreToolUse.Name, Enforce: sdk.EnforceNormal,
		Handle: func(_ context.Context, _ *sdk.HookContext, payload json.RawMessage) (json.RawMessage, error) {
			if !strings.Contains(string(payload), "石碑") {
				return nil, nil
			}
			return json.RawMessage(`{"action":"continue","replace":{"toolCall":{"name":"carve"}}}`), nil
		}}}
	setup := func(r *rig) {
		r.frozen.Hooks = hook.New(hook.Config{Plugins: &registry.Generation{}, Framework: []kernelhook.Handler{rename}, Log: slog.New(slog.DiscardHandler)})
	}
	rt := system(manifest.Agent{PluginTools: []string{"look", "carve"}})
	playIn(t, setup, rt, map[string]sdk.Tool{"look": read, "carve": write}, func(_ context.Context, n int, req model.Request, _ func(model.Delta)) (model.Reply, error) {
		if n > 1 {
			for _, m := range req.Messages[len(req.Messages)-3:] {
				say("answer to " + m.ToolCallID)
			}
			return says("看完了。")
		}
		return calls(call("a", "look", `{"at":"门"}`), call("b", "look", `{"at":"石碑"}`), call("c", "look", `{"at":"井"}`))
	}, func(r *rig) {
		if res, _ := r.ended(); res.Status != turn.Succeeded {
			t.Fatalf("%s: %s", res.Status, res.Error)
		}
		want := "look begins, look ends, carve begins, carve ends, look begins, look ends, answer to a, answer to b, answer to c"
		if got := strings.Join(log, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

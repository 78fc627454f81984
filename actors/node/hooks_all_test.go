package node_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/sdk"
)

// narrow is a model with a small window, so that the history is soon too long for it.
type narrow struct{ model.Provider }

func (narrow) Capacity(string) model.Capacity {
	return model.Capacity{ContextWindow: 24_000, MaxOutputTokens: 2_000}
}

// scopes says of each event what it is about: of a session, of a turn, or of a run (reference: plugins.md §15, "Scope").
var scopes = map[sdk.HookEvent]string{
	"SessionStart": "session", "SessionEnd": "session",
	"TurnStart": "turn", "PreSchedule": "turn", "TurnStop": "turn", "PreCompaction": "turn", "PostCompaction": "turn",
	"PreRuntime": "run", "PostContextAssembly": "run", "PreStep": "run", "PreLLMCall": "run", "PostLLMResponse": "run", "PostRuntime": "run",
	"PreToolUse": "run", "PostToolUse": "run", "PreStateCommit": "run", "PostStateCommit": "run",
}

// fields are the payload of each event: always there, and nothing beside them but what may be empty.
var fields = map[sdk.HookEvent]struct{ always, sometimes []string }{
	"SessionStart":        {[]string{"sessionId", "worldId"}, nil},
	"TurnStart":           {[]string{"playerMessage", "actions", "activeRuntimes"}, nil},
	"PreCompaction":       {[]string{"messageCount"}, nil},
	"PostCompaction":      {[]string{"compacted"}, []string{"summaryId"}},
	"PreSchedule":         {[]string{"triggered"}, nil},
	"PreRuntime":          {[]string{"manifest", "input"}, nil},
	"PostContextAssembly": {[]string{"frameworkHead", "systemPrompt", "messages"}, []string{"outputKind", "promptTemplate", "inputSlots", "characters"}},
	"PreStep":             {[]string{"step", "stepsLeft", "tools"}, []string{"toolChoice"}},
	"PreLLMCall":          {[]string{"messages", "model", "tools", "stream"}, []string{"promptSegments"}},
	"PostLLMResponse":     {[]string{"response", "messages"}, nil},
	"PostRuntime":         {[]string{"result"}, nil},
	"PreToolUse":          {[]string{"toolCall"}, nil},
	"PostToolUse":         {[]string{"toolCall", "result"}, nil},
	"PreStateCommit":      {[]string{"proposal"}, nil},
	"PostStateCommit":     {[]string{"proposal", "result"}, nil},
	"TurnStop":            {[]string{"runtimeResults", "durationMs"}, nil},
	"SessionEnd":          {[]string{"sessionId", "reason"}, nil},
}

// Rule REF:plugins.md §15: every hook event that is named fires at its point in a real session, with its payload and its scope,
// and is traced.
func TestEveryHookEventFires(t *testing.T) {
	type told struct {
		h       sdk.HookContext
		payload json.RawMessage
	}
	var mu sync.Mutex
	seen := map[sdk.HookEvent][]told{}
	gen := warden(t, func(c *sdk.Covel) {
		for _, e := range sdk.HookEvents {
			c.Hooks = append(c.Hooks, sdk.Hook{Event: e, Enforce: sdk.EnforceNormal, Handle: func(_ context.Context, h *sdk.HookContext, p json.RawMessage) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				seen[h.Event] = append(seen[h.Event], told{*h, slices.Clone(p)})
				return nil, nil
			}})
		}
	})
	count := func(e sdk.HookEvent) int { mu.Lock(); defer mu.Unlock(); return len(seen[e]) }
	w, store := traced(t)
	n := nodetest.Start(t, nodetest.Options{Plugins: gen, Model: narrow{scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})}, Trace: w})
	p := n.Create("harbour", "zh-CN")
	p.Play("陆青云")
	for turns := 0; count("PreCompaction") == 0; turns++ {
		if turns == 40 {
			t.Fatal("the history is never too long")
		}
		p.Say("我去看看水边的灯。")
		p.Settled()
	}
	if a, err := n.ChangeStatus(t.Context(), "harbour", kernel.End); err != nil || a.Refusal != nil {
		t.Fatal(err, a.Refusal)
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.Patience)
	defer cancel()
	if err := n.Drain(ctx); err != nil { // also waits for the hooks that nobody else waits for
		t.Fatal(err)
	}

	fired := map[string]int{}
	for _, e := range entriesOf(t, w, store, "harbour", "") {
		if e.Type == trace.HookFired {
			var h trace.Hook
			if err := json.Unmarshal(e.Payload, &h); err != nil {
				t.Fatal(err)
			}
			fired[h.Event]++
		}
	}
	if len(scopes) != len(sdk.HookEvents) || len(fields) != len(sdk.HookEvents) {
		t.Errorf("%d events, %d scopes, %d payloads", len(sdk.HookEvents), len(scopes), len(fields))
	}
	for _, e := range sdk.HookEvents {
		if len(seen[e]) == 0 {
			t.Errorf("%s is named and never fires", e)
			continue
		}
		if fired[string(e)] == 0 {
			t.Errorf("%s is not in the trace", e)
		}
		for _, x := range seen[e] {
			h := x.h
			if h.SessionID != "harbour" || h.Locale != "zh-CN" || !slices.Contains(h.ActivePluginIDs, "warden") {
				t.Errorf("%s: %+v", e, h)
			}
			if inTurn := scopes[e] != "session"; inTurn != (h.TurnID != "") || inTurn != (h.LogicalTurn > 0) {
				t.Errorf("%s: turn %q, number %d", e, h.TurnID, h.LogicalTurn)
			}
			if of := scopes[e] == "run"; of != (h.RuntimeID != "" && h.PluginID != "") {
				t.Errorf("%s: runtime %q of %q", e, h.RuntimeID, h.PluginID)
			}
			var payload map[string]json.RawMessage
			if err := json.Unmarshal(x.payload, &payload); err != nil {
				t.Fatalf("%s: %v", e, err)
			}
			for _, f := range fields[e].always {
				if len(payload[f]) == 0 || string(payload[f]) == "null" {
					t.Errorf("%s: no %s in %s", e, f, x.payload)
				}
				delete(payload, f)
			}
			for _, f := range fields[e].sometimes {
				delete(payload, f)
			}
			if len(payload) > 0 {
				t.Errorf("%s: nobody knows of %v", e, payload)
			}
		}
	}
}

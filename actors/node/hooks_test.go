package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// warden is a plugin that has nothing but hooks; it is part of every session.
func warden(t testing.TB, register func(*sdk.Covel)) *registry.Generation {
	t.Helper()
	probe := &sdk.Covel{}
	register(probe)
	var declared []string
	for _, h := range probe.Hooks {
		if d := fmt.Sprintf("{event: %s, enforce: %s}", h.Event, h.Enforce); !slices.Contains(declared, d) {
			declared = append(declared, d)
		}
	}
	text := "---\nid: warden\nkind: core\ndescription: Looks on.\ncontributes: {hooks: [" + strings.Join(declared, ", ") + "]}\n---\n"
	return nodetest.Plugins(t, registry.Bundled("warden", sdk.Package{FS: fstest.MapFS{"PLUGIN.md": {Data: []byte(text)}}, Register: register}))
}

// diary keeps what hooks were told.
type diary struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{} // closed when a line was added
}

func newDiary() *diary { return &diary{changed: make(chan struct{})} }

func (d *diary) add(format string, a ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, a...))
	close(d.changed)
	d.changed = make(chan struct{})
}

// hookedNode waits for hooks that nobody else waits for.
type hookedNode struct{ *nodetest.Node }

// told waits until a line was written down, and takes it out.
func (n *hookedNode) told(t *testing.T, d *diary, line string) {
	t.Helper()
	deadline := time.After(nodetest.Patience)
	for {
		d.mu.Lock()
		i := slices.Index(d.lines, line)
		if i >= 0 {
			d.lines = slices.Delete(d.lines, i, i+1)
		}
		changed := d.changed
		d.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%q was not told; there is %q", line, d.take())
		}
	}
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.lines
	d.lines = nil
	return out
}

// watch registers a handler that only writes down.
func watch[P, R any](c *sdk.Covel, d *diary, e sdk.Event[P, R], line func(h *sdk.HookContext, p P) string) {
	sdk.On(c, e, func(_ context.Context, h *sdk.HookContext, p P) (sdk.HookResult[R], error) {
		if s := line(h, p); s != "" {
			d.add("%s %s", e.Name, s)
		}
		return sdk.HookResult[R]{}, nil
	}, sdk.HookOptions[P]{})
}

func traced(t *testing.T) (*trace.Writer, *memory.Store) {
	t.Helper()
	store := &memory.Store{}
	w, err := trace.NewWriter(t.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, store
}

// entriesOf gives what the trace has of a session's turn, "" for all.
func entriesOf(t *testing.T, w *trace.Writer, store *memory.Store, session, turn string) []trace.Entry {
	t.Helper()
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := store.Read(t.Context(), trace.Query{SessionID: session, TurnID: turn})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Rule TP:262–290: the hooks of a turn are asked at their places in the flow, once for what they are about.
func TestHooksAreAskedAtTheirPlaces(t *testing.T) {
	d := newDiary()
	gen := warden(t, func(c *sdk.Covel) {
		watch(c, d, sdk.OnSessionStart, func(h *sdk.HookContext, p sdk.SessionStarted) string { return p.SessionID + " turn=" + h.TurnID })
		watch(c, d, sdk.OnTurnStart, func(_ *sdk.HookContext, p sdk.TurnStarted) string {
			return fmt.Sprintf("%q %d %v", p.PlayerMessage, len(p.Actions), slices.Contains(p.ActiveRuntimes, "narrator"))
		})
		watch(c, d, sdk.OnPreSchedule, func(_ *sdk.HookContext, p sdk.Schedule) string {
			var names []string
			for _, r := range p.Triggered {
				names = append(names, r.Name)
			}
			return strings.Join(names, " ")
		})
		only := func(h *sdk.HookContext, s string) string {
			if h.RuntimeID != "narrator" && h.RuntimeID != "char-creator/player-init" {
				return ""
			}
			return h.RuntimeID + " " + strings.TrimSpace(s)
		}
		watch(c, d, sdk.OnPreRuntime, func(h *sdk.HookContext, p sdk.RuntimeStarting) string { return only(h, p.Manifest.Type) })
		watch(c, d, sdk.OnPostContextAssembly, func(h *sdk.HookContext, p sdk.AssembledContext) string {
			return only(h, fmt.Sprintln(strings.HasPrefix(p.FrameworkHead, "[RUNTIME] "+h.RuntimeID), strings.Contains(p.SystemPrompt, "[RUNTIME]"), p.OutputKind))
		})
		watch(c, d, sdk.OnPreStep, func(h *sdk.HookContext, p sdk.StepStarting) string { return only(h, fmt.Sprint(p.Step, p.StepsLeft)) })
		watch(c, d, sdk.OnPreLLMCall, func(h *sdk.HookContext, p sdk.ModelCall) string { return only(h, fmt.Sprintln(p.Model, p.Stream)) })
		watch(c, d, sdk.OnPostLLMResponse, func(h *sdk.HookContext, p sdk.ModelResponse) string {
			return only(h, fmt.Sprintln(len(p.Response.ToolCalls), p.Response.FinishReason))
		})
		watch(c, d, sdk.OnPreToolUse, func(h *sdk.HookContext, p sdk.ToolUse) string { return only(h, p.ToolCall.Name) })
		watch(c, d, sdk.OnPostToolUse, func(h *sdk.HookContext, p sdk.ToolUsed) string {
			return only(h, fmt.Sprintln(p.ToolCall.Name, json.Valid(p.Result)))
		})
		watch(c, d, sdk.OnPostRuntime, func(h *sdk.HookContext, p sdk.RuntimeEnded) string { return only(h, p.Result.Status) })
		watch(c, d, sdk.OnTurnStop, func(_ *sdk.HookContext, p sdk.TurnStopped) string { return fmt.Sprint(len(p.RuntimeResults)) })
		watch(c, d, sdk.OnPreStateCommit, func(h *sdk.HookContext, p sdk.Committing) string { return only(h, p.Proposal.Type) })
		watch(c, d, sdk.OnPostStateCommit, func(h *sdk.HookContext, p sdk.Committed) string {
			return only(h, fmt.Sprintln(p.Proposal.Type, p.Result.Committed, p.Result.Version > 0))
		})
		watch(c, d, sdk.OnSessionEnd, func(h *sdk.HookContext, p sdk.SessionEnded) string { return p.Reason + " turn=" + h.TurnID })
	})
	w, store := traced(t)
	n := &hookedNode{nodetest.Start(t, nodetest.Options{Plugins: gen, Model: scripted.New(scripted.Script{Otherwise: scripted.BundledGame()}), Trace: w})}
	p := n.Create("harbour", "zh-CN")
	n.told(t, d, "SessionStart harbour turn=")
	p.Begin()
	p.Settled()
	n.told(t, d, "PostStateCommit char-creator/player-init interaction.request true true")
	if diff := cmp.Diff([]string{
		`TurnStart "" 0 true`,
		"PreSchedule char-creator/player-init pregame world-init/schema-gen",
		"PreRuntime char-creator/player-init agent",
		"PostContextAssembly char-creator/player-init true false plugin",
		"PreStep char-creator/player-init 1 6",
		"PreLLMCall char-creator/player-init story false",
		"PostLLMResponse char-creator/player-init 1 tool_calls",
		"PreToolUse char-creator/player-init create-character-form",
		"PostToolUse char-creator/player-init create-character-form true",
		"PostRuntime char-creator/player-init success",
		"TurnStop 3",
		"PreStateCommit char-creator/player-init plugin.data",
		"PreStateCommit char-creator/player-init interaction.request",
		"PostStateCommit char-creator/player-init plugin.data true true",
	}, d.take()); diff != "" {
		t.Error(diff)
	}
	p.Answer(`{"characterName":"陆青云"}`)
	p.Until("the opening", func() bool { return p.View.State.History.Stories > 0 && p.View.State.Session.Open == nil })
	n.told(t, d, "PostStateCommit narrator narrative.append true true")
	d.take()
	p.Say("我去看看水边的灯。")
	s := p.Settled()
	n.told(t, d, "PostStateCommit narrator narrative.append true true")
	if diff := cmp.Diff([]string{
		`TurnStart "我去看看水边的灯。" 1 true`, "PreSchedule narrator guide", "PreRuntime narrator agent", "PostContextAssembly narrator true false story",
		"PreStep narrator 1 20", "PreLLMCall narrator story true", "PostLLMResponse narrator 0 stop", "PostRuntime narrator success", "TurnStop 2",
		"PreStateCommit narrator narrative.append",
	}, d.take()); diff != "" {
		t.Error(diff)
	}

	// Rule TP:1020–1031: the trace holds the lifecycle of runs, model calls, tools, messages and hooks, and no delta.
	types := map[trace.Type]int{}
	for _, e := range entriesOf(t, w, store, "harbour", s.Session.Last.ID) {
		types[e.Type]++
	}
	for typ, want := range map[trace.Type]int{
		trace.TurnStarted: 1, trace.TurnCompleted: 1, trace.RuntimeStarted: 2, trace.RuntimeCompleted: 2, trace.StepStarted: 2, trace.StepCompleted: 2,
		trace.LLMCalling: 2, trace.LLMResponded: 2, trace.ToolCalling: 1, trace.ToolCompleted: 1, trace.MessageCompleted: 1,
	} {
		if types[typ] != want {
			t.Errorf("%d entries %s, want %d", types[typ], typ, want)
		}
	}
	if types[trace.HookFired] < 15 || types[trace.HookError]+types[trace.HookRewrote]+types[trace.HookAborted] != 0 {
		t.Errorf("hooks in the trace: %v", types)
	}

	// Rule REF plugins.md §15: SessionEnd: observe, reason ended|deleted.
	if a, err := n.ChangeStatus(t.Context(), "harbour", kernel.End); err != nil || a.Refusal != nil {
		t.Fatal(err, a.Refusal)
	}
	n.told(t, d, "SessionEnd ended turn=")
	if err := n.Delete(t.Context(), "harbour"); err != nil {
		t.Fatal(err)
	}
	n.told(t, d, "SessionEnd deleted turn=")
}

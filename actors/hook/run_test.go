package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
	kernel "github.com/covel/covel/kernel/hook"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// bench is a Set with a trace of its own.
type bench struct {
	*Set
	w     *trace.Writer
	store *memory.Store
	log   bytes.Buffer
}

// set has the hooks of plugins by id, active in the order they are named.
func set(t *testing.T, active []string, register map[string]func(*sdk.Covel)) *bench {
	t.Helper()
	b := &bench{store: &memory.Store{}}
	var err error
	if b.w, err = trace.NewWriter(context.Background(), b.store, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	gen := &registry.Generation{Plugins: map[string]*registry.Loaded{}}
	for id, r := range register {
		c := &sdk.Covel{}
		r(c)
		gen.Plugins[id] = &registry.Loaded{Entry: *c}
	}
	b.Set = New(Config{
		Plugins: gen, Active: active, SessionID: "s", Locale: "zh-CN", LogicalTurn: 7, Trace: b.w, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Settings: map[string]map[string]json.RawMessage{"甲": {"mood": json.RawMessage(`"dark"`)}, "b": {"secret": json.RawMessage(`1`)}},
	})
	return b
}

// told ends the trace and gives its lines.
func (b *bench) told(t *testing.T) (out []string) {
	t.Helper()
	b.w.Close()
	entries, err := b.store.Read(context.Background(), trace.Query{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var h trace.Hook
		if err := json.Unmarshal(e.Payload, &h); err != nil {
			t.Fatal(err)
		}
		line := []string{string(e.Type), h.Event, h.HookPlugin, h.TargetType, h.TargetID, h.Reason}
		if h.Error != "" {
			line = append(line, "error")
		}
		out = append(out, strings.Join(slices.DeleteFunc(line, func(s string) bool { return s == "" }), " "))
	}
	return out
}

var call = sdk.ToolUse{ToolCall: sdk.ToolCall{ID: "c1", Name: "递给", Arguments: `{"a":1}`}}

func rename(c *sdk.Covel, to string, o sdk.HookOptions[sdk.ToolUse]) {
	sdk.On(c, sdk.OnPreToolUse, func(_ context.Context, _ *sdk.HookContext, p sdk.ToolUse) (sdk.HookResult[sdk.ToolUseChange], error) {
		var change sdk.ToolUseChange
		name := p.ToolCall.Name + to
		change.ToolCall.Name = &name
		return sdk.Replace(change), nil
	}, o)
}

// Rule REF:plugins.md §15: enforce pre, normal, post; inside a group plugins in their order and registrations in theirs; each
// handler reads what the one before it replaced.
func TestOneAfterAnother(t *testing.T) {
	b := set(t, []string{"甲", "b"}, map[string]func(*sdk.Covel){
		"甲": func(c *sdk.Covel) {
			rename(c, "-post", sdk.HookOptions[sdk.ToolUse]{Enforce: sdk.EnforcePost})
			rename(c, "-1", sdk.HookOptions[sdk.ToolUse]{})
			rename(c, "-2", sdk.HookOptions[sdk.ToolUse]{})
			rename(c, "-never", sdk.HookOptions[sdk.ToolUse]{Match: func(p sdk.ToolUse) bool { return p.ToolCall.Name == "other" }})
		},
		"b": func(c *sdk.Covel) {
			rename(c, "-3", sdk.HookOptions[sdk.ToolUse]{})
			rename(c, "-pre", sdk.HookOptions[sdk.ToolUse]{Enforce: sdk.EnforcePre})
		},
		// Rule REF:plugins.md §15: a hook runs only in sessions where its plugin is active.
		"asleep": func(c *sdk.Covel) { rename(c, "-asleep", sdk.HookOptions[sdk.ToolUse]{}) },
	})
	got, o := Run(t.Context(), b.Set, sdk.OnPreToolUse, trace.Scope{}, call)
	if got.ToolCall.Name != "递给-pre-1-2-3-post" || !o.Rewrote || o.Aborted || call.ToolCall.Name != "递给" {
		t.Errorf("%+v %+v", got, o)
	}
	// Rule REF:plugins.md §15: traces: hook.fired, and hook.rewrote where something was replaced, with what it was asked about.
	var want []string
	for _, who := range []string{"b", "甲", "甲", "b", "甲"} {
		want = append(want, "hook.fired PreToolUse "+who+" 递给 c1", "hook.rewrote PreToolUse "+who+" 递给 c1")
	}
	if diff := cmp.Diff(want, b.told(t)); diff != "" {
		t.Error(diff)
	}
}

// Rule REF:plugins.md §15: a guard that throws, exceeds its time or answers malformed counts as an abort; elsewhere it is
// skipped, with what others replaced kept.
// Rule EP:225: on an event that can be intercepted, a handler that fails counts as a rejection; on other events it is skipped.
// Rule TP:1168: a handler's outcome counts for the plugin that registered it.
func TestFailures(t *testing.T) {
	failing := map[string]func(ctx context.Context) (json.RawMessage, error){
		"throws":    func(context.Context) (json.RawMessage, error) { return nil, errors.New("boom") },
		"panics":    func(context.Context) (json.RawMessage, error) { panic("boom") },
		"exits":     func(context.Context) (json.RawMessage, error) { var p *sdk.Tool; return nil, errors.New(p.Name) },
		"malformed": func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"action":"perhaps"}`), nil },
		"too late":  func(ctx context.Context) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() },
		"deaf to its end": func(context.Context) (json.RawMessage, error) {
			time.Sleep(time.Minute)
			return json.RawMessage(`{}`), nil
		},
	}
	for name, fail := range failing {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := func(c *sdk.Covel, e sdk.HookEvent) {
					c.Hooks = append(c.Hooks, sdk.Hook{Event: e, Enforce: sdk.EnforceNormal, Handle: func(ctx context.Context, _ *sdk.HookContext, _ json.RawMessage) (json.RawMessage, error) {
						return fail(ctx)
					}})
				}
				b := set(t, []string{"甲", "b", "c"}, map[string]func(*sdk.Covel){
					"甲": func(c *sdk.Covel) {
						rename(c, "!", sdk.HookOptions[sdk.ToolUse]{})
						sdk.On(c, sdk.OnPostToolUse, func(context.Context, *sdk.HookContext, sdk.ToolUsed) (sdk.HookResult[sdk.ToolUsedChange], error) {
							return sdk.Replace(sdk.ToolUsedChange{Result: json.RawMessage(`{"kept":true}`)}), nil
						}, sdk.HookOptions[sdk.ToolUsed]{})
					},
					"b": func(c *sdk.Covel) { bad(c, "PreToolUse"); bad(c, "PostToolUse") },
					"c": func(c *sdk.Covel) { rename(c, "?", sdk.HookOptions[sdk.ToolUse]{}) },
				})
				began := time.Now()
				_, o := Run(t.Context(), b.Set, sdk.OnPreToolUse, trace.Scope{}, call)
				if !o.Aborted || !o.Failed || o.By != "b" || o.Reason != "the PreToolUse hook of b failed" {
					t.Errorf("guard: %+v", o)
				}
				// Rule REF:plugins.md §15: timeoutMs bounds each call, by default 5000.
				if took := time.Since(began); (name == "too late" || name == "deaf to its end") != (took == 5*time.Second) {
					t.Errorf("it took %s", took)
				}
				got, o := Run(t.Context(), b.Set, sdk.OnPostToolUse, trace.Scope{}, sdk.ToolUsed{ToolCall: call.ToolCall, Result: json.RawMessage(`{}`)})
				if o.Aborted || string(got.Result) != `{"kept":true}` {
					t.Errorf("elsewhere: %+v %s", o, got.Result)
				}
				health := b.Health()
				if health["甲"] != nil || health["b"] == nil || !strings.HasPrefix(health["b"].Error(), "hook PreToolUse: ") {
					t.Errorf("health: %v", health)
				}
				if _, asked := health["c"]; asked {
					t.Error("a plugin whose hook was not asked has an outcome")
				}
				if !strings.Contains(b.log.String(), "plugin=b") {
					t.Errorf("the log says %s", b.log.String())
				}
				want := []string{
					"hook.fired PreToolUse 甲 递给 c1", "hook.rewrote PreToolUse 甲 递给 c1",
					"hook.fired PreToolUse b 递给 c1", "hook.error PreToolUse b 递给 c1 the PreToolUse hook of b failed error", "hook.aborted PreToolUse b 递给 c1 the PreToolUse hook of b failed error",
					"hook.fired PostToolUse 甲 递给 c1", "hook.rewrote PostToolUse 甲 递给 c1", "hook.fired PostToolUse b 递给 c1", "hook.error PostToolUse b 递给 c1 error",
				}
				if diff := cmp.Diff(want, b.told(t)); diff != "" {
					t.Error(diff)
				}
				time.Sleep(time.Minute) // whoever was left behind ends
			})
		})
	}
}

// Rule REF:plugins.md §15: events that only look on ask their handlers side by side, and nothing they answer changes anything.
func TestSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(c *sdk.Covel) {
			sdk.On(c, sdk.OnTurnStop, func(ctx context.Context, _ *sdk.HookContext, p sdk.TurnStopped) (sdk.HookResult[sdk.Nothing], error) {
				time.Sleep(3 * time.Second)
				p.RuntimeResults[0].Status = "meddled"
				return sdk.Abort[sdk.Nothing]("no"), nil
			}, sdk.HookOptions[sdk.TurnStopped]{TimeoutMs: 4000})
		}
		b := set(t, []string{"a", "b"}, map[string]func(*sdk.Covel){"a": slow, "b": slow})
		began := time.Now()
		p := sdk.TurnStopped{RuntimeResults: []sdk.RunResult{{Status: "success"}}}
		_, o := Run(t.Context(), b.Set, sdk.OnTurnStop, trace.Scope{}, p)
		if o.Aborted || o.Rewrote || time.Since(began) != 3*time.Second || p.RuntimeResults[0].Status != "success" {
			t.Errorf("%+v after %s", o, time.Since(began))
		}
		b.w.Close()
	})
}

// Rule REF:plugins.md §15: a handler gets a copy of its own, also for match, and of its plugin's settings.
// Rule REF:plugins.md §15: the context names event, session, turn, locale, the runtime the event concerns, and the active plugins.
// Rule TP:1186: hooks read the frozen logical number of their execution.
func TestWhatAHandlerGets(t *testing.T) {
	about := trace.Scope{TurnID: "t1", RuntimeID: "p/r", PluginID: "p"}
	var seen []sdk.HookContext
	watch := func(c *sdk.Covel) {
		c.Hooks = append(c.Hooks, sdk.Hook{
			Event: "PreToolUse", Enforce: sdk.EnforceNormal,
			Match: func(p json.RawMessage) (bool, error) { clear(p); return true, nil },
			Handle: func(_ context.Context, h *sdk.HookContext, p json.RawMessage) (json.RawMessage, error) {
				if !json.Valid(p) {
					return nil, errors.New("the payload was spoiled")
				}
				clear(p)
				own := *h
				own.OwnSettings, own.ActivePluginIDs = map[string]json.RawMessage{}, slices.Clone(h.ActivePluginIDs)
				for k, v := range h.OwnSettings {
					own.OwnSettings[k] = slices.Clone(v)
					clear(v)
				}
				seen = append(seen, own)
				clear(h.ActivePluginIDs)
				return nil, nil
			},
		})
	}
	b := set(t, []string{"甲", "b"}, map[string]func(*sdk.Covel){"甲": watch, "b": watch})
	for range 2 {
		if _, o := Run(t.Context(), b.Set, sdk.OnPreToolUse, about, call); o.Aborted || o.Rewrote {
			t.Fatalf("%+v", o)
		}
	}
	want := sdk.HookContext{
		Event: "PreToolUse", SessionID: "s", TurnID: "t1", LogicalTurn: 7, Locale: "zh-CN", PluginID: "p", RuntimeID: "p/r", ActivePluginIDs: []string{"甲", "b"},
		OwnSettings: map[string]json.RawMessage{"mood": json.RawMessage(`"dark"`)},
	}
	other := want
	other.OwnSettings = map[string]json.RawMessage{"secret": json.RawMessage(`1`)}
	if diff := cmp.Diff([]sdk.HookContext{want, other, want, other}, seen); diff != "" {
		t.Error(diff)
	}
	b.w.Close()
}

// Rule REF:plugins.md §13: cancellation aborts hooks in flight; what they say then is nobody's fault.
func TestAStopEndsTheHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32 // a hook that is cut off may still be at work
		b := set(t, []string{"a", "b"}, map[string]func(*sdk.Covel){
			"a": func(c *sdk.Covel) {
				sdk.On(c, sdk.OnPreRuntime, func(ctx context.Context, _ *sdk.HookContext, _ sdk.RuntimeStarting) (sdk.HookResult[sdk.Nothing], error) {
					asked.Add(1)
					<-ctx.Done()
					return sdk.HookResult[sdk.Nothing]{}, ctx.Err()
				}, sdk.HookOptions[sdk.RuntimeStarting]{})
			},
			"b": func(c *sdk.Covel) {
				sdk.On(c, sdk.OnPreRuntime, func(context.Context, *sdk.HookContext, sdk.RuntimeStarting) (sdk.HookResult[sdk.Nothing], error) {
					asked.Add(1)
					return sdk.HookResult[sdk.Nothing]{}, nil
				}, sdk.HookOptions[sdk.RuntimeStarting]{})
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, o := Run(ctx, b.Set, sdk.OnPreRuntime, trace.Scope{}, sdk.RuntimeStarting{})
		if time.Since(began) != time.Second || o.Aborted || asked.Load() != 1 || len(b.Health()) != 0 {
			t.Errorf("%+v after %s, %d asked, health %v", o, time.Since(began), asked.Load(), b.Health())
		}
		b.w.Close()
	})
}

// Rule REF:plugins.md §8: what a concealed runtime reads and writes is in no trace, also not through a hook.
func TestConcealedPayloadsStayOutOfTheTrace(t *testing.T) {
	const secret = "the-hidden-truth"
	b := set(t, []string{"a"}, map[string]func(*sdk.Covel){"a": func(c *sdk.Covel) {
		sdk.On(c, sdk.OnPreStateCommit, func(_ context.Context, _ *sdk.HookContext, p sdk.Committing) (sdk.HookResult[sdk.CommittingChange], error) {
			if p.Proposal.Type == "refuse" {
				return sdk.Abort[sdk.CommittingChange](secret), nil
			}
			var change sdk.CommittingChange
			change.Proposal.Payload = json.RawMessage(`{"namespace":"_hidden.plot","value":"` + secret + `"}`)
			return sdk.Replace(change), nil
		}, sdk.HookOptions[sdk.Committing]{})
	}})
	concealed := about()
	concealed.Concealed = true
	for _, x := range []struct {
		at trace.Scope
		p  sdk.Proposal
	}{
		{concealed, sdk.Proposal{Type: "plugin.data", Payload: json.RawMessage(`{"namespace":"open"}`)}},
		{concealed, sdk.Proposal{Type: "refuse", Payload: json.RawMessage(`{}`)}},
		{about(), sdk.Proposal{Type: "plugin.data", Payload: json.RawMessage(`{"namespace":"_hidden.plot"}`)}},
	} {
		changed, _ := proposals(t.Context(), b.Set, x.at, []sdk.Proposal{x.p})
		if x.p.Type != "refuse" && !strings.Contains(string(changed[0].Payload), secret) {
			t.Errorf("the hook itself gets and gives everything: %s", changed[0].Payload)
		}
	}
	b.w.Close()
	entries, err := b.store.Read(t.Context(), trace.Query{SessionID: "s"})
	if err != nil || len(entries) != 6 {
		t.Fatalf("%d entries (%v)", len(entries), err)
	}
	all, _ := json.Marshal(entries)
	if strings.Contains(string(all), secret) {
		t.Errorf("%s", all)
	}
}

func about() trace.Scope {
	return trace.Scope{TurnID: "t", RunID: "r", RuntimeID: "p/r", PluginID: "p"}
}

func TestWithoutHooksNobodyIsAsked(t *testing.T) {
	s := New(Config{Plugins: &registry.Generation{}, Active: []string{"gone"}})
	if s != nil || s.Has(sdk.OnTurnStart.Name) || s.Health() != nil {
		t.Error("there is a set of no hooks")
	}
	if p, o := Run(t.Context(), s, sdk.OnPreToolUse, trace.Scope{}, call); p != call || o.Aborted {
		t.Errorf("%+v %+v", p, o)
	}
	framework := New(Config{Plugins: &registry.Generation{}, Framework: []kernel.Handler{{Hook: sdk.Hook{Event: "TurnStop", Enforce: sdk.EnforceNormal}}}})
	if !framework.Has(sdk.OnTurnStop.Name) || framework.Has(sdk.OnTurnStart.Name) {
		t.Error("the framework's own hooks count")
	}
}

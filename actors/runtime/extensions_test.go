package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// offered is an execution in which plugins provide a point, each with its handler.
func offered(t testing.TB, point string, handlers map[string]sdk.ExtensionHandler) Frozen {
	f := frozenAt(t)
	f.Generation = &registry.Generation{Plugins: map[string]*registry.Loaded{}}
	for id, h := range handlers {
		p := plugin(id)
		p.Manifest.Locales = map[string]map[string]string{"zh-CN": {"Hello": "你好"}}
		p.Manifest.Contributes.Extensions = []manifest.ExtensionDecl{{Point: point, ID: "x"}}
		p.Entry.Extensions = []sdk.Extension{{Point: point, ID: "x", Handle: h}}
		f.Generation.Plugins[id] = p
		f.State.Session.Plugins = append(f.State.Session.Plugins, projections.PluginRef{ID: id})
	}
	return f
}

func caller(f Frozen) *Extensions { return NewExtensions(f, nil, nil, slog.New(slog.DiscardHandler)) }

func segment(content string) []sdk.Segment {
	return []sdk.Segment{{ID: "s", Content: content, Position: sdk.Position{Place: "system"}, Audience: sdk.Audience{Group: "all"}, Volatility: "stable"}}
}

// Rule EP:77: a handler gets the point's input and a context.
// Rule EP:79: plugin data is the provider's own, read only, without _hidden.*; EP:82: nobody else's is to be had.
// Rule EP:80: the world is the session's: characters, seats.
// Rule EP:81: the player's character is found with actingCharacterOf([], characters, seats).
// Rule EP:85: session, locale, own messages, own settings.
// Rule EP:90: get gives the value itself, nothing when there is none; EP:91: list gives records with their times.
// Rule EP:93: a handler has get and list and nothing else.
func TestWhatAHandlerGets(t *testing.T) {
	var x *sdk.ExtensionContext
	var in sdk.SegmentInput
	f := offered(t, points.PromptSegment, map[string]sdk.ExtensionHandler{"p": sdk.Extend(func(_ context.Context, i sdk.SegmentInput, c *sdk.ExtensionContext) ([]sdk.Segment, error) {
		in, x = i, c
		return segment("x"), nil
	})})
	f.Pack.PluginSettings = map[string]map[string]json.RawMessage{"p": {"tone": json.RawMessage(`"dry"`)}, "q": {"secret": json.RawMessage(`1`)}}
	f.State.Characters.List = append(f.State.Characters.List, projections.Character{ID: "pc", Name: "陆青云", Type: "player"})
	f.State.Session.Seats[0].CharacterIDs, f.State.Session.Seats[0].CurrentCharacterID = []string{"pc"}, "pc"
	r, err := caller(f).Call(context.Background(), points.PromptSegment, sdk.SegmentInput{TurnID: "e1", PlayerMessage: "看"})
	if err != nil || len(r.Outputs) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	expect(t, "input", in, sdk.SegmentInput{TurnID: "e1", PlayerMessage: "看"})
	expect(t, "identity", []any{x.SessionID, x.TurnID, x.PluginID, x.Locale, x.Messages["Hello"], string(x.Settings["tone"]), len(x.Settings)}, []any{"s1", "e1", "p", "zh-CN", "你好", `"dry"`, 1})
	expect(t, "own data", string(x.PluginData.Get("n", "龙胆")), "1")
	if x.PluginData.Get("n", "nobody") != nil || len(x.PluginData.List("n")) != 1 || x.PluginData.List("n")[0].CreatedAt.IsZero() != x.PluginData.List("n")[0].UpdatedAt.IsZero() {
		t.Errorf("records %+v", x.PluginData.List("n"))
	}
	if _, writes := x.PluginData.(sdk.PluginData); writes {
		t.Error("a provider can write")
	}
	c, ok := sdk.ActingCharacterOf(nil, x.World.Characters, x.World.Seats)
	if !ok || c.Name != "陆青云" || len(x.World.Characters) != 2 {
		t.Errorf("the world %+v", x.World)
	}
	hidden := ownData{"p", f.State.PluginData}
	if hidden.Get("_hidden.plans", "x") != nil || hidden.List("_hidden.plans") != nil || (ownData{"q", f.State.PluginData}).Get("n", "龙胆") != nil {
		t.Error("hidden or foreign data is shown")
	}
}

// Rule EP:80: every call site gives the session's view, a call outside of a turn too, and what it reads is committed: not what a
// run of the execution has staged.
func TestProvidersReadWhatIsCommitted(t *testing.T) {
	inputs := map[string]any{
		points.PromptSegment: sdk.SegmentInput{}, points.HistoryTransform: sdk.HistoryTransform{Messages: []sdk.HistoryMessage{}, TurnID: "t"},
		points.ImageFlow: struct{}{}, points.WorldContext: struct{}{}, points.UISlot: sdk.SlotInput{Events: []sdk.SlotEvent{}},
		points.HistoryCompact: sdk.CompactInput{
			Messages: []sdk.HistoryMessage{}, ExistingSummaries: []sdk.Summary{}, ContextWindow: 1, InputWindow: 1,
			SummaryBudget: sdk.SummaryBudget{MaxTokens: 1, MaxSegmentTokens: 1, MaxSegments: 1},
		},
	}
	for _, p := range points.All {
		var x *sdk.ExtensionContext
		f := offered(t, p.ID, map[string]sdk.ExtensionHandler{"p": func(_ context.Context, _ json.RawMessage, c *sdk.ExtensionContext) (any, error) {
			x = c
			return nil, nil
		}})
		f.Execution = projections.Execution{} // outside of a turn
		r := newRun(f, turn.Run{RunID: "r", Runtime: manifest.Runtime{ID: "p/r", PluginID: "p"}}, plugin("p"))
		err := r.stage([]sdk.Proposal{
			propose(sdk.PluginDataWrite{Namespace: "n", Key: "龙胆", Value: json.RawMessage(`2`)}), propose(sdk.CharacterUpsert{ID: "new", Name: "新来的"}),
		}, nil)
		if err != nil || string(r.data.Get("n", "龙胆")) != "2" || len(r.world.Characters) != len(f.World.Characters)+1 {
			t.Fatal("the run does not read what it has staged:", err)
		}
		_, _ = caller(f).Call(context.Background(), p.ID, inputs[p.ID])
		if x == nil {
			t.Fatalf("%s: nobody was asked", p.ID)
		}
		expect(t, p.ID, []any{x.SessionID, x.TurnID, string(x.PluginData.Get("n", "龙胆")), len(x.World.Characters), len(x.World.Seats)}, []any{"s1", "", "1", len(f.World.Characters), len(f.State.Session.Seats)})
	}
}

// Rule EP:87: the read methods are the same for a function, a guard and a provider of an extension point: code moves between them.
func TestReadingIsTheSameEverywhere(t *testing.T) {
	f := frozenAt(t)
	tell := func(d sdk.DataReader) string {
		b, err := json.Marshal([]any{d.Get("n", "龙胆"), d.Get("n", "nobody"), d.List("n"), d.List("none")})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	r := newRun(f, turn.Run{RunID: "r", Runtime: manifest.Runtime{ID: "p/r", PluginID: "p"}}, plugin("p"))
	provider := tell(ownData{"p", f.State.PluginData})
	if !strings.Contains(provider, "龙胆") {
		t.Fatal(provider)
	}
	expect(t, "function and guard", tell(r.view().PluginData), provider)
}

// Rule EP:79: what is hidden stays hidden, though it is the plugin's own.
func TestHiddenData(t *testing.T) {
	f := frozenAt(t)
	r := newRun(f, turn.Run{RunID: "r", Runtime: manifest.Runtime{ID: "p/r", PluginID: "p"}}, plugin("p"))
	if err := r.stage([]sdk.Proposal{propose(sdk.PluginDataWrite{Namespace: "_hidden.plans", Key: "k", Value: json.RawMessage(`"秘"`)})}, nil); err != nil {
		t.Fatal(err)
	}
	if r.data.Get("_hidden.plans", "k") == nil {
		t.Fatal("the plugin's own run cannot read it")
	}
	if (ownData{"p", f.State.PluginData}).Get("_hidden.plans", "k") != nil {
		t.Error("a provider reads it")
	}
}

// Rule REF plugins.md §17: within one execution equal inputs are answered once, however many ask at the same time.
// Rule TP:652: the world and the records that providers see were frozen when the execution was created.
// Rule EP:85: what a provider reads is the execution's own snapshot.
func TestEqualInputsAreAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		f := offered(t, points.PromptSegment, map[string]sdk.ExtensionHandler{"p": sdk.Extend(func(_ context.Context, i sdk.SegmentInput, x *sdk.ExtensionContext) ([]sdk.Segment, error) {
			mu.Lock()
			asked++
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			return segment(i.PlayerMessage + string(x.PluginData.Get("n", "龙胆"))), nil
		})})
		e := caller(f)
		f.State.PluginData = projections.PluginData{} // what is committed later is another execution's
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				r, err := e.Call(context.Background(), points.PromptSegment, sdk.SegmentInput{TurnID: "e1", PlayerMessage: fmt.Sprint(i % 2)})
				if err != nil || extension.Segments(r)[0].Content != fmt.Sprint(i%2)+"1" {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
		wg.Wait()
		if asked != 2 {
			t.Errorf("asked %d times for two inputs", asked)
		}
	})
}

// Rule EP:95: a timeout, an error, a panic and an output that does not fit are handled by the point's onError: skip leaves the
// others, fail-turn fails the turn.
// Rule EP:148: when the world's provider fails, nothing takes the place of what it would have said.
func TestProvidersThatFail(t *testing.T) {
	bad := map[string]sdk.ExtensionHandler{
		"error": func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) {
			return nil, errors.New("坏了")
		},
		"panic":   func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) { panic("坏了") },
		"no JSON": func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) { return make(chan int), nil },
		"unfit": func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) {
			return map[string]int{"x": 1}, nil
		},
		"silent": func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) {
			time.Sleep(time.Hour)
			return nil, nil
		},
	}
	for name, h := range bad {
		synctest.Test(t, func(t *testing.T) {
			f := offered(t, points.PromptSegment, map[string]sdk.ExtensionHandler{"a": h, "b": sdk.Extend(func(context.Context, sdk.SegmentInput, *sdk.ExtensionContext) ([]sdk.Segment, error) {
				return segment("好"), nil
			})})
			began := time.Now()
			r, err := caller(f).Call(context.Background(), points.PromptSegment, sdk.SegmentInput{})
			if err != nil || len(r.Outputs) != 1 || len(r.Failed) != 1 || r.Failed[0].Provider.PluginID != "a" || time.Since(began) > 501*time.Millisecond {
				t.Errorf("%s: %+v %v after %s", name, r, err, time.Since(began))
			}
			world := f.World
			world.Dimensions = map[string]sdk.Dimension{"潮": {Name: "潮汐", Value: json.RawMessage(`3`)}}
			_, err = caller(offered(t, points.WorldContext, map[string]sdk.ExtensionHandler{"a": h})).World(context.Background(), world)
			if !errors.Is(err, extension.ErrFailTurn) || !strings.Contains(err.Error(), "plugin a") {
				t.Errorf("%s: the turn goes on: %v", name, err)
			}
			time.Sleep(2 * time.Hour) // the silent one wakes
		})
	}
}

// Rule EP:123: only the providers of a slot are asked for its value, each gets the previous valid one, and a value that does
// not fit the slot skips its provider.
// Rule EP:122: a handler gets the slot, its value so far and the events that are previewed.
func TestProvidersOfASlot(t *testing.T) {
	const lamp = `{"actors":[{"characterId":"龙胆","displayName":"龙胆"}]}`
	var mu sync.Mutex
	seen := map[string]string{}
	give := func(plugin, value string) sdk.ExtensionHandler {
		return sdk.Extend(func(_ context.Context, in sdk.SlotInput, x *sdk.ExtensionContext) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[plugin] = fmt.Sprint(in.Slot, " ", string(in.Previous), " ", in.Events[0].Topic)
			return json.RawMessage(value), nil
		})
	}
	slots := map[string]string{"a": "stage.cast@1", "b": "stage.cast@1", "c": "stage.cast@1", "music": "stage.music@1"}
	f := offered(t, points.UISlot, map[string]sdk.ExtensionHandler{
		"a": give("a", lamp), "b": give("b", `{"volume":1}`), "c": give("c", lamp), "music": give("music", `{"volume":1}`),
	})
	for id, slot := range slots {
		f.Generation.Plugins[id].Manifest.Contributes.Extensions[0].Slot = slot
	}
	r, err := caller(f).Call(context.Background(), points.UISlot, sdk.SlotInput{
		Slot: "stage.cast@1", Events: []sdk.SlotEvent{{Topic: "stage.direction", Data: json.RawMessage(`{}`), TurnID: "t"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "asked", seen, map[string]string{"a": "stage.cast@1 null stage.direction", "b": "stage.cast@1 " + lamp + " stage.direction", "c": "stage.cast@1 " + lamp + " stage.direction"})
	expect(t, "value", string(r.Outputs[0].Value), lamp)
	var why *extension.SlotRefusal
	if len(r.Failed) != 1 || r.Failed[0].Provider.PluginID != "b" || !errors.As(r.Failed[0].Err, &why) || why.Code != extension.SlotShape {
		t.Errorf("failed %+v", r.Failed)
	}
}

// Rule EP:130: the world's context is one provider's; EP:132: each field may be missing.
// Rule EP:139: whose dimensions they are, the host says, and only where it has told any.
// Rule EP:148: without a provider the committed values stay as they are; nothing falls back to initial ones.
func TestWorldContextOfASession(t *testing.T) {
	say := func(v any) Frozen {
		return offered(t, points.WorldContext, map[string]sdk.ExtensionHandler{"tides": func(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) { return v, nil }})
	}
	committed := sdk.World{Dimensions: map[string]sdk.Dimension{"潮": {Name: "潮汐", Value: json.RawMessage(`1`)}}}
	for name, c := range map[string]struct {
		f    Frozen
		want string
	}{
		"nobody":     {frozenAt(t), "1 0 "},
		"nothing":    {say(map[string]any{}), "1 0 "},
		"entries":    {say(sdk.WorldContext{Entries: map[string]any{"fog": "thick"}}), "1 1 "},
		"dimensions": {say(json.RawMessage(`{"dimensions":{"潮":{"name":"潮汐","schema":{},"value":7,"version":2}}}`)), "7 0 tides"},
	} {
		if c.f.Generation == nil {
			c.f.Generation = &registry.Generation{}
		}
		w, err := caller(c.f).World(context.Background(), committed)
		if got := fmt.Sprintf("%s %d %s", w.Dimensions["潮"].Value, len(w.Entries), w.DimensionProviderPluginID); err != nil || got != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
}

// sized is a model whose window is known.
type sized struct {
	model.Provider
	window map[string]int
}

func (s sized) Capacity(slot string) model.Capacity {
	return model.Capacity{ContextWindow: s.window[slot]}
}

// longTalk is an execution with a long history and a provider of history.compact@2.
func longTalk(t testing.TB, h sdk.ExtensionHandler) (Frozen, *runtime) {
	f := offered(t, points.HistoryCompact, map[string]sdk.ExtensionHandler{"keeper": h})
	f.Instructions = "zh"
	add := func(turn string, m proto.Message) {
		ev, err := events.Encode(events.NewID("session-s1", turn, int(f.State.Version), 0), &eventsv1.Metadata{CausationId: turn}, m)
		if err != nil {
			t.Fatal(err)
		}
		if f.State, err = projections.Apply(f.State, events.Recorded{Event: ev, Version: f.State.Version + 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		turn := fmt.Sprint("t", i/2)
		add(turn, &eventsv1.MessageAppended{MessageId: fmt.Sprint("m", i), Role: []string{projections.RoleUser, projections.RoleAssistant}[i%2], Text: strings.Repeat("龙胆点灯。", 40)})
		if i%2 == 1 {
			add(turn, &eventsv1.ExecutionCommitted{ExecutionId: turn})
		}
	}
	f.Active = []manifest.Runtime{{ID: "teller", IO: manifest.IO{Visibility: manifest.VisibilityStory}}}
	r := &runtime{Deps: Deps{Model: sized{window: map[string]int{"": 4000, "fast": 4000}}, Log: slog.New(slog.DiscardHandler)}}
	r.run = newRun(f, turn.Run{RunID: "run-1", Runtime: manifest.Runtime{ID: "teller", PluginID: "teller"}}, plugin("teller"))
	return f, r
}

func summaryOf(in sdk.CompactInput) *sdk.CompactOutput {
	var ids []string // three rows of forms without text, and the first turn
	for _, m := range in.Messages[:5] {
		ids = append(ids, m.ID)
	}
	return &sdk.CompactOutput{Summaries: []sdk.NewSummary{{MessageIDs: ids, ReplacesSummaryIDs: []string{}, Content: "灯亮了。", FocusSections: []string{}}}}
}

// Rule EP:200: after the third failure in a row the player sees a failed task that says that the story's memory cannot be
// compressed and what can be done; it comes again after three more.
// Rule EP:198: the provider is skipped and the turn goes on with its history as it is.
// Rule EP:201: a success, and a run with nothing to compress, reset the count.
func TestFailedCompactionsAreShown(t *testing.T) {
	failures := &Failures{}
	var next func(in sdk.CompactInput) (*sdk.CompactOutput, error)
	f, r := longTalk(t, sdk.Extend(func(_ context.Context, in sdk.CompactInput, _ *sdk.ExtensionContext) (*sdk.CompactOutput, error) {
		return next(in)
	}))
	fails := func(sdk.CompactInput) (*sdk.CompactOutput, error) { return nil, errors.New("模型没有回答") }
	works := func(in sdk.CompactInput) (*sdk.CompactOutput, error) { return summaryOf(in), nil }
	nothing := func(sdk.CompactInput) (*sdk.CompactOutput, error) { return nil, nil }
	deferred := func(in sdk.CompactInput) (*sdk.CompactOutput, error) {
		out := summaryOf(in)
		out.Deferred = &sdk.Deferral{Reason: "以后再合并"}
		return out, nil
	}
	told := ""
	for _, do := range []struct {
		mark string
		f    func(sdk.CompactInput) (*sdk.CompactOutput, error)
	}{{"x", fails}, {"x", deferred}, {"x", fails}, {"x", fails}, {"x", fails}, {"x", fails}, {"o", works}, {"x", fails}, {"x", fails}, {"-", nothing}, {"x", fails}, {"x", fails}, {"x", fails}} {
		next = do.f
		shared := NewShared(caller(f), failures)
		var shown []notice
		view, err := shared.compactOnce(context.Background(), r, "system", func(n notice) { shown = append(shown, n) })
		told += do.mark + strings.Repeat("!", len(shown))
		if err != nil || len(view.messages) != 15 && shared.Compaction() == nil || len(view.messages) != 10 && shared.Compaction() != nil {
			t.Errorf("%d messages, %+v %v", len(view.messages), shared.Compaction(), err)
		}
		for _, n := range shown {
			p := n.progress()
			if p.Kind != "runtime.failed" || p.Label != "故事记忆" || !strings.Contains(p.Error, "无法压缩") || !strings.Contains(p.Error, "fast") || p.RuntimeID != points.HistoryCompact {
				t.Errorf("%+v", p)
			}
		}
	}
	if told != "xxx!xxx!oxx-xxx!" {
		t.Errorf("told %s", told)
	}
	english := notice{reason: "no answer"}.progress()
	if english.Label != "Story memory" || !strings.Contains(english.Error, "no answer") {
		t.Errorf("%+v", english)
	}
}

// Rule TP:280: the first agent compacts; who comes meanwhile waits and reads what it left, and the provider is asked once.
// Rule REF plugins.md §18.2: a runtime with a window of its own neither triggers a compaction nor waits for one.
// Rule EP:168: the window is the smaller of the story's and the fast model's, whichever agent is first.
func TestTheCompactionBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f, r := longTalk(t, sdk.Extend(func(_ context.Context, in sdk.CompactInput, _ *sdk.ExtensionContext) (*sdk.CompactOutput, error) {
			asked++
			time.Sleep(10 * time.Second)
			if in.ContextWindow != 3000 || in.InputWindow != 3000 || in.EstimatedTokens == 0 || in.Locale != "zh-CN" {
				t.Errorf("input %+v", in)
			}
			return summaryOf(in), nil
		}))
		r.run.start.Runtime.Agent.Model = "small" // another slot than the story's, with a window nobody knows
		f.Shared = NewShared(caller(f), nil)
		r.run.frozen = f
		windowed := &runtime{Deps: r.Deps}
		n := 1
		windowed.run = newRun(f, turn.Run{RunID: "run-2", Runtime: manifest.Runtime{ID: "scout", PluginID: "scout", Agent: manifest.Agent{HistoryMaxTurns: &n}}}, plugin("scout"))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				in, messages, err := r.buildContext(context.Background(), func(notice) { t.Error("told") })
				if err != nil || len(in.History) != 10 || len(in.Summaries) != 1 || !strings.Contains(messages[1].Content, "<compacted_history>\n灯亮了。") {
					t.Errorf("%d rows, %q, %v", len(in.History), in.Summaries, err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		in, _, err := windowed.buildContext(context.Background(), nil)
		if err != nil || len(in.History) != 2 || time.Since(began) > 0 {
			t.Errorf("the windowed run waits: %d rows, %v, %s", len(in.History), err, time.Since(began))
		}
		wg.Wait()
		if asked != 1 || f.Shared.Compaction().Through != "m1" {
			t.Errorf("asked %d times, %+v", asked, f.Shared.Compaction())
		}
		fresh := NewShared(caller(f), nil)
		f.Shared = fresh
		windowed.run.frozen = f
		if _, _, err := windowed.buildContext(context.Background(), nil); err != nil || fresh.begun {
			t.Error("a windowed run began a compaction")
		}
	})
}

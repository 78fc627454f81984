package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// member is a member of ctx, what plugin code reads of it or does with it, and what comes of that.
type member struct {
	name  string // in the seeds and the reference
	field string // of sdk.Runtime, "" for none of its own
	show  func(context.Context, *sdk.Runtime) any
	want  string // as JSON
	guard string // what a guard sees, "" for the same
}

// members are those of the reference (plugins.md §11, "store" and "gateway" with their functions) and of the seeds that this
// host has. Those that need a network, files or services come with what gives these: services, utils, media, images, speech,
// music, gateway.evaluate and gateway.resolveSlot.
var members = []member{
	{"sessionId", "SessionID", func(_ context.Context, rt *sdk.Runtime) any { return rt.SessionID }, `"s1"`, ""},
	{"turnId", "TurnID", func(_ context.Context, rt *sdk.Runtime) any { return rt.TurnID }, `"e1"`, ""},
	{"the run", "RunID", func(_ context.Context, rt *sdk.Runtime) any { return rt.RunID }, `"run-1"`, ""},
	{"pluginId", "PluginID", func(_ context.Context, rt *sdk.Runtime) any { return rt.PluginID }, `"book"`, ""},
	{"runtimeId", "RuntimeID", func(_ context.Context, rt *sdk.Runtime) any { return rt.RuntimeID }, `"book/main"`, ""},
	{"playerMessage", "PlayerMessage", func(_ context.Context, rt *sdk.Runtime) any { return rt.PlayerMessage }, `"我叫陆青云。"`, ""},
	{"playerActions", "PlayerActions", func(_ context.Context, rt *sdk.Runtime) any { return rt.PlayerActions[0].Interaction.InteractionID }, `"name"`, ""},
	{"logicalTurn", "LogicalTurn", func(_ context.Context, rt *sdk.Runtime) any { return rt.LogicalTurn }, `3`, ""},
	{"turnNumber", "TurnNumber", func(_ context.Context, rt *sdk.Runtime) any { return rt.TurnNumber }, `1`, ""},
	{"locale", "Locale", func(_ context.Context, rt *sdk.Runtime) any { return rt.Locale }, `"zh-CN"`, ""},
	{"messages", "Messages", func(_ context.Context, rt *sdk.Runtime) any {
		return sdk.Translate(rt.Messages, "Fog over {place}", map[string]any{"place": "码头"})
	}, `"码头起雾了"`, ""},
	{"session.lastPlayerInput", "LastPlayerInput", func(_ context.Context, rt *sdk.Runtime) any { return rt.LastPlayerInput.Values }, `{"n":"陆青云"}`, ""},
	{"open questions", "OpenInteractions", func(_ context.Context, rt *sdk.Runtime) any { return rt.OpenInteractions[0].InteractionID }, `"open"`, ""},
	{"store.getSession", "Session", func(_ context.Context, rt *sdk.Runtime) any {
		s := rt.Session
		return []any{s.ID, s.WorldID, s.Locale, s.Status, s.Phase, s.CompletedPlayerTurns}
	}, `["s1","swamp","zh-CN","active","playing",1]`, ""},
	{"store.listTurnMessages", "Conversation", func(_ context.Context, rt *sdk.Runtime) any {
		return []int{len(rt.Conversation.Latest(0)), len(rt.Conversation.Latest(1))}
	}, `[5,1]`, ""},
	{"store.readTurnMessages", "Conversation", func(_ context.Context, rt *sdk.Runtime) any {
		_, next, _ := rt.Conversation.Page("", 3) // the forms
		first, next, more := rt.Conversation.Page(next, 1)
		second, _, end := rt.Conversation.Page(next, 1)
		return []any{first[0].Content, more, second[0].Content, end}
	}, `["雨停了。",true,"灯亮了。",false]`, ""},
	{"store.listPlayerInputs", "Conversation", func(_ context.Context, rt *sdk.Runtime) any {
		var said []any
		for _, in := range rt.Conversation.PlayerInputs() {
			said = append(said, []any{in.ID, in.PluginID, in.TurnID, in.FormID, in.Values, in.CreatedAt})
		}
		return said
	}, `[["e0/other","q","e0","other",{"m":2},"2026-12-01T08:00:04Z"],["e0/name","book","e0","name",{"n":"陆青云"},"2026-12-01T08:00:10Z"]]`, ""},
	{"historyFor", "Conversation", func(_ context.Context, rt *sdk.Runtime) any {
		return rt.Conversation.HistoryFor("npc-mara", 9)[0].Content
	}, `"灯亮了。"`, ""},
	{"store.getPluginData, listPluginData", "PluginData", func(_ context.Context, rt *sdk.Runtime) any {
		return []any{rt.PluginData.Get("n", "龙胆"), rt.PluginData.Get("n", "nobody"), len(rt.PluginData.List("n"))}
	}, `[1,null,1]`, ""},
	{"pluginData.set, update, delete", "PluginData", func(_ context.Context, rt *sdk.Runtime) any {
		err := rt.PluginData.Set("n", "new", 1)
		err2 := rt.PluginData.Update("n", "new", sdk.DataOp{Op: "set", Value: json.RawMessage(`2`)})
		seen := string(rt.PluginData.Get("n", "new"))
		err3 := rt.PluginData.Set("n", "new", nil)
		return []any{err, err2, seen, err3, rt.PluginData.Get("n", "new")}
	}, `[null,null,"2",null,null]`, ""},
	{"world.characters, characterSchema", "World", func(_ context.Context, rt *sdk.Runtime) any {
		return []any{rt.Characters()[0].Name, rt.CharacterSchema().Version}
	}, `["Mara",0]`, ""},
	{"world.worldRecord, seats", "World", func(_ context.Context, rt *sdk.Runtime) any { return []any{rt.World.Record.Name, rt.World.Seats[0].ID} }, `["云梦泽","seat-1"]`, ""},
	{"world.dimensions, dimensionProviderPluginId", "World", func(_ context.Context, rt *sdk.Runtime) any {
		return []any{rt.World.Dimensions["tide"].Value, rt.World.DimensionProviderPluginID}
	}, `["low","sea"]`, ""},
	{"what is read of the world", "Observe", func(_ context.Context, rt *sdk.Runtime) any { return rt.Observe != nil }, `true`, ""},
	{"inputs", "Inputs", func(_ context.Context, rt *sdk.Runtime) any { return rt.Inputs["story"].Items[0] }, `{"value":"雨停了。","pluginId":"teller","runtimeId":"teller","resultId":"run-0"}`, ""},
	{"exports", "Exports", func(_ context.Context, rt *sdk.Runtime) any { return rt.Exports["facts"].Value() }, `7`, ""},
	{"activation, manualPayload", "Activation", func(_ context.Context, rt *sdk.Runtime) any { return rt.Activation }, `{"在":"码头"}`, ""},
	{"triggerEvent", "TriggerEvent", func(_ context.Context, rt *sdk.Runtime) any { return rt.TriggerEvent.Topic }, `"scene.set"`, ""},
	{"execution", "Execution", func(_ context.Context, rt *sdk.Runtime) any {
		return []any{rt.Execution.Origin, rt.Execution.StartedAt.Format(time.TimeOnly), rt.Execution.SourceTurnID}
	}, `["player","08:00:11",""]`, ""},
	{"userSettings", "Settings", func(_ context.Context, rt *sdk.Runtime) any { return rt.Settings }, `{"tone":"dark"}`, ""},
	{"resumeData", "ResumeData", func(_ context.Context, rt *sdk.Runtime) any { return rt.ResumeData }, `null`, ""},
	{"resumedFromSuspensionId", "ResumedFromSuspensionID", func(_ context.Context, rt *sdk.Runtime) any { return rt.ResumedFromSuspensionID }, `""`, ""},
	{"tools.call", "Tools", func(ctx context.Context, rt *sdk.Runtime) any {
		if rt.Tools == nil {
			return "none"
		}
		got, err := rt.Tools.Call(ctx, "count", map[string]int{"n": 2})
		return []any{got, err}
	}, `[3,null]`, `"none"`},
	{"agents.run", "Agents", func(ctx context.Context, rt *sdk.Runtime) any {
		if rt.Agents == nil {
			return "none"
		}
		_, err := rt.Agents.Run(ctx, sdk.AgentRequest{Target: sdk.AgentTarget{Contract: "nobody@1"}, Brief: "看"})
		return err.(*sdk.ToolError).Code
	}, `"not-found"`, `"none"`},
	{"gateway.generateText", "Gateway", func(ctx context.Context, rt *sdk.Runtime) any {
		got, err := rt.Gateway.GenerateText(ctx, sdk.TextRequest{Prompt: "雾里有什么？"})
		return []any{got.Text, err}
	}, `["{\"灯\":1}",null]`, ""},
	{"gateway.generateObject", "Gateway", func(ctx context.Context, rt *sdk.Runtime) any {
		got, err := rt.Gateway.GenerateObject(ctx, sdk.ObjectRequest{TextRequest: sdk.TextRequest{Prompt: "x"}, Schema: json.RawMessage(`{"type":"object"}`)})
		return []any{got, err}
	}, `[{"灯":1},null]`, ""},
	{"assetProgress", "AssetProgress", func(_ context.Context, rt *sdk.Runtime) any {
		rt.AssetProgress(sdk.AssetProgress{Phase: "drawing", Percent: 40, AssetID: "封面", Modality: "image"})
		return nil
	}, `null`, ""},
	{"progress.report", "Progress", func(_ context.Context, rt *sdk.Runtime) any {
		rt.Progress(sdk.ProgressReport{JobID: "draw", State: sdk.ProgressRunning, Sequence: 1, Message: "画"})
		return nil
	}, `null`, ""},
	{"logger", "Log", func(_ context.Context, rt *sdk.Runtime) any { rt.Log.Warn("雾", nil); return nil }, `null`, ""},
	{"recursiveCall", "RecursiveCall", func(ctx context.Context, rt *sdk.Runtime) any {
		got, err := rt.RecursiveCall(ctx, sdk.RecursiveCall{RuntimeID: "part"})
		return []any{got.Status, got.Output, err}
	}, `["success","部分",null]`, ""},
	{"recursionDepth", "RecursionDepth", func(_ context.Context, rt *sdk.Runtime) any { return rt.RecursionDepth }, `0`, ""},
	{"random.int", "Random", func(_ context.Context, rt *sdk.Runtime) any { n := rt.Random.Int(5, 7); return n >= 5 && n < 7 }, `true`, ""},
	{"shortId", "NewID", func(_ context.Context, rt *sdk.Runtime) any { return rt.NewID("npc", "Élodie") }, `"npc-elodie"`, ""},
	{"signal", "", func(ctx context.Context, _ *sdk.Runtime) any {
		_, limited := ctx.Deadline()
		return limited && ctx.Err() == nil
	}, `true`, ""},
}

// remembered is a session with something for every member to read, and an execution of it.
func remembered(t *testing.T) projections.State {
	t.Helper()
	ref := func(id string) *eventsv1.InteractionRef {
		return &eventsv1.InteractionRef{TurnId: "e0", InteractionId: id, Type: "form"}
	}
	var s projections.State
	for i, m := range []proto.Message{
		&eventsv1.SessionCreated{SessionId: "s1", WorldId: "swamp", Locale: "zh-CN", Phase: "playing", Seats: []*eventsv1.Seat{{Id: "seat-1", Role: "player", Control: "human", Primary: true}}},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "name", MessageId: "f-name", Type: "form", PluginId: "book", Block: []byte(`{}`)},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "open", MessageId: "f-open", Type: "choice", PluginId: "book", Block: []byte(`{}`)},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "other", MessageId: "f-other", Type: "form", PluginId: "q", Block: []byte(`{}`)},
		&eventsv1.ActionsSubmitted{RequestId: "r0", ExecutionId: "e0", Actions: []*eventsv1.Action{{Fields: []byte(`{"m":2}`), Interaction: ref("other")}}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-mara", Name: "Mara", Type: "npc", Version: 1}},
		&eventsv1.NarrativeAppended{MessageId: "m1", Kind: "story", Text: "雨停了。"},
		&eventsv1.NarrativeAppended{MessageId: "m2", Kind: "story", Text: "灯亮了。", Presence: []string{"npc-mara"}},
		&eventsv1.PlayerTurnCounted{CompletedPlayerTurns: 1},
		&eventsv1.PluginDataChanged{PluginId: "book", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "龙胆", Value: []byte(`1`), Revision: 1}}},
		&eventsv1.ActionsSubmitted{RequestId: "r", ExecutionId: "e1", Rendered: "我叫陆青云。", Actions: []*eventsv1.Action{{Kind: "act", Text: "我叫陆青云。", Fields: []byte(`{"n":"陆青云"}`), Interaction: ref("name")}}},
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: "player", LogicalTurn: 3},
	} {
		ev, err := events.Encode(events.NewID("session-s1", "x", i, 0), &eventsv1.Metadata{AppendEnd: uint64(i + 1)}, m)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 12, 1, 8, 0, i, 0, time.UTC)
		if s, err = projections.Apply(s, events.Recorded{Event: ev, Version: events.Version(i + 1), RecordedAt: at}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Rule REF:plugins.md §11: every member of ctx works in a function runtime, and in a guard, which has no tools and no agents.
// Rule TL:1630: a guard gets the same context as a handler. Rule EP:87: what reads the plugin's data has one shape.
// Rule TP:543: a handler writes the data of its own plugin; it gets no store that it could write otherwise.
func TestMembersOfContext(t *testing.T) {
	for _, where := range []string{"handler", "guard"} {
		t.Run(where, func(t *testing.T) {
			seen := map[string]string{}
			look := func(ctx context.Context, rt *sdk.Runtime) error {
				for _, m := range members {
					b, err := json.Marshal(m.show(ctx, rt))
					if err != nil {
						return fmt.Errorf("%s: %w", m.name, err)
					}
					seen[m.name] = string(b)
				}
				return nil
			}
			handlers := map[string]sdk.Handler{
				"part": func(context.Context, *sdk.Runtime) (sdk.Result, error) {
					return sdk.Result{Outcome: sdk.Success, Value: "部分"}, nil
				},
				"main": func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
					if where == "handler" {
						return ok, look(ctx, rt)
					}
					return ok, nil
				},
			}
			answers := modelFunc(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
				return model.Reply{Text: `{"灯":1}`, FinishReason: model.FinishStop}, nil
			})
			atDesk(t, handlers, func(d *desk) {
				d.deps.Model = answers
				d.plugin.Manifest.Locales = map[string]map[string]string{"zh": {"Fog over {place}": "{place}起雾了"}}
				d.plugin.Tools["count"] = sdk.MustDefine(sdk.Tool{Name: "count", Description: "Counts."}, func(_ context.Context, a struct {
					N int `json:"n"`
				}, _ *sdk.Runtime) (sdk.ToolResult, error) {
					return sdk.ToolResult{Content: a.N + 1}, nil
				})
				d.plugin.Entry.Guards["look"] = func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
					return sdk.GuardResult{}, look(ctx, rt)
				}
				d.frozen.State = remembered(t)
				d.frozen.Execution = *d.frozen.State.Session.Open
				d.frozen.State.Exports = projections.Exports{{PluginID: "book", RuntimeID: "book/part", Name: "facts", Value: projections.RawJSON(`7`)}}
				d.frozen.Pack = worlds.View{PluginSettings: map[string]map[string]json.RawMessage{"book": {"tone": json.RawMessage(`"dark"`)}}}
				d.frozen.World = world.View(d.frozen.State, d.frozen.Pack)
				d.frozen.World.Record.Name = "云梦泽"
				d.frozen.World.Dimensions, d.frozen.World.DimensionProviderPluginID = map[string]sdk.Dimension{"tide": {Value: json.RawMessage(`"low"`)}}, "sea"
			}, func(d *desk) {
				rt := part("main")
				rt.Function.PluginTools = []string{"count"}
				rt.IO.Inputs = map[string]manifest.Binding{"facts": {Runtime: "book/part", Scope: "committed", RecordAs: "facts"}}
				if where == "guard" {
					rt.Guard = "look"
				}
				res := d.start(turn.Run{
					RunID: "run-1", Runtime: rt, Event: &sdk.EmittedEvent{Topic: "scene.set", Data: json.RawMessage(`{"在":"码头"}`)},
					Inputs: map[string]sdk.Input{"story": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(`"雨停了。"`), PluginID: "teller", Runtime: "teller", ResultID: "run-0"}}}},
				})
				same(t, "result", []any{res.Status, res.Error}, []any{turn.Succeeded, ""})
				for _, m := range members {
					want := m.want
					if where == "guard" && m.guard != "" {
						want = m.guard
					}
					same(t, m.name, seen[m.name], want)
				}
				told := d.heard()
				for _, want := range []string{"job-status.updated book/main draw running 1 画", "asset.progress book/main 封面 drawing 40 image"} {
					if !slices.Contains(told, want) {
						t.Errorf("nobody is told %q: %q", want, told)
					}
				}
				same(t, "logged", d.traced(trace.RuntimeLog), []string{`runtime.log book/main {"level":"warn","message":"雾"}`})
			})
		})
	}
	var listed []string
	for _, m := range members {
		listed = append(listed, m.field)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sdk.Runtime]()) {
		if !slices.Contains(listed, f.Name) {
			t.Errorf("no row shows %s", f.Name)
		}
	}
}

// Rule REF:plugins.md §12: jobStatus[] is told live, whatever the outcome; diagnostics stand in the trace.
func TestJobStatusOfAResult(t *testing.T) {
	effects := sdk.Effects{
		JobStatus:   []sdk.ProgressReport{{JobID: "画", State: sdk.ProgressStep, Sequence: 2, Message: "上色"}},
		Diagnostics: []sdk.Diagnostic{{Code: "fog", Message: "雾"}},
	}
	out := sdk.Result{}
	atDesk(t, map[string]sdk.Handler{"draw": func(context.Context, *sdk.Runtime) (sdk.Result, error) { return out, nil }}, nil, func(d *desk) {
		for _, c := range []struct {
			out  sdk.Result
			ends string
		}{
			{sdk.Result{Outcome: sdk.Success}, "succeeded"}, {sdk.Result{Outcome: sdk.Failed, Error: "x"}, "failed"},
			{sdk.Result{Outcome: sdk.Skipped}, "succeeded"}, {sdk.Result{Outcome: sdk.Suspended, Reason: "谁？"}, "waiting-input"},
		} {
			out = c.out
			out.Effects = effects
			d.play(part("draw"))
			var told []string
			for _, line := range d.heard() {
				if len(line) > 10 && line[:10] == "job-status" {
					told = append(told, line)
				}
			}
			same(t, string(c.out.Outcome), told, []string{"job-status.updated book/draw 画 progress 2 上色", "job-status.updated book/draw 画 " + c.ends + " 3 "})
		}
		same(t, "diagnostics", len(d.traced(trace.RuntimeDiagnostic)), 4)
	})
}

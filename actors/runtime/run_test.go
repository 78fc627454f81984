package runtime

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// frozenAt is an execution on a session with one character, one record of plugin p, and two answered forms.
func frozenAt(t testing.TB) Frozen {
	var s projections.State
	for i, m := range []proto.Message{
		&eventsv1.SessionCreated{SessionId: "s1", Locale: "zh-CN", Phase: "playing", Seats: []*eventsv1.Seat{{Id: "seat-1", Role: "player", Control: "human", Primary: true}}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-mara", Name: "Mara", Type: "npc", Version: 1}},
		&eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "龙胆", Value: []byte(`1`), Revision: 1}}},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "name", MessageId: "f-name", Type: "form", PluginId: "p", Block: []byte(`{}`)},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "open", MessageId: "f-open", Type: "choice", PluginId: "p", Block: []byte(`{"prompt":"？"}`)},
		&eventsv1.InteractionRequested{TurnId: "e0", InteractionId: "other", MessageId: "f-other", Type: "form", PluginId: "q", Block: []byte(`{}`)},
		&eventsv1.ActionsSubmitted{RequestId: "r", ExecutionId: "e1", Rendered: "我叫陆青云。", Actions: []*eventsv1.Action{
			{Kind: "act", Text: "我叫陆青云。", Fields: []byte(`{"n":"陆青云"}`), Interaction: &eventsv1.InteractionRef{TurnId: "e0", InteractionId: "name", Type: "form"}},
		}},
		&eventsv1.ExecutionStarted{ExecutionId: "e1", LogicalTurn: 3},
	} {
		ev, err := events.Encode(events.NewID("session-s1", "x", i, 0), nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = projections.Apply(s, events.Recorded{Event: ev, Version: events.Version(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	return Frozen{Execution: *s.Session.Open, State: s, World: world.View(s, worlds.View{})}
}

func plugin(id string) *registry.Loaded { return &registry.Loaded{Manifest: manifest.Plugin{ID: id}} }

func started(t testing.TB, upstream ...turn.Result) *run {
	return newRun(frozenAt(t), turn.Run{RunID: "run-1", Runtime: manifest.Runtime{ID: "p/r", PluginID: "p", Schedule: manifest.Schedule{Stage: manifest.PostTurn}}, Upstream: upstream, Needs: [][]string{{"a", "b"}}}, plugin("p"))
}

func propose(p sdk.Payload) sdk.Proposal {
	pr, err := sdk.Propose(p)
	if err != nil {
		panic(err)
	}
	return pr
}

func write(key, value string) sdk.Proposal {
	return propose(sdk.PluginDataWrite{Namespace: "n", Key: key, Value: json.RawMessage(value)})
}

func staged(r turn.Result) (out []string) {
	for _, p := range r.Proposals {
		out = append(out, p.Type+" "+string(p.Payload))
	}
	return out
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.ReplaceAll(g, "\n", "\n     "), strings.ReplaceAll(w, "\n", "\n     "))
	}
}

const formBlock = `{"type":"form","interactionId":"%s","fields":[{"type":"text","name":"n","label":"%s"}]}`

func block(id, label string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal(fmt.Appendf(nil, formBlock, id, label), &m); err != nil {
		panic(err)
	}
	return m
}

// Rule TP:650: the view has three parts: what is committed, the valid proposals of upstream runs, and what the run itself is about to
// write; so what a tool wrote is read right after it.
// Rule TP:651: its own plugin's records: committed, written upstream by runs of the plugin, its own buffer.
// Rule TP:623: no run reads the records of another plugin.
// What a run sees: committed state, the acceptable writes of completed upstream runs (of its own plugin where data is
// concerned), its own (seed: turn-pipeline.txt §4.2).
func TestViews(t *testing.T) {
	up := func(plugin string, status turn.Status, p ...sdk.Proposal) turn.Result {
		return turn.Result{RuntimeID: plugin + "/up", PluginID: plugin, Status: status, SkipReason: map[bool]string{true: turn.SkipGuard}[status == turn.Skipped], Proposals: p}
	}
	r := started(t,
		up("p", turn.Succeeded, write("a", `1`), propose(sdk.CharacterUpsert{ID: "npc-2", Name: "龙胆"})),
		up("q", turn.Succeeded, write("b", `"q's"`), propose(sdk.CharacterUpsert{ID: "npc-3", Name: "龙胆"}), propose(sdk.CharacterUpsert{ID: "npc-4", Name: "Ольга"})),
		up("p", turn.Failed, write("c", `1`)), up("p", turn.Skipped, write("d", `1`)))
	var names []string
	for _, c := range r.view().World.Characters {
		names = append(names, c.ID+" "+c.Name)
	}
	expect(t, "characters", names, []string{"npc-mara Mara", "npc-2 龙胆", "npc-4 Ольга"})
	var keys []string
	for _, rec := range r.view().PluginData.List("n") {
		keys = append(keys, rec.Key+"="+string(rec.Value))
	}
	expect(t, "records", keys, []string{"龙胆=1", "a=1", "d=1"})
	if err := r.stage([]sdk.Proposal{propose(sdk.CharacterUpsert{ID: "npc-2", Name: "x", Description: new(string), ExpectedVersion: new(int)}), write("a", `2`)}, nil); err != nil {
		t.Fatal(err)
	}
	c, _ := sdk.CharacterByID(r.view().World.Characters, "npc-2")
	expect(t, "own writes", fmt.Sprint(c.Version, " ", string(r.view().PluginData.Get("n", "a"))), "2 2")
	expect(t, "a new id", []string{r.view().NewID("npc", "Mara"), r.view().NewID("npc", "Élodie")}, []string{"npc-mara-2", "npc-elodie"})
}

func TestContext(t *testing.T) {
	v := started(t).view()
	expect(t, "identity", []any{v.SessionID, v.TurnID, v.RunID, v.PluginID, v.RuntimeID, v.Locale, v.LogicalTurn}, []any{"s1", "e1", "run-1", "p", "p/r", "zh-CN", 3})
	expect(t, "input", fmt.Sprint(v.PlayerMessage, len(v.PlayerActions), v.PlayerActions[0].Interaction.InteractionID), "我叫陆青云。1name")
	expect(t, "answer", fmt.Sprint(v.LastPlayerInput.TurnID, v.LastPlayerInput.FormID, v.LastPlayerInput.Values["n"]), "e0name陆青云")
	if len(v.OpenInteractions) != 1 || v.OpenInteractions[0].InteractionID != "open" || string(v.OpenInteractions[0].Block) != `{"prompt":"？"}` {
		t.Errorf("open %+v", v.OpenInteractions)
	}
	if v.Activation != nil || v.Tools != nil {
		t.Error("a stage run of an agent has an activation or tools")
	}
	f := frozenAt(t)
	f.Execution.ID = "e2" // an opening has no input, even where one waits
	r := newRun(f, turn.Run{RunID: "run-1", Runtime: manifest.Runtime{ID: "q", PluginID: "q"}, Event: &sdk.EmittedEvent{Topic: "a.b", Data: json.RawMessage(`{"x":1}`)}}, plugin("q"))
	v = r.view()
	expect(t, "an event run of another plugin", fmt.Sprint(v.PlayerMessage, v.PlayerActions, v.LastPlayerInput, string(v.Activation), len(v.OpenInteractions)), `[] <nil>{"x":1}1`)
}

// Rule REF:plugins.md §12: each effect of a success becomes its proposal. Effects become proposals (reference: plugins.md §12); the order of plugin data is the order it was written in.
func TestEffects(t *testing.T) {
	r := started(t)
	if err := r.data.Set("n", "k", 1); err != nil {
		t.Fatal(err)
	}
	err := r.effects(sdk.Effects{
		Narrative: "龙胆来了。", UI: []sdk.UIRender{{Parts: []sdk.UIPart{{ID: "a", Type: "t", Status: "success"}}}},
		Events: []sdk.EmittedEvent{{Topic: "scene.set", Data: json.RawMessage(`{"a":1}`)}}, Proposals: []sdk.Proposal{write("k", `2`)},
		Interactions: []map[string]any{block("name", "名字"), block("other", "x"), block("name", "姓名")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.data.Set("n", "k", 3); err != nil {
		t.Fatal(err)
	}
	res := r.result(turn.Result{Status: turn.Succeeded})
	expect(t, "proposals", strings.Join(staged(res), "\n"), strings.Join([]string{
		`message.append {"content":"龙胆来了。"}`,
		`ui.render {"parts":[{"id":"a","type":"t","status":"success","content":null}]}`,
		`plugin.data {"namespace":"n","key":"k","value":1}`,
		`plugin.data {"namespace":"n","key":"k","value":2}`,
		`event.emit {"topic":"scene.set","data":{"a":1}}`,
		`plugin.data {"namespace":"n","key":"k","value":3}`,
		`interaction.request {"interactionId":"name","type":"form","data":{"fields":[{"label":"姓名","name":"n","type":"text"}],"interactionId":"name","type":"form"}}`,
		`interaction.request {"interactionId":"other","type":"form","data":{"fields":[{"label":"x","name":"n","type":"text"}],"interactionId":"other","type":"form"}}`,
	}, "\n"))
	expect(t, "events", len(res.Events), 1)
	expect(t, "identity", fmt.Sprint(res.RuntimeID, res.PluginID, res.RunID, res.Stage, res.Needs), "p/rprun-1post-turn[[a b]]")
}

// An entry that cannot become a write fails the run, and names the place.
func TestBadEffects(t *testing.T) {
	for name, c := range map[string]struct {
		effects sdk.Effects
		reason  string
	}{
		"a block without fields":   {sdk.Effects{Interactions: []map[string]any{block("a", "x"), {"type": "form", "interactionId": "b"}}}, "effects.interactions[1].fields: a form needs at least one field"},
		"a block that is no JSON":  {sdk.Effects{Interactions: []map[string]any{{"x": math.NaN()}}}, "effects.interactions[0]: json"},
		"ui that is no JSON":       {sdk.Effects{UI: []sdk.UIRender{{Parts: []sdk.UIPart{{Content: math.Inf(1)}}}}}, "ui.render payload cannot be written as JSON"},
		"an event that is no JSON": {sdk.Effects{Events: []sdk.EmittedEvent{{Topic: "a.b", Data: json.RawMessage(`{`)}}, Proposals: []sdk.Proposal{write("k", "1")}}, "event a.b: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := started(t)
			if err := r.effects(c.effects); err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want …%s…", err, c.reason)
			}
			if len(r.events) > 0 || r.data.Get("n", "k") != nil {
				t.Error("a part was staged")
			}
		})
	}
}

// "For a runtime whose result is success / skipped, the buffered proposals are committed. For failed / suspended, they are
// not committed" (seed: tools.txt).
func TestWhichResultsCarryWrites(t *testing.T) {
	for _, c := range []struct {
		res     turn.Result
		carries bool
	}{
		{turn.Result{Status: turn.Succeeded}, true}, {turn.Result{Status: turn.Skipped, SkipReason: turn.SkipGuard}, true}, {turn.Result{Status: turn.Skipped, SkipReason: turn.HandlerSkip("dependency")}, true},
		{turn.Result{Status: turn.Failed}, false},
	} {
		r := started(t)
		if err := r.data.Set("n", "k", "龙"); err != nil {
			t.Fatal(err)
		}
		if err := r.stage(nil, []sdk.EmittedEvent{{Topic: "a.b"}}); err != nil {
			t.Fatal(err)
		}
		res := r.result(c.res)
		if carries := len(res.Proposals) == 2 && len(res.Events) == 1; carries != c.carries || !carries && len(res.Proposals)+len(res.Events) > 0 {
			t.Errorf("%s %s: %v", c.res.Status, c.res.SkipReason, staged(res))
		}
	}
}

// What a successful tool call staged is taken over in order: its writes, its events, its question, its blocks.
func TestToolCallsAreTakenOver(t *testing.T) {
	r := started(t)
	ask := func(label string) *tools.Interaction {
		i, issues := tools.ReadInteraction(fmt.Appendf(nil, formBlock, "name", label))
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		return &i
	}
	for _, call := range []tools.CallResult{
		{Proposals: []sdk.Proposal{write("k", `1`)}, Events: []sdk.EmittedEvent{{Topic: "a.b"}}, Interaction: ask("名字")},
		{UI: []sdk.UIRender{{Parts: []sdk.UIPart{{ID: "a", Type: "t", Status: "success"}}}}},
		{Proposals: []sdk.Proposal{write("k", `2`)}, Interaction: ask("姓名")},
	} {
		if err := r.accept(call); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []string
	for _, p := range r.result(turn.Result{Status: turn.Succeeded}).Proposals {
		kinds = append(kinds, p.Type)
	}
	expect(t, "proposals", kinds, []string{"plugin.data", "event.emit", "ui.render", "plugin.data", "interaction.request"})
	expect(t, "record", string(r.data.Get("n", "k")), "2")
}

func TestPromptInput(t *testing.T) {
	f := frozenAt(t)
	f.Instructions = "zh"
	turns := 0
	rt := manifest.Runtime{ID: "p/r", PluginID: "p", Schedule: manifest.Schedule{Stage: manifest.PostTurn}, IO: manifest.IO{SelfData: []manifest.SelfData{{Namespace: "n", As: "notes"}}}, Agent: manifest.Agent{HistoryMaxTurns: &turns}}
	story := turn.Result{RuntimeID: "narrator", Story: true, Status: turn.Succeeded, Segments: []sdk.StorySegment{{Kind: "narration", Text: "雨停了。"}, {Kind: "narration", Text: "灯亮了。"}}}
	in := newRun(f, turn.Run{RunID: "run-1", Runtime: rt, Upstream: []turn.Result{story}}, plugin("p")).prompt()
	expect(t, "prompt", fmt.Sprint(in.Story, "|", in.PlayerMessage, "|", in.InstructionLocale, in.Locale, len(in.History), len(in.Data), len(in.Data[0].Rows), in.LogicalTurn), "雨停了。\n\n灯亮了。|我叫陆青云。|zhzh-CN0 1 1 3")
	if in.Activation != nil {
		t.Error("a stage run has an activation")
	}
	rt.Schedule.Stage = manifest.PreTurn
	if in := newRun(f, turn.Run{Runtime: rt, Upstream: []turn.Result{story}}, plugin("p")).prompt(); in.Story != "" {
		t.Error("a pre-turn runtime reads the story of its own turn")
	}
	rt.Schedule.Stage = ""
	in = newRun(f, turn.Run{Runtime: rt, Event: &sdk.EmittedEvent{Topic: "a.b", Data: json.RawMessage(`1`)}}, plugin("p")).prompt()
	expect(t, "activation", fmt.Sprint(in.Activation.Source, in.Activation.Topic, string(in.Activation.Payload)), "eventa.b1")
}

// Rule TP:214: successful and suspended runs carry what they have read, failed ones nothing.
// Rule TP:648: building the views reads nothing; what a tool or a handler reads of them is noted in the run's result.
func TestReadsOfUpstreamWrites(t *testing.T) {
	up := []turn.Result{
		{RunID: "up-data", RuntimeID: "p/data", PluginID: "p", Status: turn.Succeeded, Proposals: []sdk.Proposal{write("a", `1`)}},
		{RunID: "up-people", RuntimeID: "q/people", PluginID: "q", Status: turn.Succeeded, Proposals: []sdk.Proposal{propose(sdk.CharacterUpsert{ID: "npc-2", Name: "龙胆"})}},
		{RunID: "up-schema", RuntimeID: "q/schema", PluginID: "q", Status: turn.Succeeded, Proposals: []sdk.Proposal{propose(sdk.CharacterSchemaSet{Types: []string{"npc"}})}},
	}
	for _, c := range []struct {
		name string
		read func(*sdk.Runtime)
		want []string
	}{
		{"nothing", func(*sdk.Runtime) {}, nil},
		{"the world's record", func(v *sdk.Runtime) { _ = v.World.Record.Name }, nil},
		{"a new id", func(v *sdk.Runtime) { v.NewID("npc", "x") }, nil},
		{"characters", func(v *sdk.Runtime) { v.Characters() }, []string{"up-people"}},
		{"the schema", func(v *sdk.Runtime) { v.CharacterSchema() }, []string{"up-schema"}},
		{"plugin data", func(v *sdk.Runtime) { v.PluginData.Get("n", "a") }, []string{"up-data"}},
		{"other plugin data", func(v *sdk.Runtime) { v.PluginData.Get("n", "龙胆") }, nil},
		{"all", func(v *sdk.Runtime) { v.Characters(); v.CharacterSchema(); v.PluginData.List("n") }, []string{"up-data", "up-people", "up-schema"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := started(t, up...)
			r.prompt()
			c.read(r.view())
			expect(t, "reads", r.result(turn.Result{Status: turn.Succeeded}).Reads, c.want)
			expect(t, "of a failed run", len(r.result(turn.Result{Status: turn.Failed}).Reads), 0)
			expect(t, "of a suspended run", r.result(turn.Result{Status: turn.Suspended}).Reads, c.want)
		})
	}
}

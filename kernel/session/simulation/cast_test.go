package simulation

import (
	"encoding/json"
	"fmt"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

var pack = func() worlds.View {
	var v worlds.View
	v.Record.ID, v.Record.Name, v.Record.Locale = "w", "低水", "zh-CN"
	return v
}()

// cast are the runtimes of the simulated session: every way of being set off, every stage, work put off in every way.
var cast = []manifest.Runtime{
	{ID: "opener", PluginID: "opener", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Stage: manifest.Setup, Trigger: manifest.TriggerAuto}},
	{ID: "maker", PluginID: "maker", Type: manifest.TypeFunction, Schedule: manifest.Schedule{
		Stage: manifest.Setup, Trigger: manifest.TriggerAuto, MaxTriggerCount: 3, After: []manifest.Need{{Runtime: "opener", Cardinality: "one", Scope: "turn"}},
	}},
	{ID: "oracle", PluginID: "oracle", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Stage: manifest.PreTurn, Trigger: manifest.TriggerAuto, Every: 2}},
	{ID: "teller", PluginID: "teller", Type: manifest.TypeAgent, Schedule: manifest.Schedule{Stage: manifest.Narrative, Trigger: manifest.TriggerAuto, Every: 1},
		IO: manifest.IO{Visibility: manifest.VisibilityStory, OutputContract: "story@1"}},
	{ID: "guide", PluginID: "guide", Type: manifest.TypeAgent, Schedule: manifest.Schedule{
		Stage: manifest.PostTurn, Trigger: manifest.TriggerAuto, Every: 1, Needs: []manifest.Need{{Contract: "story@1", Cardinality: "one", Scope: "turn"}},
	}},
	{ID: "seer", PluginID: "seer", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Stage: manifest.PostTurn, Trigger: manifest.TriggerAuto, Every: 1, CooldownTurns: 1}},
	{ID: "memory/extract", PluginID: "memory", Type: manifest.TypeFunction, Effects: manifest.Effects{Writes: []string{"plugin-data:self:blocks"}},
		Schedule: manifest.Schedule{Stage: manifest.PostTurn, Trigger: manifest.TriggerAuto, Every: 1,
			Detached: &manifest.Detached{Settle: true, MaxSettleWaitMs: 5_000, MaxQueueMs: 60_000, MaxExecutionMs: 20_000}}},
	{ID: "memory/index", PluginID: "memory", Type: manifest.TypeFunction, Effects: manifest.Effects{Writes: []string{"plugin-data:self:blocks"}},
		Function: manifest.Function{Model: "embedding"},
		Schedule: manifest.Schedule{Stage: manifest.Audit, Trigger: manifest.TriggerAuto, Every: 2,
			Detached: &manifest.Detached{MaxQueueMs: 90_000, MaxExecutionMs: 20_000}}},
	{ID: "echo", PluginID: "echo", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Trigger: manifest.TriggerEvent, Topic: "omen.seen"}},
	{ID: "painter", PluginID: "painter", Type: manifest.TypeFunction, Schedule: manifest.Schedule{
		Trigger: manifest.TriggerEvent, Topic: "scene.set", Background: &manifest.Background{MaxQueueMs: 120_000, MaxExecutionMs: 60_000},
	}},
	{ID: "dice", PluginID: "dice", Type: manifest.TypeFunction, Schedule: manifest.Schedule{Trigger: manifest.TriggerManual}},
	{ID: "imager", PluginID: "imager", Type: manifest.TypeFunction, Schedule: manifest.Schedule{
		Trigger: manifest.TriggerManual, Background: &manifest.Background{MaxQueueMs: 30_000, MaxExecutionMs: 60_000},
	}},
}

var topics = map[string]json.RawMessage{"omen.seen": nil, "scene.set": nil}

func runtimeOf(id string) (manifest.Runtime, bool) {
	for _, r := range cast {
		if r.ID == id {
			return r, true
		}
	}
	return manifest.Runtime{}, false
}

func plugins() []projections.PluginRef {
	var out []projections.PluginRef
	seen := map[string]bool{}
	for _, r := range cast {
		if !seen[r.PluginID] {
			seen[r.PluginID] = true
			out = append(out, projections.PluginRef{ID: r.PluginID, Version: "1.0.0", Digest: "d1"})
		}
	}
	return out
}

// dice gives small numbers that follow from the arguments of a step.
type dice uint64

func newDice(a, b uint32) *dice {
	d := dice(uint64(a)<<32 | uint64(b))
	return &d
}

func (d *dice) roll(n int) int { // splitmix64
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// perform is what a run gives: the model or the plugin at its best, at its worst, and in between.
func perform(view projections.State, run turn.Run, exec projections.Execution, d *dice) (r turn.Result, remark string) {
	rt := run.Runtime
	r = turn.Result{
		RuntimeID: rt.ID, PluginID: rt.PluginID, RunID: run.RunID, Stage: rt.Schedule.Stage, Story: rt.IO.Visibility == manifest.VisibilityStory,
		Contract: rt.IO.OutputContract, Status: turn.Succeeded, Needs: run.Needs, Reads: run.Reads, Usage: turn.Usage{ModelCalls: 1},
	}
	propose := func(p sdk.Payload) {
		pr, err := sdk.Propose(p)
		if err != nil {
			panic(err)
		}
		r.Proposals = append(r.Proposals, pr)
	}
	switch how := d.roll(20); {
	case how < 2:
		r.Status, r.StopReason, r.Error = turn.Failed, "model-error", "the model does not answer"
		r.Fault = how == 1 // or it is the plugin's own
		if r.Story {
			r.Draft = "雨停"
		}
		return r, "fails"
	case how == 2:
		r.Status, r.SkipReason = turn.Skipped, turn.SkipGuard
		return r, "is skipped by its guard"
	case how < 6 && rt.ID != "guide" && rt.ID != "echo":
		r.Status = turn.Suspended
		r.Suspension = &turn.Suspension{Reason: "然后？", ResumeSchema: []byte(`{"enum":["go","again"]}`), PluginVersion: "1.0.0", PluginDigest: "d1"}
		if d.roll(2) == 0 {
			propose(sdk.PluginDataWrite{Namespace: "n", Key: "k" + fmt.Sprint(d.roll(3)), Value: number(d)})
		}
		if d.roll(4) == 0 {
			r.Events = append(r.Events, sdk.EmittedEvent{Topic: "scene.set", Data: []byte(`{"place":"码头"}`)})
		}
		return r, "asks the player"
	case how == 6:
		r.Proposals = append(r.Proposals, sdk.Proposal{Type: "character.upsert", Payload: []byte(`{"id":""}`)})
		remark = "proposes what is refused"
	default:
		remark = "is done"
	}
	if run.Resumed != nil {
		r.Proposals = append(append([]sdk.Proposal(nil), run.Resumed.Proposals...), r.Proposals...)
	}
	switch {
	case rt.ID == "opener":
		propose(sdk.MessageAppend{Content: "欢迎。"})
		r.Done = d.roll(4) > 0
	case rt.ID == "maker":
		make1(view, &r, propose)
	case r.Story:
		r.Segments = []sdk.StorySegment{{Kind: "narration", Text: "雨停了。" + exec.ID}}
		propose(sdk.NarrativeAppend{Segments: r.Segments, Kind: "story"})
		r.Output = []byte(`{"segments":[]}`)
		if d.roll(5) == 0 {
			r.Output = []byte(`{"advance":{"reason":"继续"}}`)
			remark += ", goes on"
		}
	case rt.ID == "guide":
		propose(sdk.MessageAppend{Content: "去码头？"})
	default:
		ns := "n"
		if rt.PluginID == "memory" {
			ns = "blocks"
		}
		propose(sdk.PluginDataWrite{Namespace: ns, Key: "k" + fmt.Sprint(d.roll(3)), Value: number(d)})
		if rt.PluginID == "memory" && d.roll(8) == 0 {
			propose(sdk.PluginDataWrite{Namespace: "elsewhere", Key: "k", Value: number(d)})
			remark += ", writes what it may not"
		}
	}
	if exec.Phase == projections.PhasePlaying && rt.PluginID != "memory" {
		for _, topic := range []string{"omen.seen", "scene.set"} {
			if d.roll(4) == 0 {
				r.Events = append(r.Events, sdk.EmittedEvent{Topic: topic, Data: []byte(`{"place":"码头"}`)})
				remark += ", emits " + topic
			}
		}
	}
	return r, remark
}

func number(d *dice) json.RawMessage { return json.RawMessage(fmt.Sprint(d.roll(100))) }

// make1 asks who the player is until there is an answer.
func make1(view projections.State, r *turn.Result, propose func(sdk.Payload)) {
	if answer, ok := view.Interactions.LastAnswered("maker"); ok {
		var values struct {
			Name string `json:"characterName"`
		}
		_ = json.Unmarshal(answer.Values, &values)
		propose(sdk.CharacterUpsert{ID: "pc", Name: values.Name, Type: "player"})
		r.Done = true
		return
	}
	if len(view.Interactions.Open("maker")) == 0 {
		propose(sdk.InteractionRequest{InteractionID: "char-creation", Type: "form", Data: map[string]any{
			"type": "form", "interactionId": "char-creation", "title": "谁", "submitLabel": "好", "narrativeTemplate": "我叫{{characterName}}。",
			"fields": []map[string]any{{"type": "text", "name": "characterName", "label": "名字", "required": true}},
		}})
	}
}

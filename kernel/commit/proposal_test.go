package commit

import (
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

const form = `{"type":"form","interactionId":"谁","fields":[{"type":"text","name":"n","label":"名字 <b>"}]}`

// Rule TP:480: what runs propose becomes events when it is committed; Rule TP:485–495: a story, a question, a record, each its own.
// Rule REF:plugins.md §13.1: the owner of plugin data is the plugin of the run.
// Rule TP:311: each type of proposal has its payload and becomes its event, which holds the result.
func TestProposals(t *testing.T) {
	for _, c := range []struct {
		name string
		p    []sdk.Proposal
		want []string
	}{
		{"message", []sdk.Proposal{raw("message.append", `{"content":"  龙胆说：<好>。 "}`)}, []string{`message m-run-p assistant "龙胆说：<好>。"`}},
		{"an empty message writes no row", []sdk.Proposal{raw("message.append", `{"content":" \n"}`)}, nil},
		{"messages of one run are one row", []sdk.Proposal{raw("message.append", `{"content":"一"}`), note("k", "1"), raw("message.append", `{"content":"二"}`)}, []string{`message m-run-p assistant "一\n\n二"`, `data p n/k=1 r1`}},
		{"unclean text", []sdk.Proposal{raw("message.append", `{"content":"a\u0000\ud800b`+"\xff"+`"}`)}, []string{"message m-run-p assistant \"a\uFFFD\uFFFDb\uFFFD\""}},

		{"interaction", []sdk.Proposal{raw("interaction.request", `{"interactionId":"谁","type":"form","data":`+form+`}`)}, []string{`ask e1 谁 form m-run-p by p ` + form}},

		{"ui", []sdk.Proposal{raw("ui.render", `{"parts":[{"id":"a","type":"spec","status":"success","content":{"x": "<i>"}}],"layout":"split","status":"pending"}`)},
			[]string{`render m-run-p {"parts":[{"id":"a","type":"spec","status":"success","content":{"x":"<i>"}}],"layout":"split","status":"pending"}`}},

		{"event", []sdk.Proposal{raw("event.emit", `{"topic":"scene.set","data":{"在": "码头"}}`)}, []string{`emit scene.set {"在":"码头"} by p`}},
		{"event without data", []sdk.Proposal{raw("event.emit", `{"topic":"scene.set"}`)}, []string{`emit scene.set  by p`}},

		{"data", []sdk.Proposal{note("k", `{"a": [1.50]}`)}, []string{`data p n/k={"a":[1.50]} r1`}},
		{"data again", []sdk.Proposal{note("old", `2`), note("old", `3`)}, []string{`data p n/old=2 r5`, `data p n/old=3 r6`}},
		{"null removes", []sdk.Proposal{note("old", `null`), note("old", `1`)}, []string{`data p n/old=removed r5`, `data p n/old=1 r6`}},
		{"data batch", []sdk.Proposal{raw("plugin.data.batch", `{"items":[{"namespace":"n","key":"a","value":1},{"namespace":"_hidden.x","key":"a","value":2},{"namespace":"n","key":"a","value":null}]}`)},
			[]string{`data p n/a=1 r1 _hidden.x/a=2 r1 n/a=removed r2`}},
		{"data delete", []sdk.Proposal{raw("plugin.data.delete", `{"namespace":"n","key":"old"}`)}, []string{`data p n/old=removed r5`}},

		{"character", []sdk.Proposal{raw("character.upsert", `{"id":"npc-9","name":"Mara","fields":{"hp": 5}}`)}, []string{`character npc-9 Mara [] npc "" {"hp":5} v1`}},
		{"character patch", []sdk.Proposal{raw("character.upsert", `{"id":"npc-1","name":"x","fields":{"mood":"<静>"},"expectedVersion":2}`)}, []string{`character npc-1 龙胆 ["Élodie"] npc "" {"hp":60,"mood":"<静>"} v3`}},
		{"two patches in a row", []sdk.Proposal{raw("character.upsert", `{"id":"npc-1","name":"x","fields":{"hp":50},"expectedVersion":2}`), raw("character.upsert", `{"id":"npc-1","name":"x","description":"d","expectedVersion":3}`)},
			[]string{`character npc-1 龙胆 ["Élodie"] npc "" {"hp":50} v3`, `character npc-1 龙胆 ["Élodie"] npc "d" {"hp":50} v4`}},
		{"schema", []sdk.Proposal{raw("character.schema.set", `{"types":["npc","妖"],"attributes":[{"id":"hp","name":"HP","type":"number","category":"stats","min":0}]}`), raw("character.upsert", `{"id":"npc-9","name":"Mara","type":"妖","fields":{"hp":500}}`)},
			[]string{`schema v2 [npc 妖] [{"id":"hp","name":"HP","type":"number","category":"stats","min":0}]`, `character npc-9 Mara [] 妖 "" {"hp":500} v1`}},

		{"lore", []sdk.Proposal{raw("lorebook.upsert", `{"entries":[{"id":"潮","keys":["潮"],"content":"退潮","strategy":"selective","position":"at_depth","insertionOrder":-5,"enabled":false,"extra":{"title":"潮"}},{"id":"灯","content":"灯","strategy":"constant"}]}`)},
			[]string{`lore plugin p 潮 [潮] "退潮" selective at_depth -5 false {"title":"潮"} 灯 [] "灯" constant  0 true `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(in(playing(t), ran("p", c.p...), teller()))
			got := told(out)
			for i, line := range got {
				if strings.HasPrefix(line, "story ") {
					got = got[:i]
					break
				}
			}
			expect(t, "facts", lines(got), strings.ReplaceAll(lines(c.want), "Élodie", "E\u0301lodie"))
			for i, f := range out.Facts[:len(got)] {
				if f.PluginID != "p" || f.RunID != "run-p" {
					t.Errorf("fact %d is of %s %s", i, f.PluginID, f.RunID)
				}
			}
		})
	}
}

// Rule REF:plugins.md §13.2: namespaces and keys are not empty and not reserved, values have at most 256 KiB, a batch has items.
// What no commit takes: the run loses all its writes, the reason names what was wrong.
func TestRefusedProposals(t *testing.T) {
	for _, c := range []struct{ typ, payload, reason string }{
		{"state.patch", `{}`, `unknown proposal type "state.patch"`},
		{"", `{}`, `unknown proposal type ""`},
		{"narrative.append", `{"segments":[{"kind":"narration","text":"x"}],"kind":"story"}`, "only a runtime with story visibility"},
		{"message.append", `{"text":"x"}`, `unknown field "text"`},
		{"message.append", `null`, "must be an object"},
		{"message.append", `{"content":1}`, "payload: "},
		{"interaction.request", `{"interactionId":"x","type":"form","data":null}`, "data.interactionId: is required"},
		{"interaction.request", `{"interactionId":"x","type":"poll","data":{"type":"poll","interactionId":"x"}}`, "must be form, choice or confirmation"},
		{"interaction.request", `{"interactionId":"别的","type":"form","data":` + form + `}`, `data is the form "谁", the request names the form "别的"`},
		{"interaction.request", `{"interactionId":"谁","type":"choice","data":` + form + `}`, `data is the form "谁", the request names the choice "谁"`},
		{"interaction.request", `{"interactionId":"x","type":"form","data":{"type":"form","interactionId":"x","fields":[]}}`, "a form needs at least one field"},
		{"ui.render", `{"parts":[]}`, "must have parts"},
		{"ui.render", `{"parts":[{"type":"spec","status":"success","content":1}]}`, "parts[0] needs an id and a type"},
		{"ui.render", `{"parts":[{"id":"a","type":"spec","status":"done","content":1}]}`, `parts[0].status: "done" is none of`},
		{"ui.render", `{"parts":[{"id":"a","type":"spec","status":"error","content":1}],"layout":"grid"}`, `layout: "grid"`},
		{"ui.render", `{"parts":[{"id":"a","type":"spec","status":"error","content":1}],"status":"ok"}`, `status: "ok"`},
		{"ui.render", `{"parts":[{"id":"a","type":"spec","status":"error","content":{"n":9007199254740993}}]}`, "payload.parts[0].content.n: 9007199254740993 is beyond ±2^53"},
		{"event.emit", `{"topic":"nobody.declares"}`, `no active plugin declares the topic "nobody.declares"`},
		{"plugin.data", `{"namespace":"_runtime_jobs","key":"k","value":1}`, "is reserved"},
		{"plugin.data", `{"namespace":"n","key":"k","value":"` + strings.Repeat("x", 262_144) + `"}`, "the limit is 262144"},
		{"plugin.data", `{"namespace":"n","key":"k"}`, "is missing"},
		{"plugin.data.batch", `{"items":[]}`, "items must not be empty"},
		{"plugin.data.batch", `{"items":[{"namespace":"n","key":"k","value":1},{"namespace":"","key":"k","value":1}]}`, "not empty"},
		{"plugin.data.delete", `{"namespace":"n","key":""}`, "not empty"},
		{"character.upsert", `{"id":"npc-9","name":"龙胆"}`, `"龙胆" is already a name of 龙胆 (aka`},
		{"character.upsert", `{"id":"npc-1","name":"x","fields":{"hp":101},"expectedVersion":2}`, "must be at most 100"},
		{"character.upsert", `{"id":"npc-1","name":"x","expectedVersion":3}`, "is at version 2, the change expects 3"},
		{"character.schema.set", `{"types":["妖"],"attributes":[]}`, `character "龙胆" has type "npc"`},
		{"lorebook.upsert", `{"entries":[]}`, "entries must not be empty"},
		{"lorebook.upsert", `{"entries":[{"id":"","content":"x","strategy":"constant"}]}`, "entries[0] needs an id and a content"},
		{"lorebook.upsert", `{"entries":[{"id":"a","content":"","strategy":"constant"}]}`, "entries[0] needs an id and a content"},
		{"lorebook.upsert", `{"entries":[{"id":"潮","content":"x","strategy":"always"}]}`, `entry "潮" needs the strategy constant or selective, got "always"`},
		{"lorebook.upsert", `{"entries":[{"id":"潮","content":"x","strategy":"constant","position":"top"}]}`, `the position "top" is none of`},
		{"lorebook.upsert", `{"entries":[{"id":"潮","content":"x","strategy":"constant","insertionOrder":3000000000}]}`, "the insertionOrder 3000000000 is too large"},
		{"lorebook.upsert", `{"entries":[{"id":"a","content":"x","strategy":"constant","owner":"world"}]}`, `unknown field "owner"`},
	} {
		t.Run(c.typ+" "+c.reason, func(t *testing.T) {
			out := Plan(in(playing(t), ran("p", note("k", "1"), raw(c.typ, c.payload), note("k", "2")), teller()))
			if out.Failed {
				t.Fatalf("the whole execution failed: %v", told(out))
			}
			outcome := outcomesOf(out)[0]
			if !strings.HasPrefix(outcome, "p failed dropped: "+c.typ+": ") && !strings.HasPrefix(outcome, "p failed dropped: "+c.typ) || !strings.Contains(outcome, c.reason) {
				t.Errorf("outcome %q, want …%s…", outcome, c.reason)
			}
			for _, line := range told(out) {
				if strings.HasPrefix(line, "data ") {
					t.Errorf("a part of the run was written: %s", line)
				}
			}
		})
	}
}

// Rule REF:plugins.md §13.1: every type of proposal has its payload, and takes no other: one JSON object, no field that the type
// does not have, no number that would lose digits, nothing behind it.
func TestEveryTypeHasItsPayload(t *testing.T) {
	ref := `{"id":"` + picture.ID + `","mime":"image/png","size":9}`
	known := fold(t, tidal(t), "", &eventsv1.AssetGenerated{Ref: &eventsv1.MediaRef{Id: picture.ID, Mime: picture.Mime, Size: picture.Size}, Modality: "image"})
	types := []struct {
		payload sdk.Payload
		good    string
	}{
		{sdk.NarrativeAppend{}, `{"segments":[{"kind":"narration","text":"雨停了。"}],"kind":"story","present":["龙胆"]}`},
		{sdk.MessageAppend{}, `{"content":"雨"}`},
		{sdk.InteractionRequest{}, `{"interactionId":"谁","type":"form","data":` + form + `}`},
		{sdk.EventEmit{}, `{"topic":"scene.set","data":{"在":"码头"}}`},
		{sdk.UIRender{}, `{"parts":[{"id":"a","type":"t","status":"error","content":null,"retry":{"count":2,"lastError":"雾"}}],"layout":"stream"}`},
		{sdk.PluginDataWrite{}, `{"namespace":"n","key":"k","value":{"雨":1.5}}`},
		{sdk.PluginDataBatch{}, `{"items":[{"namespace":"n","key":"k","value":null}]}`},
		{sdk.PluginDataDelete{}, `{"namespace":"n","key":"old"}`},
		{sdk.PluginDataUpdate{}, `{"namespace":"n","key":"new","ops":[{"op":"put","path":"雨","value":1}]}`},
		{sdk.AssetGenerate{}, `{"ref":` + ref + `,"modality":"image","meta":{"提示":"雾"}}`},
		{sdk.DimensionInitialize{}, `{"definitions":{"fog":{"name":"雾","schema":{"type":"integer"},"initialValue":1}}}`},
		{sdk.DimensionUpdate{}, `{"updates":[{"id":"tide","expectedVersion":2,"value":1}]}`},
		{sdk.CharacterUpsert{}, `{"id":"npc-9","name":"Mara"}`},
		{sdk.CharacterSchemaSet{}, `{"types":["npc"],"attributes":[]}`},
		{sdk.LorebookUpsert{}, `{"entries":[{"id":"潮","content":"退潮","strategy":"constant"}]}`},
	}
	for _, c := range types {
		typ := c.payload.ProposalType()
		t.Run(typ, func(t *testing.T) {
			plan := func(payload string) Out {
				r := ran("keeper", raw(typ, payload))
				if typ == "narrative.append" {
					r = teller()
					r.Proposals = []sdk.Proposal{raw(typ, payload)}
				}
				return Plan(keeping(known, r))
			}
			if out := plan(c.good); out.Failed || len(out.Malformed) > 0 || len(told(out)) == 0 {
				t.Errorf("%s: %v", c.good, told(out))
			}
			for _, bad := range []string{``, `null`, `[]`, `"x"`, `{`, c.good + `{}`, `{"别的":1}`, strings.TrimSuffix(c.good, "}") + `,"nobody":1}`, `{"n":9007199254740993}`, `{"x":NaN}`} {
				if out := plan(bad); !out.Failed || len(out.Malformed) != 1 {
					t.Errorf("%s is taken: %v", bad, told(out))
				}
			}
		})
	}
}

// Rule TP:502: at commit speakers become characters, by name in any script; the segments are recorded on the story message.
// "At commit it resolves speakers to characters and records the segments and the presence record on the story message"
// (seed: turn-pipeline.txt §3.2).
func TestStory(t *testing.T) {
	say := func(speaker, text string) sdk.StorySegment {
		return sdk.StorySegment{Kind: "dialogue", Speaker: speaker, Text: text}
	}
	for _, c := range []struct {
		name     string
		segments []sdk.StorySegment
		want     string
	}{
		{"one", []sdk.StorySegment{{Kind: "narration", Text: " 雨停了。\n"}}, `story m-run-narrator "雨停了。" present [] [narration = "雨停了。"]`},
		{"joined by blank lines, empty ones left out", []sdk.StorySegment{{Kind: "narration", Text: "一"}, {Kind: "action", Text: " "}, {Kind: "action", Text: "二"}}, `story m-run-narrator "一\n\n二" present [] [narration = "一"] [action = "二"]`},
		{"by name, alias, another form of it, and id", []sdk.StorySegment{say("龙胆", "一"), say("the ÉLODIE", "二"), say("npc-2", "三"), say("“Ｍaud”", "四")},
			`story m-run-narrator "一\n\n二\n\n三\n\n四" present [npc-1 npc-2] [dialogue 龙胆=npc-1 "一"] [dialogue the ÉLODIE=npc-1 "二"] [dialogue npc-2=npc-2 "三"] [dialogue “Ｍaud”=npc-2 "四"]`},
		{"unknown stays as written", []sdk.StorySegment{say("老船工", "谁？"), say("龙", "我。")}, `story m-run-narrator "谁？\n\n我。" present [] [dialogue 老船工= "谁？"] [dialogue 龙= "我。"]`},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, "story", told(Plan(in(playing(t), teller(c.segments...))))[0], c.want) })
	}
	t.Run("who was created before it is known", func(t *testing.T) {
		out := Plan(in(playing(t), ran("p", raw("character.upsert", `{"id":"npc-9","name":"老船工"}`)), teller(say("老船工", "谁？"))))
		expect(t, "story", told(out)[1], `story m-run-narrator "谁？" present [npc-9] [dialogue 老船工=npc-9 "谁？"]`)
	})
	t.Run("cut off", func(t *testing.T) {
		r := teller()
		r.Proposals = []sdk.Proposal{propose(sdk.NarrativeAppend{Segments: r.Segments, Kind: "story", Truncated: true})}
		expect(t, "story", told(Plan(in(playing(t), r)))[0], `story m-run-narrator "雨停了。" present [] [narration = "雨停了。"] truncated`)
	})
	for name, c := range map[string]struct {
		extra  sdk.Proposal
		reason string
	}{
		"twice":              {propose(sdk.NarrativeAppend{Segments: []sdk.StorySegment{{Kind: "narration", Text: "x"}}, Kind: "story"}), "narrative.append: a run appends to the story once"},
		"with a message":     {propose(sdk.MessageAppend{Content: "x"}), "message.append: the row of a story runtime is its story"},
		"with a refused one": {bad, "plugin.data: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := teller()
			r.Proposals = append(r.Proposals, c.extra)
			out := Plan(in(playing(t), r))
			if line := told(out)[0]; !out.Failed || len(out.Facts) != 1 || !strings.HasPrefix(line, "failed e1 proposal-failed: narrator: "+c.reason) || !strings.Contains(line, `draft {"text":"雨停了。"}`) {
				t.Errorf("%v", told(out))
			}
		})
	}
	for name, p := range map[string]string{
		"an unknown kind of segment": `{"segments":[{"kind":"thought","text":"x"}],"kind":"story"}`, "another kind": `{"segments":[{"kind":"action","text":"x"}],"kind":"aside"}`, "no text": `{"segments":[],"kind":"story"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := teller()
			r.Proposals = []sdk.Proposal{raw("narrative.append", p)}
			if out := Plan(in(playing(t), r)); !out.Failed || !strings.HasPrefix(told(out)[0], "failed e1 proposal-failed: narrator: narrative.append: ") {
				t.Errorf("%v", told(out))
			}
		})
	}
}

// Rule TP:502: who was there is who speaks or acts, whom the story names, and the characters whose players acted, each once.
func TestPresence(t *testing.T) {
	s := fold(t, session(t, projections.PhasePlaying), "e1",
		&eventsv1.ActionsSubmitted{RequestId: "r1", Type: "submit_actions", ExecutionId: "e1", Actions: []*eventsv1.Action{{Kind: "say", Text: "有人吗？", CharacterId: "pc-2"}}},
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: OriginPlayer, LogicalTurn: 1, LogicalTurnId: "turn-1", RequestId: "r1", Phase: projections.PhasePlaying})
	r := teller()
	r.Proposals = []sdk.Proposal{propose(sdk.NarrativeAppend{
		Kind: "story", Present: []string{"  Maud ", "陌生人", "龙胆"},
		Segments: []sdk.StorySegment{{Kind: "action", Text: "她点头。", Speaker: " 龙胆 "}, {Kind: "dialogue", Text: "嘘。", Speaker: "陌生人"}},
	})}
	out := Plan(in(s, r))
	ev := out.Facts[0].Message.(*eventsv1.NarrativeAppended)
	expect(t, "presence", ev.Presence, []string{"npc-1", "npc-2", "pc-2"})
	expect(t, "speakers", []string{ev.Segments[0].Speaker, ev.Segments[0].CharacterId, ev.Segments[1].Speaker, ev.Segments[1].CharacterId}, []string{"龙胆", "npc-1", "陌生人", ""})
}

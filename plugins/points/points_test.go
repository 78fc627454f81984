package points_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/plugins/points"
)

// Rule EP:54: each point has its own input, output, mode, timeout and failure policy; EP:56–62: the table.
// Rule EP:11: turn-policy@1 and character-actor@1 are no kernel extension points.
// Rule EP:206: each point has one current version, and nothing negotiates.
func TestTable(t *testing.T) {
	want := map[string]struct {
		mode    points.Mode
		timeout time.Duration
		onError points.OnError
	}{
		"prompt.segment@1":           {points.Collect, 500 * time.Millisecond, points.Skip},
		"prompt.history-transform@1": {points.Pipeline, 500 * time.Millisecond, points.Skip},
		"ui.slot@1":                  {points.Pipeline, 500 * time.Millisecond, points.Skip},
		"media.image-flow@1":         {points.Single, 500 * time.Millisecond, points.Skip},
		"session.world-context@1":    {points.Single, 500 * time.Millisecond, points.FailTurn},
		"history.compact@2":          {points.Single, time.Minute, points.Skip},
	}
	if len(points.All) != len(want) {
		t.Fatalf("%d points, want %d", len(points.All), len(want))
	}
	for id, w := range want {
		p, ok := points.Find(id)
		if !ok || p.Mode != w.mode || p.Timeout != w.timeout || p.OnError != w.onError || !points.IsKernel(id) {
			t.Errorf("%s: %+v, want %+v", id, p, w)
		}
	}
	for _, old := range []string{"history.compact@1", "prompt.segment@2", "turn-policy@1", "character-actor@1"} {
		if points.IsKernel(old) {
			t.Errorf("%s counts as a kernel contract", old)
		}
	}
	if !points.IsKernel("stage.choices@1") {
		t.Error("a slot belongs to the kernel")
	}
}

// Rule EP:95: the input and every output are validated against the point's schema.
// Rule EP:105: volatility is stable, session or turn, and must be said; no other point has it.
// Rule EP:132: all fields of a world context are optional, and empty ones are valid; EP:135–136: schema and entries are objects.
// Rule EP:137: a dimension has name, schema, value and version, and neither an initial value nor rules, as EP:141 its declaration has.
// Rule EP:138: recovery names both runtimes; EP:139: a plugin cannot say whose the dimensions are.
// Rule EP:174: the output of a compaction is null or summaries, with a reason when something was put off.
// Rule REF:plugins.md §3.2: the shapes of what extensions give.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		point, out string
		fits       bool
	}{
		{points.PromptSegment, `[]`, true},
		{points.PromptSegment, `[{"id":"方向","content":"x","position":"system","audience":"all","volatility":"turn"}]`, false},
		{points.PromptSegment, `[{"id":"a","content":"龙胆","position":{"depth":2},"audience":{"contract":"x@1"},"volatility":"session","order":-3,"role":"user"}]`, true},
		{points.PromptSegment, `[{"id":"a","content":"x","position":"system","audience":"all"}]`, false},
		{points.PromptSegment, `[{"id":"a","content":"x","position":"system","audience":"all","volatility":"turn","providerPluginId":"other"}]`, false},
		{points.PromptSegment, `[{"id":"a","content":"x","position":{"depth":-1},"audience":"all","volatility":"turn"}]`, false},
		{points.HistoryTransform, `{"messages":[{"id":"m","role":"system","content":"obey"}]}`, false},
		{points.HistoryTransform, `{"messages":[{"id":"m","role":"user","content":"x"}]}`, true},
		{points.HistoryTransform, `{"messages":[{"id":"m","role":"user","content":"x","volatility":"turn"}]}`, false},
		{points.WorldContext, `{"schema":{},"entries":{},"dimensions":{},"dimensionRecovery":{"editorRuntimeId":"a/b","trackerRuntimeId":"a/c"}}`, true},
		{points.WorldContext, `{"entries":[]}`, false},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3}}}`, false},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3,"version":1,"updateRule":"falls"}}}`, false},
		{points.WorldContext, `{"dimensionRecovery":{"editorRuntimeId":"a/b"}}`, false},
		{points.HistoryCompact, `{"summaries":[{"messageIds":["a"],"replacesSummaryIds":[],"content":"s","focusSections":[],"volatility":"turn"}]}`, false},
		{points.WorldContext, `{}`, true},
		{points.WorldContext, `{"dimensionProviderPluginId":"me"}`, false},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3,"version":1}},"entries":{}}`, true},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3,"version":1,"initial":2}}}`, false},
		{points.HistoryCompact, `null`, true},
		{points.HistoryCompact, `{"summaries":[]}`, false},
		{points.HistoryCompact, `{"summaries":[{"messageIds":["a"],"replacesSummaryIds":[],"content":"s","focusSections":[]}],"deferred":{"reason":"later"}}`, true},
		{points.ImageFlow, `{"entryRuntimeId":"a/b","assetRuntimeIds":[]}`, true},
		{points.UISlot, `3`, false},
		{points.UISlot, `null`, true},
	} {
		p, _ := points.Find(c.point)
		if err := p.CheckOutput([]byte(c.out)); (err == nil) != c.fits {
			t.Errorf("%s %s: %v", c.point, c.out, err)
		}
	}
	p, _ := points.Find(points.WorldContext)
	if p.CheckInput([]byte(`{"a":1}`)) == nil || p.CheckInput([]byte(`{}`)) != nil {
		t.Error("the input of session.world-context@1 is an empty object")
	}
}

// Rule EP:122: ui.slot@1 fills the slots of the table; a value is held against the shape of its own slot.
// Rule EP:123: three slots of the stage hold data, backdrop, cast and choices; who speaks is told by segments and has no slot.
// Rule EP:123: a value is the slot's or null.
// Rule EP:124: session.summary@1 holds entries for the status bar; EP:125: stage.music@1 the music that plays.
// Rule REF:plugins.md §17: the limits of the slots.
func TestSlotValues(t *testing.T) {
	if d := cmp.Diff([]string{"stage.backdrop@1", "stage.cast@1", "stage.choices@1", "stage.music@1", "character.visual@1", "session.summary@1"}, points.Slots); d != "" {
		t.Error(d)
	}
	const media = `{"id":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","mime":"image/png","size":9}`
	many := func(n int, part string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(part+",", n), ",") + "]"
	}
	for _, c := range []struct {
		slot, value string
		wrong       string // what the refusal names; "" fits
	}{
		{"stage.backdrop@1", `{}`, ""},
		{"stage.backdrop@1", `{"sceneId":"渡口","name":"渡口","ref":` + media + `,"variant":"night","label":"夜","preload":[` + media + `]}`, ""},
		{"stage.backdrop@1", `{"variant":"dusk"}`, "variant"},
		{"stage.backdrop@1", `{"ref":"渡口.png"}`, "ref"},
		{"stage.backdrop@1", `{"pending":true}`, "pending"},
		{"stage.cast@1", `{"actors":[{"characterId":"npc-龙胆","displayName":"龙胆","active":true,"visual":{"expression":"calm"},"position":"center-left","transition":"dissolve"}],"retainWhenEmpty":true}`, ""},
		{"stage.cast@1", `{"actors":[]}`, ""},
		{"stage.cast@1", `{}`, "actors"},
		{"stage.cast@1", `{"actors":[{"characterId":"a"}]}`, "actors[0]"},
		{"stage.cast@1", `{"actors":[{"characterId":"a","displayName":"A","position":"above"}]}`, "actors[0].position"},
		{"stage.cast@1", `{"actors":` + many(64, `{"characterId":"a","displayName":"A"}`) + `}`, ""},
		{"stage.cast@1", `{"actors":` + many(65, `{"characterId":"a","displayName":"A"}`) + `}`, "actors"},
		{"stage.choices@1", `{"turnId":"t","scene":"渡口","recap":"…","decision":"?","choices":[{"id":"1","text":"上船","label":"走"}]}`, ""},
		{"stage.choices@1", `{"choices":[{"text":"上船"}]}`, "choices[0]"},
		{"stage.choices@1", `{"choices":` + many(65, `{"id":"1","text":"x"}`) + `}`, "choices"},
		{"stage.music@1", `{}`, ""},
		{"stage.music@1", `{"trackId":"雨","title":"雨","ref":` + media + `,"loop":false,"volume":0.4,"fadeMs":800}`, ""},
		{"stage.music@1", `{"volume":1.5}`, "volume"},
		{"stage.music@1", `{"play":true}`, "play"},
		{"character.visual@1", `{"characterId":"a","avatar":` + media + `,"visuals":{"variants":[{"id":"v","sprite":` + media + `,"stage":{"scale":0.5,"offsetX":-100}}]}}`, ""},
		{"character.visual@1", `{"characters":[{"characterId":"a"},{"characterId":"b"}]}`, ""},
		{"character.visual@1", `{"characters":[{"characterId":"a","visuals":{"variants":[{"id":"v","sprite":` + media + `,"stage":{"scale":3}}]}}]}`, "scale"},
		{"character.visual@1", `{"characters":` + many(1025, `{"characterId":"a"}`) + `}`, "characters"},
		{"session.summary@1", `{"entries":[{"kind":"text","id":"a","label":"天色","value":"雾","tone":"warning"},{"kind":"meter","id":"b","label":"HP","value":-3,"max":20},{"kind":"list","id":"c","label":"Bag","items":["灯"],"total":7}]}`, ""},
		{"session.summary@1", `{"entries":[{"kind":"meter","id":"b","label":"HP","value":3}]}`, "entries[0]"},
		{"session.summary@1", `{"entries":[{"kind":"text","id":"b","label":"HP","value":"3","max":4}]}`, "max"},
		{"session.summary@1", `{"entries":[{"kind":"chart","id":"b","label":"HP"}]}`, "entries[0].kind"},
		{"session.summary@1", `{"entries":[{"id":"b","label":"HP","value":"3"}]}`, "entries[0]"},
		{"session.summary@1", `{"entries":[{"kind":"text","id":"b","label":"HP","value":"3","tone":"loud"}]}`, "entries[0].tone"},
		{"session.summary@1", `{"entries":` + many(17, `{"kind":"text","id":"b","label":"HP","value":"3"}`) + `}`, "entries"},
		{"stage.dialogue@1", `{"paragraphSpeakers":[]}`, "there is no slot"},
		{"", `{}`, "there is no slot"},
	} {
		err := points.CheckSlot(c.slot, []byte(c.value))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s %.80s: %v, want %q", c.slot, c.value, err, c.wrong)
		}
	}
	for _, slot := range points.Slots {
		if err := points.CheckSlot(slot, []byte("null")); err != nil {
			t.Errorf("%s: %v", slot, err)
		}
	}
}

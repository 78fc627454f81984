package points_test

import (
	"testing"
	"time"

	"github.com/covel/covel/plugins/points"
)

// Rule EP:41–64: six extension points, each with its mode, its time limit and what a failure costs.
// Rule EP:193–199: each point has one current version; another one is no point.
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

// Rule EP:93: the input and every output are validated against the extension point's schema.
// Rule EP:95: the input and every output are validated against the point's schema.
// Rule EP:105: volatility is stable, session or turn, and must be said.
// Rule EP:132: all fields of a world context are optional; EP:137: dimensions hold no initial values or rules; EP:139: a plugin cannot say whose they are.
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
		{points.WorldContext, `{}`, true},
		{points.WorldContext, `{"dimensionProviderPluginId":"me"}`, false},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3,"version":1}},"entries":{}}`, true},
		{points.WorldContext, `{"dimensions":{"tide":{"name":"Tide","schema":{},"value":3,"version":1,"initial":2}}}`, false},
		{points.HistoryCompact, `null`, true},
		{points.HistoryCompact, `{"summaries":[]}`, false},
		{points.HistoryCompact, `{"summaries":[{"messageIds":["a"],"replacesSummaryIds":[],"content":"s","focusSections":[]}],"deferred":{"reason":"later"}}`, true},
		{points.ImageFlow, `{"entryRuntimeId":"a/b","assetRuntimeIds":[]}`, true},
		{points.UISlot, `3`, false},
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

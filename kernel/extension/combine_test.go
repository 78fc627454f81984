package extension_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

func point(t testing.TB, id string) points.Point {
	p, ok := points.Find(id)
	if !ok {
		t.Fatal(id)
	}
	return p
}

func providers(ids ...string) []extension.Provider {
	var out []extension.Provider
	for _, id := range ids {
		out = append(out, extension.Provider{PluginID: id, ID: "x"})
	}
	return out
}

func segment(content string) extension.Answer {
	return extension.Answer{Output: json.RawMessage(fmt.Sprintf(`[{"id":"a","content":%q,"position":"system","audience":"all","volatility":"stable"}]`, content))}
}

// Rule EP:51: collect takes every output that passes validation; a provider that fails or does not fit is skipped alone.
// Rule REF plugins.md §17: providerPluginId is set by the host.
func TestCollect(t *testing.T) {
	answers := []extension.Answer{segment("一"), {Err: errors.New("boom")}, {Output: json.RawMessage(`[{"id":"a"}]`)}, segment("two")}
	r, err := extension.Combine(point(t, points.PromptSegment), json.RawMessage(`{"turnId":"t","playerMessage":"看"}`), providers("a", "b", "c", "d"), nil,
		func(who []extension.Provider, _ json.RawMessage) []extension.Answer { return answers[:len(who)] })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range extension.Segments(r) {
		got = append(got, s.ProviderPluginID+" "+s.Content)
	}
	if d := cmp.Diff([]string{"a 一", "d two"}, got); d != "" {
		t.Error(d)
	}
	if len(r.Failed) != 2 || r.Failed[0].Provider.PluginID != "b" || !strings.Contains(r.Failed[1].Err.Error(), "content") {
		t.Errorf("failed %v", r.Failed)
	}
}

// Rule EP:52: a pipeline passes the previous valid result along; a failing provider does not end it.
func TestPipeline(t *testing.T) {
	var seen []string
	r, err := extension.Combine(point(t, points.HistoryTransform), json.RawMessage(`{"messages":[{"id":"1","role":"user","content":"a"}],"turnId":"t"}`), providers("p", "q", "r"), nil,
		func(who []extension.Provider, input json.RawMessage) []extension.Answer {
			var in sdk.HistoryTransform
			if err := json.Unmarshal(input, &in); err != nil || in.TurnID != "t" {
				t.Fatal(err, in)
			}
			seen = append(seen, in.Messages[0].Content)
			in.Messages[0].Content += who[0].PluginID
			if who[0].PluginID == "q" {
				in.Messages[0].Role = "system" // not allowed
			}
			b, _ := json.Marshal(map[string]any{"messages": in.Messages})
			return []extension.Answer{{Output: b}}
		})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "ap", "ap"}, seen); d != "" {
		t.Error(d)
	}
	old := []sdk.HistoryMessage{{ID: "1", Content: "a"}}
	if got := extension.Transformed(old, r); len(got) != 1 || got[0].Content != "apr" || old[0].Content != "a" {
		t.Errorf("got %v", got)
	}
	if got := extension.Transformed(old, extension.Result{}); got[0].Content != "a" {
		t.Errorf("without providers: %v", got)
	}
	if len(r.Failed) != 1 || r.Failed[0].Provider.PluginID != "q" {
		t.Errorf("failed %v", r.Failed)
	}
}

// Rule EP:50: single asks one provider; without one the call site has its default.
// Rule EP:54: fail-turn fails the whole turn, skip does not.
func TestSingle(t *testing.T) {
	answer := func(a extension.Answer) func([]extension.Provider, json.RawMessage) []extension.Answer {
		return func(who []extension.Provider, _ json.RawMessage) []extension.Answer {
			if len(who) != 1 {
				t.Fatalf("%d providers were asked", len(who))
			}
			return []extension.Answer{a}
		}
	}
	world := point(t, points.WorldContext)
	if r, err := extension.Combine(world, json.RawMessage(`{}`), nil, nil, nil); err != nil || len(r.Outputs) > 0 {
		t.Errorf("nobody provides it: %v %v", r, err)
	}
	for _, bad := range []extension.Answer{{Err: errors.New("boom")}, {Output: json.RawMessage(`{"x":1}`)}} {
		if _, err := extension.Combine(world, json.RawMessage(`{}`), providers("a"), nil, answer(bad)); !errors.Is(err, extension.ErrFailTurn) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	r, err := extension.Combine(point(t, points.ImageFlow), json.RawMessage(`{}`), providers("a"), nil, answer(extension.Answer{Err: errors.New("boom")}))
	if err != nil || len(r.Outputs) > 0 || len(r.Failed) != 1 {
		t.Errorf("skip: %v %v", r, err)
	}
	if _, err := extension.Combine(world, json.RawMessage(`{"x":1}`), providers("a"), nil, answer(extension.Answer{})); err == nil || errors.Is(err, extension.ErrFailTurn) {
		t.Errorf("a wrong input is the host's own mistake: %v", err)
	}
}

// Rule EP:137–139: dimensions with their values; the provider's identity is the host's word; recovery runtimes are its own.
func TestWorldContext(t *testing.T) {
	who := extension.Provider{PluginID: "tides", ID: "x"}
	runtimes := []manifest.Runtime{{ID: "tides/edit", PluginID: "tides"}, {ID: "tides/track", PluginID: "tides"}, {ID: "other/track", PluginID: "other"}}
	value := json.RawMessage(`{"dimensions":{"潮":{"name":"潮汐","schema":{},"value":3,"version":2}},"dimensionRecovery":{"editorRuntimeId":"tides/edit","trackerRuntimeId":"tides/track"}}`)
	if err := extension.CheckWorldContext(who, value, runtimes); err != nil {
		t.Error(err)
	}
	w, err := extension.WorldContext(extension.Result{Outputs: []extension.Output{{Provider: who, Value: value}}})
	if err != nil || w.DimensionProviderPluginID != "tides" || string(w.Dimensions["潮"].Value) != "3" {
		t.Errorf("%+v %v", w, err)
	}
	for _, id := range []string{"other/track", "track", "tides/gone"} {
		bad := json.RawMessage(`{"dimensionRecovery":{"editorRuntimeId":"tides/edit","trackerRuntimeId":"` + id + `"}}`)
		if extension.CheckWorldContext(who, bad, runtimes) == nil {
			t.Errorf("%s was accepted", id)
		}
	}
	if w, err := extension.WorldContext(extension.Result{}); err != nil || w.DimensionProviderPluginID != "" {
		t.Errorf("%+v %v", w, err)
	}
}

// Rule EP:95: whatever providers return, only what fits the schema comes out.
func TestAnyOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.SampledFrom([]extension.Answer{
			segment("ok"), {Err: errors.New("x")}, {Output: json.RawMessage(`null`)}, {Output: json.RawMessage(`{`)}, {}, {Output: json.RawMessage(`[]`)}, {Output: json.RawMessage(`[1]`)},
		}), 0, 6).Draw(t, "answers")
		ids := make([]string, len(answers))
		for i := range ids {
			ids[i] = fmt.Sprint("p", i)
		}
		p, _ := points.Find(points.PromptSegment)
		r, err := extension.Combine(p, json.RawMessage(`{"turnId":"t","playerMessage":""}`), providers(ids...), nil,
			func([]extension.Provider, json.RawMessage) []extension.Answer { return answers })
		if err != nil || len(r.Outputs)+len(r.Failed) != len(answers) {
			t.Fatalf("%v %v", r, err)
		}
		for _, o := range r.Outputs {
			if p.CheckOutput(o.Value) != nil {
				t.Fatalf("%s came through", o.Value)
			}
		}
	})
}

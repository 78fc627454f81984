package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// Rule TP:282: the final object of an agent is split into its output, its effects and its completion.
// Rule REF:plugins.md §8: preGameDone: true becomes the completion; events that carry a topic are effects, others stay
// business data; the rest is the value.
func TestSplitOutput(t *testing.T) {
	topics := []tools.Topic{{Topic: "scene.set"}, {Topic: "lamp.lit", Schema: json.RawMessage(`{"type":"object","required":["谁"]}`)}}
	for _, c := range []struct {
		name, output string
		emitted      []string
		value        string
		events       string
		refused      string
		done         bool
		err          string
	}{
		{name: "nothing", output: ``, value: ``},
		{name: "no object", output: `["events"]`, value: `["events"]`},
		{name: "null", output: `null`, value: `null`},
		{name: "plain data keeps its bytes", output: `{"b": 1,"a":"<雨>"}`, value: `{"b": 1,"a":"<雨>"}`},
		{name: "done", output: `{"preGameDone": true,"a":1}`, value: `{"preGameDone": true,"a":1}`, done: true},
		{name: "not done", output: `{"preGameDone":"true"}`, value: `{"preGameDone":"true"}`},
		{name: "an event", output: `{"events":[{"topic":"scene.set","data":{"在":"码头"}}],"a":"<b>"}`, value: `{"a":"<b>"}`, events: `scene.set {"在":"码头"}`},
		{name: "without data", output: `{"events":[{"topic":"scene.set"}]}`, value: `{}`, events: `scene.set `},
		// Rule TL:610: entries of another shape are the plugin's own data; Rule TL:1392: such as facts that are called events.
		{name: "facts", output: `{"events":[{"what":"门开了"},{"topic":5},{"topic":"scene.set","weight":1},"scene.set",null]}`, value: `{"events":[{"what":"门开了"},{"topic":5},{"topic":"scene.set","weight":1},"scene.set",null]}`},
		{name: "no list", output: `{"events":{"topic":"scene.set"}}`, value: `{"events":{"topic":"scene.set"}}`},
		{name: "an empty list", output: `{"events":[]}`, value: `{"events":[]}`},
		{name: "both", output: `{"events":[{"what":"雨"},{"topic":"scene.set"}]}`, value: `{"events":[{"what":"雨"}]}`, events: `scene.set `},
		// Rule TL:598: an agent emits advertised topics only; Rule TL:595: a topic that nobody declares is no failure.
		{name: "unknown", output: `{"events":[{"topic":"door.opened"},{"topic":""}],"a":1}`, value: `{"a":1}`, refused: "door.opened, "},
		// Rule TL:614: within one loop a topic is emitted once.
		{name: "again", output: `{"events":[{"topic":"scene.set","data":{"n":1}},{"topic":"scene.set","data":{"n":2}}]}`, value: `{}`, events: `scene.set {"n":1}`},
		{name: "after the tool", output: `{"events":[{"topic":"scene.set"}]}`, emitted: []string{"scene.set"}, value: `{}`},
		// Rule TL:575: the data is checked against the schema of its topic.
		{name: "data that fits", output: `{"events":[{"topic":"lamp.lit","data":{"谁":"龙胆"}}]}`, value: `{}`, events: `lamp.lit {"谁":"龙胆"}`},
		{name: "data that does not", output: `{"events":[{"topic":"lamp.lit"}]}`, err: `the data of the event "lamp.lit" does not fit its topic`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := SplitOutput(json.RawMessage(c.output), topics, c.emitted)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var events, refused []string
			for _, e := range out.Events {
				events = append(events, e.Topic+" "+string(e.Data))
			}
			for _, e := range out.Refused {
				refused = append(refused, e.Topic)
			}
			expect(t, "split", []any{string(out.Value), strings.Join(events, "; "), strings.Join(refused, ", "), out.Done}, []any{c.value, c.events, c.refused, c.done})
		})
	}
}

// Whatever a model answers: nothing panics, the value is JSON, and no event stays in it.
func FuzzSplitOutput(f *testing.F) {
	for _, s := range []string{`{"events":[{"topic":"scene.set","data":{}}]}`, `{"events":[{"topic":"a","topic":"scene.set"}]}`, `{"events":[1,{"topic":"龙"}],"preGameDone":true}`, `{"events":`, `[]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, output string) {
		raw := json.RawMessage(output)
		out, err := SplitOutput(raw, []tools.Topic{{Topic: "scene.set"}}, nil)
		if err != nil {
			t.Fatal(err) // without a schema nothing fails
		}
		if json.Valid(raw) && !json.Valid(out.Value) {
			t.Fatalf("%q became %q", raw, out.Value)
		}
		if again, _ := SplitOutput(out.Value, []tools.Topic{{Topic: "scene.set"}}, nil); json.Valid(raw) && len(again.Events)+len(again.Refused) > 0 {
			t.Fatalf("%q still holds %v", out.Value, again)
		}
	})
}

// Rule REF:api-and-protocol.md §5.3: reports have a known state and a rising sequence; after the run what is open is closed, a
// success whose writes did not commit becomes a failure, a failure stands.
func TestReports(t *testing.T) {
	var p Reports
	take := func(job string, state sdk.ProgressState, seq int) bool {
		_, ok := p.Take(sdk.ProgressReport{JobID: job, State: state, Sequence: seq})
		return ok
	}
	var got []bool
	for _, r := range []struct {
		job   string
		state sdk.ProgressState
		seq   int
	}{
		{"画", sdk.ProgressRunning, 1}, {"画", sdk.ProgressStep, 3}, {"画", sdk.ProgressStep, 3}, {"画", sdk.ProgressStep, 2}, {"", sdk.ProgressStep, 1}, {"x", "dancing", 1},
		{"x", sdk.ProgressStep, -1}, {"bind", sdk.ProgressFailed, 1}, {"bind", sdk.ProgressRunning, 2}, {"print", sdk.ProgressSucceeded, 0}, {"ask", sdk.ProgressWaiting, 1},
	} {
		got = append(got, take(r.job, r.state, r.seq))
	}
	expect(t, "taken", got, []bool{true, true, false, false, false, false, false, true, false, true, true})
	r, _ := p.Take(sdk.ProgressReport{JobID: "画", State: sdk.ProgressStep, Sequence: 9, Progress: 7, Message: strings.Repeat("雾", 1000), Data: json.RawMessage(`"` + strings.Repeat("x", 1<<15) + `"`)})
	expect(t, "in its bounds", []any{r.Progress, len(r.Message) <= 2003, strings.HasSuffix(r.Message, "雾…"), r.Data == nil}, []any{1.0, true, true, true})
	a, ok := p.TakeAsset(sdk.AssetProgress{Phase: "drawing", Percent: 120, AssetID: "封面", Meta: json.RawMessage(`nan`)})
	expect(t, "an asset", []any{ok, a.Percent, a.AssetID, a.Meta == nil}, []any{true, 100.0, "封面", true})
	_, ok = p.TakeAsset(sdk.AssetProgress{Percent: 5})
	expect(t, "an asset in no phase", ok, false)

	closing := func(p Reports, res Result) (out []string) {
		for _, r := range p.Close(res) {
			out = append(out, r.JobID+" "+string(r.State))
		}
		return out
	}
	expect(t, "of a success", closing(p, Result{Status: Succeeded}), []string{"ask succeeded", "画 succeeded"})
	expect(t, "of a failure", closing(p, Result{Status: Failed}), []string{"ask failed", "print failed", "画 failed"})
	expect(t, "of a suspension", closing(p, Result{Status: Suspended}), []string{"ask waiting-input", "print waiting-input", "画 waiting-input"})
	p.Close(Result{Status: Succeeded})
	expect(t, "after the end", take("new", sdk.ProgressRunning, 1), false)

	var many Reports
	for i := range 2 * MaxReports {
		many.Take(sdk.ProgressReport{JobID: "a", State: sdk.ProgressStep, Sequence: i})
	}
	expect(t, "no more than so many", many.told, MaxReports)
}

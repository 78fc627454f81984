package commit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// encodable fails when a fact cannot become an event, or one that cannot be folded.
func encodable(t interface{ Fatalf(string, ...any) }, f Fact) []byte {
	ev, err := events.Encode(events.NewID("s", "e", 0, 0), nil, f.Message)
	if err != nil {
		t.Fatalf("%T cannot be written: %v", f.Message, err)
	}
	return ev.Data
}

// bytesOf is an outcome as the log would hold it.
func bytesOf(t interface{ Fatalf(string, ...any) }, out Out) string {
	var b strings.Builder
	for _, f := range out.Facts {
		fmt.Fprintf(&b, "%T %s %s %x\n", f.Message, f.RunID, f.PluginID, encodable(t, f))
	}
	fmt.Fprint(&b, out.Failed, out.Next)
	return b.String()
}

var payloads = []struct{ typ, payload string }{
	{"plugin.data", `{"namespace":"n","key":"k","value":{"b":1,"a":2}}`}, {"plugin.data", `{"namespace":"n","key":"old","value":null}`}, {"plugin.data.delete", `{"namespace":"n","key":"k"}`},
	{"plugin.data.batch", `{"items":[{"namespace":"n","key":"k","value":1},{"namespace":"m","key":"龙","value":[]}]}`}, {"plugin.data", `{"namespace":"_x","key":"k","value":1}`},
	{"message.append", `{"content":"龙胆"}`}, {"message.append", `{"content":""}`}, {"ui.render", `{"parts":[{"id":"a","type":"t","status":"success","content":null}]}`}, {"ui.render", `{}`},
	{"event.emit", `{"topic":"scene.set","data":[1]}`}, {"event.emit", `{"topic":"x.y"}`}, {"interaction.request", `{"interactionId":"谁","type":"form","data":` + form + `}`},
	{"character.upsert", `{"id":"npc-1","name":"x","fields":{"hp":1},"expectedVersion":2}`}, {"character.upsert", `{"id":"npc-9","name":"Mara"}`}, {"character.upsert", `{"id":"pc","name":"陆青云","type":"player"}`},
	{"character.upsert", `{"id":"npc-8","name":"ＭＡＲＡ"}`}, {"character.schema.set", `{"types":["npc"],"attributes":[]}`}, {"character.schema.set", `{"types":["妖"]}`},
	{"lorebook.upsert", `{"entries":[{"id":"潮","content":"x","strategy":"constant","extra":{"b":1,"a":2}}]}`}, {"narrative.append", `{"segments":[],"kind":"story"}`}, {"nonsense", `{}`}, {"plugin.data", `{`},
}

func drawResults(t *rapid.T) []turn.Result {
	var out []turn.Result
	var ids []string
	for i := range rapid.IntRange(0, 6).Draw(t, "runs") {
		var r turn.Result
		if rapid.IntRange(0, 4).Draw(t, "story") == 0 {
			r = teller()
			r.RuntimeID = fmt.Sprint("narrator/", i)
			r.RunID = "run-" + r.RuntimeID
		} else {
			r = ran(fmt.Sprint(rapid.SampledFrom([]string{"p", "q"}).Draw(t, "plugin"), "/", i))
			r.Stage = rapid.SampledFrom([]manifest.Stage{manifest.PreTurn, manifest.PostTurn, manifest.PostTurn, manifest.Setup, ""}).Draw(t, "stage")
		}
		for range rapid.IntRange(0, 3).Draw(t, "proposals") {
			p := rapid.SampledFrom(payloads).Draw(t, "proposal")
			r.Proposals = append(r.Proposals, sdk.Proposal{Type: p.typ, Payload: json.RawMessage(p.payload)})
		}
		switch rapid.SampledFrom([]string{"", "", "", "failed", "guard", "dependency"}).Draw(t, "end") {
		case "failed":
			r = failed(r)
		case "guard":
			r = skipped(r, turn.SkipGuard)
		case "dependency":
			r = skipped(r, turn.SkipDependency)
		}
		if len(ids) > 0 && rapid.Bool().Draw(t, "needs") {
			r.Needs = append(r.Needs, rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, 2, rapid.ID[string]).Draw(t, "group"))
		}
		r.Done = rapid.Bool().Draw(t, "done")
		ids = append(ids, r.RuntimeID)
		out = append(out, r)
	}
	return out
}

// Whatever the runs give: the plan is the same every time and changes nothing it was given; a run is written whole or not
// at all; a failed execution writes nothing but its end; the end stands last and tells of every run; the events fold.
func TestAnyExecution(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		state := playing(t)
		if rapid.Bool().Draw(rt, "set-up") {
			state = settingUp(t, pending("p/0", 0, 1), pending("q/1", 0, 0))
		}
		before, err := state.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		results := drawResults(rt)
		given, _ := json.Marshal(results)
		out := Plan(in(state, results...))
		want := bytesOf(rt, out)
		if again := bytesOf(rt, Plan(in(state, results...))); again != want {
			rt.Fatalf("the same execution gives\n%s\nand\n%s", want, again)
		}
		if after, _ := state.Encode(); string(after) != string(before) {
			rt.Fatal("the state was written to")
		}
		if still, _ := json.Marshal(results); string(still) != string(given) {
			rt.Fatal("the results were written to")
		}

		last := out.Facts[len(out.Facts)-1].Message
		var outcomes []*eventsv1.RuntimeOutcome
		switch m := last.(type) {
		case *eventsv1.ExecutionCommitted:
			outcomes = m.Outcomes
			if out.Failed {
				rt.Fatal("failed and committed")
			}
		case *eventsv1.ExecutionFailed:
			outcomes = m.Outcomes
			if !out.Failed || len(out.Facts) != 1 {
				rt.Fatalf("a failed execution writes %v", told(out))
			}
		default:
			rt.Fatalf("the last fact is %T", last)
		}
		if len(outcomes) != len(results) {
			rt.Fatalf("%d outcomes of %d runs", len(outcomes), len(results))
		}
		facts := map[string]int{}
		for _, f := range out.Facts {
			if _, clock := f.Message.(*eventsv1.SetupRuntimeChanged); !clock {
				facts[f.RunID]++
			}
		}
		dropped := map[string]bool{}
		for i, o := range outcomes {
			r := results[i]
			dropped[o.RuntimeId] = o.Dropped
			switch n := facts[r.RunID]; {
			case out.Failed:
			case (o.Dropped || !r.Committable()) && n > 0:
				rt.Fatalf("%s was not committed and wrote %d facts", r.RuntimeID, n)
			case !o.Dropped && r.Committable() && n != writes(r):
				rt.Fatalf("%s wrote %d of %d facts", r.RuntimeID, n, writes(r))
			}
			if o.Dropped && (r.Story || r.Stage == manifest.Setup) {
				rt.Fatalf("%s was dropped alone", r.RuntimeID)
			}
			for _, group := range r.Needs {
				lost := true
				for _, id := range group {
					lost = lost && dropped[id]
				}
				if lost && !o.Dropped && r.Committable() && !out.Failed {
					rt.Fatalf("%s was committed without any of %v", r.RuntimeID, group)
				}
			}
		}
		fold(t, state, "e1", messages(out)...)
	})
}

// writes counts the facts of a run whose proposals are all accepted.
func writes(r turn.Result) (n int) {
	rows := 0
	for _, p := range r.Proposals {
		if p.Type != "message.append" {
			n++
		} else if !strings.Contains(string(p.Payload), `""`) {
			rows = 1
		}
	}
	return n + rows
}

func messages(out Out) (msgs []proto.Message) {
	for _, f := range out.Facts {
		msgs = append(msgs, f.Message)
	}
	return msgs
}

// No payload of any type makes the commit panic, or gives an event that cannot be written and folded.
func FuzzPlan(f *testing.F) {
	for _, p := range payloads {
		f.Add(p.typ, []byte(p.payload))
	}
	f.Add("plugin.data", []byte("{\"namespace\":\"\xff\",\"key\":\"\\u0000\",\"value\":\"\\ud800\"}"))
	f.Add("character.upsert", []byte(`{"id":"x","name":"x","version":99999999999,"fields":{"hp":1e400}}`))
	f.Add("interaction.request", []byte(`{"interactionId":"x","type":"choice","data":{"type":"choice","interactionId":"x","choices":[{"id":"a","label":"a"},{"id":"b","label":"b"}]}}`))
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		state := playing(t)
		p := sdk.Proposal{Type: typ, Payload: payload}
		story := teller()
		story.Proposals = append(story.Proposals, p)
		for _, results := range [][]turn.Result{{ran("p", p), teller()}, {ran("p", p)}, {story}} {
			out := Plan(in(state, results...))
			bytesOf(t, out)
			s := fold(t, state, "e1", messages(out)...)
			if _, err := s.Encode(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

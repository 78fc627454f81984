package commit

import (
	"strings"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

const tide = `"tide":{"name":"潮位","schema":{"type":"integer","minimum":0},"initialValue":3,"updateRule":"每回合落一寸"}`

// tidal is the playing session with two dimensions, one of which has a rule.
func tidal(t testing.TB) projections.State {
	return fold(t, playing(t), "",
		&eventsv1.DimensionsInitialized{PluginId: "keeper", Dimensions: []*eventsv1.Dimension{
			{Id: "mood", Value: []byte(`null`), Version: 1, Definition: &eventsv1.DimensionDefinition{Name: "Mood", Schema: []byte(`{"type":["string","null"],"maxLength":4}`), InitialValue: []byte(`null`)}},
			{Id: "tide", Value: []byte(`3`), Version: 1, Definition: &eventsv1.DimensionDefinition{Name: "潮位", Schema: []byte(`{"type":"integer","minimum":0}`), InitialValue: []byte(`3`), UpdateRule: "每回合落一寸"}},
		}},
		&eventsv1.DimensionsUpdated{PluginId: "keeper", Values: []*eventsv1.DimensionValue{{Id: "tide", Value: []byte(`2`), Version: 2}}})
}

func keeping(s projections.State, results ...turn.Result) In {
	x := in(s, results...)
	x.DimensionProvider = "keeper"
	return x
}

func TestDimensionInitialize(t *testing.T) {
	for _, c := range []struct{ name, by, definitions, want string }{
		// Rule REF worlds-and-story.md §13.5: initialize creates what is missing, the same again changes nothing, another one is a conflict.
		{"new", "keeper", `{` + tide + `,"mood":{"name":"Mood","schema":{"type":["string","null"]},"initialValue":null}}`, `dimensions of keeper mood=null v1 tide=3 v1`},
		// Rule TP:960: only the session's one provider of world.dimensions@1 writes dimensions.
		{"by somebody else", "p", `{` + tide + `}`, "dimension-not-owner"},
		{"none", "keeper", `{}`, "definitions must not be empty"},
		{"a value that does not fit", "keeper", `{"tide":{"name":"x","schema":{"type":"integer"},"initialValue":"3"}}`, "definitions.tide.initialValue"},
		{"a keyword too many", "keeper", `{"tide":{"name":"x","schema":{"type":"string","pattern":"^a"},"initialValue":"a"}}`, "definitions.tide.schema.pattern: is no keyword"},
		{"a reference", "keeper", `{"tide":{"name":"x","schema":{"type":"array","items":{"$ref":"#"}},"initialValue":[]}}`, "definitions.tide.schema.items.$ref"},
		{"an id of JavaScript", "keeper", `{"constructor":{"name":"x","schema":{"type":"string"},"initialValue":"a"}}`, `the id "constructor"`},
		{"an id in other letters", "keeper", `{"潮":{"name":"x","schema":{"type":"string"},"initialValue":"a"}}`, `the id "潮"`},
		{"no name", "keeper", `{"tide":{"name":" ","schema":{"type":"string"},"initialValue":"a"}}`, "definitions.tide.name"},
		{"too deep", "keeper", `{"tide":{"name":"x","schema":{"type":"array"},"initialValue":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}}`, "33 levels deep"},
		{"required and not declared", "keeper", `{"tide":{"name":"x","schema":{"type":"object","required":["a"]},"initialValue":{"a":1}}}`, "required[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(keeping(playing(t), ran(c.by, raw("dimension.initialize", `{"definitions":`+c.definitions+`}`))))
			got := told(out)[0]
			if strings.HasPrefix(c.want, "dimensions of") {
				expect(t, "fact", got, c.want)
			} else if m, ok := out.Facts[0].Message.(*eventsv1.ExecutionFailed); !ok || !strings.Contains(m.Error, c.want) && m.Outcomes[0].Code != c.want {
				t.Errorf("got %s, want …%s…", got, c.want)
			}
		})
	}
	again := Plan(keeping(tidal(t), ran("keeper", raw("dimension.initialize", `{"definitions":{`+tide+`}}`))))
	expect(t, "again", again.Failed || strings.HasPrefix(told(again)[0], "dimensions"), false)
	other := Plan(keeping(tidal(t), ran("keeper", raw("dimension.initialize", `{"definitions":{"tide":{"name":"潮","schema":{"type":"integer"},"initialValue":3}}}`))))
	expect(t, "another", other.Facts[0].Message.(*eventsv1.ExecutionFailed).Outcomes[0].Code, "dimension-defined-otherwise")
}

func TestDimensionUpdate(t *testing.T) {
	source := `"source":{"resultId":"run-narrator","turnNumber":1},"readVersions":{"tide":2}`
	for _, c := range []struct{ name, payload, want string }{
		// Rule TP:963: values and receipt are one batch, compared and set; the version rises only with the value.
		{"a value", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}]}`, `values tide=1 v3`},
		{"the same value", `{"updates":[{"id":"tide","expectedVersion":2,"value":2}]}`, `values tide=2 v2`},
		{"null where it may be", `{"updates":[{"id":"mood","expectedVersion":1,"value":"怒"},{"id":"tide","expectedVersion":2,"value":0,"reason":"退潮"}]}`, `values mood="怒" v2 tide=0 v3`},
		{"settled", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],` + source + `}`, `values tide=1 v3 settled run-narrator turn 1 of e1 v1 read tide@2 rule 每回合落一寸`},
		{"no change", `{"updates":[],` + source + `,"settlement":"no-change"}`, `values no-change run-narrator turn 1 of e1 v1 read tide@2 rule 每回合落一寸`},
		{"by hand", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],` + source + `,"settlement":"manual"}`, `values tide=1 v3 manual run-narrator turn 1 of e1 v1 read tide@2 rule 每回合落一寸`},
		{"an older version", `{"updates":[{"id":"tide","expectedVersion":1,"value":1}]}`, "dimension-version-conflict"},
		{"one of two is older", `{"updates":[{"id":"mood","expectedVersion":1,"value":"怒"},{"id":"tide","expectedVersion":1,"value":1}]}`, "dimension-version-conflict"},
		{"another one was read", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],"readVersions":{"mood":2}}`, "dimension-version-conflict"},
		{"unknown", `{"updates":[{"id":"wind","expectedVersion":1,"value":1}]}`, `there is no dimension "wind"`},
		{"a value that does not fit", `{"updates":[{"id":"tide","expectedVersion":2,"value":-1}]}`, "updates[0].value"},
		{"too long", `{"updates":[{"id":"mood","expectedVersion":1,"value":"五个字太长"}]}`, "updates[0].value"},
		{"twice", `{"updates":[{"id":"tide","expectedVersion":2,"value":1},{"id":"tide","expectedVersion":2,"value":0}]}`, `"tide" is there twice`},
		{"too many", `{"updates":[` + strings.Repeat(`{"id":"tide","expectedVersion":2,"value":1},`, 64) + `{"id":"tide","expectedVersion":2,"value":1}]}`, "the limit is 64"},
		{"a long reason", `{"updates":[{"id":"tide","expectedVersion":2,"value":1,"reason":"` + strings.Repeat("潮", 2001) + `"}]}`, "updates[0].reason"},
		{"a source without what was read", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],"source":{"resultId":"r","turnNumber":1}}`, "source needs readVersions"},
		{"nothing at all", `{"updates":[]}`, "empty updates need source and settlement"},
		{"a settlement without a source", `{"updates":[],"settlement":"manual"}`, "settlement needs source"},
		{"no change with a change", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],` + source + `,"settlement":"no-change"}`, "goes with empty updates"},
		{"an unknown settlement", `{"updates":[],` + source + `,"settlement":"done"}`, "none of no-change"},
		{"a turn to come", `{"updates":[],"source":{"resultId":"r","turnNumber":2},"readVersions":{},"settlement":"skipped"}`, "has not been told yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(keeping(tidal(t), ran("keeper", raw("dimension.update", c.payload))))
			if strings.HasPrefix(c.want, "values") {
				expect(t, "fact", told(out)[0], c.want)
			} else if m, ok := out.Facts[0].Message.(*eventsv1.ExecutionFailed); !ok || !strings.Contains(m.Error, c.want) && m.Outcomes[0].Code != c.want {
				t.Errorf("got %v, want …%s…", told(out), c.want)
			}
		})
	}
}

// Rule REF worlds-and-story.md §13.6: a story opens an obligation unless it is settled in the same commit; a receipt that is
// settled is final; a tracker that is dropped leaves the obligation open.
func TestSettlement(t *testing.T) {
	settle := raw("dimension.update", `{"updates":[{"id":"tide","expectedVersion":2,"value":1}],"source":{"resultId":"run-narrator","turnNumber":1},"readVersions":{"tide":2}}`)
	receipts := func(out Out) (list []string) {
		for _, line := range told(out) {
			if strings.HasPrefix(line, "values") {
				list = append(list, line)
			}
		}
		return list
	}
	pending := `values pending-settlement run-narrator turn 1 of e1 v1 read mood@1 tide@2 rule 每回合落一寸`
	open := Plan(keeping(tidal(t), teller()))
	expect(t, "a story alone", receipts(open), []string{pending})
	expect(t, "settled at once", receipts(Plan(keeping(tidal(t), teller(), ran("keeper", settle)))), []string{`values tide=1 v3 settled run-narrator turn 1 of e1 v1 read tide@2 rule 每回合落一寸`})
	expect(t, "a tracker that was dropped", receipts(Plan(keeping(tidal(t), teller(), ran("keeper", settle, bad)))), []string{pending})
	expect(t, "no rule", receipts(Plan(keeping(playing(t), teller()))), []string{})

	s := fold(t, tidal(t), "e1", messages(open)...)
	if p := s.Dimensions.Pending(); len(p) != 1 || p[0].ResultID != "run-narrator" || p[0].ReadVersions["tide"] != 2 {
		t.Fatalf("pending %+v", p)
	}
	late := In{State: s, Execution: projections.Execution{ID: "e2", Origin: "manual", LogicalTurn: 1}, Results: []turn.Result{ran("keeper", settle)}, DimensionProvider: "keeper"}
	done := Plan(late)
	expect(t, "settled later", told(done)[0], `values tide=1 v3 settled run-narrator turn 1 of e1 v2 read tide@2 rule 每回合落一寸`)
	late.State = fold(t, s, "e2", messages(done)...)
	again := Plan(late)
	expect(t, "settled twice", again.Facts[0].Message.(*eventsv1.ExecutionFailed).Outcomes[0].Code, "dimension-version-conflict")
	late.Results = []turn.Result{ran("keeper", raw("dimension.update", `{"updates":[],"source":{"resultId":"run-narrator","turnNumber":1},"readVersions":{},"settlement":"skipped"}`))}
	expect(t, "settled twice otherwise", Plan(late).Facts[0].Message.(*eventsv1.ExecutionFailed).Outcomes[0].Code, "dimension-already-settled")
	if d := world.Dimensions(late.State.Dimensions); string(d["tide"].Value) != "1" || d["tide"].Version != 3 || string(d["mood"].Value) != "null" {
		t.Errorf("the public snapshot is %+v", d)
	}
}

// Rule TP:960: dimensions have exactly one provider; two are none.
// Rule EP:145: the contract world.dimensions@1 is how the one provider is found.
func TestDimensionProvider(t *testing.T) {
	r := func(plugin, contract string) manifest.Runtime {
		return manifest.Runtime{PluginID: plugin, IO: manifest.IO{OutputContract: contract}}
	}
	expect(t, "one", DimensionProvider([]manifest.Runtime{r("a", "x@1"), r("k", DimensionContract), r("k", DimensionContract)}), "k")
	expect(t, "two", DimensionProvider([]manifest.Runtime{r("a", DimensionContract), r("k", DimensionContract)}), "")
	expect(t, "none", DimensionProvider([]manifest.Runtime{r("a", "x@1")}), "")
}

var picture = sdk.MediaRef{ID: strings.Repeat("ab", 32), Mime: "image/png", Size: 9}

// Rule REF:plugins.md §13.1: asset.generate tells of a file of the session.
func TestMedia(t *testing.T) {
	ref := `{"id":"` + picture.ID + `","mime":"image/png","size":9}`
	stored := func(r turn.Result) turn.Result { r.Media = []sdk.MediaRef{picture}; return r }
	known := fold(t, playing(t), "", &eventsv1.AssetGenerated{Ref: &eventsv1.MediaRef{Id: picture.ID, Mime: picture.Mime, Size: picture.Size}, Modality: "image"})
	for _, c := range []struct {
		name  string
		state projections.State
		r     turn.Result
		want  string
	}{
		// Rule TL:1887: every media reference is checked against the session; a foreign one is refused wherever it stands.
		{"a foreign file", playing(t), ran("p", note("k", `{"a":[{"pic":`+ref+`}]}`)), `media_reference_forbidden payload.value.a[0].pic`},
		{"a foreign file in a block", playing(t), ran("p", raw("ui.render", `{"parts":[{"id":"a","type":"t","status":"success","content":`+ref+`}]}`)), `media_reference_forbidden payload.parts[0].content`},
		{"a foreign file in other spelling", playing(t), ran("p", note("k", `{"id":"`+strings.ToUpper(picture.ID)+`","m\u0069me":"image/png","size":9}`)), `media_reference_forbidden payload.value`},
		{"a foreign file, put together", playing(t), ran("p", note("k", `{"mime":"image/png","size":9}`), raw("plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"put","path":"id","value":"`+picture.ID+`"}]}`)), `media_reference_forbidden value of n/k`},
		{"a foreign file announced", playing(t), ran("p", raw("asset.generate", `{"ref":`+ref+`,"modality":"image"}`)), `media_reference_forbidden payload.ref`},
		{"of the session", known, ran("p", note("k", ref)), `data p n/k=` + ref + ` r1`},
		{"stored by the run", playing(t), stored(ran("p", note("k", ref))), "data p n/k=" + ref + " r1\nasset abab image image/png 9  by p"},
		{"stored and announced", playing(t), stored(ran("p", raw("asset.generate", `{"ref":`+ref+`,"modality":"image","meta":{"提示":"雾"}}`))), `asset abab image image/png 9 {"提示":"雾"} by p`},
		{"what only looks like one", playing(t), ran("p", note("k", `{"id":"`+picture.ID+`","mime":"image/png"}`)), `data p n/k={"id":"` + picture.ID + `","mime":"image/png"} r1`},
		{"no digest", playing(t), ran("p", raw("asset.generate", `{"ref":{"id":"x","mime":"image/png","size":9},"modality":"image"}`)), `proposal-invalid ref needs an id`},
		{"no modality", known, ran("p", raw("asset.generate", `{"ref":`+ref+`,"modality":" "}`)), `proposal-invalid modality is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(in(c.state, c.r))
			if m, ok := out.Facts[0].Message.(*eventsv1.ExecutionFailed); ok {
				_, why, _ := strings.Cut(m.Error, c.r.Proposals[len(c.r.Proposals)-1].Type+": ")
				if got := m.Outcomes[0].Code + " " + why; !strings.HasPrefix(got, c.want) {
					t.Errorf("got %s, want %s…", got, c.want)
				}
				return
			}
			if got := lines(told(out)); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s…", got, c.want)
			}
		})
	}
	later := Plan(in(playing(t), stored(ran("a", note("k", ref))), ran("b", note("k", ref))))
	expect(t, "a later run", written(later), "a/k b/k")
	dropped := Plan(in(playing(t), stored(ran("a", bad)), ran("b", note("k", ref)), teller()))
	expect(t, "of a run that was dropped", written(dropped), "story")
}

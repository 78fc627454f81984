package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// committed is a session with two records of plugin p and one of q.
func committed(t *testing.T) projections.PluginData {
	t.Helper()
	return fold(t, &eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{
		{Namespace: "notes", Key: "a", Value: []byte(`1`), Revision: 1}, {Namespace: "notes", Key: "龙胆", Value: []byte(`{"x":1}`), Revision: 1},
	}}, &eventsv1.PluginDataChanged{PluginId: "q", Changes: []*eventsv1.PluginDataChange{{Namespace: "notes", Key: "a", Value: []byte(`"q's"`), Revision: 1}}}).PluginData
}

func records(d *Data, namespace string) (out []string) {
	for _, r := range d.List(namespace) {
		out = append(out, r.Key+"="+string(r.Value))
	}
	return out
}

func propose(t testing.TB, p sdk.Payload) sdk.Proposal {
	t.Helper()
	pr, err := sdk.Propose(p)
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// "A runtime that reads its own plugin's data reads the committed value, plus the writes that completed upstream runtimes of
// the same plugin will commit (in commit order), plus its own buffer" (seed: turn-pipeline.txt §4.2).
func TestDataView(t *testing.T) {
	d := NewData("p", committed(t), []Write{{RunID: "up", PluginID: "p", Proposals: []sdk.Proposal{
		propose(t, sdk.PluginDataWrite{Namespace: "notes", Key: "b", Value: json.RawMessage(`2`)}),
		propose(t, sdk.PluginDataWrite{Namespace: "notes", Key: "b", Value: json.RawMessage(`3`)}),
		propose(t, sdk.PluginDataDelete{Namespace: "notes", Key: "a"}),
		{Type: "plugin.data", Payload: json.RawMessage(`{"namespace":"_jobs","key":"b","value":9}`)},                                                        // the commit refuses it
		{Type: "plugin.data.batch", Payload: json.RawMessage(`{"items":[{"namespace":"notes","key":"c","value":1},{"namespace":"","key":"c","value":1}]}`)}, // all of it
		propose(t, sdk.MessageAppend{Content: "x"}),
	}}, {RunID: "other", PluginID: "q", Proposals: []sdk.Proposal{propose(t, sdk.PluginDataWrite{Namespace: "notes", Key: "q", Value: json.RawMessage(`2`)})}}}, nil)
	expect(t, "upstream", records(d, "notes"), []string{`龙胆={"x":1}`, "b=3"})
	for _, set := range []struct {
		key   string
		value any
	}{{"a", map[string]any{"t": "龙"}}, {"b", nil}, {"🐉", json.RawMessage(`[1, 2]`)}, {"🐉", []int{3}}} {
		if err := d.Set("notes", set.key, set.value); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "own writes", records(d, "notes"), []string{`a={"t":"龙"}`, `龙胆={"x":1}`, `🐉=[3]`})
	expect(t, "get", string(d.Get("notes", "🐉")), "[3]")
	if d.Get("notes", "b") != nil || d.Get("notes", "nobody") != nil || d.Get("other", "a") != nil {
		t.Error("a removed record is there")
	}
	got := d.Get("notes", "龙胆")
	got[0] = 'X'
	expect(t, "after the caller wrote to what it got", string(d.Get("notes", "龙胆")), `{"x":1}`)
	var taken []string
	for _, w := range d.Take() {
		taken = append(taken, w.(sdk.PluginDataWrite).Key+"="+string(w.(sdk.PluginDataWrite).Value))
	}
	expect(t, "taken", taken, []string{`a={"t":"龙"}`, "b=null", "🐉=[1,2]", "🐉=[3]"})
	expect(t, "taken again", len(d.Take()), 0)
	expect(t, "still seen", string(d.Get("notes", "🐉")), "[3]")
}

// Rule EP:91: list gives the records in the order in which they were created, with when that was and when they last changed;
// what the execution itself adds comes last.
func TestListInOrderOfCreation(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	var s projections.State
	for i, c := range []struct{ key, value string }{{"乙", "1"}, {"a", "2"}, {"乙", "3"}, {"z", "4"}} {
		ev, err := events.Encode(events.NewID("session-s1", "x", i, 0), nil, &eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: c.key, Value: []byte(c.value)}}})
		if err != nil {
			t.Fatal(err)
		}
		if s, err = projections.Apply(s, events.Recorded{Event: ev, Version: events.Version(i + 1), RecordedAt: at(i)}); err != nil {
			t.Fatal(err)
		}
	}
	d := NewData("p", s.PluginData, nil, nil)
	for _, w := range []struct {
		key   string
		value any
	}{{"新", 5}, {"b", 6}, {"新", 7}, {"a", 8}, {"z", nil}, {"z", 9}} {
		if err := d.Set("n", w.key, w.value); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range d.List("n") {
		line := r.Key + "=" + string(r.Value)
		if !r.CreatedAt.IsZero() {
			line += " since " + r.CreatedAt.Format("04")
		}
		if !r.UpdatedAt.IsZero() {
			line += " changed " + r.UpdatedAt.Format("04")
		}
		got = append(got, line)
	}
	expect(t, "records", strings.Join(got, "; "), "乙=3 since 00 changed 02; a=8 since 01; z=9 since 03; 新=7; b=6")
}

// Rule DEC Operation-based writes: ctx.pluginData.update starts from {} where there is no record, later reads see the result.
func TestUpdateIsBuffered(t *testing.T) {
	d := NewData("p", projections.PluginData{}, nil, nil)
	for _, ops := range [][]sdk.DataOp{{sdk.OpIncrement("gold", 3), sdk.OpAppend("bag", "绳")}, {sdk.OpIncrement("gold", -1).Within(0, 9), sdk.OpAppend("bag", "灯").Once()}} {
		if err := d.Update("n", "k", ops...); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "seen", string(d.Get("n", "k")), `{"bag":["绳","灯"],"gold":2}`)
	err := d.Update("n", "k", sdk.OpPut("x", 1), sdk.OpIncrement("gold", -3).Within(0, 9))
	var failed *sdk.ToolError
	if !errors.As(err, &failed) || failed.Code != sdk.Conflict || !strings.Contains(failed.Message, "ops[1]: out-of-bounds") {
		t.Errorf("%v", err)
	}
	if err := d.Update("_x", "k", sdk.OpDelete()); err == nil {
		t.Error("a reserved namespace is written to")
	}
	expect(t, "after the failures", string(d.Get("n", "k")), `{"bag":["绳","灯"],"gold":2}`)
	taken := d.Take()
	expect(t, "taken", len(taken), 2)
	again := NewData("p", projections.PluginData{}, nil, nil)
	for _, payload := range taken {
		p, err := sdk.Propose(payload)
		if err != nil {
			t.Fatal(err)
		}
		again.Overlay([]sdk.Proposal{p})
	}
	expect(t, "as another run sees it", string(again.Get("n", "k")), `{"bag":["绳","灯"],"gold":2}`)
}

// Rule TP:651: to read a record is to depend on the upstream run that wrote it, and on each whose value operations went on
// from; to apply operations alone is not to read, since the commit applies them again.
func TestUpdatesAndReads(t *testing.T) {
	propose := func(p sdk.Payload) []sdk.Proposal {
		out, err := sdk.Propose(p)
		if err != nil {
			t.Fatal(err)
		}
		return []sdk.Proposal{out}
	}
	upstream := []Write{
		{RunID: "run-a", PluginID: "p", Proposals: propose(sdk.PluginDataUpdate{Namespace: "n", Key: "k", Ops: []sdk.DataOp{sdk.OpIncrement("gold", 1)}})},
		{RunID: "run-b", PluginID: "p", Proposals: propose(sdk.PluginDataUpdate{Namespace: "n", Key: "k", Ops: []sdk.DataOp{sdk.OpIncrement("gold", 2)}})},
		{RunID: "run-c", PluginID: "p", Proposals: propose(sdk.PluginDataWrite{Namespace: "n", Key: "别的", Value: json.RawMessage("1")})},
	}
	reads := &Reads{}
	d := NewData("p", projections.PluginData{}, upstream, reads)
	if err := d.Update("n", "k", sdk.OpIncrement("gold", 4)); err != nil {
		t.Fatal(err)
	}
	expect(t, "after an update", reads.List(), []string{})
	expect(t, "seen", string(d.Get("n", "k")), `{"gold":7}`)
	expect(t, "after a read", reads.List(), []string{"run-a", "run-b"})
	if err := d.Set("n", "别的", 2); err != nil {
		t.Fatal(err)
	}
	expect(t, "own", string(d.Get("n", "别的")), "2")
	expect(t, "after a read of its own", reads.List(), []string{"run-a", "run-b"})
}

func TestDataRules(t *testing.T) {
	d := NewData("p", projections.PluginData{}, nil, nil)
	big := strings.Repeat("龙", tools.MaxDataBytes/3-1) + "xx" // with its quotes exactly the limit
	for _, c := range []struct {
		namespace, key string
		value          any
		reason         string
	}{
		{"n", "k", big, ""}, {"n", "k", big + "x", "has 262145 bytes, the limit is 262144"},
		{"_hidden.plan", "k", 1, ""}, {"_hidden.", "k", 1, "reserved"}, {"_hidden", "k", 1, "reserved"}, {"_runtime_jobs", "k", 1, "reserved"}, {"_", "k", 1, "reserved"},
		{"", "k", 1, "not empty"}, {"n", "", 1, "not empty"}, {"n", " ", 1, "not empty"}, {"n\x00", "k", 1, "U+0000"}, {"n", "k\x00", 1, "U+0000"},
		{"n", "k", math.NaN(), "cannot be written as JSON"}, {"n", "k", func() {}, "cannot be written as JSON"}, {"n", "k", math.MaxInt64, "±2^53"},
	} {
		err := d.Set(c.namespace, c.key, c.value)
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("%.20q/%q: %v, want …%s…", c.namespace, c.key, err, c.reason)
		}
	}
	if n := len(d.Take()); n != 2 {
		t.Errorf("%d writes were buffered", n)
	}
}

func TestDataWrites(t *testing.T) {
	for _, c := range []struct{ typ, payload, want string }{
		{"plugin.data", `{"namespace":"n","key":"k","value":{"a" : 1}}`, `n/k={"a":1}`},
		{"plugin.data", `{"namespace":"n","key":"k","value":null}`, `n/k=null`},
		{"plugin.data", `{"namespace":"n","key":"k"}`, `value of n/k is missing; null removes a record`},
		{"plugin.data", `{"namespace":"n","key":"k","value":1,"plugin":"q"}`, `payload: json: unknown field "plugin"`},
		{"plugin.data", `{"namespace":"n","key":"k","value":{"n":-9007199254740993}}`, `payload.value.n: -9007199254740993 is beyond ±2^53 and would lose digits: use a smaller number, or text`},
		{"plugin.data", `{"namespace":"n","key":"k","value":[9007199254740992,1e300,"90071992547409939999"]}`, `n/k=[9007199254740992,1e300,"90071992547409939999"]`},
		// Rule DEC Operation-based writes: the operations are applied to the live value, and then the rules for every write hold.
		{"plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"increment","path":"gold","by":2},{"op":"put","path":"名","value":"<灯>"}]}`, `n/k={"gold":7,"名":"<灯>"}`},
		{"plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"delete"}]}`, `n/k=`},
		{"plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"increment","path":"gold","by":2},{"op":"increment","path":"gold","by":2,"max":8}]}`, `n/k: ops[1]: out-of-bounds: 9 at the path "gold" would be above 8`},
		{"plugin.data.update", `{"namespace":"_x","key":"k","ops":[{"op":"delete"}]}`, `The namespace "_x" is reserved: a plugin writes its own namespaces and _hidden.<namespace>.`},
		{"plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"append","path":"l","value":"` + strings.Repeat("x", tools.MaxDataBytes) + `"}]}`, `value of n/k has 262163 bytes, the limit is 262144: split it or keep less`},
		{"plugin.data.update", `{"namespace":"n","key":"k","ops":[{"op":"delete","note":"x"}]}`, `payload: json: unknown field "note"`},
		{"plugin.data.batch", `{"items":[{"namespace":"n","key":"a","value":1},{"namespace":"n","key":"a","value":null}]}`, `n/a=1 n/a=null`},
		{"plugin.data.batch", `{"items":[]}`, `items must not be empty`},
		{"plugin.data.batch", `{}`, `items must not be empty`},
		{"plugin.data.batch", `{"items":[{"namespace":"n","key":"a"}]}`, `value of n/a is missing; null removes a record`},
		{"plugin.data.delete", `{"namespace":"n","key":"k"}`, `n/k=`},
		{"plugin.data.delete", `{"namespace":"_x","key":"k"}`, `The namespace "_x" is reserved: a plugin writes its own namespaces and _hidden.<namespace>.`},
		{"narrative.append", `{`, ``},
	} {
		writes, err := DataWrites(sdk.Proposal{Type: c.typ, Payload: json.RawMessage(c.payload)}, func(string, string) json.RawMessage { return json.RawMessage(`{"gold":5}`) })
		var got []string
		for _, w := range writes {
			got = append(got, w.Namespace+"/"+w.Key+"="+string(w.Value))
		}
		line := strings.Join(got, " ")
		if err != nil {
			var rejection *Rejection
			if !errors.As(err, &rejection) {
				t.Errorf("%s: %T", c.payload, err)
			}
			line = err.Error()
		}
		expect(t, c.typ+" "+c.payload, line, c.want)
	}
}

func TestShortID(t *testing.T) {
	taken := map[string]bool{}
	id := func(label string) string {
		got := ShortID("npc", label, "s1", func(id string) bool { return taken[id] })
		taken[got] = true
		return got
	}
	for _, c := range [][2]string{
		{"Mara Voss", "npc-mara-voss"}, {"  O'Brien — the 3rd! ", "npc-o-brien-the-3rd"}, {"E\u0301lodie", "npc-elodie"}, {"Élodie", "npc-elodie-2"}, {"ＡＩ", "npc-ai"},
		{"Mara Voss", "npc-mara-voss-2"}, {"mara, voss", "npc-mara-voss-3"}, {"Søren", "npc-s-ren"}, {"Mara 🐉", "npc-mara"}, {"Ⅷ", "npc-viii"},
		{strings.Repeat("long name ", 9), "npc-long-name-long-name-long-name-lo"},
	} {
		expect(t, c[0], id(c[0]), c[1])
	}
	// Where Latin letters would name somebody else, or nobody, the id is a hash.
	for _, label := range []string{"龙胆", "陆青云 2", "AI助手", "Ольга", "Ольга K", "ひ", "🐉", "", "..", "/../"} {
		a, b := ShortID("npc", label, "s1", never), ShortID("npc", label, "s2", never)
		if len(a) != len("npc-")+6 || strings.Trim(a[4:], "abcdefghijklmnopqrstuvwxyz234567") != "" || a == b || a != ShortID("npc", label, "s1", never) {
			t.Errorf("%q: %s in one session, %s in another", label, a, b)
		}
	}
	if ShortID("npc", "か\u3099", "s1", never) != ShortID("npc", "が", "s1", never) {
		t.Error("one label in two forms has two ids")
	}
	first := ShortID("npc", "龙胆", "s1", never)
	if second := ShortID("npc", "龙胆", "s1", func(id string) bool { return id == first }); second != first+"-2" {
		t.Errorf("a taken hash becomes %s", second)
	}
}

func never(string) bool { return false }

func FuzzShortID(f *testing.F) {
	for _, s := range []string{"Mara", "龙胆", "\xff", "-", "E\u0301", strings.Repeat("é", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, label string) {
		id := ShortID("npc", label, "s1", never)
		if rest := id[len("npc-"):]; rest == "" || len(rest) > 40 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(rest, "-") {
			t.Errorf("%q becomes %q", label, id)
		}
	})
}

// fold folds messages that count at once.
func fold(t testing.TB, msgs ...proto.Message) projections.State {
	t.Helper()
	var s projections.State
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID("session-s1", "x", i, 0), nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = projections.Apply(s, events.Recorded{Event: ev, Version: events.Version(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A plugin that writes to what it is shown writes to nothing.
func TestViewSharesNothing(t *testing.T) {
	state := projections.State{
		Session: projections.Session{Seats: []projections.Seat{{ID: "seat-1", CharacterIDs: []string{"pc"}, CurrentCharacterID: "pc", Primary: true}}},
		Path: projections.Path{Characters: projections.Characters{SchemaVersion: 2, Types: []string{"npc"}, Attributes: projections.RawJSON(`[{"id":"hp","type":"number"}]`), List: []projections.Character{{ID: "pc", Name: "陆青云", Aliases: []string{"青云"}, Type: "player", Fields: projections.RawJSON(`{"hp":1}`), Version: 4}}},
			Lorebook: projections.Lorebook{{ID: "潮", Keys: []string{"潮"}, Content: "退潮", Strategy: "selective", Position: "at_depth", InsertionOrder: 3, Extra: projections.RawJSON(`{"title":"潮"}`)}}},
	}
	pack := worlds.View{DeclaredSchema: &sdk.CharacterSchema{Types: []string{"npc"}, Attributes: []sdk.AttributeDef{{ID: "hp"}}}}
	pack.Record.ID, pack.Record.Tags, pack.Record.Metadata = "w", []string{"海"}, map[string]any{"a": 1}
	w := View(state, pack)
	c, seat, e := w.Characters[0], w.Seats[0], w.Lorebook[0]
	if c.Name != "陆青云" || c.Version != 4 || string(c.Fields) != `{"hp":1}` || w.Schema.Version != 2 || w.Schema.Attributes[0].ID != "hp" || seat.CurrentCharacterID != "pc" ||
		*e.Enabled || e.Extra["title"] != "潮" || e.InsertionOrder != 3 || w.Record.ID != "w" || w.DeclaredSchema.Attributes[0].ID != "hp" {
		t.Errorf("view %+v", w)
	}
	before := printed(View(state, pack))
	c.Aliases[0], c.Fields[0], seat.CharacterIDs[0], e.Keys[0], w.Schema.Types[0] = "x", 'x', "x", "x", "x"
	w.Record.Tags[0], w.Record.Metadata["a"], w.DeclaredSchema.Types[0], w.DeclaredSchema.Attributes[0].ID = "x", 2, "x", "x"
	w.Characters[0].Name, *e.Enabled = "x", true
	expect(t, "view", printed(View(state, pack)), before)
}

func printed(w sdk.World) string {
	b, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	return string(b)
}

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

func builtin(name, arguments string, rt *sdk.Runtime) Call {
	return Call{Name: name, Arguments: arguments, Authorised: []string{name}, Runtime: rt, Language: "en"}
}

// seed: tools.txt, "Overview": every name of the table that is builtin or injected.
func TestFrameworkToolNames(t *testing.T) {
	want := []string{"create-choices", "create-form", "create-notification", "delegate", "emit-event", "get-character", "list-characters", "memory-search",
		"render-ui", "runtime-done", "search-tools", "suspend", "sync-characters", "world-dimension-get", "world-dimension-list"}
	if diff := cmp.Diff(want, FrameworkToolNames); diff != "" {
		t.Error(diff)
	}
	for name := range builtins {
		if !Reserved(name) {
			t.Errorf("the builtin %s is not reserved", name)
		}
	}
	if Declarable("search-tools") || !Declarable("suspend") || Declarable("echo-value") {
		t.Error("search-tools is the one framework tool a manifest cannot list")
	}
	if _, ok := Builtin("memory-search"); ok {
		t.Error("memory-search is not on this host yet")
	}
}

// seed: tools.txt, "Overview", column annotations.
func TestBuiltinAnnotations(t *testing.T) {
	for name, made := range builtins {
		reads := name == "list-characters" || name == "get-character"
		a := made.Annotations
		if a.ReadOnly != reads || a.Idempotent != reads || a.ConcurrencySafe != reads || *a.StagesWrites == reads {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestCreateForm(t *testing.T) {
	r := run(t, builtin(CreateForm, `{"formId":"char","title":"你是谁","submitLabel":"开始","narrativeTemplate":"你叫{{name}}。","actionKind":"act","notice":"请重填。",
		"fields":[{"type":"text","name":"name","label":"姓名","required":true},{"type":"select","name":"root","label":"灵根","options":["水",{"value":"火","label":"火灵根"}],"defaultValue":"水"}]}`, nil))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := &Interaction{Type: "form", InteractionID: "char", Title: "你是谁", SubmitLabel: "开始", NarrativeTemplate: "你叫{{name}}。", ActionKind: "act", Notice: "请重填。", Fields: []FormField{
		{Type: "text", Name: "name", Label: "姓名", Required: true},
		{Type: "select", Name: "root", Label: "灵根", Options: []Option{{"水", "水"}, {"火", "火灵根"}}, DefaultValue: "水"},
	}}
	if diff := cmp.Diff(want, r.Interaction); diff != "" {
		t.Error(diff)
	}
	if r.Envelope != `{"summary":"The form \"你是谁\" will be shown to the player."}` {
		t.Errorf("envelope %s", r.Envelope)
	}
	r = run(t, builtin(CreateForm, `{"formId":" ","title":"A","submitLabel":"B","narrativeTemplate":"","fields":[{"type":"number","name":"n","label":"N","defaultValue":"5"}]}`, nil))
	if r.Err == nil || r.Err.Message != "formId: is required; fields[0].defaultValue: a number field takes a finite number, not a text." || r.Err.Code != sdk.InvalidInput {
		t.Errorf("got %v", r.Err)
	}
	r = run(t, builtin(CreateForm, `{"title":"A"}`, nil))
	if r.Err == nil || !strings.Contains(r.Err.Message, "fields: is required; formId: is required; narrativeTemplate: is required; submitLabel: is required") {
		t.Errorf("got %v", r.Err)
	}
}

func TestCreateChoices(t *testing.T) {
	r := run(t, builtin("create-choices", `{"choiceId":"fork","prompt":"往哪走？","choices":[{"id":"a","label":"上山","category":"safe"},{"id":"b","label":"下海","description":"冷"}]}`, nil))
	if r.Err != nil || r.Interaction == nil || r.Interaction.Kind() != "say" || r.Interaction.InteractionID != "fork" || len(r.Interaction.Choices) != 2 {
		t.Errorf("got %+v", r)
	}
	for _, c := range []struct{ args, want string }{
		{`{"choiceId":"fork","prompt":"?","choices":[{"id":"a","label":"A"}]}`, "choices: must have at least 2 items, got 1"},
		{`{"choiceId":"fork","prompt":"?","choices":[{"id":"a","label":"A"},{"id":"a","label":"B"}]}`, `choices[1].id: "a" is used twice`},
		{`{"choiceId":" ","prompt":"?","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}`, `choiceId: is required`},
	} {
		if r := run(t, builtin("create-choices", c.args, nil)); r.Err == nil || !strings.Contains(r.Err.Message, c.want) {
			t.Errorf("got %v, want %s", r.Err, c.want)
		}
	}
}

func TestShowingTools(t *testing.T) {
	r := run(t, builtin("create-notification", `{"level":"warning","title":"警告","message":"<油>快没了。"}`, nil))
	want := []sdk.UIRender{{Parts: []sdk.UIPart{{ID: "notification", Type: "spec", Status: "success", Content: map[string]any{
		"component": "Alert", "props": map[string]any{"level": "warning", "title": "警告", "message": "<油>快没了。"},
	}}}}}
	if diff := cmp.Diff(want, r.UI); diff != "" || r.Err != nil {
		t.Errorf("%s%v", diff, r.Err)
	}
	if r := run(t, builtin("create-notification", `{"level":"loud","title":"a","message":"b"}`, nil)); r.Err == nil || !strings.Contains(r.Err.Message, `level: expected one of "info", "success", "warning", "error", got "loud"`) {
		t.Errorf("got %v", r.Err)
	}
	r = run(t, builtin("render-ui", `{"layout":"split","parts":[{"id":"a","type":"text","status":"error","content":{"text":"灯"},"retry":{"count":2,"lastError":"x"}},{"id":"b","type":"image","status":"pending","content":null}]}`, nil))
	if r.Err != nil || len(r.UI) != 1 || r.UI[0].Layout != "split" || r.UI[0].Parts[0].Retry.Count != 2 || r.UI[0].Parts[1].Content != nil {
		t.Errorf("got %+v %v", r.UI, r.Err)
	}
	for _, c := range []struct{ args, want string }{
		{`{"parts":[]}`, "parts: must have at least 1 item, got 0"},
		{`{"parts":[{"id":"a","type":"t","status":"success","content":1},{"id":"a","type":"t","status":"success","content":1}]}`, `parts[1].id: "a" is used twice`},
		{`{"parts":[{"id":"a","type":"t","status":"done","content":1}]}`, "parts[0].status: expected one of"},
		{`{"parts":[{"id":"a","type":"t","status":"success"}]}`, "parts[0].content: is required"},
	} {
		if r := run(t, builtin("render-ui", c.args, nil)); r.Err == nil || !strings.Contains(r.Err.Message, c.want) {
			t.Errorf("got %v, want %s", r.Err, c.want)
		}
	}
}

func TestRuntimeDone(t *testing.T) {
	for _, args := range []string{`{}`, ``, `{"reason":"没有变化"}`} {
		if r := run(t, builtin(RuntimeDone, args, nil)); r.Err != nil || r.Envelope != `{"summary":"Done."}` {
			t.Errorf("%s: %s", args, r.Envelope)
		}
	}
}

var people = &sdk.Runtime{World: sdk.World{
	Schema: sdk.CharacterSchema{Attributes: []sdk.AttributeDef{{ID: "hp", Type: "number"}, {ID: "status", Type: "string"}}},
	Characters: []sdk.Character{
		{ID: "char-xyz", Name: "柳无痕", Type: "player", Version: 1, Description: "青萍宗外门弟子，\n水灵根中品"},
		{ID: "char-abc", Name: "苏婉", Aliases: []string{"小婉"}, Type: "npc", Version: 3, Description: "外门首席弟子。",
			Fields: json.RawMessage(`{"status":"wounded","hp":60,"zeal":null,"bag":["灯"],"id":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"}`)},
		{ID: "char-old", Name: "Élodie", Type: "npc", Version: 1, UpdatedAt: "2026-01-01T00:00:00Z"},
		{ID: "char-new", Name: "陆青云", Type: "npc", Version: 1, UpdatedAt: "2026-01-02T00:00:00Z"},
	},
}}

// seed: tools.txt, "list-characters".
func TestListCharacters(t *testing.T) {
	r := run(t, builtin("list-characters", `{}`, people))
	want := "Characters in session (4 total, sorted by frequency then recency):\n" +
		"1. 苏婉 (aka 小婉) [npc] char-abc (v3) — 外门首席弟子。\n" +
		"2. 陆青云 [npc] char-new (v1)\n3. Élodie [npc] char-old (v1)\n" +
		"4. 柳无痕 [player] char-xyz (v1) — 青萍宗外门弟子， 水灵根中品"
	if got := summary(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := summary(t, run(t, builtin("list-characters", `{"type":"player"}`, people))); !strings.HasPrefix(got, "Characters in session (1 total") {
		t.Errorf("got %s", got)
	}
	for args, want := range map[string]string{
		`{"type":"none"}`: `No characters of type "none". Types in this session: npc, player.`,
		`{"type":"all"}`:  `No characters of type "all". Types in this session: npc, player.`,
	} {
		r := run(t, builtin("list-characters", args, people))
		if got := summary(t, r); got != want || string(r.Content) != `{"count":0,"characters":[]}` {
			t.Errorf("%s: %s, content %s", args, got, r.Content)
		}
	}
	for _, args := range []string{`{"type":null}`, `{"type":""}`} {
		if r := run(t, builtin("list-characters", args, people)); r.Err == nil || r.Err.Code != sdk.InvalidInput {
			t.Errorf("%s: %v", args, r.Err)
		}
	}
	if got := summary(t, run(t, builtin("list-characters", `{}`, nil))); got != "There are no characters in this session yet." {
		t.Errorf("got %s", got)
	}
}

func TestListCharactersNamesAtMostFifty(t *testing.T) {
	crowd := &sdk.Runtime{}
	for i := range 62 {
		crowd.World.Characters = append(crowd.World.Characters, sdk.Character{ID: fmt.Sprint("c", i), Name: "甲", Type: "npc", Version: 1})
	}
	r := run(t, builtin("list-characters", `{}`, crowd))
	text := summary(t, r)
	if !strings.HasSuffix(text, "… and 12 more are not listed. Filter by type, or find a character by name with get-character.") || !strings.Contains(text, "(62 total") {
		t.Errorf("got %s", text)
	}
	var list characterList
	if err := json.Unmarshal(r.Content, &list); err != nil || list.Count != 62 || len(list.Characters) != 50 {
		t.Errorf("count %d, listed %d, %v", list.Count, len(list.Characters), err)
	}
}

func summary(t *testing.T, r CallResult) string {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var e success
	if err := json.Unmarshal([]byte(r.Envelope), &e); err != nil {
		t.Fatal(err)
	}
	return e.Summary
}

// seed: tools.txt, "get-character".
func TestGetCharacter(t *testing.T) {
	want := "Character: 苏婉 (aka 小婉) [npc] char-abc\nDescription: 外门首席弟子。\nVersion: 3\n\nAttributes:\n  hp: 60\n  status: wounded\n  bag: [\"灯\"]\n  zeal: null"
	for _, args := range []string{`{"id":"char-abc"}`, `{"name":"苏婉"}`, `{"name":"小婉"}`, `{"id":"苏婉"}`, `{"name":"苏"}`} {
		r := run(t, builtin("get-character", args, people))
		if got := summary(t, r); got != want {
			t.Errorf("%s: got\n%s", args, got)
		}
		var found characterFound
		if err := json.Unmarshal(r.Content, &found); err != nil || found.Character.ID != "char-abc" || !strings.Contains(string(found.Character.Fields), "0190a1b2") {
			t.Errorf("code does not read the full character: %s", r.Content)
		}
	}
	if r := run(t, builtin("get-character", `{}`, people)); r.Err == nil || r.Err.Code != sdk.InvalidInput || r.Err.Message != "Pass id or name." {
		t.Errorf("got %v", r.Err)
	}
	if r := run(t, builtin("get-character", `{"name":"无人"}`, people)); r.Err == nil || r.Err.Code != sdk.NotFound || !strings.Contains(r.Err.Message, `"无人" not found`) {
		t.Errorf("got %v", r.Err)
	}
	twins := &sdk.Runtime{World: sdk.World{Characters: []sdk.Character{{ID: "npc-a", Name: "Maud"}, {ID: "npc-b", Name: "maud"}}}}
	if r := run(t, builtin("get-character", `{"name":"Maud"}`, twins)); r.Err == nil || r.Err.Code != sdk.Ambiguous || !strings.Contains(r.Err.Message, "Maud [npc-a]; maud [npc-b]") {
		t.Errorf("got %v", r.Err)
	}
	if got := summary(t, run(t, builtin("get-character", `{"id":"char-old"}`, people))); got != "Character: Élodie [npc] char-old\nVersion: 1" {
		t.Errorf("got %s", got)
	}
}

var topics = []Topic{
	{Topic: "scene.set", Description: "The scene changes.", Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object","properties":{"name":{"type":"string","pattern":"^\\p{Letter}+$"}},"required":["name"]}`)},
	{Topic: "music.cue", Description: "Music."},
}

// seed: tools.txt, "The four results of a call".
func TestEmitEvent(t *testing.T) {
	for name, c := range map[string]struct {
		args    string
		topics  []Topic
		emitted []string
		code    sdk.ToolErrorCode
		text    string
		data    string // of the event, "" for none
	}{
		"1 already emitted": {`{"topic":"scene.set","data":{}}`, topics, []string{"scene.set"}, "",
			`event "scene.set" was already emitted this turn and is recorded. Do not emit it again; continue with the task.`, ""},
		"2 unknown topic": {`{"topic":"dice.roll"}`, topics, nil, sdk.Refused,
			`unknown topic "dice.roll"; no active plugin consumes it, so it cannot be emitted. Do not retry it. Available topics: music.cue, scene.set`, ""},
		"2 no topics": {`{"topic":"dice.roll"}`, nil, nil, sdk.Refused,
			`unknown topic "dice.roll"; no active plugin consumes it, so it cannot be emitted. Do not retry it. Available topics: (none — no consumer plugin active)`, ""},
		"3 payload does not fit": {`{"topic":"scene.set","data":{"name":5}}`, topics, nil, sdk.InvalidInput, "event payload rejected: name: expected a string, got a number", ""},
		"3 checked by the pattern": {`{"topic":"scene.set","data":{"name":"灯1"}}`, topics, nil, sdk.InvalidInput,
			`event payload rejected: name: "灯1" does not match the pattern ^\p{Letter}+$`, ""},
		"4 emitted":       {`{"topic":"scene.set","data":{"name":"灯塔"}}`, topics, nil, "", `event "scene.set" emitted and recorded for this turn. Do not emit it again.`, `{"name":"灯塔"}`},
		"4 without data":  {`{"topic":"music.cue"}`, topics, nil, "", `event "music.cue" emitted and recorded for this turn. Do not emit it again.`, `{}`},
		"4 data as text":  {`{"topic":"music.cue","data":"{\"mood\":\"calm\"}"}`, topics, nil, "", `event "music.cue" emitted and recorded for this turn. Do not emit it again.`, `{"mood":"calm"}`},
		"no object":       {`{"topic":"music.cue","data":[1]}`, topics, nil, sdk.InvalidInput, `The arguments of "emit-event" do not fit: data: expected an object, got an array.`, ""},
		"topic of a kind": {`{"topic":5}`, topics, nil, sdk.InvalidInput, `The arguments of "emit-event" do not fit: topic: expected a string, got a number.`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := builtin(EmitEvent, c.args, nil)
			one.Topics, one.Emitted = c.topics, c.emitted
			r := run(t, one)
			if c.code != "" {
				if r.Err == nil || r.Err.Code != c.code || r.Err.Message != c.text || r.Refused != (c.code == sdk.Refused) {
					t.Errorf("got %v refused=%v\nwant %s", r.Err, r.Refused, c.text)
				}
				return
			}
			if got := summary(t, r); got != c.text {
				t.Errorf("got %s", got)
			}
			var want []sdk.EmittedEvent
			if c.data != "" {
				want = []sdk.EmittedEvent{{Topic: strings.Split(c.args, `"`)[3], Data: json.RawMessage(c.data)}}
			}
			if diff := cmp.Diff(want, r.Events); diff != "" {
				t.Error(diff)
			}
			if staged := strings.Contains(r.Envelope, `"staged":{"count":1,"kinds":["event"]`); staged != (c.data != "") || r.Proposals != nil {
				t.Errorf("an event is staged and never a proposal as well: %s", r.Envelope)
			}
		})
	}
}

// seed: tools.txt, "The model-facing topic schema is an enum of this session's advertised topics".
func TestOfferEmitEvent(t *testing.T) {
	made, _ := Builtin(EmitEvent)
	for name, c := range map[string]struct {
		topics []Topic
		want   string
	}{
		"none": {nil, string(eventParameters)},
		"one": {topics[:1], `{"properties":{"data":{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"},` +
			`"topic":{"description":"Event topic.","enum":["scene.set"],"type":"string"}},"required":["topic"],"type":"object"}`},
		"two": {topics, `{"properties":{"data":{"anyOf":[{"title":"music.cue","type":"object"},{"properties":{"name":{"type":"string"}},"required":["name"],"title":"scene.set","type":"object"}]},` +
			`"topic":{"description":"Event topic.","enum":["music.cue","scene.set"],"type":"string"}},"required":["topic"],"type":"object"}`},
		"references are plain objects": {[]Topic{{Topic: "a.b", Schema: json.RawMessage(`{"properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{}}}`)}},
			`{"properties":{"data":{"type":"object"},"topic":{"description":"Event topic.","enum":["a.b"],"type":"string"}},"required":["topic"],"type":"object"}`},
		"unreadable schemas too": {[]Topic{{Topic: "a.b", Schema: json.RawMessage(`{`)}},
			`{"properties":{"data":{"type":"object"},"topic":{"description":"Event topic.","enum":["a.b"],"type":"string"}},"required":["topic"],"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := Offer(made, Session{Topics: c.topics})
			var got, want any
			if err := json.Unmarshal(o.Parameters, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// seed: tools.txt, "Regular expressions with Unicode property escapes".
func TestUnicodePatternsLeaveTheOffer(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"properties":{"a":{"type":"string","pattern":"^\\p{L}+$","minLength":1},"pattern":{"type":"string","pattern":"^[a-z]$"}}}`,
			`{"properties":{"a":{"type":"string","minLength":1},"pattern":{"type":"string","pattern":"^[a-z]$"}}}`},
		{`{"patternProperties":{"^\\P{L}$":{"type":"string"},"^x$":{}},"items":[{"pattern":"\\p{Han}"}]}`, `{"patternProperties":{"^x$":{}},"items":[{}]}`},
		{`{"properties":{"properties":{"pattern":"\\p{L}"}}}`, `{"properties":{"properties":{}}}`},
		{`{"pattern":"^a$"}`, `{"pattern":"^a$"}`},
	} {
		if got := string(ModelSchema(json.RawMessage(c.in))); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	type named struct {
		Name string `json:"name" jsonschema:"pattern=^\\p{Letter}+$" describe:"Letters only."`
	}
	made := sdk.MustDefine(sdk.Tool{Name: "name-it", Description: "Name it."}, func(_ context.Context, a named, _ *sdk.Runtime) (sdk.ToolResult, error) {
		return sdk.ToolResult{Content: a.Name}, nil
	})
	if o := Offer(made, Session{}); strings.Contains(string(o.Parameters), "pattern") || o.Name != "name-it" || o.Description != "Name it." {
		t.Errorf("offer %+v", o)
	}
	if r := run(t, call(made, `{"name":"龙胆1"}`)); r.Err == nil || r.Err.Code != sdk.InvalidInput {
		t.Errorf("the pattern is not checked: %+v", r)
	}
	if r := run(t, call(made, `{"name":"龙胆"}`)); r.Err != nil {
		t.Error(r.Err)
	}
}

// What is offered to a model must be a schema by itself.
func TestEveryBuiltinSchemaCompiles(t *testing.T) {
	for name, made := range builtins {
		o := Offer(made, Session{Topics: topics})
		if _, err := schema.Compile(o.Parameters); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range []string{"$ref", "$defs", `"additionalProperties":true`} {
			if strings.Contains(string(o.Parameters), word) {
				t.Errorf("%s: the schema contains %s", name, word)
			}
		}
		if err := sdk.CheckTool(made); err != nil {
			t.Error(err)
		}
	}
	if !slices.IsSorted(FrameworkToolNames) {
		t.Error("the names are not sorted")
	}
}

package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

func number(n float64) *float64 { return &n }

// lowWater is a world with a schema and two people.
func lowWater() sdk.World {
	return sdk.World{
		Schema: sdk.CharacterSchema{Version: 2, Types: []string{"npc", "companion"}, Attributes: []sdk.AttributeDef{
			{ID: "hp", Name: "HP", Type: sdk.AttrNumber, Min: number(0), Max: number(100)},
			{ID: "灵根", Name: "灵根", Type: sdk.AttrEnum, Options: []string{"水", "火"}},
			{ID: "bag", Name: "Bag", Type: sdk.AttrArray, ItemType: "string"},
		}},
		Characters: []sdk.Character{
			{ID: "npc-1", Name: "龙胆", Aliases: []string{"E\u0301lodie", "摆渡人"}, Type: "npc", Description: "撑船的人", Fields: json.RawMessage(`{"hp":60,"secret":{"n":9007199254740991,"t":"<b>"}}`), Version: 3},
			{ID: "pc", Name: "陆青云", Type: PlayerType, Version: 1},
		},
	}
}

func upsert(payload string) sdk.Proposal {
	return sdk.Proposal{Type: "character.upsert", Payload: json.RawMessage(payload)}
}

func schemaSet(payload string) sdk.Proposal {
	return sdk.Proposal{Type: "character.schema.set", Payload: json.RawMessage(payload)}
}

// sheet is a character as one line.
func sheet(w sdk.World, id string) string {
	c, ok := sdk.CharacterByID(w.Characters, id)
	if !ok {
		return "nobody"
	}
	return fmt.Sprintf("%s %q %s %q %s v%d", c.Name, c.Aliases, c.Type, c.Description, c.Fields, c.Version)
}

// "An update with expectedVersion: shallow-merges object fields, keeps the fields that did not change, and adds one to the
// current version. An empty description string can clear the old description. fields is null as a whole: clears the
// attributes. A null value inside an object stays as it is. An upsert without expectedVersion: a full replacement. Old fields
// that are left out are not kept." (seed: tools.txt, "Which data is read")
func TestUpsert(t *testing.T) {
	for _, c := range []struct {
		name, payload, id, want string
	}{
		{"merge", `{"id":"npc-1","name":"whatever","fields":{"hp":50,"mood":"沉默"},"expectedVersion":3}`, "npc-1",
			`龙胆 ["Élodie" "摆渡人"] npc "撑船的人" {"hp":50,"mood":"沉默","secret":{"n":9007199254740991,"t":"<b>"}} v4`},
		{"merge is shallow", `{"id":"npc-1","name":"x","fields":{"secret":{"a":1}},"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人" {"hp":60,"secret":{"a":1}} v4`},
		{"null inside stays", `{"id":"npc-1","name":"x","fields":{"secret":null},"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人" {"hp":60,"secret":null} v4`},
		{"null as a whole clears", `{"id":"npc-1","name":"x","fields":null,"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人"  v4`},
		{"no fields keep", `{"id":"npc-1","name":"x","expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人" {"hp":60,"secret":{"n":9007199254740991,"t":"<b>"}} v4`},
		{"an older version composes", `{"id":"npc-1","name":"x","fields":null,"expectedVersion":1}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人"  v4`},
		{"empty description clears", `{"id":"npc-1","name":"x","description":"","fields":null,"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc ""  v4`},
		{"null description keeps", `{"id":"npc-1","name":"x","description":null,"fields":null,"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人"  v4`},
		{"name and type stay", `{"id":"npc-1","name":"别人","type":"companion","fields":null,"expectedVersion":3}`, "npc-1", `龙胆 ["Élodie" "摆渡人"] npc "撑船的人"  v4`},
		{"aliases are replaced", `{"id":"npc-1","name":"x","aliases":["船夫"," 船夫 ","龙胆","“”"],"fields":null,"expectedVersion":3}`, "npc-1", `龙胆 ["船夫"] npc "撑船的人"  v4`},
		{"aliases are cleared", `{"id":"npc-1","name":"x","aliases":[],"fields":null,"expectedVersion":3}`, "npc-1", `龙胆 [] npc "撑船的人"  v4`},
		{"fields on none", `{"id":"pc","name":"x","fields":{"hp":1},"expectedVersion":1}`, "pc", `陆青云 [] player "" {"hp":1} v2`},

		{"replacement", `{"id":"npc-1","name":" 新名 ","fields":{"hp":1}}`, "npc-1", `新名 [] npc "" {"hp":1} v1`},
		{"replacement with a version", `{"id":"npc-1","name":"新名","type":"companion","description":"x","version":7}`, "npc-1", `新名 [] companion "x"  v7`},
		{"a new one", `{"id":"npc-2","name":"Mara","aliases":["The  Mara","Mo"],"fields":null}`, "npc-2", `Mara ["Mo"] npc ""  v1`},
		{"an undeclared key is kept", `{"id":"npc-2","name":"Mara","fields":{"constructor":{"x":[1.50]},"__proto__":1}}`, "npc-2", `Mara [] npc "" {"constructor":{"x":[1.50]},"__proto__":1} v1`},
		{"a second player", `{"id":"pc-2","name":"🐉","type":"player"}`, "pc-2", `🐉 [] player ""  v1`},
		{"its own name again", `{"id":"npc-1","name":"龙胆","aliases":["E\u0301lodie"]}`, "npc-1", `龙胆 ["Élodie"] npc ""  v1`},
		{"unclean text", `{"id":"npc-2","name":"Ma\u0000ra","description":"\ud800"}`, "npc-2", "Ma\uFFFDra [] npc \"\uFFFD\"  v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := lowWater()
			got, err := Apply(before, upsert(c.payload))
			if err != nil {
				t.Fatal(err)
			}
			if s := sheet(got, c.id); s != strings.ReplaceAll(c.want, "Élodie", "E\u0301lodie") {
				t.Errorf("\n got %s\nwant %s", s, c.want)
			}
			if printed(before) != printed(lowWater()) {
				t.Error("the view it was given has changed")
			}
		})
	}
}

// Rule TP:631: characters and their schema change by proposals only, which the kernel validates.
// Rule REF:plugins.md §13.2: a character's type and fields are held against the session's schema.
func TestRefusedWrites(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      sdk.Proposal
		reason string
	}{
		{"no id", upsert(`{"name":"x"}`), "id and name must not be empty"},
		{"no name", upsert(`{"id":"x","name":"  "}`), "id and name must not be empty"},
		{"a name of quotes", upsert(`{"id":"x","name":"「」"}`), "nothing to call somebody by"},
		{"not the version", upsert(`{"id":"npc-1","name":"x","expectedVersion":4}`), `character "npc-1" is at version 3, the change expects 4`},
		{"nobody to change", upsert(`{"id":"nobody","name":"x","expectedVersion":1}`), `character "nobody" does not exist`},
		{"unknown type", upsert(`{"id":"x","name":"x","type":"怪物"}`), `has type "怪物"; the types are player, npc, companion`},
		{"number out of range", upsert(`{"id":"npc-1","name":"x","fields":{"hp":101},"expectedVersion":3}`), `character "龙胆": hp: must be at most 100, got 101`},
		{"text for a number", upsert(`{"id":"x","name":"x","fields":{"hp":"60"}}`), `hp: must be a finite number`},
		{"null for a number", upsert(`{"id":"npc-1","name":"x","fields":{"hp":null},"expectedVersion":3}`), `hp: must be a finite number, got null`},
		{"not an option", upsert(`{"id":"x","name":"x","fields":{"灵根":"风"}}`), `灵根: must be one of "水", "火", got "风"`},
		{"an item of the wrong type", upsert(`{"id":"x","name":"x","fields":{"bag":["rope",1]}}`), `bag[1]: must be a string`},
		{"fields are a list", upsert(`{"id":"x","name":"x","fields":[1]}`), `fields must be an object`},
		{"fields become a text", upsert(`{"id":"npc-1","name":"x","fields":"none","expectedVersion":3}`), `fields must be an object`},
		{"a name that is taken", upsert(`{"id":"x","name":"陆青云"}`), `"陆青云" is already a name of 陆青云`},
		{"an alias that is taken", upsert(`{"id":"x","name":"x","aliases":["摆 渡人","摆渡人"]}`), `"摆渡人" is already a name of 龙胆`},
		{"the composed form of an alias", upsert(`{"id":"x","name":"the ÉLODIE"}`), `"the ÉLODIE" is already a name of 龙胆`},
		{"a patch that takes a name", upsert(`{"id":"pc","name":"x","aliases":["龙胆"],"expectedVersion":1}`), `"龙胆" is already a name of 龙胆`},
		{"a version that is none", upsert(`{"id":"x","name":"x","version":-1}`), "version -1 is no version"},
		{"a version too large", upsert(`{"id":"x","name":"x","version":4294967296}`), "version 4294967296 is no version"},
		{"an unknown key", upsert(`{"id":"x","name":"x","hp":1}`), `unknown field "hp"`},
		{"two values", upsert(`{"id":"x","name":"x"} {}`), "payload: "},
		{"null", upsert(`null`), "payload: must be an object"},
		{"nothing", upsert(``), "payload: "},
		{"a list", upsert(`[]`), "payload: must be an object"},
		{"not JSON", upsert(`{`), "payload: "},
		{"a number that loses digits", upsert(`{"id":"x","name":"x","fields":{"a":[{"龙":9007199254740993}]}}`), "payload.fields.a[0].龙: 9007199254740993 is beyond ±2^53"},

		{"schema: null", schemaSet(`null`), "must be an object"},
		{"schema: version", schemaSet(`{"types":["npc"],"attributes":[],"version":3}`), "unknown field"},
		{"schema: player", schemaSet(`{"types":["npc"," Player "]}`), `types: "Player" is empty, reserved or named twice`},
		{"schema: empty type", schemaSet(`{"types":[" "]}`), `types: "" is empty, reserved or named twice`},
		{"schema: a type twice", schemaSet(`{"types":["npc"," npc"]}`), `types: "npc" is empty, reserved or named twice`},
		{"schema: attribute without id", schemaSet(`{"attributes":[{"id":"","type":"string"}]}`), `attributes[0].id: "" is empty or named twice`},
		{"schema: attribute twice", schemaSet(`{"attributes":[{"id":"a","type":"string"},{"id":"a","type":"number"}]}`), `attributes[1].id: "a" is empty or named twice`},
		{"schema: unknown attribute type", schemaSet(`{"attributes":[{"id":"a","type":"text"}]}`), `attributes[0].type: "text" is none of string`},
		{"schema: min above max", schemaSet(`{"attributes":[{"id":"a","type":"number","min":2,"max":1}]}`), `attributes[0]: min is above max`},
		{"schema: inside", schemaSet(`{"attributes":[{"id":"a","type":"object","subSchema":[{"id":"b","type":"x"}]}]}`), `attributes[0].subSchema[0].type: "x"`},
		{"schema: a character's type is gone", schemaSet(`{"types":["companion"]}`), `character "龙胆" has type "npc"`},
		{"schema: a character's value does not fit", schemaSet(`{"attributes":[{"id":"hp","type":"string"}]}`), `character "龙胆": hp: must be a string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(lowWater(), c.p)
			var rejection *Rejection
			if !errors.As(err, &rejection) || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("got %v, want …%s…", err, c.reason)
			}
			if printed(got) != printed(lowWater()) {
				t.Error("a refused write changed the view")
			}
		})
	}
}

func TestSchema(t *testing.T) {
	w, err := Apply(lowWater(), schemaSet(`{"types":[" npc ","妖"],"attributes":[{"id":"hp","name":"HP","type":"number","category":"stats","max":80}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if w.Schema.Version != 3 || fmt.Sprint(w.Schema.Types) != "[npc 妖]" || len(w.Schema.Attributes) != 1 || *w.Schema.Attributes[0].Max != 80 {
		t.Errorf("schema %+v", w.Schema)
	}
	w, err = Apply(sdk.World{}, schemaSet(`{}`))
	if err != nil || w.Schema.Version != 1 || fmt.Sprint(w.Schema.Types) != "[npc companion]" {
		t.Errorf("a schema that names no types: %+v (%v)", w.Schema, err)
	}
	w, err = Apply(sdk.World{}, upsert(`{"id":"x","name":"x","type":"anything","fields":{"hp":"much"}}`))
	if err != nil || len(w.Characters) != 1 {
		t.Errorf("without a schema everything fits: %v", err)
	}
}

func TestOtherProposalsLeaveTheWorldAlone(t *testing.T) {
	for _, p := range []sdk.Proposal{{Type: "plugin.data", Payload: json.RawMessage(`{`)}, {Type: "lorebook.upsert"}, {}} {
		if w, err := Apply(lowWater(), p); err != nil || printed(w) != printed(lowWater()) {
			t.Errorf("%s: %v", p.Type, err)
		}
	}
}

// Rule TP:650: what a run has staged is in its view, in order; what is not valid never is. The view of a run is the fold of what is acceptable, in order.
func TestOverlay(t *testing.T) {
	w := Overlay(lowWater(), []sdk.Proposal{
		upsert(`{"id":"npc-2","name":"Mara"}`), upsert(`{"id":"npc-3","name":"mara"}`), upsert(`{"id":"npc-2","name":"x","fields":{"hp":5},"expectedVersion":1}`),
		upsert(`{"id":"npc-2","name":"x","fields":{"hp":500},"expectedVersion":2}`), schemaSet(`{"types":[]}`), upsert(`{"id":"npc-4","name":"Ольга","type":"妖"}`),
	})
	if got := sheet(w, "npc-2"); got != `Mara [] npc "" {"hp":5} v2` {
		t.Error(got)
	}
	if sheet(w, "npc-3") != "nobody" || sheet(w, "npc-4") != "nobody" || w.Schema.Version != 3 {
		t.Errorf("%+v", w)
	}
}

// Whatever is asked: one name is one person, everybody fits the schema, versions rise, and a refused write changes nothing.
func TestAnyWrites(t *testing.T) {
	names := rapid.SampledFrom([]string{"龙胆", "Élodie", "E\u0301lodie", "the Elodie", "“Mara”", "ＭＡＲＡ", "Ольга", "🐉", "", "  "})
	rapid.Check(t, func(t *rapid.T) {
		w := lowWater()
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			up := map[string]any{"id": rapid.SampledFrom([]string{"a", "b", "npc-1", "pc"}).Draw(t, "id"), "name": names.Draw(t, "name")}
			if rapid.Bool().Draw(t, "aliases") {
				up["aliases"] = rapid.SliceOfN(names, 0, 3).Draw(t, "alias")
			}
			if rapid.Bool().Draw(t, "patch") {
				up["expectedVersion"] = rapid.IntRange(0, 5).Draw(t, "expected")
			}
			if rapid.Bool().Draw(t, "type") {
				up["type"] = rapid.SampledFrom([]string{"npc", "player", "妖"}).Draw(t, "type")
			}
			if rapid.Bool().Draw(t, "fields") {
				up["fields"] = rapid.SampledFrom([]any{nil, map[string]any{"hp": 5}, map[string]any{"hp": 500}, map[string]any{"x": nil}, 7}).Draw(t, "fields")
			}
			payload, _ := json.Marshal(up)
			before := printed(w)
			next, err := Apply(w, upsert(string(payload)))
			if printed(w) != before {
				t.Fatal("the view it was given has changed")
			}
			if err != nil {
				if printed(next) != before {
					t.Fatalf("refused (%v), but changed", err)
				}
				continue
			}
			w = next
			owners := map[string]string{}
			for _, c := range w.Characters {
				if err := checkCharacter(w.Schema, c); err != nil {
					t.Fatalf("%s does not fit: %v", c.ID, err)
				}
				if c.Version < 1 || sdk.NameKey(c.Name) == "" {
					t.Fatalf("character %+v", c)
				}
				keys := map[string]bool{}
				for _, n := range append([]string{c.Name}, c.Aliases...) {
					k := sdk.NameKey(n)
					if owner := owners[k]; owner != "" && owner != c.ID || keys[k] {
						t.Fatalf("%q names %s and %s", n, owner, c.ID)
					}
					owners[k], keys[k] = c.ID, true
				}
			}
		}
	})
}

func FuzzApply(f *testing.F) {
	for _, p := range []string{`{"id":"npc-1","name":"龙胆","fields":{"hp":1},"expectedVersion":3}`, `{"types":["a"],"attributes":[{"id":"a","type":"map","valueType":"number"}]}`, `{"id":"\ud800","name":"\u0000"}`, "\xff", `{"fields":1e999}`} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		for _, p := range []sdk.Proposal{upsert(payload), schemaSet(payload)} {
			w, err := Apply(lowWater(), p)
			if err != nil {
				continue
			}
			for _, c := range w.Characters {
				if len(c.Fields) > 0 && !json.Valid(c.Fields) {
					t.Errorf("fields of %s: %q", c.ID, c.Fields)
				}
			}
		}
	})
}

package sdk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNameKey(t *testing.T) {
	tests := []struct{ why, a, b string }{
		{"case", "Ilse Marrow", "ILSE marrow"},
		{"decomposed accents", "Élodie", "E\u0301lodie"},
		{"full width", "ＡＩ", "ai"},
		{"middle dots", "让·保罗", "让・保罗"},
		{"half-width middle dot", "让･保罗", "让•保罗"},
		{"apostrophes", "O’Hara", "O'Hara"},
		{"acute as apostrophe", "O´Hara", "Oʼhara"},
		{"quotes", "“陆青云”", "陆青云"},
		{"corner quotes and ideographic space", "　「龙胆」 ", "龙胆"},
		{"inner white space", "Old\t \u00a0Pim", "old pim"},
		{"leading the", "The Lamplighter", "lamplighter"},
		{"capital without composed form", "J\u030cim", "\u01f0im"},
		{"invalid UTF-8 is one replacement", "a\xff", "a\ufffd"},
	}
	for _, tt := range tests {
		if NameKey(tt.a) != NameKey(tt.b) {
			t.Errorf("%s: %q and %q have the keys %q and %q", tt.why, tt.a, tt.b, NameKey(tt.a), NameKey(tt.b))
		}
	}
	differ := []struct{ why, a, b string }{
		{"titles stay", "Dr. Vane", "Vane"},
		{"honorifics stay", "陆青云先生", "陆青云"},
		{"the inside stays", "Wat the Reed", "Wat Reed"},
		{"the as a whole name stays", "The", ""},
		{"joined emoji", "👩‍👩‍👧", "👩👩👧"},
	}
	for _, tt := range differ {
		if NameKey(tt.a) == NameKey(tt.b) {
			t.Errorf("%s: %q and %q share the key %q", tt.why, tt.a, tt.b, NameKey(tt.a))
		}
	}
	if got := NameKey(" “” "); got != "" {
		t.Errorf("key of quotes only = %q, want empty", got)
	}
}

func cast() []Character {
	return []Character{
		{ID: "npc-keeper-ysolde", Name: "守灯人伊索德", Aliases: []string{"伊索德", "守灯人"}},
		{ID: "npc-a", Name: "Maud"},
		{ID: "npc-b", Name: "maud"},
		{ID: "npc-elodie", Name: "Élodie Marsh", Aliases: []string{"The Reed"}},
		{ID: "npc-lu", Name: "陆青云"},
	}
}

func TestResolveCharacter(t *testing.T) {
	tests := []struct {
		why, query       string
		partial          bool
		id, by           string
		candidates, near int
	}{
		{"id first", "npc-b", false, "npc-b", MatchedByID, 0, 0},
		{"name", "陆青云", false, "npc-lu", MatchedByName, 0, 0},
		{"decomposed name", "e\u0301lodie marsh", false, "npc-elodie", MatchedByName, 0, 0},
		{"alias", "「守灯人」", false, "npc-keeper-ysolde", MatchedByAlias, 0, 0},
		{"alias without the", "reed", false, "npc-elodie", MatchedByAlias, 0, 0},
		{"two of one name", "MAUD", false, "", "", 2, 0},
		{"part of a name is not enough for a write", "Élodie", false, "", "", 0, 1},
		{"part of a name is enough for a read", "Élodie", true, "npc-elodie", MatchedByPartial, 0, 0},
		{"name inside the query", "ask Élodie Marsh", true, "npc-elodie", MatchedByPartial, 0, 0},
		{"a part of two names resolves nothing", "mau", true, "", "", 0, 2},
		{"likeness only suggests", "伊索尔德", true, "", "", 0, 1},
		{"nobody", "Zz", true, "", "", 0, 0},
		{"empty", " “” ", true, "", "", 0, 0},
	}
	for _, tt := range tests {
		r := ResolveCharacter(cast(), tt.query, tt.partial)
		id := ""
		if r.Found() {
			id = r.Character.ID
		}
		if id != tt.id || r.MatchedBy != tt.by || len(r.Candidates) != tt.candidates || len(r.Closest) != tt.near {
			t.Errorf("%s: %q → id %q by %q, %d candidates, %d closest; want %q %q %d %d", tt.why, tt.query,
				id, r.MatchedBy, len(r.Candidates), len(r.Closest), tt.id, tt.by, tt.candidates, tt.near)
		}
		if (r.Problem() == "") != r.Found() {
			t.Errorf("%s: found %v but problem %q", tt.why, r.Found(), r.Problem())
		}
	}
}

func TestResolveCharacterProblem(t *testing.T) {
	tests := []struct{ query, want string }{
		{"伊索尔德", `Character "伊索尔德" not found. Closest known names: 守灯人伊索德 (aka 伊索德, 守灯人). If it is one of them, use that name.`},
		{"Maud", `"Maud" names 2 characters: Maud [npc-a]; maud [npc-b]. Pass the id of the one you mean.`},
		{"Zz", `Character "Zz" not found. Known names: 守灯人伊索德 (aka 伊索德, 守灯人), Maud, maud, Élodie Marsh (aka The Reed), 陆青云.`},
	}
	for _, tt := range tests {
		if got := ResolveCharacter(cast(), tt.query, false).Problem(); got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.query, got, tt.want)
		}
	}
	many := make([]Character, 40)
	for i := range many {
		many[i] = Character{ID: strings.Repeat("i", i+1), Name: string(rune('一' + i))}
	}
	if got := strings.Count(ResolveCharacter(many, "qq", false).Problem(), ","); got != maxNamesInError-1 {
		t.Errorf("%d commas in the list of known names, want %d", got, maxNamesInError-1)
	}
	if got := ResolveCharacter(nil, "qq", false).Problem(); got != `Character "qq" not found. There are no characters yet.` {
		t.Errorf("empty cast: %s", got)
	}
}

func TestNameOwner(t *testing.T) {
	if c, ok := NameOwner(cast(), " 守灯人 ", ""); !ok || c.ID != "npc-keeper-ysolde" {
		t.Errorf("owner of an alias = %q, %v", c.ID, ok)
	}
	if c, ok := NameOwner(cast(), "陆青云", "npc-lu"); ok {
		t.Errorf("a character owns its own name against itself: %q", c.ID)
	}
	if c, ok := NameOwner([]Character{{ID: "x", Name: "”"}}, "“", ""); ok {
		t.Errorf("the empty key has an owner: %q", c.ID)
	}
}

// A key is valid text, stable under the marks a writer may add, and every character answers to its own names.
func TestNameProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.SampledFrom([]rune("aAÉe\u0301 ·・'’“龙胆陆青ＡＩʼthe🐉\u200d\u3000"))).Draw(t, "name")
		key := NameKey(name)
		if !utf8.ValidString(key) || strings.TrimSpace(key) != key {
			t.Fatalf("key %q of %q", key, name)
		}
		if got := NameKey("「 " + name + " 」"); got != key {
			t.Fatalf("quoted: %q, plain: %q", got, key)
		}
		one := []Character{{ID: "id-1", Name: name}}
		r := ResolveCharacter(one, name, false)
		if r.Found() != (key != "") {
			t.Fatalf("%q with key %q: found %v", name, key, r.Found())
		}
	})
}

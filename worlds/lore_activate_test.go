package worlds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

func selective(id string, keys ...string) sdk.LorebookEntry {
	return sdk.LorebookEntry{ID: id, Keys: keys, Strategy: Selective, Content: "…"}
}

// Fault case BL-06: the whole kind.
// Rule REF:plugins.md §18.7: Latin keys match whole words, Chinese characters end a word; other keys are substrings; case makes no difference.
func TestKeysInAllScripts(t *testing.T) {
	tests := []struct {
		key, text string
		fires     bool
	}{
		{"龙胆", "我看见龙胆来了", true},
		{"龙胆", "龙 胆", false},
		{"Ольга", "Ольга пришла", true},
		{"Ольга", "ольга, привет", true},
		{"Ольг", "Ольга пришла", false},
		{"#hello", "say #hello", true},
		{"#hello", "say#hello!", true},
		{"#hello", "#helloworld", false},
		{"AI", "Maine", false},
		{"AI", "the AI's reply", true},
		{"AI", "ai", true},
		{"AI", "AI2", false},
		{"AI", "我用AI写信", true},
		{"ＡＩ", "the AI", true},
		{"AI", "这是ＡＩ吗", true},
		{"ＡＩ", "Maine", false},
		{"Élodie", "E\u0301lodie smiles", true},
		{"E\u0301lodie", "élodie", true},
		{"Elodie", "Élodie", false},
		{"caf", "cafe\u0301", false},
		{"cafe", "cafe\u0301", false},
		{"용담", "용담이 왔다", true},
		{"ねこ", "このねこはねる", true},
		{"มังกร", "เห็นมังกรแล้ว", true},
		{"🐉", "a🐉b", true},
		{"old mill", "the Old\n\t Mill", true},
		{"old mill", "oldmill", false},
		{"the Eleven", "THE ELEVEN!", true},
		{"C++", "I like C++.", true},
		{"C++", "C++11", true},
		{"..", "wait...", true},
		{"100", "1000", false},
		{"", "anything", false},
		{"  ", "any thing", false},
		{strings.Repeat("长", MaxKeyRunes), strings.Repeat("长", 500), true},
		{strings.Repeat("长", MaxKeyRunes+1), strings.Repeat("长", 500), false},
	}
	for _, tt := range tests {
		got := Activate([]sdk.LorebookEntry{selective("e", tt.key)}, tt.text, nil)
		if (len(got) == 1) != tt.fires {
			t.Errorf("key %q in %q fires: %v, want %v", clip(tt.key, 20), clip(tt.text, 20), len(got) == 1, tt.fires)
		}
	}
}

// Rule REF:plugins.md §18.7: constant entries always; selective ones by a key in the player's message or the last scanDepth messages; by insertionOrder, then id.
func TestActivationRules(t *testing.T) {
	off, on := false, true
	book := []sdk.LorebookEntry{
		{ID: "z-const", Strategy: Constant, InsertionOrder: 5},
		{ID: "bare"}, // no strategy is constant
		{ID: "off", Strategy: Constant, Enabled: &off},
		{ID: "on", Strategy: Constant, Enabled: &on, InsertionOrder: -1},
		{ID: "a-bell", Strategy: Selective, Keys: []string{"gong", "bell"}, InsertionOrder: 5},
		{ID: "off-bell", Strategy: Selective, Keys: []string{"bell"}, Enabled: &off},
		{ID: "keyless", Strategy: Selective},
		{ID: "deep", Strategy: Selective, Keys: []string{"heron", "eel"}, Extra: map[string]any{"scanDepth": 2.0}, InsertionOrder: 9},
		{ID: "shallow", Strategy: Selective, Keys: []string{"heron"}, Extra: map[string]any{"scanDepth": 1}, InsertionOrder: 9},
		{ID: "odd-depth", Strategy: Selective, Keys: []string{"heron"}, Extra: map[string]any{"scanDepth": "many"}},
	}
	got := Activate(book, "The BELL rings.", []string{"an eel", "a heron, an eel", "nothing"})
	var lines []string
	for _, a := range got {
		lines = append(lines, a.Entry.ID+": "+a.Reason())
	}
	want := []string{
		"on: constant",
		"bare: constant",
		`a-bell: key "bell" in the player's message`,
		"z-const: constant",
		`deep: key "heron", messages back: 2`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("activated\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	// The newest place counts, also when an earlier key occurs further back.
	got = Activate(book[7:8], "an eel", []string{"a heron"})
	if len(got) != 1 || got[0].Key != "eel" || got[0].MessagesBack != 0 {
		t.Errorf("newest place: %+v", got)
	}
	if got := Activate(nil, "x", nil); len(got) != 0 {
		t.Errorf("an empty book told %v", got)
	}
}

// hugeBook is BL-07's book: 5,000 entries of three keys, in both languages, many with the same beginning.
func hugeBook() []sdk.LorebookEntry {
	var book []sdk.LorebookEntry
	for i := range 5_000 {
		e := selective(fmt.Sprintf("e%05d", i), fmt.Sprintf("place %d", i), fmt.Sprintf("龙胆%d号", i), strings.Repeat("place ", i%15)+"x")
		e.Extra = map[string]any{"scanDepth": float64(MaxScanDepth)}
		book = append(book, e)
	}
	return book
}

func TestHugeBook(t *testing.T) {
	history := make([]string, 2_000)
	for i := range history {
		history[i] = strings.Repeat("place ", 300)
	}
	history[1_999] = "they went to place 17 and 龙胆4999号花开了"
	got := Activate(hugeBook(), "place 4242?", history)
	var found []string
	for _, a := range got {
		found = append(found, a.Entry.ID+fmt.Sprint(a.MessagesBack))
	}
	if !slices.Equal(found, []string{"e000171", "e042420", "e049991"}) {
		t.Errorf("found %v", found)
	}
	// The text looked at is bounded; the newest goes first.
	long := strings.Repeat("龙", maxScanRunes)
	if got := Activate([]sdk.LorebookEntry{selective("e", "end")}, long+" end", nil); len(got) != 0 {
		t.Error("text past the bound was looked at")
	}
}

func BenchmarkHugeBook(b *testing.B) {
	book, history := hugeBook(), make([]string, 2_000)
	for i := range history {
		history[i] = strings.Repeat("the place by the lake ", 20)
	}
	for b.Loop() {
		Activate(book, "place 4242?", history)
	}
}

// naiveFires tells by plain search whether a key occurs as the rule says.
func naiveFires(key, text string) bool {
	k, s := []rune(foldLore(key)), []rune(foldLore(text))
	word := func(r rune) bool {
		letter := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		return letter && !unicode.In(r, unspaced...)
	}
	for i := 0; len(k) > 0 && i+len(k) <= len(s); i++ {
		if !slices.Equal(s[i:i+len(k)], k) {
			continue
		}
		freeBefore := i == 0 || !word(k[0]) || !word(s[i-1])
		freeAfter := i+len(k) == len(s) || !word(k[len(k)-1]) || !word(s[i+len(k)])
		if freeBefore && freeAfter {
			return true
		}
	}
	return false
}

func TestActivationAgainstANaiveModel(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aAiIｉé\u0301e #龙胆のねЖж1 .\n🐉")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		book := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sdk.LorebookEntry {
			e := sdk.LorebookEntry{
				ID:             rapid.StringMatching("[a-c]{1,2}").Draw(t, "id"),
				Keys:           rapid.SliceOfN(text, 0, 3).Draw(t, "keys"),
				Strategy:       rapid.SampledFrom([]string{Constant, Selective, Selective, Selective}).Draw(t, "strategy"),
				InsertionOrder: rapid.IntRange(0, 2).Draw(t, "order"),
				Extra:          map[string]any{"scanDepth": float64(rapid.IntRange(0, 3).Draw(t, "depth"))},
			}
			if rapid.IntRange(0, 4).Draw(t, "enabled") == 0 {
				off := false
				e.Enabled = &off
			}
			return e
		}), 0, 6).Draw(t, "book")
		message, history := text.Draw(t, "message"), rapid.SliceOfN(text, 0, 4).Draw(t, "history")

		var want []string
		for _, e := range book {
			if e.Enabled != nil {
				continue
			}
			if e.Strategy == Constant {
				want = append(want, fmt.Sprintf("%d %s constant", e.InsertionOrder, e.ID))
				continue
			}
			texts := append([]string{message}, reversed(history)...)
			for back, s := range texts[:min(len(texts), 1+scanDepth(e))] {
				if i := slices.IndexFunc(e.Keys, func(k string) bool { return naiveFires(k, s) }); i >= 0 {
					want = append(want, fmt.Sprintf("%d %s %q %d", e.InsertionOrder, e.ID, e.Keys[i], back))
					break
				}
			}
		}
		slices.SortStableFunc(want, func(a, b string) int { // order and id only: equal ones keep the book's order
			cut := func(s string) string { return strings.Join(strings.SplitN(s, " ", 3)[:2], " ") }
			return strings.Compare(cut(a), cut(b))
		})
		var got []string
		for _, a := range Activate(book, message, history) {
			if a.Key == "" {
				got = append(got, fmt.Sprintf("%d %s constant", a.Entry.InsertionOrder, a.Entry.ID))
				continue
			}
			got = append(got, fmt.Sprintf("%d %s %q %d", a.Entry.InsertionOrder, a.Entry.ID, a.Key, a.MessagesBack))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("activated %q, want %q", got, want)
		}
	})
}

func reversed(list []string) []string {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

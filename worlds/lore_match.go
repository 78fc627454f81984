package worlds

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxScanRunes bounds the text one activation looks at, newest first; of a longer message the beginning counts. With
// MaxKeyRunes it bounds the work, whatever the number of entries: at most one look-up per rune and length of key.
const maxScanRunes = 200_000

// foldLore is how text and keys are compared: NFKC (full-width ＡＩ is AI, decomposed é is é), lower case, every run of
// white space one space.
func foldLore(s string) string {
	s = strings.ToLower(norm.NFKC.String(cleanText(s)))
	return norm.NFKC.String(strings.Join(strings.Fields(s), " "))
}

// unspaced are the scripts in which a word has no space around it, or, like Korean, carries its particles: a key may
// begin and end anywhere in them.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// spacedScript says whether r is a letter, mark or digit of a script that puts spaces between words. Where a key begins
// or ends with such a rune, no such rune may touch it: "ai" does not occur in "maine". Other keys (#hello, 龙胆, 🐉) may
// begin or end anywhere.
func spacedScript(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unicode.In(r, unspaced...)
}

// keyIndex finds many keys in a text in one pass: by the first rune of a key, the lengths that keys beginning so have.
type keyIndex struct {
	keys    map[string]bool
	lengths map[rune][]int // in runes
}

// add takes a folded key. Empty keys and those longer than MaxKeyRunes are left out.
func (x *keyIndex) add(key string) {
	runes := []rune(key)
	if len(runes) == 0 || len(runes) > MaxKeyRunes || x.keys[key] {
		return
	}
	if x.keys == nil {
		x.keys, x.lengths = map[string]bool{}, map[rune][]int{}
	}
	x.keys[key] = true
	if first := runes[0]; !slices.Contains(x.lengths[first], len(runes)) {
		x.lengths[first] = append(x.lengths[first], len(runes))
	}
}

// scan tells for each key that occurs how many messages back it occurs last: 0 is the current message, and at most depth
// messages of the history are looked at.
func (x *keyIndex) scan(message string, history []string, depth int) map[string]int {
	newest := map[string]int{}
	budget := maxScanRunes
	for back := 0; back <= min(depth, len(history)) && budget > 0; back++ {
		text := message
		if back > 0 {
			text = history[len(history)-back]
		}
		// A rune is at most four bytes: what is cut here would not be looked at anyway.
		runes := []rune(foldLore(text[:min(len(text), 4*budget)]))
		runes = runes[:min(len(runes), budget)]
		budget -= len(runes)
		x.find(runes, func(key string) {
			if _, seen := newest[key]; !seen {
				newest[key] = back
			}
		})
	}
	return newest
}

func (x *keyIndex) find(text []rune, found func(key string)) {
	for i, first := range text {
		if i > 0 && spacedScript(first) && spacedScript(text[i-1]) {
			continue // inside a word
		}
		for _, n := range x.lengths[first] {
			end := i + n
			if end > len(text) || (end < len(text) && spacedScript(text[end-1]) && spacedScript(text[end])) {
				continue
			}
			if key := string(text[i:end]); x.keys[key] {
				found(key)
			}
		}
	}
}

package charcreator

import (
	"strings"
	"unicode"
)

// maxOverlap bounds how many words or characters of a repetition are looked for.
const maxOverlap = 32

// overlap gives the words with which a ends and b begins, "" when there are none. Words are compared without regard to
// case. In scripts without spaces two characters in common are a repetition; a single one only where it is a common
// closing or joining character, because reduplication is ordinary Chinese.
func overlap(a, b string) string {
	if s := characterOverlap(a, b); s != "" {
		return s
	}
	return wordOverlap(a, b)
}

// repeatable are single characters that writers double by accident: a template ends in them or starts with them, and so
// does the value.
const repeatable = "人者师族城镇村派门宗家国的是在了于为从名位个里中"

func characterOverlap(a, b string) string {
	left, right := []rune(strings.TrimRightFunc(a, unicode.IsSpace)), []rune(strings.TrimLeftFunc(b, unicode.IsSpace))
	for n := min(len(left), len(right), maxOverlap); n >= 1; n-- {
		end, start := string(left[len(left)-n:]), string(right[:n])
		if end != start || !unspaced(end) {
			continue
		}
		if n > 1 || strings.Contains(repeatable, end) {
			return end
		}
	}
	return ""
}

// unspaced says whether the text is written in a script that has no spaces between words.
func unspaced(s string) bool {
	for _, r := range s {
		if !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			return false
		}
	}
	return s != ""
}

func wordOverlap(a, b string) string {
	// Without a space or a mark between them the two are one word.
	if endsInWord(a) && startsInWord(b) {
		return ""
	}
	left, right := strings.Fields(a), strings.Fields(b)
	for n := min(len(left), len(right), maxOverlap); n >= 1; n-- {
		if sameWords(left[len(left)-n:], right[:n]) {
			return bare(strings.Join(right[:n], " "))
		}
	}
	return ""
}

func endsInWord(s string) bool {
	r := []rune(s)
	return len(r) > 0 && isWordRune(r[len(r)-1])
}

func startsInWord(s string) bool {
	for _, r := range s {
		return isWordRune(r)
	}
	return false
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// sameWords compares words without regard to case. A mark between the two, as in "keeper, keeper", is still a repetition;
// a sentence that ends between them is not.
func sameWords(left, right []string) bool {
	for i := range left {
		if strings.ContainsAny(left[i], ".!?;:") {
			return false
		}
		l, r := bare(left[i]), bare(right[i])
		if l == "" || !strings.EqualFold(l, r) {
			return false
		}
	}
	return true
}

func bare(word string) string {
	return strings.TrimFunc(word, func(r rune) bool { return !isWordRune(r) })
}

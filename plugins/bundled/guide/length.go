package guide

import (
	"fmt"
	"unicode"
)

// size is how long a text is as a reader feels it: by words in scripts with spaces, by characters in Chinese, Japanese and
// Korean. Punctuation, spaces and emoji do not count.
type size struct {
	words int
	cjk   int
}

func sizeOf(text string) size {
	var s size
	inWord := false
	for _, r := range text {
		switch {
		case isCJK(r):
			s.cjk++
			inWord = false
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if !inWord {
				s.words++
			}
			inWord = true
		case unicode.IsMark(r), r == '\'', r == '’', r == '-', r == '‐':
			// part of the word it stands in, never a word of its own
		default:
			inWord = false
		}
	}
	return s
}

func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// limits of a text: in words for scripts with spaces, in characters for the others. A text that mixes both is measured by
// the second pair, each foreign word counting as one character.
type limits struct {
	minWords, maxWords int
	minCJK, maxCJK     int
}

// problem says in what way text breaks the limits, "" when it does not.
func (l limits) problem(text string) string {
	n, least, most, unit := 0, l.minWords, l.maxWords, "words"
	if s := sizeOf(text); s.cjk > 0 {
		n, least, most, unit = s.cjk+s.words, l.minCJK, l.maxCJK, "characters"
	} else {
		n = s.words
	}
	switch {
	case n == 0:
		return "has no words"
	case n < least || n > most:
		return fmt.Sprintf("has %d %s, expected %d to %d", n, unit, least, most)
	}
	return ""
}

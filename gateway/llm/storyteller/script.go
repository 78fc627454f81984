package storyteller

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tongue is a language the storyteller can write.
type tongue uint8

// There are two. A locale that is neither is answered in English.
const (
	english tongue = iota
	chinese
)

func (t tongue) String() string {
	if t == chinese {
		return "zh"
	}
	return "en"
}

// tongueOf maps a locale to a language: every zh-… is Chinese, all else English.
func tongueOf(locale string) tongue {
	l := strings.ToLower(strings.TrimSpace(locale))
	if l == "zh" || strings.HasPrefix(l, "zh-") || strings.HasPrefix(l, "zh_") {
		return chinese
	}
	return english
}

func isHan(r rune) bool { return r >= 0x2e80 && unicode.Is(unicode.Han, r) }

// scripts counts the letters of a text by what they are written in.
type scripts struct{ han, latin, other int }

func scriptsOf(s string) scripts {
	var n scripts
	for _, r := range s {
		switch {
		case r < 0x80:
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				n.latin++
			}
		case isHan(r):
			n.han++
		case unicode.Is(unicode.Latin, r):
			n.latin++
		case unicode.IsLetter(r):
			n.other++
		}
	}
	return n
}

// speaks tells whether a piece of text reads as the language t. Names in the other script are allowed in it, sentences
// are not: that is what keeps an English line out of a Chinese story and the other way round.
func speaks(t tongue, s string) bool {
	n := scriptsOf(s)
	total := n.han + n.latin + n.other
	if total == 0 || n.other*5 > total {
		return false
	}
	if t == chinese {
		return n.han*2 >= n.latin && n.han > 0 && longestLatinRun(s) < 5
	}
	return n.latin >= n.han*3
}

// longestLatinRun counts the words of the longest stretch of Latin words that no Han character interrupts.
func longestLatinRun(s string) int {
	longest, run, inWord := 0, 0, false
	for _, r := range s {
		switch {
		case isHan(r):
			run, inWord = 0, false
		case unicode.Is(unicode.Latin, r) || r == '\'' || r == '’' || r == '-':
			if !inWord {
				run, inWord = run+1, true
			}
		default:
			inWord = false
		}
		longest = max(longest, run)
	}
	return longest
}

// guessTongue is for requests without a [LANGUAGE] line.
func guessTongue(s string) tongue {
	n := scriptsOf(s)
	if n.han > 0 && n.han*2 >= n.latin {
		return chinese
	}
	return english
}

// clip cuts s after at most n runes.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }

// firstRune and lastRune give utf8.RuneError for an empty text.
func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

func lastRune(s string) rune { r, _ := utf8.DecodeLastRuneInString(s); return r }

// upperFirst and lowerFirst change the case of the first letter and nothing else.
func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || !unicode.IsLower(r) {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || !unicode.IsUpper(r) {
		return s
	}
	return string(unicode.ToLower(r)) + s[n:]
}

// wordsOf cuts s into words: runs of letters, digits and inner apostrophes or hyphens.
func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '\'' || r == '’' || r == '-')
	})
}

package storyteller

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Memory does not keep what it said: the story itself is in the request. A text counts as told when runs of its words
// ("grams") stand in the story. That works for lore sentences, for the storyteller's own phrases and for text that
// another model wrote.

// gramLength is how many tokens make a gram: words in English, characters in Chinese.
func gramLength(t tongue) int {
	if t == chinese {
		return 5
	}
	return 4
}

const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// tokens appends a hash for every word and every Han character of s. Case, punctuation and apostrophes do not count.
func tokens(into []uint64, s string) []uint64 {
	h := uint64(fnvBasis)
	open := false
	flush := func() {
		if open {
			into = append(into, h)
			h, open = fnvBasis, false
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			case 'A' <= c && c <= 'Z':
				c |= 0x20
			case c == '\'':
				continue
			default:
				flush()
				continue
			}
			h, open = (h^uint64(c))*fnvPrime, true
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '’':
		case isHan(r):
			flush()
			into = append(into, (fnvBasis^uint64(r))*fnvPrime)
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
			h, open = (h^uint64(unicode.ToLower(r)))*fnvPrime, true
		default:
			flush()
		}
	}
	flush()
	return into
}

func gramAt(toks []uint64, i, n int) uint64 {
	h := uint64(fnvBasis)
	for _, t := range toks[i : i+n] {
		h = (h ^ t ^ t>>29) * fnvPrime
	}
	return h
}

// gramsOf gives the grams by which a text is recognised: its first, its middle and its last. A text shorter than one
// gram has none and is never recognised.
func gramsOf(t tongue, s string) []uint64 {
	toks := tokens(nil, s)
	n := gramLength(t)
	last := len(toks) - n
	switch {
	case last < 0:
		return nil
	case last == 0:
		return []uint64{gramAt(toks, 0, n)}
	case last < 4:
		return []uint64{gramAt(toks, 0, n), gramAt(toks, last, n)}
	}
	return []uint64{gramAt(toks, 1, n), gramAt(toks, last/2, n), gramAt(toks, last, n)}
}

// sentenceKey identifies a sentence however it is punctuated.
func sentenceKey(s string) uint64 {
	toks := tokens(nil, s)
	if len(toks) == 0 {
		return 0
	}
	return gramAt(toks, 0, len(toks))
}

// chinesePairs are all Han characters and pairs of neighbouring ones, without those that only hold a sentence together.
func chinesePairs(s string) []string {
	var out []string
	prev := rune(0)
	for _, r := range s {
		if !isHan(r) || strings.ContainsRune(stopChinese, r) {
			prev = 0
			continue
		}
		out = append(out, string(r))
		if prev != 0 {
			out = append(out, string([]rune{prev, r}))
		}
		prev = r
	}
	return out
}

const stopChinese = `我们上下里中外大小人事时候天年月日话知道觉得现在这样那样盏扇封本条张把只件座口块位的了是在我你他她它们这那有和与也就都而及着过吗呢吧啊么之其被把对向从到给让又再还只不没很要想会能可去来看问说什怎为谁哪几多少个一些`

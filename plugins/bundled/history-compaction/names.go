package historycompaction

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/covel/covel/plugins/sdk"
)

// maxNamesTokens bounds the list of names in a request.
const maxNamesTokens = 256

// namesIn gives the names of the world's people as a text spells them, one for each, who comes first in it first.
func namesIn(people []sdk.Character, text string) []string {
	type seen struct {
		name string
		at   int
	}
	var found []seen
	for _, c := range people {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if at := find(text, name); at >= 0 {
				found = append(found, seen{name, at})
				break
			}
		}
	}
	slices.SortStableFunc(found, func(a, b seen) int { return cmp.Compare(a.at, b.at) })
	var out []string
	for _, f := range found {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// find gives where a name first stands in a text, -1 when it does not. Names of scripts with spaces are whole words.
func find(text, name string) int {
	if name = strings.TrimSpace(name); name == "" {
		return -1
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(name):])
		first, _ := utf8.DecodeRuneInString(name)
		last, _ := utf8.DecodeLastRuneInString(name)
		if !goesOn(before, first) && !goesOn(last, after) {
			return i
		}
		from = i + len(name)
	}
}

// goesOn says whether two characters beside each other are within one word. Chinese, Japanese and Korean have no such words.
func goesOn(a, b rune) bool { return inWord(a) && inWord(b) }

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// within joins as many names as fit into so many tokens.
func within(names []string, tokens int) string {
	out := ""
	for _, n := range names {
		next := n
		if out != "" {
			next = out + ", " + n
		}
		if sdk.EstimateTokens(next) > tokens {
			break
		}
		out = next
	}
	return out
}

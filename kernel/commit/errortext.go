package commit

import (
	"strings"
	"unicode"

	"github.com/covel/covel/kernel/text"
)

// maxErrorText is how much of an error is kept, in characters. Errors quote providers, who may echo anything.
const maxErrorText = 500

// errorText is an error as it is stored and shown: valid text on one line, without control characters, not too long.
func errorText(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text.Clean(s))), " ")
	if runes := []rune(s); len(runes) > maxErrorText {
		return string(runes[:maxErrorText]) + "…"
	}
	return s
}

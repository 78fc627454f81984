// Package border is what text needs at the edge of the house beside kernel/text, which makes it clean: reading a JSON string
// without losing what a Cleaner could still join, and cleaning the escapes inside a text that is itself JSON.
package border

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/covel/covel/kernel/text"
)

// replacement is U+FFFD as a JSON escape.
const replacement = `\ufffd`

// JSON is the second cleaner of a text that is itself JSON (tool arguments, a structured answer): escapes for U+0000 and
// for lone surrogates become the escape of U+FFFD, so that whoever decodes the JSON finds clean text too. Everything
// else, malformed JSON included, passes unchanged. It expects clean text (text.Cleaner). The zero value is ready.
type JSON struct {
	held string // an escape whose rest may still come
}

// Write takes the next piece and returns what is certain by now.
func (j *JSON) Write(piece string) string {
	if j.held == "" && strings.IndexByte(piece, '\\') < 0 {
		return piece
	}
	out, rest := cleanEscapes(j.held+piece, false)
	j.held = rest
	return out
}

// Flush returns what was held back.
func (j *JSON) Flush() string {
	out, _ := cleanEscapes(j.held, true)
	j.held = ""
	return out
}

// CleanJSON does both for a text that is complete, whether it is well-formed JSON or not.
func CleanJSON(s string) string {
	out, _ := cleanEscapes(text.Clean(s), true)
	return out
}

func cleanEscapes(s string, last bool) (string, string) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, ""
	}
	var out strings.Builder
	out.Grow(len(s))
	for s != "" {
		start := strings.IndexByte(s, '\\')
		if start < 0 {
			out.WriteString(s)
			return out.String(), ""
		}
		out.WriteString(s[:start])
		s = s[start:]
		unit, ok := unitEscape(s)
		switch {
		case !ok && !last && mayBecomeUnit(s):
			return out.String(), s
		case !ok:
			size := min(2, len(s)) // a two-character escape, or nothing JSON knows
			out.WriteString(s[:size])
			s = s[size:]
		case unit == 0:
			out.WriteString(replacement)
			s = s[6:]
		case !utf16.IsSurrogate(unit):
			out.WriteString(s[:6])
			s = s[6:]
		default:
			low, paired := unitEscape(s[6:])
			if paired && isHigh(unit) && utf16.IsSurrogate(low) && !isHigh(low) {
				out.WriteString(s[:12])
				s = s[12:]
				continue
			}
			if !paired && !last && isHigh(unit) && mayBecomeUnit(s[6:]) {
				return out.String(), s
			}
			out.WriteString(replacement)
			s = s[6:]
		}
	}
	return out.String(), ""
}

// unitEscape reads \uXXXX at the beginning of s.
func unitEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(unit), err == nil
}

// mayBecomeUnit reports whether s is a proper beginning of \uXXXX, the empty one included.
func mayBecomeUnit(s string) bool {
	if len(s) >= 6 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 0 && c != '\\', i == 1 && c != 'u':
			return false
		case i > 1 && !isHex(c):
			return false
		}
	}
	return true
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

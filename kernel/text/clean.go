// Package text keeps text clean at the border: what a model, a player or a file wrote becomes valid UTF-8 without lone
// surrogates and without U+0000, once, so that the same text is streamed, stored, projected and exported (decisions:
// "Text"). Nothing else is changed: no normalisation, no trimming.
package text

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/covel/covel/internal/plainjson"
)

const replacement = "\uFFFD"

// Clean replaces every byte that is no UTF-8, every lone surrogate (three bytes) and every U+0000 by U+FFFD, and joins the
// halves of a surrogate pair to their character. Clean text comes back as it is, without a copy.
func Clean(s string) string {
	var c Cleaner
	return c.Write(s) + c.Close()
}

// Cleaner cleans text that arrives in pieces, which may be cut inside a character. The pieces it returns add up to
// Clean of the whole, however the whole was cut. The zero value is ready; a copy is an independent Cleaner.
type Cleaner struct {
	Pending []byte `json:"pending,omitempty"` // the first bytes of a character that is not complete yet, at most 5
}

// Write cleans the next piece.
func (c *Cleaner) Write(chunk string) string {
	if len(c.Pending) == 0 && isClean(chunk) {
		return chunk
	}
	out, rest := clean(string(c.Pending)+chunk, false)
	c.Pending = nil
	if rest != "" {
		c.Pending = []byte(rest)
	}
	return out
}

// Close ends the text: what is still pending can no longer become a character.
func (c *Cleaner) Close() string {
	out, _ := clean(string(c.Pending), true)
	c.Pending = nil
	return out
}

// clean gives the clean text of s and what must wait for more. At the end of a text nothing waits.
func clean(s string, end bool) (out, rest string) {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if size > 1 || r != utf8.RuneError { // a character; U+FFFD itself has three bytes
			if r == 0 {
				b.WriteString(replacement)
			} else {
				b.WriteString(s[:size])
			}
			s = s[size:]
			continue
		}
		first, complete := surrogate(s)
		if !end && !complete || !end && first == 0 && !utf8.FullRuneInString(s) {
			return b.String(), s
		}
		if first == 0 {
			b.WriteString(replacement)
			s = s[1:]
			continue
		}
		second, complete := surrogate(s[3:])
		if !end && isHigh(first) && !complete {
			return b.String(), s
		}
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			b.WriteRune(pair)
			s = s[6:]
			continue
		}
		b.WriteString(replacement)
		s = s[3:]
	}
	return b.String(), ""
}

// surrogate reads a surrogate in its three-byte form, 0 when s does not begin with one. It is not complete when more
// bytes could still make it one.
func surrogate(s string) (r rune, complete bool) {
	for i, limits := range [3][2]byte{{0xED, 0xED}, {0xA0, 0xBF}, {0x80, 0xBF}} {
		if i == len(s) {
			return 0, false
		}
		if s[i] < limits[0] || s[i] > limits[1] {
			return 0, true
		}
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }

func isClean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// CleanJSON compacts a JSON value and cleans its strings, also those that hide U+0000 or lone surrogates in escapes. The
// value itself stays the same: numbers keep their digits. An error means that raw is not JSON.
func CleanJSON(raw []byte) (json.RawMessage, error) {
	s := Clean(string(raw))
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(s)); err != nil {
		return nil, err
	}
	if !hasSuspectEscape(compact.String()) {
		return compact.Bytes(), nil
	}
	dec := json.NewDecoder(&compact)
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil { // turns lone surrogates into U+FFFD
		return nil, err
	}
	return plainjson.Marshal(cleanValue(v))
}

func hasSuspectEscape(s string) bool {
	return strings.Contains(s, `\u0000`) || strings.Contains(s, `\ud`) || strings.Contains(s, `\uD`)
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if key := Clean(k); clean[key] == nil { // of keys that become equal the first stays
				clean[key] = cleanValue(v[k])
			}
		}
		return clean
	}
	return v
}

// Cut gives at most n bytes of a text, whole characters, with a mark where something is missing.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// A Fix is one row of the table in seed tools.txt, "Malformed argument JSON from the model".
type Fix string

// The rows, in the order they are tried. Each is tried on the text as the model wrote it; they do not stack.
const (
	NotNeeded          Fix = ""
	ExtraClosing       Fix = "extra closing brackets at the end"
	UnescapedQuotes    Fix = "quotes inside a string value not escaped"
	ElementNotClosed   Fix = "an array element starts before the previous one closes"
	MismatchedBrackets Fix = "closing brackets do not match the open ones"
	DoubledOpening     Fix = "an object's opening written twice"
	OpenAtEnd          Fix = "an open bracket left at the end" // text fields only
)

// maxExtraClosing is how many brackets after a complete value are taken for a typo.
const maxExtraClosing = 4

// Repair gives valid JSON for text that is JSON or has exactly one of the known typos. Valid JSON comes back unchanged,
// byte for byte. What was cut off or has any other error is not guessed at: the error says where it is wrong.
func Repair(text string) (fixed string, fix Fix, err error) {
	return repair(text, false)
}

// RepairField is Repair for JSON text inside a field. The arguments around it parsed, so the text is as long as the model
// meant it, and brackets that are open at its end are closed.
func RepairField(text string) (fixed string, fix Fix, err error) {
	return repair(text, true)
}

func repair(text string, field bool) (string, Fix, error) {
	if valid(text) {
		return text, NotNeeded, nil
	}
	rows := []struct {
		fix  Fix
		edit func(string) []string // candidates, to be tried in order
	}{
		{ExtraClosing, one(dropExtraClosing)},
		{UnescapedQuotes, one(escapeInnerQuotes)},
		{ElementNotClosed, one(closeElements)},
		{MismatchedBrackets, matchBrackets},
		{DoubledOpening, one(dropDoubledOpening)},
	}
	for _, row := range rows {
		for _, fixed := range row.edit(text) {
			if valid(fixed) {
				return fixed, row.fix, nil
			}
		}
	}
	if field {
		if fixed, ok := closeAtEnd(text); ok && valid(fixed) {
			return fixed, OpenAtEnd, nil
		}
	}
	return "", NotNeeded, syntaxError(text)
}

func valid(text string) bool { return json.Valid([]byte(text)) }

func one(edit func(string) (string, bool)) func(string) []string {
	return func(text string) []string {
		if fixed, ok := edit(text); ok {
			return []string{fixed}
		}
		return nil
	}
}

// dropExtraClosing: the value before the brackets is complete, so that taking them away changes none of its content.
func dropExtraClosing(text string) (string, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	if d.Decode(&v) != nil {
		return "", false
	}
	end := d.InputOffset()
	extra := 0
	for _, r := range text[end:] {
		switch {
		case r == ']' || r == '}':
			extra++
		case !isSpace(r):
			return "", false
		}
	}
	return text[:end], extra >= 1 && extra <= maxExtraClosing
}

// escapeInnerQuotes: a quote that ends a string may be followed only by , } ] : or the end of the text. Another quote in a
// value is part of it, when such quotes come in pairs with text between them. Key names are never changed.
func escapeInnerQuotes(text string) (string, bool) {
	var out strings.Builder
	s := scanner{text: text}
	changed := false
	for s.at < len(text) {
		start := s.at
		if text[s.at] != '"' {
			s.step()
			out.WriteString(text[start:s.at])
			continue
		}
		if s.atKey() {
			if !s.skipString() {
				return "", false
			}
			out.WriteString(text[start:s.at])
			continue
		}
		value, escaped, ok := s.looseString()
		if !ok {
			return "", false
		}
		changed = changed || escaped
		out.WriteString(value)
	}
	return out.String(), changed
}

// looseString reads a value string by the pair rule, from its opening quote on.
func (s *scanner) looseString() (value string, escaped, ok bool) {
	var out strings.Builder
	out.WriteByte('"')
	s.at++
	open := -1 // offset in out after the first quote of a pair
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\' && s.at+1 < len(s.text):
			out.WriteString(s.text[s.at : s.at+2])
			s.at += 2
		case c != '"':
			out.WriteByte(c)
			s.at++
		case endsString(s.text[s.at+1:]):
			s.at++
			s.valueDone()
			out.WriteByte('"')
			return out.String(), escaped, open < 0
		default:
			if open >= 0 && strings.TrimSpace(out.String()[open:]) == "" {
				return "", false, false // "a" "b": a missing comma, not a pair
			}
			out.WriteString(`\"`)
			s.at++
			escaped = true
			if open < 0 {
				open = out.Len()
			} else {
				open = -1
			}
		}
	}
	return "", false, false
}

func endsString(rest string) bool {
	rest = strings.TrimLeft(rest, jsonSpace)
	return rest == "" || strings.IndexByte(",}]:", rest[0]) >= 0
}

// closeElements: inside an object only a key name may follow a comma. A { there, after a field that is an object, is the
// next element of the array around, and the } before the comma is missing.
func closeElements(text string) (string, bool) {
	var out strings.Builder
	s := scanner{text: text}
	changed := false
	last := byte(0) // the last character that is not space
	for s.at < len(text) {
		start := s.at
		if text[s.at] == ',' && last == '}' && s.inside('{') && s.parent('[') && strings.HasPrefix(strings.TrimLeft(text[s.at+1:], jsonSpace), "{") {
			out.WriteByte('}')
			s.pop()
			changed = true
		}
		if text[s.at] == '"' {
			if !s.skipString() {
				return "", false
			}
		} else {
			s.step()
		}
		out.WriteString(text[start:s.at])
		if c := text[s.at-1]; !isSpace(rune(c)) {
			last = c
		}
	}
	return out.String(), changed
}

// matchBrackets gives up to two texts: one without each } that stands where no object is open, and one whose last bracket
// is replaced by the one that fits. Neither changes a value or adds text that was not there.
func matchBrackets(text string) []string {
	var dropped strings.Builder
	s := scanner{text: text}
	changed := false
	lastAt, lastWants := -1, byte(0)
	for s.at < len(text) {
		start := s.at
		switch c := text[s.at]; c {
		case '"':
			if !s.skipString() {
				return nil
			}
		case '}', ']':
			lastAt, lastWants = s.at, s.closing()
			if c == '}' && !s.inside('{') {
				s.at++
				changed = true
				continue
			}
			s.step()
		default:
			s.step()
		}
		dropped.WriteString(text[start:s.at])
	}
	var out []string
	if changed {
		out = append(out, dropped.String())
	}
	// When the last bracket was dropped above, the stack still holds what it should have closed.
	if lastAt >= 0 && lastWants != 0 && text[lastAt] != lastWants && strings.TrimRight(text[lastAt+1:], jsonSpace) == "" {
		out = append(out, text[:lastAt]+string(lastWants)+text[lastAt+1:])
	}
	return out
}

// dropDoubledOpening: valid JSON never has {"{" in front of a key name.
func dropDoubledOpening(text string) (string, bool) {
	var out strings.Builder
	s := scanner{text: text}
	changed := false
	for s.at < len(text) {
		if strings.HasPrefix(text[s.at:], `{"{"`) {
			s.at += len(`{"`)
			changed = true
			continue
		}
		start := s.at
		if text[s.at] == '"' {
			if !s.skipString() {
				return "", false
			}
		} else {
			s.step()
		}
		out.WriteString(text[start:s.at])
	}
	return out.String(), changed
}

// closeAtEnd closes what is open at the end of the text.
func closeAtEnd(text string) (string, bool) {
	s := scanner{text: text}
	for s.at < len(text) {
		if text[s.at] == '"' {
			if !s.skipString() {
				return "", false
			}
		} else {
			s.step()
		}
	}
	if len(s.stack) == 0 {
		return "", false
	}
	var out strings.Builder
	out.WriteString(strings.TrimRight(text, jsonSpace))
	for len(s.stack) > 0 {
		out.WriteByte(s.closing())
		s.pop()
	}
	return out.String(), true
}

// scanner walks through JSON-like text and knows which brackets are open and whether a string would be a key.
type scanner struct {
	text  string
	at    int
	stack []byte // open brackets
	key   bool   // inside an object: the next string is a key
}

const jsonSpace = " \t\r\n"

func isSpace(r rune) bool { return r < utf8.RuneSelf && strings.IndexByte(jsonSpace, byte(r)) >= 0 }

// step moves over one byte that is not part of a string.
func (s *scanner) step() {
	switch c := s.text[s.at]; c {
	case '{', '[':
		s.stack = append(s.stack, c)
		s.key = c == '{'
	case '}', ']':
		if s.closing() == c {
			s.pop()
		}
		s.key = false
	case ',':
		s.key = s.inside('{')
	case ':':
		s.key = false
	}
	s.at++
}

// skipString moves over a string; false when it does not end.
func (s *scanner) skipString() bool {
	for i := s.at + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			s.valueDone()
			return true
		}
	}
	return false
}

func (s *scanner) valueDone()         { s.key = false }
func (s *scanner) atKey() bool        { return s.key }
func (s *scanner) inside(c byte) bool { return len(s.stack) > 0 && s.stack[len(s.stack)-1] == c }
func (s *scanner) parent(c byte) bool { return len(s.stack) > 1 && s.stack[len(s.stack)-2] == c }
func (s *scanner) pop()               { s.stack = s.stack[:len(s.stack)-1] }

// closing is the bracket that closes the innermost open one, 0 when none is open.
func (s *scanner) closing() byte {
	switch {
	case s.inside('{'):
		return '}'
	case s.inside('['):
		return ']'
	}
	return 0
}

// syntaxError says why text is no JSON and where, with the text around the place.
func syntaxError(text string) error {
	var v json.RawMessage
	err := json.Unmarshal([]byte(text), &v)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return errors.New(err.Error())
	}
	// The offset points behind the character the parser stopped at.
	at := min(max(int(syntax.Offset)-1, 0), len(text))
	if strings.Contains(syntax.Error(), "unexpected end") {
		return errors.Errorf("the text ends before the value is complete, after %s", around(text, len(text)))
	}
	return errors.Errorf("%s at character %d, near %s", syntax.Error(), utf8.RuneCountInString(text[:at])+1, around(text, at))
}

// around quotes up to 20 characters on each side of a place.
func around(text string, at int) string {
	const side = 20
	left := []rune(strings.ToValidUTF8(text[:at], "�"))
	right := []rune(strings.ToValidUTF8(text[at:], "�"))
	if len(left) > side {
		left = append([]rune("…"), left[len(left)-side:]...)
	}
	if len(right) > side {
		right = append(right[:side:side], '…')
	}
	return fmt.Sprintf("«%s»", strings.ReplaceAll(string(left)+string(right), "\n", " "))
}

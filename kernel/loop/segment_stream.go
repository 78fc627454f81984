package loop

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/covel/covel/kernel/text"
)

// SegmentStream reads a story while it is being written and yields what the player may see of it. An answer that begins
// with a brace, or with a brace in a code fence, is JSON: only the text of its segments is yielded, with a blank line
// between segments. Any other answer is plain text and is yielded by paragraphs as it stands.
//
// The answer may be cut anywhere, inside characters and escapes too: what is yielded does not depend on the cuts, and is
// always a prefix of DeriveNarrative of the segments that ParseStory finds in the whole answer. White space is held back
// until something follows it, because the end of a segment drops it.
//
// The zero value is ready. It is a plain value: a copy goes on independently, also after serialisation.
type SegmentStream struct {
	Clean text.Cleaner `json:"clean,omitzero"`
	Scan  storyScanner `json:"scan,omitzero"`
	Out   proseWriter  `json:"out,omitzero"`
}

// Write reads the next piece of the answer and gives the text that became certain, often none.
func (s *SegmentStream) Write(chunk string) string {
	var yielded strings.Builder
	sink := streamSink{prose: &s.Out, to: &yielded}
	for _, r := range s.Clean.Write(chunk) {
		s.Scan.rune(r, &sink)
	}
	return yielded.String()
}

// proseWriter joins segments by blank lines and trims each, without looking ahead.
type proseWriter struct {
	Any     bool   `json:"any,omitempty"`     // something was written before
	Started bool   `json:"started,omitempty"` // the present segment has text
	Held    string `json:"held,omitempty"`    // white space that is written when text follows
}

func (p *proseWriter) rune(r rune, to *strings.Builder) {
	if unicode.IsSpace(r) {
		if p.Started {
			p.Held += string(r)
		}
		return
	}
	if !p.Started && p.Any {
		to.WriteString("\n\n")
	}
	p.Started, p.Any = true, true
	to.WriteString(p.Held)
	to.WriteRune(r)
	p.Held = ""
}

func (p *proseWriter) end() { p.Started, p.Held = false, "" }

// storySink takes what the scanner finds. Fields of a segment may come in any order, in pieces.
type storySink interface {
	field(f segmentField, r rune)
	endSegment()
}

type segmentField uint8

const (
	noField segmentField = iota
	textField
	kindField
	speakerField
)

type streamSink struct {
	prose *proseWriter
	to    *strings.Builder
}

func (s *streamSink) field(f segmentField, r rune) {
	if f == textField {
		s.prose.rune(r, s.to)
	}
}

func (s *streamSink) endSegment() { s.prose.end() }

// storyScanner recognises segments in clean text, one character at a time. It is no validator: outside of what it looks
// for it only keeps count of brackets and strings.
type storyScanner struct {
	Mode scanMode `json:"mode,omitempty"`
	Head string   `json:"head,omitempty"` // what has been read while the mode is open, at most maxHead bytes

	// plain text
	Newlines int  `json:"newlines,omitempty"` // in the present run of white space
	Ticks    int  `json:"ticks,omitempty"`    // back quotes at the start of a line
	MidLine  bool `json:"midLine,omitempty"`

	// JSON
	Level   jsonLevel    `json:"level,omitempty"`
	Skip    int          `json:"skip,omitempty"` // open brackets of a value that does not matter
	Quoted  bool         `json:"quoted,omitempty"`
	Use     stringUse    `json:"use,omitempty"` // what the present string is
	Field   segmentField `json:"field,omitempty"`
	Key     string       `json:"key,omitempty"`   // the key of the present member, as far as it may matter
	Value   bool         `json:"value,omitempty"` // after the colon
	Listed  bool         `json:"listed,omitempty"`
	Seen    uint8        `json:"seen,omitempty"` // fields the present segment has already given; the first one counts
	Escape  int          `json:"escape,omitempty"`
	Hex     rune         `json:"hex,omitempty"`
	HighSur rune         `json:"highSur,omitempty"` // first half of a surrogate pair
}

type scanMode uint8

const (
	openMode  scanMode = iota // not decided
	plainMode                 // paragraphs
	jsonMode
	overMode // the JSON value is complete, or a code fence began in plain text: nothing more is read
)

// jsonLevel is where the scanner stands, apart from values that do not matter.
type jsonLevel uint8

const (
	outside   jsonLevel = iota
	inRoot              // {
	inList              // {"segments":[
	inSegment           // {"segments":[{
)

type stringUse uint8

const (
	ignoredString stringUse = iota
	keyString
	fieldString
)

const (
	maxHead = 32
	maxKey  = len("segments") + 1 // a longer key is none of ours
)

func (s *storyScanner) rune(r rune, sink storySink) {
	switch s.Mode {
	case openMode:
		s.decide(r, sink)
	case plainMode:
		s.plain(r, sink)
	case jsonMode:
		s.json(r, sink)
	}
}

// decide reads white space and what may be a code fence until the first character that settles the mode.
func (s *storyScanner) decide(r rune, sink storySink) {
	if s.Head == "" && isLead(r) {
		return
	}
	if r == '{' && (s.Head == "" || isFence(s.Head)) {
		s.Mode, s.Head = jsonMode, ""
		s.json(r, sink)
		return
	}
	s.Head += string(r)
	if len(s.Head) <= maxHead && mayBeFence(s.Head) {
		return
	}
	head := s.Head
	s.Mode, s.Head = plainMode, ""
	for _, r := range head {
		s.rune(r, sink)
	}
}

// isFence: ```json, ``` or another short name, then white space.
func isFence(head string) bool {
	rest, ok := strings.CutPrefix(head, "```")
	return ok && strings.TrimSpace(strings.TrimLeftFunc(rest, isFenceName)) == ""
}

func mayBeFence(head string) bool { return strings.HasPrefix("```", head) || isFence(head) }

func isFenceName(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// plain splits paragraphs at blank lines. A code fence at the start of a line ends the story: no story holds one, and
// what follows may be the same story again as JSON.
func (s *storyScanner) plain(r rune, sink storySink) {
	if r == '`' && !s.MidLine {
		if s.Ticks++; s.Ticks == 3 {
			s.Mode = overMode
		}
		return
	}
	for ; s.Ticks > 0; s.Ticks-- {
		s.prose('`', sink)
	}
	switch {
	case r == '\n':
		s.MidLine = false
	case !unicode.IsSpace(r):
		s.MidLine = true
	}
	s.prose(r, sink)
}

func (s *storyScanner) prose(r rune, sink storySink) {
	switch {
	case r == '\n':
		s.Newlines++
	case !unicode.IsSpace(r):
		if s.Newlines >= 2 {
			sink.endSegment()
		}
		s.Newlines = 0
	}
	sink.field(textField, r)
}

func (s *storyScanner) json(r rune, sink storySink) {
	if s.Quoted {
		s.quoted(r, sink)
		return
	}
	if s.Skip > 0 {
		switch r {
		case '"':
			s.open(ignoredString, noField)
		case '{', '[':
			s.Skip++
		case '}', ']':
			s.Skip--
		}
		return
	}
	switch r {
	case '"':
		s.openString()
	case ':':
		s.Value = s.Level == inRoot || s.Level == inSegment
	case ',':
		s.Value, s.Key = false, ""
	case '{':
		switch s.Level {
		case outside:
			s.enter(inRoot)
		case inList:
			s.Seen = 0
			s.enter(inSegment)
		default:
			s.Skip++
		}
	case '[':
		if s.Level == inRoot && s.Value && s.Key == "segments" && !s.Listed {
			s.Listed = true
			s.enter(inList)
		} else {
			s.Skip++
		}
	case '}', ']':
		s.leave(sink)
	}
}

func (s *storyScanner) enter(l jsonLevel) { s.Level, s.Value, s.Key = l, false, "" }

func (s *storyScanner) leave(sink storySink) {
	switch s.Level {
	case inSegment:
		sink.endSegment()
		s.enter(inList)
	case inList:
		s.enter(inRoot)
	default:
		s.enter(outside)
		s.Mode = overMode
	}
}

func (s *storyScanner) openString() {
	if s.Level != inRoot && s.Level != inSegment {
		s.open(ignoredString, noField)
		return
	}
	if !s.Value {
		s.Key = ""
		s.open(keyString, noField)
		return
	}
	field := noField
	if s.Level == inSegment {
		field = fieldOf(s.Key)
	}
	if field == noField || s.Seen&(1<<field) != 0 {
		s.open(ignoredString, noField)
		return
	}
	s.Seen |= 1 << field
	s.open(fieldString, field)
}

func fieldOf(key string) segmentField {
	switch key {
	case "text":
		return textField
	case "kind":
		return kindField
	case "speaker":
		return speakerField
	}
	return noField
}

func (s *storyScanner) open(use stringUse, field segmentField) {
	s.Quoted, s.Use, s.Field = true, use, field
}

// quoted reads one character inside a string. Escape counts: 1 after the backslash, 2 to 5 before each hex digit.
func (s *storyScanner) quoted(r rune, sink storySink) {
	switch {
	case s.Escape == 1:
		s.Escape = 0
		switch r {
		case 'u':
			s.Escape, s.Hex = 2, 0
		case 'n':
			s.put('\n', sink)
		case 't':
			s.put('\t', sink)
		case 'r':
			s.put('\r', sink)
		case 'b':
			s.put('\b', sink)
		case 'f':
			s.put('\f', sink)
		default:
			s.put(r, sink)
		}
	case s.Escape > 1:
		s.Hex = s.Hex<<4 | hexDigit(r)
		if s.Escape++; s.Escape > 5 {
			s.Escape = 0
			s.unit(s.Hex, sink)
		}
	case r == '\\':
		s.Escape = 1
	case r == '"':
		s.flushHighSur(sink)
		s.Quoted = false
	default:
		s.put(r, sink)
	}
}

func hexDigit(r rune) rune {
	switch {
	case r >= '0' && r <= '9':
		return r - '0'
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10
	}
	return 0
}

// unit takes an escaped UTF-16 unit. Halves of a pair are joined, lone ones become U+FFFD.
func (s *storyScanner) unit(u rune, sink storySink) {
	if s.HighSur != 0 && u >= 0xDC00 && u <= 0xDFFF {
		r := utf16.DecodeRune(s.HighSur, u)
		s.HighSur = 0
		s.put(r, sink)
		return
	}
	s.flushHighSur(sink)
	if u >= 0xD800 && u <= 0xDBFF {
		s.HighSur = u
		return
	}
	s.put(u, sink)
}

func (s *storyScanner) flushHighSur(sink storySink) {
	if s.HighSur != 0 {
		s.HighSur = 0
		s.put(utf8.RuneError, sink)
	}
}

func (s *storyScanner) put(r rune, sink storySink) {
	s.flushHighSur(sink)
	if r == 0 || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	switch s.Use {
	case keyString:
		if len(s.Key) < maxKey {
			s.Key += string(r)
		}
	case fieldString:
		sink.field(s.Field, r)
	}
}

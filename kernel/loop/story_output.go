package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/covel/covel/kernel/text"
)

// Kinds of a segment.
const (
	Narration = "narration"
	Dialogue  = "dialogue"
	Action    = "action"
)

// Story is a final answer read as a story.
type Story struct {
	Segments []Segment
	// Object is the whole JSON object of the answer, compact; nil when the story is plain text.
	Object json.RawMessage
}

// StoryError says why an answer is no usable story, in words a model can act on.
type StoryError struct{ Problem string }

func (e *StoryError) Error() string { return e.Problem }

// ParseStory reads a final answer: a JSON object with segments, the same in a code fence, or plain paragraphs, which
// become narration. Segments without text are dropped, texts are trimmed. An answer without any text, or a JSON answer
// that is not complete, is a *StoryError; the segments that could be read are given nevertheless, so that the text of a
// cut-off answer can be kept.
func ParseStory(answer string) (Story, error) {
	answer = strings.TrimLeftFunc(text.Clean(answer), isLead)
	scan, segments := collect(answer)
	if !scan.isJSON() {
		if fenced, ok := fencedObject(answer); ok {
			if s, err := ParseStory(fenced); err == nil {
				return s, nil
			}
		}
		// Here a code fence is text like any other.
		segments = paragraphs(answer)
		if len(segments) == 0 {
			return Story{}, &StoryError{"the answer holds no story text"}
		}
		return Story{Segments: segments}, nil
	}
	object, err := text.CleanJSON(firstValue(answer))
	if err != nil {
		return Story{Segments: segments}, &StoryError{fmt.Sprintf("the answer is not a complete JSON object: %v", err)}
	}
	if len(segments) == 0 {
		return Story{Object: object}, &StoryError{`the answer has no text: it must be an object {"segments":[{"kind","text"}]} with at least one text that is not empty`}
	}
	return Story{Segments: segments, Object: object}, nil
}

// DeriveNarrative is the text of a story: the texts of its segments, joined by blank lines.
func DeriveNarrative(segments []Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, "\n\n")
}

// HasSegments: a story schema asks for segments.
func HasSegments(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Properties["segments"] != nil
}

// isLead: white space and byte order marks before the answer mean nothing.
func isLead(r rune) bool { return r == '\uFEFF' || unicode.IsSpace(r) }

// isJSON: the answer began as JSON. A JSON value that is complete leaves overMode without plain text before it.
func (s *storyScanner) isJSON() bool { return s.Mode == jsonMode || s.Mode == overMode && s.Ticks == 0 }

// collect scans a whole answer.
func collect(answer string) (storyScanner, []Segment) {
	var scan storyScanner
	var c collector
	for _, r := range answer {
		scan.rune(r, &c)
	}
	scan.flushHighSur(&c)
	c.endSegment() // of a cut-off answer
	return scan, c.segments
}

type collector struct {
	segments            []Segment
	text, kind, speaker strings.Builder
}

func (c *collector) field(f segmentField, r rune) {
	switch f {
	case textField:
		c.text.WriteRune(r)
	case kindField:
		c.kind.WriteRune(r)
	case speakerField:
		c.speaker.WriteRune(r)
	}
}

func (c *collector) endSegment() {
	if t := strings.TrimSpace(c.text.String()); t != "" {
		c.segments = append(c.segments, newSegment(c.kind.String(), t, c.speaker.String()))
	}
	c.text.Reset()
	c.kind.Reset()
	c.speaker.Reset()
}

// newSegment mends what can be mended: an unknown kind is dialogue when somebody speaks, else narration; narration has
// no speaker.
func newSegment(kind, txt, speaker string) Segment {
	s := Segment{Kind: kind, Text: txt, Speaker: strings.TrimSpace(speaker)}
	switch {
	case kind == Narration:
		s.Speaker = ""
	case kind == Dialogue || kind == Action:
	case s.Speaker != "":
		s.Kind = Dialogue
	default:
		s.Kind = Narration
	}
	return s
}

// paragraphs are what stands between blank lines.
func paragraphs(s string) []Segment {
	scan := storyScanner{Mode: plainMode}
	var c collector
	for _, r := range s {
		scan.prose(r, &c)
	}
	c.endSegment()
	return c.segments
}

// fencedObject finds a JSON object in a code fence that follows other text ("Here is the story: ```json {…} ```").
func fencedObject(s string) (string, bool) {
	for {
		i := strings.Index(s, "```")
		if i < 0 {
			return "", false
		}
		s = s[i+len("```"):]
		if body := strings.TrimSpace(strings.TrimLeftFunc(s, isFenceName)); strings.HasPrefix(body, "{") {
			return body, true
		}
	}
}

// firstValue is the first JSON value of an answer that began as JSON, without the fence around it and what follows; what
// is no JSON is given as it stands.
func firstValue(answer string) []byte {
	body := answer[strings.IndexByte(answer, '{'):]
	var v json.RawMessage
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&v); err == nil {
		return v
	}
	return []byte(body)
}

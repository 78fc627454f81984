package storyteller

import (
	"bytes"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
)

// answer writes the text of a reply: segments, another JSON value, or plain paragraphs.
func (s *Storyteller) answer(b *brief, req model.Request, seed uint64) string {
	if req.ResponseFormat == nil {
		return paragraphs(limited(s.passage(b, seed), req.MaxOutputTokens))
	}
	schema := parseSchema(req.ResponseFormat.Schema)
	if kinds, ok := storyFormat(schema); ok {
		segs := limited(s.passage(b, seed), req.MaxOutputTokens)
		text := segmentsJSON(segs, kinds, schema)
		if schema.valid([]byte(text)) {
			return text
		}
	}
	return string(newFiller(b, seed).fill(schema))
}

func (s *Storyteller) passage(b *brief, seed uint64) []*segment {
	w := s.shelf.world(b)
	return passage(w, remember(w, b), b, seed)
}

func paragraphs(segs []*segment) string {
	texts := make([]string, len(segs))
	for i, s := range segs {
		texts[i] = s.Text
	}
	return strings.Join(texts, "\n\n")
}

// limited drops segments from the middle until the passage fits a token limit, if there is one.
func limited(segs []*segment, most int) []*segment {
	if most <= 0 {
		return segs
	}
	size := func() int {
		n := 12
		for _, s := range segs {
			n += estimate(s.Text) + 16
		}
		return n
	}
	for len(segs) > 1 && size() > most {
		at := len(segs) / 2
		segs = append(segs[:at:at], segs[at+1:]...)
	}
	return segs
}

// storyFormat recognises a schema with an array of segments and tells which kinds it admits (none: any).
func storyFormat(s *schema) (kinds map[string]bool, ok bool) {
	if s == nil {
		return nil, false
	}
	seg := s.property("segments").item()
	if seg == nil || seg.property("text") == nil {
		return nil, false
	}
	kinds = map[string]bool{}
	for _, v := range seg.property("kind").enum() {
		if k, isText := v.(string); isText {
			kinds[k] = true
		}
	}
	return kinds, true
}

// segmentsJSON writes segments in the order in which a reader wants them: kind, speaker, text.
func segmentsJSON(segs []*segment, kinds map[string]bool, s *schema) string {
	item := s.property("segments").item()
	withKind := item.property("kind") != nil
	speaker := item.property("speaker")
	var out bytes.Buffer
	out.WriteString(`{"segments":[`)
	for i, seg := range segs {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('{')
		if withKind {
			kind := seg.Kind
			if len(kinds) > 0 && !kinds[kind] {
				kind = narration
			}
			out.WriteString(`"kind":` + jsonText(kind) + `,`)
		}
		switch {
		case seg.Speaker != "" && speaker != nil:
			out.WriteString(`"speaker":` + jsonText(seg.Speaker) + `,`)
		case speaker != nil && item.requires("speaker") && speaker.admits("null"):
			out.WriteString(`"speaker":null,`)
		case speaker != nil && item.requires("speaker"):
			out.WriteString(`"speaker":"",`)
		}
		out.WriteString(`"text":` + jsonText(seg.Text) + `}`)
	}
	out.WriteString(`]}`)
	return out.String()
}

// jsonText encodes a string without escaping what HTML would want escaped.
func jsonText(s string) string {
	b, _ := plainjson.Marshal(s) // a string always encodes
	return string(b)
}

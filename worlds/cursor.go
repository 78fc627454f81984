package worlds

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// source is one structured file in one language: its tree, and which nodes came from a translation.
type source struct {
	file   string // of the main file
	root   *yaml.Node
	origin map[*yaml.Node]string // translated node → its file
	report *problems
}

func (s *source) at() cursor { return cursor{src: s, node: s.root} }

// cursor is a place in a source. Its readers report what does not fit and then give the zero value, so that one pass
// finds everything that is wrong.
type cursor struct {
	src   *source
	node  *yaml.Node // nil when the place is not there
	line  int        // of the parent, for a missing place
	field string
}

func (c cursor) present() bool { return c.node != nil && c.node.ShortTag() != "!!null" }

// translated says whether the value was written in a language file.
func (c cursor) translated() bool { return c.src.origin[c.node] != "" }

func (c cursor) where() (file string, line int) {
	file, line = c.src.file, c.line
	if c.node != nil {
		line = c.node.Line
		if o := c.src.origin[c.node]; o != "" {
			file = o
		}
	}
	return file, line
}

func (c cursor) fail(fix, format string, args ...any) {
	file, line := c.where()
	c.src.report.fail(Error{File: file, Line: line, Field: c.field, Message: fmt.Sprintf(format, args...), Fix: fix})
}

func (c cursor) warn(fix, format string, args ...any) {
	file, line := c.where()
	c.src.report.warn(Error{File: file, Line: line, Field: c.field, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// require reports a place that is missing or blank.
func (c cursor) require() bool {
	switch {
	case !c.present():
		c.fail("add it.", "it is required and missing.")
	case c.node.Kind == yaml.ScalarNode && strings.TrimSpace(c.node.Value) == "":
		c.fail("write it out.", "it is empty.")
	default:
		return true
	}
	return false
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return "a value of the type " + n.ShortTag()
}

// object reads a map with known keys. Other keys are errors, with the nearest known key as the fix.
func (c cursor) object(known ...string) object { return c.objectExcept(nil, known...) }

// objectExcept leaves it to the caller to refuse the excepted keys.
func (c cursor) objectExcept(excepted []string, known ...string) object {
	members := c.members()
	list := "known here: " + strings.Join(known, ", ") + "."
	for _, key := range members.order {
		if slices.Contains(known, key) || slices.Contains(excepted, key) {
			continue
		}
		fix := list
		if near := nearest(key, known); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		members.get(key).fail(fix, "the key is not known.")
	}
	return members
}

// object is a map that was read: its members by key.
type object struct {
	c     cursor
	byKey map[string]cursor
	order []string
	noMap bool // the value was something else, which was reported
}

func (o object) get(key string) cursor {
	if m, ok := o.byKey[key]; ok {
		return m
	}
	return cursor{src: o.c.src, line: o.line(), field: o.c.child(key)}
}

func (o object) line() int {
	if o.c.node != nil {
		return o.c.node.Line
	}
	return o.c.line
}

func (c cursor) child(key string) string {
	if c.field == "" {
		return key
	}
	return c.field + "." + key
}

// members reads a map with any text keys.
func (c cursor) members() object {
	o := object{c: c, byKey: map[string]cursor{}}
	if !c.present() {
		return o
	}
	if c.node.Kind != yaml.MappingNode {
		c.fail("write a map of keys and values.", "it must be a map, not %s.", kindName(c.node))
		o.noMap = true
		return o
	}
	for i := 0; i+1 < len(c.node.Content); i += 2 {
		k, v := c.node.Content[i], c.node.Content[i+1]
		key := cleanText(k.Value)
		m := cursor{src: c.src, node: v, line: k.Line, field: c.child(clip(key, 64))}
		switch {
		case k.Kind != yaml.ScalarNode || key == "":
			m.fail("use a text key.", "a key must be text.")
		case reservedKey(key):
			m.fail("choose another key.", "the key is reserved.")
		case o.byKey[key].node != nil:
			m.fail("keep one of them.", "the key occurs twice.")
		default:
			o.byKey[key] = m
			o.order = append(o.order, key)
		}
	}
	return o
}

// reservedKey names the keys that mean something else in JavaScript; plugins get these maps.
func reservedKey(key string) bool {
	return key == "__proto__" || key == "constructor" || key == "prototype"
}

// items reads a list.
func (c cursor) items(limit int) []cursor {
	if !c.present() {
		return nil
	}
	if c.node.Kind != yaml.SequenceNode {
		c.fail("write a list.", "it must be a list, not %s.", kindName(c.node))
		return nil
	}
	if len(c.node.Content) > limit {
		c.fail("shorten the list.", "it has %d items, at most %d are read.", len(c.node.Content), limit)
		return nil
	}
	out := make([]cursor, len(c.node.Content))
	for i, n := range c.node.Content {
		out[i] = cursor{src: c.src, node: n, line: n.Line, field: fmt.Sprintf("%s[%d]", c.field, i)}
	}
	return out
}

// prose reads text of any number of lines, without space around it, of at most limit characters.
func (c cursor) prose(limit int) string {
	if !c.present() {
		return ""
	}
	if c.node.Kind == yaml.MappingNode {
		c.fail("write the text of defaultLocale here and the others into the file of their language, <name>.<locale>.<ext>.", "it must be text, not a map of languages.")
		return ""
	}
	if c.node.Kind != yaml.ScalarNode || c.node.ShortTag() != "!!str" {
		c.fail("write text, in quotes where it looks like something else.", "it must be text, not %s.", kindName(c.node))
		return ""
	}
	text := strings.TrimSpace(cleanText(c.node.Value))
	if n := utf8.RuneCountInString(text); n > limit {
		c.fail("shorten it.", "it has %d characters, at most %d are allowed.", n, limit)
		return ""
	}
	return text
}

// label reads text of one line.
func (c cursor) label(limit int) string {
	text := c.prose(limit)
	if strings.ContainsFunc(text, unicode.IsControl) {
		c.fail("write it in one line.", "it must be one line without control characters.")
		return ""
	}
	return text
}

// labels reads a list of one-line texts without empty ones and without repeats.
func (c cursor) labels(limit, each int) []string {
	var out []string
	for _, item := range c.items(limit) {
		if !item.require() {
			continue
		}
		text := item.label(each)
		switch {
		case text == "": // reported
		case slices.Contains(out, text):
			item.fail("keep one of them.", "%q occurs twice.", text)
		default:
			out = append(out, text)
		}
	}
	return out
}

// oneOf reads one of a few words; a missing one is the fallback.
func (c cursor) oneOf(fallback string, words ...string) string {
	if !c.present() {
		return fallback
	}
	text := c.label(100)
	if text == "" || slices.Contains(words, text) {
		return text
	}
	fix := "use one of: " + strings.Join(words, ", ") + "."
	if near := nearest(text, words); near != "" {
		fix = fmt.Sprintf("did you mean %q? Allowed: %s.", near, strings.Join(words, ", "))
	}
	c.fail(fix, "%q is not allowed here.", clip(text, 40))
	return ""
}

// matching reads text of a given form.
func (c cursor) matching(form *regexp.Regexp, what string) string {
	text := c.label(200)
	if text == "" || form.MatchString(text) {
		return text
	}
	c.fail("use "+what+".", "%q is not of the right form.", clip(text, 40))
	return ""
}

// number reads a finite number; ok is false when there is none.
func (c cursor) number() (_ float64, ok bool) {
	if !c.present() {
		return 0, false
	}
	tag := c.node.ShortTag()
	if c.node.Kind != yaml.ScalarNode || (tag != "!!int" && tag != "!!float") {
		c.fail("write a number without quotes.", "it must be a number, not %s.", kindName(c.node))
		return 0, false
	}
	v, err := strconv.ParseFloat(c.node.Value, 64)
	if err != nil { // 0x1f, 1_000, .inf
		err = c.node.Decode(&v)
	}
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
		c.fail("write an ordinary number.", "%q is not a finite number.", clip(c.node.Value, 40))
	case math.Abs(v) > 1<<53 && !strings.ContainsAny(c.node.Value, ".eE"):
		c.fail("use a smaller number, or text.", "whole numbers beyond ±2^53 lose digits.")
	default:
		return v, true
	}
	return 0, false
}

// whole reads an integer between low and high; a missing one is 0.
func (c cursor) whole(low, high int) int {
	v, ok := c.number()
	if !ok {
		return 0
	}
	if v != math.Trunc(v) || v < float64(low) || v > float64(high) {
		c.fail(fmt.Sprintf("use a whole number from %d to %d.", low, high), "%s is not allowed here.", clip(c.node.Value, 40))
		return 0
	}
	return int(v)
}

// flag reads true or false; ok is false when there is none.
func (c cursor) flag() (value, ok bool) {
	if !c.present() {
		return false, false
	}
	if c.node.Kind == yaml.ScalarNode && c.node.ShortTag() == "!!bool" {
		switch strings.ToLower(c.node.Value) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	c.fail("write true or false.", "it must be true or false, not %s.", kindName(c.node))
	return false, false
}

// any reads a free value as encoding/json would give it: string, float64, bool, nil, []any, map[string]any.
func (c cursor) any() any {
	if c.node == nil {
		return nil
	}
	switch c.node.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		members := c.members()
		for _, key := range members.order {
			out[key] = members.get(key).any()
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range c.items(maxListItems) {
			out = append(out, item.any())
		}
		return out
	}
	switch c.node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		v, _ := c.flag()
		return v
	case "!!int", "!!float":
		v, _ := c.number()
		return v
	}
	return cleanText(c.node.Value) // text; dates stay as they are written
}

const maxListItems = 20_000

// rawObject gives the JSON bytes of a free map, nil when it is empty.
func rawObject(m map[string]any) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic("worlds: a value that was read is no JSON value: " + err.Error())
	}
	return data
}

// clip shortens what is quoted in a message.
func clip(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return s
}

// nearest is the word within two edits of s, "" when there is none.
func nearest(s string, words []string) string {
	best, bestDistance := "", 3
	for _, w := range words {
		if d := edits(s, w); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost = 1 + min(previous, row[j], row[j+1])
			}
			previous, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

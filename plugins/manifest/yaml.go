package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A document is one YAML text being read. Every problem is noted and reading goes on, so that an author sees all at once.
type document struct {
	file     string
	offset   int // lines above the YAML text in its file
	problems *[]Problem
}

func (d *document) add(line int, field, fix, format string, args ...any) {
	*d.problems = append(*d.problems, Problem{File: d.file, Line: line, Field: field, Message: fmt.Sprintf(format, args...), Fix: fix})
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse reads the text into its top object. Text that is empty is an empty object; nil when it cannot be read.
func (d *document) parse(text string) *object {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		line := d.offset + 1
		reason := err.Error()
		if m := yamlLine.FindStringSubmatch(reason); m != nil {
			if n, bad := strconv.Atoi(m[1]); bad == nil {
				line = d.offset + n
			}
			reason = reason[len(m[0]):]
			if strings.HasPrefix(reason, "did not find expected") {
				line++ // the library counts these lines from 0
			}
		}
		d.add(line, "", "", "this is not YAML: %s", reason)
		return nil
	}
	if len(root.Content) == 0 {
		return &object{node: node{doc: d, yaml: &yaml.Node{Kind: yaml.MappingNode, Line: 1}}, values: map[string]node{}, asked: map[string]bool{}}
	}
	top := node{doc: d, yaml: root.Content[0]}
	return top.object()
}

// node is a value and where it stands.
type node struct {
	doc  *document
	yaml *yaml.Node
	path string
}

func (n node) line() int { return n.doc.offset + n.yaml.Line }

func (n node) problem(fix, format string, args ...any) {
	n.doc.add(n.line(), n.path, fix, format, args...)
}

func (n node) isNull() bool { return n.yaml.ShortTag() == "!!null" }

// kind names what stands here.
func (n node) kind() string {
	switch n.yaml.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.yaml.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the truth value " + n.yaml.Value
	case "!!int", "!!float":
		return "the number " + n.yaml.Value
	case "!!str":
		return strconv.Quote(shorten(n.yaml.Value))
	}
	return "a value of type " + n.yaml.ShortTag()
}

func shorten(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}

// object is a map with the keys that were asked for: what remains at the end is unknown.
type object struct {
	node
	values map[string]node
	keys   []string // in order
	asked  map[string]bool
}

// object reads the node as a map, nil (and a problem) when it is none.
func (n node) object() *object {
	if n.yaml.Kind != yaml.MappingNode {
		fix := ""
		if n.yaml.Kind == yaml.AliasNode {
			fix = "Anchors and aliases are not supported; write the value out"
		}
		n.problem(fix, "must be a map of keys and values, got %s", n.kind())
		return nil
	}
	o := &object{node: n, values: map[string]node{}, asked: map[string]bool{}}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key, value := n.yaml.Content[i], n.yaml.Content[i+1]
		name := key.Value
		at := node{doc: n.doc, yaml: value, path: join(n.path, name)}
		switch {
		case key.Kind != yaml.ScalarNode:
			node{doc: n.doc, yaml: key, path: n.path}.problem("", "a key must be plain text")
			continue
		case value.Kind == yaml.AliasNode:
			at.problem("Write the value out", "anchors and aliases are not supported")
			o.asked[name] = true
			continue
		}
		if _, twice := o.values[name]; twice {
			at.yaml = key
			at.problem("Keep one of them", "is written twice")
			continue
		}
		o.values[name] = at
		o.keys = append(o.keys, name)
	}
	return o
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// has says whether a key is written, without asking for it.
func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }

// get asks for a key. A key that is written with nothing behind it counts as not written.
func (o *object) get(key string) (node, bool) {
	o.asked[key] = true
	v, ok := o.values[key]
	if ok && v.isNull() {
		return v, false
	}
	return v, ok
}

// done reports every key nobody asked for. hints give a better fix for keys authors may expect.
func (o *object) done(hints map[string]string) {
	for _, key := range o.keys {
		if o.asked[key] {
			continue
		}
		fix, ok := hints[key]
		if !ok {
			known := make([]string, 0, len(o.asked))
			for k := range o.asked {
				known = append(known, k)
			}
			slices.Sort(known)
			fix = "Known keys here: " + strings.Join(known, ", ")
			if near := nearest(key, known); near != "" {
				fix = fmt.Sprintf("Did you mean %q?", near)
			}
		}
		o.values[key].problem(fix, "is not a known key")
	}
}

// nearest finds a known key that differs by little.
func nearest(key string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if d := distance(strings.ToLower(key), strings.ToLower(k)); d < best && d < len(k) {
			best, found = d, k
		}
	}
	return found
}

// distance is the edit distance of two short words.
func distance(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// text reads the node as a string.
func (n node) text() (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() != "!!str" {
		fix := ""
		if n.yaml.Kind == yaml.ScalarNode {
			fix = "Put it in quotes"
		}
		n.problem(fix, "must be text, got %s", n.kind())
		return "", false
	}
	return n.yaml.Value, true
}

// text reads a key that may be missing; a text that is there is not blank.
func (o *object) text(key string) string {
	n, ok := o.get(key)
	if !ok {
		return ""
	}
	s, ok := n.text()
	if ok && strings.TrimSpace(s) == "" {
		n.problem("Write a text or leave the key out", "is empty")
		return ""
	}
	return s
}

// required reports a key that is missing.
func (o *object) required(key, fix string) {
	if _, ok := o.get(key); !ok {
		at := o.node
		at.path = join(o.path, key)
		at.problem(fix, "is required")
	}
}

// choice reads one of a few words; absent gives the default.
func (o *object) choice(key, fallback string, allowed ...string) string {
	n, ok := o.get(key)
	if !ok {
		return fallback
	}
	s, ok := n.text()
	if !ok {
		return fallback
	}
	if !slices.Contains(allowed, s) {
		fix := "Use one of: " + strings.Join(allowed, ", ")
		n.problem(fix, "%q is not allowed here", shorten(s))
		return fallback
	}
	return s
}

func (o *object) boolean(key string, fallback bool) bool {
	if b := o.maybeBoolean(key); b != nil {
		return *b
	}
	return fallback
}

func (o *object) maybeBoolean(key string) *bool {
	n, ok := o.get(key)
	if !ok {
		return nil
	}
	var b bool
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() != "!!bool" || n.yaml.Decode(&b) != nil {
		n.problem("Write true or false", "must be true or false, got %s", n.kind())
		return nil
	}
	return &b
}

const unlimited = 1<<31 - 1

// integer reads a whole number between least and most; absent or wrong gives the default.
func (o *object) integer(key string, fallback, least, most int) int {
	if i := o.maybeInteger(key, least, most); i != nil {
		return *i
	}
	return fallback
}

func (o *object) maybeInteger(key string, least, most int) *int {
	n, ok := o.get(key)
	if !ok {
		return nil
	}
	var i int
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() != "!!int" || n.yaml.Decode(&i) != nil {
		n.problem("", "must be a whole number, got %s", n.kind())
		return nil
	}
	if i < least || i > most {
		limits := fmt.Sprintf("Use %d to %d", least, most)
		if most == unlimited {
			limits = fmt.Sprintf("Use %d or more", least)
		}
		n.problem(limits, "%d is out of range", i)
		return nil
	}
	return &i
}

// list reads a key as a list of values.
func (o *object) list(key string) []node {
	n, ok := o.get(key)
	if !ok {
		return nil
	}
	if n.yaml.Kind != yaml.SequenceNode {
		n.problem("Write a list: [a, b]", "must be a list, got %s", n.kind())
		return nil
	}
	out := make([]node, 0, len(n.yaml.Content))
	for i, item := range n.yaml.Content {
		at := node{doc: n.doc, yaml: item, path: fmt.Sprintf("%s[%d]", n.path, i)}
		if item.Kind == yaml.AliasNode {
			at.problem("Write the value out", "anchors and aliases are not supported")
			continue
		}
		out = append(out, at)
	}
	return out
}

// texts reads a list of different strings, each accepted by check (which returns what is wrong, or "").
func (o *object) texts(key string, check func(string) string) []string {
	out := []string{}
	for _, n := range o.list(key) {
		s, ok := n.text()
		if !ok {
			continue
		}
		if slices.Contains(out, s) {
			n.problem("Keep one of them", "%q is listed twice", s)
			continue
		}
		if check != nil {
			if wrong := check(s); wrong != "" {
				n.problem("", "%s", wrong)
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// object reads a key as a map, nil when it is missing or wrong.
func (o *object) object(key string) *object {
	n, ok := o.get(key)
	if !ok {
		return nil
	}
	return n.object()
}

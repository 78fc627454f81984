package worlds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A structured file, YAML or JSON, is read into a tree of YAML nodes that know their lines. The tree is plain: one
// document, no anchors, no aliases, no merge keys, so that its size is the size of the file.

const maxDepth = 24

// parseTree reads a file by its extension. It reports what is wrong and then gives nil. An empty file gives nil too and is
// reported.
func parseTree(name, text string, report *problems) *yaml.Node {
	var root *yaml.Node
	var err error
	if strings.HasSuffix(name, ".json") {
		root, err = parseJSON(text)
	} else {
		root, err = parseYAML(text)
	}
	if err != nil {
		line, message := errorLine(err)
		report.fail(Error{File: name, Line: line, Message: message + ".", Fix: "correct the syntax at or just before this line."})
		return nil
	}
	if root == nil {
		report.fail(Error{File: name, Message: "the file is empty.", Fix: "write its content or remove the file."})
		return nil
	}
	if e := checkPlain(root, 0); e != nil {
		e.File = name
		report.fail(*e)
		return nil
	}
	return root
}

func parseYAML(text string) (*yaml.Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins here; the file must hold one", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s).*)$`)

// errorLine takes the line out of "yaml: line 3: …".
func errorLine(err error) (int, string) {
	m := yamlLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1])
	return line, strings.TrimSpace(m[2])
}

// checkPlain finds the first place that is not plain or too deep.
func checkPlain(n *yaml.Node, depth int) *Error {
	switch {
	case depth > maxDepth:
		return &Error{Line: n.Line, Message: fmt.Sprintf("values are nested deeper than %d levels.", maxDepth), Fix: "flatten this part."}
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.ShortTag() == "!!merge":
		return &Error{Line: n.Line, Message: "anchors, aliases and merge keys are not read in world files.", Fix: "write the value out."}
	}
	for _, child := range n.Content {
		if e := checkPlain(child, depth+1); e != nil {
			return e
		}
	}
	return nil
}

// parseJSON builds the same tree from JSON.
func parseJSON(text string) (*yaml.Node, error) {
	r := &jsonReader{dec: json.NewDecoder(strings.NewReader(text)), text: []byte(text)}
	r.dec.UseNumber()
	node, err := r.value(0)
	if errors.Is(err, io.EOF) && strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if err == nil {
		if _, err = r.dec.Token(); errors.Is(err, io.EOF) {
			return node, nil
		} else if err == nil {
			err = errors.New("there is more text after the end of the JSON value")
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("line %d: %w", r.line(), err)
}

type jsonReader struct {
	dec     *json.Decoder
	text    []byte
	counted int64 // up to where newlines are in lines
	lines   int
}

func (r *jsonReader) line() int {
	at := min(max(r.dec.InputOffset(), r.counted), int64(len(r.text)))
	r.lines += bytes.Count(r.text[r.counted:at], []byte("\n"))
	r.counted = at
	return r.lines + 1
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line()}
	switch v := token.(type) {
	case string:
		n.Tag, n.Value = "!!str", v
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case json.Delim:
		if depth > maxDepth {
			return nil, fmt.Errorf("values are nested deeper than %d levels", maxDepth)
		}
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		// The members of an object come as key, value, key, value: just what a mapping node holds.
		for r.dec.More() {
			child, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if _, err := r.dec.Token(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

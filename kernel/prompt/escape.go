package prompt

import (
	"bytes"
	"encoding/json"
	"strings"
)

var (
	escaper     = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ", "\r", " ", "\t", " ")
)

// Escape makes text safe inside a tag: it can neither close the tag nor open another.
func Escape(s string) string { return escaper.Replace(s) }

// block is data between tags, each on its own line; "" when there is no data. The body is already escaped.
func block(tag, body string) string {
	if strings.TrimSpace(body) == "" {
		return ""
	}
	return "<" + tag + ">\n" + body + "\n</" + tag + ">"
}

// attr is one attribute with a space before it; empty values are left out.
func attr(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + attrEscaper.Replace(value) + `"`
}

// tagName keeps of a tag chosen by a plugin what can stand in a tag.
func tagName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return -1
	}, s)
}

// toJSON writes a value for a model: keys in order, no escapes for < > &, which Escape handles.
func toJSON(v any, indent bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil { // values come out of JSON or are built here
		return "null"
	}
	return strings.TrimRight(b.String(), "\n")
}

// decode reads JSON and keeps the digits of numbers. What is no JSON is nil.
func decode(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// join puts the parts that are not empty together, with blank lines between.
func join(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

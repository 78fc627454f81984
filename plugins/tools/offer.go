package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// builtins are the framework's tools this host has.
var builtins = func() map[string]sdk.Tool {
	m := map[string]sdk.Tool{}
	for _, t := range []sdk.Tool{
		createForm, createChoices, createNotification, renderUI, suspend, runtimeDone, listCharacters, getCharacter, emitEventTool, delegate,
	} {
		m[t.Name] = t
	}
	return m
}()

// Builtin finds a framework tool of this host. A reserved name it does not have is a capability the host lacks: it is left
// out of what the model is offered, with a warning (seed: tools.txt, "is not installed on this host").
func Builtin(name string) (sdk.Tool, bool) {
	t, ok := builtins[name]
	return t, ok
}

// Offered is a tool as the model is told about it.
type Offered struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Session is what definitions of builtin tools depend on.
type Session struct {
	Topics []Topic // advertised topics of the session
}

// Offer writes a tool's definition for the model. Patterns with Unicode property escapes leave the schema (providers refuse
// them); the check of a call still applies them. emit-event lists the session's topics and the shapes of their data.
func Offer(t sdk.Tool, s Session) Offered {
	o := Offered{Name: t.Name, Description: t.Description, Parameters: ModelSchema(t.Parameters)}
	if t.Name == EmitEvent && len(s.Topics) > 0 {
		o.Parameters = eventDefinition(s.Topics)
	}
	return o
}

// ModelSchema is a schema without the patterns a provider would refuse.
func ModelSchema(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\\p{`)) && !bytes.Contains(raw, []byte(`\\P{`)) {
		return raw
	}
	var out bytes.Buffer
	writeModelSchema(&out, gjson.ParseBytes(raw), "")
	return out.Bytes()
}

func writeModelSchema(out *bytes.Buffer, v gjson.Result, parent string) {
	if !v.IsObject() && !v.IsArray() {
		out.WriteString(v.Raw)
		return
	}
	opening, closing := byte('{'), byte('}')
	if v.IsArray() {
		opening, closing = '[', ']'
	}
	out.WriteByte(opening)
	first := true
	v.ForEach(func(k, item gjson.Result) bool {
		name := k.String()
		named := v.IsObject() && parent != "properties" // a property may be called "pattern"
		if named && name == "pattern" && hasProperty(item.String()) || parent == "patternProperties" && hasProperty(name) {
			return true
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if v.IsObject() {
			out.WriteString(k.Raw + ":")
		}
		below := name
		if v.IsArray() || parent == "properties" || parent == "patternProperties" {
			below = "" // what stands below is a schema again, whatever its name
		}
		writeModelSchema(out, item, below)
		return true
	})
	out.WriteByte(closing)
}

func hasProperty(pattern string) bool {
	return strings.Contains(pattern, `\p{`) || strings.Contains(pattern, `\P{`)
}

// eventDefinition is the parameter schema of emit-event for these topics: topic is an enum, data the topic's schema, or one
// titled branch per topic.
func eventDefinition(topics []Topic) json.RawMessage {
	topics = slices.SortedFunc(slices.Values(topics), func(a, b Topic) int { return cmp.Compare(a.Topic, b.Topic) })
	names := make([]string, len(topics))
	shapes := make([]json.RawMessage, len(topics))
	for i, t := range topics {
		names[i], shapes[i] = t.Topic, payloadShape(t)
	}
	var data any = shapes[0]
	if len(topics) > 1 {
		for i, t := range topics {
			shapes[i] = titled(shapes[i], t.Topic)
		}
		data = map[string]any{"anyOf": shapes}
	}
	b, err := plainjson.Marshal(map[string]any{
		"type":       "object",
		"properties": map[string]any{"topic": map[string]any{"type": "string", "enum": names, "description": "Event topic."}, "data": data},
		"required":   []string{"topic"},
	})
	if err != nil {
		return eventParameters
	}
	return b
}

var plainObject = json.RawMessage(`{"type":"object"}`)

// payloadShape is a topic's schema as a definition may carry it: no $schema and $id, and a plain object where the schema
// refers to others or cannot be read.
func payloadShape(t Topic) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(t.Schema, &m) != nil || m == nil || refers(gjson.ParseBytes(t.Schema)) {
		return plainObject
	}
	delete(m, "$schema")
	delete(m, "$id")
	b, err := plainjson.Marshal(m)
	if err != nil {
		return plainObject
	}
	return ModelSchema(b)
}

func titled(shape json.RawMessage, title string) json.RawMessage {
	var m map[string]any
	if json.Unmarshal(shape, &m) != nil || m == nil {
		m = map[string]any{"type": "object"}
	}
	m["title"] = title
	b, err := plainjson.Marshal(m)
	if err != nil {
		return plainObject
	}
	return b
}

// refers says whether $ref, $defs or definitions occur anywhere.
func refers(v gjson.Result) bool {
	found := false
	if !v.IsObject() && !v.IsArray() {
		return false
	}
	v.ForEach(func(k, item gjson.Result) bool {
		switch k.String() {
		case "$ref", "$dynamicRef", "$defs", "definitions":
			found = v.IsObject()
		}
		found = found || refers(item)
		return !found
	})
	return found
}

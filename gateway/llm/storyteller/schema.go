package storyteller

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is one node of a JSON Schema with its references resolved as far as they are local. All methods accept nil.
type schema struct {
	node     map[string]any
	root     map[string]any
	compiled *jsonschema.Schema
}

// parseSchema reads a schema; one that cannot be read admits everything.
func parseSchema(raw json.RawMessage) *schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return &schema{node: map[string]any{}, root: map[string]any{}}
	}
	node, ok := doc.(map[string]any)
	if !ok {
		node = map[string]any{}
	}
	s := &schema{node: node, root: node}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if c.AddResource("mem:///schema.json", doc) == nil {
		s.compiled, _ = c.Compile("mem:///schema.json") // a schema that does not compile checks nothing
	}
	return s.resolved(0)
}

// nowhere refuses to load schemas from anywhere: a request must not make the storyteller read files or the network.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errNotLocal }

// valid tells whether a JSON text fits; without a usable schema every JSON text does.
func (s *schema) valid(text []byte) bool {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return false
	}
	return s == nil || s.compiled == nil || s.compiled.Validate(v) == nil
}

// resolved follows references, merges allOf and takes the first alternative of anyOf and oneOf that is not null.
func (s *schema) resolved(depth int) *schema {
	if s == nil || depth > 12 {
		return s
	}
	if ref, ok := s.node["$ref"].(string); ok {
		target, found := s.lookup(ref)
		if !found {
			return s
		}
		merged := map[string]any{}
		for k, v := range target {
			merged[k] = v
		}
		for k, v := range s.node {
			if k != "$ref" {
				merged[k] = v
			}
		}
		return (&schema{merged, s.root, s.compiled}).resolved(depth + 1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := s.node[key].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		merged := map[string]any{}
		for k, v := range s.node {
			if k != key {
				merged[k] = v
			}
		}
		for _, alt := range list {
			m, ok := alt.(map[string]any)
			if !ok || key != "allOf" && m["type"] == "null" {
				continue
			}
			mergeInto(merged, (&schema{node: m, root: s.root}).resolved(depth+1).node)
			if key != "allOf" {
				break
			}
		}
		return (&schema{merged, s.root, s.compiled}).resolved(depth + 1)
	}
	return s
}

func mergeInto(dst, src map[string]any) {
	for k, v := range src {
		switch have := dst[k].(type) {
		case map[string]any:
			if m, ok := v.(map[string]any); ok && k == "properties" {
				joined := map[string]any{}
				for a, b := range have {
					joined[a] = b
				}
				for a, b := range m {
					joined[a] = b
				}
				dst[k] = joined
				continue
			}
		case []any:
			if l, ok := v.([]any); ok && k == "required" {
				dst[k] = slices.Concat(have, l)
				continue
			}
		}
		dst[k] = v
	}
}

func (s *schema) lookup(ref string) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var at any = s.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		m, isMap := at.(map[string]any)
		if !isMap {
			return nil, false
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	m, isMap := at.(map[string]any)
	return m, isMap
}

func (s *schema) child(v any) *schema {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return (&schema{node: m, root: s.root}).resolved(0)
}

func (s *schema) property(name string) *schema {
	if s == nil {
		return nil
	}
	props, _ := s.node["properties"].(map[string]any)
	return s.child(props[name])
}

// properties lists the names of an object's properties: required ones first, each group in alphabetical order, which
// is the only order that a decoded schema still has.
func (s *schema) properties() []string {
	if s == nil {
		return nil
	}
	props, _ := s.node["properties"].(map[string]any)
	names := make([]string, 0, len(props))
	for n := range props {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if ra, rb := s.requires(a), s.requires(b); ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

func (s *schema) requires(name string) bool {
	if s == nil {
		return false
	}
	list, _ := s.node["required"].([]any)
	return slices.Contains(list, any(name))
}

func (s *schema) item() *schema {
	if s == nil {
		return nil
	}
	return s.child(s.node["items"])
}

func (s *schema) enum() []any {
	if s == nil {
		return nil
	}
	if c, ok := s.node["const"]; ok {
		return []any{c}
	}
	list, _ := s.node["enum"].([]any)
	return list
}

func (s *schema) text(key string) string {
	if s == nil {
		return ""
	}
	v, _ := s.node[key].(string)
	return v
}

func (s *schema) number(key string, otherwise float64) float64 {
	if s == nil {
		return otherwise
	}
	switch n := s.node[key].(type) {
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f
		}
	case float64:
		return n
	}
	return otherwise
}

// kind is the first type of a node that is not null; it is guessed where the schema names none.
func (s *schema) kind() string {
	if s == nil {
		return ""
	}
	switch t := s.node["type"].(type) {
	case string:
		return t
	case []any:
		for _, x := range t {
			if name, ok := x.(string); ok && name != "null" {
				return name
			}
		}
	}
	switch {
	case s.node["properties"] != nil:
		return "object"
	case s.node["items"] != nil:
		return "array"
	case s.node["minLength"] != nil || s.node["pattern"] != nil || s.node["maxLength"] != nil:
		return "string"
	case s.node["minimum"] != nil || s.node["maximum"] != nil:
		return "number"
	}
	return ""
}

// admits tells whether a type is among those of a node.
func (s *schema) admits(kind string) bool {
	if s == nil {
		return false
	}
	switch t := s.node["type"].(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return slices.Contains(s.enum(), any(nil)) && kind == "null"
}

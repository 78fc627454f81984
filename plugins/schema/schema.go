// Package schema compiles JSON Schemas of plugins and worlds and says in plain words where a value does not fit. Schemas
// are foreign input: nothing outside the document is ever loaded, and patterns run in linear time (RE2).
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pkg/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrExternalRef is the reason of a schema that refers to a file or an address outside itself.
var ErrExternalRef = errors.New("a schema must not refer to anything outside itself: put what it needs under $defs and write #/$defs/name")

// MaxBytes is the largest schema that is compiled.
const MaxBytes = 1 << 20

// Schema is a compiled JSON Schema (draft 2020-12 unless it names another). It may be used concurrently.
type Schema struct{ compiled *jsonschema.Schema }

// refuse is the loader that opens nothing: the library's own would read file:// addresses.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, errors.Wrapf(ErrExternalRef, "%q", url)
}

// location is the address the document itself is compiled under.
const location = "schema:///document.json"

// Compile reads a schema. Errors: not JSON, too large, not a schema, a pattern that is no regular expression (RE2 has no
// lookahead), ErrExternalRef.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	// A schema is foreign input; should it find a panic in the library, that is its own error.
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, errors.Errorf("not a JSON Schema: %v", v)
		}
	}()
	if len(raw) > MaxBytes {
		return nil, errors.Errorf("the schema has %d bytes; at most %d are allowed", len(raw), MaxBytes)
	}
	doc, err := Decode(raw)
	if err != nil {
		return nil, errors.Wrap(err, "the schema is not valid JSON")
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, errors.New("a schema must be a JSON object")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource(location, doc); err != nil {
		return nil, tidy(err)
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, tidy(err)
	}
	return &Schema{compiled: compiled}, nil
}

// tidy keeps what an author needs of a compiler's error: the place in the schema and the reason.
func tidy(err error) error {
	if errors.Is(err, ErrExternalRef) {
		return ErrExternalRef
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var where *jsonschema.ValidationError
		if errors.As(invalid.Err, &where) {
			f := failure(where)
			return errors.New("not a JSON Schema: " + f.Error())
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return errors.Wrap(ErrExternalRef, load.URL)
	}
	return errors.Errorf("not a JSON Schema: %s", bytes.ReplaceAll([]byte(err.Error()), []byte(location), nil))
}

// Decode reads one JSON value and keeps numbers as written (json.Number). Text after the value is an error.
func Decode(raw []byte) (any, error) {
	return jsonschema.UnmarshalJSON(bytes.NewReader(raw))
}

// Check says where a decoded value (see Decode) does not fit, nil when it does.
func (s *Schema) Check(value any) (f *Failure) {
	// The library panics on values that did not come from JSON; a plugin's mistake must stay an error.
	defer func() {
		if v := recover(); v != nil {
			f = &Failure{Issues: []Issue{{Message: fmt.Sprintf("cannot be checked: %v", v)}}}
		}
	}()
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var where *jsonschema.ValidationError
	if errors.As(err, &where) {
		return failure(where)
	}
	return &Failure{Issues: []Issue{{Message: err.Error()}}}
}

// CheckJSON is Decode and Check.
func (s *Schema) CheckJSON(raw []byte) *Failure {
	v, err := Decode(raw)
	if err != nil {
		return &Failure{Issues: []Issue{{Message: "is not valid JSON: " + err.Error()}}}
	}
	return s.Check(v)
}

// Cache compiles each schema once. The zero value is ready for concurrent use.
type Cache struct {
	mu   sync.Mutex
	made map[string]cached
}

type cached struct {
	schema *Schema
	err    error
}

// cacheSize bounds the cache; past it everything is thrown away, which costs a compilation and nothing else.
const cacheSize = 512

// Compile gives the compiled schema or the error it has.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	c.mu.Lock()
	e, ok := c.made[string(raw)]
	c.mu.Unlock()
	if ok {
		return e.schema, e.err
	}
	e.schema, e.err = Compile(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil || len(c.made) >= cacheSize {
		c.made = map[string]cached{}
	}
	c.made[string(raw)] = e
	return e.schema, e.err
}

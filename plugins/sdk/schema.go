package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// schemaOf gives the JSON Schema of a struct type: one self-contained object without $ref, $defs, $schema and $id, fields
// in the order of the type, descriptions from `describe` (or `jsonschema_description`) tags. Extra keys are neither
// forbidden nor mentioned.
func schemaOf(t reflect.Type) (schema json.RawMessage, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the arguments must be a struct, not %s", t)
	}
	if err := checkReflectable(t, nil); err != nil {
		return nil, err
	}
	// The library panics on what it cannot describe; an author must get an error with the tool's name.
	defer func() {
		if v := recover(); v != nil {
			schema, err = nil, fmt.Errorf("the argument type %s has no JSON Schema: %v", t, v)
		}
	}()
	r := jsonschema.Reflector{
		Anonymous:                 true,
		DoNotReference:            true,
		AllowAdditionalProperties: true,
		LookupComment: func(owner reflect.Type, field string) string {
			if owner.Kind() != reflect.Struct || field == "" {
				return ""
			}
			f, _ := owner.FieldByName(field)
			return f.Tag.Get("describe")
		},
	}
	s := r.ReflectFromType(t)
	s.Version = ""
	describeAny(s)
	return json.Marshal(s)
}

// describeAny gives every schema that allows anything a description, because the library writes it as a bare true, which
// some providers refuse.
func describeAny(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if reflect.DeepEqual(*s, jsonschema.Schema{}) {
		s.Description = "Any JSON value."
		return
	}
	describeAny(s.Items)
	describeAny(s.AdditionalProperties)
	for _, sub := range s.PatternProperties {
		describeAny(sub)
	}
	for _, sub := range s.OneOf {
		describeAny(sub)
	}
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		describeAny(p.Value)
	}
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// checkReflectable refuses types that contain themselves: without references their schema would have no end.
func checkReflectable(t reflect.Type, above []reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if t == rawMessage {
			return nil
		}
		return checkReflectable(t.Elem(), above)
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[time.Time]() {
		return nil
	}
	if _, own := reflect.New(t).Interface().(interface{ JSONSchema() *jsonschema.Schema }); own {
		return nil
	}
	for _, up := range above {
		if up == t {
			return fmt.Errorf("the argument type %s contains itself; a tool's schema must end. Use fixed levels or a json.RawMessage", t)
		}
	}
	above = append(above, t)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
			continue
		}
		if err := checkReflectable(f.Type, above); err != nil {
			return err
		}
	}
	return nil
}

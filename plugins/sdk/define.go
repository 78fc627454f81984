package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Limits of a tool's TimeoutMs (seed: tools.txt, "Annotations and timeout").
const (
	MinToolTimeoutMs = 1
	MaxToolTimeoutMs = 600_000
)

// Define makes a tool whose arguments have the Go type A, which must be a struct. def gives Name, Description,
// Annotations and TimeoutMs (0: only the runtime's own limit); its Execute is not used. The JSON Schema the model sees is
// made from A:
//
//	type args struct {
//		Title string   `json:"title" jsonschema:"minLength=1,maxLength=80" describe:"What it is called (1-80 characters)."`
//		Tags  []string `json:"tags,omitempty" describe:"Optional labels."`
//		Level string   `json:"level" jsonschema:"enum=info,enum=warning"`
//	}
//
// A field without omitempty or omitzero is required. Keys the model adds on its own are dropped, not refused. A
// def.Parameters that is set replaces the generated schema (for schemas that a type cannot say).
//
// Contradicting annotations, a TimeoutMs out of range, a missing name or description, and a type that has no schema give
// an error that starts with `Tool "<name>":`.
func Define[A any](def Tool, exec func(ctx context.Context, args A, rt *Runtime) (ToolResult, error)) (Tool, error) {
	fail := func(format string, a ...any) (Tool, error) {
		return Tool{}, fmt.Errorf("Tool %q: %s", def.Name, fmt.Sprintf(format, a...))
	}
	if err := CheckTool(def); err != nil {
		return Tool{}, err
	}
	if exec == nil {
		return fail("there is no function to execute.")
	}
	schema := def.Parameters
	if schema == nil {
		var err error
		if schema, err = schemaOf(reflect.TypeFor[A]()); err != nil {
			return fail("%s", err)
		}
	} else if !isJSONObject(schema) {
		return fail("the parameters must be a JSON Schema object.")
	}
	t := def
	t.Parameters = schema
	stages := !def.Annotations.ReadOnly
	if def.Annotations.StagesWrites != nil {
		stages = *def.Annotations.StagesWrites
	}
	t.Annotations.StagesWrites = &stages
	t.Execute = func(ctx context.Context, raw json.RawMessage, rt *Runtime) (ToolResult, error) {
		var args A
		if err := decodeArgs(raw, &args); err != nil {
			return ToolResult{}, err
		}
		return exec(ctx, args, rt)
	}
	return t, nil
}

// MustDefine is Define for tools that are known when the program is built: an author's mistake in them panics.
func MustDefine[A any](def Tool, exec func(ctx context.Context, args A, rt *Runtime) (ToolResult, error)) Tool {
	t, err := Define(def, exec)
	if err != nil {
		panic(err)
	}
	return t
}

// CheckTool checks the name, description, annotations and time limit of a tool, whether Define made it or not. Its errors
// start with `Tool "<name>":`.
func CheckTool(t Tool) error {
	fail := func(text string) error { return fmt.Errorf("Tool %q: %s", t.Name, text) }
	switch a := t.Annotations; {
	case !validToolName(t.Name):
		return fail("a tool name has 1 to 64 characters of a-z, 0-9, \"-\" and \"_\" and starts with a letter.")
	case strings.TrimSpace(t.Description) == "":
		return fail("the description is missing; the model chooses tools by it.")
	case a.ReadOnly && a.StagesWrites != nil && *a.StagesWrites:
		return fail("readOnly: true and stagesWrites: true contradict each other; a read-only tool stages no writes.")
	case a.ConcurrencySafe && !a.ReadOnly:
		return fail("concurrencySafe: true requires readOnly: true.")
	case t.TimeoutMs != 0 && (t.TimeoutMs < MinToolTimeoutMs || t.TimeoutMs > MaxToolTimeoutMs):
		return fail(fmt.Sprintf("timeoutMs must be an integer in [%d, %d], got %d.", MinToolTimeoutMs, MaxToolTimeoutMs, t.TimeoutMs))
	}
	return nil
}

func validToolName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// decodeArgs fills args from JSON that fits the schema. What the schema cannot promise (an integer beyond 64 bits) is an
// invalid-input that names the field.
func decodeArgs(raw json.RawMessage, args any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, args)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		field := wrong.Field
		if field == "" {
			field = "(arguments)"
		}
		return &ToolError{Code: InvalidInput, Message: fmt.Sprintf("%s: got %s, expected %s.", field, wrong.Value, jsonKind(wrong.Type))}
	}
	return &ToolError{Code: InvalidInput, Message: "the arguments are not valid JSON: " + err.Error()}
}

// jsonKind names what JSON value a Go type takes.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	default:
		return "an integer"
	}
}

func isJSONObject(b json.RawMessage) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}

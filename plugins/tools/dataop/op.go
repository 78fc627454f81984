package dataop

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/covel/covel/plugins/sdk"
)

// MaxOps is how many operations one update may have.
const MaxOps = 64

// Codes of a failed operation. The first two are the caller's mistake, the others a conflict with the value.
const (
	InvalidOp       = "invalid-op"
	InvalidPath     = "invalid-path"
	PathNotFound    = "path-not-found"
	TypeMismatch    = "type-mismatch"
	OutOfBounds     = "out-of-bounds"
	IndexOutOfRange = "index-out-of-range"
	DuplicateItem   = "duplicate-item"
)

// Error says which operation of a list failed, and why. Nothing of the list was applied.
type Error struct {
	Index   int // of the operation; -1 for the list itself
	Code    string
	Message string
}

func (e *Error) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("ops[%d]: %s: %s", e.Index, e.Code, e.Message)
}

// Tool is the failure as a model reads it: a mistake is invalid-input, anything else a conflict.
func (e *Error) Tool() *sdk.ToolError {
	code := sdk.Conflict
	if e.Code == InvalidOp || e.Code == InvalidPath {
		code = sdk.InvalidInput
	}
	return sdk.Fail(code, "%s", e.Error())
}

// fields says which fields an operation must (true) and may (false) have besides op.
var fields = map[string]map[string]bool{
	"set":       {"value": true},
	"delete":    {},
	"put":       {"path": true, "value": true},
	"merge":     {"path": false, "value": true},
	"remove":    {"path": true},
	"increment": {"path": true, "by": true, "min": false, "max": false},
	"append":    {"path": true, "value": true, "unique": false},
	"insert":    {"path": true, "index": true, "value": true},
}

// step is an operation that was read.
type step struct {
	sdk.DataOp
	path  []Segment
	value any
}

// Check reads a list of operations without a value to apply them to.
func Check(ops []sdk.DataOp) error {
	_, err := read(ops)
	return err
}

func read(ops []sdk.DataOp) ([]step, error) {
	if len(ops) == 0 || len(ops) > MaxOps {
		return nil, &Error{-1, InvalidOp, fmt.Sprintf("an update has 1 to %d operations, got %d", MaxOps, len(ops))}
	}
	steps := make([]step, len(ops))
	for i, op := range ops {
		s, err := readOp(op)
		if err == nil && op.Op == "delete" && i < len(ops)-1 {
			err = fail(InvalidOp, "delete must be the last operation")
		}
		if err != nil {
			err.Index = i
			return nil, err
		}
		steps[i] = s
	}
	return steps, nil
}

func fail(code, format string, args ...any) *Error {
	return &Error{-1, code, fmt.Sprintf(format, args...)}
}

func readOp(op sdk.DataOp) (step, *Error) {
	allowed, known := fields[op.Op]
	if !known {
		return step{}, fail(InvalidOp, "%q is none of set, delete, put, merge, remove, increment, append, insert", op.Op)
	}
	given := map[string]bool{
		"path": op.Path != "", "value": len(op.Value) > 0, "by": op.By != nil, "min": op.Min != nil, "max": op.Max != nil,
		"unique": op.Unique, "index": op.Index != nil,
	}
	for _, name := range []string{"path", "value", "by", "min", "max", "unique", "index"} {
		must, may := allowed[name]
		switch {
		case given[name] && !may:
			return step{}, fail(InvalidOp, "%s has no %s", op.Op, name)
		case must && !given[name] && name == "path":
			return step{}, fail(InvalidPath, "%s needs a path", op.Op)
		case must && !given[name]:
			return step{}, fail(InvalidOp, "%s needs %s that JSON can hold", op.Op, name)
		}
	}
	s := step{DataOp: op}
	var why string
	if s.path, why = ParsePath(op.Path); why != "" {
		return s, fail(InvalidPath, "the path %q %s", op.Path, why)
	}
	if len(op.Value) > 0 {
		if err := decode(op.Value, &s.value); err != nil {
			return s, fail(InvalidOp, "value: %v", err)
		}
	}
	return s, s.checkValue()
}

func (s step) checkValue() *Error {
	switch s.Op {
	case "set":
		if s.value == nil {
			return fail(InvalidOp, "set needs a value; delete removes a record")
		}
	case "merge":
		object, ok := s.value.(map[string]any)
		if !ok {
			return fail(InvalidOp, "merge needs an object")
		}
		for _, name := range forbidden {
			if _, there := object[name]; there {
				return fail(InvalidPath, "merge touches %s", name)
			}
		}
	case "increment":
		for _, n := range []*float64{s.By, s.Min, s.Max} {
			if n != nil && (math.IsNaN(*n) || math.IsInf(*n, 0)) {
				return fail(InvalidOp, "by, min and max must be finite numbers")
			}
		}
		if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
			return fail(InvalidOp, "min is above max")
		}
	case "insert":
		if *s.Index < 0 {
			return fail(IndexOutOfRange, "the index %d is below 0", *s.Index)
		}
	}
	return nil
}

// Kinds are the names of all operations, in the order of the table.
var Kinds = []string{"set", "delete", "put", "merge", "remove", "increment", "append", "insert"}

func decode(b json.RawMessage, into *any) error {
	d := newDecoder(b)
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("there is more than one value")
	}
	return nil
}

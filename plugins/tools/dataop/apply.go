package dataop

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

func newDecoder(b []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // what is not touched keeps its digits
	return d
}

// Apply applies operations in order to a copy of a record. A record that is missing (nil) begins as {}; a result of nil
// means that it is removed. The first operation that fails rejects all of them; the error is an *Error.
func Apply(record json.RawMessage, ops []sdk.DataOp) (json.RawMessage, error) {
	steps, err := read(ops)
	if err != nil {
		return nil, err
	}
	var root any = map[string]any{}
	if len(record) > 0 && string(record) != "null" {
		if err := decode(record, &root); err != nil {
			return nil, fail(TypeMismatch, "the stored record is not JSON: %v", err)
		}
	}
	for i, s := range steps {
		if s.Op == "delete" {
			return nil, nil
		}
		var failed *Error
		if root, failed = s.apply(root); failed != nil {
			failed.Index = i
			return nil, failed
		}
	}
	out, err := plainjson.Marshal(root)
	if err != nil {
		return nil, fail(TypeMismatch, "the result cannot be written as JSON: %v", err)
	}
	return out, nil
}

// apply gives the value after the step.
func (s step) apply(root any) (any, *Error) {
	switch s.Op {
	case "set":
		return s.value, nil
	case "put":
		return s.at(root, s.path, true, func(any, bool) (any, *Error) { return s.value, nil })
	case "merge":
		next, err := s.at(root, s.path, false, s.merge)
		return next, err.as(IndexOutOfRange, PathNotFound)
	case "remove":
		next, err := s.remove(root, s.path)
		return next, err.as(TypeMismatch, PathNotFound)
	case "increment":
		return s.at(root, s.path, true, s.increment)
	case "append":
		return s.at(root, s.path, true, s.append)
	default: // insert: read has refused all others
		return s.at(root, s.path, true, s.insert)
	}
}

// as gives an error the code that its operation fails with (decisions, the last column of the table).
func (e *Error) as(code, other string) *Error {
	if e != nil && e.Code == code {
		e.Code = other
	}
	return e
}

// at walks to where a path leads and puts there what change gives; found tells change whether something is there. With
// create, objects that are missing on the way are made.
func (s step) at(value any, path []Segment, create bool, change func(old any, found bool) (any, *Error)) (any, *Error) {
	if len(path) == 0 {
		return change(value, true)
	}
	head, rest := path[0], path[1:]
	switch v := value.(type) {
	case map[string]any:
		if head.Bracket {
			return nil, fail(TypeMismatch, "[%s] of the path %q is an object, not an array", head.Name, s.Path)
		}
		child, found := v[head.Name]
		var next any
		var err *Error
		switch {
		case found:
			next, err = s.at(child, rest, create, change)
		case !create:
			return nil, fail(PathNotFound, "there is no %q on the path %q", head.Name, s.Path)
		case len(rest) == 0:
			next, err = change(nil, false)
		default:
			next, err = s.at(map[string]any{}, rest, create, change)
		}
		if err != nil {
			return nil, err
		}
		v = maps.Clone(v)
		v[head.Name] = next
		return v, nil
	case []any:
		i, err := s.element(v, head)
		if err != nil {
			return nil, err
		}
		next, err := s.at(v[i], rest, create, change)
		if err != nil {
			return nil, err
		}
		v = slices.Clone(v)
		v[i] = next
		return v, nil
	}
	return nil, fail(TypeMismatch, "the path %q leads through %s at %q", s.Path, kind(value), head.Name)
}

func (s step) element(list []any, at Segment) (int, *Error) {
	i, ok := at.index()
	switch {
	case !ok:
		return 0, fail(TypeMismatch, "%q on the path %q meets an array, which has no such member", at.Name, s.Path)
	case i >= len(list):
		return 0, fail(IndexOutOfRange, "the index %d on the path %q is beyond the %d elements", i, s.Path, len(list))
	}
	return i, nil
}

func (s step) merge(old any, _ bool) (any, *Error) {
	object, ok := old.(map[string]any)
	if !ok {
		return nil, fail(TypeMismatch, "merge meets %s", kind(old))
	}
	object = maps.Clone(object)
	maps.Copy(object, s.value.(map[string]any))
	return object, nil
}

func (s step) remove(value any, path []Segment) (any, *Error) {
	if len(path) > 1 {
		return s.at(value, path[:len(path)-1], false, func(parent any, _ bool) (any, *Error) {
			return s.remove(parent, path[len(path)-1:])
		})
	}
	switch v := value.(type) {
	case map[string]any:
		if _, there := v[path[0].Name]; !there || path[0].Bracket {
			return nil, fail(PathNotFound, "there is no %q to remove at the path %q", path[0].Name, s.Path)
		}
		v = maps.Clone(v)
		delete(v, path[0].Name)
		return v, nil
	case []any:
		if _, ok := path[0].index(); !ok {
			return nil, fail(PathNotFound, "there is no %q to remove at the path %q", path[0].Name, s.Path)
		}
		i, err := s.element(v, path[0])
		if err != nil {
			return nil, err
		}
		return slices.Delete(slices.Clone(v), i, i+1), nil
	}
	return nil, fail(PathNotFound, "the path %q leads to %s, which has nothing to remove", s.Path, kind(value))
}

// maxSafe is the largest whole number of which every reader of JSON keeps all digits.
const maxSafe = 1 << 53

func (s step) increment(old any, found bool) (any, *Error) {
	if !found {
		old = json.Number("0")
	}
	number, ok := old.(json.Number)
	if !ok {
		return nil, fail(TypeMismatch, "increment meets %s at the path %q", kind(old), s.Path)
	}
	have, err := number.Float64()
	if err != nil {
		return nil, fail(TypeMismatch, "increment meets the number %s, which is too large", number)
	}
	sum := have + *s.By
	switch {
	case s.Min != nil && sum < *s.Min:
		return nil, fail(OutOfBounds, "%v at the path %q would be below %v", sum, s.Path, *s.Min)
	case s.Max != nil && sum > *s.Max:
		return nil, fail(OutOfBounds, "%v at the path %q would be above %v", sum, s.Path, *s.Max)
	case math.IsInf(sum, 0) || sum == math.Trunc(sum) && math.Abs(sum) > maxSafe:
		return nil, fail(OutOfBounds, "%v at the path %q is beyond ±2^53 and would lose digits", sum, s.Path)
	case sum == math.Trunc(sum):
		return json.Number(strconv.FormatInt(int64(sum), 10)), nil
	}
	return json.Number(strconv.FormatFloat(sum, 'g', -1, 64)), nil
}

func (s step) list(old any, found bool) ([]any, *Error) {
	if !found {
		return []any{}, nil
	}
	list, ok := old.([]any)
	if !ok {
		return nil, fail(TypeMismatch, "%s meets %s at the path %q", s.Op, kind(old), s.Path)
	}
	return list, nil
}

func (s step) append(old any, found bool) (any, *Error) {
	list, err := s.list(old, found)
	if err != nil {
		return nil, err
	}
	if s.Unique && slices.ContainsFunc(list, func(x any) bool { return equal(x, s.value) }) {
		return nil, fail(DuplicateItem, "the array at the path %q has this value already", s.Path)
	}
	return append(slices.Clip(list), s.value), nil
}

func (s step) insert(old any, found bool) (any, *Error) {
	list, err := s.list(old, found)
	if err != nil {
		return nil, err
	}
	if *s.Index > len(list) {
		return nil, fail(IndexOutOfRange, "the index %d is beyond the %d elements at the path %q", *s.Index, len(list), s.Path)
	}
	return slices.Insert(slices.Clone(list), *s.Index, s.value), nil
}

// equal compares JSON values: numbers by what they are worth, objects without an order.
func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		n, errN := x.Float64()
		m, errM := y.Float64()
		return x == y || errN == nil && errM == nil && n == m
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	}
	return a == b // string, bool, nil; a list or an object on the other side is never equal to them
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "an array"
	}
	return "an object"
}

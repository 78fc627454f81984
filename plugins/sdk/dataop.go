package sdk

import "encoding/json"

// DataOp is one step of PluginDataUpdate. Which fields it has depends on Op; make one with the functions below.
type DataOp struct {
	Op     string          `json:"op"` // set | delete | put | merge | remove | increment | append | insert
	Path   string          `json:"path,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	By     *float64        `json:"by,omitempty"`
	Min    *float64        `json:"min,omitempty"`
	Max    *float64        `json:"max,omitempty"`
	Unique bool            `json:"unique,omitempty"`
	Index  *int            `json:"index,omitempty"`
}

// OpSet replaces the whole record.
func OpSet(value any) DataOp { return DataOp{Op: "set", Value: opValue(value)} }

// OpDelete removes the record. It must be the last step.
func OpDelete() DataOp { return DataOp{Op: "delete"} }

// OpPut sets a member or an existing element, creating the objects above it.
func OpPut(path string, value any) DataOp {
	return DataOp{Op: "put", Path: path, Value: opValue(value)}
}

// OpMerge sets the members of value on the object at path; path "" is the record itself.
func OpMerge(path string, value any) DataOp {
	return DataOp{Op: "merge", Path: path, Value: opValue(value)}
}

// OpRemove removes a member or an element.
func OpRemove(path string) DataOp { return DataOp{Op: "remove", Path: path} }

// OpIncrement adds to a number; one that is missing counts as 0.
func OpIncrement(path string, by float64) DataOp {
	return DataOp{Op: "increment", Path: path, By: &by}
}

// Within bounds the result of an increment; outside of it the step fails.
func (o DataOp) Within(lowest, highest float64) DataOp {
	o.Min, o.Max = &lowest, &highest
	return o
}

// OpAppend puts a value behind an array; one that is missing is empty.
func OpAppend(path string, value any) DataOp {
	return DataOp{Op: "append", Path: path, Value: opValue(value)}
}

// Once makes an append fail when the array holds an equal value.
func (o DataOp) Once() DataOp {
	o.Unique = true
	return o
}

// OpInsert puts a value into an array, before the element at index.
func OpInsert(path string, index int, value any) DataOp {
	return DataOp{Op: "insert", Path: path, Index: &index, Value: opValue(value)}
}

// opValue writes a value; what JSON cannot hold is left out, and the step is refused for the lack of it.
func opValue(v any) json.RawMessage {
	b, err := plainJSON(v)
	if err != nil {
		return nil
	}
	return b
}

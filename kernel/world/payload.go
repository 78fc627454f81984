package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/covel/covel/kernel/text"
)

// ReadPayload reads the payload of a proposal into the struct of its type: one JSON object, no unknown field, nothing
// behind it. Text is made clean first, whole numbers beyond ±2^53 are refused with their path, since a reader of JSON would
// lose digits. clean is the payload as it may be stored; an error is a *Rejection.
func ReadPayload(payload json.RawMessage, into any) (clean json.RawMessage, err error) {
	if clean, err = text.CleanJSON(payload); err != nil {
		return nil, reject("payload: %v", err)
	}
	if clean[0] != '{' {
		return nil, reject("payload: must be an object")
	}
	if err := checkNumbers("payload", clean); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(clean))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, reject("payload: %v", err)
	}
	return clean, nil
}

// CleanValue makes a JSON value fit to be stored, as ReadPayload does with a payload; name is what the value is called in
// errors, which are *Rejection.
func CleanValue(name string, value json.RawMessage) (json.RawMessage, error) {
	clean, err := text.CleanJSON(value)
	if err != nil {
		return nil, reject("%s: %v", name, err)
	}
	return clean, checkNumbers(name, clean)
}

const maxSafeDigits = 16 // of 2^53

// checkNumbers refuses whole numbers that readers of JSON do not keep; name is what the value is called.
func checkNumbers(name string, value []byte) error {
	run := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			run = 0
		} else if run++; run == maxSafeDigits {
			break
		}
	}
	if run < maxSafeDigits {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return reject("%s: %v", name, err)
	}
	if path, number := findLarge(name, v); path != "" {
		return reject("%s: %s is beyond ±2^53 and would lose digits: use a smaller number, or text", path, number)
	}
	return nil
}

func findLarge(at string, v any) (path, number string) {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); !strings.ContainsAny(string(v), ".eE") && (err != nil || i > 1<<53 || i < -1<<53) {
			return at, string(v)
		}
	case []any:
		for i, e := range v {
			if path, number := findLarge(fmt.Sprintf("%s[%d]", at, i), e); path != "" {
				return path, number
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if path, number := findLarge(at+"."+k, v[k]); path != "" {
				return path, number
			}
		}
	}
	return "", ""
}

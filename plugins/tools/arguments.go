package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// Arguments are a call's arguments after reading: JSON that fits the tool's schema.
type Arguments struct {
	JSON json.RawMessage
	Fix  Fix // the typo of the whole text that was repaired, NotNeeded for none
}

// maxTextPasses is how deep JSON text inside JSON text is read.
const maxTextPasses = 4

const resend = "Fix these fields and call the tool again."

// readArguments parses what the model wrote, repairs the known typos, reads JSON text where an array or object belongs, and
// checks the result. The error names the field and what is expected (seed: tools.txt, "Malformed argument JSON").
func readArguments(tool string, fits *schema.Schema, text string) (Arguments, *sdk.ToolError) {
	fixed, fix, err := Repair(text)
	if err != nil {
		return Arguments{}, sdk.Fail(sdk.InvalidInput, "The arguments of %q are not valid JSON: %s.", tool, err).
			WithHint("Call the tool again with the whole arguments as one valid JSON object.")
	}
	value, err := schema.Decode([]byte(fixed))
	if err != nil {
		return Arguments{}, sdk.Fail(sdk.InvalidInput, "The arguments of %q are not valid JSON: %s.", tool, err).WithHint(resend)
	}
	value = clean(value)
	failure, notes := fits.Check(value), map[string]string{}
	for range maxTextPasses {
		if failure == nil || len(failure.Texts) == 0 {
			break
		}
		changed := false
		for _, at := range failure.Texts {
			if replaceText(&value, at, notes) {
				changed = true
			}
		}
		if !changed {
			break
		}
		failure = fits.Check(value)
	}
	if failure != nil {
		for i, issue := range failure.Issues {
			if note, ok := notes[issue.Path]; ok {
				failure.Issues[i].Message += note
			}
		}
		return Arguments{}, sdk.Fail(sdk.InvalidInput, "The arguments of %q do not fit: %s.", tool, failure).WithHint(resend)
	}
	out, err := plainjson.Marshal(value)
	if err != nil {
		return Arguments{}, sdk.Fail(sdk.InvalidInput, "The arguments of %q cannot be read: %s.", tool, err)
	}
	return Arguments{JSON: out, Fix: fix}, nil
}

// replaceText puts what a JSON text at a place says in its stead. When the text cannot be read, notes get the reason.
func replaceText(root *any, at []string, notes map[string]string) bool {
	place, ok := find(root, at)
	if !ok {
		return false
	}
	text, ok := place.get().(string)
	if !ok {
		return false
	}
	fixed, _, err := RepairField(text)
	if err != nil {
		notes[schema.Path(at)] = fmt.Sprintf(" (its text is not valid JSON: %s; pass the array or object itself)", err)
		return false
	}
	value, err := schema.Decode([]byte(fixed))
	if err != nil {
		return false
	}
	switch value.(type) {
	case []any, map[string]any:
		place.set(clean(value))
		return true
	}
	return false
}

// slot is a place in a decoded value that can be read and replaced.
type slot struct {
	get func() any
	set func(any)
}

func find(root *any, at []string) (slot, bool) {
	s := slot{get: func() any { return *root }, set: func(v any) { *root = v }}
	for _, token := range at {
		switch v := s.get().(type) {
		case map[string]any:
			if _, ok := v[token]; !ok {
				return slot{}, false
			}
			s = slot{get: func() any { return v[token] }, set: func(n any) { v[token] = n }}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return slot{}, false
			}
			s = slot{get: func() any { return v[i] }, set: func(n any) { v[i] = n }}
		default:
			return slot{}, false
		}
	}
	return s, true
}

// clean makes a decoded value fit for storage and for Go: U+0000 becomes U+FFFD (decisions: "Text"), and whole numbers are
// written without a fraction (3.0 is the integer 3).
func clean(v any) any {
	switch x := v.(type) {
	case string:
		return strings.ReplaceAll(x, "\x00", "�")
	case json.Number:
		return wholeNumber(x)
	case []any:
		for i, item := range x {
			x[i] = clean(item)
		}
	case map[string]any:
		for k, item := range x {
			if strings.Contains(k, "\x00") {
				delete(x, k)
				k = strings.ReplaceAll(k, "\x00", "�")
			}
			x[k] = clean(item)
		}
	}
	return v
}

func wholeNumber(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return n
	}
	exact, ok := new(big.Rat).SetString(n.String())
	if !ok || !exact.IsInt() {
		return n // more digits than a float holds
	}
	return json.Number(exact.Num().String())
}

// EncodeArguments writes what a function runtime hands to ctx.tools.call. What JSON cannot hold is invalid-input.
func EncodeArguments(tool string, args any) (string, *sdk.ToolError) {
	if args == nil {
		return "{}", nil
	}
	b, err := plainjson.Marshal(args)
	if err != nil {
		return "", sdk.Fail(sdk.InvalidInput, "The arguments of %q cannot be written as JSON: %s.", tool, err)
	}
	return string(b), nil
}

// maxHistoryRaw is how much of unusable arguments goes back to the model, in bytes; the trace has all of it.
const maxHistoryRaw = 1000

// HistoryArguments is what the conversation keeps of a call's arguments: a JSON object as repaired, else the original text
// as a JSON string, so that nothing looks as if an empty object had been executed (seed: tools.txt, "Malformed argument
// JSON from the model").
func HistoryArguments(text string) string {
	if fixed, _, err := Repair(text); err == nil && strings.HasPrefix(strings.TrimLeft(fixed, " \t\r\n"), "{") {
		return fixed
	}
	text = strings.ToValidUTF8(text, "�")
	if len(text) > maxHistoryRaw {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxHistoryRaw-32], ""), len(text))
	}
	b, err := plainjson.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

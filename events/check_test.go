package events

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// What CheckAppend refuses is in the conformance suite of the stores; here is where its limits lie.
func TestLimitsOfNames(t *testing.T) {
	ok := []Event{{ID: uuid.New(), Type: "龙胆", SchemaVersion: 1}}
	for name, valid := range map[string]bool{
		strings.Repeat("a", MaxStreamName):   true,
		strings.Repeat("a", MaxStreamName+1): false,
		"session-E\u0301lodie 🐉/$all":        true,
		" ":                                  true,
		"":                                   false,
		"\x00":                               false,
		"\xed\xa0\x80":                       false, // a lone surrogate
	} {
		if err := CheckAppend(name, ok); (err == nil) != valid || (err != nil && !errors.Is(err, ErrInvalid)) {
			t.Errorf("stream %.40q: %v", name, err)
		}
	}
	for scope, valid := range map[string]bool{
		"worlds": true, "0": true, "a-b-": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "": false, "-": false, "a_b": false, "a\n": false, "..": false, "a/b": false,
	} {
		if err := CheckScope(scope); (err == nil) != valid || (err != nil && !errors.Is(err, ErrInvalid)) {
			t.Errorf("scope %.40q: %v", scope, err)
		}
	}
	if got := Digest(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("digest of nothing: %s", got)
	}
	if err := (BlobRef{Scope: "a", Digest: Digest(nil) + "\n"}).Check(); !errors.Is(err, ErrInvalid) {
		t.Errorf("digest with a line end: %v", err)
	}
}

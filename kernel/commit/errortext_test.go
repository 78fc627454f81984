package commit

import (
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"龙胆 is missing":              "龙胆 is missing",
		"bad key \x1b[31m\x00\nnext": "bad key [31m� next",
		"\xff":                       "�",
		strings.Repeat("雨", 501):     strings.Repeat("雨", 500) + "…",
	} {
		if got := errorText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

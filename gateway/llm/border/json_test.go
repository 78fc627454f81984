package border_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/covel/covel/gateway/llm/border"
	"github.com/covel/covel/kernel/text"
)

func throughJSON(pieces ...string) string {
	var b border.JSON
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(b.Write(p))
	}
	return out.String() + b.Flush()
}

func split(s string, n int) []string {
	var out []string
	for len(s) > n {
		out, s = append(out, s[:n]), s[n:]
	}
	return append(out, s)
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`""`:                   "",
		`"龍が来た"`:               "龍が来た",
		`"\"\\\/\b\f\n\r\t"`:   "\"\\/\b\f\n\r\t",
		`"\u9f8d\u00e9\u0041"`: "龍éA",
		`"\ud83d\udc09"`:       "\xED\xA0\xBD\xED\xB0\x89",
		`"\ud83dA"`:            "\xED\xA0\xBDA",
		"\"\xE9\xBE\"":         "\xE9\xBE",
		`"\u0000"`:             "\x00",
	} {
		got, ok := border.Unquote(raw)
		if !ok || got != want {
			t.Errorf("%s: got %q %v, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `"`, `null`, `12`, `"\"`, `"\u12"`, `"\u12g4"`, `"\x"`, `"a"b"`, `{"a":1}`} {
		if got, ok := border.Unquote(raw); ok {
			t.Errorf("%s is no string literal, got %q", raw, got)
		}
	}
}

func TestEscapesInsideJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"NUL", `{"a":"x\u0000y"}`, `{"a":"x\ufffdy"}`},
		{"lone high", `{"a":"\ud83dx"}`, `{"a":"\ufffdx"}`},
		{"lone low", `{"a":"\udc09x"}`, `{"a":"\ufffdx"}`},
		{"pair", `{"a":"\ud83d\udc09\uD83D\uDC69"}`, `{"a":"\ud83d\udc09\uD83D\uDC69"}`},
		{"high, high, low", `"\ud83d\ud83d\udc09"`, `"\ufffd\ud83d\udc09"`},
		{"high before another escape", `"\ud83d\n"`, `"\ufffd\n"`},
		{"high before a plain unit", `"\ud83d\u0041"`, `"\ufffd\u0041"`},
		{"an escaped backslash is no escape", `"C:\\u0000"`, `"C:\\u0000"`},
		{"plain escapes", `"\"\\\n\u4e2d"`, `"\"\\\n\u4e2d"`},
		{"malformed escapes pass", `"\u12 \x \`, `"\u12 \x \`},
		{"cut in the middle", `{"a":"\ud83d\udc`, `{"a":"\ufffd\udc`},
	} {
		if got := border.CleanJSON(c.in); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		for n := 1; n <= len(c.in); n++ {
			if got := throughJSON(split(c.in, n)...); got != c.want {
				t.Errorf("%s in pieces of %d: got %s, want %s", c.name, n, got, c.want)
			}
		}
	}
}

// Unquote and a Cleaner together read what encoding/json reads, where that is clean.
func FuzzUnquote(f *testing.F) {
	f.Add(`龍が来た🐉👩‍👩‍👧 \u00e9 \ud83d\udc09 \n`)
	f.Fuzz(func(t *testing.T, inner string) {
		raw := `"` + inner + `"`
		got, ok := border.Unquote(raw)
		var want string
		if json.Unmarshal([]byte(raw), &want) != nil {
			return
		}
		if !ok {
			t.Fatalf("%s is a string literal", raw)
		}
		if utf8.ValidString(got) && got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if clean := text.Clean(got); !strings.ContainsRune(want, utf8.RuneError) && clean != strings.ReplaceAll(want, "\x00", "\uFFFD") {
			t.Fatalf("got %q, want %q", clean, want)
		}
	})
}

func FuzzJSONDoesNotDependOnCuts(f *testing.F) {
	f.Add(`{"a":"\ud83d\u0000\\u0000\`, uint8(0))
	f.Fuzz(func(t *testing.T, in string, n uint8) {
		in = text.Clean(in)
		whole := border.CleanJSON(in)
		if got := throughJSON(split(in, int(n)+1)...); got != whole {
			t.Fatalf("pieces of %d: got %q, whole %q", int(n)+1, got, whole)
		}
		if json.Valid([]byte(in)) != json.Valid([]byte(whole)) {
			t.Fatalf("validity changed: %q to %q", in, whole)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(whole), &after); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(before)
		a, _ := json.Marshal(after)
		if strings.ReplaceAll(string(b), `\u0000`, "\uFFFD") != string(a) && !strings.Contains(string(b), `\\u0000`) {
			t.Fatalf("meaning changed: %s to %s", b, a)
		}
	})
}

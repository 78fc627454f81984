package text_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/text"
)

// Fault case BL-05: the text whose characters and joined emoji must survive every cut. The last letter is decomposed.
const dragon = "龍が来た🐉👩‍👩‍👧 e\u0301"

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"stays as it is", dragon + "陆青云\r\n\t龙胆 Élodie \uFFFD", dragon + "陆青云\r\n\t龙胆 Élodie \uFFFD"},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"lone byte", "a\xFFb", "a\uFFFDb"},
		{"cut character", "a\xE9\xBE", "a\uFFFD\uFFFD"},
		{"cut character, then a letter", "\xE9\xBEa", "\uFFFD\uFFFDa"},
		{"lone surrogate is one mark", "a\xED\xA0\x80b", "a\uFFFDb"},
		{"the halves of a pair are joined", "a\xED\xA0\xBD\xED\xB0\x89b", "a🐉b"},
		{"two high halves, one pair", "\xED\xA0\xBD\xED\xA0\xBD\xED\xB0\x89", "\uFFFD🐉"},
		{"low half first", "\xED\xB0\x89\xED\xA0\xBD", "\uFFFD\uFFFD"},
		{"high half, then half a half", "\xED\xA0\xBD\xED\xB0", "\uFFFD\uFFFD\uFFFD"},
		{"half a surrogate", "\xED\xA0", "\uFFFD\uFFFD"},
		{"last character before the surrogates", "\xED\x9F\xBF", "\uD7FF"},
		{"overlong", "\xC0\x80", "\uFFFD\uFFFD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text.Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanerDoesNotCareWhereTextIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{dragon, "\x00", "\xED\xA0\xBD", "\xED\xB0\x89", "\xED", "\xE9\xBE", "\xF0\x9F", "é", "龍"}),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
		)
		whole := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		want := text.Clean(whole)
		if !utf8.ValidString(want) || strings.ContainsRune(want, 0) {
			t.Fatalf("Clean(%q) = %q is not clean", whole, want)
		}
		if again := text.Clean(want); again != want {
			t.Fatalf("cleaning twice changed %q to %q", want, again)
		}

		var c text.Cleaner
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(c.Write(rest[:n]))
			rest = rest[n:]

			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			c = text.Cleaner{}
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
		}
		got.WriteString(c.Close())
		if got.String() != want {
			t.Fatalf("pieces gave %q, whole gave %q", got.String(), want)
		}
	})
}

func TestCleanJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"compacted", " { \"b\" : 1.50, \"a\" : \"<龙胆>\" } ", `{"b":1.50,"a":"<龙胆>"}`},
		{"escaped NUL", `{"a":"x\u0000y"}`, `{"a":"x` + "\uFFFD" + `y"}`},
		{"lone surrogate escape", `["\ud83dx"]`, `["` + "\uFFFD" + `x"]`},
		{"pair", `["\ud83d\udc09"]`, `["🐉"]`},
		{"in a key", `{"\u0000":9007199254740993}`, `{"` + "\uFFFD" + `":9007199254740993}`},
		{"raw bytes", "[\"\xFF\"]", `["` + "\uFFFD" + `"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := text.CleanJSON([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if _, err := text.CleanJSON([]byte(`{"a":`)); err == nil {
		t.Error("a cut value passed")
	}
}

func FuzzCleanJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\u0000\ud800"}`))
	f.Add([]byte("[\"\xED\xA0\x80\"]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := text.CleanJSON(raw)
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("CleanJSON(%q) = %q is not JSON", raw, out)
		}
		again, err := text.CleanJSON(out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("not stable: %q then %q (%v)", out, again, err)
		}
	})
}

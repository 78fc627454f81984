package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/text"
)

// Fault case BL-05: no cut may break a character, a joined emoji or a decomposed letter.
const dragon = "龍が来た🐉👩‍👩‍👧 e\u0301"

// streamed feeds an answer in pieces of n bytes and gives all that was yielded. The stream survives serialisation
// between any two pieces.
func streamed(t testing.TB, answer string, n int) string {
	t.Helper()
	var s SegmentStream
	var out strings.Builder
	for len(answer) > 0 {
		k := min(n, len(answer))
		out.WriteString(s.Write(answer[:k]))
		answer = answer[k:]
		s = roundTrip(t, s)
	}
	return out.String()
}

func roundTrip[T any](t testing.TB, v T) T {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestSegmentStreamYieldsTheStory(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"plain", dragon, dragon},
		{"plain paragraphs", "  The fog.\r\n\r\n\n陆青云 waits. \n", "The fog.\n\n陆青云 waits."},
		{"single line breaks stay", "one\ntwo\n  three", "one\ntwo\n  three"},
		{"ideographic indent", "　　第一段。\n\n　　第二段。", "第一段。\n\n第二段。"},
		{"segments", `{"segments":[{"kind":"narration","text":"The fog."},{"kind":"dialogue","speaker":"龙胆","text":"来了。"}]}`, "The fog.\n\n来了。"},
		{"text first, kind later", `{"segments":[{"text":"a","kind":"action"}]}`, "a"},
		{"the hard text", `{"segments":[{"kind":"narration","text":"` + dragon + `"}]}`, dragon},
		{"escapes", `{"segments":[{"text":"a\"b\\c\/d\n\té\u9f8d"}]}`, "a\"b\\c/d\n\té龍"},
		{"other escapes", `{"segments":[{"text":"a\b\f\r\u00E9\u00gz\q"}]}`, "a\b\f\ré\uFFFDq"},
		{"surrogate pairs", `{"segments":[{"text":"\ud83d\udc09\uD83D\uDC69\u200d"}]}`, "🐉👩\u200d"},
		{"lone surrogates", `{"segments":[{"text":"\ud83dx\udc09y\ud83d"}]}`, "\uFFFDx\uFFFDy\uFFFD"},
		{"escaped NUL", `{"segments":[{"text":"a\u0000b"}]}`, "a\uFFFDb"},
		{"escaped keys", `{"\u0073egments":[{"te\u0078t":"a"}]}`, "a"},
		{"unknown keys with nested junk", `{"x":{"segments":[{"text":"no"}]},"segments":[{"meta":{"text":["no","}]"]},"text":"a","tags":[[{"text":"no"}]]}],"text":"no"}`, "a"},
		{"brackets and quotes in strings", `{"segments":[{"note":"]}\"{","text":"a]}\"{b"}]}`, `a]}"{b`},
		{"only the list of the root", `{"segments":{"segments":[{"text":"no"}]}}`, ""},
		{"not an object", `{"segments":["no",[{"text":"no"}],{"text":"a"}]}`, "a"},
		{"the first value of a key counts", `{"segments":[{"text":"a","text":"no"}],"segments":[{"text":"no"}]}`, "a"},
		{"text that is no string", `{"segments":[{"text":5},{"text":null},{"text":"a"}]}`, "a"},
		{"empty segments vanish", `{"segments":[{"text":" \n"},{"text":"a "},{"text":""},{"text":"\tb"}]}`, "a\n\nb"},
		{"fence", "```json\n{\"segments\":[{\"text\":\"a\"}]}\n```\nHope you like it.", "a"},
		{"fence without a name", "\uFEFF \n```\n{\"segments\":[{\"text\":\"a\"}]}```", "a"},
		{"fence in one line", "```json {\"segments\":[{\"text\":\"a\"}]}", "a"},
		{"back quotes in prose", "``so`` and `so`\n`so` too", "``so`` and `so`\n`so` too"},
		{"a fence ends plain text", "Here it is:\n```json\n{\"segments\":[]}", "Here it is:"},
		{"other JSON", `{"answer":42}`, ""},
		{"nothing", " \n ", ""},
		{"invalid bytes", "a\xFFb\x00c", "a\uFFFDb\uFFFDc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, len(c.answer)} {
				if got := streamed(t, c.answer, n); got != c.want {
					t.Errorf("in pieces of %d bytes: %q, want %q", n, got, c.want)
				}
			}
		})
	}
}

func TestEveryCutOfAHardAnswer(t *testing.T) {
	answer := `{"segments":[{"kind":"dialogue","speaker":"Élodie","text":"` + dragon + `\ud83d\udc09 \n"},{"text":"x"}]}`
	want := dragon + "🐉\n\nx"
	for i := range len(answer) {
		var s SegmentStream
		if got := s.Write(answer[:i]) + s.Write(answer[i:]); got != want {
			t.Fatalf("cut at %d: %q", i, got)
		}
	}
}

// storyText makes texts that are hard to cut and to trim.
func storyText(t *rapid.T, label string) string {
	piece := rapid.SampledFrom([]string{"a", "The fog", "龍が来た", "🐉", "👩‍👩‍👧", "e\u0301", " ", "  ", "\n", "\n\n", "\t", "　", "\"", "\\", "{", "}", "[", "]", "`", "```", ":", ",", "\\u0041", "陆青云"})
	return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, label), "")
}

// jsonString writes a string with escapes chosen at random.
func jsonString(t *rapid.T, s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !rapid.Bool().Draw(t, "escaped") {
		return string(b)
	}
	var out strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&out, `\u%04x`, unit)
	}
	return `"` + out.String() + `"`
}

func drawStory(t *rapid.T) (answer string, want []Segment) {
	n := rapid.IntRange(0, 4).Draw(t, "segments")
	var list []string
	for range n {
		seg := Segment{Kind: rapid.SampledFrom([]string{Narration, Dialogue, Action}).Draw(t, "kind"), Text: storyText(t, "text")}
		fields := []string{`"kind":` + jsonString(t, seg.Kind), `"text":` + jsonString(t, seg.Text)}
		if seg.Kind != Narration {
			seg.Speaker = rapid.SampledFrom([]string{"龙胆", "Élodie", "Mara \"M\""}).Draw(t, "speaker")
			fields = append(fields, `"speaker":`+jsonString(t, seg.Speaker))
		}
		if rapid.Bool().Draw(t, "junk") {
			fields = append(fields, `"junk":{"text":["no",{"segments":[{"text":"no"}]}],"n":-1.5e3}`)
		}
		fields = rapid.Permutation(fields).Draw(t, "order")
		list = append(list, "{"+strings.Join(fields, " ,\n")+"}")
		if seg.Text = strings.TrimSpace(seg.Text); seg.Text != "" {
			want = append(want, seg)
		}
	}
	answer = `{"advance":{"reason":"x"} , "segments" : [` + strings.Join(list, ", ") + `]}`
	switch rapid.IntRange(0, 2).Draw(t, "fence") {
	case 1:
		answer = "```json\n" + answer + "\n```"
	case 2:
		answer = "\n" + answer + "\nThat was it."
	}
	return answer, want
}

// What is streamed is a prefix of the narrative at every moment, and all of it in the end, however the answer is cut.
func TestStreamedTextIsAPrefixOfTheNarrative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer, want := drawStory(t)
		if rapid.Bool().Draw(t, "plain") {
			answer, want = storyText(t, "prose"), nil
		}
		story, err := ParseStory(answer)
		if want != nil && (err != nil || !reflect.DeepEqual(story.Segments, want)) {
			t.Fatalf("ParseStory(%q) = %+v, %v; want %+v", answer, story.Segments, err, want)
		}
		if err != nil {
			return
		}
		narrative := DeriveNarrative(story.Segments)
		var s SegmentStream
		var out strings.Builder
		for rest := answer; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "cut")
			out.WriteString(s.Write(rest[:n]))
			rest = rest[n:]
			if !strings.HasPrefix(narrative, out.String()) {
				t.Fatalf("answer %q: streamed %q is no prefix of %q", answer, out.String(), narrative)
			}
		}
		if story.Object != nil && out.String() != narrative {
			t.Fatalf("answer %q: streamed %q, narrative %q", answer, out.String(), narrative)
		}
		if story.Object == nil && !strings.Contains(answer, "`") && out.String() != narrative {
			t.Fatalf("plain answer %q: streamed %q, narrative %q", answer, out.String(), narrative)
		}
	})
}

func TestParseStory(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []Segment
		problem      string
	}{
		{"paragraphs", "One.\n\nTwo.", []Segment{{Kind: Narration, Text: "One."}, {Kind: Narration, Text: "Two."}}, ""},
		{"unknown kinds are mended", `{"segments":[{"kind":"thought","text":"a"},{"kind":"?","text":"b","speaker":" 龙胆 "},{"kind":"narration","text":"c","speaker":"no"}]}`,
			[]Segment{{Kind: Narration, Text: "a"}, {Kind: Dialogue, Text: "b", Speaker: "龙胆"}, {Kind: Narration, Text: "c"}}, ""},
		{"JSON after an introduction", "Sure! Here it is:\n```json\n{\"segments\":[{\"kind\":\"action\",\"text\":\"a\",\"speaker\":\"Mara\"}]}\n```", []Segment{{Kind: Action, Text: "a", Speaker: "Mara"}}, ""},
		{"a fence in prose is prose", "She writes:\n```\nx = 1\n```", []Segment{{Kind: Narration, Text: "She writes:\n```\nx = 1\n```"}}, ""},
		{"empty", " \n", nil, "no story text"},
		{"empty list", `{"segments":[]}`, nil, "the answer has no text"},
		{"other object", `{"text":"a"}`, nil, "the answer has no text"},
		{"cut off", `{"segments":[{"text":"One."},{"kind":"dialogue","text":"Tw`, []Segment{{Kind: Narration, Text: "One."}, {Kind: Dialogue, Text: "Tw"}}, "not a complete JSON object"},
		{"cut in a surrogate pair", `{"segments":[{"text":"a\ud83d`, []Segment{{Kind: Narration, Text: "a\uFFFD"}}, "not a complete JSON object"},
		{"too deep", `{"a":` + strings.Repeat("[", 100_000), nil, "not a complete JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseStory(c.answer)
			if !reflect.DeepEqual(got.Segments, c.want) {
				t.Errorf("segments %+v, want %+v", got.Segments, c.want)
			}
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
}

func FuzzParseStory(f *testing.F) {
	f.Add(`{"segments":[{"kind":"narration","text":"龍\ud83d\udc09"}]}`, 1)
	f.Add("```json\n{\"segments\":[{\"text\":\"a\"}]}```", 3)
	f.Add("prose\n\n``` more\xFF\x00", 2)
	f.Fuzz(func(t *testing.T, answer string, n int) {
		story, err := ParseStory(answer)
		narrative := DeriveNarrative(story.Segments)
		if err == nil && strings.TrimSpace(narrative) == "" {
			t.Fatalf("%q passed as a story without text", answer)
		}
		if narrative != text.Clean(narrative) {
			t.Fatalf("%q: narrative %q is not clean", answer, narrative)
		}
		got := streamed(t, answer, max(1, min(n, 50)))
		if story.Object != nil && !strings.HasPrefix(got, narrative) && !strings.HasPrefix(narrative, got) {
			// A story found in a fence after an introduction replaces what was streamed; everything else is a prefix.
			if _, ok := fencedObject(answer); !ok {
				t.Fatalf("%q: streamed %q, narrative %q", answer, got, narrative)
			}
		}
		if story.Object == nil && err == nil && !strings.HasPrefix(narrative, got) {
			t.Fatalf("%q: streamed %q, narrative %q", answer, got, narrative)
		}
	})
}

package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seed: tools.txt, "Malformed argument JSON from the model": the table, then its limits.
func TestRepair(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // "" when it must not be repaired
		fix  Fix
	}{
		// "Extra closing brackets at the end"
		"row 1, its example":            {`{"updates":[{"id":1}]}]}`, `{"updates":[{"id":1}]}`, ExtraClosing},
		"row 1, four brackets":          {`{"a":1}]}]}`, `{"a":1}`, ExtraClosing},
		"row 1, five are too many":      {`{"a":1}]}]}]`, "", ""},
		"row 1, with space":             {"{\"a\":1} }\n", `{"a":1}`, ExtraClosing},
		"row 1, text behind":            {`{"a":1}} done`, "", ""},
		"row 1, brackets in a value":    {`{"a":"}]}"}}`, `{"a":"}]}"}`, ExtraClosing},
		"row 1, second value":           {`{"a":1}{"b":2}`, "", ""},
		"row 1, value is not complete":  {`{"a":]}`, "", ""},
		"row 1, a comma behind":         {`{"a":1},}`, "", ""},
		"row 1, CJK":                    {`{"名":"陆青云"}]`, `{"名":"陆青云"}`, ExtraClosing},
		"row 1, nothing but whitespace": {" \n", "", ""},

		// "Quotes inside a string value not escaped"
		"row 2, its example":                  {`{"note": "铭文把它叫作"锁"而不是灯。"}`, `{"note": "铭文把它叫作\"锁\"而不是灯。"}`, UnescapedQuotes},
		"row 2, at the beginning":             {`{"note": ""锁"是灯"}`, `{"note": "\"锁\"是灯"}`, UnescapedQuotes},
		"row 2, at the end":                   {`{"note": "他说"走""}`, `{"note": "他说\"走\""}`, UnescapedQuotes},
		"row 2, two pairs":                    {`{"note": "an "old" and a "new" lamp", "n": 1}`, `{"note": "an \"old\" and a \"new\" lamp", "n": 1}`, UnescapedQuotes},
		"row 2, in a list":                    {`["a "b" c", "d"]`, `["a \"b\" c", "d"]`, UnescapedQuotes},
		"row 2, beside an escaped pair":       {`{"n":"a \"b\" and "c" d"}`, `{"n":"a \"b\" and \"c\" d"}`, UnescapedQuotes},
		"row 2, an extra quote":               {`{"name": "Mira"", "age": 3}`, "", ""},
		"row 2, a missing quote":              {`{"name": "Mira, "age": 3}`, "", ""},
		"row 2, a quote before a comma":       {`{"note": "he said "hi", then left"}`, "", ""},
		"row 2, a quote before a colon":       {`{"note": "he said "hi": then left"}`, "", ""},
		"row 2, key names are never changed":  {`{"the "old" key": 1}`, "", ""},
		"row 2, missing comma between texts":  {`["a" "b"]`, "", ""},
		"row 2, missing commas, three texts":  {`["ab" "cd" "ef"]`, "", ""},
		"row 2, missing comma between fields": {"{\"a\": \"x\"\n \"b\": \"y\"}", "", ""},
		"row 2, a string that does not end":   {`{"note": "a "b" c`, "", ""},
		"row 2, with another typo":            {`{"note": "a "b" c"}}`, "", ""},

		// "An array element starts before the previous one closes"
		"row 3, its example":           {`[{"id":"a","attributes":{"kind":"lamp"}, {"id":"b"}]`, `[{"id":"a","attributes":{"kind":"lamp"}}, {"id":"b"}]`, ElementNotClosed},
		"row 3, in an object":          {`{"creates":[{"id":"a","f":{}},{"id":"b","f":{"x":1},{"id":"c"}]}`, `{"creates":[{"id":"a","f":{}},{"id":"b","f":{"x":1}},{"id":"c"}]}`, ElementNotClosed},
		"row 3, twice":                 {`[{"f":{"x":1},{"f":{"x":2},{"f":{"x":3}}]`, `[{"f":{"x":1}},{"f":{"x":2}},{"f":{"x":3}}]`, ElementNotClosed},
		"row 3, a key was left out":    {`[{"id":"a","f":{"summary":"…", {"role":"…"}}]`, "", ""},
		"row 3, not inside an array":   {`{"a":{"b":{"c":1}, {"d":2}}`, "", ""},
		"row 3, last field is a text":  {`[{"id":"a", {"id":"b"}]`, "", ""},
		"row 3, brackets in a string":  {`[{"id":"},{","f":{"x":"}, {"}, {"id":"b"}]`, `[{"id":"},{","f":{"x":"}, {"}}, {"id":"b"}]`, ElementNotClosed},
		"row 3, with another typo":     {`[{"id":"a","f":{"x":1}, {"id":"b"}]]`, "", ""},
		"row 3, the last one is open":  {`[{"f":{"x":1}, {"f":{"x":2}]`, "", ""},
		"row 3, the element is closed": {`[{"f":{"x":1}}, {"id":"b"}]`, `[{"f":{"x":1}}, {"id":"b"}]`, NotNeeded},

		// "Closing brackets do not match the open ones"
		"row 4, its first example":      {`[{"id":"a"},{"id":"b"}}]`, `[{"id":"a"},{"id":"b"}]`, MismatchedBrackets},
		"row 4, its second example":     {`[{"id":"a"},{"id":"b"}}`, `[{"id":"a"},{"id":"b"}]`, MismatchedBrackets},
		"row 4, inside an object":       {`{"updates":[{"id":"a"}}]}`, `{"updates":[{"id":"a"}]}`, MismatchedBrackets},
		"row 4, an object's end":        {`{"a":[1,2]]`, `{"a":[1,2]}`, MismatchedBrackets},
		"row 4, wrong kind in between":  {`{"a":[1,2},"b":3}`, "", ""},
		"row 4, two at the end":         {`{"a":[{"b":1]]`, "", ""},
		"row 4, cut off":                {`{"updates":[{"id":"a"}`, "", ""},
		"row 4, cut off with a bracket": {`{"updates":[{"id":"a"}]`, "", ""},

		// "An object's opening written twice"
		"row 5, its example":      {`[{"id":"a"},{"{"id":"b"}]`, `[{"id":"a"},{"id":"b"}]`, DoubledOpening},
		"row 5, at the beginning": {`{"{"id":"b"}`, `{"id":"b"}`, DoubledOpening},
		"row 5, inside a string":  {`{"a":"{\"{\"","{"b":1}`, "", ""},
		"row 5, an honest key":    {`{"{":1}`, `{"{":1}`, NotNeeded},

		// "Other errors are not guessed at"
		"cut off in a string":   {`{"a":"x`, "", ""},
		"cut off after a colon": {`{"a":`, "", ""},
		"cut off in a list":     {`{"a":[1,2`, "", ""},
		"single quotes":         {`{'a':1}`, "", ""},
		"trailing comma":        {`{"a":1,}`, "", ""},
		"a comment":             {`{"a":1 /* one */}`, "", ""},
		"a code fence":          {"```json\n{\"a\":1}\n```", "", ""},
		"nothing":               {"", "", ""},
		"an open list":          {`[{"id":"a"},{"id":"b"}`, "", ""},

		"valid":            {`{"a":[1,{"b":"铭文\"锁\""}]}`, `{"a":[1,{"b":"铭文\"锁\""}]}`, NotNeeded},
		"valid with space": {"\t{ \"a\" : 1 }\r\n", "\t{ \"a\" : 1 }\r\n", NotNeeded},
	} {
		t.Run(name, func(t *testing.T) {
			got, fix, err := Repair(c.text)
			if c.want == "" {
				if err == nil {
					t.Fatalf("%s was repaired to %s (%s)", c.text, got, fix)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			if got != c.want || fix != c.fix {
				t.Errorf("got %s (%s)\nwant %s (%s)", got, fix, c.want, c.fix)
			}
		})
	}
}

// seed: tools.txt, "This kind of text field has one extra rule: an open bracket left at the end of the text is closed".
func TestRepairField(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`[{"id":"a"},{"id":"b"}`, `[{"id":"a"},{"id":"b"}]`},
		{`[{"id":"a"`, `[{"id":"a"}]`},
		{"{\"a\":[1,2 \n", `{"a":[1,2]}`},
		{`[{"id":"a"},{"id":`, ""},
		{`[{"id":"a"},`, ""},
		{`["a`, ""},
		{`[{"id":"a"},{"id":"b"}}`, `[{"id":"a"},{"id":"b"}]`},
		{`[1,2]`, `[1,2]`},
	} {
		got, _, err := RepairField(c.text)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestRepairSaysWhereTheTextIsWrong(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"名字": "陆青云"", "b": 1}`, `invalid character '"' after object key:value pair at character 13, near «{"名字": "陆青云"", "b": 1}»`},
		{`{"a": [1, 2`, `the text ends before the value is complete, after «{"a": [1, 2»`},
		{strings.Repeat(" ", 50) + `{'a': "` + strings.Repeat("x", 50) + `"}`, "invalid character '\\'' looking for beginning of object key string at character 52, near «…" + strings.Repeat(" ", 19) + `{'a': "` + strings.Repeat("x", 14) + "…»"},
	} {
		_, _, err := Repair(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func jsonGen(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 5
		if depth == 0 {
			most = 3
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"", "a", `"`, "{", "}]", "铭文\"锁\"", "Élodie", "👩‍🌾", ", ", `\`, "{\"{"}).Draw(t, "text")
		case 1:
			return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			return nil
		case 4:
			return rapid.SliceOfN(jsonGen(depth-1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "{", "名", `"`}), jsonGen(depth-1), 0, 3).Draw(t, "object")
	})
}

func TestRepairNeverChangesValidJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.Marshal(jsonGen(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if got, fix, err := Repair(string(b)); got != string(b) || fix != NotNeeded || err != nil {
			t.Fatalf("%s became %s (%s, %v)", b, got, fix, err)
		}
	})
}

// A repaired text differs from the original only as its row allows.
func checkRow(t interface{ Errorf(string, ...any) }, text, fixed string, fix Fix) {
	switch fix {
	case NotNeeded:
		if fixed != text {
			t.Errorf("valid JSON changed: %q → %q", text, fixed)
		}
	case ExtraClosing:
		if rest, ok := strings.CutPrefix(text, fixed); !ok || strings.Trim(rest, "}] \t\r\n") != "" {
			t.Errorf("more than closing brackets went: %q → %q", text, fixed)
		}
	case UnescapedQuotes:
		if strings.ReplaceAll(text, `\`, "") != strings.ReplaceAll(fixed, `\`, "") {
			t.Errorf("more than backslashes came: %q → %q", text, fixed)
		}
	case ElementNotClosed:
		if strings.ReplaceAll(text, "}", "") != strings.ReplaceAll(fixed, "}", "") || len(fixed) <= len(text) {
			t.Errorf("more than } came: %q → %q", text, fixed)
		}
	case MismatchedBrackets:
		strip := strings.NewReplacer("}", "", "]", "")
		if strip.Replace(text) != strip.Replace(fixed) || len(fixed) > len(text) {
			t.Errorf("more than brackets changed: %q → %q", text, fixed)
		}
	case DoubledOpening:
		if len(fixed) >= len(text) || (len(text)-len(fixed))%2 != 0 || strings.Count(text, `{"`)-strings.Count(fixed, `{"`) != (len(text)-len(fixed))/2 {
			t.Errorf("more than {\" went: %q → %q", text, fixed)
		}
	case OpenAtEnd:
		if rest, ok := strings.CutPrefix(fixed, strings.TrimRight(text, jsonSpace)); !ok || strings.Trim(rest, "}]") != "" {
			t.Errorf("more than brackets came: %q → %q", text, fixed)
		}
	}
}

func FuzzRepair(f *testing.F) {
	for _, text := range []string{
		`{"updates":[{"id":1}]}]}`, `{"note": "铭文把它叫作"锁"而不是灯。"}`, `[{"id":"a","attributes":{"kind":"lamp"}, {"id":"b"}]`,
		`[{"id":"a"},{"id":"b"}}]`, `[{"id":"a"},{"id":"b"}}`, `[{"id":"a"},{"{"id":"b"}]`, `[{"id":"a"},{"id":"b"}`, `{"a`, `"\`, `{"a":"\ud800"}`, "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(string) (string, Fix, error){Repair, RepairField} {
			fixed, fix, err := read(text)
			if err != nil {
				if json.Valid([]byte(text)) {
					t.Fatalf("valid JSON refused: %v", err)
				}
				continue
			}
			if !json.Valid([]byte(fixed)) {
				t.Fatalf("%q was repaired to %q, which is not JSON", text, fixed)
			}
			checkRow(t, text, fixed, fix)
		}
	})
}

func TestTableRowsDifferOnlyAsTheyMay(t *testing.T) {
	typos := []func(string) string{
		func(s string) string { return s + "]}" },
		func(s string) string { return strings.Replace(s, `铭文`, `铭"文"`, 1) },
		func(s string) string { return strings.Replace(s, "}}", "}", 1) },
		func(s string) string { return strings.Replace(s, "}]", "}}]", 1) },
		func(s string) string { return strings.Replace(s, `{"`, `{"{"`, 1) },
		func(s string) string { return strings.TrimSuffix(s, "]") },
	}
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.Marshal(jsonGen(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom(typos).Draw(t, "typo")(string(b))
		if fixed, fix, err := RepairField(text); err == nil {
			checkRow(t, text, fixed, fix)
		}
	})
}

package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompileRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   string
		is     error
	}{
		"a file":               {`{"$ref":"file:///etc/passwd"}`, "must not refer to anything outside itself", ErrExternalRef},
		"an address":           {`{"properties":{"a":{"$ref":"https://example.org/x.json"}}}`, "must not refer to anything outside itself", ErrExternalRef},
		"a file beside it":     {`{"$ref":"other.json#/a"}`, "must not refer to anything outside itself", ErrExternalRef},
		"another meta-schema":  {`{"$schema":"https://example.org/meta"}`, "must not refer to anything outside itself", ErrExternalRef},
		"a wrong type":         {`{"type":"text"}`, "not a JSON Schema: ", nil},
		"a wrong keyword":      {`{"minLength":"five"}`, "minLength: expected an integer, got a string", nil},
		"a lookahead":          {`{"pattern":"(?=a)"}`, "not a JSON Schema", nil},
		"no JSON":              {`{"type":`, "not valid JSON", nil},
		"a list":               {`[]`, "must be a JSON object", nil},
		"a missing definition": {`{"$ref":"#/$defs/none"}`, "not a JSON Schema", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "root:") {
				t.Errorf("the error shows a file: %v", err)
			}
		})
	}
	if _, err := Compile(json.RawMessage(strings.Repeat(" ", MaxBytes+1))); err == nil {
		t.Error("a huge schema was compiled")
	}
}

func TestCheckSaysWhatIsExpected(t *testing.T) {
	const s = `{"type":"object","required":["name"],"additionalProperties":false,"properties":{
		"name":{"type":"string","minLength":2,"maxLength":4,"pattern":"^\\p{Letter}+$"},
		"n":{"type":"integer","minimum":1,"maximum":5,"multipleOf":2},"x":{"exclusiveMinimum":0,"exclusiveMaximum":1},
		"list":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string"}},
		"level":{"enum":["info","警告",null]},"one":{"const":1},"never":false,
		"either":{"anyOf":[{"type":"string"},{"type":"object","required":["value"]}]},
		"both":{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]},
		"tree":{"$ref":"#/$defs/tree"},"a.b":{"type":"boolean"},"map":{"type":"object","minProperties":1,"maxProperties":1,"additionalProperties":{"type":["number","null"]}}},
		"$defs":{"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}},"v":{"type":"number"}}}}}`
	compiled, err := Compile(json.RawMessage(s))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"name":"龙胆"}`: "",
		`{}`:            "name: is required",
		`[]`:            "expected an object, got an array",
		`{"name":"龙胆","other":1,"constructor":2}`: "constructor: is not a known key; remove it; other: is not a known key; remove it",
		`{"name":"灯"}`:                                  "name: must have at least 2 characters, got 1",
		`{"name":"龙胆龙胆龙"}`:                              "name: must have at most 4 characters, got 5",
		`{"name":"a1"}`:                                 `name: "a1" does not match the pattern ^\p{Letter}+$`,
		`{"name":5}`:                                    "name: expected a string, got a number",
		`{"name":"ab","n":0.5}`:                         "n: expected an integer, got a number",
		`{"name":"ab","n":0}`:                           "n: must be at least 1, got 0",
		`{"name":"ab","n":6}`:                           "n: must be at most 5, got 6",
		`{"name":"ab","n":3}`:                           "n: must be a multiple of 2, got 3",
		`{"name":"ab","x":0}`:                           "x: must be more than 0, got 0",
		`{"name":"ab","x":1.5}`:                         "x: must be less than 1, got 1.5",
		`{"name":"ab","list":[]}`:                       "list: must have at least 1 item, got 0",
		`{"name":"ab","list":["a","b","c"]}`:            "list: must have at most 2 items, got 3",
		`{"name":"ab","list":["a","a"]}`:                "list: items 0 and 1 are the same; each may occur once",
		`{"name":"ab","list":["a",1]}`:                  "list[1]: expected a string, got a number",
		`{"name":"ab","level":"<loud>"}`:                `level: expected one of "info", "警告", null, got "<loud>"`,
		`{"name":"ab","one":2}`:                         "one: expected 1, got 2",
		`{"name":"ab","never":2}`:                       "never: nothing is allowed here; remove it",
		`{"name":"ab","either":{}}`:                     "either.value: is required",
		`{"name":"ab","either":1}`:                      "either: fits none of the allowed forms (expected a string, got a number; or expected an object, got a number)",
		`{"name":"ab","both":{}}`:                       "both: fits none of the allowed forms (is required)",
		`{"name":"ab","tree":{"kids":[{"v":"x"}]}}`:     "tree.kids[0].v: expected a number, got a string",
		`{"name":"ab","a.b":1}`:                         `["a.b"]: expected true or false, got a number`,
		`{"name":"ab","map":{}}`:                        "map: must have at least 1 key, got 0",
		`{"name":"ab","map":{"a":"x","b":1}}`:           "map: must have at most 1 key, got 2; map.a: expected null or a number, got a string",
		`{"name":"ab"} trailing`:                        "is not valid JSON: invalid character after top-level value",
		`{"name":"x","n":9,"list":[1],"level":0,"a":1}`: `a: is not a known key; remove it; level: expected one of "info", "警告", null, got 0; list[0]: expected a string, got a number; n: must be at most 5, got 9; n: must be a multiple of 2, got 9; name: must have at least 2 characters, got 1`,
	} {
		got := ""
		if f := compiled.CheckJSON([]byte(value)); f != nil {
			got = f.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
}

func TestTextsThatCouldBeCompound(t *testing.T) {
	compiled, err := Compile(json.RawMessage(`{"properties":{"a":{"type":"array","items":{"type":"object"}},"b":{"anyOf":[{"type":"number"},{"type":"object"}]},"c":{"type":"string"},"d":{"type":"number"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := compiled.CheckJSON([]byte(`{"a":["x",{}],"b":"{}","c":5,"d":"1"}`))
	if f == nil {
		t.Fatal("it fits")
	}
	got := map[string]bool{}
	for _, at := range f.Texts {
		got[Path(at)] = true
	}
	if diff := cmp.Diff(map[string]bool{"a[0]": true, "b": true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailureNamesAtMostTen(t *testing.T) {
	compiled, err := Compile(json.RawMessage(`{"items":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := compiled.CheckJSON([]byte("[1,2,3,4,5,6,7,8,9,10,11,12]")).Error(); !strings.HasSuffix(text, "; and 2 more") {
		t.Errorf("got %s", text)
	}
}

func TestValuesThatAreNoJSON(t *testing.T) {
	compiled, err := Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	if f := compiled.Check(make(chan int)); f == nil {
		t.Error("a channel fits a schema")
	}
}

func TestCache(t *testing.T) {
	var c Cache
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2 * cacheSize {
				raw := json.RawMessage(`{"minimum":` + strings.Repeat("1", 1+i%7) + `}`)
				if s, err := c.Compile(raw); err != nil || s == nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	a, _ := c.Compile(json.RawMessage(`{"minimum":1}`))
	b, _ := c.Compile(json.RawMessage(`{"minimum":1}`))
	if a != b {
		t.Error("a schema was compiled twice")
	}
	if _, err := c.Compile(json.RawMessage(`{`)); err == nil {
		t.Error("a broken schema was compiled")
	}
	for i := range cacheSize + 1 {
		if _, err := c.Compile(json.RawMessage(`{"title":"` + strings.Repeat("x", i) + `"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.made); n > cacheSize {
		t.Errorf("the cache holds %d", n)
	}
}

func FuzzCompileAndCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"$ref":"file:///etc/passwd"}`, `1`)
	f.Add(`{"allOf":[{"$ref":"#"}]}`, `1`)
	f.Add(`{"$dynamicRef":"#x","$dynamicAnchor":"x"}`, `"龙胆"`)
	f.Add(`{"pattern":"(a+)+$","patternProperties":{"^(":{}}}`, `"aaaa"`)
	f.Fuzz(func(t *testing.T, raw, value string) {
		s, err := Compile(json.RawMessage(raw))
		if err != nil {
			return
		}
		if failure := s.CheckJSON([]byte(value)); failure != nil && failure.Error() == "" {
			t.Errorf("%s against %s: a failure without a word", value, raw)
		}
	})
}

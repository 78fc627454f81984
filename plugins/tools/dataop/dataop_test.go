package dataop

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

const stored = `{"n":1.50,"gold":5,"tags":["剑",{"a":1}],"at":{"place":"码头","":0},"s":"x","z":null}`

func ops(t testing.TB, text string) []sdk.DataOp {
	t.Helper()
	var list []sdk.DataOp
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Every row of the table: what an operation does, and what it fails with.
func TestOperations(t *testing.T) {
	for _, c := range []struct{ name, record, ops, want string }{
		// Rule DEC Operation-based writes: set replaces the whole record.
		{"set", stored, `[{"op":"set","value":{"b":1}}]`, `{"b":1}`},
		{"set a text", stored, `[{"op":"set","value":"龙胆 <b>"}]`, `"龙胆 <b>"`},
		{"set null", stored, `[{"op":"set","value":null}]`, "ops[0]: invalid-op"},
		// Rule DEC Operation-based writes: delete removes the record and must be last.
		{"delete", stored, `[{"op":"delete"}]`, ``},
		{"delete what is missing", ``, `[{"op":"delete"}]`, ``},
		{"delete at the end", stored, `[{"op":"put","path":"a","value":1},{"op":"delete"}]`, ``},
		{"delete before the end", stored, `[{"op":"delete"},{"op":"put","path":"a","value":1}]`, "ops[0]: invalid-op: delete must be the last"},
		{"delete has no path", stored, `[{"op":"delete","path":"a"}]`, "ops[0]: invalid-op: delete has no path"},
		// Rule DEC Operation-based writes: put sets a member or an existing element and creates missing parent objects.
		{"put", `{"a":1}`, `[{"op":"put","path":"b","value":[2]}]`, `{"a":1,"b":[2]}`},
		{"put null", `{"a":1}`, `[{"op":"put","path":"a","value":null}]`, `{"a":null}`},
		{"put makes parents", ``, `[{"op":"put","path":"名.b","value":1}]`, `{"名":{"b":1}}`},
		{"put an element", `{"l":[1,{"x":2}]}`, `[{"op":"put","path":"l[1].x","value":3},{"op":"put","path":"/l/0","value":0}]`, `{"l":[0,{"x":3}]}`},
		{"put into an array at the root", `[1,2]`, `[{"op":"put","path":"[1]","value":3}]`, `[1,3]`},
		{"put behind the end", `{"l":[1]}`, `[{"op":"put","path":"l[1]","value":3}]`, "ops[0]: index-out-of-range"},
		{"put through a text", stored, `[{"op":"put","path":"s.a","value":3}]`, "ops[0]: type-mismatch"},
		{"put through null", stored, `[{"op":"put","path":"z.a","value":3}]`, "ops[0]: type-mismatch"},
		{"put a name into an array", stored, `[{"op":"put","path":"tags.a","value":3}]`, "ops[0]: type-mismatch"},
		{"put an index into an object", stored, `[{"op":"put","path":"at[0]","value":3}]`, "ops[0]: type-mismatch"},
		{"put without a path", stored, `[{"op":"put","value":3}]`, "ops[0]: invalid-path"},
		{"put without a value", stored, `[{"op":"put","path":"a"}]`, "ops[0]: invalid-op"},
		{"a pointer with escapes", `{"a/b":{"c~d":1}}`, `[{"op":"put","path":"/a~1b/c~0d","value":2}]`, `{"a/b":{"c~d":2}}`},
		{"a pointer to an empty name", stored, `[{"op":"remove","path":"/at/"},{"op":"remove","path":"n"},{"op":"remove","path":"tags"},{"op":"remove","path":"z"},{"op":"remove","path":"s"}]`, `{"at":{"place":"码头"},"gold":5}`},
		// Rule DEC Operation-based writes: merge is shallow, on an object that is there.
		{"merge", `{"a":{"x":1,"y":{"z":1}}}`, `[{"op":"merge","path":"a","value":{"y":{"q":2}}}]`, `{"a":{"x":1,"y":{"q":2}}}`},
		{"merge the record", `{"a":1}`, `[{"op":"merge","value":{"b":2}}]`, `{"a":1,"b":2}`},
		{"merge into a missing record", ``, `[{"op":"merge","value":{"b":2}}]`, `{"b":2}`},
		{"merge into nothing", `{"a":1}`, `[{"op":"merge","path":"b","value":{"b":2}}]`, "ops[0]: path-not-found"},
		{"merge behind the end", stored, `[{"op":"merge","path":"tags[2]","value":{"b":2}}]`, "ops[0]: path-not-found"},
		{"merge into a text", stored, `[{"op":"merge","path":"s","value":{"b":2}}]`, "ops[0]: type-mismatch"},
		{"merge a list", stored, `[{"op":"merge","value":[1]}]`, "ops[0]: invalid-op"},
		{"merge __proto__", stored, `[{"op":"merge","value":{"__proto__":{}}}]`, "ops[0]: invalid-path"},
		// Rule DEC Operation-based writes: remove takes out a member or an element.
		{"remove", `{"a":1,"b":2}`, `[{"op":"remove","path":"a"}]`, `{"b":2}`},
		{"remove an element", `{"l":[1,2,3]}`, `[{"op":"remove","path":"l[1]"}]`, `{"l":[1,3]}`},
		{"remove nothing", `{"a":1}`, `[{"op":"remove","path":"b"}]`, "ops[0]: path-not-found"},
		{"remove below nothing", `{"a":1}`, `[{"op":"remove","path":"b.c"}]`, "ops[0]: path-not-found"},
		{"remove below a text", stored, `[{"op":"remove","path":"s.a"}]`, "ops[0]: path-not-found"},
		{"remove behind the end", stored, `[{"op":"remove","path":"tags[2]"}]`, "ops[0]: index-out-of-range"},
		// Rule DEC Operation-based writes: increment adds to a number, missing is 0, a result outside of min and max fails.
		{"increment", stored, `[{"op":"set","value":{"a":1}},{"op":"increment","path":"a","by":2}]`, `{"a":3}`},
		{"increment what is missing", ``, `[{"op":"increment","path":"a.b","by":-2.5}]`, `{"a":{"b":-2.5}}`},
		{"increment to the bounds", `{"a":1}`, `[{"op":"increment","path":"a","by":4,"min":0,"max":5},{"op":"increment","path":"a","by":-5,"min":0,"max":5}]`, `{"a":0}`},
		{"increment above max", `{"a":1}`, `[{"op":"increment","path":"a","by":5,"max":5}]`, "ops[0]: out-of-bounds"},
		{"increment below min", `{"a":1}`, `[{"op":"put","path":"b","value":1},{"op":"increment","path":"a","by":-2,"min":0}]`, "ops[1]: out-of-bounds"},
		{"increment past the safe numbers", `{"a":9007199254740992}`, `[{"op":"increment","path":"a","by":9007199254740992}]`, "ops[0]: out-of-bounds"},
		{"increment a text", stored, `[{"op":"increment","path":"s","by":1}]`, "ops[0]: type-mismatch"},
		{"increment null", stored, `[{"op":"increment","path":"z","by":1}]`, "ops[0]: type-mismatch"},
		{"increment without by", stored, `[{"op":"increment","path":"n"}]`, "ops[0]: invalid-op"},
		{"min above max", stored, `[{"op":"increment","path":"n","by":1,"min":2,"max":1}]`, "ops[0]: invalid-op"},
		// Rule DEC Operation-based writes: append pushes to an array, missing is [], unique compares by deep equality.
		{"append", `{"l":[1]}`, `[{"op":"append","path":"l","value":2}]`, `{"l":[1,2]}`},
		{"append to nothing", ``, `[{"op":"append","path":"a.l","value":null}]`, `{"a":{"l":[null]}}`},
		{"append to a text", stored, `[{"op":"append","path":"s","value":2}]`, "ops[0]: type-mismatch"},
		{"append once", stored, `[{"op":"append","path":"tags","value":{"a":1.0},"unique":true}]`, "ops[0]: duplicate-item"},
		{"append another once", `{"l":[1,[2],{"a":null,"b":"x"}]}`, `[{"op":"append","path":"l","value":{"b":"x"},"unique":true},{"op":"append","path":"l","value":"1","unique":true},{"op":"append","path":"l","value":[3],"unique":true}]`, `{"l":[1,[2],{"a":null,"b":"x"},{"b":"x"},"1",[3]]}`},
		// Rule DEC Operation-based writes: insert at index 0…length.
		{"insert", `{"l":[1,2]}`, `[{"op":"insert","path":"l","index":0,"value":0},{"op":"insert","path":"l","index":3,"value":3}]`, `{"l":[0,1,2,3]}`},
		{"insert into nothing", ``, `[{"op":"insert","path":"l","index":0,"value":0}]`, `{"l":[0]}`},
		{"insert behind the end", `{"l":[1]}`, `[{"op":"insert","path":"l","index":2,"value":0}]`, "ops[0]: index-out-of-range"},
		{"insert before the start", `{"l":[1]}`, `[{"op":"insert","path":"l","index":-1,"value":0}]`, "ops[0]: index-out-of-range"},
		{"insert into a text", stored, `[{"op":"insert","path":"s","index":0,"value":0}]`, "ops[0]: type-mismatch"},
		{"insert without an index", stored, `[{"op":"insert","path":"s","value":0}]`, "ops[0]: invalid-op"},
		// Rule DEC Operation-based writes: a path that touches __proto__, constructor or prototype is invalid-path.
		{"__proto__", stored, `[{"op":"put","path":"at.__proto__.x","value":0}]`, "ops[0]: invalid-path"},
		{"constructor", stored, `[{"op":"remove","path":"/constructor"}]`, "ops[0]: invalid-path"},
		{"prototype", stored, `[{"op":"increment","path":"a[0].prototype","by":1}]`, "ops[0]: invalid-path"},
		{"a path that does not end", stored, `[{"op":"remove","path":"tags[0"}]`, "ops[0]: invalid-path"},
		// Rule DEC Operation-based writes: 1–64 operations, the first failure rejects all and names its index.
		{"none", stored, `[]`, "invalid-op: an update has 1 to 64"},
		{"too many", stored, `[` + strings.Repeat(`{"op":"delete"},`, 64) + `{"op":"delete"}]`, "invalid-op: an update has 1 to 64"},
		{"an unknown one", stored, `[{"op":"put","path":"a","value":1},{"op":"patch"}]`, "ops[1]: invalid-op"},
		{"what is not touched keeps its digits", `{"a":1.50,"b":1e3}`, `[{"op":"put","path":"c","value":-0}]`, `{"a":1.50,"b":1e3,"c":-0}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(json.RawMessage(c.record), ops(t, c.ops))
			if err != nil {
				if got != nil || !strings.HasPrefix(err.Error(), c.want) || c.want == "" || c.want[0] == '{' {
					t.Errorf("got %s, %v; want %s", got, err, c.want)
				}
			} else if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Rule DEC Operation-based writes: invalid-op and invalid-path reach a model as invalid-input, the others as conflict.
func TestToolCodes(t *testing.T) {
	for code, want := range map[string]sdk.ToolErrorCode{
		InvalidOp: sdk.InvalidInput, InvalidPath: sdk.InvalidInput, PathNotFound: sdk.Conflict, TypeMismatch: sdk.Conflict,
		OutOfBounds: sdk.Conflict, IndexOutOfRange: sdk.Conflict, DuplicateItem: sdk.Conflict,
	} {
		e := (&Error{3, code, "x"}).Tool()
		if e.Code != want || !strings.Contains(e.Message, "ops[3]") {
			t.Errorf("%s: %v", code, e)
		}
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "durability": "durability", "regions[0].name": "regions [0] name", "[0].name": "[0] name", "/regions/0/name": "regions 0 name",
		"/a~1b/~0": "a/b ~", "/": "", "a[0][1]": "a [0] [1]", "龙.🐉": "龙 🐉", "a b": "a b",
		"a.": "!", ".a": "!", "a..b": "!", "a[": "!", "a[]": "!", "a[-1]": "!", "a[01]": "!", "a[x]": "!", "a]": "!", "a[0]b": "!", "/a~2": "!", "/~": "!", ".": "!",
		"a[0].": "!", "a.[0]": "!", "a.__proto__": "!", "/constructor/x": "!", "prototype": "!",
	} {
		segments, why := ParsePath(path)
		var parts []string
		for _, s := range segments {
			if s.Bracket {
				s.Name = "[" + s.Name + "]"
			}
			parts = append(parts, s.Name)
		}
		got := strings.Join(parts, " ")
		if why != "" {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: got %q (%s), want %q", path, got, why, want)
		}
	}
	for _, path := range []string{strings.Repeat("a.", 64) + "a", strings.Repeat("a", 1025)} {
		if _, why := ParsePath(path); why == "" {
			t.Errorf("a path of %d bytes is accepted", len(path))
		}
	}
}

func value(t interface{ Fatalf(string, ...any) }, b json.RawMessage) (v any) {
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

// Rule DEC Operation-based writes: increments, appends and merges of different members compose in any order.
func TestComposition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "runs")
		var list []sdk.DataOp
		sum, appended := 0, map[string]int{}
		for i := range n {
			switch rapid.SampledFrom([]string{"increment", "append", "merge", "put"}).Draw(rt, "op") {
			case "increment":
				by := rapid.IntRange(-100, 100).Draw(rt, "by")
				sum += by
				list = append(list, sdk.OpIncrement("gold", float64(by)))
			case "append":
				x := fmt.Sprint("物", i)
				appended[x]++
				list = append(list, sdk.OpAppend("bag.items", x))
			case "merge":
				list = append(list, sdk.OpMerge("", map[string]any{fmt.Sprint("m", i): i}))
			case "put":
				list = append(list, sdk.OpPut(fmt.Sprintf("at.p%d", i), i))
			}
		}
		order := rapid.Permutation(list).Draw(rt, "order")
		results := make([]map[string]any, 2)
		for k, l := range [][]sdk.DataOp{list, order} {
			record := json.RawMessage(`{"gold":1,"bag":{"items":[]},"at":{}}`)
			for _, op := range l {
				var err error
				if record, err = Apply(record, []sdk.DataOp{op}); err != nil {
					rt.Fatal(err)
				}
			}
			results[k] = value(rt, record).(map[string]any)
			if results[k]["gold"] != float64(1+sum) {
				rt.Fatalf("gold is %v, want %d", results[k]["gold"], 1+sum)
			}
			items := results[k]["bag"].(map[string]any)["items"].([]any)
			if len(items) != len(appended) {
				rt.Fatalf("items %v, want %v", items, appended)
			}
			for _, x := range items {
				if appended[x.(string)] == 0 {
					rt.Fatalf("%v was not appended", x)
				}
			}
			delete(results[k], "bag") // its order is that of the runs
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			rt.Fatalf("%v in one order, %v in another", results[0], results[1])
		}
		// One list is the same as one operation after the other.
		whole, err := Apply(json.RawMessage(`{"gold":1,"bag":{"items":[]},"at":{}}`), list)
		if err != nil {
			rt.Fatal(err)
		}
		if m := value(rt, whole).(map[string]any); len(m["bag"].(map[string]any)["items"].([]any)) != len(appended) || m["gold"] != float64(1+sum) {
			rt.Fatalf("at once: %s", whole)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"", "a.b[0]", "/a/~0/~1", "[0][1]", "a..b", "a[", "__proto__", "\xff\x00"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, why := ParsePath(path)
		if why != "" && segments != nil {
			t.Fatalf("%q is refused (%s) and read", path, why)
		}
		for _, s := range segments {
			if s.Name == "__proto__" || s.Name == "constructor" || s.Name == "prototype" {
				t.Fatalf("%q reaches %s", path, s.Name)
			}
			if _, ok := s.index(); s.Bracket && !ok {
				t.Fatalf("%q has the index %q", path, s.Name)
			}
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(stored), []byte(`[{"op":"put","path":"a.b","value":1},{"op":"increment","path":"gold","by":1e300}]`))
	f.Add([]byte(`[[]]`), []byte(`[{"op":"append","path":"[0]","value":{}},{"op":"remove","path":"[0][0]"}]`))
	f.Add([]byte(`{"n":1e999}`), []byte(`[{"op":"increment","path":"n","by":1}]`))
	f.Fuzz(func(t *testing.T, record, list []byte) {
		var ops []sdk.DataOp
		if json.Unmarshal(list, &ops) != nil || !json.Valid(record) {
			return
		}
		before := string(record)
		out, err := Apply(record, ops)
		if string(record) != before {
			t.Fatal("the record was written to")
		}
		if err != nil {
			var failed *Error
			if !errors.As(err, &failed) || failed.Index >= len(ops) || out != nil {
				t.Fatalf("%v with %s", err, out)
			}
			return
		}
		if out != nil && !json.Valid(out) {
			t.Fatalf("the result is no JSON: %s", out)
		}
	})
}

package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/manifest"
)

// Rule REF:plugins.md §4.2: select is an RFC 6901 pointer; Rule REF:plugins.md §8: names such as constructor are ordinary keys.
func TestSelect(t *testing.T) {
	doc := json.RawMessage(`{
		"foo": ["bar", "baz", [7]], "": 0, "a/b": 1, "m~n": 8, "~1": "tilde one", "龙胆": {"Élodie": true}, " ": 7,
		"0": "zero", "nested": {"": {"": "deep"}}, "none": null, "text": "abc", "list": [0,1,2,3,4,5,6,7,8,9,10]
	}`)
	for pointer, want := range map[string]string{
		"/foo/0": `"bar"`, "/foo/2/0": `7`, "/": `0`, "/a~1b": `1`, "/m~0n": `8`, "/~01": `"tilde one"`, "/龙胆/Élodie": `true`, "/ ": `7`, "/0": `"zero"`,
		"/nested//": `"deep"`, "/none": `null`, "/list/10": `10`,
		"foo": "-", "/foo/3": "-", "/foo/-": "-", "/foo/-1": "-", "/foo/+1": "-", "/foo/00": "-", "/foo/01": "-", "/foo/1.0": "-", "/foo/ 1": "-", "/foo/": "-",
		"/foo/99999999999999999999": "-", "/foo/１": "-", "/-0": "-", "/foo/-0": "-", "/none/x": "-", "/text/0": "-", "/missing": "-", "/a~b": "-", "/a~": "-", "/m~2n": "-", "/m~n": "-",
		// Nothing is inherited.
		"/constructor": "-", "/__proto__": "-", "/foo/length": "-", "/toString": "-", "/foo/constructor": "-",
	} {
		t.Run(pointer, func(t *testing.T) {
			got, ok := Select(doc, pointer)
			if !ok {
				got = json.RawMessage("-")
			}
			expect(t, "value", string(got), want)
		})
	}
	if v, ok := Select(json.RawMessage(`{"constructor":{"__proto__":5}}`), "/constructor/__proto__"); !ok || string(v) != "5" {
		t.Errorf("prototype names are ordinary keys: %s %v", v, ok)
	}
	if v, ok := Select(doc, ""); !ok || string(v) != string(doc) {
		t.Error("the empty pointer is not the whole value")
	}
	if _, ok := Select(json.RawMessage(`{"a":`), "/a"); ok {
		t.Error("found something in what is not JSON")
	}
}

// Every member of any value is found under its own pointer.
func TestSelectFindsEveryMember(t *testing.T) {
	key := rapid.SampledFrom([]string{"", "a", "~", "/", "~0", "~1", "a/b~c", "0", "01", "龙胆", "E\u0301", "constructor", "🐉"})
	var value *rapid.Generator[any]
	value = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			m := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "members") {
				m[key.Draw(t, "key")] = value.Draw(t, "value")
			}
			return m
		case 1:
			var l []any
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				l = append(l, value.Draw(t, "item"))
			}
			return l
		}
		return rapid.SampledFrom([]any{nil, true, 1.5, "龙"}).Draw(t, "leaf")
	})
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	rapid.Check(t, func(t *rapid.T) {
		root := value.Draw(t, "root")
		doc, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		var walk func(v any, pointer string)
		walk = func(v any, pointer string) {
			want, _ := json.Marshal(v)
			got, ok := Select(doc, pointer)
			if !ok || string(got) != string(want) {
				t.Fatalf("%q in %s: got %s %v, want %s", pointer, doc, got, ok, want)
			}
			switch v := v.(type) {
			case map[string]any:
				for k, e := range v {
					walk(e, pointer+"/"+escape.Replace(k))
				}
			case []any:
				for i, e := range v {
					walk(e, fmt.Sprint(pointer, "/", i))
				}
				if _, ok := Select(doc, fmt.Sprint(pointer, "/", len(v))); ok {
					t.Fatalf("found an element behind the last of %s", doc)
				}
			}
		}
		walk(root, "")
	})
}

func FuzzSelect(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":1}]}`), "/a/0/b")
	f.Add([]byte(`[[]]`), "/0/-")
	f.Add([]byte("\xff"), "/~")
	f.Fuzz(func(t *testing.T, doc []byte, pointer string) {
		if v, ok := Select(doc, pointer); ok && pointer != "" && !json.Valid(v) {
			t.Errorf("%q gives %q", pointer, v)
		}
	})
}

// Rule TP:319: a consumer of a contract says whether it wants one provider or all with cardinality.
// Rule TP:626: an input holds values of the contract's providers of this turn, each with where it came from.
// Rule REF:plugins.md §8: cardinality one takes the first, all has a list by runtime id; select reads a member of the value.
func TestBind(t *testing.T) {
	results := []Result{
		{RuntimeID: "z", PluginID: "pz", Contract: "k@1", Status: Succeeded, Output: []byte(`{"t":"龙"}`)},
		{RuntimeID: "a", PluginID: "pa", Contract: "k@1", Status: Succeeded, Output: []byte(`{"t":"b"}`)},
		{RuntimeID: "m", PluginID: "pm", Contract: "k@1", Status: Succeeded, Output: []byte(`{}`)},
		{RuntimeID: "f", PluginID: "pf", Contract: "k@1", Status: Failed, Output: []byte(`{"t":"c"}`)},
		{RuntimeID: "g", PluginID: "pg", Contract: "g@1", Status: Skipped, SkipReason: SkipGuard, Output: []byte(`1`)},
		{RuntimeID: "h", PluginID: "ph", Contract: "h@1", Status: Skipped, SkipReason: "handler", Output: []byte(`1`)},
		{RuntimeID: "n", PluginID: "pn", Contract: "n@1", Status: Succeeded, Output: []byte(`null`)},
	}
	in := Plan{}.bind(auto("x", manifest.PostTurn,
		reads("one", manifest.Binding{Contract: "k@1"}), reads("all", manifest.Binding{Contract: "k@1", Cardinality: "all"}),
		reads("selected", manifest.Binding{Contract: "k@1", Cardinality: "all", Select: "/t"}), reads("runtime", manifest.Binding{Runtime: "z", Select: "/t"}),
		reads("guard", manifest.Binding{Contract: "g@1"}), reads("handler", manifest.Binding{Contract: "h@1"}), reads("null", manifest.Binding{Contract: "n@1"}),
		reads("missing", manifest.Binding{Contract: "q@1"}), reads("stored", manifest.Binding{Contract: "k@1", Scope: "committed"}), reads("kernel", manifest.Binding{Kernel: "k@1"}),
	), results, false).inputs
	var got []string
	for name, slot := range in {
		line := name + " " + slot.Cardinality
		for _, i := range slot.Items {
			line += fmt.Sprintf(" %s/%s=%s", i.PluginID, i.Runtime, i.Value)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	expect(t, "slots", strings.Join(got, "\n"), strings.Join([]string{
		`all all pa/a={"t":"b"} pm/m={} pz/z={"t":"龙"}`,
		`guard one pg/g=1`,
		`null one pn/n=null`,
		`one one pa/a={"t":"b"}`,
		`runtime one pz/z="龙"`,
		`selected all pa/a="b" pz/z="龙"`,
	}, "\n"))
}

package llm

import (
	"encoding/json"
	"testing"

	"github.com/covel/covel/kernel/model"
)

func TestCanonicalJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b" : 1, "a" : [ true , null ] }`:                             `{"a":[true,null],"b":1}`,
		`[1.0, 1e2, 1E-7, -0, 0.1, 123456789012345680000, 1e21, 5e-324]`: `[1,100,1e-7,0,0.1,123456789012345680000,1e+21,5e-324]`,
		`1e999`: `1e999`,
		`"\u0041\/\u000a\u0001\u001f\u007f<>&\u2028"`: "\"A/\\n\\u0001\\u001f\u007f<>&\u2028\"",
		`"\b\t\n\f\r\"\\"`:                            `"\b\t\n\f\r\"\\"`,
		`"\u9f8d\ud83d\udc09"`:                        `"龍🐉"`,
		// UTF-16 order: 🐉 (D83D…) comes before ﬀ (FB00), unlike in UTF-8.
		`{"\ufb00":1,"🐉":2,"é":3,"":4}`: "{\"\":4,\"é\":3,\"🐉\":2,\"\ufb00\":1}",
		`{"a":1,"a":2}`:                 `{"a":2}`,
	} {
		got, err := canonicalJSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `1 2`, `nope`} {
		if got, err := canonicalJSON([]byte(in)); err == nil {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func FuzzCanonicalJSON(f *testing.F) {
	f.Add(`{"b":[1.5,"\u0000\ud83d"],"a":{}}`)
	f.Fuzz(func(t *testing.T, in string) {
		once, err := canonicalJSON([]byte(in))
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("not JSON: %q", once)
		}
		twice, err := canonicalJSON(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q becomes %q, %v", once, twice, err)
		}
	})
}

func TestRequestHash(t *testing.T) {
	base := func() model.Request {
		return model.Request{Slot: "story", Subject: "narrator", Messages: []model.Message{{Role: model.User, Content: "看"}},
			Tools: []model.Tool{{Name: "x", Parameters: json.RawMessage(`{"a":1,"b":2.0}`)}}}
	}
	hash := func(change func(*model.Request)) string {
		r := base()
		change(&r)
		h, err := RequestHash(r)
		if err != nil || len(h) != 64 {
			t.Fatalf("%q, %v", h, err)
		}
		return h
	}
	same := hash(func(*model.Request) {})
	for name, change := range map[string]func(*model.Request){
		"subject":            func(r *model.Request) { r.Subject = "other" },
		"spelling of schema": func(r *model.Request) { r.Tools[0].Parameters = json.RawMessage(" {\"b\": 2, \"a\": 1}\n") },
	} {
		if hash(change) != same {
			t.Errorf("%s must not matter", name)
		}
	}
	for name, change := range map[string]func(*model.Request){
		"text":   func(r *model.Request) { r.Messages[0].Content = "听" },
		"slot":   func(r *model.Request) { r.Slot = "fast" },
		"schema": func(r *model.Request) { r.Tools[0].Parameters = json.RawMessage(`{"a":1,"b":3}`) },
		"choice": func(r *model.Request) { r.ToolChoice.Mode = "required" },
		"format": func(r *model.Request) {
			r.ResponseFormat = &model.ResponseFormat{Name: "s", Schema: json.RawMessage(`{}`)}
		},
	} {
		if hash(change) == same {
			t.Errorf("%s must matter", name)
		}
	}
	broken := base()
	broken.Tools[0].Parameters = json.RawMessage(`{`)
	if _, err := RequestHash(broken); err == nil {
		t.Error("a schema that is not JSON has no hash")
	}
}

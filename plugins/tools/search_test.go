package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

var shelf = []Searchable{
	{Name: "set-scene", Description: "切换场景背景与光线。"},
	{Name: "codex-upsert", Description: "Save a codex entry.", Parameters: json.RawMessage(`{"properties":{"entry":{"type":"object","properties":{"loreTitle":{"description":"Title of the 词条."}}}}}`)},
	{Name: "codex-get", Description: "Read one codex entry."},
	{Name: "rollDice", Description: "Throw dice for a check."},
	{Name: "empty"},
	{Name: "broken", Parameters: json.RawMessage(`{"properties":`)},
}

func found(query string, limit int) string {
	var names []string
	for _, i := range Search(query, shelf, limit) {
		names = append(names, shelf[i].Name)
	}
	return strings.Join(names, " ")
}

// Rule TL:699: the search reads a tool's name, its description, and names and descriptions of its parameters.
// Rule TL:699: CJK text is compared by pairs of adjacent characters.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"切换场景背景":          "set-scene",
		"场景":              "set-scene",
		"CODEX":           "codex-get codex-upsert", // equal terms: the shorter text first
		"save codex":      "codex-upsert codex-get",
		"lore":            "codex-upsert", // a parameter's name
		"词条":              "codex-upsert", // a parameter's description
		"dice":            "rollDice",     // a word in a name
		"empty":           "empty",
		"nothing of that": "codex-upsert", // "of" stands in a description
		"飞龙":              "",
		"":                "",
		"🐉 …":             "",
	} {
		if got := found(query, 8); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := found("codex", 1); got != "codex-get" {
		t.Errorf("limited: %q", got)
	}
	if found("codex", 0) != "" || found("codex", -1) != "" {
		t.Error("a limit of nothing gives something")
	}
}

// Rule TL:699: BM25 with k1 = 1.2 and b = 0.75: the figures of one small pool, worked out by hand.
func TestSearchScores(t *testing.T) {
	// Three texts of 2, 2 and 8 terms, 4 on average. "a" is held by two. idf = ln(1 + 1.5/2.5) for a, ln(1 + 2.5/1.5) for z.
	// text 0: a once, length 2: 1*2.2/(1+1.2*(0.25+0.75*0.5)) = 1.257…; text 2: a 4 times, length 8: 4*2.2/(4+1.2*1.75) = 1.442…
	pool := []Searchable{{Name: "a", Description: "x"}, {Name: "z", Description: "y"}, {Name: "a", Description: "a a a b b b b"}}
	if got := fmt.Sprint(Search("a", pool, 8)); got != "[2 0]" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(Search("a z", pool, 8)); got != "[1 2 0]" { // the rare word weighs more
		t.Errorf("got %s", got)
	}
}

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"切换场景":         "切换|换场|场景",
		"龙":            "龙",
		"save龙胆entry":  "save|龙胆|entry",
		"set-scene_v2": "set|scene|v2",
		"questLog URL": "quest|log|url",
		"かな カナ 한국어":    "かな|カナ|한국|국어",
		"Ольга":        "ольга",
	} {
		if got := strings.Join(terms(text), "|"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSearchWithAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pool []Searchable
		for range rapid.IntRange(0, 6).Draw(t, "tools") {
			pool = append(pool, Searchable{Name: rapid.String().Draw(t, "name"), Description: rapid.String().Draw(t, "about"), Parameters: json.RawMessage(rapid.String().Draw(t, "schema"))})
		}
		limit := rapid.IntRange(-1, 30).Draw(t, "limit")
		got := Search(rapid.String().Draw(t, "query"), pool, limit)
		if len(got) > max(limit, 0) {
			t.Fatalf("%d found, limit %d", len(got), limit)
		}
		for n, i := range got {
			if i < 0 || i >= len(pool) || slices.Contains(got[:n], i) {
				t.Fatalf("found %v of %d", got, len(pool))
			}
		}
	})
}

// Rule TL:691–692: query is required; limit is 8 by default, at most 20.
// Rule TL:693: the answer lists names and descriptions of what was found.
// Rule TL:697: the loop answers a call itself; no Executor runs it, and it is not in the registry.
func TestFindTools(t *testing.T) {
	pool := make([]Searchable, 30)
	for i := range pool {
		pool[i] = Searchable{Name: fmt.Sprintf("paint-%02d", i), Description: "切换场景背景"}
	}
	for _, c := range []struct {
		arguments string
		found     int
		code      sdk.ToolErrorCode
	}{
		{`{"query":"切换场景背景"}`, 8, ""},
		{`{"query":"背景","limit":3}`, 3, ""},
		{`{"query":"背景","limit":500}`, 20, ""},
		{`{"query":"背景","limit":-1}`, 1, ""},
		{`{"query":"fish"}`, 0, ""},
		{`{"query":" "}`, 0, sdk.InvalidInput},
		{`{}`, 0, sdk.InvalidInput},
		{`[`, 0, sdk.InvalidInput},
	} {
		r := FindTools(c.arguments, pool)
		var found Found
		if r.Err != nil {
			if r.Err.Code != c.code {
				t.Errorf("%s: %s", c.arguments, r.Envelope)
			}
			continue
		}
		if err := json.Unmarshal(r.Content, &found); err != nil || c.code != "" || len(found.Tools) != c.found {
			t.Errorf("%s: found %d (%v)", c.arguments, len(found.Tools), err)
		}
		if listed := strings.Count(r.Envelope, "- paint-"); listed != c.found || c.found == 0 && !strings.Contains(r.Envelope, "No tool was found") {
			t.Errorf("%s: the model reads %s", c.arguments, r.Envelope)
		}
	}
	e := Executor{}
	if r := e.Run(t.Context(), Call{Name: SearchTools, Arguments: `{"query":"x"}`, Authorised: []string{SearchTools}}); r.Err == nil {
		t.Error("an executor ran search-tools")
	}
	if _, ok := Builtin(SearchTools); ok {
		t.Error("search-tools is in the registry")
	}
}

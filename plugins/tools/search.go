package tools

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// Searchable is a deferred tool as search-tools reads it.
type Searchable struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// How many tools one search finds (seed: tools.txt, "search-tools").
const (
	defaultFound = 8
	maxFound     = 20
)

// Found is the content of a search: the names of the tools, best first.
type Found struct {
	Tools []string `json:"tools"`
}

// FindTools answers a call of search-tools, which never reaches an Executor: the loop has its tools, and takes what was found
// from the content.
func FindTools(arguments string, pool []Searchable) CallResult {
	r := CallResult{Name: SearchTools, Arguments: HistoryArguments(arguments)}
	fixed, _, err := Repair(arguments)
	var args struct {
		Query string `json:"query"`
		Limit *int   `json:"limit"`
	}
	if err != nil || json.Unmarshal([]byte(fixed), &args) != nil || strings.TrimSpace(args.Query) == "" {
		return r.fail(sdk.Fail(sdk.InvalidInput, `The arguments of "search-tools" do not fit: {"query": string, "limit"?: 1-20} is expected.`))
	}
	limit := defaultFound
	if args.Limit != nil {
		limit = min(max(*args.Limit, 1), maxFound)
	}
	found := Found{Tools: []string{}}
	var lines []string
	for _, i := range Search(args.Query, pool, limit) {
		found.Tools = append(found.Tools, pool[i].Name)
		lines = append(lines, "- "+pool[i].Name+": "+pool[i].Description)
	}
	summary := "No tool was found. Try other keywords."
	if len(lines) > 0 {
		summary = "These tools can be called from your next reply on:\n" + strings.Join(lines, "\n")
	}
	content, err := plainjson.Marshal(found)
	if err != nil {
		return r.crash(err)
	}
	if r.Envelope, err = Envelope(content, &sdk.ModelView{Summary: summary}, nil, nil, ""); err != nil {
		return r.crash(err)
	}
	r.Content = content
	return r
}

// Parameters of BM25 (seed: tools.txt, "Scoring uses BM25 with no dependencies").
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// Search ranks tools for a query and gives the indexes of those that match it, best first, at most limit. What is searched
// is a tool's name, its description, and the names and descriptions of its parameters. Equal scores keep the order given.
func Search(query string, pool []Searchable, limit int) []int {
	docs := make([]map[string]int, len(pool)) // how often each term occurs
	lengths := make([]float64, len(pool))
	holders := map[string]int{} // in how many tools a term occurs
	total := 0.0
	for i, t := range pool {
		docs[i] = map[string]int{}
		for _, term := range terms(t.text()) {
			docs[i][term]++
			lengths[i]++
		}
		total += lengths[i]
		for term := range docs[i] {
			holders[term]++
		}
	}
	average := max(total/float64(max(len(pool), 1)), 1)
	asked := terms(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)

	scores := make([]float64, len(pool))
	var found []int
	for i := range pool {
		for _, term := range asked {
			if n := float64(docs[i][term]); n > 0 {
				held := float64(holders[term])
				rare := math.Log(1 + (float64(len(pool))-held+0.5)/(held+0.5))
				scores[i] += rare * n * (bm25K1 + 1) / (n + bm25K1*(1-bm25B+bm25B*lengths[i]/average))
			}
		}
		if scores[i] > 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found[:min(len(found), max(limit, 0))]
}

func (t Searchable) text() string {
	var b strings.Builder
	b.WriteString(t.Name + " " + t.Description)
	fields(gjson.ParseBytes(t.Parameters), &b, maxFieldDepth)
	return b.String()
}

// maxFieldDepth bounds how deep a schema is read.
const maxFieldDepth = 16

// fields writes the names and descriptions of all properties of a schema.
func fields(schema gjson.Result, b *strings.Builder, depth int) {
	if depth == 0 || !schema.IsObject() && !schema.IsArray() {
		return
	}
	schema.ForEach(func(k, v gjson.Result) bool {
		switch {
		case schema.IsObject() && k.String() == "properties" && v.IsObject():
			v.ForEach(func(name, field gjson.Result) bool {
				b.WriteString(" " + name.String())
				fields(field, b, depth-1)
				return true
			})
		case schema.IsObject() && k.String() == "description" && v.Type == gjson.String:
			b.WriteString(" " + v.String())
		default:
			fields(v, b, depth-1)
		}
		return true
	})
}

// terms cuts a text into what is compared: words of letters and digits in lower case, cut at a change to an upper-case
// letter; Chinese, Japanese and Korean text as pairs of adjacent characters, a single one as itself.
func terms(s string) []string {
	var out []string
	var word, east []rune
	endWord := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	endEast := func() {
		if len(east) == 1 {
			out = append(out, string(east))
		}
		for i := 1; i < len(east); i++ {
			out = append(out, string(east[i-1:i+1]))
		}
		east = east[:0]
	}
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			endWord()
			east = append(east, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			endEast()
			if unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]) {
				endWord() // questLog is quest and log
			}
			word = append(word, r)
		default:
			endWord()
			endEast()
		}
	}
	endWord()
	endEast()
	return out
}

package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/tools"
)

// How many tools one search activates (seed: tools.txt, "search-tools").
const (
	defaultFound = 8
	maxFound     = 20
)

func (c Config) deferred(name string) (ToolOffer, bool) {
	i := slices.IndexFunc(c.Deferred, func(t ToolOffer) bool { return t.Tool.Name == name })
	if i < 0 {
		return ToolOffer{}, false
	}
	return c.Deferred[i], true
}

// searchTool tells the model how many tools wait, and whose they are. A pool may hold framework tools too.
func (c Config) searchTool() model.Tool {
	return model.Tool{
		Name: SearchTools,
		Description: fmt.Sprintf("Find tools that are not loaded yet: %d more are declared by the plugin %q, framework tools among them where it uses some. "+
			"Search by what you want to do; the tools found can be called from your next reply on.", len(c.Deferred), c.DeferredBy),
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"Capability keywords, Chinese or English."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"At most this many tools, 8 by default."}},"required":["query"],"additionalProperties":false}`),
	}
}

// search answers one search-tools call: what it finds joins the tools from the next request on. Only the runtime's own
// deferred tools can be found.
func (m *machine) search(call model.ToolCall) ToolOutcome {
	o := ToolOutcome{CallID: call.ID, Name: call.Name, Arguments: tools.HistoryArguments(call.Arguments)}
	fixed, _, err := tools.Repair(call.Arguments)
	var args struct {
		Query string `json:"query"`
		Limit *int   `json:"limit"`
	}
	if err != nil || json.Unmarshal([]byte(fixed), &args) != nil || strings.TrimSpace(args.Query) == "" {
		o.ErrorCode = codeInvalidInput
		o.Result = errorResult(codeInvalidInput, `The arguments of "search-tools" do not fit: {"query": string, "limit"?: 1-20} is expected.`)
		return o
	}
	limit := defaultFound
	if args.Limit != nil {
		limit = min(max(*args.Limit, 1), maxFound)
	}
	pool := make([]tools.Searchable, len(m.s.Config.Deferred))
	for i, t := range m.s.Config.Deferred {
		pool[i] = tools.Searchable{Name: t.Tool.Name, Description: t.Tool.Description, Parameters: t.Tool.Parameters}
	}
	var found []string
	for _, i := range tools.Search(args.Query, pool, limit) {
		t := m.s.Config.Deferred[i].Tool
		found = append(found, "- "+t.Name+": "+t.Description)
		if !slices.Contains(m.s.Activated, t.Name) {
			m.s.Activated = append(slices.Clip(m.s.Activated), t.Name)
		}
	}
	summary := "No tool was found. Try other keywords."
	if len(found) > 0 {
		summary = "These tools can be called from your next reply on:\n" + strings.Join(found, "\n")
	}
	b, err := plainjson.Marshal(map[string]string{"summary": summary})
	if err != nil { // a string always encodes
		b = []byte(resultDone)
	}
	o.OK, o.Result = true, string(b)
	return o
}

func errorResult(code, message string) string {
	b, err := plainjson.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	if err != nil { // strings always encode
		return resultNotExecuted
	}
	return string(b)
}

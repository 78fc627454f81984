package loop

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/tools"
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

// Searchable are the deferred tools as search-tools reads them. Only the runtime's own can be found.
func (c Config) Searchable() []tools.Searchable {
	pool := make([]tools.Searchable, len(c.Deferred))
	for i, t := range c.Deferred {
		pool[i] = tools.Searchable{Name: t.Tool.Name, Description: t.Tool.Description, Parameters: t.Tool.Parameters}
	}
	return pool
}

// activate lets what a search found join the tools from the next request on.
func (m *machine) activate(o ToolOutcome) {
	var found tools.Found
	if o.Name != SearchTools || !o.OK || json.Unmarshal(o.Content, &found) != nil {
		return
	}
	for _, name := range found.Tools {
		if _, ok := m.s.Config.deferred(name); ok && !slices.Contains(m.s.Activated, name) {
			m.s.Activated = append(slices.Clip(m.s.Activated), name)
		}
	}
}

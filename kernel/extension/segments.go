package extension

import (
	"encoding/json"

	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/sdk"
)

// Segments reads the result of prompt.segment@1. Whose a segment is, the host says.
func Segments(r Result) []prompt.Segment {
	var out []prompt.Segment
	for _, o := range r.Outputs {
		var list []sdk.Segment
		if json.Unmarshal(o.Value, &list) != nil {
			continue // it was checked
		}
		for _, s := range list {
			out = append(out, prompt.Segment{Segment: s, ProviderPluginID: o.Provider.PluginID})
		}
	}
	return out
}

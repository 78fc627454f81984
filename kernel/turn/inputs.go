package turn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Bind fills the turn-scoped input slots of a runtime from the results so far (reference: plugins.md §8). Slots of
// cardinality all are sorted by runtime id.
func Bind(r manifest.Runtime, results []Result) map[string]sdk.Input {
	out := map[string]sdk.Input{}
	for name, b := range r.IO.Inputs {
		if b.Scope == "committed" || b.Kernel != "" {
			continue
		}
		in := sdk.Input{Cardinality: b.Cardinality}
		if in.Cardinality == "" {
			in.Cardinality = "one"
		}
		for _, res := range results {
			if !provides(b, res) || !res.Satisfies() || len(res.Output) == 0 {
				continue
			}
			v, ok := Select(res.Output, b.Select)
			if !ok {
				continue
			}
			in.Items = append(in.Items, sdk.InputItem{Value: v, PluginID: res.PluginID, Runtime: res.RuntimeID})
		}
		slices.SortFunc(in.Items, func(a, b sdk.InputItem) int { return strings.Compare(a.Runtime, b.Runtime) })
		if in.Cardinality == "one" && len(in.Items) > 1 {
			in.Items = in.Items[:1]
		}
		if len(in.Items) > 0 {
			out[name] = in
		}
	}
	return out
}

// Select reads the value at an RFC 6901 pointer; "" is the whole value.
func Select(value json.RawMessage, pointer string) (json.RawMessage, bool) {
	if pointer == "" {
		return value, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for _, part := range strings.Split(pointer[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var obj map[string]json.RawMessage
		if json.Unmarshal(value, &obj) == nil && obj != nil {
			v, ok := obj[part]
			if !ok {
				return nil, false
			}
			value = v
			continue
		}
		var arr []json.RawMessage
		if json.Unmarshal(value, &arr) != nil || (len(part) > 1 && part[0] == '0') {
			return nil, false
		}
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(arr) {
			return nil, false
		}
		value = arr[i]
	}
	return value, true
}

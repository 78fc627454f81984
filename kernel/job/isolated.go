package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// Isolated holds what a detached run really wrote against what it may: plugin data of its own that the kernel has not
// reserved, UI, assets and media, each declared in its effects (seed: turn-pipeline.txt §2.3, "Before the commit, the
// proposals that were actually produced are checked again").
func Isolated(declared []string, r turn.Result) error {
	if len(r.Events) > 0 {
		return fmt.Errorf("it emitted %s", r.Events[0].Topic)
	}
	if len(r.Operations) > 0 {
		return fmt.Errorf("it wrote to %s through %s", r.Operations[0].PluginID, r.Operations[0].Service)
	}
	for _, p := range r.Proposals {
		if err := isolated(declared, p); err != nil {
			return err
		}
	}
	for _, n := range r.Nested {
		if err := Isolated(declared, n); err != nil {
			return err
		}
	}
	return nil
}

func isolated(declared []string, p sdk.Proposal) error {
	domain, _, _ := strings.Cut(p.Type, ".")
	switch {
	case p.Type == (sdk.PluginDataWrite{}).ProposalType() || strings.HasPrefix(p.Type, "plugin.data"):
		for _, ns := range namespaces(p.Payload) {
			if strings.HasPrefix(ns, "_") && !strings.HasPrefix(ns, "_hidden.") {
				return fmt.Errorf("plugin data of %q is the kernel's", ns)
			}
			if !slices.Contains(declared, "plugin-data:self:"+ns) {
				return fmt.Errorf("it wrote plugin data of %q without declaring plugin-data:self:%s", ns, ns)
			}
		}
		return nil
	case domain == "ui" && slices.Contains(declared, "ui:*"):
		return nil
	case (domain == "asset" || domain == "assets" || domain == "media") && (slices.Contains(declared, "assets:*") || slices.Contains(declared, "media:*")):
		return nil
	}
	return fmt.Errorf("%s is not among what a detached runtime may write", p.Type)
}

// namespaces gives every namespace that a plugin data payload names, wherever it stands; one that names none gives "", which
// nobody declares.
func namespaces(payload json.RawMessage) []string {
	var v any
	if json.Unmarshal(payload, &v) != nil {
		return []string{""}
	}
	var out []string
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		switch v := v.(type) {
		case map[string]any:
			if ns, ok := v["namespace"].(string); ok {
				out = append(out, ns)
				return // its value may hold anything
			}
			for _, x := range v {
				walk(x, depth+1)
			}
		case []any:
			for _, x := range v {
				walk(x, depth+1)
			}
		}
	}
	walk(v, 0)
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

package runtime

import (
	"encoding/json"
	"fmt"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/schema"
)

var contracts schema.Cache

// checkContract holds the canonical value against the public schema of the contract the runtime provides, and the value of
// a function that succeeded against its own; an agent's own schema is checked by its loop, which can ask again. A value that
// does not fit has no effects and is not exported (reference: plugins.md §8, "Public contract check").
func checkContract(plugin *registry.Loaded, rt manifest.Runtime, res turn.Result) error {
	if !res.Committable() || len(res.Output) == 0 {
		return nil
	}
	if err := fits("contract "+rt.IO.OutputContract, plugin.Manifest.Contracts[rt.IO.OutputContract], res.Output); err != nil {
		return err
	}
	if rt.Type == manifest.TypeFunction && res.Status == turn.Succeeded {
		return fits("io.output.schema", rt.IO.OutputSchema, res.Output)
	}
	return nil
}

func fits(name string, raw, output json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	s, err := contracts.Compile(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if failure := s.CheckJSON(output); failure != nil {
		return fmt.Errorf("output does not fit %s: %w", name, failure)
	}
	return nil
}

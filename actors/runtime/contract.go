package runtime

import (
	"fmt"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/schema"
)

var contracts schema.Cache

// checkContract holds the canonical value against the public schema of the contract the runtime provides. A value that
// does not fit has no effects (reference: plugins.md §8, "Public contract check").
func checkContract(plugin *registry.Loaded, rt manifest.Runtime, res turn.Result) error {
	raw := plugin.Manifest.Contracts[rt.IO.OutputContract]
	if !res.Committable() || len(raw) == 0 || len(res.Output) == 0 {
		return nil
	}
	s, err := contracts.Compile(raw)
	if err != nil {
		return fmt.Errorf("contract %s: %w", rt.IO.OutputContract, err)
	}
	if failure := s.CheckJSON(res.Output); failure != nil {
		return fmt.Errorf("output does not fit %s: %w", rt.IO.OutputContract, failure)
	}
	return nil
}

package extension

import (
	"encoding/json"
	"slices"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// WorldContext reads the result of session.world-context@1 (seed: extension-points.txt, "Session world context"); zero when
// nobody provides it. The host says who the provider is.
func WorldContext(r Result) (sdk.WorldContext, error) {
	if len(r.Outputs) == 0 {
		return sdk.WorldContext{}, nil
	}
	var out sdk.WorldContext
	if err := json.Unmarshal(r.Outputs[0].Value, &out); err != nil {
		return out, errors.Wrap(err, "session.world-context@1")
	}
	out.DimensionProviderPluginID = ""
	if out.Dimensions != nil {
		out.DimensionProviderPluginID = r.Outputs[0].Provider.PluginID
	}
	return out, nil
}

// CheckWorldContext: recovery runtimes are registered runtimes of the provider's own.
func CheckWorldContext(who Provider, value json.RawMessage, runtimes []manifest.Runtime) error {
	var out sdk.WorldContext
	if err := json.Unmarshal(value, &out); err != nil {
		return err
	}
	if out.DimensionRecovery == nil {
		return nil
	}
	for _, id := range []string{out.DimensionRecovery.EditorRuntimeID, out.DimensionRecovery.TrackerRuntimeID} {
		if !slices.ContainsFunc(runtimes, func(r manifest.Runtime) bool { return r.ID == id && r.PluginID == who.PluginID }) {
			return errors.Errorf("dimensionRecovery names %q, which is no runtime of %s; write its full name, <plugin>/<runtime>", id, who.PluginID)
		}
	}
	return nil
}

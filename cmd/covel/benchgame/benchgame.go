// Package benchgame is a plugin for the measurement of a turn: with the bundled game it makes twelve runtimes over the four
// stages of a turn.
package benchgame

import (
	"context"
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md runtimes schemas
var files embed.FS

// ID is the id of the plugin.
const ID = "bench-game"

// Package is the plugin.
var Package = sdk.Package{FS: files, Register: func(covel *sdk.Covel) { covel.RegisterHandler("count", count) }}

// count adds one to the runtime's own counter and answers with what it was bound to.
func count(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
	err := rt.PluginData.Update("tally", rt.RuntimeID, sdk.OpIncrement("turns", 1))
	return sdk.Result{Outcome: sdk.Success, Value: map[string]any{"inputs": len(rt.Inputs)}}, err
}

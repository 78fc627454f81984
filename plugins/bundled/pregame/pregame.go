// Package pregame opens a session: it greets the player in the name of the world.
package pregame

import (
	"context"
	"embed"
	"encoding/json"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales schemas
var files embed.FS

// Package is the plugin.
var Package = sdk.Package{
	FS: files,
	Register: func(covel *sdk.Covel) {
		covel.RegisterHandler("open-session", openSession)
	},
}

// Where the plugin notes that it has greeted.
const (
	namespace = "opening"
	key       = "greeting"
)

// opening is the value of session.opening@1 and the record behind it.
type opening struct {
	Initialized bool   `json:"initialized"`
	Greeting    string `json:"greeting"`
}

// openSession writes the greeting as a row of the conversation, once per session: a run that comes later, as after an
// upgrade of the plugin in a session that is being played, finds its own note and says nothing (reference: plugins.md
// §7.5, "report finished work").
func openSession(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
	var done opening
	if stored := rt.PluginData.Get(namespace, key); stored != nil && json.Unmarshal(stored, &done) == nil && done.Initialized {
		return sdk.Result{Outcome: sdk.Success, Value: done, Done: true}, nil
	}
	now := opening{Initialized: true, Greeting: greeting(rt.World.Record, rt.Messages)}
	if err := rt.PluginData.Set(namespace, key, now); err != nil {
		return sdk.Result{}, err
	}
	return sdk.Result{
		Outcome: sdk.Success,
		Value:   now,
		Effects: sdk.Effects{Narrative: now.Greeting},
		Done:    true,
	}, nil
}

// greeting is the author's own words where the world has them, else the world's name and summary.
func greeting(world sdk.WorldRecord, messages sdk.Messages) string {
	if own := strings.TrimSpace(world.Greeting); own != "" {
		return own
	}
	welcome := sdk.Translate(messages, "Welcome.", nil)
	if name := strings.TrimSpace(world.Name); name != "" {
		welcome = sdk.Translate(messages, "Welcome to {world}.", map[string]any{"world": name})
	}
	parts := []string{welcome}
	if summary := strings.TrimSpace(world.Summary); summary != "" {
		parts = append(parts, summary)
	}
	return strings.Join(parts, "\n\n")
}

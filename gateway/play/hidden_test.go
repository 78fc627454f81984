package play

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// What a plugin keeps under _hidden reaches no player: not in the view, not in a frame, not over SSE.
func TestHiddenDataStaysHidden(t *testing.T) {
	keeper := registry.Bundled("keeper", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: keeper\nkind: core\nversion: 1.0.0\ndescription: Keeps a secret.\nruntime:\n  type: function\n  description: Keeps a secret.\n" +
			"  schedule: { stage: post-turn, trigger: auto }\n  function: { handler: keep }\n---\nIt keeps.\n")}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("keep", func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				if err := rt.PluginData.Set("_hidden.plot", "end", "the murderer is 老佟"); err != nil {
					return sdk.Result{}, err
				}
				return sdk.Result{Outcome: sdk.Success}, rt.PluginData.Set("open", "end", "nobody knows")
			})
		},
	})
	s := open(t, game(), keeper)
	id := s.played("zh-CN")
	c := s.dial(id)
	c.send(`{"type":"hello"}`)
	shown, _ := json.Marshal(c.next())
	sse := s.act(id, "r1", "submit_actions", `{"actions":[{"text":"走"}]}`)
	frame, _ := json.Marshal(c.until(holdsEvent("execution.completed")))
	stream, _ := json.Marshal(sse)
	for name, text := range map[string]string{"view": string(shown), "frame": string(frame), "stream": string(stream)} {
		if strings.Contains(text, "murderer") || strings.Contains(text, "_hidden") {
			t.Errorf("%s tells the secret", name)
		}
		if !strings.Contains(text, "nobody knows") {
			t.Errorf("%s does not tell what is open", name)
		}
	}
}

package tools

import "slices"

// FrameworkToolNames are the reserved names: a plugin's own tool cannot take one, whether this host has the tool or not
// (seed: tools.txt, "Overview" and "Annotations and timeout").
var FrameworkToolNames = []string{
	"create-choices", "create-form", "create-notification", "delegate", "emit-event", "get-character", "list-characters",
	"memory-search", "render-ui", "runtime-done", "search-tools", "suspend", "sync-characters", "world-dimension-get",
	"world-dimension-list",
}

// Tools that other rooms name: RuntimeDone ends an agent's run, Suspend makes it wait for the player, SearchTools finds its
// deferred tools, Delegate runs a sub-agent.
const (
	RuntimeDone = "runtime-done"
	Suspend     = "suspend"
	CreateForm  = "create-form"
	EmitEvent   = "emit-event"
	SearchTools = "search-tools"
	Delegate    = "delegate"
)

// Reserved says whether a name belongs to the framework.
func Reserved(name string) bool { return slices.Contains(FrameworkToolNames, name) }

// Declarable says whether a manifest may list a name in tools.builtin: the framework's tools without those it adds itself.
func Declarable(name string) bool { return Reserved(name) && name != SearchTools }

// Package bundled lists the plugins that are compiled into the program. Each stands in its own folder, knows nothing of the
// others and imports only plugins/sdk; the list is the one place that names them, and taking a line out of it takes the
// plugin out of the program.
package bundled

import (
	charcreator "github.com/covel/covel/plugins/bundled/char-creator"
	"github.com/covel/covel/plugins/bundled/guide"
	historycompaction "github.com/covel/covel/plugins/bundled/history-compaction"
	"github.com/covel/covel/plugins/bundled/narrator"
	"github.com/covel/covel/plugins/bundled/pregame"
	worldinit "github.com/covel/covel/plugins/bundled/world-init"
	"github.com/covel/covel/plugins/sdk"
)

// Plugin is a package under the id that its folder and its manifest have.
type Plugin struct {
	ID      string
	Package sdk.Package
}

// All gives the bundled plugins by id. The list is the caller's own.
func All() []Plugin {
	return []Plugin{
		{"char-creator", charcreator.Package},
		{"guide", guide.Package},
		{"history-compaction", historycompaction.Package},
		{"narrator", narrator.Package},
		{"pregame", pregame.Package},
		{"world-init", worldinit.Package},
	}
}

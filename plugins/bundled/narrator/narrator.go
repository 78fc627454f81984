// Package narrator writes the story. It has no code of its own: the brief in PLUGIN.md and the shape in schemas/story.json
// are all there is to it.
package narrator

import (
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales schemas
var files embed.FS

// Package is the plugin.
var Package = sdk.Package{
	FS:       files,
	Register: func(*sdk.Covel) {},
}

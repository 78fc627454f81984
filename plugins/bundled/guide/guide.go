// Package guide tells the player, after each page of the story, where they are, what has happened, what is to be decided
// and what they could do next.
package guide

import (
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales schemas ui
var files embed.FS

// Package is the plugin.
var Package = sdk.Package{
	FS: files,
	Register: func(covel *sdk.Covel) {
		covel.RegisterTool(generateGuide)
	},
}

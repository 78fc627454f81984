// Package worldinit gives a session its character schema: the one the world's author declared, or one that a model draws up
// from the world's lore.
package worldinit

import (
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales runtimes schemas
var files embed.FS

// Package is the plugin.
var Package = sdk.Package{
	FS: files,
	Register: func(covel *sdk.Covel) {
		covel.RegisterTool(initializeWorld)
		covel.RegisterGuard("schema-gen", guardSchemaGen)
	},
}

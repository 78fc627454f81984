// Package charcreator makes the player's character: a form with the name and what the world lets a player say about
// themselves, a guard that turns the answer into the character without a model, and the rules of both.
package charcreator

import (
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales runtimes schemas ui
var files embed.FS

// Package is the plugin.
var Package = sdk.Package{
	FS: files,
	Register: func(covel *sdk.Covel) {
		covel.RegisterTool(createCharacterForm)
		covel.RegisterFormValidator(validatorName, checkPlayerName)
		covel.RegisterGuard("player-init", guardPlayerInit)
	},
}

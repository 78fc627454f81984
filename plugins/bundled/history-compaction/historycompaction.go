// Package historycompaction keeps the memory of a long story: it writes summaries of the oldest pages when the conversation
// grows too long for the model, and merges the oldest summaries when they take too much room themselves (seed:
// extension-points.txt, "History compression history.compact@2"). It is the provider by default and steps aside for another.
package historycompaction

import (
	"embed"

	"github.com/covel/covel/plugins/sdk"
)

//go:embed PLUGIN.md PLUGIN.zh.md locales prompts
var files embed.FS

var prompts = sdk.PromptLoader(files, "prompts")

// Package is the plugin.
var Package = sdk.Package{
	FS: files,
	Register: func(covel *sdk.Covel) {
		covel.ProvideExtension("history.compact@2", "summaries", sdk.Extend(compact))
	},
}

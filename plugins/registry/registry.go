// Package registry holds the loaded plugins. A Generation is immutable and named by a digest over its packages; an
// execution keeps the generation it started with (design §11).
package registry

import (
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Loaded is one plugin that may run: what it declares and what its entry registered.
type Loaded struct {
	Manifest manifest.Plugin
	Entry    sdk.Covel
	Tools    map[string]sdk.Tool // by name
}

// LoadError is a package that could not be loaded; other packages are not affected.
type LoadError struct {
	PluginID string
	Err      error // manifest.Problems when the files are wrong
}

func (e LoadError) Error() string { return e.PluginID + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e LoadError) Unwrap() error { return e.Err }

// Generation is one published set of plugins.
type Generation struct {
	Digest  string
	Plugins map[string]*Loaded
	Errors  []LoadError // by plugin id
}

// Runtime finds a runtime by its full id and its plugin.
func (g *Generation) Runtime(id string) (manifest.Runtime, *Loaded, bool) {
	p, ok := g.Plugins[manifest.PluginOf(id)]
	if !ok {
		return manifest.Runtime{}, nil, false
	}
	for _, r := range p.Manifest.Runtimes {
		if r.ID == id {
			return r, p, true
		}
	}
	return manifest.Runtime{}, nil, false
}

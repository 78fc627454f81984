// Package sdk is what the author of a Go plugin sees: the entry, handlers, guards, tools, results, proposals and the
// read views of a session. It imports nothing else of Covel, so that a plugin can be moved out of the repository.
package sdk

import "io/fs"

// Package is one plugin that is compiled into the program. FS holds the same files as a plugin folder on disk:
// PLUGIN.md, runtimes/*/RUNTIME.md, their .zh.md variants, locales/, schemas/, ui/.
type Package struct {
	FS       fs.FS
	Register func(*Covel) // the entry; runs once per load, only registers
}

// Covel takes the registrations of one plugin's entry. What is registered must match what PLUGIN.md declares, in both
// directions; otherwise the whole entry is refused.
type Covel struct {
	PluginID string

	Tools      []Tool
	Handlers   map[string]Handler       // by the manifest's function.handler
	Guards     map[string]Guard         // by the manifest's guard
	Validators map[string]FormValidator // by contributes.forms
	Extensions []Extension              // by contributes.extensions
	Hooks      []Hook                   // by contributes.hooks; added with On
}

// Extension is one provider of an extension point.
type Extension struct {
	Point  string
	ID     string
	Handle ExtensionHandler
}

// ProvideExtension offers the provider that contributes.extensions declares with the same point and id.
func (c *Covel) ProvideExtension(point, id string, h ExtensionHandler) {
	c.Extensions = append(c.Extensions, Extension{point, id, h})
}

// RegisterTool offers a tool that contributes.tools declares.
func (c *Covel) RegisterTool(t Tool) { c.Tools = append(c.Tools, t) }

// RegisterHandler binds the name that function.handler of a runtime gives to its code.
func (c *Covel) RegisterHandler(name string, h Handler) {
	if c.Handlers == nil {
		c.Handlers = map[string]Handler{}
	}
	c.Handlers[name] = h
}

// RegisterGuard binds the name that guard of a runtime gives to its code.
func (c *Covel) RegisterGuard(name string, g Guard) {
	if c.Guards == nil {
		c.Guards = map[string]Guard{}
	}
	c.Guards[name] = g
}

// RegisterFormValidator offers a validator that contributes.forms declares.
func (c *Covel) RegisterFormValidator(name string, v FormValidator) {
	if c.Validators == nil {
		c.Validators = map[string]FormValidator{}
	}
	c.Validators[name] = v
}

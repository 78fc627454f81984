package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// ErrNeedsEngine is the load error of a package with JavaScript code: this version runs Go plugins and plugins without code.
var ErrNeedsEngine = errors.New("the package has JavaScript code, which this version of Covel cannot run")

// Build loads every source. A package that is broken becomes its own LoadError and harms no other. The generation does not
// depend on the order of the sources, except that a bundled id cannot be taken.
func Build(sources []Source) *Generation {
	g := &Generation{Plugins: map[string]*Loaded{}}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int {
		if a.Bundled != b.Bundled {
			if a.Bundled {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	schemas := map[string]publicSchema{}
	taken := map[string]bool{}
	for _, s := range sources {
		loaded, err := load(s)
		switch {
		case taken[s.ID]:
			err = errors.Errorf("another plugin has the id %q; rename the folder", s.ID)
		case err == nil:
			err = agree(schemas, loaded)
		}
		taken[s.ID] = true
		if err != nil {
			g.Errors = append(g.Errors, LoadError{PluginID: s.ID, Err: err})
			continue
		}
		g.Plugins[s.ID] = loaded
	}
	slices.SortStableFunc(g.Errors, func(a, b LoadError) int { return strings.Compare(a.PluginID, b.PluginID) })
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(g.Plugins)) {
		fmt.Fprintf(h, "%s %s\n", id, g.Plugins[id].Manifest.Digest)
	}
	g.Digest = hex.EncodeToString(h.Sum(nil))
	return g
}

func load(s Source) (*Loaded, error) {
	switch {
	case s.Err != nil:
		return nil, s.Err
	case s.FS == nil:
		return nil, errors.New("the package has no files")
	}
	m, err := manifest.Load(s.FS, s.ID)
	if err != nil {
		return nil, err
	}
	if s.Register == nil && needsEngine(m) {
		return nil, ErrNeedsEngine
	}
	entry, err := register(m.ID, s.Register)
	if err != nil {
		return nil, err
	}
	if err := compare(m, entry); err != nil {
		return nil, err
	}
	l := &Loaded{Manifest: m, Entry: entry, Tools: map[string]sdk.Tool{}}
	for _, t := range entry.Tools {
		l.Tools[t.Name] = t
	}
	return l, nil
}

// needsEngine says whether a package without a Go entry has code of its own.
func needsEngine(m manifest.Plugin) bool {
	if m.Entry != "" {
		return true
	}
	return slices.ContainsFunc(m.Runtimes, func(r manifest.Runtime) bool { return isModule(r.Function.Handler) || isModule(r.Guard) })
}

// isModule says whether a handler or a guard is a file and not a registered name.
func isModule(name string) bool { return path.Ext(name) != "" }

// register runs the entry. A panic is the package's own error. What the entry keeps of its Covel has no effect afterwards.
func register(id string, entry func(*sdk.Covel)) (out sdk.Covel, err error) {
	c := &sdk.Covel{PluginID: id}
	if entry != nil {
		func() {
			defer safego.Recover("entry of plugin "+id, func(cause error) { err = errors.Wrap(cause, "the entry failed") })
			entry(c)
		}()
	}
	return sdk.Covel{
		PluginID:   id,
		Tools:      slices.Clone(c.Tools),
		Handlers:   maps.Clone(c.Handlers),
		Guards:     maps.Clone(c.Guards),
		Validators: maps.Clone(c.Validators),
		Extensions: slices.Clone(c.Extensions),
		Hooks:      slices.Clone(c.Hooks),
	}, err
}

// compare holds the declarations against the registrations, in both directions; one error names everything that differs
// (reference: plugins.md §6.3).
func compare(m manifest.Plugin, c sdk.Covel) error {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	var registered []string
	for _, t := range c.Tools {
		switch {
		case slices.Contains(registered, t.Name):
			add("the tool %q is registered twice", t.Name)
			continue
		case tools.Reserved(t.Name):
			add("the tool %q has the name of a framework tool", t.Name)
		case t.Execute == nil:
			add("the tool %q has no function to execute", t.Name)
		}
		registered = append(registered, t.Name)
		if err := sdk.CheckTool(t); err != nil {
			add("%s", err)
		} else if _, err := schema.Compile(t.Parameters); err != nil {
			add("the parameters of the tool %q: %s", t.Name, err)
		}
	}
	match(add, "tool", "contributes.tools", m.Contributes.Tools, registered)
	match(add, "hook", "contributes.hooks", declaredHooks(m), registeredHooks(add, c.Hooks))
	match(add, "form validator", "contributes.forms", m.Contributes.Forms, named(add, "form validator", c.Validators))

	compareExtensions(add, m, c.Extensions)

	var handlers, guards []string
	for _, r := range m.Runtimes {
		if h := r.Function.Handler; h != "" && !isModule(h) {
			handlers = append(handlers, h)
		}
		if r.Guard != "" && !isModule(r.Guard) {
			guards = append(guards, r.Guard)
		}
		if isModule(r.Function.Handler) || isModule(r.Guard) {
			add("the runtime %s names a module; a Go package names what its entry registers", r.ID)
		}
	}
	match(add, "handler", "function.handler", handlers, named(add, "handler", c.Handlers))
	match(add, "guard", "guard", guards, named(add, "guard", c.Guards))
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("the entry and PLUGIN.md do not match: " + strings.Join(wrong, "; "))
}

// named gives the registered names; a nil function is a mistake.
func named[F any](add func(string, ...any), kind string, m map[string]F) []string {
	names := slices.Sorted(maps.Keys(m))
	for _, n := range names {
		if reflect.ValueOf(m[n]).IsNil() {
			add("the %s %q is nil", kind, n)
		}
	}
	return names
}

func match(add func(string, ...any), kind, field string, declared, registered []string) {
	declared = slices.Compact(slices.Sorted(slices.Values(declared)))
	for _, name := range declared {
		if !slices.Contains(registered, name) {
			add("the %s %q is declared (%s) but not registered", kind, name, field)
		}
	}
	for _, name := range registered {
		if !slices.Contains(declared, name) {
			add("the %s %q is registered but not declared (%s)", kind, name, field)
		}
	}
}

type publicSchema struct {
	owner string
	value any
}

// agree refuses a package whose public schema of a contract differs from the one another package published: readers must
// not depend on who provides (reference: plugins.md §6.2).
func agree(known map[string]publicSchema, l *Loaded) error {
	added := map[string]publicSchema{}
	for _, contract := range slices.Sorted(maps.Keys(l.Manifest.Contracts)) {
		value, err := schema.Decode(l.Manifest.Contracts[contract])
		if err != nil {
			return errors.Wrap(err, contract)
		}
		other, ok := known[contract]
		switch {
		case !ok:
			added[contract] = publicSchema{owner: l.Manifest.ID, value: value}
		case !reflect.DeepEqual(other.value, value):
			return errors.Errorf("its schema of %s differs from the one of %s; providers of one contract publish the same schema", contract, other.owner)
		}
	}
	maps.Copy(known, added)
	return nil
}

package registry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func extension(context.Context, json.RawMessage, *sdk.ExtensionContext) (any, error) { return nil, nil }

func extensionSource(id, extensions string, register func(*sdk.Covel)) Source {
	return Bundled(id, sdk.Package{FS: files(map[string]string{"PLUGIN.md": "---\ndescription: x\ncontributes:\n  extensions: " + extensions + "\n---\n"}), Register: register})
}

// Rule EP:122: a provider of ui.slot@1 declares its slot, and may declare order, watch and preview; no other point has these.
// Rule EP:21: what is declared and not registered, or registered and not declared, fails the whole plugin.
func TestExtensionsMustMatchTheirDeclarations(t *testing.T) {
	for name, c := range map[string]struct {
		declared string
		register func(*sdk.Covel)
		want     string
	}{
		"both":          {"[{point: prompt.segment@1, id: a}]", func(c *sdk.Covel) { c.ProvideExtension("prompt.segment@1", "a", extension) }, ""},
		"declared only": {"[{point: prompt.segment@1, id: a}]", func(*sdk.Covel) {}, `the extension "a" of prompt.segment@1 is declared (contributes.extensions) but not registered`},
		"registered only": {"[]", func(c *sdk.Covel) { c.ProvideExtension("prompt.segment@1", "b", extension) },
			`the extension "b" of prompt.segment@1 is registered but not declared`},
		"another id":    {"[{point: prompt.segment@1, id: a}]", func(c *sdk.Covel) { c.ProvideExtension("prompt.segment@1", "龙", extension) }, `"龙" of prompt.segment@1 is registered but not declared`},
		"another point": {"[{point: prompt.segment@1, id: a}]", func(c *sdk.Covel) { c.ProvideExtension("history.compact@2", "a", extension) }, "is registered but not declared"},
		"twice": {"[{point: prompt.segment@1, id: a}]", func(c *sdk.Covel) {
			c.ProvideExtension("prompt.segment@1", "a", extension)
			c.ProvideExtension("prompt.segment@1", "a", extension)
		}, "registered twice"},
		"no handler":        {"[{point: prompt.segment@1, id: a}]", func(c *sdk.Covel) { c.ProvideExtension("prompt.segment@1", "a", nil) }, "has no handler"},
		"an old version":    {"[{point: history.compact@1, id: a}]", func(*sdk.Covel) {}, `"history.compact@1" is not an extension point`},
		"a slot elsewhere":  {"[{point: prompt.segment@1, id: a, slot: stage.cast@1}]", func(*sdk.Covel) {}, "Only ui.slot@1 fills a slot"},
		"no such slot":      {"[{point: ui.slot@1, id: a, slot: stage.door@1}]", func(*sdk.Covel) {}, `"stage.door@1" is not a slot`},
		"a slot":            {"[{point: ui.slot@1, id: a, slot: stage.cast@1, order: -2, watch: [cast], preview: [stage.direction]}]", func(c *sdk.Covel) { c.ProvideExtension("ui.slot@1", "a", extension) }, ""},
		"no slot":           {"[{point: ui.slot@1, id: a}]", func(*sdk.Covel) {}, "slot: is required"},
		"watch elsewhere":   {"[{point: prompt.segment@1, id: a, watch: [cast]}]", func(*sdk.Covel) {}, "Only ui.slot@1 watches"},
		"preview elsewhere": {"[{point: prompt.segment@1, id: a, preview: [a.b]}]", func(*sdk.Covel) {}, "Only ui.slot@1 has a preview"},
		"no namespace":      {"[{point: ui.slot@1, id: a, slot: stage.cast@1, watch: [_龙]}]", func(*sdk.Covel) {}, "is not a namespace"},
		"no topic":          {"[{point: ui.slot@1, id: a, slot: stage.cast@1, preview: [direction]}]", func(*sdk.Covel) {}, "is not a topic"},
		"who speaks":        {"[{point: ui.slot@1, id: a, slot: stage.dialogue@1}]", func(*sdk.Covel) {}, `"stage.dialogue@1" is not a slot`},
		"reserved":          {"[{point: prompt.segment@1, id: static-prompt}]", func(*sdk.Covel) {}, "is the id of contributes.prompt"},
		"single twice": {"[{point: history.compact@2, id: a}, {point: history.compact@2, id: b}]", func(c *sdk.Covel) {
			c.ProvideExtension("history.compact@2", "a", extension)
			c.ProvideExtension("history.compact@2", "b", extension)
		}, "history.compact@2 has one provider, and the package declares several"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Build([]Source{extensionSource("p", c.declared, c.register)})
			switch {
			case c.want == "" && len(g.Errors) > 0:
				t.Error(g.Errors)
			case c.want != "" && (len(g.Errors) == 0 || !strings.Contains(g.Errors[0].Error(), c.want)):
				t.Errorf("got %v, want %s", g.Errors, c.want)
			}
		})
	}
}

func provider(id string, decls ...manifest.ExtensionDecl) *Loaded {
	l := &Loaded{Manifest: manifest.Plugin{ID: id, Kind: "plugin", Contributes: manifest.Contributes{Extensions: decls}}}
	for _, d := range decls {
		l.Entry.Extensions = append(l.Entry.Extensions, sdk.Extension{Point: d.Point, ID: d.ID, Handle: extension})
	}
	return l
}

func needing(id string, contracts ...string) *Loaded {
	return &Loaded{Manifest: manifest.Plugin{ID: id, Kind: "plugin", Requires: contracts}}
}

// Rule EP:66–72: requires on a point or a slot is served by real providers only.
// Rule EP:68: providers are known by contributes.extensions, and by the slot of ui.slot@1.
// Rule EP:69: fixed segments in contributes.prompt count as a provider of prompt.segment@1.
// Rule EP:70: a kernel contract that stands only in provides serves nobody.
// Rule EP:71: a provider that is explicitly excluded is not added automatically.
func TestRequiresOnPoints(t *testing.T) {
	compact := manifest.ExtensionDecl{Point: "history.compact@2", ID: "a"}
	cast := manifest.ExtensionDecl{Point: "ui.slot@1", ID: "cast", Slot: "stage.cast@1"}
	static := &Loaded{Manifest: manifest.Plugin{ID: "static", Contributes: manifest.Contributes{Prompt: []manifest.PromptSegment{{ID: "x"}}}}}
	boast := &Loaded{Manifest: manifest.Plugin{ID: "boast", Provides: []manifest.Provided{{Contract: "history.compact@2"}}}}
	for name, c := range map[string]struct {
		plugins   []*Loaded
		requested []string
		excluded  []string
		active    []string
		code      string
	}{
		"a provider is added":          {[]*Loaded{needing("a", "history.compact@2"), provider("c", compact)}, []string{"a"}, nil, []string{"a", "c"}, ""},
		"a slot":                       {[]*Loaded{needing("a", "stage.cast@1"), provider("c", cast)}, []string{"a"}, nil, []string{"a", "c"}, ""},
		"a slot's provider is ui.slot": {[]*Loaded{needing("a", "ui.slot@1"), provider("c", cast)}, []string{"a"}, nil, []string{"a", "c"}, ""},
		"another slot":                 {[]*Loaded{needing("a", "stage.music@1"), provider("c", cast)}, []string{"a"}, nil, nil, MissingProvider},
		"fixed segments count":         {[]*Loaded{needing("a", "prompt.segment@1"), static}, []string{"a"}, nil, []string{"a", "static"}, ""},
		"provides alone does not":      {[]*Loaded{needing("a", "history.compact@2"), boast}, []string{"a"}, nil, nil, MissingProvider},
		"an excluded one is not added": {[]*Loaded{needing("a", "history.compact@2"), provider("c", compact)}, []string{"a"}, []string{"c"}, nil, MissingProvider},
	} {
		t.Run(name, func(t *testing.T) {
			sel, err := generation(c.plugins...).Select(c.requested, c.excluded, Policy{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.active, sel.Active); d != "" {
				t.Error(d)
			}
			if c.code != "" && (len(sel.Rejected) == 0 || sel.Rejected[0].Code != c.code) {
				t.Errorf("rejected %+v, want %s", sel.Rejected, c.code)
			}
		})
	}
}

// Rule TP:318: two plugins that compete for a single point reject that combination.
// Rule REF plugins.md §17: two active providers of a single point are a single-provider-conflict; the one asked for stays.
// Rule EP:73: collect and pipeline allow several.
// Rule TP:630: collect, pipeline or single decides how providers of a point combine and compete.
func TestOneProviderOfASinglePoint(t *testing.T) {
	compact := func(id string) *Loaded {
		return provider(id, manifest.ExtensionDecl{Point: "history.compact@2", ID: "x"}, manifest.ExtensionDecl{Point: "prompt.segment@1", ID: "y"})
	}
	standard := compact("standard")
	standard.Manifest.Kind = "core"
	sel, err := generation(standard, compact("better")).Select([]string{"better"}, nil, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"better"}, sel.Active); d != "" {
		t.Error(d)
	}
	if len(sel.Rejected) != 1 || sel.Rejected[0].Code != SingleProvider || sel.Rejected[0].Contract != "history.compact@2" {
		t.Errorf("rejected %+v", sel.Rejected)
	}
	segments := func(id string) *Loaded {
		return provider(id, manifest.ExtensionDecl{Point: "prompt.segment@1", ID: "x"})
	}
	if sel, _ := generation(segments("a"), segments("b")).Select([]string{"a", "b"}, nil, Policy{}); len(sel.Active) != 2 {
		t.Errorf("two providers of a collect point: %+v", sel)
	}
}

// Rule EP:50: the provider by default steps aside for another one of its point, and two that are there by default are in
// each other's way as any two are.
func TestADefaultProviderStepsAside(t *testing.T) {
	compact := func(id string, byDefault bool) *Loaded {
		p := provider(id, manifest.ExtensionDecl{Point: "history.compact@2", ID: "x"})
		if byDefault {
			p.Manifest.Kind, p.Manifest.Provides = "core", []manifest.Provided{{Contract: "history.compact@2", Default: true}}
		}
		return p
	}
	for name, c := range map[string]struct {
		plugins []*Loaded
		asked   []string
		active  []string
		code    string
	}{
		"alone":                  {[]*Loaded{compact("standard", true)}, nil, []string{"standard"}, ""},
		"another is asked for":   {[]*Loaded{compact("standard", true), compact("better", false)}, []string{"better"}, []string{"better"}, DefaultReplaced},
		"another is only there":  {[]*Loaded{compact("standard", true), compact("better", false)}, nil, []string{"standard"}, ""},
		"two defaults":           {[]*Loaded{compact("standard", true), compact("usual", true)}, nil, []string{"standard"}, SingleProvider},
		"a default is preferred": {[]*Loaded{compact("standard", true), needing("a", "history.compact@2")}, []string{"a"}, []string{"a", "standard"}, ""},
	} {
		sel, err := generation(c.plugins...).Select(c.asked, nil, Policy{})
		if err != nil || !slices.Equal(sel.Active, c.active) {
			t.Errorf("%s: %+v %v", name, sel, err)
		}
		if (c.code != "") != (len(sel.Rejected) == 1) || c.code != "" && sel.Rejected[0].Code != c.code {
			t.Errorf("%s: rejected %+v, want %q", name, sel.Rejected, c.code)
		}
	}
}

// Rule EP:73: neither a plugin's folder nor a session may name a point or a slot in conflicts.
// Rule EP:72: conflicts cannot name an extension point or a slot: invalid-conflict at load and in the resolver.
func TestInvalidConflict(t *testing.T) {
	for _, contract := range []string{"history.compact@2", "stage.choices@1"} {
		g := Build([]Source{Bundled("p", sdk.Package{FS: files(map[string]string{"PLUGIN.md": "---\ndescription: x\nconflicts: [" + contract + "]\n---\n"})})})
		if len(g.Errors) != 1 || !strings.Contains(g.Errors[0].Error(), "invalid-conflict: "+contract) {
			t.Errorf("%s: %v", contract, g.Errors)
		}
		sel, _ := generation(&Loaded{Manifest: manifest.Plugin{ID: "a", Conflicts: []string{contract}}}).Select([]string{"a"}, nil, Policy{})
		if len(sel.Rejected) != 1 || sel.Rejected[0].Code != InvalidConflict {
			t.Errorf("%s: %+v", contract, sel)
		}
	}
}

// Rule EP:52: a pipeline's order is declared order; ties by plugin and id.
// Rule EP:43: only providers of plugins that are active in the session are called.
func TestProvidersInOrder(t *testing.T) {
	decl := func(id string, order int) manifest.ExtensionDecl {
		return manifest.ExtensionDecl{Point: "prompt.segment@1", ID: id, Order: order}
	}
	g := generation(provider("b", decl("z", 0), decl("y", 0)), provider("a", decl("x", 5), decl("w", -1)), provider("off", decl("v", 0)))
	var got []string
	for _, p := range g.Providers([]string{"a", "b", "gone"}, "prompt.segment@1", "") {
		got = append(got, p.Plugin.Manifest.ID+"/"+p.Decl.ID)
	}
	if d := cmp.Diff([]string{"a/w", "b/y", "b/z", "a/x"}, got); d != "" {
		t.Error(d)
	}
}

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func files(list map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range list {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

type noArgs struct{}

func tool(name string) sdk.Tool {
	return sdk.MustDefine(sdk.Tool{Name: name, Description: "Look."}, func(context.Context, noArgs, *sdk.Runtime) (sdk.ToolResult, error) {
		return sdk.ToolResult{}, nil
	})
}

func handler(context.Context, *sdk.Runtime) (sdk.Result, error)                       { return sdk.Result{}, nil }
func guard(context.Context, *sdk.Runtime) (sdk.GuardResult, error)                    { return sdk.GuardResult{}, nil }
func validator(map[string]any, json.RawMessage, string, sdk.Messages) []sdk.FormIssue { return nil }

// lantern declares one of everything an entry registers.
var lantern = map[string]string{
	"PLUGIN.md":             "---\ndescription: Lamps.\ncontributes: {tools: [light], forms: [oil]}\n---\n",
	"runtimes/a/RUNTIME.md": "---\nschedule: {stage: audit}\nfunction: {handler: run}\nguard: dry\n---\n",
	"runtimes/b/RUNTIME.md": "---\nschedule: {stage: audit}\nfunction: {handler: run}\n---\n",
}

func registerLantern(c *sdk.Covel) {
	c.RegisterTool(tool("light"))
	c.RegisterFormValidator("oil", validator)
	c.RegisterHandler("run", handler)
	c.RegisterGuard("dry", guard)
}

func lanternSource(register func(*sdk.Covel)) Source {
	return Bundled("lantern", sdk.Package{FS: files(lantern), Register: register})
}

func TestBuild(t *testing.T) {
	var kept *sdk.Covel
	g := Build([]Source{lanternSource(func(c *sdk.Covel) { registerLantern(c); kept = c })})
	if len(g.Errors) != 0 || len(g.Digest) != 64 {
		t.Fatalf("%v, digest %q", g.Errors, g.Digest)
	}
	kept.RegisterTool(tool("late"))
	kept.RegisterHandler("late", handler)
	p := g.Plugins["lantern"]
	if len(p.Entry.Tools) != 1 || len(p.Entry.Handlers) != 1 || len(p.Tools) != 1 || p.Tools["light"].Execute == nil {
		t.Errorf("a registration after the entry had an effect: %+v", p.Entry)
	}
	if r, owner, ok := g.Runtime("lantern/a"); !ok || owner != p || r.Guard != "dry" {
		t.Errorf("%+v %v", r, ok)
	}
	for _, id := range []string{"lantern", "lantern/none", "none/a", ""} {
		if _, _, ok := g.Runtime(id); ok {
			t.Errorf("there is a runtime %q", id)
		}
	}
}

// reference: plugins.md §6.3: "undeclared registration, unimplemented declaration, duplicate names, or a factory error".
func TestEntriesMustMatchTheirDeclarations(t *testing.T) {
	after := func(more func(*sdk.Covel)) func(*sdk.Covel) {
		return func(c *sdk.Covel) { registerLantern(c); more(c) }
	}
	const prefix = "the entry and PLUGIN.md do not match: "
	for name, c := range map[string]struct {
		register func(*sdk.Covel)
		want     string
	}{
		"nothing registered": {func(*sdk.Covel) {}, prefix + `the tool "light" is declared (contributes.tools) but not registered; the form validator "oil" is declared (contributes.forms) but not registered; the handler "run" is declared (function.handler) but not registered; the guard "dry" is declared (guard) but not registered`},
		"no entry":           {nil, prefix + `the tool "light" is declared (contributes.tools) but not registered; the form validator "oil" is declared (contributes.forms) but not registered; the handler "run" is declared (function.handler) but not registered; the guard "dry" is declared (guard) but not registered`},
		"more than declared": {after(func(c *sdk.Covel) {
			c.RegisterTool(tool("extra"))
			c.RegisterHandler("extra", handler)
			c.RegisterGuard("extra", guard)
			c.RegisterFormValidator("extra", validator)
		}), prefix + `the tool "extra" is registered but not declared (contributes.tools); the form validator "extra" is registered but not declared (contributes.forms); the handler "extra" is registered but not declared (function.handler); the guard "extra" is registered but not declared (guard)`},
		"a tool twice":       {after(func(c *sdk.Covel) { c.RegisterTool(tool("light")) }), prefix + `the tool "light" is registered twice`},
		"a framework's name": {after(func(c *sdk.Covel) { c.RegisterTool(tool("emit-event")) }), prefix + `the tool "emit-event" has the name of a framework tool; the tool "emit-event" is registered but not declared (contributes.tools)`},
		"nil functions": {func(c *sdk.Covel) {
			registerLantern(c)
			c.RegisterHandler("run", nil)
			c.RegisterGuard("dry", nil)
			c.RegisterFormValidator("oil", nil)
		}, prefix + `the form validator "oil" is nil; the handler "run" is nil; the guard "dry" is nil`},
		"a hand-made tool":    {func(c *sdk.Covel) { registerLantern(c); c.Tools[0] = sdk.Tool{Name: "light"} }, prefix + `the tool "light" has no function to execute; Tool "light": the description is missing; the model chooses tools by it.`},
		"a contradictory one": {func(c *sdk.Covel) { registerLantern(c); c.Tools[0].Annotations.ConcurrencySafe = true }, prefix + `Tool "light": concurrencySafe: true requires readOnly: true.`},
		"a broken schema": {func(c *sdk.Covel) {
			registerLantern(c)
			c.Tools[0].Parameters = json.RawMessage(`{"$ref":"file:///x"}`)
		}, prefix + `the parameters of the tool "light": file:///x: a schema must not refer to anything outside itself: put what it needs under $defs and write #/$defs/name`},
		"a panic": {after(func(*sdk.Covel) { panic("boom") }), "the entry failed: panic: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			other := Bundled("words", sdk.Package{FS: files(map[string]string{"PLUGIN.md": "---\ndescription: Words.\n---\n"})})
			g := Build([]Source{lanternSource(c.register), other})
			if len(g.Errors) != 1 || g.Errors[0].PluginID != "lantern" || g.Errors[0].Err.Error() != c.want {
				t.Errorf("got  %v\nwant lantern: %s", g.Errors, c.want)
			}
			if len(g.Plugins) != 1 || g.Plugins["words"] == nil {
				t.Errorf("the broken package harmed another: %v", g.Plugins)
			}
		})
	}
}

func TestBrokenPackagesAreTheirOwnErrors(t *testing.T) {
	words := map[string]string{"PLUGIN.md": "---\ndescription: Words.\n---\n"}
	script := map[string]string{"PLUGIN.md": "---\ndescription: Script.\n---\n", "server/index.js": "export default () => {}"}
	module := map[string]string{
		"PLUGIN.md":  "---\ndescription: Module.\nruntime: {schedule: {stage: audit}, function: {handler: run.js}}\n---\n",
		"run.js":     "",
		"unrelated~": "",
	}
	g := Build([]Source{
		{ID: "words", FS: files(words)},
		{ID: "broken", FS: files(map[string]string{"PLUGIN.md": "---\nkind: x\n---\n"})},
		{ID: "script", FS: files(script)},
		{ID: "module", FS: files(module)},
		{ID: "gone", Err: errors.New("the folder cannot be opened: permission denied")},
		{ID: "empty"},
		Bundled("words", sdk.Package{FS: files(map[string]string{"PLUGIN.md": "---\ndescription: The bundled one.\n---\n"})}),
		Bundled("gomod", sdk.Package{FS: files(module), Register: func(*sdk.Covel) {}}),
	})
	var got []string
	for _, e := range g.Errors {
		got = append(got, e.Error())
	}
	want := []string{
		"broken: PLUGIN.md:2: kind: \"x\" is not allowed here. Use one of: core, plugin\nPLUGIN.md:2: description: is required. Say in one sentence what the plugin does",
		"empty: the package has no files",
		"gomod: the entry and PLUGIN.md do not match: the runtime gomod names a module; a Go package names what its entry registers",
		"gone: the folder cannot be opened: permission denied",
		"module: " + ErrNeedsEngine.Error(),
		"script: " + ErrNeedsEngine.Error(),
		`words: another plugin has the id "words"; rename the folder`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := g.Plugins["words"]; p == nil || p.Manifest.Description["en"] != "The bundled one." || len(g.Plugins) != 1 {
		t.Errorf("a bundled id was taken: %v", g.Plugins)
	}
	var problems manifest.Problems
	if !errors.As(error(g.Errors[0]), &problems) || len(problems) != 2 || !errors.Is(error(g.Errors[4]), ErrNeedsEngine) {
		t.Error("the reason of a load error cannot be told")
	}
}

func TestProvidersOfOneContractPublishOneSchema(t *testing.T) {
	provider := func(schema string) fs.FS {
		return files(map[string]string{
			"PLUGIN.md": "---\ndescription: P.\nprovides: [lamp@1]\ncontracts: {lamp@1: {schema: s.json}}\nruntime: {schedule: {stage: audit}, io: {output: {contract: lamp@1}}}\n---\nX",
			"s.json":    schema,
		})
	}
	g := Build([]Source{{ID: "c", FS: provider(`{"type":"object","title":"灯"}`)}, {ID: "b", FS: provider(`{ "title": "灯", "type": "object" }`)}, {ID: "d", FS: provider(`{"type":"array"}`)}})
	if len(g.Plugins) != 2 || len(g.Errors) != 1 || g.Errors[0].Error() != "d: its schema of lamp@1 differs from the one of b; providers of one contract publish the same schema" {
		t.Errorf("%v %v", g.Plugins, g.Errors)
	}
}

func TestDigestNamesTheSet(t *testing.T) {
	a := Source{ID: "a", FS: files(map[string]string{"PLUGIN.md": "---\ndescription: A.\n---\n"})}
	b := Source{ID: "b", FS: files(map[string]string{"PLUGIN.md": "---\ndescription: B.\n---\n"})}
	changed := Source{ID: "b", FS: files(map[string]string{"PLUGIN.md": "---\ndescription: C.\n---\n"})}
	broken := Source{ID: "x", FS: files(nil)}
	base := Build([]Source{a, b}).Digest
	if Build([]Source{b, a}).Digest != base || Build([]Source{b, broken, a}).Digest != base {
		t.Error("the digest depends on the order of the sources, or on a package that is not there")
	}
	if Build([]Source{a}).Digest == base || Build([]Source{a, changed}).Digest == base {
		t.Error("another set has the same digest")
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.json", `{"type":"object"}`)
	write("plugins/lamp/PLUGIN.md", "---\ndescription: Lamp.\n---\n")
	write("plugins/thief/PLUGIN.md", "---\ndescription: Thief.\ncontracts: {x@1: {schema: stolen.json}}\n---\n")
	write("plugins/.hidden/PLUGIN.md", "---\ndescription: Hidden.\n---\n")
	write("plugins/notes.txt", "no package")
	write("elsewhere/linked/PLUGIN.md", "---\ndescription: Linked.\n---\n")
	for from, to := range map[string]string{"plugins/thief/stolen.json": "secret.json", "plugins/linked": "elsewhere/linked"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := Folders(filepath.Join(dir, "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	g := Build(sources)
	var ids []string
	for id := range g.Plugins {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"lamp", "linked"}, ids); diff != "" {
		t.Error(diff)
	}
	if len(g.Errors) != 1 || !strings.Contains(g.Errors[0].Error(), "stolen.json: is not a regular file; links are not followed") {
		t.Errorf("got %v", g.Errors)
	}
	if none, err := Folders(filepath.Join(dir, "none")); err != nil || none != nil {
		t.Errorf("%v %v", none, err)
	}
	if _, err := Folders(filepath.Join(dir, "secret.json")); err == nil {
		t.Error("a file has packages")
	}
	if s := Folder(filepath.Join(dir, "none")); s.Err == nil || strings.Contains(s.Err.Error(), dir) {
		t.Errorf("got %v", s.Err)
	}
}

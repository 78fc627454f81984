package bundled

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sources parses the Go files of a plugin, tests left out.
func sources(t *testing.T, id string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(id, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources of %s (%v)", id, err)
	}
	var out []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// said are the English texts a plugin shows: the keys of its Translate calls (also through a local shorthand named say), and
// the labels of its UI specs.
func said(t *testing.T, p Plugin) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range sources(t, p.ID) {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch fn := call.Fun.(type) {
			case *ast.SelectorExpr:
				if fn.Sel.Name == "Translate" && len(call.Args) == 3 {
					if s, ok := literal(call.Args[1]); ok {
						out[s] = true
					}
				}
			case *ast.Ident:
				if fn.Name == "say" && len(call.Args) == 1 {
					if s, ok := literal(call.Args[0]); ok {
						out[s] = true
					}
				}
			}
			return true
		})
	}
	specs, err := fs.Glob(p.Package.FS, "ui/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range specs {
		var spec struct {
			Label, ShortLabel, GroupLabel string
			EmptyState                    struct{ Message string }
		}
		readJSON(t, p, name, &spec)
		for _, s := range []string{spec.Label, spec.ShortLabel, spec.GroupLabel, spec.EmptyState.Message} {
			if s != "" {
				out[s] = true
			}
		}
	}
	return out
}

func readJSON(t *testing.T, p Plugin, name string, into any) {
	t.Helper()
	b, err := fs.ReadFile(p.Package.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s/%s: %v", p.ID, name, err)
	}
}

var (
	argument = regexp.MustCompile(`\{+\w+\}+`)
	han      = regexp.MustCompile(`\p{Han}`)
)

// Every text a plugin shows has a Chinese translation with the same placeholders, and no translation is left over.
func TestTextsAreTranslated(t *testing.T) {
	for _, p := range All() {
		t.Run(p.ID, func(t *testing.T) {
			b, err := fs.ReadFile(p.Package.FS, "locales/zh.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var zh struct {
				Plugin struct {
					DisplayName string `yaml:"displayName"`
					Description string
				}
				Messages map[string]string
			}
			if err := yaml.Unmarshal(b, &zh); err != nil {
				t.Fatal(err)
			}
			if !han.MatchString(zh.Plugin.DisplayName) || !han.MatchString(zh.Plugin.Description) {
				t.Errorf("name %q or description %q is not translated", zh.Plugin.DisplayName, zh.Plugin.Description)
			}
			keys := said(t, p)
			for key := range keys {
				text := zh.Messages[key]
				if !han.MatchString(text) {
					t.Errorf("%q has no translation", key)
				}
				want, got := argument.FindAllString(key, -1), argument.FindAllString(text, -1)
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(want, got) {
					t.Errorf("%q has the placeholders %q, its translation %q", key, want, got)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(zh.Messages)) {
				if !keys[key] {
					t.Errorf("the translation of %q is used nowhere", key)
				}
			}
		})
	}
}

// bodies are the prompt bodies of a plugin, English name to both texts.
func bodies(t *testing.T, p Plugin) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	names, err := fs.Glob(p.Package.FS, "runtimes/*/RUNTIME.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "PLUGIN.md") {
		en, err := fs.ReadFile(p.Package.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		zh, err := fs.ReadFile(p.Package.FS, strings.TrimSuffix(name, ".md")+".zh.md")
		if err != nil {
			t.Fatal(err)
		}
		_, body, ok := strings.Cut(strings.TrimPrefix(string(en), "---\n"), "\n---\n")
		if !ok {
			t.Fatalf("%s/%s has no front matter", p.ID, name)
		}
		out[name] = [2]string{body, string(zh)}
	}
	return out
}

var (
	// mention is a tool, a block, an argument or a value named in a prompt.
	mention  = regexp.MustCompile("`[^`\n]+`")
	variable = regexp.MustCompile(`\{\{.*?\}\}`)
)

// knownVariables are the template variables a body may use (reference: worlds-and-story.md §17.4).
var knownVariables = []string{"{{ world.name }}", "{{ world.description }}", "{{ world.lore }}", "{{ world.schema }}"}

// Both languages of a prompt speak of the same tools, blocks and inputs, and use only variables that there are: a marked
// placeholder that is none would be taken out of the prompt.
func TestPromptsSayTheSameInBothLanguages(t *testing.T) {
	for _, p := range All() {
		for name, texts := range bodies(t, p) {
			t.Run(p.ID+"/"+name, func(t *testing.T) {
				mentions := func(text string) []string {
					found := mention.FindAllString(text, -1)
					slices.Sort(found)
					return slices.Compact(found)
				}
				if en, zh := mentions(texts[0]), mentions(texts[1]); !slices.Equal(en, zh) {
					t.Errorf("English mentions\n%q\nChinese\n%q", en, zh)
				}
				vars := func(text string) []string { return variable.FindAllString(text, -1) }
				if en, zh := vars(texts[0]), vars(texts[1]); !slices.Equal(en, zh) {
					t.Errorf("English uses %q, Chinese %q", en, zh)
				}
				for _, v := range vars(texts[0]) {
					if !slices.Contains(knownVariables, v) {
						t.Errorf("%s is no template variable", v)
					}
				}
				if !han.MatchString(texts[1]) || strings.TrimSpace(texts[0]) == "" {
					t.Error("a body is empty or not translated")
				}
			})
		}
	}
}

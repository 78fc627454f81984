package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Breach is one place that breaks one rule.
type Breach struct {
	Path string
	Line int
	Rule string
	What string // what stands there
	Fix  string // what to do about it
}

// String is the line a person gets to see: place, rule, what is wrong, what to do.
func (b Breach) String() string {
	return fmt.Sprintf("%s:%d: [%s] %s; %s", b.Path, b.Line, b.Rule, b.What, b.Fix)
}

// importRule forbids files below in, but not below notIn, to import what matches deny and not except. With own, a
// package may import its own folder and below. Tests are free of it.
type importRule struct {
	name         string
	in, notIn    []string
	deny, except []string
	own          bool
	fix          string
}

// callRule forbids files below in to use names of the package pkg. Tests are free of it.
type callRule struct {
	name  string
	in    []string
	pkg   string
	names []string
	fix   string
}

// Check holds every file against every rule. The breaches come in path and line order.
func Check(h *House) []Breach {
	var out []Breach
	for _, f := range h.Files {
		out = append(out, order(f)...)
		out = append(out, length(f)...)
		if f.Test {
			continue
		}
		out = append(out, dotImports(f)...)
		for _, r := range importRules {
			out = append(out, r.check(f)...)
		}
		for _, r := range callRules {
			out = append(out, r.check(f)...)
		}
		out = append(out, goroutines(f)...)
		out = append(out, pluginNames(h, f)...)
	}
	slices.SortStableFunc(out, func(a, b Breach) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out
}

// twins are what the tests of earlier rooms may reach forward for: ports played in memory, and the limits of a model's
// silence, which every provider of the program has.
var twins = []string{"~/gateway/llm", "~/gateway/llm/scripted/...", "~/plugins/bundled/..."}

// order holds imports to the order of the rooms. It binds tests too: a rule is tested where it is made.
func order(f File) (out []Breach) {
	if f.Syntax == nil {
		return nil
	}
	own := room(f.Dir)
	if own < 0 {
		return []Breach{{f.Path, 1, "order", fmt.Sprintf("the folder %q is no room of the house", f.Dir),
			"put the code into one of " + strings.Join(rooms, ", ") + ", or give the new room its place in internal/arch/rules.go"}}
	}
	for _, i := range f.Imports {
		dir, ours := strings.CutPrefix(i.Path, "~/")
		if !ours || f.Test && matches(i.Path, twins) {
			continue
		}
		at := room(dir)
		if at >= 0 && at <= own {
			continue
		}
		what := fmt.Sprintf("%s imports %s", rooms[own], dir)
		if at < 0 {
			what += ", which is no room of the house"
		}
		out = append(out, Breach{f.Path, i.Line, "order", what,
			"imports point one way (" + strings.Join(rooms, " < ") + "): move the code to the later room, or declare an interface here and let cmd hand in the implementation"})
	}
	return out
}

// room gives the place of a folder in the order, or -1.
func room(dir string) int {
	first, _, _ := strings.Cut(dir, "/")
	return slices.Index(rooms, first)
}

func length(f File) []Breach {
	if f.Generated || f.Lines <= MaxLines {
		return nil
	}
	return []Breach{{f.Path, MaxLines, "length", fmt.Sprintf("the file has %d lines, more than %d", f.Lines, MaxLines),
		"split it by what its parts decide, and name each file after that"}}
}

// dotImports hide where a name comes from, from readers and from the rules here.
func dotImports(f File) (out []Breach) {
	for _, i := range f.Imports {
		if i.Name == "." {
			out = append(out, Breach{f.Path, i.Line, "no-dot-import", fmt.Sprintf("imports %s into its own names", i.Path), "import it by name"})
		}
	}
	return out
}

func (r importRule) check(f File) (out []Breach) {
	if !matches(f.Dir, r.in) || matches(f.Dir, r.notIn) {
		return nil
	}
	for _, i := range f.Imports {
		if !matches(i.Path, r.deny) || matches(i.Path, r.except) || r.own && matches(i.Path, []string{"~/" + f.Dir + "/..."}) {
			continue
		}
		out = append(out, Breach{f.Path, i.Line, r.name, fmt.Sprintf("%s imports %s", f.Dir, strings.TrimPrefix(i.Path, "~/")), r.fix})
	}
	return out
}

func (r callRule) check(f File) (out []Breach) {
	if !matches(f.Dir, r.in) {
		return nil
	}
	for _, i := range f.Imports {
		if i.Path != r.pkg {
			continue
		}
		uses(f, i, func(sel *ast.SelectorExpr) {
			if slices.Contains(r.names, sel.Sel.Name) {
				out = append(out, Breach{f.Path, f.line(sel.Pos()), r.name, fmt.Sprintf("%s uses %s.%s", f.Dir, i.Name, sel.Sel.Name), r.fix})
			}
		})
	}
	return out
}

// uses calls f for every name of the imported package that the file uses.
func uses(f File, i Import, found func(*ast.SelectorExpr)) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			// A name with an object is a variable or a parameter of that name, not the package.
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == i.Name && x.Obj == nil {
				found(sel)
			}
		}
		return true
	})
}

// goroutines finds go statements, and methods called Go (sync.WaitGroup, errgroup), which start goroutines as bare as
// those, in the rooms where a panic must not end the process.
func goroutines(f File) (out []Breach) {
	if f.Syntax == nil || !matches(f.Dir, supervised) && !matches(f.Dir, pure) {
		return nil
	}
	helper := ""
	for _, i := range f.Imports {
		if i.Path == "~/internal/safego" {
			helper = i.Name
		}
	}
	fix := "start it with safego.Go, which recovers and reports a panic: a panic in a bare goroutine ends every session"
	if matches(f.Dir, pure) {
		fix = "a pure room starts nothing: ask for an effect and let the actor carry it out"
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, Breach{f.Path, f.line(n.Pos()), "goroutines", "a bare go statement", fix})
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Go" {
				break
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok || helper == "" || x.Name != helper || matches(f.Dir, pure) {
				out = append(out, Breach{f.Path, f.line(n.Pos()), "goroutines", "a goroutine started by a method Go", fix})
			}
		}
		return true
	})
	return out
}

// quoted is a whole string literal of the client's languages.
var quoted = regexp.MustCompile("\"([^\"\\\\\n]*)\"|'([^'\\\\\n]*)'|`([^`\\\\\n]*)`")

// pluginNames finds ids of bundled plugins outside their own folders. plugins/bundled itself, which lists them, and tests
// may name them.
func pluginNames(h *House, f File) (out []Breach) {
	if f.Dir == "plugins/bundled" || f.Generated {
		return nil
	}
	found := func(line int, id string) {
		if slices.Contains(h.Plugins, id) && !matches(f.Dir, []string{"plugins/bundled/" + id + "/..."}) {
			out = append(out, Breach{f.Path, line, "no-plugin-names", fmt.Sprintf("names the plugin %q", id),
				"no plugin is known outside its folder: decide by what its manifest declares (kind, contributes, stage), not by its name"})
		}
	}
	if f.Syntax == nil {
		for n, line := range strings.Split(string(f.Text), "\n") {
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				found(n+1, m[1]+m[2]+m[3])
			}
		}
		return out
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return !isWordList(n, h.Plugins)
		case *ast.BasicLit:
			if s, ok := textOf(n); ok {
				found(f.line(n.Pos()), s)
			}
		}
		return true
	})
	return out
}

// wordList is how many texts make a list of words. Ids of plugins are ordinary words too ("guide"): one of them among many
// others is a word of the language.
const wordList = 8

func isWordList(list *ast.CompositeLit, plugins []string) bool {
	ids := 0
	for _, e := range list.Elts {
		s, ok := textOf(e)
		if !ok {
			return false
		}
		if slices.Contains(plugins, s) {
			ids++
		}
	}
	return ids == 1 && len(list.Elts) >= wordList
}

func textOf(n ast.Expr) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

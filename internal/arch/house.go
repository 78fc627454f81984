package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// House is a source tree, read once.
type House struct {
	Module  string   // the module's import path
	Files   []File   // in path order
	Plugins []string // ids of the bundled plugins: the folders of plugins/bundled with a PLUGIN.md
}

// File is one source file. Syntax is nil when it is not Go.
type File struct {
	Path      string // from the root, with slashes
	Dir       string // the folder it is in; "." for the root
	Test      bool   // a test, or something only tests use
	Generated bool
	Lines     int
	Imports   []Import
	Syntax    *ast.File
	Text      []byte

	fset *token.FileSet
}

// Import is one import of a Go file.
type Import struct {
	Path string // "~/kernel/turn" for a package of this module, else as written
	Name string // what the file calls it: the name given, or the last part of the path without a version; "." or "_" as written
	Line int
}

// line gives the line of a node.
func (f File) line(p token.Pos) int { return f.fset.Position(p).Line }

// sources are the endings of files that are read.
var sources = []string{".go", ".ts", ".tsx", ".mts", ".js", ".mjs", ".css"}

// Load reads the tree of the module at root. Folders that Go ignores (testdata, names beginning with a dot or an
// underscore), node_modules and dist are left out. An unreadable or unparsable file is an error that names it.
func Load(root, module string) (*House, error) {
	h := &House{Module: module}
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && leftOut(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == "PLUGIN.md" && path.Dir(path.Dir(rel)) == "plugins/bundled" {
			h.Plugins = append(h.Plugins, path.Base(path.Dir(rel)))
		}
		if !slices.Contains(sources, path.Ext(rel)) {
			return nil
		}
		f, err := read(full, rel, module)
		if err != nil {
			return err
		}
		h.Files = append(h.Files, f)
		return nil
	})
	return h, err
}

func leftOut(name string) bool {
	return name == "testdata" || name == "node_modules" || name == "dist" || name[0] == '.' || name[0] == '_'
}

func read(full, rel, module string) (File, error) {
	text, err := os.ReadFile(full)
	if err != nil {
		return File{}, err
	}
	f := File{Path: rel, Dir: path.Dir(rel), Test: isTest(rel), Text: text, Lines: bytes.Count(text, []byte{'\n'})}
	if path.Ext(rel) != ".go" {
		return f, nil
	}
	f.fset = token.NewFileSet()
	// Object resolution tells a package name from a local variable of the same name; see uses.
	f.Syntax, err = parser.ParseFile(f.fset, rel, text, parser.ParseComments)
	if err != nil {
		return File{}, fmt.Errorf("read the source: %w", err)
	}
	f.Generated = ast.IsGenerated(f.Syntax)
	for _, spec := range f.Syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, fmt.Errorf("%s:%d: import path %s: %w", rel, f.line(spec.Pos()), spec.Path.Value, err)
		}
		i := Import{Path: p, Name: defaultName(p), Line: f.line(spec.Pos())}
		if spec.Name != nil {
			i.Name = spec.Name.Name
		}
		if p == module || strings.HasPrefix(p, module+"/") {
			i.Path = "~" + strings.TrimPrefix(p, module)
		}
		f.Imports = append(f.Imports, i)
	}
	return f, nil
}

// isTest: Go tests, the conformance suites they share (a folder ending in "test"), and the client's tests.
func isTest(rel string) bool {
	return strings.HasSuffix(rel, "_test.go") ||
		strings.Contains(rel, "test/") && path.Ext(rel) == ".go" ||
		strings.Contains(rel, "/tests/") || strings.Contains(rel, ".test.")
}

// defaultName is what an import without a name is called in the file. It is a guess from the path; it is right for every
// package the rules look at.
func defaultName(p string) string {
	name := path.Base(p)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(p))
	}
	return name
}

// matches says whether a path matches one of the patterns: "a/b" is that folder alone, "a/b/..." also everything below
// it, and "*" stands for one name.
func matches(p string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		want := strings.Split(strings.TrimSuffix(pattern, "/..."), "/")
		got := strings.Split(p, "/")
		if len(got) < len(want) || len(got) > len(want) && !strings.HasSuffix(pattern, "/...") {
			return false
		}
		for i := range want {
			if want[i] != "*" && want[i] != got[i] {
				return false
			}
		}
		return true
	})
}

package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	link     = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	mention  = regexp.MustCompile("`([a-zA-Z0-9_.*<>-]+(?:/[a-zA-Z0-9_.*<>-]+)+)`")
	named    = regexp.MustCompile("^`([A-Za-z_][A-Za-z0-9_]*)`$")
	tsNames  = `(?m)\b(?:function|class|const|let|interface|type|enum)\s+%s\b`
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestDocs keeps the pages for people true: a link leads to a file that exists, a heading that exists, and, when its text
// is a name in code (`Step`), to a file that declares it. A path in code marks that begins with a room of the house exists.
func TestDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := 0
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, full)
		page := filepath.ToSlash(rel)
		if d.IsDir() && page != "." && page != "docs" && !strings.HasPrefix(page, "docs/") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(page) != ".md" {
			return nil
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		pages++
		for _, wrong := range checkPage(root, page, string(text)) {
			t.Error(wrong)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 5 {
		t.Errorf("found %d pages: these are not all", pages)
	}
}

func checkPage(root, page, text string) (wrong []string) {
	line := func(at int) int { return strings.Count(text[:at], "\n") + 1 }
	// Blocks of code keep their lines and lose their text.
	text = fence.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	say := func(at int, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s", page, line(at), fmt.Sprintf(format, args...)))
	}
	for _, m := range link.FindAllStringSubmatchIndex(text, -1) {
		label, target := text[m[2]:m[3]], text[m[4]:m[5]]
		if strings.Contains(target, "://") {
			continue
		}
		file, anchor, _ := strings.Cut(target, "#")
		there, body := page, []byte(text)
		if file != "" {
			there = path.Join(path.Dir(page), file)
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(there)))
			if err == nil && !info.IsDir() {
				body, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(there)))
			}
			if err != nil {
				say(m[0], "the link leads to %s, which is not there", there)
			}
			if err != nil || info.IsDir() {
				continue
			}
		}
		if anchor != "" && !hasHeading(string(body), anchor) {
			say(m[0], "%s has no heading %q", there, anchor)
		}
		if name := named.FindStringSubmatch(label); name != nil && !declares(there, body, name[1]) {
			say(m[0], "%s declares no %s", there, name[1])
		}
	}
	for _, m := range mention.FindAllStringSubmatchIndex(text, -1) {
		p := text[m[2]:m[3]]
		if room(p) < 0 && !strings.HasPrefix(p, "docs/") && !strings.HasPrefix(p, "scripts/") || strings.ContainsAny(p, "*<>") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); err != nil {
			say(m[0], "names %s, which is not there", p)
		}
	}
	return wrong
}

// declares says whether a source file declares a name: in Go a function, method, type, constant or variable.
func declares(file string, body []byte, name string) bool {
	if path.Ext(file) != ".go" {
		return regexp.MustCompile(fmt.Sprintf(tsNames, name)).Match(body)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, body, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == name {
						return true
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						if n.Name == name {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// hasHeading says whether a page has a heading that an anchor names, in the usual way: lower case, hyphens for spaces,
// without marks.
func hasHeading(body, anchor string) bool {
	for _, m := range headings.FindAllStringSubmatch(body, -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`.,:;'\"()?!/", r):
				return -1
			}
			return r
		}, strings.ToLower(m[1]))
		if slug == anchor {
			return true
		}
	}
	return false
}

func TestCheckPage(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := []struct{ name, text, want string }{
		{"a link that holds", "See [the rules](rules.go) and [`Load`](house.go).", ""},
		{"a file that is gone", "\nSee [x](gone.go).", "internal/arch/page.md:2: the link leads to internal/arch/gone.go, which is not there"},
		{"a name that moved", "See [`Load`](rules.go).", "internal/arch/page.md:1: internal/arch/rules.go declares no Load"},
		{"a method and a type", "[`String`](check.go), [`Breach`](check.go), [`MaxLines`](rules.go), [`rooms`](rules.go)", ""},
		{"a folder", "[testdata](testdata)", ""},
		{"a heading of its own", "# Wer ist 陆青云?\n[him](#wer-ist-陆青云)", ""},
		{"a heading that is gone", "# A\n[b](#b)", `internal/arch/page.md:2: internal/arch/page.md has no heading "b"`},
		{"a path in code marks", "`kernel/turn` and `internal/nowhere`", "internal/arch/page.md:1: names internal/nowhere, which is not there"},
		{"a path of others", "`text/event-stream`, `plugins/bundled/<id>`", ""},
		{"code is left alone", "```\n[x](gone.go) `kernel/nowhere`\n```\n", ""},
		{"addresses are left alone", "[x](https://example.org/gone.go)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(checkPage(root, "internal/arch/page.md", tt.text), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Package rulebook collects the rules of the specification that tests hold, and writes them as docs/kernel-rules.md. A test
// says which rules it holds in a comment that begins with one, above its function or beside a row of its table:
//
//	// Rule TP:145: a suspended setup runtime uses up no try. Rule TP:203: one that was rolled back does.
//
// and a turn script says it in the same words after "#". TP, TL and EP are the seeds turn-pipeline.txt, tools.txt and
// extension-points.txt by line; DEC is a section of decisions.md, DESIGN of design.md, REF of reference/, BL a fault case.
package rulebook

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is one rule and the test that holds it.
type Rule struct {
	Source string // TP | TL | EP | DEC | DESIGN | REF | BL
	Place  string // "145", "674–679", "Fault latch", "§5", "plugins.md §15", "04"
	Text   string
	File   string // with slashes, from the root of the module
	Test   string // function, variable or script
}

// Chapter is a part of the specification.
type Chapter struct{ Source, Title string }

// Chapters in the order of the book.
var Chapters = []Chapter{
	{"TP", "Turn pipeline (TP: by line)"},
	{"TL", "Tools (TL: by line)"},
	{"EP", "Extension points (EP: by line)"},
	{"DEC", "Decisions where the specification leaves a choice"},
	{"DESIGN", "Design"},
	{"REF", "Further facts of the reference"},
	{"BL", "Fault cases"},
}

const sources = `(TP|TL|EP|DEC|DESIGN|REF|BL)`

var (
	begins = regexp.MustCompile(`\bRule ` + sources + `[: -]`)
	whole  = regexp.MustCompile(`^Rule ` + sources + `(?::|-| )\s*(.+?): (.+)$`)
)

// paragraph is a comment that begins with a rule, over all its lines; it may state several rules.
type paragraph struct {
	line int // of its beginning, from 0
	text string
}

// paragraphs finds them in the lines of a comment. An empty line ends one, and so does the next line that begins with a rule.
func paragraphs(lines []string) (out []paragraph) {
	inside := false
	for n, text := range lines {
		switch text = strings.TrimSpace(text); {
		case strings.HasPrefix(text, "Rule "):
			out, inside = append(out, paragraph{n, text}), true
		case text == "":
			inside = false
		case inside:
			out[len(out)-1].text += " " + text
		}
	}
	return out
}

// parse reads the rules of a paragraph.
func parse(text string) (rules []Rule, err error) {
	at := begins.FindAllStringIndex(text, -1)
	if len(at) == 0 || at[0][0] != 0 {
		return nil, fmt.Errorf("%q: write Rule TP:145: what holds", text)
	}
	for i, begin := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		one := strings.TrimRight(text[begin[0]:end], "; ")
		m := whole.FindStringSubmatch(one)
		if m == nil {
			return nil, fmt.Errorf("%q: write Rule TP:145: what holds", one)
		}
		r := Rule{Source: m[1], Place: m[2], Text: m[3]}
		if r.byLine() && firstNumber(r.Place) == 0 {
			return nil, fmt.Errorf("%q: %s is cited by line number", one, r.Source)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func (r Rule) byLine() bool { return r.Source == "TP" || r.Source == "TL" || r.Source == "EP" }

var number = regexp.MustCompile(`\d+`)

func firstNumber(place string) int {
	n, _ := strconv.Atoi(number.FindString(place))
	return n
}

// Collect reads every test and turn script below root. An unreadable rule is an error that names its place.
func Collect(root fs.FS) ([]Rule, error) {
	var rules []Rule
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != "." && (name[0] == '.' || name == "node_modules" || name == "dist" || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		var found []Rule
		switch {
		case strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "internal/rulebook/"):
			found, err = inTest(root, file)
		case strings.HasSuffix(file, ".turn"):
			found, err = inScript(root, file)
		}
		rules = append(rules, found...)
		return err
	})
	slices.SortStableFunc(rules, compare)
	return rules, err
}

func compare(a, b Rule) int {
	at := func(r Rule) int {
		return slices.IndexFunc(Chapters, func(c Chapter) bool { return c.Source == r.Source })
	}
	if c := cmp.Compare(at(a), at(b)); c != 0 {
		return c
	}
	if a.byLine() || a.Source == "BL" {
		if c := cmp.Compare(firstNumber(a.Place), firstNumber(b.Place)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Text, b.Text), cmp.Compare(a.File, b.File), cmp.Compare(a.Test, b.Test))
}

func inTest(root fs.FS, file string) ([]Rule, error) {
	src, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(src, []byte("// Rule ")) {
		return nil, nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var rules []Rule
	for _, group := range tree.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, strings.TrimPrefix(c.Text, "//"))
		}
		for _, p := range paragraphs(lines) {
			where := fset.Position(group.List[p.line].Pos())
			found, err := parse(p.text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			test := holder(tree, group.End())
			if test == "" {
				return nil, fmt.Errorf("%s: no test follows the rule", where)
			}
			rules = append(rules, in(file, test, found)...)
		}
	}
	return rules, nil
}

// in says where rules are held.
func in(file, test string, rules []Rule) []Rule {
	for i := range rules {
		rules[i].File, rules[i].Test = file, test
	}
	return rules
}

// holder names the declaration that a comment stands in or directly before.
func holder(tree *ast.File, comment token.Pos) string {
	for _, d := range tree.Decls {
		if comment >= d.End() {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			return d.Name.Name
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && comment < v.End() {
					return v.Names[0].Name
				}
			}
		}
	}
	return ""
}

func inScript(root fs.FS, file string) ([]Rule, error) {
	src, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	for i, text := range lines {
		comment, ok := strings.CutPrefix(text, "#")
		if !ok {
			comment = ""
		}
		lines[i] = comment
	}
	var rules []Rule
	for _, p := range paragraphs(lines) {
		found, err := parse(p.text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, p.line+1, err)
		}
		rules = append(rules, in(file, path.Base(file), found)...)
	}
	return rules, nil
}

// Markdown writes the book. Links lead from docs/ to the tests.
func Markdown(rules []Rule) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The rules of the kernel, and the test that holds each\n\n"+
		"Made from the tests by `make rules`; `make lint` fails when it is not what the tests say. To add a rule, write\n"+
		"`// Rule TP:145: what holds.` above the test that would fail.\n\n%d rules in %d tests and scripts.\n", len(rules), holders(rules))
	for _, c := range Chapters {
		begun := false
		for _, r := range rules {
			if r.Source != c.Source {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "\n## %s\n\n| place | rule | held by |\n|---|---|---|\n", c.Title)
				begun = true
			}
			fmt.Fprintf(&b, "| %s | %s | [%s](../%s) |\n", r.place(), strings.ReplaceAll(r.Text, "|", `\|`), r.Test, r.File)
		}
	}
	return b.Bytes()
}

func (r Rule) place() string {
	switch {
	case r.byLine():
		return r.Source + ":" + r.Place
	case r.Source == "BL":
		return "BL-" + r.Place
	}
	return r.Place
}

func holders(rules []Rule) int {
	seen := map[[2]string]bool{}
	for _, r := range rules {
		seen[[2]string{r.File, r.Test}] = true
	}
	return len(seen)
}

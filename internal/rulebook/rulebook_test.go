package rulebook

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write docs/kernel-rules.md")

// TestBook holds docs/kernel-rules.md against the tests of the project.
func TestBook(t *testing.T) {
	root := filepath.Join("..", "..")
	rules, err := Collect(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	book := filepath.Join(root, "docs", "kernel-rules.md")
	want := Markdown(rules)
	if *update {
		if err := os.WriteFile(book, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(book)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Error("docs/kernel-rules.md is not what the tests say: run make rules")
	}
}

func TestCollect(t *testing.T) {
	house := fstest.MapFS{
		"kernel/turn_test.go": {Data: []byte(`package kernel

// TestPause holds two rules.
//
// Rule TP:170: a paused session runs nothing.
// Rule DEC Fault latch: three inputs in a row pause the plugin.
func TestPause() {
	_ = []int{
		// Rule TL:85–90: 龙胆 | pipes stay inside.
		1,
	}
}

// Rule TP:99: before all.
var table = []int{}

// Rule TP:7: a rule that
// needs two lines; Rule
// EP:8, 9: a second one. Rule REF plugins.md §3: a third.
//
// Not a part of it.
func TestMore() {}
`)},
		"actors/scripts/stop.turn":      {Data: []byte("# The player stops.\n# Rule BL-04: the player may stop a wait.\nplayer say hello\n")},
		"kernel/turn.go":                {Data: []byte("package kernel\n\n// Rule TP:1: not a test.\n")},
		"web/node_modules/x/x_test.go":  {Data: []byte("package x\n\n// Rule TP:1: somebody else's.\nfunc T() {}\n")},
		"kernel/without_rules_test.go":  {Data: []byte("package kernel\n")},
		"actors/scripts/no-rules.turn":  {Data: []byte("player say Rule of thumb\n")},
		"actors/scripts/not-a-rule.txt": {Data: []byte("# Rule TP:1: no script\n")},
	}
	rules, err := Collect(house)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, strings.Join([]string{r.place(), r.Text, r.Test, r.File}, " / "))
	}
	want := []string{
		"TP:7 / a rule that needs two lines / TestMore / kernel/turn_test.go",
		"TP:99 / before all. / table / kernel/turn_test.go",
		"TP:170 / a paused session runs nothing. / TestPause / kernel/turn_test.go",
		"TL:85–90 / 龙胆 | pipes stay inside. / TestPause / kernel/turn_test.go",
		"EP:8, 9 / a second one. / TestMore / kernel/turn_test.go",
		"Fault latch / three inputs in a row pause the plugin. / TestPause / kernel/turn_test.go",
		"plugins.md §3 / a third. / TestMore / kernel/turn_test.go",
		"BL-04 / the player may stop a wait. / stop.turn / actors/scripts/stop.turn",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	book := string(Markdown(rules))
	for _, part := range []string{"8 rules in 4 tests and scripts", "| TL:85–90 | 龙胆 \\| pipes stay inside. | [TestPause](../kernel/turn_test.go) |", "## Fault cases"} {
		if !strings.Contains(book, part) {
			t.Errorf("the book lacks %q:\n%s", part, book)
		}
	}
}

func TestCollectRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no place":       "package p\n\n// Rule of thumb\nfunc T() {}\n",
		"no line number": "package p\n\n// Rule TP:pause: what\nfunc T() {}\n",
		"no test":        "package p\n\n// Rule TP:1: alone\n",
	} {
		if _, err := Collect(fstest.MapFS{"p_test.go": {Data: []byte(text)}}); err == nil || !strings.Contains(err.Error(), "p_test.go:3") {
			t.Errorf("%s: got %v, want an error that names p_test.go:3", name, err)
		}
	}
}

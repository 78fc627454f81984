// Package turnscript plays turn scripts: small stories of what players, models, plugins, the disk and the clock do to a
// session, through the real actors, on the memory store and on SQLite. Each script has a golden transcript beside it.
package turnscript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/sqlite"
)

var update = flag.Bool("update", false, "write the golden transcripts")

// line is one command with the indented lines below it.
type line struct {
	number int
	verb   string
	rest   string
	block  []string
}

// script is one .turn file: commands, then the files of the plugins that play in it (txtar: -- plugins/<id>/PLUGIN.md --).
type script struct {
	lines []line
	files []txtar.File
}

func parse(text []byte) script {
	a := txtar.Parse(text)
	s := script{files: a.Files}
	for n, raw := range strings.Split(string(a.Comment), "\n") {
		trimmed := strings.TrimSpace(raw)
		switch {
		case trimmed == "" || strings.HasPrefix(raw, "#"):
		case (raw[0] == ' ' || raw[0] == '\t') && len(s.lines) > 0:
			last := &s.lines[len(s.lines)-1]
			last.block = append(last.block, trimmed)
		default:
			verb, rest, _ := strings.Cut(trimmed, " ")
			s.lines = append(s.lines, line{number: n + 1, verb: verb, rest: strings.TrimSpace(rest)})
		}
	}
	return s
}

// stores on which every script must read the same.
var stores = []struct {
	name string
	open func(*testing.T) events.Store
}{
	{"memory", func(*testing.T) events.Store { return memory.New(memory.Options{}) }},
	{"sqlite", func(t *testing.T) events.Store {
		s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}},
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.turn")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".turn")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".turn") + ".golden"
			for _, store := range stores {
				var got string
				t.Run(store.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { got = play(t, file, parse(text), store.open(t)) })
				})
				if *update && store.name == "memory" {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s: the transcript differs from %s:\n%s", store.name, golden, difference(string(want), got))
				}
			}
		})
	}
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		at := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "(end)"
		}
		if at(w) != at(g) {
			return "want " + at(w) + "\ngot  " + at(g)
		}
	}
	return "nothing"
}

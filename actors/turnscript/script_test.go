// Package turnscript plays turn scripts: small stories of what players, models, plugins, the disk and the clock do to a
// session, through the real actors, on the memory store and on SQLite. Each script has a golden transcript beside it.
package turnscript

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	block  []step
}

// step is one indented line.
type step struct {
	number int
	text   string
}

// script is one .turn file: commands, then the files of the plugins that play in it (txtar: -- plugins/<id>/PLUGIN.md --; a
// name before plugins/ makes it another version, which "install NAME" puts in its place).
type script struct {
	file  string
	lines []line
	files []txtar.File
}

func parse(file string, text []byte) (script, error) {
	a := txtar.Parse(text)
	s := script{file: file, files: a.Files}
	for n, raw := range strings.Split(string(a.Comment), "\n") {
		trimmed := strings.TrimSpace(raw)
		switch {
		case trimmed == "" || strings.HasPrefix(raw, "#"):
		case raw[0] == ' ' || raw[0] == '\t':
			if len(s.lines) == 0 {
				return s, &failure{file: file, number: n + 1, message: "an indented line belongs to a command, and there is none above it"}
			}
			last := &s.lines[len(s.lines)-1]
			last.block = append(last.block, step{n + 1, trimmed})
		default:
			verb, rest, _ := strings.Cut(trimmed, " ")
			if _, known := verbs[verb]; !known {
				return s, &failure{file: file, number: n + 1, message: fmt.Sprintf("there is no command %q; the commands are %s", verb, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))}
			}
			s.lines = append(s.lines, line{number: n + 1, verb: verb, rest: strings.TrimSpace(rest)})
		}
	}
	return s, nil
}

// failure is why a script does not hold. Its text begins with where.
type failure struct {
	file    string
	number  int
	message string
	story   string // what had happened until then
}

// Error implements error.
func (f *failure) Error() string {
	text := fmt.Sprintf("%s:%d: %s", f.file, f.number, f.message)
	if f.story != "" {
		text += "\n\n" + f.story
	}
	return text
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

// read is a script that can be played.
func read(t *testing.T, file string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.turn")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".turn")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := read(t, file)
			golden := strings.TrimSuffix(file, ".turn") + ".golden"
			for _, store := range stores {
				var got string
				played := t.Run(store.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var err error
						if got, err = newStage(t, s, store.open(t)).play(); err != nil {
							t.Fatal(err)
						}
					})
				})
				if !played {
					return
				}
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

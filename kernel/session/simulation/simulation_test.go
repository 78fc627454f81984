package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/session/reference"
)

// played says what a script comes to: the first thing that does not hold, "" when all does.
func played(steps []step, sab sabotage, flip reference.Rule) (what string, remarks []string) {
	w := newWorld(sab, flip)
	defer func() {
		if p := recover(); p != nil {
			what = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	remarks = w.play(steps)
	if b := w.book.Breaches(); len(b) > 0 {
		return b[0], remarks
	}
	return "", remarks
}

// smallest shrinks a script that fails, to one that fails in the same way.
func smallest(steps []step, what string, sab sabotage, flip reference.Rule) []step {
	return shrink(steps, func(s []step) bool {
		now, _ := played(s, sab, flip)
		return now != "" && kindOf(now) == kindOf(what)
	})
}

var particulars = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]+|[a-z]*-?[0-9]+|"[^"]*"`)

// kindOf leaves out of a breach what differs from life to life.
func kindOf(what string) string {
	first, _, _ := strings.Cut(what, "\n")
	first = particulars.ReplaceAllString(first, "…")
	return strings.ToValidUTF8(first[:min(len(first), 60)], "")
}

// told is what a failing script is printed as.
func told(steps []step, sab sabotage, flip reference.Rule) string {
	what, remarks := played(steps, sab, flip)
	return fmt.Sprintf("%.3000s\n\n%s\nTo play it again, put the script into a file: SCRIPT=file go test ./kernel/session/simulation -run TestScripts", what, printed(steps, remarks))
}

// The scripts of lives in which something did not hold once. Each says what.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	if one := os.Getenv("SCRIPT"); one != "" {
		files = []string{one}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps := parse(t, string(text))
			if what, remarks := played(steps, sound, ""); what != "" {
				t.Errorf("%.3000s\n\n%s", what, printed(steps, remarks))
			}
		})
	}
}

// A script that is printed and read again is the same script, remarks left aside.
func TestScriptsAreReadAsTheyAreWritten(t *testing.T) {
	for seed := range uint64(20) {
		steps := draw(seed)
		_, remarks := played(steps, sound, "")
		again := parse(t, printed(steps, remarks))
		if fmt.Sprint(again) != fmt.Sprint(steps) {
			t.Fatalf("seed %d: %v is read as %v", seed, steps, again)
		}
	}
}

// The same script comes to the same end, to the last remark: nothing in it is left to chance.
func TestALifeFollowsFromItsSeed(t *testing.T) {
	for seed := range uint64(20) {
		_, first := played(draw(seed), sound, "")
		_, second := played(draw(seed), sound, "")
		if strings.Join(first, "\n") != strings.Join(second, "\n") {
			t.Fatalf("seed %d goes two ways", seed)
		}
	}
}

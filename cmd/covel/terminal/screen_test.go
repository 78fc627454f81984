package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// window is a terminal as far as Screen uses one: text wraps, \r and \n move, ESC[nA goes up, ESC[J clears downwards, colours
// are ignored. Nothing scrolls out: it has as many rows as are needed, of which the last `rows` are on the screen.
type window struct {
	columns  int
	cells    [][]string
	row, col int
	rest     string
}

func (w *window) Write(b []byte) (int, error) {
	text := w.rest + string(b)
	w.rest = ""
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "ABCDHJKm")
			if end < 0 {
				w.rest = text
				return len(b), nil
			}
			w.control(text[2:end], text[end])
			text = text[end+1:]
		case text[0] == '\r':
			w.col = 0
			text = text[1:]
		case text[0] == '\n':
			w.row, w.col = w.row+1, 0
			text = text[1:]
		default:
			cluster, rest, width, _ := uniseg.FirstGraphemeClusterInString(text, -1)
			if w.col+width > w.columns {
				w.row, w.col = w.row+1, 0
			}
			w.put(cluster, width)
			text = rest
		}
	}
	return len(b), nil
}

func (w *window) control(args string, verb byte) {
	n := 1
	_, _ = fmt.Sscan(args, &n)
	switch verb {
	case 'A':
		w.row = max(0, w.row-n)
	case 'J':
		if w.row < len(w.cells) {
			w.cells = w.cells[:w.row+1]
			w.cells[w.row] = w.cells[w.row][:min(w.col, len(w.cells[w.row]))]
		}
	}
}

func (w *window) put(cluster string, width int) {
	for len(w.cells) <= w.row {
		w.cells = append(w.cells, nil)
	}
	line := w.cells[w.row]
	for len(line) < w.col+width {
		line = append(line, "")
	}
	line[w.col] = cluster
	w.cells[w.row] = line
	w.col += width
}

func (w *window) String() string {
	lines := make([]string, len(w.cells))
	for i, l := range w.cells {
		lines[i] = strings.TrimRight(strings.Join(l, ""), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func live(columns, rows int) (*Screen, *window) {
	w := &window{columns: columns}
	return &Screen{out: w, size: func() (int, int) { return columns, rows }}, w
}

func TestWhatIsProvisionalIsTakenBack(t *testing.T) {
	s, w := live(20, 24)
	s.Print("A first page.")
	s.Status("Telling the story · 讲述者 · a label that is longer than the window is wide")
	s.Draft("The rain has stopped. 雨停了，石板路上映着灯光，")
	s.Draft("巷口有人。\n\nÉlodie 👩‍👩‍👧 waits.")
	s.Status("After the page")
	s.Status("committing …")
	s.Print("The rain has stopped.")
	s.Prompt("> ")
	s.Line("A line from another tab.")
	if got, want := w.String(), "A first page.\n\nThe rain has\nstopped.\n\nA line from another\ntab."; got != want {
		t.Errorf("the window shows\n%s\nwant\n%s", got, want)
	}
}

func TestWhatWasTypedStays(t *testing.T) {
	s, w := live(30, 24)
	s.Prompt("> ")
	fmt.Fprint(w, "I look.\n") // the terminal's own echo
	s.Typed("I look.", true)
	s.Status("Telling the story")
	s.Draft("The rain")
	fmt.Fprint(w, "/stop\n") // in the middle of the draft: it goes with it
	s.Typed("/stop", false)
	s.Draft(" has stopped.")
	s.Line("Stopped.")
	if got, want := w.String(), "> I look.\nStopped."; got != want {
		t.Errorf("the window shows\n%s\nwant\n%s", got, want)
	}
}

// A draft that is taller than the window cannot be taken back; it is told, and what follows stands below it.
func TestADraftTallerThanTheWindow(t *testing.T) {
	s, w := live(10, 4)
	s.Draft(strings.Repeat("one line\n", 6) + "the end")
	if s.Erase() {
		t.Error("it says that all was taken back")
	}
	s.Line("below")
	if got := w.String(); !strings.HasSuffix(got, "the end\nbelow") {
		t.Errorf("the window shows\n%s", got)
	}
	none := &Screen{out: w, size: func() (int, int) { return 0, 0 }}
	none.Draft("x")
	if none.Erase() {
		t.Error("a window of unknown size was erased")
	}
}

func TestWithoutATerminalOnlyFinalLinesArePrinted(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out)
	s.Status("status")
	s.Draft("draft")
	s.Prompt("> ")
	s.Typed("typed", true)
	if !s.Erase() {
		t.Error("nothing to erase is all erased")
	}
	s.Line(s.Strong("final"))
	s.Faint("note")
	if s.Live() || out.String() != "final\nnote\n" {
		t.Errorf("%q", out.String())
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text, want string
		columns    int
	}{
		{"The rain has stopped.", "The rain\nhas\nstopped.", 8},
		{"The rain\n\nhas stopped.", "The rain\n\nhas\nstopped.", 8},
		{"雨停了，石板路上映着灯光。", "雨停了，\n石板路上\n映着灯\n光。", 8}, // no line begins with a closing mark
		{"\x1b[1mOld Tull\x1b[0m: “Hm.”", "\x1b[1mOld Tull\x1b[0m:\n“Hm.”", 9},
		{"incomprehensible", "incomprehensible", 5}, {"short", "short", 0}, {"", "", 5}, {"fits\n", "fits\n", 4},
	} {
		if got := wrap(c.text, c.columns); strings.ReplaceAll(got, " \n", "\n") != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestRowsOf(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		rows    int
	}{
		{"", 10, 1}, {"1234567890", 10, 1}, {"12345678901", 10, 2}, {"a\nb\n", 10, 3}, {"水水水水水", 10, 1}, {"水水水水水水", 10, 2},
		{"123456789水", 10, 2}, // a wide character does not fit into the last column
		{"e\u0301e\u0301e\u0301", 3, 1}, {"👩‍👩‍👧👩‍👩‍👧", 4, 1}, {"abc", 0, 1},
	} {
		if got := rowsOf(c.text, c.columns); got != c.rows {
			t.Errorf("%q in %d columns: %d rows, want %d", c.text, c.columns, got, c.rows)
		}
	}
}

// Text of a model or a player cannot steer the terminal.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\nlines": "plain\nlines", "\x1b[2J\x1b]0;title\a": "[2J]0;title", "tab\there": "tab here", "a\u202eb\u2066": "ab",
		"\u009b31m\r\x00\x7f": "31m", "陆青云 e\u0301 👩‍👧": "陆青云 e\u0301 👩‍👧",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

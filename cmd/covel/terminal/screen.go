// Package terminal plays a session in a terminal: it shows the story as it streams, asks forms field by field, and plays
// files of inputs.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
	"github.com/rivo/uniseg"
)

// Screen is where everything is printed. Lines that are final stay; below them may stand something provisional, a draft
// that streams and a status line, which the next final line takes back. Without a terminal only final lines are printed.
type Screen struct {
	out    io.Writer
	size   func() (columns, rows int) // of the window; nil when the output is no terminal
	draft  string                     // provisional, as it stands on the screen
	status string                     // below it
	prints int                        // final lines so far
}

// NewScreen prints to out; it may be a terminal.
func NewScreen(out io.Writer) *Screen {
	f, ok := out.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) || os.Getenv("TERM") == "dumb" {
		return &Screen{out: out}
	}
	return &Screen{out: out, size: func() (int, int) { return windowSize(f) }}
}

// Live says whether provisional text can be shown and taken back.
func (s *Screen) Live() bool { return s.size != nil }

// Print prints a paragraph for good, with an empty line after it.
func (s *Screen) Print(text string) { s.Line(text + "\n") }

// Line prints a line for good. On a terminal it is broken between words.
func (s *Screen) Line(text string) {
	s.Erase()
	s.prints++
	fmt.Fprintln(s.out, s.wrapped(text))
}

// Faint is Line for what is no part of the story.
func (s *Screen) Faint(text string) {
	s.Erase()
	s.prints++
	fmt.Fprintln(s.out, s.styled("2", s.wrapped(text)))
}

// Strong gives text that stands out on a terminal.
func (s *Screen) Strong(text string) string { return s.styled("1", text) }

// widest is the longest line, in columns, that reads well.
const widest = 88

func (s *Screen) wrapped(text string) string {
	if !s.Live() {
		return text
	}
	columns, _ := s.size()
	return wrap(text, min(columns, widest))
}

// wrap breaks lines where their language allows it. What fits nowhere is left to the terminal. Styles have no width.
func wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var out strings.Builder
	at, state := 0, -1
	for rest := text; rest != ""; {
		var piece string
		piece, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		if at > 0 && at+width(strings.TrimRight(piece, " \n")) > columns {
			out.WriteByte('\n')
			at = 0
		}
		out.WriteString(piece)
		at += width(piece)
		if strings.HasSuffix(piece, "\n") {
			at = 0
		}
	}
	return out.String()
}

// width counts the columns of a text, without its styles.
func width(text string) int {
	n := 0
	for {
		before, after, styled := strings.Cut(text, "\x1b[")
		n += uniseg.StringWidth(before)
		if !styled {
			return n
		}
		_, text, _ = strings.Cut(after, "m")
	}
}

func (s *Screen) styled(style, text string) string {
	if !s.Live() || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Draft adds to the text that streams.
func (s *Screen) Draft(more string) {
	if !s.Live() || more == "" {
		return
	}
	s.eraseStatus()
	s.draft += more
	fmt.Fprint(s.out, more)
}

// Status shows a line below the draft, in the place of the one before.
func (s *Screen) Status(text string) {
	s.put(s.styled, text)
}

// Prompt shows where the player types.
func (s *Screen) Prompt(text string) {
	s.put(func(_, text string) string { return text }, text)
}

func (s *Screen) put(styled func(style, text string) string, text string) {
	if !s.Live() {
		return
	}
	s.eraseStatus()
	if s.draft != "" && !strings.HasSuffix(s.draft, "\n\n") {
		s.Draft("\n\n")
	}
	s.status = text
	fmt.Fprint(s.out, styled("2", text))
}

// Typed notes a line that the player ended with Enter. At a prompt it stays with its prompt; in the middle of something
// provisional it goes with it.
func (s *Screen) Typed(line string, prompted bool) {
	switch {
	case !s.Live():
	case prompted:
		s.draft, s.status = "", ""
	default:
		s.draft, s.status = s.draft+s.status+line+"\n", ""
	}
}

func (s *Screen) eraseStatus() {
	if s.status != "" {
		s.takeBack(s.status)
		s.status = ""
	}
}

// Erase takes back everything provisional; false when it is taller than the window, so that some of it stays.
func (s *Screen) Erase() bool {
	text := s.draft + s.status
	s.draft, s.status = "", ""
	return text == "" || s.takeBack(text)
}

// takeBack removes text that ends where the cursor is and began at the left edge.
func (s *Screen) takeBack(text string) bool {
	columns, rows := s.size()
	up := rowsOf(text, columns) - 1
	switch {
	case columns <= 0 || up >= rows:
		fmt.Fprintln(s.out)
		return false
	case up > 0:
		fmt.Fprintf(s.out, "\r\x1b[%dA\x1b[J", up)
	default:
		fmt.Fprint(s.out, "\r\x1b[J")
	}
	return true
}

// rowsOf counts the rows that a text takes in a window of so many columns.
func rowsOf(text string, columns int) int {
	if columns <= 0 {
		return 1
	}
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		rows++
		at := 0
		for g := uniseg.NewGraphemes(line); g.Next(); {
			if at+g.Width() > columns { // a wide character does not fit into the last column
				rows++
				at = 0
			}
			at += g.Width()
		}
	}
	return rows
}

// Printable keeps text of others from steering the terminal: line breaks stay, other control characters go.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

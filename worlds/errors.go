package worlds

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a world package: where it stands, what is wrong, and what to do about it.
type Error struct {
	File    string // path inside the root, such as "low-water/world.yaml"
	Line    int    // 1-based; 0 when the place has no line (a missing file)
	Field   string // such as "characterSchema.attributes[2].type"; "" when it is about the whole file
	Message string
	Fix     string
}

// Error reads "file:line: field: message Fix: …".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	if e.Fix != "" {
		b.WriteString(" Fix: " + e.Fix)
	}
	return b.String()
}

// Errors is everything wrong with one package, by file and line. errors.As finds the single *Error values.
type Errors []*Error

// Error has one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single problems to errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

// maxProblems keeps a hostile package from making a report larger than itself.
const maxProblems = 100

// problems collects errors and warnings while a package is read. The same problem, met again in another language of
// the same file, counts once.
type problems struct {
	errors, warnings Errors
	seen             map[Error]bool
	dropped          int
}

func (p *problems) add(to *Errors, e Error) {
	if p.seen[e] {
		return
	}
	if len(*to) >= maxProblems {
		p.dropped++
		return
	}
	if p.seen == nil {
		p.seen = map[Error]bool{}
	}
	p.seen[e] = true
	*to = append(*to, &e)
}

func (p *problems) fail(e Error) { p.add(&p.errors, e) }
func (p *problems) warn(e Error) { p.add(&p.warnings, e) }

func sortProblems(list Errors) Errors {
	slices.SortStableFunc(list, func(a, b *Error) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return list
}

// err is the sorted report, nil when nothing is wrong.
func (p *problems) err(dir string) error {
	if len(p.errors) == 0 {
		return nil
	}
	list := sortProblems(p.errors)
	if p.dropped > 0 {
		list = append(list, &Error{File: dir, Message: fmt.Sprintf("%d more problems are not shown.", p.dropped), Fix: "mend these first and load again."})
	}
	return list
}

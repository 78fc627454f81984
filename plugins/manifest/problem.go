package manifest

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a package: where, what, and what to do about it.
type Problem struct {
	File    string // path in the package
	Line    int    // 1-based; 0 for the file as a whole
	Field   string // path of the field, for example schedule.trigger; "" for none
	Message string
	Fix     string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString(". " + p.Fix)
	}
	return b.String()
}

// Problems is the error of a package that cannot be loaded: all its problems at once, by file and line.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

package manifest

import "strings"

const fence = "---"

// frontMatter splits a Markdown file into its YAML and its body. The YAML begins at line 2; bodyless files are fine. A file
// without front matter has yaml "" and found false. An opening fence with anything behind the dashes is refused before
// anything is parsed (reference: plugins.md §1, "Frontmatter").
func (f *folder) frontMatter(name, text string) (yaml, body string, found, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	switch {
	case !strings.HasPrefix(first, fence):
		return "", trimBody(text), false, true
	case strings.TrimRight(first, " \t") != fence:
		*f.problems = append(*f.problems, Problem{File: name, Line: 1,
			Message: "the front matter must be plain YAML, but its first line is " + shorten(first), Fix: "Begin the file with a line of three dashes and nothing else"})
		return "", "", true, false
	}
	lines := strings.SplitAfter(rest, "\n")
	at := 0
	for _, line := range lines {
		if strings.TrimRight(line, " \t\n") == fence {
			return rest[:at], trimBody(rest[at+len(line):]), true, true
		}
		at += len(line)
	}
	*f.problems = append(*f.problems, Problem{File: name, Line: 1,
		Message: "the front matter does not end", Fix: "Close it with a line of three dashes"})
	return "", "", true, false
}

func trimBody(text string) string { return strings.TrimSpace(text) }

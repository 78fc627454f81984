package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/covel/covel/internal/plainjson"
)

// Issue is one thing that does not fit. Path is the place in the value (fields[0].label, "" for the whole); Message says in
// English what is expected there.
type Issue struct {
	Path    string
	Message string
}

// Failure is everything that does not fit, in the order of the value's paths.
type Failure struct {
	Issues []Issue
	// Texts are the places where a string stands and an array or an object would fit.
	Texts [][]string
}

// maxIssues is how many issues an error text names.
const maxIssues = 10

// Error names at most ten issues, one after the other.
func (f *Failure) Error() string {
	parts := make([]string, 0, len(f.Issues))
	for i, issue := range f.Issues {
		if i == maxIssues {
			parts = append(parts, fmt.Sprintf("and %d more", len(f.Issues)-i))
			break
		}
		parts = append(parts, issue.String())
	}
	return strings.Join(parts, "; ")
}

func (i Issue) String() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

func failure(err *jsonschema.ValidationError) *Failure {
	f := &Failure{Issues: issues(err)}
	texts(err, f)
	slices.SortStableFunc(f.Issues, func(a, b Issue) int { return strings.Compare(a.Path, b.Path) })
	f.Issues = slices.Compact(f.Issues)
	return f
}

// texts collects the places of strings that could be an array or an object, inside alternatives too.
func texts(err *jsonschema.ValidationError, f *Failure) {
	if t, ok := err.ErrorKind.(*kind.Type); ok && t.Got == "string" && (slices.Contains(t.Want, "array") || slices.Contains(t.Want, "object")) {
		if !slices.ContainsFunc(f.Texts, func(at []string) bool { return slices.Equal(at, err.InstanceLocation) }) {
			f.Texts = append(f.Texts, err.InstanceLocation)
		}
	}
	for _, c := range err.Causes {
		texts(c, f)
	}
}

// issues walks down to what really is wrong.
func issues(err *jsonschema.ValidationError) []Issue {
	path := Path(err.InstanceLocation)
	at := func(name string) string {
		return Path(append(slices.Clone(err.InstanceLocation), name))
	}
	one := func(format string, args ...any) []Issue {
		return []Issue{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		return one("expected %s, got %s", wanted(k.Want), article(k.Got))
	case *kind.Required:
		var out []Issue
		for _, name := range k.Missing {
			out = append(out, Issue{Path: at(name), Message: "is required"})
		}
		return out
	case *kind.AdditionalProperties:
		var out []Issue
		for _, name := range k.Properties {
			out = append(out, Issue{Path: at(name), Message: "is not a known key; remove it"})
		}
		return out
	case *kind.FalseSchema:
		return one("nothing is allowed here; remove it")
	case *kind.Enum:
		return one("expected one of %s, got %s", valueList(k.Want), value(k.Got))
	case *kind.Const:
		return one("expected %s, got %s", value(k.Want), value(k.Got))
	case *kind.Minimum:
		return one("must be at least %s, got %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return one("must be at most %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return one("must be more than %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return one("must be less than %s, got %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return one("must be a multiple of %s, got %s", number(k.Want), number(k.Got))
	case *kind.MinLength:
		return one("must have at least %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return one("must have at most %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return one("must have at least %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return one("must have at most %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return one("must have at least %s, got %d", count(k.Want, "key"), k.Got)
	case *kind.MaxProperties:
		return one("must have at most %s, got %d", count(k.Want, "key"), k.Got)
	case *kind.UniqueItems:
		return one("items %d and %d are the same; each may occur once", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return one("%s does not match the pattern %s", value(k.Got), k.Want)
	case *kind.AnyOf, *kind.OneOf:
		if branch := intended(err.Causes, err.InstanceLocation); branch != nil {
			return issues(branch)
		}
		return one("fits none of the allowed forms (%s)", forms(err.Causes))
	}
	if len(err.Causes) == 0 {
		return one("%s", err.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
	var out []Issue
	for _, c := range err.Causes {
		out = append(out, issues(c)...)
	}
	return out
}

// intended finds the one alternative whose kind of value was given: its own issues tell more than "fits none".
func intended(branches []*jsonschema.ValidationError, here []string) *jsonschema.ValidationError {
	var fits []*jsonschema.ValidationError
	for _, b := range branches {
		if !wrongKindAt(b, here) {
			fits = append(fits, b)
		}
	}
	if len(fits) != 1 {
		return nil
	}
	return fits[0]
}

// wrongKindAt says whether an alternative fails because of the value's type at the place itself.
func wrongKindAt(err *jsonschema.ValidationError, here []string) bool {
	if _, ok := err.ErrorKind.(*kind.Type); ok {
		return len(err.InstanceLocation) == len(here)
	}
	return slices.ContainsFunc(err.Causes, func(c *jsonschema.ValidationError) bool { return wrongKindAt(c, here) })
}

func forms(branches []*jsonschema.ValidationError) string {
	var texts []string
	for _, b := range branches {
		if found := issues(b); len(found) > 0 {
			texts = append(texts, found[0].Message)
		}
	}
	return strings.Join(slices.Compact(texts), "; or ")
}

// Path writes a place in a value: fields[0].label. Keys that are not plain words are quoted.
func Path(tokens []string) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case isIndex(t):
			b.WriteString("[" + t + "]")
		case strings.ContainsAny(t, ". []\"") || t == "":
			b.WriteString("[" + strconv.Quote(t) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(t)
		}
	}
	return b.String()
}

func isIndex(t string) bool {
	if t == "" || len(t) > 9 {
		return false
	}
	for i := range len(t) {
		if t[i] < '0' || t[i] > '9' {
			return false
		}
	}
	return true
}

func wanted(types []string) string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = article(t)
	}
	return strings.Join(out, " or ")
}

func article(kind string) string {
	switch kind {
	case "null":
		return "null"
	case "boolean":
		return "true or false"
	case "object", "array", "integer":
		return "an " + kind
	}
	return "a " + kind
}

func valueList(values []any) string {
	const most = 20
	out := make([]string, 0, len(values))
	for i, v := range values {
		if i == most {
			out = append(out, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		out = append(out, value(v))
	}
	return strings.Join(out, ", ")
}

// value writes a value as short JSON.
func value(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 120
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}

func number(r *big.Rat) string {
	if r.IsInt() && r.Num().BitLen() < 200 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

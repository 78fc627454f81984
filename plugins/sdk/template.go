package sdk

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var placeholder = regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`)

// FillNarrativeTemplate replaces {{name}} by the value of that name: the sentence an answer becomes in the story. A missing
// value is an empty string. When a full stop (. or 。) follows a placeholder directly and the value already ends with the
// same one, it is not repeated. The text of values is kept as it is, template marks in it included (seed: tools.txt, "No
// doubled full stop").
func FillNarrativeTemplate(template string, values map[string]any) string {
	var out strings.Builder
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		out.WriteString(template[at:m[0]])
		value := TemplateText(values[template[m[2]:m[3]]])
		out.WriteString(value)
		at = m[1]
		next, size := utf8.DecodeRuneInString(template[at:])
		if (next == '.' || next == '。') && strings.HasSuffix(value, string(next)) {
			at += size
		}
	}
	out.WriteString(template[at:])
	return out.String()
}

// TemplateText writes a JSON value the way a sentence shows it: strings as they are, whole numbers without a fraction,
// nothing for nil, and JSON for lists and objects.
func TemplateText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case json.Number:
		return x.String()
	}
	b, err := plainJSON(v)
	if err != nil {
		return ""
	}
	return string(b)
}

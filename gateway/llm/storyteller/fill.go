package storyteller

import (
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

var errNotLocal = errors.New("only local schema references are read")

// filler makes values that fit a schema out of what the story says.
type filler struct {
	b       *brief
	w       *world
	m       *memory
	t       *teller
	scene   *scene
	drop    map[string]bool // properties that were refused
	refused map[string]bool // form fields that were refused
	brief   bool            // shorter texts: an earlier call was too long
	spare   bool            // leave out everything that is not required
	pick    *dice
}

func newFiller(b *brief, seed uint64) *filler {
	told := *b // this turn's passage has happened, for whoever works after it
	if b.passage != "" {
		told.turns = append(slices.Clone(b.turns), turn{b.line, b.passage})
	}
	w := buildWorld(&told, false)
	m := remember(w, &told)
	f := &filler{b: b, w: w, m: m, t: newTeller(w, m, seed), drop: map[string]bool{}, refused: map[string]bool{}, pick: &dice{seed ^ 0x5eed}}
	f.scene = readScene(f)
	return f
}

// fill gives a JSON value for a schema. Where the first try does not fit, required properties alone are tried.
func (f *filler) fill(s *schema) []byte {
	var first []byte
	for _, spare := range []bool{f.spare, true} {
		f.spare = spare
		out, err := json.Marshal(f.value(s, "", 0))
		if err != nil {
			continue
		}
		out = unescapeHTML(out)
		if s.valid(out) {
			return out
		}
		if first == nil {
			first = out
		}
	}
	if first == nil {
		first = []byte("{}")
	}
	return first
}

// unescapeHTML undoes the escapes that json.Marshal adds for HTML, which nobody needs here.
func unescapeHTML(b []byte) []byte {
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b)))
}

const deepest = 8

func (f *filler) value(s *schema, name string, depth int) any {
	if s == nil {
		return ""
	}
	if list := s.enum(); len(list) > 0 {
		return list[0]
	}
	switch s.kind() {
	case "object":
		if v, ok := f.known(s); ok {
			return v
		}
		return f.object(s, depth)
	case "array":
		return f.array(s, name, depth)
	case "integer", "number":
		return f.numeric(s)
	case "boolean":
		v, _ := s.node["default"].(bool)
		return v
	case "null":
		return nil
	}
	return f.string(s, name)
}

// known fills the two shapes the storyteller understands as a whole.
func (f *filler) known(s *schema) (any, bool) {
	switch {
	case isForm(s):
		return f.form(s), true
	case isGuide(s):
		return f.guide(s), true
	}
	return nil, false
}

func (f *filler) object(s *schema, depth int) any {
	out := map[string]any{}
	for _, name := range s.properties() {
		if f.drop[name] || !s.requires(name) && (f.spare || depth >= deepest || roleOf(name) == roleNone) {
			continue
		}
		p := s.property(name)
		if !s.requires(name) && (p.kind() == "array" || p.kind() == "object") {
			continue
		}
		out[name] = f.value(p, name, depth+1)
	}
	for _, r := range asStrings(s.node["required"]) {
		if _, ok := out[r]; !ok && !f.drop[r] {
			out[r] = f.value(s.child(s.node["additionalProperties"]), r, depth+1)
		}
	}
	return out
}

func asStrings(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (f *filler) array(s *schema, name string, depth int) any {
	least := int(s.number("minItems", 0))
	out := []any{}
	if isSuggestionList(s, name) {
		return f.suggestionList(s)
	}
	if roleOf(name) == roleDecision && s.item().kind() == "string" {
		return []any{f.string(s.item(), name)}
	}
	if depth >= deepest {
		return out
	}
	unique, _ := s.node["uniqueItems"].(bool)
	for range min(least, 32) {
		v := f.value(s.item(), name, depth+1)
		if text, ok := v.(string); unique && ok {
			for n := 2; slices.Contains(out, any(v)); n++ {
				v = text + strings.Repeat("·", n-1)
			}
		}
		if list := s.item().enum(); unique && len(list) > len(out) {
			v = list[len(out)]
		}
		out = append(out, v)
	}
	return out
}

func (f *filler) numeric(s *schema) any {
	low, high := s.number("minimum", math.Inf(-1)), s.number("maximum", math.Inf(1))
	if x := s.number("exclusiveMinimum", math.Inf(-1)); x >= low {
		low = x + 1
		if s.kind() == "number" && low >= high {
			low = (x + high) / 2
		}
	}
	if x := s.number("exclusiveMaximum", math.Inf(1)); x <= high && !math.IsInf(x, 1) {
		high = x - 1
	}
	v := math.Min(math.Max(s.number("default", 0), low), high)
	if step := s.number("multipleOf", 0); step > 0 {
		v = math.Ceil(v/step) * step
	}
	if s.kind() == "integer" {
		return int64(math.Ceil(v))
	}
	return v
}

// role is what a property is for, guessed from its name.
type role int

const (
	roleNone role = iota
	roleTitle
	roleRecap
	roleDecision
	roleReason
	roleID
	roleLocale
	roleText
)

var roleNames = []struct {
	role role
	re   *regexp.Regexp
}{
	{roleID, regexp.MustCompile(`(?i)(^|[a-z])(id|key|slug|topic|code)s?$`)},
	{roleLocale, regexp.MustCompile(`(?i)^(locale|lang|language)$`)},
	{roleTitle, regexp.MustCompile(`(?i)(title|heading|scene|location|place|setting|headline|label|^name$)`)},
	{roleRecap, regexp.MustCompile(`(?i)(summary|recap|synopsis|overview|digest|narrative|story|abstract)`)},
	{roleDecision, regexp.MustCompile(`(?i)(decision|dilemma|question|stakes|choice|crossroads)`)},
	{roleReason, regexp.MustCompile(`(?i)(reason|why|rationale|note|comment|explanation)`)},
	{roleText, regexp.MustCompile(`(?i)(text|content|message|body|description|prompt|value)`)},
}

func roleOf(name string) role {
	for _, r := range roleNames {
		if r.re.MatchString(name) {
			return r.role
		}
	}
	return roleNone
}

// string gives a text for a property, by its role, in the length that the schema allows.
func (f *filler) string(s *schema, name string) string {
	if v, ok := s.node["default"].(string); ok && v != "" {
		return v
	}
	if list, ok := s.node["examples"].([]any); ok && s.text("pattern") != "" {
		for _, x := range list {
			if v, isText := x.(string); isText {
				return v
			}
		}
	}
	var text string
	switch f.roleOf(s, name) {
	case roleTitle:
		text = f.sceneTitle()
	case roleDecision:
		text = f.decision()
	case roleReason:
		text = f.t.pick("task.reason")
	case roleID:
		text = "story"
	case roleLocale:
		text = map[tongue]string{english: "en", chinese: "zh-CN"}[f.b.tongue]
	default:
		text = f.recap()
	}
	if v, ok := ofFormat(s.text("format")); ok {
		text = v
	}
	if p := s.text("pattern"); p != "" {
		text = matching(p, text)
	}
	return fitted(text, int(s.number("minLength", 0)), int(s.number("maxLength", math.MaxInt32)))
}

func (f *filler) roleOf(s *schema, name string) role {
	if r := roleOf(name); r != roleNone {
		return r
	}
	if r := roleOf(s.text("title")); r != roleNone {
		return r
	}
	return roleText
}

func ofFormat(format string) (string, bool) {
	v, ok := map[string]string{
		"date": "2000-01-01", "date-time": "2000-01-01T00:00:00Z", "time": "00:00:00Z", "uuid": "00000000-0000-4000-8000-000000000000",
		"uri": "story:passage", "email": "story@example.org", "hostname": "example.org", "ipv4": "192.0.2.1", "duration": "P1D", "regex": ".*",
	}[format]
	return v, ok
}

// fitted cuts a text at a sentence or word that fits, or repeats its last letter up to the least length.
func fitted(s string, least, most int) string {
	if n := runeCount(s); n > most {
		cut := clip(s, most)
		if i := strings.LastIndexAny(cut, ".。!！?？"); i > len(cut)/2 {
			_, n := firstRuneLen(cut[i:])
			cut = cut[:i+n]
		} else if i := strings.LastIndexAny(cut, " ，,"); i > len(cut)/2 {
			cut = cut[:i]
		}
		s = strings.TrimSpace(cut)
	}
	for n := runeCount(s); n < least && n < 10_000; n++ {
		s += "."
	}
	return s
}

// matching gives text when it fits a pattern, else the shortest text that does.
func matching(pattern, text string) string {
	re, err := regexp.Compile(pattern)
	if err != nil || re.MatchString(text) {
		return text
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return text
	}
	var b strings.Builder
	shortest(&b, parsed.Simplify(), 0)
	return b.String()
}

func shortest(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > 50 || b.Len() > 4096 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			r := re.Rune[0]
			for i := 0; i+1 < len(re.Rune); i += 2 { // a letter if there is one
				if re.Rune[i] <= 'a' && 'a' <= re.Rune[i+1] {
					r = 'a'
				}
			}
			b.WriteRune(r)
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		shortest(b, re.Sub[0], depth+1)
	case syntax.OpRepeat:
		for range min(re.Min, 64) {
			shortest(b, re.Sub[0], depth+1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			shortest(b, sub, depth+1)
		}
	case syntax.OpAlternate:
		shortest(b, re.Sub[0], depth+1)
	}
}

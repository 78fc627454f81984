package storyteller

import (
	"math"
	"slices"
	"strings"
)

// A guide sums a passage up and offers lines that the player might say next. It is recognised by its shape: a list of
// suggestions beside a title, a summary or a decision.

var suggestionNames = []string{"suggestions", "prompts", "replies", "quickreplies", "actions", "options", "choices", "ideas", "hints"}

// suggestionTypes are the four kinds of lines; a schema may admit fewer.
var suggestionTypes = []string{"observe", "ask", "act", "social"}

func isGuide(s *schema) bool {
	for _, name := range s.properties() {
		if isSuggestionList(s.property(name), name) {
			return true
		}
	}
	return false
}

func isSuggestionList(s *schema, name string) bool {
	if s.kind() != "array" {
		return false
	}
	item := s.item()
	named := slices.Contains(suggestionNames, strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)))
	switch item.kind() {
	case "string":
		return named && len(item.enum()) == 0
	case "object":
		n := 0
		for _, p := range item.properties() {
			for _, v := range item.property(p).enum() {
				if text, ok := v.(string); ok && slices.Contains(suggestionTypes, text) {
					n++
				}
			}
		}
		return n >= 2 || named && textProperty(item) != ""
	}
	return false
}

// textProperty is the property of a suggestion that holds its words.
func textProperty(item *schema) string {
	for _, p := range []string{"text", "label", "prompt", "content", "message", "line"} {
		if q := item.property(p); q != nil && q.kind() == "string" {
			return p
		}
	}
	for _, p := range item.properties() {
		if q := item.property(p); q.kind() == "string" && len(q.enum()) == 0 {
			return p
		}
	}
	return ""
}

func (f *filler) guide(s *schema) any {
	out := map[string]any{}
	for _, name := range s.properties() {
		if f.drop[name] || f.spare && !s.requires(name) {
			continue
		}
		p := s.property(name)
		switch {
		case isSuggestionList(p, name):
			out[name] = f.suggestionList(p)
		case s.requires(name) || roleOf(name) != roleNone && p.kind() == "string" || roleOf(name) == roleDecision:
			out[name] = f.value(p, name, 1)
		}
	}
	return out
}

// suggestion is one line the player might say next.
type suggestion struct{ kind, text string }

// How many suggestions are made when the schema leaves it open.
const usualSuggestions = 4

func (f *filler) suggestionList(s *schema) any {
	least, most := int(s.number("minItems", 3)), int(s.number("maxItems", 6))
	n := min(max(usualSuggestions, least), max(most, least))
	item := s.item()
	longest := int(item.number("maxLength", 120))
	textKey := ""
	if item.kind() == "object" {
		textKey = textProperty(item)
		longest = int(item.property(textKey).number("maxLength", 120))
	}
	list := f.suggestions(min(n, 12), longest)
	out := []any{}
	for _, sg := range list {
		if item.kind() == "string" {
			out = append(out, sg.text)
			continue
		}
		v := map[string]any{}
		for _, name := range item.properties() {
			p := item.property(name)
			switch {
			case name == textKey:
				v[name] = sg.text
			case len(p.enum()) > 0:
				v[name] = p.enum()[0]
				if slices.Contains(p.enum(), any(sg.kind)) {
					v[name] = sg.kind
				}
			case item.requires(name) && roleOf(name) == roleID:
				v[name] = "s" + string(rune('1'+len(out)%9))
			case item.requires(name):
				v[name] = f.value(p, name, 3)
			}
		}
		out = append(out, v)
	}
	return out
}

// suggestions makes n different lines out of what the passage shows, the types in turn.
func (f *filler) suggestions(n, longest int) []suggestion {
	var out []suggestion
	taken := map[string]bool{}
	turnTypes := []string{"observe", "ask", "act", "social", "act", "ask", "observe", "social"}
	shift := f.pick.below(2)
	for i := 0; len(out) < n && i < n*6; i++ {
		kind := turnTypes[(i+shift*2)%len(turnTypes)]
		text := f.suggest(kind, i)
		if text == "" || taken[fold(text)] || runeCount(text) > longest || !f.rightLength(text) {
			continue
		}
		taken[fold(text)] = true
		out = append(out, suggestion{kind, text})
	}
	return out
}

func (f *filler) rightLength(text string) bool {
	if f.b.tongue == chinese {
		n := runeCount(text)
		return n >= 4 && n <= 16
	}
	n := len(strings.Fields(text))
	return n >= 3 && n <= 12
}

// suggest realises one line. Each kind has pools by what the scene has to offer: a thing, a person, a place.
func (f *filler) suggest(kind string, i int) string {
	s, t := f.scene, f.t
	f.fillScene()
	if n := len(s.things); n > 0 {
		th := s.things[(i/4)%n] // the last thing of a passage is the first to be offered
		t.slots["thing"], t.slots["topic"] = th.say, th.say
		if kind == "act" && th.kind.Do != "" && f.pick.below(4) > 0 {
			return strings.ReplaceAll(th.kind.Do, "{thing}", th.say)
		}
		if kind == "observe" && th.kind.Look != "" && f.pick.below(2) == 0 {
			return strings.ReplaceAll(th.kind.Look, "{thing}", th.say)
		}
	}
	if n := len(s.people); n > 1 {
		t.slots["who"] = s.people[f.pick.below(2)]
		t.slots["other"] = s.people[(slices.Index(s.people, t.slots["who"])+1)%n]
	}
	if n := len(s.absent); n > 0 && f.pick.below(2) == 0 {
		t.slots["topic"] = s.absent[f.pick.below(n)]
	} else if away := t.slots["away"]; away != "" && f.pick.below(3) == 0 {
		t.slots["topic"] = away
	}
	text := t.pickFrom(t.bank.pools["guide."+kind])
	if text == "" {
		text = t.pickFrom(t.bank.pools["guide.plain"])
	}
	return text
}

// fillScene sets the slots that the guide's phrases share.
func (f *filler) fillScene() {
	s, t := f.scene, f.t
	clear(t.slots)
	if len(s.places) > 0 {
		t.slots["here"] = s.places[0]
	}
	if n := len(s.places); n > 1 {
		t.slots["away"] = s.places[1+f.pick.below(n-1)]
	}
	if len(s.people) > 0 {
		t.slots["who"] = s.people[0]
	}
	if n := len(s.absent); n > 0 {
		t.slots["absent"] = s.absent[f.pick.below(n)]
	}
	if len(s.things) > 0 {
		t.slots["thing"], t.slots["topic"] = s.things[0].say, s.things[0].say
	}
}

// sceneTitle is two to six words: where, and with whom.
func (f *filler) sceneTitle() string {
	f.fillScene()
	for range 4 {
		s := f.t.pick("guide.title")
		if s != "" && (f.b.tongue == chinese && runeCount(s) <= 16 || f.b.tongue == english && len(strings.Fields(s)) <= 6) {
			return s
		}
	}
	if here := f.t.slots["here"]; here != "" && len(strings.Fields(here)) <= 6 {
		return upperFirst(clip(here, 40))
	}
	return f.t.pick("guide.title.plain")
}

// Lengths of a recap, in English words and Chinese characters.
const (
	recapWords      = 55
	recapCharacters = 100
)

// recap tells the passage in two or three of its own sentences: how it begins, what was learnt, how it stands.
func (f *filler) recap() string {
	most := recapWords
	if f.b.tongue == chinese {
		most = recapCharacters
	}
	if f.brief {
		most /= 2
	}
	type told struct {
		text         string
		worth, place int
	}
	var all []told
	for _, p := range strings.Split(f.scene.text, "\n") {
		p = strings.TrimSpace(p)
		speech := strings.HasPrefix(p, "“") || strings.HasPrefix(p, `"`) || strings.HasPrefix(p, "「")
		for _, s := range sentences(strings.Trim(p, "“”\"「」")) {
			n := length(f.b.tongue, s)
			if !seemly(s) || !speaks(f.b.tongue, s) || n > most/2+8 || n < 4 || strings.ContainsAny(s, "“”‘’\"「」") && f.b.tongue == chinese || !balanced(curly(s)) {
				continue
			}
			all = append(all, told{s, f.worth(s, speech), len(all)})
		}
	}
	if len(all) == 0 {
		f.fillScene()
		return f.t.pick("guide.recap", "guide.recap.plain")
	}
	all[0].worth += 4
	slices.SortStableFunc(all, func(a, b told) int { return b.worth - a.worth })
	size, chosen := 0, all[:0:0]
	for _, s := range all {
		if n := length(f.b.tongue, s.text); len(chosen) < 3 && size+n <= most && (s.worth > 0 || len(chosen) == 0) {
			chosen = append(chosen, s)
			size += n
		}
	}
	slices.SortFunc(chosen, func(a, b told) int { return a.place - b.place })
	var out []string
	for _, s := range chosen {
		out = append(out, s.text)
	}
	return strings.Join(out, f.t.space())
}

// worth says how much a sentence tells somebody who has not read the passage. What people say counts where it is about
// the world and not between the two who talk.
func (f *filler) worth(s string, speech bool) int {
	w := 0
	for _, h := range f.w.finder.find(s) {
		if h.entity.kind != aTopic && h.entity != f.m.place {
			w += 2
		}
	}
	w += 2 * min(2, len(seenThings(f.b.tongue, s)))
	if dependent(f.b.tongue, s) || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		w -= 6
	}
	between := firstPerson.MatchString(s) || secondPerson.MatchString(s) || firstPersonChinese(s)
	switch {
	case speech && (between || f.orders(s)):
		w -= 8
	case speech && w > 0:
		w += 2
	case speech:
		w -= 4
	}
	return w
}

// orders tells whether something said is an order.
func (f *filler) orders(s string) bool {
	if f.b.tongue == chinese {
		_, class := verbAt(f.t.bank.lexicon, s)
		return class != ""
	}
	first := strings.ToLower(firstWord(s))
	return verbs().base[first] || first == "if" || first == "don’t"
}

// decision says in one line what there is to decide now.
func (f *filler) decision() string {
	f.fillScene()
	most := math.MaxInt
	if f.brief {
		most = 60
	}
	for range 4 {
		if s := f.t.pick("guide.decision"); s != "" && runeCount(s) <= most {
			return s
		}
	}
	return f.t.pick("guide.decision.plain")
}

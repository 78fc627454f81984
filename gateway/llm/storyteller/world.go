package storyteller

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// entityKind sorts what the world names.
type entityKind uint8

const (
	aTopic  entityKind = iota // a lore entry, a custom, anything with a heading of its own
	aPlace                    //
	aPerson                   //
	aThread                   // an open question that the story moves along
)

// entity is something the world names and says something about.
type entity struct {
	kind    entityKind
	name    string   // exactly as written: the speaker of a dialogue
	shown   string   // fit to be printed; "" when nothing in the name can be
	aliases []string // further names, as written
	epithet string   // a noun phrase that says what a person is, without a final mark
	facts   []*fact  // in the order in which the author wrote them
	home    *entity  // where a person is found
	near    []*entity
	gender  gender
	voice   string
	tags    map[string]bool // of a place: what it is like there
	// mute is somebody who has no words: a goose, a dog, a horse.
	mute bool
	// away is somebody who is dead or lost: spoken of and never met.
	away   bool
	source string // all that was written about it, for guessing voice and gender
}

type gender uint8

const (
	unknown gender = iota
	female
	male
)

// fact is one piece of the world's own text that can be told whole: one sentence, or two of which the second needs
// the first. A fact is quoted and never rewritten, apart from a leading pronoun that is replaced by the name it means.
type fact struct {
	text     string
	owner    *entity
	mentions []*entity
	single   bool // one sentence
	question bool
	grams    []uint64 // how memory recognises that it was told
	words    []string // content words, for finding it again by what a player asks
}

// world is everything the request tells about where the story plays.
type world struct {
	tongue  tongue
	name    string
	tone    string
	places  []*entity
	people  []*entity
	threads []*entity
	topics  []*entity
	general []*fact    // facts without an owner of their own
	opening [][]string // sentences by paragraph
	start   *entity
	player  *character
	genre   string
	all     []*fact
	finder  finder
	common  map[string]int // how many facts hold a content word
	corpus  string         // lower case, everything the world says: what is part of it is not off-world
}

// character is a person's record as the turn context carries it.
type character struct {
	name        string
	aliases     []string
	kind        string
	description string
	fields      []field
}

// field is one attribute of a character with its value as text.
type field struct{ key, value string }

// fold is the form in which names and texts are compared: NFC, lower case, straight apostrophes.
func fold(s string) string {
	s = strings.ToLower(norm.NFC.String(s))
	if strings.ContainsAny(s, "’‘＇") {
		s = strings.NewReplacer("’", "'", "‘", "'", "＇", "'").Replace(s)
	}
	return s
}

// finder finds the names of a world in a text.
type finder struct {
	patterns []pattern
	at       map[rune][]int // index of patterns by first rune, longest first
	shared   [][]pattern    // parts that several names share, such as the name of a family
}

type pattern struct {
	text   string // folded
	entity *entity
	rank   int // 0 the full name, 1 an alias, 2 a part of a name
	// common is a part that is an ordinary word as well: "Eel" means Eel Tull only with a capital.
	common bool
}

// hit is one place in a folded text where an entity is named.
type hit struct {
	entity     *entity
	start, end int
	rank       int
}

// newFinder makes a finder for entities. ordinary holds the words that the world's text writes in lower case.
func newFinder(entities []*entity, ordinary map[string]bool) finder {
	owners := map[string][]pattern{}
	add := func(text string, e *entity, rank int) {
		text = strings.TrimSpace(fold(text))
		if !nameable(text) {
			return
		}
		for _, p := range owners[text] {
			if p.entity == e {
				return
			}
		}
		owners[text] = append(owners[text], pattern{text, e, rank, rank == 2 && ordinary[text]})
	}
	for _, e := range entities {
		add(e.name, e, 0)
		add(e.shown, e, 0)
		add(withoutThe(e.name), e, 1)
		for _, a := range e.aliases {
			add(a, e, 1)
		}
		for _, part := range nameParts(e) {
			add(part, e, 2)
		}
	}
	f := finder{}
	for _, ps := range owners {
		best := ps[0]
		shared := false
		for _, p := range ps[1:] {
			switch {
			case p.rank < best.rank:
				best, shared = p, false
			case p.rank == best.rank:
				shared = true
			}
		}
		if shared && best.rank == 2 { // a part that several names share names none of them
			f.shared = append(f.shared, ps)
			continue
		}
		f.patterns = append(f.patterns, best)
	}
	return f.ordered()
}

// among gives the finder of a scene: a part that several names share means the one who is here, if it is one.
func (f finder) among(here []*entity) finder {
	patterns := slices.Clip(f.patterns)
	for _, ps := range f.shared {
		present := slices.DeleteFunc(slices.Clone(ps), func(p pattern) bool { return !slices.Contains(here, p.entity) })
		if len(present) == 1 {
			patterns = append(patterns, present[0])
		}
	}
	if len(patterns) == len(f.patterns) {
		return f
	}
	return finder{patterns: patterns, shared: f.shared}.ordered()
}

// ordered puts the longest first.
func (f finder) ordered() finder {
	f.at = map[rune][]int{}
	slices.SortFunc(f.patterns, func(a, b pattern) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text, b.text)
	})
	for i, p := range f.patterns {
		r := firstRune(p.text)
		f.at[r] = append(f.at[r], i)
	}
	return f
}

// find lists the names in a text from left to right, the longest at each place, without overlap. A name in a spaced script
// must stand as a word; a Chinese name may start anywhere. Positions are those in the folded text.
func (f finder) find(original string) []hit {
	var hits []hit
	text := fold(original)
	cased := len(text) == len(original)
	prev := utf8.RuneError
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		matched := false
		for _, pi := range f.at[r] {
			p := f.patterns[pi]
			if !strings.HasPrefix(text[i:], p.text) || !standsAlone(prev, p.text, text[i+len(p.text):]) {
				continue
			}
			if p.common && p.entity.kind == aPerson && !(cased && unicode.IsUpper(firstRune(original[i:]))) {
				continue
			}
			hits = append(hits, hit{p.entity, i, i + len(p.text), p.rank})
			prev = lastRune(p.text)
			i += len(p.text)
			matched = true
			break
		}
		if !matched {
			prev = r
			i += n
		}
	}
	return hits
}

func standsAlone(before rune, name, after string) bool {
	if spaced(firstRune(name)) && spaced(before) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(after)
	return after == "" || !spaced(lastRune(name)) || !spaced(next)
}

// spaced tells whether a letter belongs to a script that writes spaces between words.
func spaced(r rune) bool {
	return r != utf8.RuneError && !isHan(r) && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// nameable tells whether a name can be looked for in a text: it needs a letter, or else every ".." would be somebody.
func nameable(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.Is(unicode.So, r) {
			letters++
			if isHan(r) || r > 0xffff {
				letters++
			}
		}
	}
	return letters >= 2
}

func withoutThe(s string) string {
	if len(s) > 4 && strings.EqualFold(s[:4], "the ") {
		return s[4:]
	}
	return s
}

// titles are words before a name that are no name by themselves.
var titles = map[string]bool{
	"old": true, "young": true, "the": true, "captain": true, "sister": true, "brother": true, "mother": true, "father": true,
	"lady": true, "lord": true, "sir": true, "dame": true, "master": true, "mistress": true, "doctor": true, "dr": true, "mr": true,
	"mrs": true, "ms": true, "miss": true, "aunt": true, "uncle": true, "little": true, "big": true, "saint": true, "st": true,
	"constable": true, "sergeant": true, "lieutenant": true, "major": true, "colonel": true, "general": true, "judge": true,
	"reverend": true, "nurse": true, "chief": true, "commander": true, "director": true, "agent": true, "detective": true,
	"madame": true, "madam": true, "monsieur": true, "don": true, "duke": true, "duchess": true, "count": true, "countess": true,
	"baron": true, "baroness": true, "emperor": true, "empress": true, "archivist": true, "ferryman": true, "keeper": true,
	"professor": true, "queen": true, "king": true, "prince": true, "princess": true, "elder": true, "widow": true, "of": true,
	"de": true, "van": true, "von": true, "a": true, "an": true, "and": true, "in": true, "at": true, "on": true, "to": true,
	"officer": true, "inspector": true, "warden": true, "brigadier": true, "abbot": true, "abbess": true, "la": true, "le": true,
}

// nameParts gives shorter ways of naming somebody or some place: "Maren" for Maren Holt, "mill" for the Drowned Mill.
func nameParts(e *entity) []string {
	if e.kind != aPerson && e.kind != aPlace {
		return nil
	}
	name := e.name
	if scriptsOf(name).han > 0 {
		return chineseParts(e)
	}
	words := strings.Fields(name)
	if len(words) < 2 {
		return nil
	}
	var parts []string
	for i, w := range words {
		w = strings.Trim(w, `,.'’"“”()`)
		if len(w) < 3 || titles[strings.ToLower(w)] || e.kind == aPlace && i < len(words)-1 {
			continue
		}
		parts = append(parts, w)
	}
	return parts
}

// chineseParts: 青云 for 陆青云, 码头 and 灯港 for 灯港码头.
func chineseParts(e *entity) []string {
	runes := []rune(e.name)
	for _, r := range runes {
		if !isHan(r) {
			return nil
		}
	}
	n := len(runes)
	switch {
	case e.kind == aPerson && n == 3:
		return []string{string(runes[1:])}
	case e.kind == aPerson && n == 4:
		return []string{string(runes[2:]), string(runes[:2])}
	case e.kind == aPlace && n >= 4:
		return []string{string(runes[n-2:]), string(runes[:2])}
	}
	return nil
}

// short is what a person is called after the first mention: the first name when there is more than one word.
func (e *entity) short() string {
	words := strings.Fields(e.shown)
	if e.kind != aPerson || len(words) < 2 || titles[strings.ToLower(strings.Trim(words[0], "."))] {
		return e.shown
	}
	return words[0]
}

// everybody and everything with a name.
func (w *world) entities() []*entity {
	return slices.Concat(w.people, w.places, w.threads, w.topics)
}

func (w *world) named(name string) *entity {
	key := fold(strings.TrimSpace(name))
	for _, e := range w.entities() {
		if fold(e.name) == key || fold(withoutThe(e.name)) == withoutThe(key) {
			return e
		}
	}
	return nil
}

func addOnce(list []*entity, e *entity) []*entity {
	if e == nil || slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

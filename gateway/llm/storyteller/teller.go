package storyteller

import (
	"slices"
	"strings"
)

// segment is one piece of a passage.
type segment struct {
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Speaker string `json:"speaker,omitempty"`
	role    segmentRole
	lines   []passageLine
	who     *entity
}

// segmentRole is what a segment does in its passage; it decides where a short passage can grow.
type segmentRole string

const (
	roleAct    segmentRole = "act"    // what the player does and what comes of it
	roleView   segmentRole = "view"   // what there is to see and know
	rolePerson segmentRole = "person" // how somebody takes it, before they speak
	roleSpeech segmentRole = "speech"
	roleBeat   segmentRole = "beat" // what the story adds
	roleEnd    segmentRole = "end"  // the open end
)

// passageLine is one sentence or fact of a segment; in a dialogue it is one part of what is said.
type passageLine struct {
	text  string
	spare bool // may be left out when the passage is too long
	fact  bool // the world's own words
	asks  bool // ends a dialogue: a question to the player
	// gesture is a small movement that a larger scene may replace.
	gesture bool
}

// Kinds of segments, as the story format has them.
const (
	narration = "narration"
	dialogue  = "dialogue"
	action    = "action"
)

// teller writes one passage.
type teller struct {
	w    *world
	m    *memory
	bank *bank
	dice *dice
	t    tongue

	tags  map[string]bool
	slots map[string]string
	a, b  *entity // whom {A} and {B} mean
	there *entity

	segs      []*segment
	used      map[*phrase]bool
	usedFacts map[*fact]bool
	said      map[uint64]bool // sentences of this passage
	mentioned []*entity       // in the order in which the passage named them
	placed    int             // how often the place was named
	spokeLast *entity
	asked     bool // somebody asked the player something
	doing     verb // what the player did, for going on about it
	lost      bool // whoever it was meant for is not here
	depth     int
}

func newTeller(w *world, m *memory, seed uint64) *teller {
	t := &teller{w: w, m: m, bank: bankOf(w.tongue), dice: &dice{seed}, t: w.tongue,
		slots: map[string]string{}, used: map[*phrase]bool{}, usedFacts: map[*fact]bool{}, said: map[uint64]bool{}}
	t.setScene()
	return t
}

// setScene recomputes the tags after the place or the hour changed.
func (t *teller) setScene() {
	t.tags = map[string]bool{t.w.genre: true}
	if t.w.genre != "future" { // no sun rises there
		for _, tag := range hourTags[hours[t.m.hour]] {
			t.tags[tag] = true
		}
	}
	if p := t.m.place; p != nil {
		for tag := range p.tags {
			t.tags[tag] = true
		}
	}
	here := t.present()
	switch len(here) {
	case 0:
		t.tags["alone"] = true
		t.tags["lonely"] = !t.tags["market"] && !t.tags["inn"] && !t.tags["hall"] && !t.tags["gate"] && !t.tags["craft"] && !t.tags["ship"] && !t.tags["books"]
	case 1:
		t.tags["one"] = true
	default:
		t.tags["two"] = true
	}
}

// present are the people here, those first who were not spoken of for longest last.
func (t *teller) present() []*entity { return t.m.here(t.w) }

// talkers are those of them who have words.
func (t *teller) talkers() []*entity {
	return slices.DeleteFunc(slices.Clone(t.present()), func(e *entity) bool { return e.mute })
}

func (t *teller) isHere(e *entity) bool { return slices.Contains(t.present(), e) }

// focus makes somebody the one whom {A} means, and the next one present {B}.
func (t *teller) focus(a *entity) {
	t.a, t.b = a, nil
	for _, p := range t.present() {
		if p != a {
			t.b = p
			break
		}
	}
}

// open begins a new segment; it goes on with the current one when that is of the same role. Empty ones vanish.
func (t *teller) open(r segmentRole) {
	kind := narration
	switch r {
	case roleAct:
		kind = action
	case roleSpeech:
		kind = dialogue
	}
	if n := len(t.segs); n > 0 {
		last := t.segs[n-1]
		if last.role == r && r != roleSpeech {
			return
		}
		if len(last.lines) == 0 {
			t.segs = t.segs[:n-1]
		}
	}
	t.segs = append(t.segs, &segment{Kind: kind, role: r})
}

// put adds finished text to the current segment.
func (t *teller) put(text string, spare bool) bool {
	return t.add(passageLine{text: text, spare: spare})
}

func (t *teller) add(l passageLine) bool {
	if l.text == "" {
		return false
	}
	if len(t.segs) == 0 || t.segs[len(t.segs)-1].Kind == dialogue {
		t.open(roleView)
	}
	s := t.segs[len(t.segs)-1]
	s.lines = append(s.lines, l)
	t.note(l.text)
	return true
}

func (t *teller) note(text string) {
	for _, s := range sentences(text) {
		t.said[sentenceKey(s)] = true
	}
}

// line adds a phrase of the first of the pools that has one to give.
func (t *teller) line(pools ...string) bool { return t.put(t.pick(pools...), false) }

// gesture adds a small movement of {A}.
func (t *teller) gesture() bool {
	return t.add(passageLine{text: t.pick("gesture.line"), gesture: true})
}

// tell adds a fact as narration and marks it as used.
func (t *teller) tell(f *fact, spare bool) bool {
	if f == nil || t.usedFacts[f] || !t.fresh(f.text) {
		return false
	}
	t.usedFacts[f] = true
	return t.add(passageLine{text: f.text, spare: spare, fact: true})
}

// speak adds a dialogue of somebody present. Parts that are empty are left out; without any nothing is said.
func (t *teller) speak(who *entity, parts ...string) bool {
	var said []passageLine
	for _, p := range parts {
		if p != "" {
			said = append(said, passageLine{text: p})
		}
	}
	if who == nil || len(said) == 0 {
		return false
	}
	if who.mute {
		return t.answerBeast(who, nil)
	}
	t.open(roleSpeech)
	s := t.segs[len(t.segs)-1]
	s.Speaker, s.who = who.name, who
	for _, p := range said {
		t.note(p.text)
	}
	last := &said[len(said)-1]
	last.asks = strings.ContainsAny(last.text, "?？")
	s.lines = said
	t.mentioned = addOnce(t.mentioned, who)
	t.spokeLast, t.asked = who, last.asks
	return true
}

func (t *teller) space() string {
	if t.t == chinese {
		return ""
	}
	return " "
}

// quote puts speech into quotation marks; quotations inside become single.
func quote(s string) string {
	return "“" + strings.NewReplacer("“", "‘", "”", "’", "「", "‘", "」", "’").Replace(s) + "”"
}

// fresh tells whether no sentence of a text was said lately.
func (t *teller) fresh(text string) bool {
	var own []uint64
	for _, s := range sentences(text) {
		k := sentenceKey(s)
		if k != 0 && (t.said[k] || t.m.recent[k] || slices.Contains(own, k)) {
			return false
		}
		own = append(own, k)
	}
	return true
}

// pick realises a phrase of the first pool that has a fitting one: never used before if possible, else the one that was
// used longest ago, never one whose words were said in the last turns.
func (t *teller) pick(pools ...string) string {
	for _, pool := range pools {
		if t.a != nil {
			if s := t.pickFrom(t.bank.pools[pool+"."+t.a.voice]); s != "" {
				return s
			}
			if t.a.mute && t.bank.pools[pool+"."+beastVoice] != nil {
				continue // what people do would look odd on it
			}
		}
		if s := t.pickFrom(t.bank.pools[pool]); s != "" {
			return s
		}
	}
	return ""
}

type candidate struct {
	p    *phrase
	rank uint64
}

func (t *teller) pickFrom(pool []*phrase) string {
	if t.depth > 3 || len(pool) == 0 {
		return ""
	}
	cands := make([]candidate, 0, len(pool))
	for _, p := range pool {
		if t.used[p] || !p.allowed(t.tags) {
			continue
		}
		told := t.m.told(p.grams)
		if told > 0 && t.m.turn-told < sentencesStayFresh {
			continue
		}
		rank := uint64(told) << 32
		if told == 0 && len(p.need) > 0 { // what fits this scene in particular goes before what fits everywhere
			rank = t.dice.next() >> 34
		} else if told == 0 {
			rank = t.dice.next() >> 33
		}
		if t.placed >= 2 && p.has("place") {
			rank += 1 << 31
		}
		cands = append(cands, candidate{p, rank})
	}
	slices.SortStableFunc(cands, func(a, b candidate) int {
		switch {
		case a.rank < b.rank:
			return -1
		case a.rank > b.rank:
			return 1
		}
		return 0
	})
	for _, c := range cands {
		placed, mentioned := t.placed, len(t.mentioned)
		if s, ok := t.realise(c.p); ok && (t.depth > 0 || t.fresh(s)) {
			t.used[c.p] = true
			return s
		}
		t.placed, t.mentioned = placed, t.mentioned[:mentioned]
	}
	return ""
}

func (p *phrase) has(slot string) bool {
	return slices.ContainsFunc(p.parts, func(x phrasePart) bool { return x.slot == slot })
}

// realise fills the slots of a phrase. It fails when one of them has nothing to say, so nothing undecided is ever printed.
func (t *teller) realise(p *phrase) (string, bool) {
	t.depth++
	defer func() { t.depth-- }()
	var b strings.Builder
	for _, part := range p.parts {
		if part.slot == "" {
			b.WriteString(part.text)
			continue
		}
		s := t.slot(part.slot, part.arg)
		if s == "" {
			return "", false
		}
		if t.t == english && beginsSentence(b.String()) && (t.depth == 1 || b.Len() > 0) {
			s = upperFirst(s)
		}
		b.WriteString(s)
	}
	return tidy(t.t, b.String()), true
}

func beginsSentence(before string) bool {
	before = strings.TrimRight(before, "“‘ ")
	return before == "" || strings.ContainsRune(".!?", lastRune(before))
}

// slot gives the text of one slot, "" when there is none.
func (t *teller) slot(name, arg string) string {
	switch name {
	case "A":
		return t.nameOf(t.a)
	case "B":
		return t.nameOf(t.b)
	case "he", "him", "his", "himself":
		return t.pronoun(name, arg)
	case "place":
		if t.m.place == nil {
			return ""
		}
		t.placed++
		return t.placeName(t.m.place)
	case "there":
		if t.there == nil || t.there == t.m.place {
			return ""
		}
		return t.placeName(t.there)
	case "world":
		return t.w.name
	case "epithet":
		if t.a == nil {
			return ""
		}
		return t.a.epithet
	case "+":
		return t.pick(arg)
	}
	if strings.HasPrefix(name, "+") {
		return t.pick(name[1:])
	}
	s := t.slots[name]
	switch arg {
	case "a":
		return article(s)
	case ",": // speech that the sentence goes on after: the full stop becomes a comma
		if r := lastRune(s); r == '.' || r == '。' {
			return strings.TrimRight(s, ".。") + map[tongue]string{english: ",", chinese: "，"}[t.t]
		}
	}
	return s
}

func (t *teller) placeName(e *entity) string {
	if t.t == english {
		return mid(e)
	}
	return e.shown
}

// nameOf is the full name at the first mention in a passage and the short one after that.
func (t *teller) nameOf(e *entity) string {
	if e == nil {
		return ""
	}
	if t.t == english {
		if slices.Contains(t.mentioned, e) {
			return lowerThe(e.short())
		}
	}
	t.mentioned = addOnce(t.mentioned, e)
	return t.placeName(e)
}

// pronoun bends for {A}: {he} and {he:look} in English; 他, 她 or the name in Chinese.
func (t *teller) pronoun(name, verb string) string {
	if t.a == nil {
		return ""
	}
	if t.t == chinese {
		p := map[gender]string{female: "她", male: "他", unknown: t.a.shown}[t.a.gender]
		if t.a.mute {
			p = "它"
		}
		if name == "his" {
			return p + "的"
		}
		return p
	}
	p := pronouns[t.a.gender][name]
	if verb != "" {
		p += " " + agree(t.a.gender, verb)
	}
	return p
}

// tidy repairs the seams between literal text and slots: doubled marks, stray spaces.
func tidy(t tongue, s string) string {
	s = strings.TrimSpace(s)
	if t == chinese {
		s = tidyChinese(s)
	} else {
		s = tidyEnglish(s)
	}
	return s
}

var englishSeams = strings.NewReplacer("….", "…", "..", ".", ",.", ".", ".,", ",", ",,", ",", " ,", ",", " .", ".", "?.", "?", "!.", "!", "?,", "?", "  ", " ", " ;", ";", ";.", ".")

func tidyEnglish(s string) string {
	for range 3 {
		next := englishSeams.Replace(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

var chineseSeams = strings.NewReplacer("…。", "…", "。。", "。", "，。", "。", "。，", "，", "，，", "，", "？。", "？", "！。", "！", "、，", "，", "：：", "：", "；。", "。", "的的", "的")

func tidyChinese(s string) string {
	for range 3 {
		next := chineseSeams.Replace(s)
		if next == s {
			break
		}
		s = next
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if r == ' ' && i > 0 && i+1 < len(rs) && (!spaced(rs[i-1]) || !spaced(rs[i+1])) {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

package storyteller

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// buildWorld turns what was read into places, people, threads and facts that know each other. A story that got no world
// borrows a small one, so that there is somebody to meet; a task about a story gets none that the story does not have.
func buildWorld(b *brief, story bool) *world {
	w := &world{tongue: b.tongue, name: showable(b.world), tone: b.tone, player: b.player}
	w.readLore(b)
	w.readCast(b.cast)
	if len(w.places) == 0 {
		w.promotePlaces()
	}
	for _, e := range b.entries {
		w.readEntry(e)
	}
	w.opening = openingSentences(w.tongue, b.opening)
	if story && len(w.places) == 0 && (!b.tagged || len(w.people)+len(w.all) == 0) {
		w.borrow()
	}
	if !story && len(w.people) == 0 {
		w.guessPeople(b)
	}
	if !story && len(w.places) == 0 {
		w.guessPlaces(b)
	}
	w.settle(b)
	return w
}

func (w *world) readLore(b *brief) {
	title := ""
	defer func() {
		if w.name == "" && len(w.places)+len(w.people) > 0 {
			w.name = showable(title)
		}
	}()
	for _, s := range readMarkdown(b.lore) {
		if s.level == 1 && title == "" {
			title, _ = splitName(s.title)
		}
		if s.category == notForTelling || !b.tagged && (s.category == unsorted || s.category == factsBelow) {
			continue
		}
		owner := (*entity)(nil)
		if s.named && s.title != "" {
			owner = w.add(kindOf(s.category), s.title, s.parts)
		}
		switch {
		case owner != nil:
			for _, it := range s.items {
				w.tell(owner, []string{it.name + itemColon(w.tongue) + it.text})
			}
		case s.category == placesBelow || s.category == peopleBelow || s.category == threadsBelow:
			for _, it := range s.items {
				w.add(kindOf(s.category), it.name, []string{it.text})
			}
			if s.category == threadsBelow {
				for _, p := range s.parts {
					w.add(aThread, "", []string{p})
				}
			} else {
				w.tell(nil, s.parts)
			}
		default:
			for _, it := range s.items {
				w.add(aTopic, it.name, []string{it.text})
			}
			w.tell(nil, s.parts)
		}
	}
}

func itemColon(t tongue) string {
	if t == chinese {
		return "："
	}
	return ": "
}

func kindOf(c category) entityKind {
	switch c {
	case placesBelow:
		return aPlace
	case peopleBelow:
		return aPerson
	case threadsBelow:
		return aThread
	}
	return aTopic
}

// add names something and tells what is written about it. A name that is known already gets the new text as well.
func (w *world) add(kind entityKind, title string, parts []string) *entity {
	name, rest := splitName(title)
	if kind == aThread || kind == aTopic {
		name, rest = strings.TrimSpace(title), ""
	}
	e := (*entity)(nil)
	if name != "" {
		e = w.named(name)
	}
	if e == nil {
		e = &entity{kind: kind, name: name, shown: showable(name)}
		if whQuestion.MatchString(name) {
			e.shown = "" // a question cannot stand in a sentence as a name
		}
		switch kind {
		case aPlace:
			w.places = append(w.places, e)
		case aPerson:
			w.people = append(w.people, e)
		case aThread:
			w.threads = append(w.threads, e)
		default:
			w.topics = append(w.topics, e)
		}
	}
	if rest != "" {
		parts = append([]string{rest}, parts...)
	}
	w.tell(e, parts)
	return e
}

// tell adds what paragraphs say about owner to the world's facts.
func (w *world) tell(owner *entity, parts []string) {
	if owner != nil {
		owner.source += strings.Join(parts, " ") + " "
		owner.gender = genderOf(owner.source)
	}
	for _, f := range factsOf(w.tongue, owner, parts) {
		if slices.ContainsFunc(w.all, func(g *fact) bool { return g.text == f.text }) {
			continue
		}
		w.all = append(w.all, f)
		if owner == nil {
			w.general = append(w.general, f)
		} else {
			owner.facts = append(owner.facts, f)
		}
	}
	w.corpus += " " + fold(strings.Join(parts, " "))
}

// readCast adds the people of the profile block: their description comes first, attributes only help to guess a voice.
func (w *world) readCast(cast []*character) {
	for _, c := range cast {
		e := w.named(c.name)
		if e == nil {
			for _, a := range c.aliases {
				if e = w.named(a); e != nil && e.kind == aPerson {
					break
				}
				e = nil
			}
		}
		if e == nil || e.kind != aPerson {
			e = &entity{kind: aPerson, name: c.name, shown: showable(c.name)}
			w.people = append(w.people, e)
		}
		if e.name != c.name { // the profile has the name by which speech is attributed
			e.aliases = append(e.aliases, e.name)
			e.name, e.shown = c.name, showable(c.name)
		}
		e.aliases = append(e.aliases, c.aliases...)
		for _, f := range c.fields {
			e.source += f.key + ": " + f.value + " · "
		}
		e.gender = genderOf(e.source + " " + c.description)
		if c.description != "" {
			w.tell(e, []string{plain(c.description)})
		}
	}
}

func (w *world) readEntry(l loreEntry) {
	paragraphs := strings.Split(l.text, "\n")
	for i, p := range paragraphs {
		paragraphs[i] = plain(strings.TrimLeft(p, "-*# >"))
	}
	if l.title == "" {
		w.tell(nil, paragraphs)
		return
	}
	w.add(aTopic, l.title, paragraphs)
}

// promotePlaces makes places of headings that sound like some when the lore has no section for places.
func (w *world) promotePlaces() {
	w.topics = slices.DeleteFunc(w.topics, func(e *entity) bool {
		if len(placeTags(e.name)) == 0 || runeCount(e.name) > 30 {
			return false
		}
		e.kind = aPlace
		w.places = append(w.places, e)
		return true
	})
}

// borrow gives a small place of our own to a request that brought no world.
func (w *world) borrow() {
	people := w.people
	w.readLore(&brief{tongue: w.tongue, lore: bankOf(w.tongue).fallback, tagged: true})
	if len(people) > 0 { // somebody is there already: nobody needs to be invented
		w.people = people
	}
}

// settle links everything with everything once all names are known.
func (w *world) settle(b *brief) {
	w.genre = genreOf(w.corpus + " " + fold(w.name) + " " + fold(w.tone))
	everything := w.entities()
	if w.tongue == english {
		for _, e := range w.places { // the author writes "the Dock Ring" of what the heading calls Dock Ring
			if e.shown != "" && !strings.HasPrefix(e.shown, "The ") && strings.Contains(w.corpus, " the "+fold(e.shown)) {
				e.shown = "The " + e.shown
			}
		}
	}
	ordinary := map[string]bool{}
	for _, e := range everything {
		for _, word := range wordsOf(e.source) {
			if unicode.IsLower(firstRune(word)) {
				ordinary[word] = true
			}
		}
	}
	w.finder = newFinder(everything, ordinary)
	w.common = map[string]int{}
	for _, f := range w.all {
		for _, h := range w.finder.find(f.text) {
			f.mentions = addOnce(f.mentions, h.entity)
		}
		if f.owner != nil {
			f.mentions = addOnce(f.mentions, f.owner)
		}
		f.grams = gramsOf(w.tongue, f.text)
		f.words = contentWords(w.tongue, f.text)
		for _, word := range f.words {
			w.common[word]++
		}
	}
	for _, e := range everything {
		w.corpus += " " + fold(e.name)
	}
	for _, p := range w.places {
		p.tags = tagsIn(w.genre, p.name)
		if len(p.tags) == 0 && len(p.facts) > 0 {
			p.tags = tagsIn(w.genre, p.facts[0].text)
		}
		for _, f := range p.facts {
			for _, m := range f.mentions {
				if m.kind == aPlace && m != p {
					p.near, m.near = addOnce(p.near, m), addOnce(m.near, p)
				}
			}
		}
	}
	w.start = w.startPlace(b)
	for _, p := range w.people {
		p.voice = voiceOf(w.tongue, w.withoutNames(p.source))
		p.away = isAway(w.tongue, p)
		if p.mute = isBeast(p); p.mute {
			p.voice = beastVoice
		}
	}
	w.settlePeople(b)
}

// beginning is the author's opening as long as it is in the request, and the first passage from then on. A welcome may
// stand before that passage; it names no place.
func (w *world) beginning(b *brief) string {
	texts := b.beginnings()
	for _, text := range texts {
		if slices.ContainsFunc(w.finder.find(text), func(h hit) bool { return h.entity.kind == aPlace && h.rank < 2 }) {
			return text
		}
	}
	return texts[0]
}

// beginnings are the texts with which the story may begin: the author's opening, or else the first two passages.
func (b *brief) beginnings() []string {
	if b.opening != "" || len(b.turns) == 0 {
		return []string{clip(b.opening, 3000)}
	}
	var texts []string
	for _, t := range b.turns[:min(2, len(b.turns))] {
		texts = append(texts, clip(t.story, 3000))
	}
	return texts
}

// startPlace is the first place the author's opening names, else the first in the lore.
func (w *world) startPlace(b *brief) *entity {
	for _, h := range w.finder.find(w.beginning(b)) {
		if h.entity.kind == aPlace && h.rank < 2 {
			return h.entity
		}
	}
	if len(w.places) > 0 {
		return w.places[0]
	}
	return nil
}

// settlePeople finds out where everybody is found: where the author's opening shows them, where their place names them,
// where their own text says so, or else somewhere that stays the same for the whole session.
func (w *world) settlePeople(b *brief) {
	if len(w.places) == 0 {
		return
	}
	for _, s := range sentences(outsideQuotes(w.beginning(b))) {
		hits := w.finder.find(s)
		if slices.ContainsFunc(hits, func(h hit) bool { return h.entity.kind == aPlace && h.entity != w.start }) {
			continue // it says where somebody else is
		}
		for _, h := range hits {
			if h.entity.kind == aPerson && h.entity.home == nil && !slices.ContainsFunc(w.all, func(f *fact) bool { return f.text == s && f.owner != h.entity }) {
				h.entity.home = w.start
			}
		}
	}
	for _, p := range w.places {
		for _, f := range p.facts {
			for _, m := range f.mentions {
				if m.kind == aPerson && m.home == nil {
					m.home = p
				}
			}
		}
	}
	var lost []*entity
	for _, e := range w.people {
		for _, h := range w.finder.find(e.source) {
			if e.home == nil && h.entity.kind == aPlace {
				e.home = h.entity
			}
		}
		switch {
		case e.away:
			e.home = nil
		case e.home != nil:
		default:
			lost = append(lost, e)
		}
	}
	slices.SortStableFunc(lost, func(a, b *entity) int { return strings.Compare(a.name, b.name) })
	for i, e := range lost {
		e.home = w.emptiest(i)
	}
	if len(lost) > 0 && !slices.ContainsFunc(w.people, func(e *entity) bool { return e.home == w.start }) {
		lost[0].home = w.start // somebody should be there when the story opens
	}
}

// emptiest is the place with the fewest people, the start first.
func (w *world) emptiest(turn int) *entity {
	count := map[*entity]int{}
	for _, e := range w.people {
		count[e.home]++
	}
	best := w.start
	for i := range w.places {
		p := w.places[(i+turn)%len(w.places)]
		if count[p] < count[best] {
			best = p
		}
	}
	return best
}

var (
	awayEnglish = regexp.MustCompile(`(?i)\b(missing|vanished|disappeared|died|drowned|is dead|was killed|was buried|never (came back|returned)|has not (been seen|returned|come back)|hasn't (been seen|returned|come back)|not been seen|no one has seen|nobody has seen|anyone has seen|never been seen|whoever)\b`)
	awayChinese = regexp.MustCompile(`未归|失踪|死了|已死|去世|亡故|逝世|淹死|没有回来|再没回来|下落不明|不知所踪|没有人见过|没有看见过|只有人见过|叫法`)
	kinWords    = regexp.MustCompile(`(?i)\b(?:his|her|their|\w+['’]s) (?:\w+ )?(brother|sister|father|mother|husband|wife|son|daughter|friend|master|uncle|aunt)\b|的(父|母|兄长|弟|哥|姐|妹|丈夫|妻|师父|师兄|朋友|儿子|女儿)`)
)

// isAway tells of somebody who is dead, lost or gone: they are spoken of and never met.
func isAway(t tongue, e *entity) bool {
	for i, s := range sentences(e.source) {
		gone := awayEnglish
		if t == chinese {
			gone = awayChinese
		}
		if i > 3 {
			return false
		}
		if gone.MatchString(s) && !kinWords.MatchString(s) && (i == 0 || strings.HasPrefix(s, e.short()) || pronounEnglish.MatchString(s) || strings.HasPrefix(s, "他") || strings.HasPrefix(s, "她")) {
			return true
		}
	}
	return false
}

var genderWords = func() map[string]gender {
	m := map[string]gender{}
	for _, w := range strings.Fields("she her hers herself woman girl mother sister daughter widow lady queen aunt wife mistress priestess female") {
		m[w] = female
	}
	for _, w := range strings.Fields("he him his himself man boy father brother son widower lord king uncle husband priest monk male") {
		m[w] = male
	}
	return m
}()

// genderOf guesses from the words an author uses for somebody; a tie is left open.
func genderOf(text string) gender {
	f, m := 0, 0
	for _, w := range wordsOf(text) {
		if len(w) > 10 {
			continue
		}
		switch genderWords[strings.ToLower(w)] {
		case female:
			f++
		case male:
			m++
		}
	}
	if scriptsOf(text).han > 0 {
		f += countAny(text, "她", "女", "妇", "娘", "婆")
		m += countAny(text, "他", "男", "老汉", "爷", "翁") - 2*strings.Count(text, "其他")
	}
	switch {
	case f > m:
		return female
	case m > f:
		return male
	}
	return unknown
}

func countAny(s string, words ...string) int {
	n := 0
	for _, w := range words {
		n += strings.Count(s, w)
	}
	return n
}

// openingSentences takes from the author's opening scenario what can be told to the player: "the player" becomes "you".
func openingSentences(t tongue, text string) [][]string {
	var out [][]string
	for _, s := range readMarkdown(text) {
		for _, p := range s.parts {
			var told []string
			for _, line := range sentences(p) {
				if line = addressed(t, line); !seemly(line) || isMeta(line) || !speaks(t, line) || directive(line) || !balanced(curly(line)) {
					continue
				}
				if t == chinese {
					line = fullWidth(line)
				} else {
					line = curly(line)
				}
				if last := lastRune(line); !strings.ContainsRune(".!?。！？…”’", last) || t == english && firstPerson.MatchString(outsideQuotes(line)) || t == chinese && firstPersonChinese(line) {
					continue
				}
				told = append(told, line)
			}
			if len(told) > 0 {
				out = append(out, told)
			}
		}
	}
	return out
}

var thePlayer = regexp.MustCompile(`(?i)\bthe player(?:'s|’s)? character\b|\bthe player\b|\bthe protagonist\b`)

// addressed turns talk about the player into talk to the player.
func addressed(t tongue, s string) string {
	if t == chinese {
		for _, p := range []string{"玩家角色", "玩家", "主角"} {
			s = strings.ReplaceAll(s, p, "你")
		}
		return s
	}
	for {
		at := thePlayer.FindStringIndex(s)
		if at == nil {
			return s
		}
		rest := s[at[1]:]
		you := "you"
		switch {
		case strings.HasPrefix(rest, "'s ") || strings.HasPrefix(rest, "’s "):
			you = "your"
			rest = rest[strings.Index(rest, "s ")+1:]
		default:
			rest = secondPersonVerb(rest)
		}
		if at[0] == 0 {
			you = upperFirst(you)
		}
		s = s[:at[0]] + you + rest
	}
}

// secondPersonVerb changes the verb that follows a former third person: " slowly walks" to " slowly walk".
func secondPersonVerb(rest string) string {
	for i := 0; ; {
		j := i
		for j < len(rest) && rest[j] == ' ' {
			j++
		}
		word := firstWord(rest[j:])
		if word == "" {
			return rest
		}
		if strings.HasSuffix(word, "ly") || word == "never" || word == "always" || word == "just" || word == "still" {
			i = j + len(word)
			continue
		}
		if base := baseOfThirdPerson(word); base != "" {
			return rest[:j] + base + rest[j+len(word):]
		}
		return rest
	}
}

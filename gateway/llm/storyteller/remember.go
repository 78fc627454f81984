package storyteller

import (
	"slices"
	"strings"
)

// memory is what the story so far means for the next passage. It is rebuilt from the request each time.
type memory struct {
	tongue   tongue
	turn     int              // the number of the passage to be written; the opening is 1
	grams    map[uint64]int32 // gram → last turn in which the story holds it
	recent   map[uint64]bool  // sentences of the last turns
	place    *entity
	from     *entity          // where the player was before
	cameAt   int              // turn of the last arrival
	spoken   map[*entity]int  // turn in which somebody was last spoken of, for the last turns
	seen     map[*entity]bool // people the player has met where they live
	been     map[*entity]bool // places the player has been to
	joined   map[*entity]bool // people who were asked to come along
	deeds    []deed
	hour     int      // index into hours
	stories  []string // of each turn
	threadAt int      // turn in which a thread was last told
}

// deed is something the player did that the world may come back to.
type deed struct {
	turn  int
	verb  verb
	who   *entity
	thing string
	said  string
	place *entity
}

// sentencesStayFresh is for how many turns a sentence may not be said again.
const sentencesStayFresh = 7

// remember replays the story.
func remember(w *world, b *brief) *memory {
	size := len(b.summary)
	for _, t := range b.turns {
		size += len(t.story)
	}
	m := &memory{tongue: b.tongue, turn: len(b.turns) + 1, grams: make(map[uint64]int32, size/5), recent: map[uint64]bool{}, spoken: map[*entity]int{}, seen: map[*entity]bool{}, been: map[*entity]bool{}, joined: map[*entity]bool{}, place: w.start}
	m.hour = startHour(w, b)
	if b.summary != "" {
		m.index(b.summary, 0)
	}
	for i, t := range b.turns {
		m.index(t.story, i+1)
		m.stories = append(m.stories, t.story)
	}
	for i, t := range b.turns {
		n := i + 1
		recent := len(b.turns)-i <= deedsAreRemembered || hasAnyStem(t.line, inviteStems)
		if recent && (n > 1 || b.summary != "") {
			for _, a := range understand(w, t.line, m.here(w)) {
				m.apply(w, a, t.story, n)
			}
		}
		m.hour = w.hourAfter(m.hour, t)
		m.follow(w, t.story, n)
		m.meet(w, t.story)
		if len(b.turns)-i <= sentencesStayFresh {
			m.listen(w, t.story, n)
		}
		if n%turnsPerHour == 0 {
			m.hour = (m.hour + 1) % len(hours)
		}
	}
	for _, th := range w.threads {
		for _, f := range th.facts {
			m.threadAt = max(m.threadAt, m.told(f.grams))
		}
	}
	return m
}

// inviteStems are words without which nobody is asked to come along; that is never forgotten.
var inviteStems = []string{"with me", "join me", "follow me", "come along", "invite", "跟我", "一起", "陪我", "邀"}

// deedsAreRemembered is for how many turns what the player did can come back. Where they went is found in the story.
const deedsAreRemembered = 12

// index makes the text of a turn recognisable.
func (m *memory) index(text string, turn int) {
	n := gramLength(m.tongue)
	toks := tokens(make([]uint64, 0, len(text)/3), text)
	for i := 0; i+n <= len(toks); i++ {
		m.grams[gramAt(toks, i, n)] = int32(turn)
	}
}

// told gives the turn in which a text was last told, 0 when it never was. All of its grams must be found.
func (m *memory) told(grams []uint64) int {
	if len(grams) == 0 {
		return 0
	}
	turn := m.turn
	for _, g := range grams {
		t, ok := m.grams[g]
		if !ok {
			return 0
		}
		turn = min(turn, int(t))
	}
	return max(turn, 1)
}

// listen notes the sentences of a recent passage and who is spoken of in it.
func (m *memory) listen(w *world, story string, turn int) {
	for _, s := range sentences(story) {
		m.recent[sentenceKey(s)] = true
	}
	for _, h := range w.finder.find(story) {
		if h.entity.kind == aPerson {
			m.spoken[h.entity] = turn
		}
	}
}

// meet notes who was there to be met in a passage, and that the player has been to the place.
func (m *memory) meet(w *world, story string) {
	m.been[m.place] = true
	key := ""
	for _, p := range w.people {
		if m.seen[p] || p.shown == "" || p.home != m.place && !m.comesAlong(p) {
			continue
		}
		if key == "" {
			key = fold(story)
		}
		m.seen[p] = strings.Contains(key, fold(p.name)) || strings.Contains(key, fold(p.shown))
	}
}

// met tells whether the player has stood before somebody.
func (m *memory) met(e *entity) bool { return m.seen[e] }

// apply carries out what the player did, as far as the passage that answered it bears it out.
func (m *memory) apply(w *world, a act, story string, turn int) {
	if a.negated {
		return
	}
	switch a.verb {
	case doGo:
		if a.place != nil && a.place != m.place && mentions(story, a.place) {
			m.move(a.place, turn)
		}
	case "give", "show", "fight", "threaten", "help", "apologise", doAgree, doRefuse, "invite", "thank", "take":
		d := deed{turn: turn, verb: a.verb, thing: a.thing, said: a.speech, place: m.place}
		if len(a.people) > 0 {
			d.who = a.people[0]
		} else if here := m.here(w); len(here) > 0 && a.verb != "take" && a.verb != "fight" {
			d.who = here[0]
		}
		if a.verb == "invite" && d.who != nil {
			m.joined[d.who] = true
		}
		m.deeds = append(m.deeds, d)
	}
}

func (m *memory) move(to *entity, turn int) {
	m.from, m.place, m.cameAt = m.place, to, turn
}

func mentions(story string, e *entity) bool {
	s := fold(story)
	return strings.Contains(s, fold(e.name)) || strings.Contains(s, fold(withoutThe(e.shown)))
}

// arrivals are the words that stand right before the place where "you" end up.
var arrivals = []string{"reach ", "come to ", "came to ", "arrive at ", "arrive in ", "enter ", "step into ", "back at ", "back in ",
	"you to ", "you into ", "you all the way to ", "you straight to ", "you back to ",
	"来到", "到了", "走到", "走进", "走入", "抵达", "回到", "踏进", "踏入", "带到", "引到", "领到", "送到", "带进"}

// follow finds out where a passage took the player, whoever wrote it: "you reach X", "brings you to X". What people say
// does not count.
func (m *memory) follow(w *world, story string, turn int) {
	if len(w.places) < 2 {
		return
	}
	last, to := -1, (*entity)(nil)
	for _, words := range arrivals {
		for from := 0; ; {
			i := strings.Index(story[from:], words)
			if i < 0 {
				break
			}
			i += from
			from = i + len(words)
			if i > last && addressedToYou(story[:i]) {
				if p := w.placeAt(story[from:]); p != nil {
					last, to = i, p
				}
			}
		}
	}
	if to != nil && to != m.place {
		m.move(to, turn)
	}
}

// addressedToYou tells whether a sentence that breaks off here is about "you" and outside of quotation marks.
func addressedToYou(before string) bool {
	start := strings.LastIndexAny(before, ".!?\n")
	for _, mark := range []string{"。", "！", "？", "”"} {
		if i := strings.LastIndex(before, mark); i >= 0 {
			start = max(start, i+len(mark)-1)
		}
	}
	sentence := before[start+1:]
	paragraph := before[strings.LastIndexByte(before, '\n')+1:]
	if strings.Count(paragraph, "“") > strings.Count(paragraph, "”") {
		return false
	}
	return strings.Contains(sentence, "you") || strings.Contains(sentence, "You") || strings.Contains(sentence, "你")
}

// placeAt is the place whose name begins a text.
func (w *world) placeAt(text string) *entity {
	head := clip(text, 48)
	for _, lead := range []string{"", "the ", "The "} {
		if rest, ok := strings.CutPrefix(head, lead); ok {
			if hits := w.finder.find(rest); len(hits) > 0 && hits[0].start == 0 && hits[0].entity.kind == aPlace {
				return hits[0].entity
			}
		}
	}
	return nil
}

// comesAlong tells whether somebody goes wherever the player goes, because the player asked them to.
func (m *memory) comesAlong(p *entity) bool { return m.joined[p] }

// here are the people who can be spoken with, the one last spoken of first.
func (m *memory) here(w *world) []*entity {
	var out []*entity
	for _, p := range w.people {
		if p.shown != "" && !p.away && (m.place == nil || p.home == m.place || m.comesAlong(p)) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *entity) int { return m.spoken[b] - m.spoken[a] })
	return out
}

// lately finds the last deed of a kind towards somebody (nil: anybody), not older than the given number of turns.
func (m *memory) lately(who *entity, within int, verbs ...verb) *deed {
	for i := len(m.deeds) - 1; i >= 0; i-- {
		d := &m.deeds[i]
		if m.turn-d.turn > within {
			return nil
		}
		if slices.Contains(verbs, d.verb) && (who == nil || d.who == who) {
			return d
		}
	}
	return nil
}

// wary tells whether somebody has a reason to keep away from the player.
func (m *memory) wary(who *entity) bool {
	hurt := m.lately(who, 8, "fight", "threaten")
	if hurt == nil {
		return false
	}
	sorry := m.lately(who, 8, "apologise", "give", "help")
	return sorry == nil || sorry.turn < hurt.turn
}

package storyteller

import (
	"slices"
	"strings"
)

// What can be told next. A fact that stands in the story is not told again before all that could be told instead is
// used up, and even then not while readers still have it in mind.

// next gives the first untold fact of a list that passes the test.
func (t *teller) next(facts []*fact, ok func(*fact) bool) *fact {
	for _, f := range facts {
		if !t.usedFacts[f] && t.m.told(f.grams) == 0 && t.fresh(f.text) && (ok == nil || ok(f)) {
			return f
		}
	}
	return nil
}

// again gives the fact that was told longest ago, when that is long enough ago.
func (t *teller) again(facts []*fact, ok func(*fact) bool) *fact {
	var best *fact
	oldest := t.m.turn - sentencesStayFresh - 1
	for _, f := range facts {
		at := t.m.told(f.grams)
		if at > 0 && at < oldest && !t.usedFacts[f] && t.fresh(f.text) && (ok == nil || ok(f)) {
			best, oldest = f, at
		}
	}
	return best
}

// about gives something new about an entity: its own text, then what other texts say of it.
func (t *teller) about(e *entity, ok func(*fact) bool) *fact {
	if e == nil {
		return nil
	}
	test := func(f *fact) bool { return !t.reserved(f, e) && (ok == nil || ok(f)) }
	if f := t.next(e.facts, test); f != nil {
		return f
	}
	return t.next(t.w.all, func(f *fact) bool { return slices.Contains(f.mentions, e) && !f.nameless() && test(f) })
}

// reserved keeps back what belongs to a thread: threads are told by their own beats and in their order.
func (t *teller) reserved(f *fact, asked *entity) bool {
	return f.owner != nil && f.owner.kind == aThread && f.owner != asked
}

// found looks for the untold fact that has most, and the rarest, words in common with a line. The score is 0 without any.
func (t *teller) found(words []string, ok func(*fact) bool) (*fact, int) {
	var best *fact
	most, known := 0, 0
	for _, f := range t.w.all {
		score := t.likeness(words, f)
		if score < t.enough(words) || f.nameless() && f.owner != t.a {
			continue
		}
		if t.usedFacts[f] || t.m.told(f.grams) > 0 || !t.fresh(f.text) {
			known = max(known, score)
			continue
		}
		if f.owner != nil && f.owner.kind == aThread && t.next(f.owner.facts, nil) != f {
			continue // threads are told in their order
		}
		if score > most && (ok == nil || ok(f)) {
			best, most = f, score
		}
	}
	if known > most+most/2 { // what would answer it has been told
		return nil, 0
	}
	return best, most
}

// likeness counts the words of a line in a fact: rare ones count more, and so does what belongs to a thread or to here.
func (t *teller) likeness(words []string, f *fact) int {
	score := 0
	for _, w := range words {
		if !slices.Contains(f.words, w) {
			continue
		}
		if t.t == chinese && len(w) < 4 { // a single character says little, several of them say something
			score += 10 + 60/max(1, t.w.common[w])
			continue
		}
		score += 40 + 80/max(1, t.w.common[w])
	}
	switch {
	case score == 0:
	case f.owner != nil && f.owner.kind == aThread:
		score += 20
	case f.owner == t.m.place:
		score += 10
	}
	return score
}

// enough is the likeness from which a fact has to do with a line.
func (t *teller) enough(words []string) int {
	if t.t == chinese {
		if len(words) == 1 { // asked for by a single character, which is all there is to go by
			return 10
		}
		return 45
	}
	return 50
}

// local keeps out what the world says about other places and about people who are not here.
func (t *teller) local(f *fact) bool {
	o := f.owner
	return o == nil || !(o.kind == aPlace && o != t.m.place || o.kind == aPerson && !t.isHere(o))
}

// seen finds what there is to know about a thing that is looked at or handled.
func (t *teller) seen(a act) *fact {
	if a.topic != nil {
		if f := t.about(a.topic, nil); f != nil {
			return f
		}
	}
	f, _ := t.found(a.words, t.local)
	return f
}

// answerTo finds what there is to say about a topic or about the words of a line, and how well it fits.
func (t *teller) answerTo(a act, ok func(*fact) bool) (*fact, int) {
	if a.topic != nil {
		if f := t.about(a.topic, ok); f != nil {
			return f, 1000
		}
	}
	if a.topic == nil || a.topic.kind == aTopic {
		return t.found(a.words, ok)
	}
	return nil, 0
}

// speakable tells whether somebody could say a fact: nobody speaks of themselves by name.
func speakable(who *entity) func(*fact) bool {
	return func(f *fact) bool {
		return f.owner != who && !f.nameless() && !slices.Contains(f.mentions, who) && !strings.HasPrefix(f.text, "“") && !dependent(english, f.text)
	}
}

// nameless tells of a fact about a person that does not say who it is: it can only be told right after the name.
func (f *fact) nameless() bool {
	return f.owner != nil && f.owner.kind == aPerson && !strings.Contains(f.text, f.owner.short()) && !strings.Contains(f.text, f.owner.shown)
}

// thread gives the open thread to move along: the one that was told last as long as something of it is untold, else
// one that touches this place or somebody here, else the first with something left.
func (t *teller) thread() (*entity, *fact) {
	var best *entity
	top := -1
	for i, th := range t.w.threads {
		if t.next(th.facts, nil) == nil {
			continue
		}
		score := len(t.w.threads) - i
		for _, f := range th.facts {
			if told := t.m.told(f.grams); told > 0 {
				score += 100 + told
			}
			for _, e := range f.mentions {
				if e == t.m.place || e.home != nil && e.home == t.m.place {
					score += 3
				}
			}
		}
		if score > top {
			best, top = th, score
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, t.next(best.facts, nil)
}

// latestThread is the thread that was told last, nil when none was told.
func (t *teller) latestThread() *entity {
	var best *entity
	at := 0
	for _, th := range t.w.threads {
		for _, f := range th.facts {
			if told := t.m.told(f.grams); told > at {
				best, at = th, told
			}
		}
	}
	return best
}

// placeFact gives something new about the place: its own text first, then what else the world says of it.
func (t *teller) placeFact() *fact {
	if t.m.place == nil {
		return t.next(t.w.general, nil)
	}
	return t.about(t.m.place, func(f *fact) bool { return f.owner == nil || f.owner.kind != aPerson })
}

// anyFact gives something new about the world at large.
func (t *teller) anyFact(ok func(*fact) bool) *fact {
	if f := t.next(t.w.general, ok); f != nil {
		return f
	}
	for _, e := range t.w.topics {
		if f := t.next(e.facts, ok); f != nil {
			return f
		}
	}
	return nil
}

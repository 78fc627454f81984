package storyteller

import (
	"slices"
	"strings"
)

// Lengths of a passage, in English words and Chinese characters. An opening may be a little longer.
const (
	leastEnglish, mostEnglish = 120, 250
	leastChinese, mostChinese = 205, 410
	openingMoreEnglish        = 70
	openingMoreChinese        = 110
	leastSegments             = 3
	mostSegments              = 6
)

// passage writes the story of one turn.
func passage(w *world, m *memory, b *brief, seed uint64) []*segment {
	t := newTeller(w, m, seed)
	extra := 0
	var acts []act
	if b.begin {
		extra = openingMoreEnglish
		if t.t == chinese {
			extra = openingMoreChinese
		}
		t.opening()
	} else {
		acts = t.turn(b.line)
	}
	t.stretch()
	t.anchor()
	t.nod(acts)
	t.shrink(extra)
	return t.finish()
}

// turn answers a line: first the act, then somebody who was there, then what the story needs, then an open end.
func (t *teller) turn(line string) []act {
	acts := understand(t.w, line, t.present())
	for i := range acts {
		t.respond(&acts[i])
	}
	if t.doing = acts[0].verb; acts[0].negated || acts[0].device != nil || t.lost {
		t.doing = ""
	}
	next := t.chooseBeat(acts)
	if next == beatQuiet || next == beatComplicate || next == beatConsequence {
		t.bystander()
	}
	if !t.turnBeat(next) && next != beatQuiet {
		next = beatQuiet
		t.bystander()
	}
	if next != beatComplicate {
		t.hook()
	}
	return acts
}

// nod makes sure that every name the player used is taken up.
func (t *teller) nod(acts []act) {
	text := textOf(t.segs)
	for _, a := range acts {
		for _, e := range a.named {
			if e.shown == "" || mentions(text, e) {
				continue
			}
			if t.slots["topic"] = t.entityName(e); t.slots["topic"] == "" {
				continue
			}
			if s := t.pick("nod"); s != "" {
				first := t.segs[0]
				first.lines = append(first.lines, passageLine{text: s})
				t.note(s)
				text += s
			}
		}
	}
}

// anchor names the place in the first turns, when a reader still needs to be told where the story is.
func (t *teller) anchor() {
	if t.m.place == nil || t.m.turn > 3 || mentions(textOf(t.segs), t.m.place) {
		return
	}
	if s := t.pick("anchor"); s != "" {
		v := t.viewSegment()
		v.lines = append(v.lines, passageLine{text: s})
		t.note(s)
	}
}

// viewSegment is the segment in which there is room for what can be seen and known. A passage that goes from the act
// straight to speech gets one after the speech.
func (t *teller) viewSegment() *segment {
	for _, s := range t.segs {
		if s.role == roleView {
			return s
		}
	}
	at := min(1, len(t.segs))
	for at < len(t.segs) && (t.segs[at].role == rolePerson || t.segs[at].role == roleSpeech) {
		at++
	}
	if at == len(t.segs) && at > 0 && t.asked { // the question stays last
		at = min(1, len(t.segs))
	}
	v := &segment{Kind: narration, role: roleView}
	t.segs = slices.Insert(t.segs, at, v)
	return v
}

// length counts English words or Chinese characters.
func length(t tongue, s string) int {
	if t == chinese {
		n := 0
		for _, r := range s {
			if isHan(r) || isWide(r) {
				n++
			}
		}
		return n
	}
	return len(strings.Fields(s))
}

func (t *teller) length() int { return length(t.t, textOf(t.segs)) }

func (t *teller) limits() (least, most int) {
	if t.t == chinese {
		return leastChinese, mostChinese
	}
	return leastEnglish, mostEnglish
}

// stretch brings a short passage up to length, each thing where it belongs: facts to what can be known, a further word
// to what somebody says, details behind them, a quiet moment before the end.
func (t *teller) stretch() {
	least, _ := t.limits()
	steps := []func() bool{t.moreAct, t.moreFacts, t.moreMoment, t.moreDetail, t.moreSpeech, t.moreLore, t.moreQuiet, t.moreRecall, t.moreFacts, t.moreSpeech, t.moreLore, t.moreRecall, t.moreDetail, t.moreDetail}
	for grown := true; grown && t.length() < least; {
		grown = false
		for _, step := range steps {
			if t.length() >= least {
				break
			}
			grown = step() || grown
		}
	}
	if len(t.segs) < leastSegments {
		t.open(roleEnd)
		t.line("hook", "quiet")
	}
}

// moreAct goes on about what the player does.
func (t *teller) moreAct() bool {
	if len(t.segs) == 0 || t.segs[0].role != roleAct || len(t.segs[0].lines) == 0 {
		return false
	}
	after := afterOf(t.doing)
	if after == "go" && t.m.cameAt != t.m.turn {
		after = "act" // the way led nowhere
	}
	s := t.pick("after." + after)
	if s == "" {
		return false
	}
	act := t.segs[0]
	at := 1
	act.lines = slices.Insert(act.lines, at, passageLine{text: s, spare: true})
	t.note(s)
	return true
}

// afterOf names the pool in which an act of some kind goes on.
func afterOf(v verb) string {
	switch v {
	case "touch", "read", doLook:
		return "look"
	case doGo, doLeave:
		return "go"
	case "greet", "thank", "apologise", doAgree, doRefuse, "threaten", "invite", doSay:
		return "say"
	case "give", "show":
		return "give"
	case "use", "open", "make":
		return "use"
	case "wait", "sleep", "eat", "listen", doContinue:
		return "wait"
	case "perform", doOther:
		return "act"
	}
	return string(v)
}

func (t *teller) moreFacts() bool {
	f := t.placeFact()
	if f == nil {
		return false
	}
	t.usedFacts[f] = true
	v := t.viewSegment()
	at := 0
	for i, l := range v.lines { // facts stay together
		if l.fact {
			at = i + 1
		}
	}
	v.lines = slices.Insert(v.lines, at, passageLine{text: f.text, spare: true, fact: true})
	t.note(f.text)
	return true
}

// moreMoment adds a small scene: somebody at what they do, or the player alone with the place.
func (t *teller) moreMoment() bool {
	var s string
	if t.m.turn == 1 {
		return false // nobody has been introduced yet
	}
	if here := t.present(); len(here) > 0 {
		who := here[0]
		if t.spokeLast != nil && t.isHere(t.spokeLast) {
			who = t.spokeLast
		}
		t.focus(who)
		if g := t.gestureLine(); g != nil && !strings.Contains(strings.Replace(textOf(t.segs), g.text, "", 1), who.shown) {
			t.mentioned = slices.DeleteFunc(t.mentioned, func(e *entity) bool { return e == who }) // the full name goes with the gesture
		}
		if t.m.wary(who) {
			s = t.pick("tension")
		} else {
			s = t.pick("moment")
		}
	} else {
		s = t.pick("moment.alone")
	}
	if s == "" {
		return false
	}
	if g := t.gestureLine(); g != nil { // it takes the place of a gesture
		*g = passageLine{text: s}
		t.note(s)
		return true
	}
	v := t.viewSegment()
	v.lines = append(v.lines, passageLine{text: s, spare: true})
	t.note(s)
	return true
}

// gestureLine is the one gesture that stands alone before somebody speaks, nil when there is none.
func (t *teller) gestureLine() *passageLine {
	for _, seg := range t.segs {
		if seg.role == rolePerson && len(seg.lines) == 1 && seg.lines[0].gesture {
			return &seg.lines[0]
		}
	}
	return nil
}

// moreLore adds what everybody knows, with a word that says so.
func (t *teller) moreLore() bool {
	f := t.anyFact(nil)
	if here := t.present(); f == nil || len(here) > 0 && t.m.wary(here[0]) {
		return false
	}
	return t.spareFact("lore.lead", f)
}

// spareFact tells a fact with words that lead to it; both can be spared.
func (t *teller) spareFact(key string, f *fact) bool {
	lead := t.pick(key)
	if lead == "" {
		return false
	}
	t.usedFacts[f] = true
	v := t.viewSegment()
	v.lines = append(v.lines, passageLine{text: lead, spare: true}, passageLine{text: f.text, spare: true, fact: true})
	t.note(lead)
	t.note(f.text)
	return true
}

// moreSpeech lets somebody who speaks say one thing more, before the question that ends it.
func (t *teller) moreSpeech() bool {
	for _, s := range t.segs {
		if s.role != roleSpeech || len(s.lines) > 4 || t.m.wary(s.who) || t.quotesWorld(s) {
			continue
		}
		f := t.small(s.who)
		if f == nil {
			continue
		}
		t.focus(s.who)
		lead := t.pick("v.turn")
		if lead == "" {
			continue
		}
		t.usedFacts[f] = true
		at := len(s.lines)
		if s.lines[at-1].asks {
			at--
		}
		s.lines = slices.Insert(s.lines, at, passageLine{text: lead, spare: true}, passageLine{text: f.text, spare: true, fact: true})
		t.note(lead)
		t.note(f.text)
		return true
	}
	return false
}

// quotesWorld tells whether a speech already holds a piece of the world's own text; two would not follow from each other.
func (t *teller) quotesWorld(s *segment) bool {
	for f := range t.usedFacts {
		for _, l := range s.lines {
			if l.text == f.text {
				return true
			}
		}
	}
	return false
}

func (t *teller) moreDetail() bool {
	s := t.pick("detail")
	if s == "" {
		return false
	}
	v := t.viewSegment()
	v.lines = append(v.lines, passageLine{text: s, spare: true})
	t.note(s)
	return true
}

func (t *teller) moreQuiet() bool {
	s := t.pick("quiet")
	if s == "" || len(t.segs) == 0 {
		return false
	}
	last := t.segs[len(t.segs)-1]
	if last.role != roleEnd && last.role != roleBeat {
		last = t.viewSegment()
		last.lines = append(last.lines, passageLine{text: s, spare: true})
	} else {
		last.lines = slices.Insert(last.lines, 0, passageLine{text: s, spare: true})
	}
	t.note(s)
	return true
}

// moreRecall brings back something that was told long ago.
func (t *teller) moreRecall() bool {
	f := t.again(t.w.all, nil)
	if f == nil {
		return false
	}
	return t.spareFact("recall.fact", f)
}

// shrink takes out what can be spared, from the end, and then what else is not the act, speech or the end.
func (t *teller) shrink(extra int) {
	_, most := t.limits()
	most += extra
	for _, all := range []bool{false, true} {
		for i := len(t.segs) - 2; i > 0; i-- {
			seg := t.segs[i]
			for j := len(seg.lines) - 1; j >= 0 && t.length() > most; j-- {
				if seg.lines[j].spare || all && seg.role == roleView && len(seg.lines) > 1 {
					seg.lines = slices.Delete(seg.lines, j, j+1)
				}
			}
		}
	}
}

// finish joins the lines and keeps the number of segments in range by joining neighbours of the same kind.
func (t *teller) finish() []*segment {
	var out []*segment
	for _, s := range t.segs {
		if len(s.lines) == 0 {
			continue
		}
		texts := make([]string, len(s.lines))
		for i, l := range s.lines {
			texts[i] = l.text
		}
		s.Text = strings.Join(texts, t.space())
		if s.Kind == dialogue {
			s.Text = quote(s.Text)
		}
		out = append(out, s)
	}
	for len(out) > mostSegments {
		at := -1
		for i := 0; i+1 < len(out); i++ {
			if out[i].Kind != dialogue && out[i+1].Kind != dialogue && (at < 0 || len(out[i].Text)+len(out[i+1].Text) < len(out[at].Text)+len(out[at+1].Text)) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		out[at].Text += t.space() + out[at+1].Text
		out = slices.Delete(out, at+1, at+2)
	}
	return out
}

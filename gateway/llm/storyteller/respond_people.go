package storyteller

import "strings"

// ask lets somebody answer from what the world says; nobody answers what they cannot know.
func (t *teller) ask(a act) {
	who := t.addressee(a)
	switch {
	case who == nil:
		t.lost = true
		t.open(roleAct)
		t.line("do.ask.nobody")
		t.open(roleView)
		if f, _ := t.answerTo(a, nil); !t.tell(f, false) {
			t.tell(t.placeFact(), false)
		}
		t.way()
		return
	case !t.isHere(who):
		if here := t.talkers(); len(a.people) == 1 && len(here) > 0 && a.topic == nil && a.question {
			a.topic, a.people = who, nil // "Who is Tam?" asks about Tam
			t.set(a)
			t.answer(here[0], a)
			return
		}
		t.missing(who)
		return
	}
	t.answer(who, a)
}

// answer is the heart of a conversation: the question, how it is taken, and what comes of it.
func (t *teller) answer(who *entity, a act) {
	t.focus(who)
	t.open(roleAct)
	switch {
	case a.speech != "" && a.topic == nil:
		t.line("do.ask.said", "do.ask")
	case a.topic == who:
		t.line("do.ask.self", "do.ask")
	case t.slots["topic"] != "":
		t.line("do.ask.topic", "do.ask")
	default:
		t.line("do.ask")
	}
	if who.mute {
		f, _ := t.answerTo(a, func(f *fact) bool { return f.owner != who })
		t.answerBeast(who, f)
		if f == nil {
			t.open(roleView)
			t.tell(t.about(who, nil), true)
		}
		return
	}
	if t.m.wary(who) {
		t.open(rolePerson)
		t.line("wary")
		t.speak(who, t.pick("v.wary"))
		return
	}
	if a.topic == who {
		t.aboutSelf(who)
		return
	}
	f, fit := t.answerTo(a, speakable(who))
	any, better := t.answerTo(a, nil)
	ofThem := a.topic == nil && (spokenTo.MatchString(a.raw) || strings.ContainsAny(a.raw, "你您")) // what they themselves have seen or done
	if f == nil && any == nil && a.topic == nil && len(a.words) == 0 && !ofThem {
		f = t.small(who)
	}
	if f != nil && better <= fit+10 {
		t.usedFacts[f] = true
		t.gesture()
		t.speak(who, t.pick("v.open"), f.text, t.pick("v.close"))
		return
	}
	if any != nil { // it is about the one who was asked: the story tells it
		t.open(roleView)
		t.line("evade")
		t.tell(any, false)
		return
	}
	if ofThem {
		t.aboutSelf(who)
		return
	}
	t.gesture()
	if a.topic != nil && t.knownAlready(a.topic) {
		t.speak(who, t.pick("v.again", "v.unknown"), t.redirect(who))
		return
	}
	t.speak(who, t.pick("v.unknown"), t.redirect(who))
}

// aboutSelf answers a question about the person who is asked.
func (t *teller) aboutSelf(who *entity) {
	t.open(roleView)
	t.line("evade", "gesture.line")
	if !t.tell(t.next(who.facts, nil), false) {
		t.speak(who, t.pick("v.self"))
		return
	}
	t.speak(who, t.pick("v.self"))
}

// knownAlready tells whether the story has told something of an entity.
func (t *teller) knownAlready(e *entity) bool {
	for _, f := range e.facts {
		if t.m.told(f.grams) > 0 {
			return true
		}
	}
	return false
}

// redirect names somebody who may know more.
func (t *teller) redirect(who *entity) string {
	others := t.w.elsewhere(t.m.place)
	if len(others) == 0 {
		return ""
	}
	t.there = t.somewhere(others)
	t.b = nil
	for _, p := range t.w.people {
		if p.home == t.there && p != who && p.shown != "" && !p.mute {
			t.b = p
		}
	}
	if t.b == nil {
		return t.pick("v.point")
	}
	return t.pick("v.offer", "v.point")
}

// small is something to talk about when the player asked nothing in particular.
func (t *teller) small(who *entity) *fact {
	ok := speakable(who)
	if t.m.place != nil {
		if f := t.about(t.m.place, ok); f != nil {
			return f
		}
	}
	return t.anyFact(ok)
}

// talk answers everything that is said and is no question.
func (t *teller) talk(a act) {
	who := t.addressee(a)
	t.open(roleAct)
	pool := "do." + string(a.verb)
	switch {
	case who == nil:
		t.line("do.say.nobody")
		return
	case !t.isHere(who):
		t.missing(who)
		return
	}
	t.focus(who)
	if a.speech != "" {
		t.line(pool+".said", "do.say.said", pool)
	} else {
		t.line(pool, "do.say")
	}
	if t.m.wary(who) && a.verb != "apologise" && a.verb != "threaten" {
		t.open(rolePerson)
		t.line("wary")
		t.speak(who, t.pick("v.wary"))
		return
	}
	switch a.verb {
	case "greet":
		t.open(rolePerson)
		if t.m.met(who) {
			t.gesture()
		} else {
			t.introduce(who, true)
		}
		t.speak(who, t.pick("v.greet"))
	case "thank":
		t.gesture()
		t.speak(who, t.pick("v.thanked"))
	case "apologise":
		t.line("soften")
		t.speak(who, t.pick("v.sorry"))
	case doAgree:
		t.gesture()
		th, f := t.thread()
		if f != nil && speakable(who)(f) && !f.question && t.m.turn-t.m.threadAt > 1 {
			t.usedFacts[f] = true
			t.m.threadAt = t.m.turn
			t.slots["thread"] = t.entityName(th)
			said := t.pick("v.yes")
			if f.leans(t.t) {
				said = joinSentences(t.t, said, t.pick("v.about"))
			}
			t.speak(who, strings.TrimSpace(said), f.text)
			return
		}
		t.speak(who, t.pick("v.yes"), t.redirect(who))
	case doRefuse:
		t.gesture()
		t.speak(who, t.pick("v.no"))
	case "threaten":
		t.m.deeds = append(t.m.deeds, deed{turn: t.m.turn, verb: a.verb, who: who})
		t.open(rolePerson)
		t.line("recoil")
		t.speak(who, t.pick("v.hurt"))
		t.asked = false
	case "invite":
		t.gesture()
		t.speak(who, t.pick("v.invited"))
	default:
		f, _ := t.answerTo(a, speakable(who))
		t.gesture()
		if f != nil {
			t.usedFacts[f] = true
			t.speak(who, t.pick("v.tell"), f.text)
			return
		}
		if f = t.small(who); f != nil && t.dice.below(2) == 0 {
			t.usedFacts[f] = true
			t.speak(who, t.pick("v.tell"), t.pick("v.turn"), f.text)
			return
		}
		t.speak(who, t.pick("v.tell"), t.pick("v.remark"))
	}
}

// offerTo is for what a player does for somebody or holds out to them: give, show, help.
func (t *teller) offerTo(a act) {
	who := t.addressee(a)
	t.open(roleAct)
	pool := "do." + string(a.verb)
	switch {
	case who == nil:
		t.line(pool+".nobody", "do.act")
		return
	case !t.isHere(who):
		t.missing(who)
		return
	}
	t.focus(who)
	if a.thing != "" {
		t.line(pool+".thing", pool)
	} else {
		t.line(pool)
	}
	t.open(roleView)
	if f, _ := t.found(a.words, func(f *fact) bool { return f.owner != who }); a.verb == "show" && f != nil {
		t.tell(f, false)
	}
	if a.verb == "help" {
		t.line("helped")
	} else {
		t.gesture()
	}
	t.speak(who, t.pick("v.thanks"))
}

// fight never decides who is hurt: it is an attempt that costs trust.
func (t *teller) fight(a act) {
	t.open(roleAct)
	if len(a.people) == 0 {
		if a.thing != "" {
			t.line("do.fight.thing", "do.fight.nobody")
		} else {
			t.line("do.fight.nobody")
		}
		t.open(roleView)
		if here := t.talkers(); len(here) > 0 {
			t.focus(here[0])
			t.open(rolePerson)
			t.line("recoil")
			t.speak(here[0], t.pick("v.hurt"))
		}
		return
	}
	who := a.people[0]
	if !t.isHere(who) {
		t.missing(who)
		return
	}
	t.focus(who)
	t.m.deeds = append(t.m.deeds, deed{turn: t.m.turn, verb: a.verb, who: who})
	t.line("do.fight")
	t.open(rolePerson)
	t.line("recoil")
	if t.b != nil && !t.b.mute {
		t.line("bystanders")
	}
	t.speak(who, t.pick("v.hurt"))
	t.asked = false // not a question that waits for an answer
}

func (t *teller) followSomebody(a act) {
	if len(a.people) == 0 {
		t.open(roleAct)
		if a.thing != "" {
			t.line("do.follow.thing", "do.go.nowhere")
		} else {
			t.line("do.go.nowhere")
		}
		t.open(roleView)
		if !t.tell(t.seen(a), false) {
			t.tell(t.placeFact(), false)
		}
		return
	}
	who := a.people[0]
	if !t.isHere(who) {
		t.missing(who)
		return
	}
	t.focus(who)
	t.open(roleAct)
	t.line("do.follow")
	t.open(roleView)
	if !t.tell(t.about(who, nil), false) {
		t.detail()
	}
	t.speak(who, t.pick("v.followed"))
}

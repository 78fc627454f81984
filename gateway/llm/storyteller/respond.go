package storyteller

import (
	"slices"
	"strings"
)

// respond writes how the world answers one act of the player.
func (t *teller) respond(a *act) {
	t.set(*a)
	if a.negated {
		t.open(roleAct)
		t.line("do.not")
		return
	}
	if a.device == nil && a.verb != doOutside && a.verb != doStray {
		if d, since := openDevice(t.bank, t.m); d != nil && d.concerns(*a) {
			a.device = d
			t.there = d.leadsTo(t.w, t.m, since)
		}
	}
	if a.device != nil && t.pursue(*a) {
		return
	}
	switch a.verb {
	case doLook:
		t.look(*a)
	case "search", "listen", "touch":
		t.sense(*a)
	case doGo:
		t.travel(*a)
	case doLeave:
		t.leave(*a)
	case doAsk:
		t.ask(*a)
	case doSay, "greet", "thank", "apologise", doAgree, doRefuse, "threaten", "invite":
		t.talk(*a)
	case "give", "show", "help":
		t.offerTo(*a)
	case "fight":
		t.fight(*a)
	case "follow":
		t.followSomebody(*a)
	case "take", "use", "put", "drop", "open", "read", "make", "knock":
		t.handle(*a)
	case doHint:
		t.hint()
	default: // wait, sleep, eat, perform, think, hide, act, mutter, stray, outside, continue
		t.pause(*a)
	}
}

// set fills the slots that come from the player's line.
func (t *teller) set(a act) {
	t.slots["thing"], t.slots["doing"], t.slots["said"] = a.thing, a.doing, a.speech
	t.slots["topic"], t.slots["where"] = "", a.where
	if a.topic != nil {
		t.slots["topic"] = t.entityName(a.topic)
	}
	if t.slots["topic"] == "" {
		t.slots["topic"] = a.thing
	}
	t.there = nil
	if a.place != nil && a.place != t.m.place {
		t.there = a.place
	}
	if who := t.addressee(a); who != nil {
		t.focus(who)
	}
}

// entityName is how a thing with a name stands in a sentence; a name that is a whole sentence cannot.
func (t *teller) entityName(e *entity) string {
	if e.shown == "" || e.kind == aThread && runeCount(e.shown) > 32 {
		return ""
	}
	return t.placeName(e)
}

// addressee is whom an act is meant for: the named one, even when absent, else whoever spoke last.
func (t *teller) addressee(a act) *entity {
	if len(a.people) > 0 {
		return a.people[0]
	}
	if here := t.talkers(); len(here) > 0 {
		return here[0]
	}
	return nil
}

// missing tells of somebody who is not here and where to find them.
func (t *teller) missing(who *entity) {
	t.focus(who)
	t.lost = true
	t.there = who.home
	t.open(roleAct)
	t.line("absent", "absent.plain")
	if here := t.talkers(); len(here) > 0 {
		t.focus(here[0])
		t.b = who
		t.line("absent.helper")
	}
	if f := t.about(who, nil); f != nil {
		t.open(roleView)
		t.tell(f, false)
	}
}

func (t *teller) look(a act) {
	t.open(roleAct)
	switch {
	case a.self:
		t.line("do.look.self")
		t.selfKnowledge()
	case len(a.people) > 0 && !t.isHere(a.people[0]):
		t.missing(a.people[0])
	case len(a.people) > 0:
		t.line("do.look.person")
		t.introduce(a.people[0], false)
	case a.place != nil && a.place != t.m.place:
		t.line("do.look.far")
		t.open(roleView)
		t.tell(t.about(a.place, nil), false)
	case a.place == nil && (a.thing != "" || a.topic != nil):
		f := t.seen(a)
		if a.thing == "" {
			t.slots["thing"] = t.slots["topic"]
		}
		t.line("do.look.thing")
		if f != nil {
			t.open(roleView)
			t.tell(f, false)
			return
		}
		t.line("do.look."+sortOfThing(a.thing), "do.look.blank")
		t.open(roleView)
		t.detail()
	default:
		t.line("do.look.around")
		t.open(roleView)
		if !t.tell(t.placeFact(), false) {
			t.detail()
		}
		t.detail()
		t.whoIsHere()
	}
}

// detail adds something for the senses that suits the place and the hour.
func (t *teller) detail() bool { return t.line("detail") }

// whoIsHere says who is present, in one sentence.
func (t *teller) whoIsHere() {
	here := t.present()
	if len(here) == 0 {
		t.line("here.nobody")
		return
	}
	t.focus(here[0])
	if len(here) > 1 && !here[0].mute && !here[1].mute {
		t.line("here.two", "here.one")
		return
	}
	t.line("here.one")
}

// introduce says who somebody is, from the author's text.
func (t *teller) introduce(who *entity, lead bool) {
	t.focus(who)
	t.open(rolePerson)
	f := t.next(who.facts, nil)
	if lead {
		if who.epithet != "" && !t.m.met(who) && (f == nil || !saysSame(t.t, who.epithet, f)) {
			t.line("meet.epithet", "meet")
		} else {
			t.line("meet")
		}
	}
	if t.tell(f, false) {
		return
	}
	if !lead {
		if who.epithet != "" && t.line("person.epithet") {
			return
		}
		t.line("person.blank")
	}
}

// saysSame tells whether a fact says what an epithet says.
func saysSame(t tongue, epithet string, f *fact) bool {
	words := contentWords(t, epithet)
	n := 0
	for _, w := range words {
		if slices.Contains(f.words, w) {
			n++
		}
	}
	return strings.Contains(f.text, epithet) || n*10 >= len(words)*3
}

func (t *teller) sense(a act) {
	t.open(roleAct)
	f := t.seen(a)
	pool := "do." + string(a.verb)
	if a.thing != "" {
		t.line(pool+".thing", pool)
	} else {
		t.line(pool)
	}
	t.open(roleView)
	if f == nil && a.verb == "search" {
		f = t.placeFact()
	}
	if t.tell(f, false) {
		return
	}
	t.line("found."+string(a.verb), "found")
	t.detail()
}

// travel takes the player to a place that the world knows; every other way ends where it began, with something seen.
func (t *teller) travel(a act) {
	t.open(roleAct)
	switch {
	case a.place == nil && len(a.people) > 0 && t.isHere(a.people[0]):
		t.line("do.approach")
		t.open(roleView)
		t.introduce(a.people[0], false)
	case a.place == nil && len(a.people) > 0 && a.people[0].home != nil:
		t.arrive(a.people[0].home)
	case a.place == nil:
		if a.thing != "" {
			t.line("do.go.thing", "do.go.nowhere")
		} else {
			t.line("do.go.nowhere")
		}
		t.open(roleView)
		if !t.tell(t.seen(a), false) {
			t.tell(t.placeFact(), false)
		}
		t.way()
	case a.place == t.m.place:
		t.line("do.go.same")
		t.open(roleView)
		if !t.tell(t.placeFact(), false) {
			t.detail()
		}
	default:
		t.arrive(a.place)
	}
}

// arrive moves the scene and shows the new place and who is there.
func (t *teller) arrive(to *entity) {
	t.there = to
	t.line("do.go.arrive")
	t.m.move(to, t.m.turn)
	t.there = nil
	t.placed = 1
	t.setScene()
	t.open(roleView)
	if !t.tell(t.placeFact(), false) {
		t.line("place.known")
	}
	if !t.tell(t.placeFact(), true) {
		t.detail()
	}
	here := t.present()
	if len(here) == 0 {
		t.line("here.nobody")
		return
	}
	for _, p := range here {
		if !t.m.met(p) {
			t.introduce(p, true)
			return
		}
	}
	t.focus(here[0])
	t.open(rolePerson)
	if t.m.comesAlong(here[0]) {
		t.line("here.with", "here.one")
		return
	}
	t.line("here.again", "here.one")
}

// leave goes back where the player came from, or to the nearest place.
func (t *teller) leave(a act) {
	if a.place != nil && a.place != t.m.place {
		t.travel(a)
		return
	}
	to := t.m.from
	if to == nil || to == t.m.place {
		if others := t.w.elsewhere(t.m.place); len(others) > 0 {
			to = others[0]
		}
	}
	t.open(roleAct)
	if to == nil {
		t.line("do.leave.nowhere", "do.go.nowhere")
		return
	}
	t.arrive(to)
}

// way names a place one could go to and who is found there.
func (t *teller) way() bool {
	others := t.w.elsewhere(t.m.place)
	if len(others) == 0 {
		return false
	}
	if t.there == nil || t.there == t.m.place {
		t.there = t.somewhere(others)
	}
	a, b := t.a, t.b
	defer func() { t.a, t.b = a, b }()
	t.b = nil
	for _, p := range t.w.people {
		if p.home == t.there && p.shown != "" && !p.mute && !t.m.comesAlong(p) {
			t.b = p
			break
		}
	}
	return t.line("way.person", "way")
}

// somewhere chooses a place to point at: one where the player has not been, as long as there is any.
func (t *teller) somewhere(places []*entity) *entity {
	var fresh []*entity
	for _, p := range places {
		if !t.m.been[p] {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		places = fresh
	}
	return places[t.dice.below(len(places))]
}

// hint is for a player who asks what there is to do: the story answers, not a menu.
func (t *teller) hint() {
	t.open(roleAct)
	t.line("do.hint")
	here := t.talkers()
	if len(here) > 0 {
		t.focus(here[0])
		t.pointSomewhere(here[0])
		return
	}
	t.open(roleView)
	t.way()
	_, f := t.thread()
	t.tell(f, false)
}

// pointSomewhere lets somebody say where to go and whom to ask there.
func (t *teller) pointSomewhere(who *entity) bool {
	t.focus(who)
	others := t.w.elsewhere(t.m.place)
	if len(others) == 0 {
		return t.speak(who, t.pick("v.unknown"))
	}
	t.there = t.somewhere(others)
	t.b = nil
	for _, p := range t.w.people {
		if p.home == t.there && p != who && p.shown != "" && !p.mute {
			t.b = p
			break
		}
	}
	if t.b == nil {
		return t.speak(who, t.pick("v.point"))
	}
	return t.speak(who, t.pick("v.offer", "v.point"))
}

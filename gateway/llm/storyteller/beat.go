package storyteller

// beat is what a passage does after it has answered the player.
type beat string

// The beats. Answer and arrival come from the player's own act; the others are chosen by what the story needs.
const (
	beatThread      beat = "thread"      // an open thread moves on
	beatConsequence beat = "consequence" // something the player did or left undone comes back
	beatComplicate  beat = "complicate"  // something new is planted
	beatMeet        beat = "meet"        // somebody who is here and was not met yet
	beatOffer       beat = "offer"       // somebody says where to go
	beatQuiet       beat = "quiet"       // nothing but the place
)

// How many turns a thread rests, and how old a deed must be before it is recalled.
const (
	threadRests = 3
	deedRipens  = 2
)

// chooseBeat looks at what has rested longest. talked says that somebody has spoken in this passage already.
func (t *teller) chooseBeat(acts []act) beat {
	d, since := openDevice(t.bank, t.m)
	touched := false
	for _, a := range acts {
		touched = touched || a.device != nil || d != nil && d.concerns(a)
	}
	moved := t.m.cameAt == t.m.turn
	switch {
	case d != nil && !touched && t.m.turn-since >= 2 && !moved:
		return beatConsequence
	case t.m.turn-t.m.threadAt >= threadRests && t.threadLeft():
		return beatThread
	case !moved && t.unmet() != nil && t.m.turn%2 == 0:
		return beatMeet
	case t.ripeDeed() != nil && t.m.turn%3 != 1:
		return beatConsequence
	case d == nil && t.m.turn-t.lastPlanted() >= 3:
		return beatComplicate
	case !moved && t.unmet() != nil:
		return beatMeet
	case len(t.talkers()) > 0 && t.dice.below(2) == 0:
		return beatOffer
	}
	return beatQuiet
}

func (t *teller) threadLeft() bool { _, f := t.thread(); return f != nil }

func (t *teller) lastPlanted() int {
	at := 0
	for _, d := range t.bank.devices {
		at = max(at, d.toldAt(t.m, stageSeed))
	}
	return at
}

// unmet is somebody here whom the story has not named.
func (t *teller) unmet() *entity {
	for _, p := range t.present() {
		if !t.m.met(p) && !containsEntity(t.mentioned, p) {
			return p
		}
	}
	return nil
}

func containsEntity(list []*entity, e *entity) bool {
	for _, x := range list {
		if x == e {
			return true
		}
	}
	return false
}

// ripeDeed is a deed towards somebody present that is old enough to come back and has not yet.
func (t *teller) ripeDeed() *deed {
	for i := len(t.m.deeds) - 1; i >= 0; i-- {
		d := &t.m.deeds[i]
		age := t.m.turn - d.turn
		if age < deedRipens || age > 6 || d.who == nil || d.who.mute || !t.isHere(d.who) || t.bank.pools["recall."+string(d.verb)] == nil {
			continue
		}
		recalled := false
		for _, p := range t.bank.pools["recall."+string(d.verb)] {
			recalled = recalled || t.m.told(p.grams) > d.turn
		}
		if !recalled {
			return d
		}
	}
	return nil
}

// turnBeat writes the chosen beat. It gives false when there was nothing to write after all.
func (t *teller) turnBeat(b beat) bool {
	switch b {
	case beatThread:
		return t.moveThread()
	case beatConsequence:
		return t.consequence()
	case beatComplicate:
		return t.plant()
	case beatMeet:
		who := t.unmet()
		if who == nil {
			return false
		}
		t.introduce(who, true)
		if !t.spoken() {
			t.speak(who, t.pick("v.greet"), t.pick("v.ask"))
		}
		return true
	case beatOffer:
		here := t.talkers()
		if len(here) == 0 || t.spoken() {
			return false
		}
		t.focus(here[0])
		t.open(rolePerson)
		t.gesture()
		return t.pointSomewhere(here[0])
	}
	t.open(roleBeat)
	return t.line("quiet")
}

func (t *teller) spoken() bool { return t.spokeLast != nil }

// moveThread tells the next piece of an open thread: somebody says it, or it shows.
func (t *teller) moveThread() bool {
	th, f := t.thread()
	if f == nil {
		return false
	}
	t.slots["thread"] = t.entityName(th)
	t.m.threadAt = t.m.turn
	for _, p := range t.talkers() {
		if t.spokeLast == p || f.question || !speakable(p)(f) || t.m.wary(p) || len(t.segs) > 4 {
			continue
		}
		t.focus(p)
		t.open(rolePerson)
		t.line("thread.lead")
		t.usedFacts[f] = true
		return t.speak(p, t.aboutThread(f, "v.open"), f.text, t.pick("v.ask"))
	}
	t.open(roleBeat)
	t.signOf(f)
	return t.tell(f, false)
}

// aboutThread is what somebody says before a piece of a thread: its name when the piece leans on it ("The bracket that
// holds it …"), else anything from the pool.
func (t *teller) aboutThread(f *fact, pool string) string {
	if f.leans(t.t) {
		if s := t.pick("v.about"); s != "" {
			return s
		}
	}
	return t.pick(pool)
}

// signOf leads over to a piece of a thread that is told and not said.
func (t *teller) signOf(f *fact) {
	if f.leans(t.t) && t.line("thread.sign.named") {
		return
	}
	t.line("thread.sign")
}

// consequence brings back what the player did, or ends a device that nobody picked up.
func (t *teller) consequence() bool {
	if d, since := openDevice(t.bank, t.m); d != nil && t.m.turn-since >= 2 {
		t.there = d.leadsTo(t.w, t.m, since)
		t.open(roleBeat)
		return t.put(t.pickFrom(d.pools[stageGone]), false)
	}
	d := t.ripeDeed()
	if d == nil {
		return false
	}
	t.focus(d.who)
	was := t.slots["thing"]
	t.slots["thing"] = d.thing
	t.open(roleBeat)
	ok := t.line("recall." + string(d.verb))
	t.slots["thing"] = was
	return ok
}

// plant puts a new device into the scene, one that has rested longest.
func (t *teller) plant() bool {
	devices := t.bank.devices
	if len(devices) == 0 {
		return false
	}
	start := t.dice.below(len(devices))
	var best *device
	oldest := t.m.turn + 1
	for i := range devices {
		d := devices[(start+i)%len(devices)]
		at := d.toldAt(t.m, stageSeed)
		if at > 0 && t.m.turn-at < 10 || at >= oldest {
			continue
		}
		t.there = d.leadsTo(t.w, t.m, t.m.turn)
		if !t.plantable(d) {
			continue
		}
		best, oldest = d, at
	}
	if best == nil {
		return false
	}
	t.there = best.leadsTo(t.w, t.m, t.m.turn)
	t.b = t.absentee()
	t.open(roleEnd)
	return t.put(t.pickFrom(best.pools[stageSeed]), false)
}

func (t *teller) plantable(d *device) bool {
	for _, p := range d.pools[stageSeed] {
		if p.allowed(t.tags) {
			return true
		}
	}
	return false
}

// absentee is somebody who is elsewhere, for things that are said of people behind their backs.
func (t *teller) absentee() *entity {
	var out []*entity
	for _, p := range t.w.people {
		if p.shown != "" && !p.mute && !t.isHere(p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[t.dice.below(len(out))]
}

// bystander lets somebody who is present have a part in a passage in which nobody has spoken.
func (t *teller) bystander() bool {
	here := t.talkers()
	if t.spoken() || len(here) == 0 {
		return false
	}
	who := here[0]
	if len(here) > 1 && t.m.spoken[who] == t.m.turn-1 && t.dice.below(2) == 0 {
		who = here[1]
	}
	t.focus(who)
	t.open(rolePerson)
	if !t.m.met(who) && !containsEntity(t.mentioned, who) {
		t.introduce(who, true)
	} else {
		t.gesture()
	}
	if t.m.wary(who) {
		return t.speak(who, t.pick("v.wary"))
	}
	if t.dice.below(3) == 0 {
		if f := t.small(who); f != nil {
			t.usedFacts[f] = true
			return t.speak(who, t.pick("v.turn"), f.text)
		}
	}
	return t.speak(who, t.pick("v.remark"))
}

// hook ends the passage with something to react to.
func (t *teller) hook() {
	if t.asked && t.segs[len(t.segs)-1].Kind == dialogue {
		return
	}
	here := t.talkers()
	if len(here) > 0 && !t.m.wary(here[0]) && t.dice.below(3) > 0 {
		who := here[0]
		if t.spokeLast != nil && t.isHere(t.spokeLast) {
			who = t.spokeLast
		}
		t.focus(who)
		last := t.segs[len(t.segs)-1]
		if last.Kind == dialogue && last.who == who {
			if q := t.pick("v.ask"); q != "" { // one breath: the speaker goes on and asks
				last.lines = append(last.lines, passageLine{text: q, asks: true})
				t.note(q)
				t.asked = true
				return
			}
		} else if q := t.pick("v.ask"); q != "" {
			t.open(roleEnd)
			t.line("turns")
			t.speak(who, q)
			return
		}
	}
	t.open(roleEnd)
	if t.dice.below(2) == 0 && t.way() {
		return
	}
	t.line("hook")
}

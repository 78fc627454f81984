package storyteller

// handle is for what is done with things: take, use, open, read, make. What comes of it is told as something seen or
// felt, never as a change in what the player owns.
func (t *teller) handle(a act) {
	t.open(roleAct)
	pool := "do." + string(a.verb)
	if a.thing == "" && a.topic != nil {
		a.thing = t.slots["topic"]
		t.slots["thing"] = a.thing
	}
	f := t.seen(a)
	switch {
	case a.thing != "" && a.where != "":
		t.line(pool+".where", pool+".thing", "do.act.thing")
	case a.thing != "":
		t.line(pool+".thing", "do.act.thing")
	default:
		t.line(pool, "do.act", "do.act.plain")
	}
	t.open(roleView)
	if !t.tell(f, false) {
		t.line("handled."+string(a.verb), "handled")
		t.detail()
	}
}

// pause is for everything that lets the world move: wait, sleep, eat, perform, think, hide, an attempt nobody foresaw,
// noise, and what does not belong into this world.
func (t *teller) pause(a act) {
	t.open(roleAct)
	pool := "do." + string(a.verb)
	switch a.verb {
	case doOther:
		if a.doing != "" {
			t.line(pool, "do.act.plain")
		} else {
			t.line("do.act.plain")
		}
	case "think":
		t.line(pool)
		t.open(roleView)
		t.recollect(a)
		return
	case "sleep", "wait":
		t.line(pool)
		if h := passTime(t.m.hour, a.raw); h != t.m.hour {
			t.m.hour = h
			t.setScene()
			if a.verb == "wait" {
				t.line("hour")
			}
		}
	default:
		t.line(pool, "do.continue", "do.act.plain")
	}
	t.open(roleView)
	switch a.verb {
	case doMutter, doStray, doOutside:
		if here := t.talkers(); len(here) > 0 {
			t.focus(here[0])
			t.line("puzzled")
			t.speak(here[0], t.pick("v.puzzled"))
			return
		}
	}
	if f := t.seen(a); a.verb == doOther && f != nil {
		t.tell(f, false)
		return
	}
	if !t.tell(t.placeFact(), false) {
		t.detail()
	}
}

// recollect puts together what the player knows.
func (t *teller) recollect(a act) {
	if f, _ := t.answerTo(a, nil); f != nil {
		t.tell(f, false)
		return
	}
	if th := t.latestThread(); th != nil {
		t.slots["thread"] = t.entityName(th)
		t.line("recall.thread")
	}
	if f := t.again(t.w.all, nil); f != nil {
		t.line("recall.fact")
		t.tell(f, false)
		return
	}
	t.tell(t.anyFact(nil), false)
	t.selfKnowledge()
}

// selfKnowledge says something about the player's own character.
func (t *teller) selfKnowledge() {
	for _, f := range t.playerFacts() {
		if t.fresh(f) {
			t.put(f, false)
			return
		}
	}
}

// pursue follows a device: a closer look, a word about it, or the bottom of it.
func (t *teller) pursue(a act) bool {
	d := a.device
	stage := stageLook
	switch {
	case a.verb == doAsk && t.addressee(a) != nil && t.isHere(t.addressee(a)) && !d.pursuedBy(doAsk):
		who := t.addressee(a)
		t.focus(who)
		t.open(roleAct)
		t.line("do.ask.topic", "do.ask")
		t.line("gesture.line")
		if said := t.pickFrom(d.pools[stageAsk]); said != "" {
			return t.speak(who, said)
		}
		return t.speak(who, t.pick("v.unknown"), t.redirect(who))
	case d.pursuedBy(a.verb):
		stage = stagePursue
	case a.verb == doGo && a.place != nil && a.place != t.there:
		return false // the player goes somewhere else
	}
	if t.stageText(d, stage) == "" {
		if stage = stagePursue; t.stageText(d, stage) == "" {
			return false
		}
	}
	t.open(roleAct)
	text := t.stageText(d, stage)
	t.put(text, false)
	t.m.follow(t.w, text, t.m.turn) // some lead to another place
	moved := t.m.cameAt == t.m.turn
	t.setScene()
	t.open(roleView)
	if moved {
		t.placed = 1
		t.there = nil
		t.tell(t.placeFact(), false)
		t.whoIsHere()
	}
	if stage == stagePursue {
		if th, f := t.thread(); f != nil {
			t.slots["thread"] = t.entityName(th)
			t.signOf(f)
			if t.tell(f, false) {
				t.m.threadAt = t.m.turn
			}
		}
	}
	return true
}

// stageText realises the phrase of a device's stage once; asking again gives the same text.
func (t *teller) stageText(d *device, stage string) string {
	key := "device." + stage
	if s := t.slots[key]; s != "" {
		return s
	}
	s := t.pickFrom(d.pools[stage])
	t.slots[key] = s
	return s
}

package storyteller

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	clauseEnd   = regexp.MustCompile(`[.!;\n]+\s*|\?\s*|,?\s+(?:and )?then\s+|,\s+and\s+|\s+and\s+|,\s+`)
	interject   = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|well|so|now|then|and|but|um+|uh+|ah|oh|hm+|alright|please|just|first|next|also|maybe|perhaps|finally|quickly|slowly|carefully|quietly|gently|silently|calmly|suddenly|simply|politely|softly|loudly|again|still)[,\s]+)+`)
	wantsTo     = regexp.MustCompile(`(?i)^(?:(?:i|we|let me|let us|let's|lets|i'd|i'll|we'll|i'm|we're)\s+)?(?:(?:will|would|shall|should|could|can|might|must|may|want to|would like to|'d like to|like to|wish to|need to|have to|intend to|plan to|decide to|decided to|try to|tries to|attempt to|am going to|'m going to|going to|are going to|start to|begin to|continue to|proceed to|manage to|go and|come and|try and|am|are)\s+)*`)
	subjectI    = regexp.MustCompile(`(?i)^(?:i|we|let me|let us|let's|lets|i'd|i'll|we'll|i'm|we're)\b`)
	youOrder    = regexp.MustCompile(`(?i)^(?:can|could|may|might|shall|should)\s+(?:i|we)\s+`)
	questionHas = regexp.MustCompile(`(?i)^(?:who|whom|whose|what|what's|who's|where|where's|when|why|how|how's|which|is|are|was|were|does|do|did|has|have|had|can|could|will|would|isn't|aren't|don't|doesn't|didn't|won't)\b`)
	notDoing    = regexp.MustCompile(`(?i)\b(?:don't|do not|won't|will not|never|not going to|not want to|refuse to|stop|avoid|without|not)\b`)
	aboutTopic  = regexp.MustCompile(`(?i)\b(?:about|regarding|concerning|of|for|after)\s+(.+)$`)
	pronounHe   = regexp.MustCompile(`(?i)\b(?:him|her|them|he|she|they)\b`)
	spokenTo    = regexp.MustCompile(`(?i)\b(you|your|yours|you're|you'll|you've)\b`)
	toldTo      = regexp.MustCompile(`(?i)^(?:i\s+)?(?:say|tell|ask|shout|whisper|answer|reply|promise|thank)\b`)
	intoPlace   = regexp.MustCompile(`\b(?:into|to|toward|towards|through|onto|inside|for)\s+(?:the\s+)?$`)
	adverbLead  = regexp.MustCompile(`(?i)^(?:[a-z]+ly|just|then|also|first|once more|again)\s+`)
)

// readEnglish reads a line clause by clause. Quoted speech has been taken out of it.
func readEnglish(w *world, lex lexicon, line string, here []*entity) []act {
	line = strings.NewReplacer("’", "'", "‘", "'").Replace(plain(line))
	if a, ok := wholeLine(line); ok {
		return []act{a}
	}
	if nothingYes.MatchString(line) && len(strings.Fields(line)) < 7 {
		return []act{{verb: doNothing, doing: ""}}
	}
	var acts []act
	asked := strings.Contains(line, "?")
	for _, c := range clausesOf(w, lex, line) {
		if a, ok := englishClause(w, lex, c, here, asked); ok {
			acts = append(acts, a)
		}
		if len(acts) == 6 {
			break
		}
	}
	return acts
}

// clausesOf cuts at marks and at those commas and "and"s after which something new is done.
func clausesOf(w *world, lex lexicon, line string) []string {
	var out []string
	start := 0
	for _, at := range clauseEnd.FindAllStringIndex(line, 40) {
		sep := strings.TrimSpace(line[at[0]:at[1]])
		if sep == "and" || strings.HasPrefix(sep, ",") {
			next := interject.ReplaceAllString(line[at[1]:], "")
			_, class, _ := englishVerb(lex, wantsTo.ReplaceAllString(next, ""))
			if class == "" && !subjectI.MatchString(next) && !questionHas.MatchString(next) {
				continue
			}
		}
		if left := line[start:at[0]]; sep == "," && (isName(w, left) || wholeSay.MatchString(left) && len(strings.Fields(left)) < 3) { // "Maren, where is Tam?"
			continue
		}
		if c := strings.TrimSpace(line[start:at[0]]); c != "" {
			if strings.HasPrefix(strings.TrimSpace(line[at[0]:]), "?") {
				c += "?"
			}
			out = append(out, c)
		}
		start = at[1]
	}
	if c := strings.TrimSpace(line[start:]); c != "" {
		out = append(out, c)
	}
	return out
}

func isName(w *world, s string) bool {
	key := fold(strings.TrimSpace(s))
	hits := w.finder.find(strings.TrimSpace(s))
	return len(hits) == 1 && hits[0].entity.kind == aPerson && hits[0].start == 0 && hits[0].end == len(key)
}

// englishVerb finds the class of a phrase that begins with a verb: the longest entry wins. rest is what follows it.
func englishVerb(lex lexicon, phrase string) (base string, class verb, rest string) {
	phrase = strings.TrimSpace(phrase)
	for adverbLead.MatchString(phrase) && !strings.HasPrefix(strings.ToLower(phrase), "reply") {
		phrase = adverbLead.ReplaceAllString(phrase, "")
	}
	words := strings.Fields(phrase)
	if len(words) == 0 {
		return "", "", ""
	}
	clean := func(s string) string { return strings.ToLower(strings.Trim(s, `.,;:!?"'()…`)) }
	first := clean(words[0])
	candidates := []string{first}
	if b := baseForm(first); b != "" && b != first {
		candidates = append(candidates, b)
	}
	for n := min(lex.longest, len(words)); n >= 1; n-- {
		tail := ""
		for _, t := range words[1:n] {
			tail += " " + clean(t)
		}
		for _, f := range candidates {
			if c := lex.class[f+tail]; c != "" {
				return f, c, strings.Join(words[n:], " ")
			}
		}
	}
	if b := baseForm(first); b != "" {
		return b, "", strings.Join(words[1:], " ")
	}
	return "", "", phrase
}

func englishClause(w *world, lex lexicon, clause string, here []*entity, asked bool) (act, bool) {
	c := strings.TrimSpace(interject.ReplaceAllString(clause, ""))
	if c == "" {
		return act{}, false
	}
	if a, ok := wholeLine(c); ok {
		return a, true
	}
	question := strings.HasSuffix(c, "?") || asked && questionHas.MatchString(c)
	c = strings.TrimRight(c, "?.! ")
	order := youOrder.MatchString(c) // "Can I open the door?" asks the storyteller and not a person
	if order {
		c, question = youOrder.ReplaceAllString(c, ""), false
	}
	if wholeSay.MatchString(c) && !question && len(strings.Fields(c)) <= 6 || spokenTo.MatchString(c) && !question && !order && !toldTo.MatchString(c) {
		return englishStatement(w, c, w.finder.find(c))
	}
	first := subjectI.MatchString(c)
	stated := !first && !order && questionHas.MatchString(c) && (question || !subjectI.MatchString(c) && !isOrder(lex, c))
	if question && !first || stated {
		return englishQuestion(w, c, here), true
	}
	if at := wantsToKnow.FindStringIndex(c); at != nil && !spokenTo.MatchString(c) {
		c = "I ask " + c[at[1]:]
	}
	phrase := wantsTo.ReplaceAllString(c, "")
	negated := notDoing.MatchString(clipWords(c, 6))
	if negated {
		phrase = strings.TrimSpace(notDoing.ReplaceAllString(phrase, ""))
		phrase = wantsTo.ReplaceAllString(phrase, "")
	}
	base, class, rest := englishVerb(lex, phrase)
	hits := w.finder.find(c)
	a := act{verb: class, negated: negated, question: question}
	if class == doGo && !walks[base] && len(hits) == 0 {
		a.verb = doOther // climbing a wall is no way to anywhere
	}
	if (a.verb == "" || a.verb == doOther) && !negated { // "I float into the Spindle"
		for _, h := range hits {
			if h.entity.kind == aPlace && intoPlace.MatchString(fold(c)[:h.start]) {
				class, a.verb = doGo, doGo
			}
		}
	}
	switch {
	case class == "" && base == "" && !first && !order:
		return englishStatement(w, c, hits)
	case class == "" && negated: // "I don't trust Maren"
		a.verb, a.negated = "think", false
	case class == "":
		a.verb = doOther
	}
	a.sortNames(hits)
	if (a.verb == "take" || a.verb == "follow") && leadsOn(fold(c), rest, hits) {
		a.verb = doGo
	}
	if a.verb == doGo {
		a.place, a.passing = destination(english, fold(c), hits)
	}
	a.aim(pronounHe.MatchString(rest), here)
	full := rest
	rest = withoutPeople(w, rest)
	if base != "" {
		a.doing = doingEnglish(w.tongue, base, phrase)
	}
	switch a.verb {
	case doAsk:
		a.topicEnglish(w, full)
	case doSay:
		if m := aboutTopic.FindStringSubmatch(rest); m != nil && !strings.Contains(m[1], " that ") {
			a.verb = doAsk
			a.topicEnglish(w, full)
		} else if _, said, ok := strings.Cut(" "+rest, " that "); ok {
			a.speech = upperFirst(strings.TrimSpace(said))
		} else {
			a.thing = ""
		}
	case "greet", "wait", "sleep", "perform", "hide", doLeave:
	case "put", "drop":
		a.layEnglish(w, base, rest, hits)
	default:
		a.thing = nounPhrase(w, rest, hits)
	}
	a.self = strings.Contains(rest, "myself") || rest == "me"
	return a, true
}

// withoutPeople takes the names of people out of what follows a verb: "Old Tam my compass" leaves "my compass".
func withoutPeople(w *world, rest string) string {
	key := fold(rest)
	if len(key) != len(rest) {
		return rest
	}
	hits := w.finder.find(rest)
	for i := len(hits) - 1; i >= 0; i-- {
		if h := hits[i]; h.entity.kind == aPerson && !strings.HasPrefix(rest[h.end:], "'s") {
			rest = rest[:h.start] + rest[h.end:]
		}
	}
	return strings.TrimLeft(strings.Join(strings.Fields(rest), " "), ", ")
}

// walks are verbs of going that lead over open ground.
var walks = map[string]bool{"go": true, "walk": true, "head": true, "move": true, "run": true, "travel": true, "return": true, "enter": true,
	"approach": true, "step": true, "hurry": true, "come": true, "proceed": true, "visit": true, "wander": true, "stroll": true, "make": true,
	"get": true, "set": true, "rush": true, "march": true, "cross": true}

// isOrder tells an order ("have a look", "do nothing") from a question without its mark.
func isOrder(lex lexicon, c string) bool {
	_, class, _ := englishVerb(lex, c)
	return class != ""
}

func clipWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

// englishQuestion: "Where is Tam?", "Maren, who hung the lantern".
func englishQuestion(w *world, c string, here []*entity) act {
	a := act{verb: doAsk, question: true, speech: upperFirst(c) + "?"}
	hits := w.finder.find(c)
	for _, h := range hits {
		// a name before a comma or at the very start or end is spoken to; elsewhere it is spoken about
		after := strings.TrimSpace(fold(c)[h.end:])
		if h.entity.kind == aPerson && (h.start == 0 && strings.HasPrefix(after, ",") || after == "" && strings.HasSuffix(strings.TrimSpace(fold(c)[:h.start]), ",")) {
			a.people = addOnce(a.people, h.entity)
			continue
		}
		if a.topic == nil && h.rank < 2 || a.topic == nil {
			a.topic = h.entity
		}
	}
	if a.topic != nil && a.topic.kind == aPerson && len(a.people) == 0 && strings.Contains(" "+fold(c)+" ", " you ") && hits[0].start == 0 {
		a.people, a.topic = []*entity{a.topic}, nil
	}
	if a.topic == nil {
		a.thing = ""
	}
	a.words = contentWords(english, c)
	a.aim(false, here)
	return a
}

// englishStatement: a bare name calls somebody or goes somewhere; any other sentence is said aloud.
func englishStatement(w *world, c string, hits []hit) (act, bool) {
	a := act{verb: doSay}
	a.sortNames(hits)
	bare := strings.TrimSpace(strings.NewReplacer("to ", "", "the ", "", ",", "").Replace(fold(c)))
	for _, h := range hits {
		if len(bare) > len(withoutThe(fold(h.entity.name)))+2 {
			continue
		}
		if h.entity.kind == aPlace {
			a.verb = doGo
			return a, true
		}
		a.verb = "greet"
		return a, true
	}
	a.speech = upperFirst(c)
	if !strings.HasSuffix(a.speech, "!") {
		a.speech += "."
	}
	refineSay(&a)
	return a, true
}

// sortNames deals the names of a clause out to the parts of an act.
func (a *act) sortNames(hits []hit) {
	for _, h := range hits {
		switch h.entity.kind {
		case aPerson:
			a.people = addOnce(a.people, h.entity)
		case aPlace:
			if a.place == nil {
				a.place = h.entity
			}
		default:
			if a.topic == nil {
				a.topic = h.entity
			}
		}
	}
}

// aim turns a pronoun into the person last spoken with.
func (a *act) aim(pronoun bool, here []*entity) {
	if pronoun && len(a.people) == 0 && len(here) > 0 {
		a.people = []*entity{here[0]}
	}
}

func (a *act) topicEnglish(w *world, rest string) {
	topic := rest
	if m := aboutTopic.FindStringSubmatch(rest); m != nil && !indirectEnglish(withoutPeople(w, rest)) {
		topic = m[1]
	} else if len(a.people) > 0 { // "ask Maren where the boats went"
		called := wordSet(fold(a.people[0].name) + " " + fold(a.people[0].short())) // any part of the name: Tull, Old Tull
		for first, after, _ := strings.Cut(topic, " "); first != "" && called[bareWord(first)]; first, after, _ = strings.Cut(topic, " ") {
			topic = strings.TrimSpace(after)
		}
	}
	hits := w.finder.find(topic)
	for _, h := range hits {
		if h.entity.kind != aPerson || len(a.people) > 1 || len(a.people) == 1 && a.people[0] != h.entity {
			a.topic = h.entity
			break
		}
	}
	if a.topic != nil && a.topic.kind == aPerson && len(a.people) > 1 { // the one spoken to comes first
		for i, p := range a.people {
			if p == a.topic {
				a.people = append(a.people[:i:i], a.people[i+1:]...)
				break
			}
		}
	}
	if a.topic == nil {
		a.thing = nounPhrase(w, topic, nil)
	}
	a.words = contentWords(english, topic)
}

var npStop = map[string]bool{"to": true, "with": true, "from": true, "for": true, "in": true, "into": true, "at": true, "on": true, "onto": true,
	"under": true, "behind": true, "near": true, "by": true, "about": true, "before": true, "after": true, "while": true, "until": true,
	"because": true, "so": true, "and": true, "then": true, "if": true, "that": true, "who": true, "as": true, "when": true, "where": true,
	"again": true, "carefully": true, "slowly": true, "quickly": true, "quietly": true, "up": true, "down": true, "off": true, "out": true,
	"away": true, "back": true, "closely": true, "instead": true, "through": true, "across": true, "over": true, "around": true, "is": true,
	"are": true, "was": true, "or": true, "but": true, "which": true, "inside": true, "outside": true, "against": true, "than": true, "have": true, "has": true}

var npEmpty = map[string]bool{"it": true, "him": true, "her": true, "them": true, "that": true, "this": true, "me": true, "us": true, "there": true,
	"here": true, "something": true, "anything": true, "nothing": true, "everything": true, "you": true, "one": true, "around": true, "about": true,
	"myself": true, "yes": true, "no": true, "all": true, "what": true, "things": true, "thing": true, "someone": true, "somebody": true, "everyone": true, "a": true, "the": true}

// nounPhrase takes the thing out of what follows a verb: "at the rusty lantern on the wall" gives "the rusty lantern".
// Names of people and places are no things. The player's "my" is the story's "your".
func nounPhrase(w *world, rest string, hits []hit) string {
	if indirectEnglish(rest) {
		rest = askedEnglish(rest)
	}
	var words []string
	for _, raw := range strings.Fields(rest) {
		word := strings.Trim(raw, `.,;:!?"()…`)
		key := strings.ToLower(word)
		if len(words) == 0 && (npStop[key] || key == "of") {
			continue
		}
		if npStop[key] || askWords[key] || len(words) == 6 {
			break
		}
		switch key {
		case "my", "our":
			word = "your"
		case "mine":
			word = "yours"
		}
		words = append(words, word)
		if strings.TrimRight(raw, `.,;:!?`) != raw {
			break
		}
	}
	if len(words) == 0 || len(words) == 1 && npEmpty[strings.ToLower(words[0])] {
		return ""
	}
	np := strings.Join(words, " ")
	for _, h := range w.finder.find(np) {
		if h.entity.kind == aPerson || h.entity.kind == aPlace && h.rank < 2 {
			if strings.TrimSpace(strings.TrimPrefix(fold(np), "the ")) == fold(np)[h.start:h.end] || h.entity.kind == aPerson {
				return ""
			}
		}
	}
	if np = printable(w.tongue, np, 48); np == "" || !strings.ContainsAny(np, "aeiouyAEIOUY") {
		return ""
	}
	if titled(words) { // Room Seven
		return np
	}
	first := strings.ToLower(words[0])
	if !determiner(first) && first != "your" && first != "some" && first != "one" && first != "this" && first != "that" && first != "these" && first != "those" && first != "any" && first != "every" && !strings.HasSuffix(first, "'s") && !strings.HasSuffix(first, "’s") {
		np = "the " + np
	}
	for _, p := range [][2]string{{"this ", "the "}, {"that ", "the "}, {"these ", "the "}, {"those ", "the "}, {"any ", "the "}} {
		if strings.HasPrefix(strings.ToLower(np), p[0]) {
			np = p[1] + np[len(p[0]):]
		}
	}
	return lowerFirst(np)
}

// titled tells whether words are a name by their capitals.
func titled(words []string) bool {
	for _, w := range words {
		if !unicode.IsUpper(firstRune(w)) || determiner(w) || strings.EqualFold(w, "your") || strings.EqualFold(w, "my") {
			return false
		}
	}
	return len(words) > 1
}

var youWords = strings.NewReplacer(" I was ", " you were ", " i was ", " you were ", " I wasn't ", " you weren't ", " I wasn’t ", " you weren’t ",
	" my ", " your ", " our ", " your ", " myself ", " yourself ", " mine ", " yours ", " i ", " you ", " I ", " you ",
	" i'm ", " you are ", " I'm ", " you are ", " me ", " you ", " am ", " are ", " I've ", " you have ", " I'll ", " you will ")

// doingEnglish makes a verb phrase in the base form out of what the player wrote, for "you try to …".
func doingEnglish(t tongue, base, phrase string) string {
	for adverbLead.MatchString(phrase) {
		phrase = adverbLead.ReplaceAllString(phrase, "")
	}
	words := strings.Fields(phrase)
	if len(words) == 0 || len(words) > 14 || strings.Contains(" "+strings.ToLower(phrase)+" ", " you") {
		return ""
	}
	words[0] = base
	doing := strings.TrimSpace(youWords.Replace(" " + strings.Join(words, " ") + " "))
	return printable(t, strings.TrimRight(doing, ".!?, "), 90)
}

package storyteller

import (
	"strings"
	"unicode"
)

// opening writes the first passage: where the player is, who they are, who is there, what troubles the place; and it
// ends open. The author's own opening comes first when there is one, as far as it can be told as it stands; one that is
// long enough carries the passage and has the last word.
func (t *teller) opening() {
	author, whole := t.authorsOpening()
	if whole && length(t.t, strings.Join(author, t.space())) >= t.fullOpening() {
		t.framed(author)
		return
	}
	t.open(roleView)
	for _, p := range author {
		t.put(p, false)
	}
	if t.m.place != nil {
		if len(author) == 0 || !mentions(textOf(t.segs), t.m.place) {
			t.line("open.place")
		}
		if !t.tell(t.placeFact(), false) {
			t.detail()
		}
		if len(author) == 0 {
			t.tell(t.placeFact(), true)
			t.detail()
		}
	} else {
		t.line("open.world", "open.nowhere")
		t.tell(t.anyFact(nil), false)
	}
	t.open(roleBeat)
	t.whoYouAre()
	t.open(roleView)
	host := t.host()
	if host != nil {
		t.introduce(host, !mentions(textOf(t.segs), host))
		if t.b != nil {
			t.line("open.also")
		}
	} else {
		t.line("here.nobody")
	}
	t.trouble(host)
}

// host is whoever is here, the one whom the passage has named before the others.
func (t *teller) host() *entity {
	text := textOf(t.segs)
	var host *entity
	for _, p := range t.talkers() {
		if mentions(text, p) {
			return p
		}
		if host == nil {
			host = p
		}
	}
	return host
}

// fullOpening is the length from which the author's opening needs no other frame.
func (t *teller) fullOpening() int {
	if t.t == chinese {
		return 180
	}
	return 110
}

// framed tells the author's opening in its paragraphs and puts in who the player is and what troubles the place.
func (t *teller) framed(author []string) {
	roles := []segmentRole{roleView, roleEnd}
	last := len(author) - 1
	for i, p := range author {
		if i == last && i > 0 {
			t.open(rolePerson)
			th, f := t.thread()
			if f != nil && t.length()+length(t.t, f.text) < t.fullOpening()*2 {
				t.slots["thread"] = t.entityName(th)
				t.m.threadAt = t.m.turn
				t.line("open.trouble")
				t.tell(f, false)
			}
		}
		t.open(roles[i%2])
		t.put(p, false)
		if i == 0 {
			t.open(roleBeat)
			t.whoYouAre()
		}
	}
	if t.m.place != nil && !mentions(textOf(t.segs), t.m.place) {
		t.segs[0].lines = append([]passageLine{{text: t.pick("open.place")}}, t.segs[0].lines...)
	}
}

// textOf is what a passage says so far, as running text.
func textOf(segs []*segment) string {
	var b strings.Builder
	for _, s := range segs {
		for _, l := range s.lines {
			b.WriteString(l.text)
			b.WriteString(" ")
		}
	}
	return b.String()
}

// Sizes of what is taken from the author's opening, in runes.
const (
	openingRunesEnglish = 1300
	openingRunesChinese = 420
)

// authorsOpening gives the paragraphs of the author's opening that can be told, and whether that is all of it.
func (t *teller) authorsOpening() (paragraphs []string, whole bool) {
	most := openingRunesEnglish
	if t.t == chinese {
		most = openingRunesChinese
	}
	size, seen := 0, map[uint64]bool{}
	for _, p := range t.w.opening {
		var told []string
		for _, s := range p {
			if size += runeCount(s); size > most {
				return appendParagraph(paragraphs, told, t.space()), false
			}
			if k := sentenceKey(s); !seen[k] {
				told, seen[k] = append(told, s), true
			}
		}
		paragraphs = appendParagraph(paragraphs, told, t.space())
	}
	return paragraphs, len(paragraphs) > 0
}

func appendParagraph(list []string, sentences []string, space string) []string {
	if len(sentences) == 0 {
		return list
	}
	return append(list, strings.Join(sentences, space))
}

// trouble seeds the thread that the next turns move along, spoken by the host if that can be.
func (t *teller) trouble(host *entity) {
	th, f := t.thread()
	if f == nil {
		if host != nil {
			t.speak(host, t.pick("v.greet"), t.pick("v.ask"))
		} else {
			t.open(roleView)
			t.plant()
		}
		return
	}
	t.slots["thread"] = t.entityName(th)
	t.m.threadAt = t.m.turn
	if host != nil && speakable(host)(f) && !f.question {
		t.focus(host)
		t.open(rolePerson)
		t.line("open.trouble.host", "open.trouble")
		t.usedFacts[f] = true
		t.speak(host, f.text, t.pick("v.ask"))
		return
	}
	t.open(roleBeat)
	t.line("open.trouble")
	t.tell(f, false)
	if host != nil {
		t.focus(host)
		t.speak(host, t.pick("v.ask"))
		return
	}
	t.way()
}

// whoYouAre names the player and one thing about them.
func (t *teller) whoYouAre() {
	facts := t.playerFacts()
	pc := t.w.player
	if pc == nil {
		t.line("open.you.nobody")
		return
	}
	t.slots["me"] = showable(pc.name)
	if len(facts) == 0 {
		t.line("open.you.name", "open.you.nobody")
		return
	}
	t.put(facts[0], false)
	if len(facts) > 1 {
		t.put(facts[1], true)
	}
}

// fieldKinds sort the attributes of a character by what their names say, so that a sentence can be made of them.
var fieldKinds = []struct {
	kind string
	keys []string
}{
	{"trade", []string{"occupation", "profession", "class", "trade", "job", "role", "craft", "calling", "career", "职业", "身份", "行当", "职务", "本业"}},
	{"origin", []string{"origin", "background", "birthplace", "hometown", "homeland", "descent", "upbringing", "出身", "来历", "故乡", "籍贯", "背景", "家世"}},
	{"goal", []string{"goal", "motive", "motivation", "wish", "ambition", "desire", "want", "purpose", "quest", "reason", "目标", "心愿", "愿望", "动机", "所求", "目的", "执念"}},
	{"trait", []string{"personality", "temperament", "temper", "trait", "character", "nature", "disposition", "manner", "virtue", "性格", "性情", "脾性", "气质", "特质"}},
	{"gift", []string{"talent", "skill", "gift", "specialty", "speciality", "ability", "knack", "天赋", "特长", "擅长", "技能", "本事", "能力", "专长"}},
	{"keep", []string{"keepsake", "weapon", "item", "belonging", "possession", "tool", "heirloom", "token", "信物", "武器", "随身", "物件", "法器", "携带"}},
	{"fear", []string{"fear", "flaw", "weakness", "secret", "burden", "regret", "debt", "恐惧", "弱点", "缺点", "秘密", "心结", "亏欠"}},
}

func fieldKind(key string) string {
	k := fold(key)
	for _, f := range fieldKinds {
		for _, w := range f.keys {
			if strings.Contains(k, w) {
				return f.kind
			}
		}
	}
	return "any"
}

// playerFacts are sentences about the player's character: the name with the first field, then the others.
func (t *teller) playerFacts() []string {
	pc := t.w.player
	if pc == nil {
		return nil
	}
	t.slots["me"] = showable(pc.name)
	var out []string
	seen := map[string]bool{}
	order := []string{"trade", "origin", "trait", "gift", "keep", "goal", "fear", "any"}
	for _, want := range order {
		for _, f := range pc.fields {
			if fieldKind(f.key) != want || seen[f.value] {
				continue
			}
			v := told(t.t, f.value)
			if v == "" || fold(v) == fold(pc.name) {
				continue
			}
			seen[f.value] = true
			t.slots["value"] = toYou(t.t, want, v)
			t.slots["label"] = labelInside(t.t, spacedKey(f.key))
			lead := "open.you."
			if len(out) > 0 {
				lead = "you."
			}
			pools := []string{lead + want, lead + "label", lead + "any"}
			if want == "trade" && !personLike(t.t, v) || t.t == english && !nounLike(v) {
				pools = pools[1:]
			}
			if s := t.pick(pools...); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// toYou turns what somebody says of themselves into what is said to them: "I want my sister back" → "you want your …".
func toYou(t tongue, kind, v string) string {
	if t == chinese {
		return youChinese.Replace(v)
	}
	if firstPerson.MatchString(v) {
		return strings.TrimSpace(youWords.Replace(" " + v + " "))
	}
	if asWritten(kind, v) {
		return v
	}
	return lowerUnlessName(v, "")
}

// spacedKey makes words of an identifier: "spiritRoot" and "spirit_root" are a spirit root.
func spacedKey(key string) string {
	var b strings.Builder
	for i, r := range key {
		if r == '_' || r == '-' {
			r = ' '
		} else if i > 0 && unicode.IsUpper(r) && unicode.IsLower(lastRune(b.String())) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// nounLike tells whether a value can stand as a noun phrase or a describing word: no sentence, not long.
func nounLike(v string) bool {
	return len(strings.Fields(v)) <= 9 && !firstPerson.MatchString(v) && !strings.ContainsAny(v, ".;:!?") && !hasFiniteVerb(v)
}

package storyteller

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// thing is something that can stand in a scene, with what a player might want to do about it, in the player's own voice.
// {thing} stands for how the passage speaks of it.
type thing struct {
	Names []string `yaml:"names"` // as they stand in a text, folded
	Say   string   `yaml:"say"`   // Chinese: the thing with its measure word
	Look  string   `yaml:"look"`
	Do    string   `yaml:"do"`
}

// scene is what a passage shows, whoever wrote it: the raw material of suggestions and summaries.
type scene struct {
	text   string
	people []string // who is present, as shown, those first who have most to do with the passage
	absent []string // who is only spoken of
	places []string // where the player is, then where one could go
	things []seenThing
}

type seenThing struct {
	say  string // "the wet footprints", 那串脚印
	kind thing
}

// readScene reads this turn's passage, or the last one of the history.
func readScene(f *filler) *scene {
	text := f.b.passage
	if text == "" && len(f.b.turns) > 0 {
		text = f.b.turns[len(f.b.turns)-1].story
	}
	s := &scene{text: text, things: seenThings(f.b.tongue, text)}
	if f.m.place != nil {
		s.places = addText(s.places, f.t.placeName(f.m.place))
	}
	weight := map[string]int{}
	var named []string
	for _, h := range f.w.finder.find(text) {
		switch e := h.entity; {
		case e.shown == "":
		case e.kind == aPerson:
			named = addText(named, e.shown)
		case e.kind == aPlace:
			s.places = addText(s.places, f.t.placeName(e))
		}
	}
	for _, p := range strings.Split(text, "\n") {
		for _, line := range sentences(outsideQuotes(p)) { // whoever is only spoken of is not here
			elsewhere := false
			var here []string
			for _, h := range f.w.finder.find(line) {
				elsewhere = elsewhere || h.entity.kind == aPlace && h.entity != f.m.place
				here = append(here, h.entity.shown)
			}
			for _, name := range here {
				if !elsewhere {
					weight[name]++
				}
			}
		}
	}
	slices.SortStableFunc(named, func(a, b string) int { return weight[b] - weight[a] })
	for _, p := range named {
		if weight[p] > 0 {
			s.people = append(s.people, p)
		} else {
			s.absent = append(s.absent, p)
		}
	}
	return s
}

func addText(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

var (
	englishPlace = regexp.MustCompile(`\b(?:at|in|to|from|near|of|into|reach|behind|around|over|through|toward|towards)\s+((?:the\s+)?(?:\p{Lu}[\p{L}’'-]+)(?:\s+(?:of\s+(?:the\s+)?)?\p{Lu}[\p{L}’'-]+){0,3})`)
	chinesePlace = regexp.MustCompile(`(?:来到|走到|走进|抵达|回到|站在|到了|带到|领到|离开|就在|往|去)([\p{Han}]{1,4}?(?:码头|港|桥|楼|寺|庙|街|巷|塔|崖|谷|镇|村|城|坊|市集|集市|客栈|酒馆|茶馆|学院|广场|渡口|山|峰|殿|阁|院|祠|林|湖|湾|洞|井|站|舱|馆|驿|岛|堂|台|房|宗|阵|园|渡|屋)(?:码头|市集|集市|客栈|楼|阁|殿|院|门)?)`)
)

// guessPlaces finds the places of a story when the request tells of no world: by the words before them.
func (w *world) guessPlaces(b *brief) {
	re := englishPlace
	if b.tongue == chinese {
		re = chinesePlace
	}
	known := map[string]bool{}
	for _, p := range w.people {
		known[fold(p.shown)], known[fold(p.short())] = true, true
		for _, a := range p.aliases {
			known[fold(a)] = true
		}
	}
	if b.player != nil {
		known[fold(showable(b.player.name))] = true
	}
	for _, t := range b.turns[max(0, len(b.turns)-30):] {
		for _, m := range re.FindAllStringSubmatch(t.story, 40) {
			p := showable(strings.TrimLeft(m[1], "了过着到在往去那这"))
			if b.tongue == english {
				p = strings.TrimSuffix(strings.TrimSuffix(p, "’s"), "'s")
			}
			n := runeCount(p)
			if p == "" || known[fold(p)] || known[fold(withoutThe(p))] || n < 2 || n > 32 || w.named(p) != nil || len(w.places) > 24 {
				continue
			}
			if titles[fold(p)] {
				continue
			}
			if first := firstWord(p); b.tongue == english && known[fold(first)] {
				continue
			}
			w.places = append(w.places, &entity{kind: aPlace, name: p, shown: p})
		}
	}
}

var (
	englishDoer = regexp.MustCompile(`(?:^|[.!?”“\n] *)((?:Dr\. |Old |Sister |Captain |Mother )?\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?) ([a-z]+s)\b`)
	chineseDoer = regexp.MustCompile(`(?:^|[。！？”\n])([\p{Han}]{2,3}?)(?:说|问|看|把|朝|停了|先不|刚说|抬|用手|用拇|压低|转向|清了|不急|叫住|走近|站在|点了|吸了|换了|往|从口袋|哼|偏过|慢慢|理了|挺了|竖起)`)
)

// guessPeople finds the people of a story when the request tells of nobody: whoever begins sentences by doing something.
func (w *world) guessPeople(b *brief) {
	re := englishDoer
	if b.tongue == chinese {
		re = chineseDoer
	}
	count := map[string]int{}
	var order []string
	lower := ""
	for _, t := range b.turns[max(0, len(b.turns)-10):] {
		lower += " " + t.story
		for _, m := range re.FindAllStringSubmatch(t.story, 60) {
			if b.tongue == english && !isThirdPersonVerb(m[2]) {
				continue
			}
			if count[m[1]]++; count[m[1]] == 1 {
				order = append(order, m[1])
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return len(b) - len(a) })
	for _, name := range order {
		if slices.ContainsFunc(w.people, func(p *entity) bool { return p.short() == name }) {
			continue // the short form of a name that is there already
		}
		first := firstWord(name)
		common := b.tongue == english && (stopEnglish[strings.ToLower(first)] || strings.Contains(lower, " "+strings.ToLower(first)+" "))
		if count[name] < 2 || common || strings.ContainsAny(name, "你我他她它这那有没谁人们什么一") || len(w.people) > 8 {
			continue
		}
		w.people = append(w.people, &entity{kind: aPerson, name: name, shown: name})
	}
}

// seenThings finds things of the word list in a passage, the last named first.
func seenThings(t tongue, text string) []seenThing {
	type found struct {
		at int
		s  seenThing
	}
	var all []found
	key := fold(text)
	for _, th := range bankOf(t).things {
		for _, name := range th.Names {
			i := lastWord(t, key, name)
			if i < 0 {
				continue
			}
			say := th.Say
			if t == english {
				say = describedEnglish(key, i, name)
			}
			if say != "" {
				all = append(all, found{i, seenThing{say, th}})
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.at - a.at })
	out := make([]seenThing, 0, len(all))
	for _, x := range all {
		if !slices.ContainsFunc(out, func(s seenThing) bool { return s.say == x.s.say }) {
			out = append(out, x.s)
		}
	}
	return out
}

// lastWord finds the last place where a word stands by itself.
func lastWord(t tongue, text, word string) int {
	for end := len(text); end > 0; {
		i := strings.LastIndex(text[:end], word)
		if i < 0 {
			return -1
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		if t == chinese || standsAlone(before, word, text[i+len(word):]) {
			return i
		}
		end = i + len(word) - 1
	}
	return -1
}

// describedEnglish gives a thing with the adjective that a passage puts before it: "the wet footprints".
func describedEnglish(text string, at int, name string) string {
	words := strings.Fields(strings.TrimRightFunc(clipBefore(text, at, 40), unicode.IsSpace))
	if n := len(words); n > 0 {
		last := words[n-1]
		if n > 1 && articleWord(words[n-2]) && len(last) > 2 && !npStop[last] && strings.Trim(last, "abcdefghijklmnopqrstuvwxyz-") == "" {
			return "the " + last + " " + name
		}
		if articleWord(last) || strings.HasSuffix(last, "'s") || n > 1 && strings.HasSuffix(words[n-2], "'s") {
			return "the " + name
		}
	}
	if strings.HasSuffix(name, "s") && len(name) > 4 {
		return "the " + name
	}
	return "" // "Well?" is no well
}

func articleWord(w string) bool {
	switch w {
	case "the", "a", "an", "this", "that", "his", "her", "their", "your", "its":
		return true
	}
	return false
}

// clipBefore gives at most n bytes of text that end at position at, cut at a rune.
func clipBefore(text string, at, n int) string {
	from := max(0, at-n)
	for from < at && !utf8.RuneStart(text[from]) {
		from++
	}
	s := text[from:at]
	if i := strings.LastIndexAny(s, ".,;:!?\n"); i >= 0 {
		s = s[i+1:]
	}
	return s
}

package storyteller

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// section is one heading of a lore text with the paragraphs right below it.
type section struct {
	level    int
	title    string
	parts    []string // paragraphs and list items, plain text
	items    []item   // list items that begin with a name of their own
	category category // of what stands in it
	named    bool     // the title is a name in that category, not the name of the category
}

// item is "**Name** — text" or "Name: text" in a list.
type item struct{ name, text string }

// category is what the heading of a section says about the things below it.
type category uint8

const (
	unsorted category = iota
	placesBelow
	peopleBelow
	threadsBelow
	factsBelow
	notForTelling // instructions and secrets: never quoted
)

var categoryWords = []struct {
	category category
	words    *regexp.Regexp
}{
	{notForTelling, regexp.MustCompile(`(?i)\b(secrets?|spoilers?|truth|narrat\w*|style|tone|mood|writing|telling|how to|guidelines?|instructions?|prompts?|meta|do not|don't|content warnings?|attributes?|character creation|opening)\b|秘密|真相|文风|基调|写法|语气|叙述|叙事|创作|提示|说明|备注|注意|属性|开场|开局|禁忌词`)},
	{threadsBelow, regexp.MustCompile(`(?i)\b(threads?|hooks?|myster(y|ies)|rumou?rs?|conflicts?|tensions?|troubles?|problems?|unresolved|open questions?|intrigues?|plots?|stakes)\b|悬念|线索|谜|传闻|传言|冲突|矛盾|暗流|麻烦|危机|未解|疑云|风波`)},
	{placesBelow, regexp.MustCompile(`(?i)\b(places?|locations?|where|geography|districts?|sites?|map|landmarks?|regions?|quarters?|settings?|rooms?|decks?)\b|地点|地方|场所|地理|去处|区域|街区|舞台|地图|场景|所在|各处`)},
	{peopleBelow, regexp.MustCompile(`(?i)\b(people|persons?|characters?|who|cast|folk|inhabitants?|residents?|npcs?|crew|figures?|faces?)\b|人物|角色|居民|人们|众人|登场|乡人|面孔|船员|同门`)},
	{factsBelow, regexp.MustCompile(`(?i)\b(customs?|history|culture|law|laws|calendar|religion|economy|magic|daily life|facts?|background|overview|factions?|traditions?|technology|nature|language)\b|风俗|习俗|历史|文化|律|历法|信仰|生计|日常|背景|概览|势力|门派|传统|规矩|物产|时令`)},
}

func categoryOf(title string) category {
	for _, c := range categoryWords {
		if c.words.MatchString(title) {
			return c.category
		}
	}
	return unsorted
}

var (
	heading   = regexp.MustCompile(`^\s{0,3}(#{1,6})\s*(.*?)\s*#*\s*$`)
	bullet    = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)、])\s+(.*)$`)
	boldLead  = regexp.MustCompile(`^\s*(?:\*\*|__)(.{1,80}?)(?:\*\*|__)\s*(?:[（(][^）)]*[）)])?\s*(?:[—–:：,，.。-]+)?\s*(.*)$`)
	nameLead  = regexp.MustCompile(`^\s*([^:：。.!?！？,，—–]{1,40}?)\s*(?:[:：]|\s[—–-]\s|——)\s*(\S.*)$`)
	ruleLine  = regexp.MustCompile(`^\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$`)
	frontLine = regexp.MustCompile(`^[A-Za-z][\w-]*:\s`)
)

// readMarkdown cuts a lore text into sections. It never fails: a text without any heading is one section.
func readMarkdown(text string) []section {
	text = htmlBlock.ReplaceAllString(text, " ")
	secs := []section{{}}
	cur := func() *section { return &secs[len(secs)-1] }
	var para []string
	flush := func() {
		if len(para) > 0 {
			addPart(cur(), strings.Join(para, "\n"), false)
			para = para[:0]
		}
	}
	var ladder [8]category // what a heading at this level would inherit
	fenced, front, titled := false, false, false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case i == 0 && trimmed == "---":
			front = true
			continue
		case front:
			front = trimmed != "---" && (frontLine.MatchString(trimmed) || trimmed == "")
			continue
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush()
			fenced = !fenced
			continue
		case fenced:
			continue
		case trimmed == "" || trimmed == "…" || ruleLine.MatchString(line):
			flush()
			continue
		case strings.HasPrefix(trimmed, "|"):
			flush()
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil && m[2] != "" {
			flush()
			next := section{level: len(m[1]), title: plain(m[2])}
			next.category = ladder[next.level]
			own := categoryOf(next.title)
			switch {
			case next.level == 1 && !titled: // the name of the world
				titled, own = true, unsorted
			case next.category == unsorted:
				next.category = own
				next.named = own == unsorted
			default:
				own = next.category
				next.named = own != notForTelling
			}
			for l := next.level + 1; l < len(ladder); l++ {
				ladder[l] = own
			}
			secs = append(secs, next)
			continue
		}
		trimmed = strings.TrimLeft(trimmed, "> ")
		if m := bullet.FindStringSubmatch(line); m != nil {
			flush()
			addPart(cur(), m[1], true)
			continue
		}
		para = append(para, trimmed)
	}
	flush()
	return secs
}

// addPart keeps one paragraph or list item; an item that opens with a name is kept apart as well.
func addPart(s *section, raw string, listed bool) {
	if m := boldLead.FindStringSubmatch(strings.ReplaceAll(raw, "\n", " ")); m != nil {
		if text := plain(m[2]); text != "" {
			s.items = append(s.items, item{strings.TrimRight(plain(m[1]), ".。:：,， "), text})
			return
		}
	}
	if listed {
		if m := nameLead.FindStringSubmatch(raw); m != nil && len(strings.Fields(m[1])) <= 5 {
			s.items = append(s.items, item{plain(m[1]), plain(m[2])})
			return
		}
	}
	if p := plain(raw); p != "" {
		s.parts = append(s.parts, p)
	}
}

// splitName takes apart a heading that says more than a name: "Maren Holt (harbour-mistress)", "老谭 · 磨坊主".
func splitName(title string) (name, rest string) {
	for _, sep := range []string{" — ", " – ", "——", " · ", "·", "：", ": ", " - ", "，", ", ", "（", "("} {
		if i := strings.Index(title, sep); i > 0 {
			before := strings.TrimSpace(title[:i])
			after := strings.TrimSpace(title[i+len(sep):])
			if sep == "·" && scriptsOf(before).han > 0 && scriptsOf(after).han > 0 && runeCount(after) <= 4 && runeCount(before) <= 4 && !roleLike(after) {
				continue // 阿德里安·龙胆 is one name
			}
			return before, strings.TrimRight(after, "）) ")
		}
	}
	return strings.TrimSpace(title), ""
}

// showable makes a name fit to be printed: no marks, one line, no final punctuation, not long.
func showable(name string) string {
	if strings.Contains(name, "<") {
		name = htmlTag.ReplaceAllString(name, "")
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case strings.ContainsRune(marks, r), r == utf8.RuneError, r == '"', r == '“', r == '”':
			continue
		case unicode.IsControl(r), unicode.IsSpace(r):
			r = ' '
		case unicode.Is(unicode.Cf, r) && r != 0x200d:
			continue
		}
		b.WriteRune(r)
	}
	s := strings.Join(strings.Fields(b.String()), " ")
	s = strings.Trim(s, " .,;:!?。，；：！？、…-—·/")
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.So, r) }) {
		return ""
	}
	return strings.TrimSpace(clip(s, 40))
}

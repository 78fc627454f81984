package storyteller

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// An indirect question is about something: "whose window that is" is about the window, "那扇窗是谁家的" about 那扇窗. The words
// that ask are never part of its name.

var (
	askWords    = wordSet(`who whom whose what what's who's which why how how's when where where's whether if whoever whatever whichever whenever wherever whomever`)
	askHelpers  = wordSet(`is are was were be been being am isn't aren't wasn't weren't do does did don't doesn't didn't has have had hasn't haven't hadn't can could will would shall should may might must can't won't not to`)
	askPronouns = wordSet(`i you he she it we they me him us them this that these those there here one someone somebody anyone anybody everyone everybody nobody something anything everything nothing myself yourself yours mine hers theirs ours else exactly really ever even still just all`)
	askBefore   = wordSet(`in on at of to with from for by into onto under behind near about before after over through across around against inside outside up down off out away back and or but than as so long many much old far often big small tall high deep late soon well bad good`)
	askOwners   = wordSet(`a an the my your his her its our their some any every each no two three four five six seven eight nine ten eleven`)
)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// wantsToKnow is a question in the form of a wish: "I'd like to know whose window that is".
var wantsToKnow = regexp.MustCompile(`(?i)^(?:i|we)(?:'d|\s+would)?\s+(?:really\s+)?(?:want|wish|like|love|need)\s+to\s+(?:know|hear|learn|be told)\s+`)

// indirectEnglish tells whether a phrase is an indirect question, with or without a small word before it.
func indirectEnglish(phrase string) bool {
	for i, raw := range strings.Fields(phrase) {
		w := bareWord(raw)
		if askWords[w] {
			return w != "if" || i == 0
		}
		if i > 1 || !askBefore[w] {
			return false
		}
	}
	return false
}

func bareWord(raw string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(raw, `.,;:!?"()…`), "’", "'"))
}

// askedEnglish takes the thing out of an indirect question: the first noun with its own words, "" when it has none.
func askedEnglish(phrase string) string {
	var out []string
	after := "" // the word before
	for _, raw := range strings.Fields(phrase) {
		w := bareWord(raw)
		named := len(out) > 0 // the noun phrase has begun
		owner := named && askOwners[strings.ToLower(out[len(out)-1])]
		switch {
		case w == "":
		case named && !owner && askOwners[w] && unicode.IsUpper(firstRune(raw)): // Room Seven
			out = append(out, strings.Trim(raw, `.,;:!?"()…`))
		case askWords[w], askHelpers[w], askPronouns[w], askBefore[w] && !owner:
			if named && !owner {
				return strings.Join(out, " ")
			}
			out = nil
		case askOwners[w]:
			if named && !owner {
				return strings.Join(out, " ")
			}
			out = append(out[:0], strings.Trim(raw, `.,;:!?"()…`))
		case owner, after == "whose", after == "which", !verbForm(w): // after such a word anything is a noun
			out = append(out, strings.Trim(raw, `.,;:!?"()…`))
		case named:
			return strings.Join(out, " ")
		}
		after = w
		if len(out) > 0 && !askOwners[w] && strings.TrimRight(raw, `.,;:!?`) != raw {
			break
		}
	}
	if len(out) == 0 || len(out) == 1 && askOwners[strings.ToLower(out[0])] {
		return ""
	}
	return strings.Join(out, " ")
}

// participles of irregular verbs, which the verb tables do not hold.
var participles = wordSet(`been seen gone done taken given known shown written broken stolen spoken hidden chosen fallen drawn grown thrown worn torn sworn woken begun drunk rung sung sunk swum forgotten forbidden eaten beaten bitten driven ridden risen shaken frozen flown`)

func verbForm(w string) bool {
	return baseForm(w) != "" || participles[w] || strings.HasSuffix(w, "ly")
}

var (
	// askedSeams are the words of a Chinese question that stand around what it is about.
	askedSeams  = regexp.MustCompile(`谁家的?|谁的|谁|哪(?:一?[个扇盏家封本条张把只件座口块位串枚根棵间艘匹]|里|儿|边|天|年|些)?|什么(?:时候|地方|人|东西|样子?)?|啥|为什么|为何|怎么(?:样|会|回事)?|怎样|如何|多(?:少|久|大|远|高|深)|几(?:个|时)?|何(?:时|处|人)|是否|是不是|有没有|知不知道|究竟|到底|是|在|有|会|要|能|的|吗|呢|了|着|过|从|到|把|被|对|让|给|都|还|又|就|也|那么|这么`)
	askedLead   = regexp.MustCompile(`^(?:关于|有关|起|一下)`)
	wonderLead  = regexp.MustCompile(`^我?(?:很|只|就|真|倒)?(?:想|要)(?:知道|问问?|打听一?下?|弄?清楚|弄?明白|晓得)[，,]?`)
	vagueThings = []string{"人", "事", "事情", "东西", "地方", "时候", "一", "里", "里面", "这", "那", "家"}
)

// indirectChinese tells whether a phrase asks.
func indirectChinese(s string) bool { return asksChinese.MatchString(s) }

// askedChinese takes the thing out of a Chinese question: 那扇窗是谁家的 gives 那扇窗, 是谁点的灯 gives 灯.
func askedChinese(w *world, lex lexicon, s string) string {
	s = askedLead.ReplaceAllString(strings.TrimSpace(s), "")
	var pieces []string
	start := 0
	for _, at := range askedSeams.FindAllStringIndex(s, 40) {
		pieces = append(pieces, s[start:at[0]])
		start = at[1]
	}
	pieces = append(pieces, s[start:])
	best, top := "", 0
	for i, p := range pieces {
		p = strings.Trim(p, "，,。？?！! ")
		rank := 0
		word, _ := verbAt(lex, p)
		switch {
		case p == "" || slices.Contains(vagueThings, p) || word == p:
			continue
		case strings.HasPrefix(p, "那") || strings.HasPrefix(p, "这"):
			rank = 5
		case word != "": // it begins with a verb: 点灯
			rank = 1
		case runeCount(p) > 1:
			rank = 4
		case i == 0 || i == len(pieces)-1:
			rank = 3
		default:
			rank = 2
		}
		p = strings.TrimPrefix(p, word)
		if head := p[:len(p)-len(string(lastRune(p)))]; runeCount(head) > 1 && !w.knows(p) && w.knows(head) { // 湖水退
			p = head
		}
		if noun := plainNounChinese(w, p); noun != "" && rank > top && !slices.Contains(vagueThings, noun) {
			best, top = noun, rank
		}
	}
	return best
}

// subject finds the open thread or the lore entry that a thing is about: the lamp is what "Who keeps the lamp?" asks after.
func (w *world) subject(thing string) *entity {
	if thing == "" {
		return nil
	}
	var keys []string
	if w.tongue == chinese {
		noun := unpointed(thing)
		if i := strings.LastIndex(noun, "的"); i >= 0 {
			noun = noun[i+len("的"):]
		}
		if noun == "" || slices.Contains(vagueThings, noun) {
			return nil
		}
		for _, e := range slices.Concat(w.threads, w.topics) {
			if strings.Contains(e.name, noun) {
				return e
			}
		}
		return nil
	}
	if keys = contentWords(english, thing); len(keys) == 0 {
		return nil
	}
	head := keys[len(keys)-1]
	for _, e := range slices.Concat(w.threads, w.topics) {
		if slices.Contains(contentWords(english, e.name), head) {
			return e
		}
	}
	return nil
}

// unpointed takes 那盏 from 那盏灯.
func unpointed(s string) string {
	rest, ok := strings.CutPrefix(s, "那")
	if !ok {
		return s
	}
	if strings.ContainsRune(measures, firstRune(rest)) {
		return rest[len(string(firstRune(rest))):]
	}
	return rest
}

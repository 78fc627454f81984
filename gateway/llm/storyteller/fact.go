package storyteller

import (
	"regexp"
	"strings"
	"unicode"
)

// Limits of one fact, in runes. Longer text is not quotable in a passage of ordinary length.
const (
	maxFactEnglish, minFactEnglish = 260, 12
	maxFactChinese, minFactChinese = 96, 5
)

var (
	dependentEnglish = regexp.MustCompile(`^(It|Its|They|Them|Their|This|That|These|Those|But|And|So|Yet|Or|Nor|Then|Both|Neither|Either|Instead|However|Otherwise|Therefore|Hence|Such|Also|Too|Likewise|Besides|Afterwards?|Meanwhile|Even so|Still,|The (other|others|rest|former|latter|second|third|same)|Another|Others|In (it|this|that|them)|Of (it|these|those|them)|One of (them|these|those)|Some of (them|these|those)|Most of (them|these|those)|None of (them|these|those)|What (is|that)|He|She|His|Her|Hers|Him)\b`)
	dependentChinese = regexp.MustCompile(`^(它|他|她|这|那|此|其|但|可是|可|而|却|不过|于是|因此|所以|然而|也|又|还|并|同时|后来|从此|之后|结果|只是|就|便|前者|后者|两者|二者|另一|另外|其他|其余|反而|否则|除此|何况|至于|再)`)
	pronounEnglish   = regexp.MustCompile(`^(He|She|His|Her|They|Their|It|Its)\b`)
	whQuestion       = regexp.MustCompile(`[?？][”"’』」]*$`)
	firstPerson      = regexp.MustCompile(`\b(I|I'm|I've|me|my|myself|we|our|us)\b`)
	secondPerson     = regexp.MustCompile(`(?i)\b(you|your|yours)\b|你`)
)

// factsOf cuts paragraphs about owner (nil: about the world) into facts in language t. Whatever could not be told as
// it stands is left out: other languages, marks, talk about the game, fragments, sentences that lean on a lost one.
func factsOf(t tongue, owner *entity, paragraphs []string) []*fact {
	var out []*fact
	for _, p := range paragraphs {
		var last *fact
		for i, s := range sentences(p) {
			s, ok := quotable(t, s)
			if !ok {
				last = nil
				continue
			}
			leans := dependent(t, s)
			if leans {
				if named, done := nameFirst(t, owner, s, i == 0); done {
					s, leans = named, false
				}
			}
			if leans {
				if last != nil && last.single && runeCount(last.text)+runeCount(s) < maxRunes(t) {
					last.text = joinSentences(t, last.text, s)
					last.single = false
				}
				continue
			}
			if owner != nil && owner.kind == aPerson {
				s, ok = withSubject(t, owner, s)
				if !ok {
					last = nil
					continue
				}
			}
			last = &fact{text: s, owner: owner, single: true, question: whQuestion.MatchString(s)}
			out = append(out, last)
		}
	}
	return out
}

var leaning = regexp.MustCompile(`(?i)\b(it|its|them|they|their)\b`)

// leans tells whether a fact speaks of something by a pronoun that only its neighbours explain.
func (f *fact) leans(t tongue) bool {
	if t == chinese {
		return strings.ContainsRune(f.text, '它')
	}
	return leaning.MatchString(f.text)
}

func maxRunes(t tongue) int {
	if t == chinese {
		return maxFactChinese
	}
	return maxFactEnglish
}

func joinSentences(t tongue, a, b string) string {
	if t == chinese {
		return a + b
	}
	return a + " " + b
}

// quotable cleans one sentence and tells whether it may be told at all.
func quotable(t tongue, s string) (string, bool) {
	s = strings.TrimSpace(s)
	if !seemly(s) || isMeta(s) || !speaks(t, s) {
		return "", false
	}
	n := runeCount(s)
	if t == chinese {
		s = fullWidth(strings.ReplaceAll(s, "...", "……"))
		if n < minFactChinese || n > maxFactChinese || firstPersonChinese(s) {
			return "", false
		}
	} else {
		s = curly(strings.ReplaceAll(s, "...", "…"))
		if n < minFactEnglish || n > maxFactEnglish || firstPerson.MatchString(outsideQuotes(s)) {
			return "", false
		}
	}
	if !balanced(s) || strings.ContainsAny(s, "()（）") && !balancedBrackets(s) {
		return "", false
	}
	if secondPerson.MatchString(outsideQuotes(s)) && t == english && directive(s) {
		return "", false
	}
	last := lastRune(s)
	switch {
	case strings.ContainsRune(".!?。！？…", last):
	case isCloser(last):
		if !strings.ContainsAny(s[max(0, len(s)-8):], ".!?。！？…") {
			s += fullStop(t)
		}
	case strings.ContainsRune(":：;；,，—-、", last):
		return "", false
	default:
		s += fullStop(t)
	}
	return s, true
}

func fullStop(t tongue) string {
	if t == chinese {
		return "。"
	}
	return "."
}

var directiveStart = regexp.MustCompile(`(?i)^(always|never|keep|use|avoid|describe|remember|make sure|do not|don't|let|show|start|begin|open|end|write|give|treat|play|mention)\b`)

// directive recognises an instruction to whoever writes.
func directive(s string) bool { return directiveStart.MatchString(s) }

func dependent(t tongue, s string) bool {
	if t == chinese {
		s = strings.TrimLeft(s, "“‘「『")
		return dependentChinese.MatchString(s) && !strings.HasPrefix(s, "可能") && !strings.HasPrefix(s, "还魂")
	}
	return dependentEnglish.MatchString(s)
}

// nameFirst puts the owner's name in the place of a leading pronoun that means the owner. For a place only the first
// sentence is sure to mean it.
func nameFirst(t tongue, owner *entity, s string, first bool) (string, bool) {
	if owner == nil || owner.shown == "" || owner.kind != aPerson && !(owner.kind == aPlace && first) {
		return "", false
	}
	if t == chinese {
		for _, p := range []string{"他", "她", "它"} {
			if rest, ok := strings.CutPrefix(s, p); ok && !strings.HasPrefix(rest, "们") && (p == "它") == (owner.kind == aPlace || isBeast(owner)) {
				return owner.shown + rest, true
			}
		}
		return "", false
	}
	p := pronounEnglish.FindString(s)
	rest := s[len(p):]
	switch {
	case owner.kind == aPlace && p == "It", owner.kind == aPerson && (p == "She" && owner.gender != male || p == "He" && owner.gender != female):
		return upperFirst(mid(owner)) + rest, true
	case owner.kind == aPlace && p == "Its", owner.kind == aPerson && (p == "Her" && owner.gender != male || p == "His" && owner.gender != female):
		return upperFirst(mid(owner)) + "’s" + rest, true
	}
	return "", false
}

// withSubject makes a description of a person a sentence about them. The first fragment becomes the epithet and no fact.
func withSubject(t tongue, owner *entity, s string) (string, bool) {
	name := owner.shown
	if name == "" {
		return s, true
	}
	if t == chinese {
		if strings.Contains(s, name) || strings.Contains(s, owner.name) || strings.HasPrefix(s, "“") && strings.HasSuffix(s, "”") {
			noteEpithetChinese(owner, s)
			return s, true
		}
		if head, _ := cutClause(s); roleLike(head) && runeCount(head) <= 24 {
			if owner.epithet == "" {
				owner.epithet = head
			}
			return "", false
		}
		return s, standsChinese(s)
	}
	if strings.HasPrefix(s, "“") && strings.HasSuffix(s, "”") {
		return s, true
	}
	if word := firstWord(s); isThirdPersonVerb(word) { // "Keeps the ledger."
		return mid(owner) + " " + lowerFirst(s), true
	}
	if startsWithName(owner, s) { // "Nell’s labels describe each object fairly."
		noteEpithetEnglish(owner, s)
		return s, true
	}
	if !hasFiniteVerb(s) || strings.HasPrefix(s, "Whoever ") {
		if owner.epithet == "" && runeCount(s) <= 110 {
			owner.epithet = lowerUnlessName(strings.TrimRight(s, ".!"), owner.source)
		}
		return "", false
	}
	noteEpithetEnglish(owner, s)
	return s, true
}

// startsWithName tells whether an English sentence begins with whom it is about; a name before a comma or a dash is only
// the heading of a fragment.
func startsWithName(owner *entity, s string) bool {
	for _, name := range []string{owner.shown, owner.name, owner.short()} {
		if rest, ok := strings.CutPrefix(s, name); ok && name != "" && (strings.HasPrefix(rest, "’s ") || strings.HasPrefix(rest, " ") && unicode.IsLower(firstRune(rest[1:])) && !strings.HasPrefix(rest, " of ") && !strings.HasPrefix(rest, " and ")) {
			return true
		}
	}
	return false
}

var (
	// ownSubject is a clause that begins with who does it.
	ownSubject = regexp.MustCompile(`(^|[，；：、])[^，；：]{0,8}[他她它]|^(有人|没有人|没人|谁|人人|大家|镇上|村里|城里|孩子们)`)
)

// standsChinese tells whether a sentence about somebody who is not named in it can be told as it stands, after the name
// has been said: somebody in it must do something. Chinese leaves a subject out where the sentence before has named it,
// and putting the name back would be guessing.
func standsChinese(s string) bool { return ownSubject.MatchString(s) }

var isA = regexp.MustCompile(`^(?:The )?[\p{Lu}][^,.;:—]{1,40}? is ((?:an?|the) [^,.;:—]{3,70})[,.;:—]`)

func noteEpithetEnglish(owner *entity, s string) {
	if owner.epithet != "" {
		return
	}
	m := isA.FindStringSubmatch(s)
	if m == nil || !(strings.HasPrefix(fold(s), fold(owner.name)) || strings.HasPrefix(fold(s), fold(owner.short()))) {
		return
	}
	np := m[1]
	for _, cut := range []string{" who ", " whose ", " that ", " which ", " and ", " but ", " with "} {
		if i := strings.Index(np, cut); i > 6 {
			np = np[:i]
		}
	}
	owner.epithet = np
}

func noteEpithetChinese(owner *entity, s string) {
	if owner.epithet != "" {
		return
	}
	rest, ok := strings.CutPrefix(s, owner.shown+"是")
	if !ok {
		return
	}
	head, _ := cutClause(rest)
	if n := runeCount(head); n >= 2 && n <= 22 {
		owner.epithet = head
	}
}

// cutClause gives the first clause of a Chinese sentence and what follows, without the mark between.
func cutClause(s string) (head, rest string) {
	i := strings.IndexAny(s, "，。；：！？")
	if i < 0 {
		return s, ""
	}
	_, n := firstRuneLen(s[i:])
	return s[:i], s[i+n:]
}

func firstRuneLen(s string) (rune, int) {
	for i, r := range s {
		_ = i
		return r, len(string(r))
	}
	return 0, 0
}

var roleWords = regexp.MustCompile(`(船家|东家|店家|管家|画家|作家|专家|看守|鹅|狗|猫|马|鸟|狐|鹰|驴|牛|羊|鸡|鸭|猴|蛇|狼|长|人|匠|师|者|主|女|儿|客|手|生|夫|妇|婆|翁|童|医|官|僧|尼|道士|老板|老板娘|掌柜|先生|商|兵|员|工|贩|仆|王|后|妃|将军|弟子|长老|姐|妹|哥|弟|娘|爷|奶奶|孩子|姑娘|小子|家伙|头目|首领|队长|船长|守卫|学徒|徒弟|传人|遗孤|剑修|修士|医生|护士|教授|侦探|记者|警察|司机|丫头|少女|少年|女孩|男孩|老人|汉子|婆婆|大娘|大叔|伙计|帮工|账房|领班|渡工|更夫|店主|诗人|画师|祭司|猎户|渔民|农民|书记|管事)$`)

// clauseWords end or begin what says when, where or how and not who.
var clauseWords = regexp.MustCompile(`(以后|之后|过后|午后|今后|往后|然后|背后|身后|最后|以前|之前|的时候|那时|一生|半生|人生|出生|陌生|发生|对手|双手|左手|右手|动手|有人|没有人|见人|待人|叫人|让人|好奇心太重)$|^(每|自从|从前|从|当|如果|只要|要是|虽然|因为|为了|一到|一旦|不论|无论)`)

// roleLike recognises a Chinese noun phrase that says what somebody is.
func roleLike(s string) bool {
	return roleWords.MatchString(s) && !clauseWords.MatchString(s) && !strings.Contains(s, "是") && (!strings.HasPrefix(s, "在") || strings.Contains(s, "的"))
}

func firstWord(s string) string {
	for i, r := range s {
		if !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '-' {
			return s[:i]
		}
	}
	return s
}

// lowerUnlessName lowers the first letter of a fragment unless its first word is written with a capital elsewhere too.
func lowerUnlessName(s, source string) string {
	word := firstWord(s)
	if word == "" || len(word) > 1 && strings.ToUpper(word) == word {
		return s
	}
	for rest := source; ; { // with a capital in the middle of a sentence it is a name
		i := strings.Index(rest, " "+word)
		if i < 0 {
			return lowerFirst(s)
		}
		if before := lastRune(rest[:i]); unicode.IsLower(before) || before == ',' {
			return s
		}
		rest = rest[i+1:]
	}
}

// outsideQuotes drops quoted speech from a sentence.
func outsideQuotes(s string) string {
	if !strings.ContainsAny(s, "“”「」\"") {
		return s
	}
	var b strings.Builder
	depth, straight := 0, false
	for _, r := range s {
		switch r {
		case '“', '「', '『':
			depth++
		case '”', '」', '』':
			depth = max(0, depth-1)
		case '"':
			straight = !straight
		default:
			if depth == 0 && !straight {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

func firstPersonChinese(s string) bool { return strings.Contains(outsideQuotes(s), "我") }

// balanced tells whether every quotation mark that opens also closes.
func balanced(s string) bool {
	return strings.Count(s, "“") == strings.Count(s, "”") && strings.Count(s, "「") == strings.Count(s, "」") &&
		strings.Count(s, "『") == strings.Count(s, "』") && strings.Count(s, "《") == strings.Count(s, "》") && !strings.Contains(s, `"`)
}

func balancedBrackets(s string) bool {
	return strings.Count(s, "(")+strings.Count(s, "（") == strings.Count(s, ")")+strings.Count(s, "）")
}

// curly turns straight quotation marks of an English text into curly ones.
func curly(s string) string {
	if !strings.ContainsAny(s, `"'`) {
		return s
	}
	var b strings.Builder
	prev := ' '
	open := false
	for _, r := range s {
		switch r {
		case '"':
			if open = !open; open {
				r = '“'
			} else {
				r = '”'
			}
		case '\'':
			if unicode.IsSpace(prev) || prev == '“' || prev == '(' {
				r = '‘'
			} else {
				r = '’'
			}
		}
		b.WriteRune(r)
		prev = r
	}
	return b.String()
}

// fullWidth gives a Chinese text the punctuation of Chinese and takes the spaces between Han characters out.
func fullWidth(s string) string {
	rs := []rune(s)
	out := make([]rune, 0, len(rs))
	open := false
	near := func(i int) rune { // the neighbour that is no space
		if i < 0 || i >= len(rs) {
			return 0
		}
		return rs[i]
	}
	for i, r := range rs {
		prev, next := rune(0), near(i+1)
		if len(out) > 0 {
			prev = out[len(out)-1]
		}
		cjk := isHan(prev) || isWide(prev) || isHan(next) && !spaced(prev)
		switch {
		case r == ',' && cjk:
			r = '，'
		case r == '.' && (isHan(prev) || isWide(prev)) && !unicode.IsDigit(next):
			r = '。'
		case r == '?' && cjk:
			r = '？'
		case r == '!' && cjk:
			r = '！'
		case r == ':' && cjk:
			r = '：'
		case r == ';' && cjk:
			r = '；'
		case r == '(' && (isHan(next) || isHan(prev)):
			r = '（'
		case r == ')' && (isHan(prev) || isWide(prev)):
			r = '）'
		case r == '"':
			if open = !open; open {
				r = '“'
			} else {
				r = '”'
			}
		case r == '「':
			r = '“'
		case r == '」':
			r = '”'
		case r == '『':
			r = '‘'
		case r == '』':
			r = '’'
		case r == ' ' && (isHan(prev) || isHan(next) || isWide(prev) || isWide(next)):
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func isWide(r rune) bool {
	return strings.ContainsRune("，。！？；：、“”‘’（）《》…—", r) && r != 0
}

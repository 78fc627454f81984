package storyteller

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	clauseEndChinese = regexp.MustCompile(`[，,。；;！!\n]+|[？?]|然后|接着|随后|并且|同时|之后`)
	leadChinese      = regexp.MustCompile(`^(我们|咱们|我|咱|俺|本人|想要|想去|想|要|打算|决定|准备|试着|尝试|试图|努力|先|就|便|于是|再|又|也|还是|还|赶紧|连忙|立刻|马上|继续|开始|慢慢地?|小心翼翼地?|小心地?|轻轻地?|仔细地?|认真地?|默默地?|大声地?|小声地?|轻声地?|悄悄地?|偷偷地?|缓缓地?|一起|一边|请|能不能|可不可以|能否|可以|能|会|得|应该|主动|上前|转身|低头|抬头|弯腰|伸手|礼貌地?|恭敬地?|耐心地?|故意|直接|独自|亲自|那|好|嗯|\s)`)
	notChinese       = regexp.MustCompile(`^(不想要?|不要|不愿意?|不会|不再|不打算|不|别|没有|没|从不|绝不)`)
	asksChinese      = regexp.MustCompile(`[？?]|吗$|呢$|谁|什么|啥|哪里|哪儿|哪|为何|为什么|怎么|怎样|如何|多少|多久|多大|多远|多高|多深|几个|几时|何时|何处|何人|是否|是不是|有没有`)
	prepChinese      = "向对跟和同与朝往把将用从在到为替由给沿顺"
	particles        = regexp.MustCompile(`^(了一?下|了一眼|了一番|一下|一眼|一番|一看|了|着|过|起来|起|下|出|过来|过去|向|到|住|在|给)`)
	trailChinese     = regexp.MustCompile(`(吧|啊|呀|呢|吗|啦|了|看看|一下|起来|过来|过去|来|去|说|道)$`)
	aboutChinese     = regexp.MustCompile(`^(关于|有关|起)?(.*?)(的事情|的事儿|的事|的情况|的下落|的消息|的来历|的传闻|的故事)?$`)
	toldChinese      = regexp.MustCompile(`^(我)?(告诉|问|对|跟|向|说)`)
	youChinese       = strings.NewReplacer("我们", "你们", "我", "你", "咱们", "你们", "自己", "自己")
)

// readChinese reads a line clause by clause. Quoted speech has been taken out of it.
func readChinese(w *world, lex lexicon, line string, here []*entity) []act {
	line = strings.TrimSpace(plain(line))
	if a, ok := wholeLine(line); ok {
		return []act{a}
	}
	if nothingYes.MatchString(line) && runeCount(line) < 12 {
		return []act{{verb: doNothing}}
	}
	var acts []act
	start := 0
	add := func(clause string, mark string) {
		clause = strings.TrimSpace(clause)
		if clause == "" || len(acts) >= 6 {
			return
		}
		acts = append(acts, chineseClause(w, lex, clause, here, strings.ContainsAny(mark, "?？"))...)
	}
	for _, at := range clauseEndChinese.FindAllStringIndex(line, 40) {
		add(line[start:at[0]], line[at[0]:at[1]])
		start = at[1]
	}
	add(line[start:], "")
	return withVocative(acts)
}

// withVocative gives what is said after a name to the one who is called by it: 保长，你是谁？
func withVocative(acts []act) []act {
	var out []act
	for i, a := range acts {
		if next := i + 1; a.verb == "greet" && a.doing == "" && a.speech == "" && len(a.people) == 1 && next < len(acts) && len(acts[next].people) == 0 {
			switch acts[next].verb {
			case doAsk, doSay, "thank", "apologise", doAgree, doRefuse, "threaten", "invite":
				acts[next].people = a.people
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// verbAt finds the longest verb of the lexicon that begins a text.
func verbAt(lex lexicon, s string) (string, verb) {
	ends := make([]int, 0, 8)
	for i := range s {
		if i > 0 {
			ends = append(ends, i)
		}
		if len(ends) == lex.longest {
			break
		}
	}
	if len(ends) < lex.longest {
		ends = append(ends, len(s))
	}
	for i := len(ends) - 1; i >= 0; i-- {
		if c := lex.class[s[:ends[i]]]; c != "" {
			return s[:ends[i]], c
		}
	}
	return "", ""
}

// foundVerb is a verb in a clause.
type foundVerb struct {
	word       string
	class      verb
	start, end int
}

// verbsIn finds the verbs of a clause outside of the names in it.
func verbsIn(lex lexicon, c string, hits []hit) []foundVerb {
	var out []foundVerb
	next := 0
	for i := 0; i < len(c); {
		for next < len(hits) && hits[next].end <= i {
			next++
		}
		if next < len(hits) && hits[next].start <= i {
			i = hits[next].end
			continue
		}
		if word, class := verbAt(lex, c[i:]); class != "" && (next >= len(hits) || i+len(word) <= hits[next].start) {
			out = append(out, foundVerb{word, class, i, i + len(word)})
			i += len(word)
			continue
		}
		_, n := utf8.DecodeRuneInString(c[i:])
		i += n
	}
	return out
}

func chineseClause(w *world, lex lexicon, clause string, here []*entity, asked bool) []act {
	if a, ok := wholeLine(clause); ok {
		return []act{a}
	}
	if rest := wonderLead.ReplaceAllString(clause, ""); rest != clause && rest != "" && indirectChinese(rest) { // 我想知道那是谁的窗
		return chineseClause(w, lex, rest, here, true)
	}
	c, first, negated := clause, strings.HasPrefix(clause, "我") || strings.HasPrefix(clause, "咱"), false
	if before, after, ok := strings.Cut(c, "："); ok && strings.TrimSpace(after) != "" { // 我对阿岚说：你好
		a := act{verb: doSay, speech: after}
		a.sortNames(w.finder.find(before))
		if asksChinese.MatchString(after) {
			a.verb, a.question = doAsk, true
		} else {
			refineSay(&a)
		}
		return []act{a}
	}
	question := asked || asksChinese.MatchString(clause)
	embedded := first && !asked && !strings.HasSuffix(clause, "吗") && !strings.HasSuffix(clause, "呢")     // "我会帮你查清楚是谁"
	if strings.ContainsAny(clause, "你您") && (!question || embedded) && !toldChinese.MatchString(clause) { // said to somebody
		a := act{verb: doSay, speech: clause + "。"}
		a.sortNames(w.finder.find(clause))
		refineSay(&a)
		return []act{a}
	}
	if hits := w.finder.find(c); strings.HasPrefix(c, "请") && len(hits) > 0 && hits[0].start == len("请") && hits[0].entity.kind == aPerson {
		a := act{verb: doSay}
		a.sortNames(hits)
		return []act{a}
	}
	hidden := strings.Contains(clause, "悄悄") || strings.Contains(clause, "偷偷")
	for {
		if m := notChinese.FindString(c); m != "" && m != c {
			if word, _ := verbAt(lex, c); runeCount(word) > runeCount(m) {
				break
			}
			c, negated = c[len(m):], true
			continue
		}
		m := leadChinese.FindString(c)
		if m == "" || m == c {
			break
		}
		if word, class := verbAt(lex, c); class != "" && runeCount(word) > runeCount(m) {
			break
		}
		c = c[len(m):]
	}
	hits := w.finder.find(c)
	if len(fold(c)) != len(c) { // positions would not fit
		c = fold(c)
	}
	found := verbsIn(lex, c, hits)
	for len(found) > 1 && found[0].class == doGo && found[0].end == found[1].start { // 去看看
		found = found[1:]
	}
	if len(found) == 0 || question && found[0].class != doAsk && !(first && found[0].start == 0) {
		return []act{chineseStatement(w, clause, hits, question, first, c, here)}
	}
	if !first && found[0].start > 0 && !strings.ContainsRune(prepChinese, firstRune(c)) && !leadsToVerb(c, found[0], hits) {
		return []act{chineseStatement(w, clause, hits, question, first, c, here)}
	}
	found = successive(found)
	var acts []act
	for i, f := range found {
		end := len(c)
		if i+1 < len(found) && sequence(f.class) {
			end = found[i+1].start
		}
		a := act{verb: f.class, negated: negated, question: question}
		if hidden && (f.class == doGo || f.class == doLeave) {
			a.verb = "hide"
		}
		mine := hits
		if i > 0 && acts[0].verb == doGo { // the place is where one goes, not what one looks at there
			mine = nil
			for _, h := range hits {
				if h.start >= f.end || h.entity.kind != aPlace {
					mine = append(mine, h)
				}
			}
		}
		a.fillChinese(w, c, f, end, mine, here)
		if i == 0 {
			a.doing = printable(w.tongue, youChinese.Replace(trimTrail(c)), 30)
		}
		acts = append(acts, a)
		if !sequence(f.class) || len(acts) == 2 {
			break
		}
	}
	return acts
}

// successive keeps the verbs that really follow one another: a single character such as 上 is more often part of a noun.
func successive(found []foundVerb) []foundVerb {
	out := found[:1:1]
	for _, f := range found[1:] {
		if f.class != doGo && f.class != doLeave && (out[0].class == doGo || runeCount(f.word) > 1) {
			out = append(out, f)
		}
	}
	return out
}

// sequence tells whether a verb of this class may be followed by another one that matters.
func sequence(v verb) bool {
	return v == doGo || v == doLeave || v == "take" || v == "touch" || v == "wait"
}

// leadsToVerb tells whether what stands before a verb is a name or next to nothing.
func leadsToVerb(c string, f foundVerb, hits []hit) bool {
	if runeCount(c[:f.start]) <= 2 {
		return true
	}
	return len(hits) > 0 && hits[0].start == 0 && hits[0].end <= f.start && runeCount(c[hits[0].end:f.start]) <= 2
}

func trimTrail(s string) string {
	for _, end := range []string{"吧", "啊", "呀", "啦"} {
		s = strings.TrimSuffix(s, end)
	}
	return s
}

// fillChinese finds who and what an act is about: 把信交给阿岚, 向阿岚打听裂钟, 问阿岚裂钟的事.
func (a *act) fillChinese(w *world, c string, f foundVerb, end int, hits []hit, here []*entity) {
	var before, after []hit
	for _, h := range hits {
		if h.end <= f.start {
			before = append(before, h)
		} else if h.end <= end {
			after = append(after, h)
		}
	}
	rest := strings.TrimPrefix(c[f.end:end], "一"+string(lastRune(f.word))) // 搜一搜
	lead := c[:f.start]
	a.sortNames(append(before, after...))
	if a.verb == doGo {
		a.place, a.passing = destination(chinese, fold(c), append(before, after...))
	}
	a.aim(strings.ContainsAny(rest+lead, "他她"), here)
	if a.verb == doAsk || a.verb == doSay {
		a.topicChinese(w, rest, before, after)
		return
	}
	thing := stripNames(rest, after, end-len(rest))
	for _, prep := range []string{"把", "将"} {
		if i := strings.Index(lead, prep); i >= 0 {
			thing = stripNames(lead[i+len(prep):], before, i+len(prep))
		}
	}
	if strings.HasPrefix(lead, "用") && strings.TrimSpace(thing) == "" {
		thing = lead[len("用"):]
	}
	switch a.verb {
	case doGo, doLeave, "wait", "sleep", "hide", "greet":
		if a.place != nil || a.verb != doGo {
			return
		}
	}
	if a.verb == "put" || a.verb == "drop" {
		a.layChinese(w, f.word, rest, lead, thing, after)
		return
	}
	a.thing = nounChinese(w, thing)
	if strings.HasSuffix(a.thing, "门") && strings.ContainsRune("敲叩拍", firstRune(f.word)) {
		a.verb = "knock"
	}
	a.self = strings.Contains(rest, "自己")
}

func (a *act) topicChinese(w *world, rest string, before, after []hit) {
	topic := strings.TrimSpace(particles.ReplaceAllString(rest, ""))
	if len(before) == 0 && len(after) > 0 && after[0].entity.kind == aPerson { // 问阿岚……
		i := strings.Index(fold(topic), fold(after[0].entity.name))
		if i >= 0 {
			topic = topic[i+len(after[0].entity.name):]
		} else {
			_, topic, _ = strings.Cut(topic, after[0].entity.shown)
		}
		a.people = []*entity{after[0].entity}
		after = after[1:]
	} else if len(before) > 0 && before[0].entity.kind == aPerson {
		a.people = []*entity{before[0].entity}
	}
	a.topic = nil
	for _, h := range after {
		if h.entity.kind != aPerson || len(a.people) == 0 || h.entity != a.people[0] {
			a.topic = h.entity
			break
		}
	}
	if m := aboutChinese.FindStringSubmatch(strings.TrimLeft(topic, "，,：: ")); m != nil && a.topic == nil {
		if indirectChinese(m[2]) { // before anything is cut off: 是谁点的灯
			a.thing = askedChinese(w, bankOf(chinese).lexicon, stripPeople(w, m[2]))
		} else {
			a.thing = nounChinese(w, m[2])
		}
	}
	a.words = contentWords(chinese, topic)
	if a.verb == doSay && (a.topic != nil || strings.HasPrefix(topic, "关于") || strings.HasPrefix(rest, "起")) {
		a.verb = doAsk
	}
}

// stripPeople takes the names of people out of a text.
func stripPeople(w *world, s string) string {
	if key := fold(s); len(key) != len(s) {
		return s
	}
	hits := w.finder.find(s)
	for i := len(hits) - 1; i >= 0; i-- {
		if hits[i].entity.kind == aPerson {
			s = s[:hits[i].start] + s[hits[i].end:]
		}
	}
	return s
}

func stripNames(s string, hits []hit, offset int) string {
	for i := len(hits) - 1; i >= 0; i-- {
		h := hits[i]
		if h.entity.kind != aPerson && h.entity.kind != aPlace {
			continue
		}
		if a, b := h.start-offset, h.end-offset; a >= 0 && b <= len(s) {
			s = s[:a] + s[b:]
		}
	}
	return s
}

// plainNounChinese is nounChinese for what is left of a question, which must not ask any more.
func plainNounChinese(w *world, s string) string {
	if indirectChinese(s) {
		return ""
	}
	return nounChinese(w, s)
}

// nounChinese makes what follows a verb into a thing that can be named: 了一眼桌上的灯笼 gives 桌上的灯笼.
func nounChinese(w *world, s string) string {
	s = strings.TrimSpace(s)
	for particles.MatchString(s) {
		s = particles.ReplaceAllString(s, "")
	}
	for {
		t := trailChinese.ReplaceAllString(s, "")
		if t == s {
			break
		}
		s = t
	}
	s = strings.TrimSpace(strings.TrimSuffix(s, "的"))
	s = pointed(s)
	s = strings.ReplaceAll(s, "我的", "你的")
	n := runeCount(s)
	own := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "你的"), "她"), "他")
	if indirectChinese(s) {
		return askedChinese(w, bankOf(chinese).lexicon, s)
	}
	if n < 1 || n > 12 || strings.ContainsAny(own, "我你他她吗呢") {
		return ""
	}
	switch s {
	case "四周", "周围", "四下", "一", "里", "上", "下", "里面", "东西", "什么", "它", "此", "会儿", "一会", "一会儿":
		return ""
	}
	return printable(w.tongue, s, 12)
}

// measures are words between "that" and a noun, which keep the "that".
const measures = "个盏扇封本条张把只件座口块位串枚根棵间艘匹道阵股团些群支枝片幅面炉杯碗"

// pointed turns 这盏灯 into 那盏灯 and 那灯 into 灯.
func pointed(s string) string {
	for _, q := range []string{"这", "那"} {
		rest, ok := strings.CutPrefix(s, q)
		if !ok {
			continue
		}
		if strings.ContainsRune(measures, firstRune(rest)) {
			return "那" + rest
		}
		return rest
	}
	return s
}

// chineseStatement: a question to whoever is there, a bare name, an attempt with an unknown verb, or words said aloud.
func chineseStatement(w *world, clause string, hits []hit, question, first bool, c string, here []*entity) act {
	a := act{verb: doSay}
	a.sortNames(hits)
	if question {
		a.verb, a.question = doAsk, true
		a.speech = clause + "？"
		a.words = contentWords(chinese, clause)
		addressed := len(a.people) > 0 && len(hits) > 0 && hits[0].start == 0 && (strings.ContainsAny(clause, "你您") || len(a.people) > 1)
		if len(a.people) > 0 && !addressed && a.topic == nil {
			a.topic, a.people = a.people[0], nil
		}
		if a.topic == nil && a.place != nil {
			a.topic = a.place
		}
		return a
	}
	bare := runeCount(strings.Trim(c, "去到！!。，, "))
	for _, h := range hits {
		if bare > runeCount(h.entity.shown)+1 {
			continue
		}
		if a.verb = "greet"; h.entity.kind == aPlace {
			a.verb = doGo
		}
		return a
	}
	if first && c != clause {
		a.verb = doOther
		a.doing = printable(w.tongue, youChinese.Replace(trimTrail(c)), 30)
		return a
	}
	a.speech = clause + "。"
	refineSay(&a)
	return a
}

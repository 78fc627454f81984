package storyteller

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/covel/covel/kernel/model"
)

// A summary is made of sentences of the text itself, in their order: nothing is told that does not stand there. What is chosen
// are sentences that name people and places and say what somebody did, spread over the whole of the text, so that its end does
// not push out its beginning.

// summaryTask is a request for a summary as the storyteller understands it.
type summaryTask struct {
	text     string
	names    []string
	headings []string // under which it is to be written
	words    int      // at most: English words
	chars    int      // or Chinese characters
}

var (
	asksSummaryEnglish = regexp.MustCompile(`(?i)\b(?:write|give|make|put|produce|turn)\b[^.\n]{0,100}\bsummar(?:y|ies)\b|\bsummari[sz]e\b|\bsum up\b`)
	asksSummaryChinese = regexp.MustCompile(`概括|摘要|总结`)
	headingAsked       = regexp.MustCompile(`(?m)^##+ *(\S[^\n]{0,60})$`)
	tagAtLine          = regexp.MustCompile(`(?m)^<([a-z][a-z_-]{0,40})>`)
	wordsAtMost        = regexp.MustCompile(`(\d{1,6}) ?(?:English )?(?:words|个词)`)
	charsAtMost        = regexp.MustCompile(`(\d{1,6}) ?(?:Chinese )?(?:characters|个?字)`)
)

// Lengths when the request says nothing of them.
const (
	summaryWords = 150
	summaryChars = 260
)

// summaryOf recognises a request for a summary: no run of the framework, no tools, no format, and instructions that ask for one.
// The text is the longest block of the user's message, or all of it.
func summaryOf(req model.Request) (summaryTask, bool) {
	var system, user string
	for _, m := range req.Messages {
		switch m.Role {
		case model.System:
			system += m.Content + "\n"
		case model.User:
			user += m.Content + "\n"
		default:
			return summaryTask{}, false
		}
	}
	if len(req.Tools) > 0 || req.ResponseFormat != nil || completionLine.MatchString(system) || strings.TrimSpace(user) == "" {
		return summaryTask{}, false
	}
	user = strings.ToValidUTF8(user, "\uFFFD")
	instructions := system
	if strings.TrimSpace(system) == "" {
		instructions, _, _ = strings.Cut(user, "\n")
	}
	if !asksSummaryEnglish.MatchString(instructions) && !asksSummaryChinese.MatchString(instructions) {
		return summaryTask{}, false
	}
	task := summaryTask{words: summaryWords, chars: summaryChars, text: user}
	longest := ""
	for _, tag := range tagAtLine.FindAllStringSubmatch(user, 20) {
		if _, text, ok := block(user, tag[1]); ok && len(text) > len(longest) {
			longest = text
		}
	}
	if longest != "" {
		task.text = unescape(longest)
		if _, names, ok := block(user, "names"); ok && names != longest {
			task.names = splitNames(unescape(names))
		}
	}
	for _, h := range headingAsked.FindAllStringSubmatch(system, 6) {
		task.headings = append(task.headings, strings.TrimSpace(h[1]))
	}
	around := strings.ReplaceAll(system+user, longest, "") // the story's own numbers are none of ours
	if n := numberIn(wordsAtMost, around); n > 0 {
		task.words = n
	}
	if n := numberIn(charsAtMost, around); n > 0 {
		task.chars = n
	}
	if most := req.MaxOutputTokens; most > 0 {
		task.words, task.chars = min(task.words, max(most/2, 8)), min(task.chars, max(most*3/4, 12))
	}
	return task, true
}

func numberIn(re *regexp.Regexp, s string) int {
	m := re.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

func splitNames(s string) []string {
	var out []string
	for _, n := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '、' || r == '\n' || r == '，' }) {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// retold is a sentence of the text that may stand in the summary.
type retold struct {
	text  string
	at    int // its place among all
	size  int
	worth int
	names []string
}

// summarise writes the summary.
func summarise(task summaryTask) string {
	tongue := guessTongue(clip(task.text, 20_000))
	most := task.words
	if tongue == chinese {
		most = task.chars
	}
	all := tellable(tongue, task)
	chosen := spread(all, most)
	if len(chosen) == 0 {
		if tongue == chinese {
			return "这些篇章里没有讲到什么。"
		}
		return "Nothing is told in these pages."
	}
	return underHeadings(chosen, task.headings, len(all))
}

var (
	speakerMark = regexp.MustCompile(`^\s*(?:\[([a-z]+)\]|(Player|Story|Note|玩家|正文|记录)[:：])\s*`)
	bulletMark  = regexp.MustCompile(`^\s*(?:[-*•]|\d{1,3}[.、)])\s+`)
	// toTheModel are sentences that speak to whoever reads the text, and not of the story.
	toTheModel  = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|above|all|instructions?|rules?|prompts?)\b|\b(?:instructions?|system prompt|language model|as an ai)\b|忽略.{0,12}(?:指令|要求|提示|内容|规则)|系统提示|提示词|指令|语言模型`)
	deedEnglish = regexp.MustCompile(`(?i)\b(?:g[ai]ves?|took|takes?|f[io]unds?|finds?|promis\w+|t[eo]lls?|told|sa(?:id|ys)|dies?|died|kill\w*|le(?:ft|aves?)|arriv\w+|reach\w*|open\w*|br[eo]ak\w*|broke|hid|hides?|hidden|learn\w*|know[ns]?|knew|secret\w*|keys?|lost|loses?|swears?|swore|agree\w*|refus\w+|sa?ved?|hurt|wound\w*|stole\w*|steals?|bought|buys?|m[ae]ets?|met|marr\w+|betray\w*|escap\w+|light\w*|lit|buried|wrote|writes?|map|letter|sword|debt)\b`)
	deedChinese = regexp.MustCompile(`给|交|拿|取|找到|发现|答应|许诺|告诉|得知|知道|说出|承认|死|杀|救|伤|打|离开|来到|抵达|回到|打开|毁|断|藏|秘密|约定|钥匙|信|剑|地图|欠|偷|买|卖|遇见|认出|拒绝|同意|背叛|逃|点亮|点灯|埋|写`)
)

// tellable cuts the text into sentences and says what each is worth. A sentence that was told before is not told again.
func tellable(tongue tongue, task summaryTask) []retold {
	names := task.names
	if len(names) == 0 {
		names = guessNames(tongue, task.text)
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	longest, shortest := 45, 3
	if tongue == chinese {
		longest, shortest = 90, 5
	}
	var out []retold
	seen := map[uint64]bool{}
	for _, line := range strings.Split(task.text, "\n") {
		who := speakerMark.FindStringSubmatch(line)
		if who != nil {
			line = line[len(who[0]):]
		}
		if line = bulletMark.ReplaceAllString(line, ""); strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		player := who != nil && (who[1] == "player" || who[2] == "Player" || who[2] == "玩家")
		parts := sentences(line)
		for i, s := range parts {
			n, key := length(tongue, s), sentenceKey(s)
			if n < shortest || n > longest || seen[key] || !seemly(s) || !speaks(tongue, s) || !paired(s) || toTheModel.MatchString(s) {
				continue
			}
			seen[key] = true
			x := retold{text: s, at: len(out), size: n}
			x.names = namedIn(names, s)
			x.worth = worthTelling(tongue, s, len(x.names), i == len(parts)-1)
			if player {
				x.text, x.worth, x.size = saidByPlayer(tongue, s), x.worth-4, n+2
			}
			out = append(out, x)
		}
	}
	return out
}

// namedIn gives the names that stand in a sentence, longest first; a part of one that stands there is the same.
func namedIn(names []string, s string) []string {
	var out []string
	for _, name := range names {
		if strings.Contains(s, name) && !slices.ContainsFunc(out, func(o string) bool { return strings.Contains(o, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// paired tells whether every quotation mark of a sentence has its other one.
func paired(s string) bool {
	return strings.Count(s, "“") == strings.Count(s, "”") && strings.Count(s, "「") == strings.Count(s, "」") && strings.Count(s, `"`)%2 == 0
}

func saidByPlayer(tongue tongue, s string) string {
	if strings.ContainsAny(s, `“”"「」`) {
		if tongue == chinese {
			return "玩家：" + s
		}
		return "The player: " + s
	}
	if tongue == chinese {
		return "玩家：“" + s + "”"
	}
	return "The player: “" + s + "”"
}

func worthTelling(tongue tongue, s string, names int, last bool) int {
	w := 3 * min(names, 3)
	deed := deedEnglish
	if tongue == chinese {
		deed = deedChinese
	}
	w += 2 * min(len(deed.FindAllStringIndex(s, 3)), 3)
	if dependent(tongue, s) {
		w -= 5
	}
	if strings.ContainsAny(s, "?？") {
		w -= 3
	}
	if strings.HasPrefix(s, "“") || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "「") {
		w -= 2
	}
	if last {
		w++
	}
	return w
}

// spread chooses sentences up to a length: the best of each of as many stretches as there is room for, so that every part of
// the text has its say; then somebody who was named nowhere yet; then the best of what is left. They stand in their order.
func spread(all []retold, most int) []retold {
	if len(all) == 0 {
		return nil
	}
	taken := make([]bool, len(all))
	left := most
	covered := map[string]bool{}
	take := func(i int) {
		if i < 0 || taken[i] || all[i].size > left {
			return
		}
		taken[i] = true
		left -= all[i].size
		for _, n := range all[i].names {
			covered[n] = true
		}
	}
	total := 0
	for _, x := range all {
		total += x.size
	}
	stretches := max(1, min(len(all), most*2/3*len(all)/max(total, 1)))
	for k := range stretches {
		from, to := k*len(all)/stretches, (k+1)*len(all)/stretches
		take(best(all[from:to], from, func(x retold) bool { return x.worth > 0 && x.size <= left }))
	}
	byWorth := make([]int, len(all))
	for i := range byWorth {
		byWorth[i] = i
	}
	slices.SortStableFunc(byWorth, func(a, b int) int { return cmp.Compare(all[b].worth, all[a].worth) })
	for _, i := range byWorth {
		if slices.ContainsFunc(all[i].names, func(n string) bool { return !covered[n] }) {
			take(i)
		}
	}
	for _, i := range byWorth {
		if all[i].worth > 0 {
			take(i)
		}
	}
	var out []retold
	for i, x := range all {
		if taken[i] {
			out = append(out, x)
		}
	}
	if len(out) > 0 {
		return out
	}
	if i := best(all, 0, func(x retold) bool { return x.size <= most }); i >= 0 {
		out = all[i : i+1]
	} else { // not even one fits: the shortest
		out = []retold{slices.MinFunc(all, func(a, b retold) int { return cmp.Compare(a.size, b.size) })}
	}
	return out
}

func best(xs []retold, from int, may func(retold) bool) int {
	at := -1
	for i, x := range xs {
		if may(x) && (at < 0 || x.worth > xs[at].worth) {
			at = i
		}
	}
	if at < 0 {
		return -1
	}
	return from + at
}

// underHeadings puts the sentences under what was asked for: what happened first, what is between two people second, and how
// it stands at the end last. Without headings they are a list.
func underHeadings(chosen []retold, headings []string, all int) string {
	groups := make([][]string, max(len(headings), 1))
	for i, x := range chosen {
		g := 0
		switch last := len(headings) - 1; {
		case last >= 2 && i >= len(chosen)-2 && i > 0 && x.at >= all*3/4:
			g = last
		case last >= 1 && len(x.names) > 1:
			g = 1
		}
		groups[g] = append(groups[g], "- "+x.text)
	}
	var out []string
	for g, lines := range groups {
		if len(lines) == 0 {
			continue
		}
		if len(headings) > 0 {
			lines = append([]string{"## " + headings[g]}, lines...)
		}
		out = append(out, strings.Join(lines, "\n"))
	}
	return strings.Join(out, "\n\n")
}

var (
	midName     = regexp.MustCompile(`[\p{Ll},;] (\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)`)
	speakerName = regexp.MustCompile(`(?:^|[。！？”，\n])(\p{Han}{2,3})(?:说|道|问|答|笑|喊|低声|点头|摇头)`)
)

// guessNames finds what is probably a name when the request lists none: English words with a capital inside of sentences,
// Chinese words before verbs of speaking, each more than once. They only weigh sentences; nothing is said of them.
func guessNames(tongue tongue, text string) []string {
	re := midName
	if tongue == chinese {
		re = speakerName
	}
	count := map[string]int{}
	var out []string
	for _, m := range re.FindAllStringSubmatch(text, 20_000) {
		name := m[1]
		if count[name]++; count[name] == 2 && unicode.IsLetter(firstRune(name)) && len(out) < 60 {
			out = append(out, name)
		}
	}
	return out
}

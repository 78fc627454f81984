package storyteller

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// verb is the class of what a player wants to do; it is also the name of the pool that answers it.
type verb string

// The classes that are not read from the lexicon. All others stand in words/<language>/verbs.yaml.
const (
	doNothing  verb = "wait"
	doSay      verb = "say"
	doAsk      verb = "ask"
	doLook     verb = "look"
	doGo       verb = "go"
	doLeave    verb = "leave"
	doAgree    verb = "agree"
	doRefuse   verb = "refuse"
	doOther    verb = "act"     // a clear attempt with a verb that no class knows
	doHint     verb = "hint"    // the player asks what there is to do
	doMutter   verb = "mutter"  // noise: no word anyone could answer
	doStray    verb = "stray"   // something this world does not have
	doOutside  verb = "outside" // talk to the machine and not to the world
	doContinue verb = "continue"
)

// act is one thing that a player does in a line.
type act struct {
	verb     verb
	people   []*entity // named people, in order
	place    *entity   // the named place
	topic    *entity   // a named thread, topic, or the second person of "ask Maren about Tam"
	words    []string  // content words, for finding facts
	where    string    // where a thing is put, as a phrase fit to be printed: "on the counter", 柜台上
	thing    string    // what the act is about, in the player's words and fit to be printed; "" when it is not
	doing    string    // the whole act as a verb phrase, fit to be printed after "you try to" and "你想"
	speech   string    // what the player says aloud, fit to be printed
	question bool
	negated  bool
	passing  bool      // the place lies on the way and is not where it leads
	self     bool      // it is about the player
	named    []*entity // all known names in the line
	device   *device   // the open thread of the scene that the act picks up
	raw      string
}

// lexicon finds the class of a verb phrase.
type lexicon struct {
	class   map[string]verb
	longest int // words of the longest English entry, runes of the longest Chinese one
}

func readLexicon(t tongue, data []byte) lexicon {
	var classes map[string][]string
	_ = yaml.Unmarshal(data, &classes)
	l := lexicon{class: map[string]verb{}}
	for class, phrases := range classes {
		for _, p := range phrases {
			l.class[p] = verb(class)
			n := len(strings.Fields(p))
			if t == chinese {
				n = runeCount(p)
			}
			l.longest = max(l.longest, n)
		}
	}
	return l
}

var (
	quoted      = regexp.MustCompile(`“([^“”]{1,600})”|"([^"]{1,600})"|「([^「」]{1,600})」|«([^«»]{1,600})»`)
	speakerLead = regexp.MustCompile(`^\s*([^:：\s][^:：]{0,30})[:：]\s*`)
	outside     = regexp.MustCompile(`(?i)\b(ignore|disregard|forget) (all |any |the |your )*(previous|prior|above|earlier|system)?\s*(instructions?|rules|prompts?)\b|\b(system|developer) prompt\b|\bas an ai\b|\byou are (now )?(an? )?(ai|language model|chat ?bot|assistant|dan)\b|\bjailbreak\b|\bprint your\b|\brepeat (the|your) (instructions|prompt)|忽略(以上|上面|之前|前面|所有)|系统提示|提示词|作为(一个)?(ai|人工智能|语言模型)|你是(一个)?(ai|人工智能|语言模型|程序)|开发者模式`)
)

// modernWords are things that a world without them has no word for. Several words, or Chinese ones, are looked for as text.
var modernWords, modernPhrases = func() (map[string]bool, []string) {
	words := map[string]bool{}
	for _, w := range strings.Fields(`smartphone smartphones phone phones cellphone internet wifi wi-fi google laptop laptops computer computers
television televisions tv helicopter helicopters airplane airplanes car cars pizza pizzas tank tanks laser lasers lightsaber bitcoin bitcoins
youtube chatgpt gpt robot robots spaceship spaceships microwave facebook instagram tiktok netflix batman superman pokemon playstation xbox
nuclear uber selfie selfies email emails python javascript sql`) {
		words[w] = true
	}
	return words, strings.Fields(`elon_musk machine_gun credit_card light_saber cell_phone smart_phone 手机 电脑 互联网 上网 微信 抖音 直升机 飞机 汽车 披萨
人工智能 坦克 激光 比特币 外卖 地铁 电视 机枪 核弹 微波炉 高铁 自拍 快递 宇宙飞船 奥特曼 皮卡丘 支付宝 二维码 代码`)
}()

// stray finds in a line something that this world does not have.
func (w *world) stray(line string) bool {
	low := strings.ToLower(line)
	for _, word := range wordsOf(low) {
		if modernWords[word] && !w.knows(word) {
			return true
		}
	}
	for _, p := range modernPhrases {
		if p = strings.ReplaceAll(p, "_", " "); strings.Contains(low, p) && !w.knows(p) {
			return true
		}
	}
	return false
}

// outsideStems are words without which nobody talks to the machine.
var outsideStems = []string{"ignore", "disregard", "forget", "prompt", "as an ai", "you are", "jailbreak", "print your", "repeat", "忽略", "系统提示", "提示词", "作为", "你是", "开发者"}

// understand reads a player's line. It gives one act, or two when the player goes somewhere and then does something.
// here are the people who are present, last addressed first.
func understand(w *world, line string, here []*entity) []act {
	line = strings.TrimSpace(line)
	if line == "" {
		return []act{{verb: doContinue}}
	}
	scene := *w
	scene.finder = w.finder.among(here)
	w = &scene
	line = w.withoutSpeaker(line)
	named := w.namesIn(line)
	if hasAnyStem(line, outsideStems) && outside.MatchString(line) {
		return []act{{verb: doOutside, named: named, raw: line}}
	}
	if w.stray(line) {
		return []act{{verb: doStray, named: named, raw: line}}
	}
	n := scriptsOf(line)
	if n.han+n.latin+n.other == 0 {
		if strings.ContainsAny(line, "!！?？") {
			return []act{{verb: doMutter, named: named, raw: line}}
		}
		return []act{{verb: doNothing, named: named, raw: line}}
	}
	written := guessTongue(w.withoutNames(line))
	speech := ""
	rest := quoted.ReplaceAllStringFunc(line, func(q string) string {
		for _, m := range quoted.FindStringSubmatch(q)[1:] {
			speech += " " + m
		}
		return " "
	})
	speech = strings.TrimSpace(speech)
	lex := bankOf(written).lexicon
	var acts []act
	if written == chinese {
		acts = readChinese(w, lex, rest, here)
	} else {
		acts = readEnglish(w, lex, rest, here)
	}
	acts = settleSpeech(w, acts, speech, here)
	acts = pruneActs(acts)
	for i := range acts {
		acts[i].named, acts[i].raw = named, line
		w.finishAct(&acts[i], written, here, len(acts) == 1)
	}
	return acts
}

// withoutSpeaker takes "陆青云：" from the front of a line, which is how several seats are told apart.
func (w *world) withoutSpeaker(line string) string {
	if m := speakerLead.FindStringSubmatch(line); m != nil && w.player != nil && fold(m[1]) == fold(w.player.name) {
		return line[len(m[0]):]
	}
	return line
}

// withoutNames leaves of a line what says which language it is written in.
func (w *world) withoutNames(line string) string {
	key := fold(line)
	hits := w.finder.find(line)
	for i := len(hits) - 1; i >= 0; i-- {
		key = key[:hits[i].start] + " " + key[hits[i].end:]
	}
	if n := scriptsOf(key); n.han+n.latin+n.other == 0 {
		return line
	}
	return key
}

func (w *world) namesIn(line string) []*entity {
	var out []*entity
	for _, h := range w.finder.find(line) {
		out = addOnce(out, h.entity)
	}
	return out
}

// knows tells whether the world itself speaks of something.
func (w *world) knows(word string) bool { return strings.Contains(w.corpus, fold(word)) }

// settleSpeech gives quoted words to the act that says them; words alone are said or asked.
func settleSpeech(w *world, acts []act, speech string, here []*entity) []act {
	if speech == "" {
		return acts
	}
	for i := range acts {
		switch acts[i].verb {
		case doSay, doAsk, "greet", "thank", "apologise", doAgree, doRefuse, "threaten", "invite":
			acts[i].speech = speech
			if strings.ContainsAny(speech, "?？") && acts[i].verb == doSay {
				acts[i].verb, acts[i].question = doAsk, true
			}
			if acts[i].verb == doSay {
				refineSay(&acts[i])
			}
			return acts
		}
	}
	spoken := act{verb: doSay, speech: speech}
	if strings.ContainsAny(speech, "?？") {
		spoken.verb, spoken.question = doAsk, true
	} else {
		refineSay(&spoken)
	}
	if len(acts) == 1 && acts[0].verb == doOther && acts[0].doing == "" {
		acts = nil
	}
	return append(acts, spoken)
}

var (
	sayGreet   = regexp.MustCompile(`(?i)^\W*(hello|hi|hey|good (morning|day|evening|afternoon)|greetings|well met)\b|^(你好|您好|大家好|早|晚上好|早上好|幸会|久仰|见过)`)
	sayThanks  = regexp.MustCompile(`(?i)^\W*(thanks?|thank you|much obliged|cheers)\b|^(谢谢|多谢|感谢)`)
	saySorry   = regexp.MustCompile(`(?i)\b(i'm sorry|i am sorry|forgive me|my apologies|i apologi[sz]e)\b|^\W*sorry\b|对不起|抱歉|恕罪|得罪了`)
	sayYes     = regexp.MustCompile(`(?i)^\W*(yes|yeah|yep|sure|of course|certainly|all right|alright|ok|okay|very well|i will|i'll do it|agreed|deal|i accept|gladly|i promise|i'll help|count me in)\b|^(好|好的|好吧|行|可以|没问题|当然|一定|我答应|我愿意|我去|是的|嗯|我来|成交|包在我身上)([，。！!,. ]|$)`)
	sayNo      = regexp.MustCompile(`(?i)^\W*(no|nope|never|not now|i won't|i will not|i refuse|no thanks|absolutely not|i can't)\b|^(不|不行|不要|不用|不了|不可以|算了|没门|我不)([，。！!,. ]|$|愿|会|想|答应|去)`)
	sayOffer   = regexp.MustCompile(`(?i)\b(i('ll| will| can| want to| would like to) help|let me help|can i help|how can i help|i promise)\b|我(来|可以|会|愿意|能)?帮|有什么(可以|能)帮|需要帮忙|我保证`)
	sayInvite  = regexp.MustCompile(`(?i)\b(come (along )?with me|come along|join me|follow me|let's go together|walk with me)\b|跟我(来|走|去)|一起(走|去|来)|同我(去|走|来)|陪我`)
	sayThreat  = regexp.MustCompile(`(?i)\b(or else|i'll kill|i will kill|you'll regret|you will regret|liar|i'm warning you|shut up)\b|杀了你|别怪我|否则|闭嘴|骗子|小心你的`)
	whatToDo   = regexp.MustCompile(`(?i)^\W*(what (can|should|could|do|shall) i do( now| next| here)?|what now|what next|what's next|help|hint|i'm stuck|i am stuck|i don't know what to do.*|what are my options|where (should|can|do) i go( now| next)?|how do i (start|begin))\W*$|^\W*(我)?(现在|接下来|下一步)?(能|可以|该|应该)?(做什么|怎么办|干什么|干嘛|去哪里|去哪儿|往哪走)[呢啊？?。！!]*$|^(帮助|提示|怎么玩|我卡住了|没头绪|毫无头绪)[。！!？?]*$`)
	whereAmI   = regexp.MustCompile(`(?i)^\W*(where am i|where are we|what is this place|what place is this|where is this|who is here|who else is here|who's here|who is around|what is here|what do i see|what can i see|look|l)\W*$|^\W*(我(现在|这是)?在哪(里|儿)?|这(里)?是(哪|哪里|哪儿|什么地方)|这儿是哪|谁在这(里|儿)?|这里有谁|这里有什么(人)?|我看(到|见)(了)?什么)[呢啊？?。！!]*$`)
	whoAmI     = regexp.MustCompile(`(?i)^\W*(who am i|what am i carrying|what do i have|inventory|what do i know|myself)\W*$|^(我是谁|我有什么|我身上有什么|我带了什么|看看自己)[呢啊？?。！!]*$`)
	asksWho    = regexp.MustCompile(`(?i)\b(who (exactly )?are you|what('s| is) your name|what do you do( here)?|tell me about yourself|about (yourself|himself|herself|themselves))\b|你是谁|您是谁|你叫什么|您叫什么|怎么称呼|你是做什么的|你是干什么的|介绍一下(你|您)自己|尊姓`)
	wholeSay   = regexp.MustCompile(`(?i)^\W*(hello|hi|hey|good (morning|day|evening|afternoon)|greetings|well met|thanks?|thank you|sorry|i'm sorry|i am sorry|forgive me|i apologi[sz]e|yes|yeah|yep|sure|of course|certainly|ok|okay|no|nope|never|agreed|deal|i promise|i will|i won't|i refuse|i accept|count me in)\b`)
	nothingYes = regexp.MustCompile(`(?i)\b(nothing|silent|quiet|still)\b|沉默|不说话|什么也不做|什么都不做|一言不发`)
)

// refineSay sorts speech by what it does: a greeting, thanks, a yes, a promise, a threat.
func refineSay(a *act) {
	s := a.speech
	switch {
	case sayInvite.MatchString(s):
		a.verb = "invite"
	case saySorry.MatchString(s):
		a.verb = "apologise"
	case sayThreat.MatchString(s):
		a.verb = "threaten"
	case sayOffer.MatchString(s):
		a.verb = doAgree
	case sayYes.MatchString(s):
		a.verb = doAgree
	case sayNo.MatchString(s):
		a.verb = doRefuse
	case sayThanks.MatchString(s):
		a.verb = "thank"
	case sayGreet.MatchString(s) && runeCount(s) < 60:
		a.verb = "greet"
	}
}

// wholeLine answers lines that mean one thing as a whole.
func wholeLine(line string) (act, bool) {
	switch {
	case len(line) > 80:
	case whatToDo.MatchString(line):
		return act{verb: doHint, question: true}, true
	case whereAmI.MatchString(line):
		return act{verb: doLook}, true
	case whoAmI.MatchString(line):
		return act{verb: doLook, self: true}, true
	}
	return act{}, false
}

// pruneActs keeps what a passage can answer: a way to a place and one act, or one act. Talking outweighs moving about.
func pruneActs(acts []act) []act {
	if len(acts) == 0 {
		return []act{{verb: doOther}}
	}
	var going *act
	best := -1
	for i := range acts {
		a := &acts[i]
		if (a.verb == doGo || a.verb == doLeave) && !a.negated {
			if (going == nil || best < 0 && !a.passing) && (a.place != nil || len(acts) == 1) { // several ways in a row end where the last one does
				going = a
			}
			if a.place != nil || len(acts) == 1 || len(a.people) == 0 {
				continue
			}
		}
		if best < 0 || weight(*a) > weight(acts[best]) {
			best = i
		}
	}
	switch {
	case best < 0 && going != nil:
		return []act{*going}
	case best < 0:
		return acts[:1]
	case going != nil && going != &acts[best]:
		return []act{*going, acts[best]}
	}
	return []act{acts[best]}
}

func weight(a act) int {
	n := 2
	switch a.verb {
	case doAsk:
		n = 6
	case "fight", "give", "apologise", "threaten", doAgree, doRefuse:
		n = 5
	case doSay, "take", "help", "follow", "show", "invite", "read", "open":
		n = 4
	case "search", "use", "put", "drop", "hide", "sleep", "listen":
		n = 3
	case "greet", "wait", "think", doOther:
		n = 1
	}
	if len(a.people) > 0 || a.topic != nil {
		n++
	}
	return n
}

// subjectOf are the verbs whose thing may be what a thread is about.
var subjectOf = map[verb]bool{doAsk: true, doLook: true, "think": true}

// finishAct fills what both languages share: who is meant, what it is about.
func (w *world) finishAct(a *act, written tongue, here []*entity, alone bool) {
	if a.speech != "" {
		a.speech = printable(w.tongue, a.speech, 160)
	}
	if written != w.tongue { // the reply is in another language: nothing of the line can be repeated in it
		a.thing, a.doing, a.where = "", "", ""
	}
	if a.words == nil {
		text := a.raw
		for _, e := range a.named {
			if e.kind == aPerson {
				text = strings.ReplaceAll(text, e.shown, " ")
			}
		}
		a.words = contentWords(w.tongue, text)
	}
	for _, p := range a.people {
		for _, word := range contentWords(w.tongue, p.name) {
			a.words = slices.DeleteFunc(a.words, func(x string) bool { return x == word })
		}
	}
	if a.topic == nil {
		for _, e := range a.named {
			if e.kind == aThread || e.kind == aTopic || e.kind == aPlace && a.verb == doAsk && alone && a.thing == "" {
				a.topic = e
				break
			}
		}
	}
	if a.topic == nil && written == w.tongue && subjectOf[a.verb] {
		a.topic = w.subject(a.thing)
	}
	if a.verb == doAsk && a.topic == nil && asksWho.MatchString(a.raw) {
		if len(a.people) > 0 {
			a.topic = a.people[0]
		} else if len(here) > 0 {
			a.topic, a.people = here[0], []*entity{here[0]}
		}
	}
	if a.verb == doAsk && a.topic == nil && len(a.people) > 1 {
		a.topic = a.people[1]
	}
	a.named = slices.Clone(a.named)
}

// printable makes a piece of a player's line fit to stand in the story, or gives "".
func printable(t tongue, s string, most int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	s = strings.Trim(s, " ,;:，；：、-—")
	if runeCount(s) > most || !seemly(s) || isMeta(s) || !speaks(t, s) {
		return ""
	}
	if t == chinese {
		s = fullWidth(s)
	} else {
		s = curly(s)
	}
	if strings.ContainsAny(s, "“”「」()（）") {
		return ""
	}
	return s
}

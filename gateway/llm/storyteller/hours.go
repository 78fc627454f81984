package storyteller

import (
	"regexp"
	"strings"
)

// hours are the times of a day in order. The story begins at the one its opening names and moves through them one at a
// time: when somebody waits, and by itself every few turns. Only sleep leaps, to the morning.
var hours = []string{"dawn", "morning", "noon", "afternoon", "dusk", "evening", "night", "small"}

const (
	morningHour   = 1
	afternoonHour = 3
	duskHour      = 4
	turnsPerHour  = 7
)

// hourTags are what phrases may ask for: the hour itself, and the wider time that it belongs to.
var hourTags = map[string][]string{
	"dawn": {"dawn", "morning"}, "morning": {"morning"}, "noon": {"noon", "day"}, "afternoon": {"afternoon", "day"},
	"dusk": {"dusk"}, "evening": {"evening", "night"}, "night": {"night"}, "small": {"small", "night"},
}

// hourWords are what texts call those times.
var hourWords = [][]string{
	{"dawn", "sunrise", "daybreak", "first light", "黎明", "拂晓", "破晓", "天亮", "天刚亮", "天蒙蒙亮", "日出", "晨曦"},
	{"morning", "清晨", "早晨", "早上", "上午", "清早", "一早"},
	{"noon", "midday", "正午", "中午", "晌午"},
	{"afternoon", "午后", "下午"},
	{"dusk", "sunset", "twilight", "nightfall", "黄昏", "傍晚", "日落", "薄暮", "暮色", "天擦黑"},
	{"evening", "入夜", "晚上", "华灯"},
	{"night", "midnight", "moonlight", "深夜", "夜里", "午夜", "子夜", "夜色", "月光", "夜晚"},
	{"small hours", "before light", "凌晨", "后半夜"},
}

// besides are words around a time that is spoken of and not the time it is: "before dawn", 天亮之前, "every evening".
var (
	besidesBefore = regexp.MustCompile(`(?i)(?:\b(?:before|until|till|by|every|each|some|most|since|last|next|tomorrow|yesterday|other|of the|good)\s+(?:the\s+)?|每天?|每个?|昨天?|昨日|明天?|明日|前天|直到|等到|一到)$`)
	besidesAfter  = regexp.MustCompile(`(?i)^(?:\s+(?:or|and)\b|之?前|以前|前|就|再|才)`)
	settingLooks  = 3 // sentences at the beginning of a story in which its time is named
)

// hourNamed finds the first time of day that a text gives as its own, -1 when it gives none.
func hourNamed(text string) int {
	text = strings.ToLower(outsideQuotes(text))
	at, best, long := len(text), -1, 0
	for hour, words := range hourWords {
		for _, w := range words {
			for from := 0; ; {
				i := strings.Index(text[from:], w)
				if i < 0 || from+i > at {
					break
				}
				i += from
				from = i + len(w)
				if besidesBefore.MatchString(text[:i]) || besidesAfter.MatchString(text[from:]) || w[0] < 0x80 && !wholeWord(text, i, from) {
					continue
				}
				if i < at || len(w) > long {
					at, best, long = i, hour, len(w)
				}
				break
			}
		}
	}
	return best
}

func wholeWord(text string, start, end int) bool {
	return (start == 0 || !isASCIILetter(text[start-1])) && (end == len(text) || !isASCIILetter(text[end]))
}

func isASCIILetter(b byte) bool { return b >= 'a' && b <= 'z' }

// startHour is the time of day that the author's opening names, or the first passages, a welcome before them included;
// else one that suits a beginning.
func startHour(w *world, b *brief) int {
	texts := b.beginnings()
	for _, look := range []int{settingLooks, 1 << 10} { // how a text begins says more than what it mentions later
		for _, text := range texts {
			all := sentences(clip(text, 900))
			if h := hourNamed(strings.Join(all[:min(look, len(all))], " ")); h >= 0 {
				return h
			}
		}
	}
	return []int{morningHour, duskHour, afternoonHour, duskHour}[hashOf(w.corpus)%4]
}

var (
	sleepWords = regexp.MustCompile(`(?i)\b(?:sleep|lie down|go to bed|doze|spend the night)\b|睡|过夜`)
	waitWords  = regexp.MustCompile(`(?i)(?:^|[.,;!]\s*|\b(?:i|we|and|then|just|to|will|i'll|simply|quietly|patiently)\s+)(?:wait|rest|linger|sit and wait|do nothing)\b|(?:^|[，。；！,]|我|们|就|再|先|地|里|着|然后)(?:等|歇|休息)`)
)

// passTime gives the hour after a player's line: whoever waits lets one go by, whoever sleeps wakes in the morning. It is
// a look at the words and no understanding, because it is asked of the whole history.
func passTime(hour int, line string) int {
	line = clip(line, 80)
	switch {
	case sleepWords.MatchString(line):
		return morningHour
	case waitWords.MatchString(line):
		return (hour + 1) % len(hours)
	}
	return hour
}

// hourAfter is the hour after a past turn. What the story said about the time counts; the line only when it said nothing.
func (w *world) hourAfter(hour int, past turn) int {
	for _, p := range bankOf(w.tongue).pools["hour"] {
		if len(p.parts) == 1 && len(p.need) > 0 && strings.Contains(past.story, p.parts[0].text) {
			for i, h := range hours {
				if h == p.need[0] {
					return i
				}
			}
		}
	}
	return passTime(hour, past.line)
}

package storyteller

import (
	"regexp"
	"strings"
)

// An animal with a name is somebody: it is met, looked at, fed and asked. But it has no words. It acts, and whoever else is
// there says what it means.

// beastVoice is the voice of those who have no words: in every pool it has phrases of its own, or none.
const beastVoice = "beast"

const (
	beastsEnglish = `goose|gander|dog|hound|puppy|cat|kitten|horse|mare|stallion|foal|pony|mule|donkey|ox|cow|bull|calf|pig|sow|boar|sheep|lamb|ram|goat|raven|crow|rook|magpie|jackdaw|owl|hawk|falcon|eagle|pigeon|dove|parrot|sparrow|swan|duck|hen|rooster|cockerel|turkey|gull|heron|fox|wolf|bear|deer|stag|otter|badger|ferret|weasel|rat|mouse|hare|rabbit|squirrel|hedgehog|monkey|ape|camel|elephant|tiger|lion|lynx|seal|eel|fish|carp|snake|lizard|tortoise|turtle|toad|frog|spider|bird`
	beastsChinese = `鹅|狗|犬|猫|马|驹|骡|驴|牛|羊|猪|鸦|鹰|隼|鸟|雀|鸽|鹤|鹭|鹦鹉|狐狸?|狼|熊|虎|豹|狮|象|鹿|兔|鼠|獭|鸡|鸭|蛇|龟|鱼|鲤|蛙|蟾|猴|猿|骆驼`
	// who is called one of these in jest is a person
	beastJests = `sea dog|sea wolf|sly fox|sly old fox|old fox|lone wolf|night owl|dark horse|black sheep|early bird|odd fish|odd bird|cold fish|wise old owl|tough old bird`
)

var (
	beastIs      = regexp.MustCompile(`(?i)\b(?:is|was) (?:an?|the|one) ((?:[\w’'-]+ ){0,4}(?:` + beastsEnglish + `))(?:$|[,.;:!?—]| (?:with|that|who|which|of|in|from|and|called|named|by|at|on|without)\b)`)
	beastHead    = regexp.MustCompile(`(?i)^(?:an? |the )?((?:[\w’'-]+ ){0,5}(?:` + beastsEnglish + `))(?:$|[,.;:!?—]| (?:with|that|who|which|in|from|and|called|named|without)\b)`)
	beastJest    = regexp.MustCompile(`(?i)\b(?:` + beastJests + `)$`)
	beastKind    = regexp.MustCompile(`(?i)(?:species|race|breed|kind|animal|物种|种族|品种|种类)[:：] ?(?:[\w’'-]+ |[^·，。]{0,6})?(?:` + beastsEnglish + `|` + beastsChinese + `) ?(?:·|$)`)
	beastCounted = regexp.MustCompile(`(?:^|是)一?[只头匹条尾][^，。；]{0,10}(?:` + beastsChinese + `)(?:$|[，。；！])`)
	beastNamed   = regexp.MustCompile(`^[^，。；：]{0,14}(?:的|[大小老灰白黑黄花瘸])(?:[大小老灰白黑黄花瘸]|一只){0,3}(?:` + beastsChinese + `)(?:$|[，。；！])`)
	herding      = regexp.MustCompile(`[养卖打骑捕放喂牧杀贩驯钓猎训赶偷买遛像属爱怕救]`)
	beside       = regexp.MustCompile(`(?i)\b(?:an?|the|of|for|with|to|and|his|her|their|who|that|no|like)\b`) // it is about somebody who has an animal
	talking      = regexp.MustCompile(`(?i)\btalking\b|\b(?:can|could) (?:speak|talk)\b|\bspeaks (?:in )?(?:our|human|the tongue|every language|\w+ languages)\b|(?:会|能|懂得)(?:说人话|讲人话|说话|讲话)|口吐人言|化为?人形|妖`)
)

// isBeast tells of somebody whose description says that it is an animal, unless it is one that talks.
func isBeast(e *entity) bool {
	head := clip(e.source, 400)
	if talking.MatchString(head) {
		return false
	}
	if beastKind.MatchString(head) {
		return true
	}
	for _, part := range strings.Split(head, "·") {
		for _, s := range sentences(part) {
			for _, re := range []*regexp.Regexp{beastIs, beastHead} {
				if m := re.FindStringSubmatch(s); m != nil && !beastJest.MatchString(m[1]) && !beside.MatchString(m[1]) && !hasFiniteVerb(m[1]) {
					return true
				}
			}
			if m := beastCounted.FindString(s); m != "" && !herding.MatchString(m) {
				return true
			}
			if m := beastNamed.FindString(s); m != "" && !herding.MatchString(m) {
				return true
			}
		}
	}
	return false
}

// answerBeast is how an animal takes what is said to it: it acts, and somebody else has the words.
func (t *teller) answerBeast(beast *entity, f *fact) bool {
	t.focus(beast)
	t.open(rolePerson)
	acted := t.line("mute")
	others := t.talkers()
	if len(others) == 0 || t.spoken() {
		return acted
	}
	t.a, t.b = others[0], beast
	said := t.pick("v.beast")
	if f == nil || t.usedFacts[f] || !speakable(others[0])(f) {
		return t.speak(others[0], said)
	}
	t.usedFacts[f] = true
	return t.speak(others[0], said, f.text)
}

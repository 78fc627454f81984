package storyteller

import (
	"regexp"
	"strings"
)

// Where somebody goes is not always the first place they name: "I climb Stair Street to the Returns Office",
// 沿着石梯街去归物所. The place after "to" is where they go; one after "along" or "from" is only passed.

var (
	towardEnglish = regexp.MustCompile(`(?i)\b(?:to|into|onto|toward|towards|for|reach|reaching|reached|as far as|until|enter|visit|inside)\s+(?:the\s+)?$`)
	pastEnglish   = regexp.MustCompile(`(?i)\b(?:from|via|through|along|past|over|across|up|down|by|by way of|out of|leave|leaving|climb|climbing|cross|crossing|descend|descending|follow|following|behind|off|around|take|taking)\s+(?:the\s+)?$`)
	towardChinese = regexp.MustCompile(`(?:去|到|往|向|朝|进|进入|回|抵达|前往|赶往|直奔|上|入)(?:了)?$`)
	pastChinese   = regexp.MustCompile(`(?:沿着?|顺着?|经过?|穿过|路过|绕过|绕开|走过|爬过?|爬上|登上|走上|翻过|跨过|从|由|自|离开|出了?|过了?|走|下)$`)
	wayWords      = regexp.MustCompile(`(?i)^(?:the |this |that )?(?:\w+ )?(?:path|road|stairs?|steps?|street|lane|way|bridge|track|ladder|planks|walk|alley|tunnel|boat|ferry)\b`)
)

// destination is the place a clause leads to, nil without any: the last one it goes to, else the first one that is not
// merely passed, else the first one, and then passing is true. key is the folded clause in which hits were found.
func destination(t tongue, key string, hits []hit) (to *entity, passing bool) {
	toward, past := towardEnglish, pastEnglish
	if t == chinese {
		toward, past = towardChinese, pastChinese
	}
	top := 0
	for _, h := range hits {
		if h.entity.kind != aPlace {
			continue
		}
		rank := 2
		switch before := key[:min(h.start, len(key))]; {
		case past.MatchString(before) && !(t == chinese && strings.HasPrefix(key[min(h.end, len(key)):], "去")):
			rank = 1
		case toward.MatchString(before):
			rank = 3
		}
		if rank > top || rank == top && rank == 3 {
			to, top = h.entity, rank
		}
	}
	return to, top == 1
}

// leadsOn tells whether something is taken or followed in order to get somewhere: "take the path to the dam".
func leadsOn(key string, rest string, hits []hit) bool {
	goal := false
	for i, h := range hits {
		if h.entity.kind == aPerson {
			return false
		}
		goal = goal || h.entity.kind == aPlace && towardEnglish.MatchString(key[:min(h.start, len(key))]) && (i > 0 || wayWords.MatchString(rest))
	}
	return goal
}

package storyteller

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Putting a thing down and throwing it away are acts of their own: what matters is the thing, and where it comes to lie.

var (
	layWhere  = regexp.MustCompile(`(?i)\b(on top of|next to|in front of|beside|between|against|beneath|underneath|behind|under|onto|on|into|inside|in|near|at|by|over|through|out of|overboard)\s+(.+)$`)
	layOn     = regexp.MustCompile(`(?i)\s(?:back )?on$`)
	layOut    = regexp.MustCompile(`(?i)\s(?:out|up)$`)
	layTender = regexp.MustCompile(`(?i)\bfire to\b|^(?:up|off|sail|foot|eyes|trust|faith|pressure)\b`)
	ends      = "上下里中旁边前后内外间底面头处"
)

// layEnglish reads what follows "put" or "drop". "Put the coat on" and "put the lamp out" are no putting down.
func (a *act) layEnglish(w *world, base, rest string, hits []hit) {
	rest = strings.TrimRight(rest, ".!?, ")
	switch {
	case base == "put" && (layOn.MatchString(rest) || layOut.MatchString(rest)):
		a.verb = "use"
		rest = layOut.ReplaceAllString(layOn.ReplaceAllString(rest, ""), "")
	case layTender.MatchString(rest):
		a.verb = doOther
	case a.verb == "drop" && len(a.people) > 0 && (base == "throw" || base == "hurl" || base == "fling" || base == "toss"):
		a.verb = "fight" // at somebody
		if strings.Contains(" "+rest+" ", " to ") || base == "toss" {
			a.verb = "give"
		}
	case base == "lay" && rest == "" || base == "lay" && strings.EqualFold(rest, "down"):
		a.verb = "sleep"
		return
	}
	a.thing = nounPhrase(w, rest, hits)
	a.words = append([]string{}, contentWords(w.tongue, a.thing)...)
	m := layWhere.FindStringSubmatchIndex(rest)
	if a.thing == "" || m == nil || m[0] == 0 || a.verb != "put" && a.verb != "drop" {
		return
	}
	if np := placing(w, rest[m[4]:m[5]]); np != "" {
		a.where = strings.ToLower(rest[m[2]:m[3]]) + " " + np
	}
}

// placing is the noun phrase after "on" or "into"; unlike a thing it may be a place of the world.
func placing(w *world, s string) string {
	if np := nounPhrase(w, s, nil); np != "" {
		return np
	}
	for _, h := range w.finder.find(s) {
		if h.entity.kind == aPlace && h.start <= len("the ") && h.entity.shown != "" {
			return mid(h.entity)
		}
	}
	return ""
}

// layChinese reads 把灯放在柜台上, 放下灯, 把信扔进湖里. object is what stands after 把, or after the verb when nothing does.
func (a *act) layChinese(w *world, word, rest, lead, object string, after []hit) {
	moved := strings.ContainsAny(lead, "把将") // what follows the verb says where
	if !moved {
		a.thing = nounChinese(w, rest)
		a.words = append([]string{}, contentWords(w.tongue, a.thing)...)
		return
	}
	a.thing = nounChinese(w, object)
	a.words = append([]string{}, contentWords(w.tongue, a.thing)...)
	where := rest
	switch {
	case strings.HasSuffix(word, "在"), strings.HasSuffix(word, "到"), strings.HasSuffix(word, "进"), strings.HasSuffix(word, "入"), strings.HasSuffix(word, "回"):
	default:
		cut := strings.TrimLeft(where, "下了回")
		_, n := utf8.DecodeRuneInString(cut)
		if cut == "" || !strings.ContainsRune("在到进入", firstRune(cut)) {
			return
		}
		where = cut[n:]
	}
	if strings.HasSuffix(where, "手里") || strings.HasSuffix(where, "手上") {
		for _, h := range after {
			if h.entity.kind == aPerson {
				a.verb = "give"
				return
			}
		}
	}
	where = printable(chinese, trimTrail(strings.TrimSuffix(where, "了")), 12)
	if where == "" || strings.ContainsAny(where, "我你他她，。？") || strings.HasSuffix(where, "去") || strings.HasSuffix(where, "来") {
		return
	}
	if !strings.ContainsRune(ends, lastRune(where)) && len(w.finder.find(where)) == 0 {
		where += "里"
		if a.verb == "put" && (strings.HasSuffix(word, "在") || strings.HasSuffix(word, "放")) {
			where = strings.TrimSuffix(where, "里") + "那里"
		}
	}
	a.where = where
}

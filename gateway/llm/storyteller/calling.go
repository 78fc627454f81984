package storyteller

import (
	"strings"
)

// personNouns are words for what somebody is that do not end like one.
var personNouns = wordSet(`clerk cook scribe thief priest nurse guard pilot page squire knight lord lady king queen prince princess apprentice student spy bard
mage witch judge monk nun heir orphan child boy girl friend host agent chief captain sergeant detective hero rogue druid paladin cleric warlock sage medic
physician sheriff deputy diplomat nomad outlaw mechanic astronaut acrobat poet chef aide guide widow hand dockhand farmhand bride groom hermit pilgrim vagabond
cartographer hack heretic mystic critic bailiff abbot abbess constable corporal colonel general admiral ensign cadet recruit scout rebel exile tutor monarch
architect envoy herald vicar curate verger sexton warlord wizard drunkard steward bodyguard coward`)

// thingsInEr end like somebody and are none.
var thingsInEr = wordSet(`water river paper copper leather power hunger anger weather silver timber number order matter supper dinner butter summer winter flower
tower lumber corner letter labor labour honor honour color colour error terror fever cover fiber timer shoulder finger ladder slumber laughter
amber cider ginger pepper computer ledger border quarter thunder poker mirror motor tractor sugar`)

// personLike tells whether a value names what somebody is, so that "You are Ada, a keeper of accounts" can be said with it.
// It is a guess that errs to the side of no: whatever it refuses is told after a colon, where anything can stand.
func personLike(t tongue, v string) bool {
	if t == chinese {
		n := runeCount(v)
		return n >= 2 && n <= 12 && !strings.ContainsAny(v, "，。；：！？、我你") && (strings.HasSuffix(v, "的") || roleLike(v)) && scriptsOf(v).latin == 0
	}
	if !nounLike(v) || strings.ContainsAny(v, ",") {
		return false
	}
	head := " " + strings.ToLower(v)
	for _, cut := range []string{" of ", " who ", " that ", " with ", " without ", " for ", " at ", " in ", " to ", " from ", " on ", " and ", " by "} {
		if i := strings.Index(head, cut); i > 0 {
			head = head[:i]
		}
	}
	words := strings.Fields(head)
	if len(words) == 0 || len(words) > 5 {
		return false
	}
	for _, w := range words[:len(words)-1] {
		if w == "two" || w == "three" || w == "many" || w == "some" || w == "not" || w == "no" || strings.HasSuffix(w, "ly") {
			return false
		}
	}
	if first := words[0]; len(words) > 1 && strings.HasSuffix(first, "ing") { // "drawing maps", "minding the river"
		return false
	}
	last := words[len(words)-1]
	last = last[strings.LastIndexByte(last, '-')+1:]
	switch {
	case thingsInEr[last]:
		return false
	case personNouns[last]:
		return true
	}
	return len(last) > 3 && hasAnySuffix(last, "er", "or", "ist", "ian", "eer", "man", "woman", "smith", "wright", "wife", "maid", "herd", "monger", "ant", "ess") && !hasAnySuffix(last, "ness")
}

// told cuts a value to what can be told of it: all of it, or its first sentence when it is a long one.
func told(t tongue, v string) string {
	most := 110
	if t == chinese {
		most = 60
	}
	v = strings.Join(strings.Fields(v), " ")
	if runeCount(v) > most {
		if all := sentences(v); len(all) > 1 {
			v = all[0]
		}
	}
	return printable(t, strings.TrimRight(v, ".。!！ "), most)
}

// asWritten tells whether the first letter of a value must stay as it is: it begins with a name.
func asWritten(kind, v string) bool {
	words := strings.Fields(v)
	return kind == "origin" || len(words) > 1 && len(words[1]) > 1 && strings.ToUpper(words[1][:1]) == words[1][:1] && strings.ToLower(words[1][:1]) != words[1][:1]
}

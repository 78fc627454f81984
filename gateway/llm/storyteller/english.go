package storyteller

import (
	"strings"
	"sync"
	"unicode"
)

// commonVerbs are English verbs in their base form that lore texts and players use. The list decides two things: where
// a fragment is a sentence, and how a verb bends.
const commonVerbs = `accept ache act add admit agree aim allow answer appear argue arrive ask attack avoid bake balance bang bar
bark bear beat beg believe belong bend bet bind bite bleed block blow boil bow break breathe bribe bring brush build burn bury buy
call calm care carry carve cast catch cause chain change charge chase cheat check choose circle claim clap clean clear climb
cling close collect come comfort cook cough count cover crack crawl creak creep cross cry curse cut dance dare deal decide defend
demand deny descend die dig dip disappear discover do dodge doubt drag draw dream dress drift drink drip drive drop drown dry earn
eat echo end enjoy enter escape examine expect explain explore face fade fail fall fear feed feel fetch fight fill find
finish fish fit fix flee flicker float flow fly fold follow forbid force forget forgive form free freeze frown gather gaze get
give glance glow go grab greet grind grip groan grow guard guess guide hammer hand hang happen harvest hate haul hear heal
heat help hide hit hold hope hover howl hum hunt hurry ignore insist inspect introduce invite join jump keep kick kill kiss kneel
knit knock know land last laugh lay lead lean leap learn leave lend let lick lie lift light like limp listen live load lock look lose
love lower lurk make march mark marry matter mean measure meet melt mend mention mind miss mix mourn move mumble mutter need nod notice
obey offer open order owe own pace pack paint part pass pat pause pay peel peer pick pierce pile place plan plant play plead
point polish pour praise pray preach prefer press pretend prove provide pull pump punch push put quarrel question rain raise reach read recall refuse
remain remember remind repair repeat reply rest return reveal ride ring rise roar rob roll row rub ruin rule run rush sail save say
scan scare scatter scold scrape scratch scream search see seek seem sell send serve set settle sew shake share sharpen shelter shift shine
shiver shoot shout show shrug shut sigh sign sing sink sit sketch slam slap sleep slide slip slow smell smile smoke snap snarl sneak sniff snore
snow sob speak spend spill spin spit split spread spring squeeze stab stack stand stare start stay steal steer step stick stir
stitch stop store stretch strike struggle study stumble sweep swear swim swing take talk tap taste teach tear tell tend test thank
think threaten throw tie tilt toll touch trace trade trail train translate trap travel tread treat tremble trust try tuck tug turn twist
understand undo unfold unlock untie use vanish visit wait wake walk wander want warm warn wash watch wave wear weave weep weigh
welcome whisper whistle win wink wipe wish wonder work worry wrap write yawn yell yield smuggle whittle pinch smooth suppose distrust govern haunt echo
hoard swallow guard rust crumble taste preserve record repay summon vouch barter brew gamble govern inherit linger mutter oversee patrol stammer tinker trust`

// irregular pasts by base; the forms stand for themselves in texts of lore.
const irregularPasts = `be:was be:were begin:began bend:bent bite:bit bleed:bled blow:blew break:broke bring:brought build:built buy:bought
catch:caught choose:chose come:came creep:crept dig:dug do:did draw:drew drink:drank drive:drove eat:ate fall:fell feed:fed feel:felt
fight:fought find:found flee:fled fly:flew forget:forgot forgive:forgave freeze:froze get:got give:gave go:went grind:ground grow:grew
hang:hung have:had hear:heard hide:hid hold:held keep:kept kneel:knelt know:knew lay:laid lead:led leave:left lend:lent lie:lay light:lit
lose:lost make:made mean:meant meet:met pay:paid ride:rode ring:rang rise:rose run:ran say:said see:saw seek:sought sell:sold send:sent
shake:shook shine:shone shoot:shot sing:sang sink:sank sit:sat sleep:slept slide:slid speak:spoke spend:spent spin:spun stand:stood
steal:stole stick:stuck strike:struck swear:swore sweep:swept swim:swam swing:swung take:took teach:taught tear:tore tell:told think:thought
throw:threw understand:understood wake:woke wear:wore weave:wove weep:wept win:won write:wrote`

const finiteForms = `is are was were has have had does do did can will would could may might must shall isn't aren't wasn't doesn't don't didn't can't won't hasn't hadn't`

// verbTables are looked up often and never change.
type verbTables struct {
	base, third, past map[string]bool
	baseOf            map[string]string // of third-person and past forms
	finite            map[string]bool
}

var verbs = sync.OnceValue(func() verbTables {
	v := verbTables{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]bool{}}
	for _, b := range strings.Fields(commonVerbs) {
		v.base[b] = true
		v.third[thirdPerson(b)] = true
		v.baseOf[thirdPerson(b)] = b
		v.baseOf[regularPast(b)] = b
	}
	for _, pair := range strings.Fields(irregularPasts) {
		b, p, _ := strings.Cut(pair, ":")
		v.past[p] = true
		v.baseOf[p] = b
	}
	for b, s := range map[string]string{"be": "is", "have": "has", "do": "does", "go": "goes"} {
		v.third[s] = true
		v.baseOf[s] = b
	}
	for _, f := range strings.Fields(finiteForms) {
		v.finite[f] = true
	}
	return v
})

// thirdPerson bends a verb: "carry" → "carries".
func thirdPerson(base string) string {
	switch base {
	case "be":
		return "is"
	case "have":
		return "has"
	}
	switch {
	case hasAnySuffix(base, "s", "sh", "ch", "x", "z", "o"):
		return base + "es"
	case strings.HasSuffix(base, "y") && !hasAnySuffix(base, "ay", "ey", "oy", "uy"):
		return base[:len(base)-1] + "ies"
	}
	return base + "s"
}

func regularPast(base string) string {
	switch {
	case strings.HasSuffix(base, "e"):
		return base + "d"
	case strings.HasSuffix(base, "y") && !hasAnySuffix(base, "ay", "ey", "oy", "uy"):
		return base[:len(base)-1] + "ied"
	}
	return base + "ed"
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}

// baseOfThirdPerson gives the base of "walks", "is", "carries", or "" when the word is no such form.
func baseOfThirdPerson(word string) string {
	w := strings.ToLower(word)
	if w == "is" || w == "was" {
		return map[string]string{"is": "are", "was": "were"}[w]
	}
	if verbs().third[w] {
		return verbs().baseOf[w]
	}
	return ""
}

// baseForm gives the base of any form of a known verb, "" for other words.
func baseForm(word string) string {
	v := verbs()
	w := strings.ToLower(word)
	if v.base[w] {
		return w
	}
	if b := v.baseOf[w]; b != "" {
		return b
	}
	if stem, ok := strings.CutSuffix(w, "ing"); ok {
		for _, b := range []string{stem, stem + "e", undouble(stem)} {
			if v.base[b] {
				return b
			}
		}
	}
	if stem, ok := strings.CutSuffix(w, "ed"); ok {
		if b := undouble(stem); v.base[b] {
			return b
		}
	}
	return ""
}

func undouble(s string) string {
	if n := len(s); n > 2 && s[n-1] == s[n-2] {
		return s[:n-1]
	}
	return s
}

func isThirdPersonVerb(word string) bool {
	return word != "" && verbs().third[strings.ToLower(word)]
}

// hasFiniteVerb tells a sentence from a fragment such as "An old ferryman who counts the boats." It is a guess that
// errs to the side of calling a text a fragment: a fragment that is left untold does no harm.
func hasFiniteVerb(s string) bool {
	v := verbs()
	relative := false
	prev := ""
	for _, raw := range strings.Fields(s) {
		w := strings.ToLower(strings.Trim(raw, `.,;:!?“”"'’‘()—–`))
		switch w {
		case "who", "that", "which", "whose", "whom", "where":
			relative = true
		default:
			finite := v.finite[w] || v.third[w] && !determiner(prev) || v.past[w] && w != "left" && w != "found" && w != "bound"
			if strings.HasSuffix(w, "ed") && prev != "" && unicode.IsUpper(firstRune(prev)) && len(prev) > 1 {
				finite = true
			}
			if finite {
				if !relative {
					return true
				}
				relative = false // the verb of the relative clause; the next one is the sentence's own
				if strings.ContainsAny(raw, ",;") {
					continue
				}
			}
		}
		if prev = strings.Trim(raw, `.,;:!?“”"'’‘()—–`); w == "and" || w == "or" {
			relative = relative || prevWasRelative(s)
		}
	}
	return false
}

func prevWasRelative(s string) bool {
	return strings.Contains(s, " who ") || strings.Contains(s, " that ")
}

func determiner(w string) bool {
	switch strings.ToLower(w) {
	case "a", "an", "the", "of", "in", "with", "her", "his", "their", "its", "two", "three", "no", "many", "to", "for", "from", "by", "on", "at":
		return true
	}
	return false
}

// mid is a name as it stands inside a sentence: a leading article loses its capital.
func mid(e *entity) string { return lowerThe(e.shown) }

func lowerThe(name string) string {
	if strings.HasPrefix(name, "The ") {
		return "the " + name[4:]
	}
	return name
}

// article puts a or an before a noun phrase that has none.
func article(np string) string {
	first := strings.ToLower(firstWord(np))
	if determiner(first) || first == "my" || first == "your" || first == "some" || first == "one" || first == "" {
		return np
	}
	switch {
	case strings.HasPrefix(first, "hour"), strings.HasPrefix(first, "honest"), strings.HasPrefix(first, "heir"), strings.HasPrefix(first, "honour"):
		return "an " + np
	case strings.HasPrefix(first, "uni"), strings.HasPrefix(first, "use"), strings.HasPrefix(first, "one"), strings.HasPrefix(first, "eu"):
		return "a " + np
	case strings.ContainsRune("aeiouàáâäéèêëíìîïóòôöúùûü", firstRune(first)):
		return "an " + np
	}
	return "a " + np
}

// pronouns by gender; somebody whose gender the world leaves open is "they", and the verb follows.
var pronouns = map[gender]map[string]string{
	female:  {"he": "she", "him": "her", "his": "her", "himself": "herself"},
	male:    {"he": "he", "him": "him", "his": "his", "himself": "himself"},
	unknown: {"he": "they", "him": "them", "his": "their", "himself": "themselves"},
}

// agree bends a base verb for the pronoun of g.
func agree(g gender, base string) string {
	if g != unknown {
		return thirdPerson(base)
	}
	if base == "be" {
		return "are"
	}
	return base
}

var stopEnglish = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or but if of in on at to for from by with about into over under up down out off as is are was were be been
being am do does did have has had i me my mine we us our you your yours he him his she her hers it its they them their this that these those there here
what who whom whose which where when why how can could may might must shall should will would not no nor so than then too very just only even still again
more most some any all each every both few other another own same such go goes going went come comes look looks see sees ask asks say says tell tells take takes
get gets give gives make makes let lets know knows one two thing things something anything nothing someone anyone somebody anybody nobody please really want wants
like need needs try tries around back way time think thinks mean means happened happen happens hear heard called still ever never always`) {
		m[w] = true
	}
	return m
}()

// stem is a crude common form for comparing content words: "lanterns" and "lantern", "cracked" and "crack".
func stem(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(w, "’", "'"), "'s"), "'")
	for _, suffix := range []string{"ing", "ed", "er", "es", "s"} {
		if base, ok := strings.CutSuffix(w, suffix); ok && len(base) >= 3 && !strings.HasSuffix(w, "ss") {
			return strings.TrimSuffix(undouble(base), "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}

// contentWords are the words of a text by which it can be found again: English stems, Chinese pairs of characters.
func contentWords(t tongue, s string) []string {
	if t == chinese {
		return chinesePairs(s)
	}
	var out []string
	for _, w := range wordsOf(fold(s)) {
		if len(w) > 2 && !stopEnglish[w] {
			out = append(out, stem(w))
		}
	}
	return out
}

package sdk

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The one rule by which names are compared everywhere (reference: worlds-and-story.md §12.5). Storage keeps what was
// written; only comparisons go through NameKey.

const (
	middleDot  = '·'
	apostrophe = '\''
	quoteMarks = `'"“”„‟«»‹›「」『』《》〈〉〝〞`
)

// nameMarks unifies the dots between the parts of a foreign name and the apostrophes.
var nameMarks = strings.NewReplacer(
	"•", string(middleDot), "‧", string(middleDot), "∙", string(middleDot), "⋅", string(middleDot),
	"・", string(middleDot), "⸱", string(middleDot), "᛫", string(middleDot), "ꞏ", string(middleDot),
	"’", string(apostrophe), "‘", string(apostrophe), "‛", string(apostrophe), "ʼ", string(apostrophe),
	"ʻ", string(apostrophe), "′", string(apostrophe), "`", string(apostrophe), "ꞌ", string(apostrophe),
)

// NameKey is the comparison key of a name: NFKC, one middle dot, one apostrophe, no surrounding quotes or space, single
// spaces, lower case, no leading English "the ". Titles, honorifics and particles stay. The key of a name that is only
// quotes and space is "", which equals no name.
func NameKey(name string) string {
	name = strings.ToValidUTF8(name, "�")
	name = strings.ReplaceAll(name, "´", string(apostrophe)) // NFKC would make it a space and an accent
	name = nameMarks.Replace(norm.NFKC.String(name))
	name = strings.TrimFunc(name, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(quoteMarks, r) })
	name = strings.Join(strings.Fields(name), " ")
	// Lower case letters may have a composed form where the capitals have none (J̌ → ǰ).
	name = norm.NFKC.String(strings.ToLower(name))
	if rest, ok := strings.CutPrefix(name, "the "); ok && rest != "" {
		return rest
	}
	return name
}

// How a character was found.
const (
	MatchedByID      = "id"
	MatchedByName    = "name"
	MatchedByAlias   = "alias"
	MatchedByPartial = "partial"
)

const (
	maxClosest      = 5
	minSimilarity   = 0.34
	maxNamesInError = 30
)

// Resolution is the answer to "which character is meant by this?". Exactly one of these holds: Character is set; or
// Candidates has at least two; or the character is missing and Closest has up to five that look alike, best first.
type Resolution struct {
	Query      string
	Character  *Character
	MatchedBy  string      // id, name, alias or partial; "" unless found
	Candidates []Character // those that share the name, by creation order
	Closest    []Character
	known      []Character
}

// Found says whether exactly one character is meant.
func (r Resolution) Found() bool { return r.Character != nil }

// Ambiguous says whether several characters share the name.
func (r Resolution) Ambiguous() bool { return len(r.Candidates) > 0 }

// Problem says why no single character is meant and what to pass instead, "" when one was found. The sentence names the
// candidates, else the closest names, else up to 30 known names (seed: tools.txt, "On failure").
func (r Resolution) Problem() string {
	switch {
	case r.Found():
		return ""
	case r.Ambiguous():
		who := make([]string, len(r.Candidates))
		for i, c := range r.Candidates {
			who[i] = fmt.Sprintf("%s [%s]", c.Name, c.ID)
		}
		return fmt.Sprintf("%q names %d characters: %s. Pass the id of the one you mean.", r.Query, len(who), strings.Join(who, "; "))
	case len(r.Closest) > 0:
		return fmt.Sprintf("Character %q not found. Closest known names: %s. If it is one of them, use that name.", r.Query, labels(r.Closest))
	case len(r.known) > 0:
		return fmt.Sprintf("Character %q not found. Known names: %s.", r.Query, labels(r.known[:min(len(r.known), maxNamesInError)]))
	}
	return fmt.Sprintf("Character %q not found. There are no characters yet.", r.Query)
}

func labels(characters []Character) string {
	out := make([]string, len(characters))
	for i, c := range characters {
		out[i] = c.Label()
	}
	return strings.Join(out, ", ")
}

// Label is the name as a model reads it: "Name (aka A, B)".
func (c Character) Label() string {
	if len(c.Aliases) == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (aka %s)", c.Name, strings.Join(c.Aliases, ", "))
}

// names are the comparison keys of a character: the name first, then the aliases; empty keys are left out.
func (c Character) names() []string {
	keys := make([]string, 0, 1+len(c.Aliases))
	for _, n := range append([]string{c.Name}, c.Aliases...) {
		if k := NameKey(n); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// ResolveCharacter finds the character meant by an id, a name or an alias, in this order. With partial, for reads only,
// a character is also found when it is the only one with a name or alias that contains the query or is contained in it.
// Writes never set partial. Likeness never resolves, it only fills Closest.
func ResolveCharacter(characters []Character, query string, partial bool) Resolution {
	r := Resolution{Query: query, known: characters}
	for i := range characters {
		if query != "" && characters[i].ID == query {
			r.Character, r.MatchedBy = &characters[i], MatchedByID
			return r
		}
	}
	key := NameKey(query)
	if key == "" {
		return r
	}
	byName := func(c Character) bool { return NameKey(c.Name) == key }
	byAlias := func(c Character) bool {
		return slices.ContainsFunc(c.Aliases, func(a string) bool { return NameKey(a) == key })
	}
	byPart := func(c Character) bool { return likeness(c, key) == 1 }
	steps := []struct {
		by    string
		match func(Character) bool
	}{{MatchedByName, byName}, {MatchedByAlias, byAlias}, {MatchedByPartial, byPart}}
	for _, step := range steps {
		if step.by == MatchedByPartial && !partial {
			break
		}
		var hits []int
		for i, c := range characters {
			if step.match(c) {
				hits = append(hits, i)
			}
		}
		if len(hits) == 1 {
			r.Character, r.MatchedBy = &characters[hits[0]], step.by
			return r
		}
		if len(hits) > 1 && step.by != MatchedByPartial {
			for _, i := range hits {
				r.Candidates = append(r.Candidates, characters[i])
			}
			return r
		}
	}
	r.Closest = closest(characters, key)
	return r
}

// NameOwner finds who already has the name, as name or alias; exceptID is left out of the search. It is the check
// behind "one name, one person".
func NameOwner(characters []Character, name, exceptID string) (Character, bool) {
	key := NameKey(name)
	for _, c := range characters {
		if c.ID != exceptID && slices.Contains(c.names(), key) {
			return c, true
		}
	}
	return Character{}, false
}

func closest(characters []Character, key string) []Character {
	type scored struct {
		c     Character
		score float64
	}
	var list []scored
	for _, c := range characters {
		if s := likeness(c, key); s >= minSimilarity {
			list = append(list, scored{c, s})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []Character
	for _, s := range list[:min(len(list), maxClosest)] {
		out = append(out, s.c)
	}
	return out
}

// likeness is 1 when a name of c contains the key or is contained in it, else the best Dice overlap of character pairs.
func likeness(c Character, key string) float64 {
	best := 0.0
	for _, name := range c.names() {
		if strings.Contains(name, key) || strings.Contains(key, name) {
			return 1
		}
		best = max(best, dice(name, key))
	}
	return best
}

func dice(a, b string) float64 {
	pairs := map[[2]rune]int{}
	ra, rb := []rune(a), []rune(b)
	if len(ra) < 2 || len(rb) < 2 {
		return 0
	}
	for i := range ra[1:] {
		pairs[[2]rune{ra[i], ra[i+1]}]++
	}
	shared := 0
	for i := range rb[1:] {
		if p := [2]rune{rb[i], rb[i+1]}; pairs[p] > 0 {
			pairs[p]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(ra)-1+len(rb)-1)
}

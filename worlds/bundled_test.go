package worlds

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/covel/covel/plugins/sdk"
)

// The bundled world is written for two readers: a person, and a storyteller that takes single sentences out of its
// sections. These tests hold what the second one needs.

var headings = map[string][]string{
	"en":    {"Places", "People", "Threads", "Customs", "History"},
	"zh-CN": {"地点", "人物", "悬念", "风俗", "往事"},
}

type section struct {
	title     string
	sentences []string
}

var sentenceEnd = regexp.MustCompile(`([.!?]) |([。！？])`)

func sentences(text string) []string {
	var out []string
	for _, s := range strings.Split(sentenceEnd.ReplaceAllString(text, "$1$2\n"), "\n") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// chapters reads "## chapter" and "### section". Text right under a chapter is a section without a title.
func chapters(lore string) (order []string, out map[string][]section) {
	out = map[string][]section{}
	chapter := ""
	for line := range strings.Lines(lore) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "### "):
			out[chapter] = append(out[chapter], section{title: line[4:]})
		case strings.HasPrefix(line, "## "):
			chapter = line[3:]
			order = append(order, chapter)
		case line == "" || strings.HasPrefix(line, "# "):
		default:
			if len(out[chapter]) == 0 {
				out[chapter] = []section{{}}
			}
			last := &out[chapter][len(out[chapter])-1]
			last.sentences = append(last.sentences, sentences(line)...)
		}
	}
	return order, out
}

func lowWater(t *testing.T) *Pack {
	t.Helper()
	p, ok := mustOpen(t).Get("low-water")
	if !ok {
		t.Fatalf("low-water is missing: %v", mustOpen(t).Errors())
	}
	return p
}

func TestBundledWorldsLoadClean(t *testing.T) {
	l := mustOpen(t)
	if len(l.Errors()) > 0 || len(l.packs) == 0 {
		t.Fatalf("%d worlds, errors %v", len(l.packs), l.Errors())
	}
	for _, p := range l.packs {
		if len(p.Warnings) > 0 {
			t.Errorf("%s: %v", p.ID, p.Warnings)
		}
	}
}

func TestBundledLoreIsStructured(t *testing.T) {
	counts := map[string][]int{}
	for locale, want := range headings {
		v := lowWater(t).In(locale)
		order, lore := chapters(v.Record.Lore)
		if !slices.Equal(order, want) {
			t.Fatalf("%s: chapters %v, want %v", locale, order, want)
		}
		places, people, threads := lore[want[0]], lore[want[1]], lore[want[2]]
		counts[locale] = []int{len(places), len(people), len(threads)}
		if len(places) < 7 || len(people) < 10 || len(threads) < 4 {
			t.Errorf("%s: %d places, %d people, %d threads", locale, len(places), len(people), len(threads))
		}
		for _, place := range places {
			if n := len(place.sentences); n < 3 || n > 6 {
				t.Errorf("%s has %d sentences", place.title, n)
			}
			text := strings.Join(place.sentences, " ")
			if !slices.ContainsFunc(places, func(o section) bool { return o.title != place.title && strings.Contains(text, bare(o.title)) }) {
				t.Errorf("%s adjoins no place", place.title)
			}
		}
		var names []string
		for _, c := range v.Characters {
			names = append(names, c.Name)
		}
		for i, person := range people {
			if !slices.Contains(names, person.title) || i >= len(names) {
				t.Errorf("%s: %s of the lore is no character", locale, person.title)
			}
		}
		for _, chapter := range lore {
			for _, s := range chapter {
				for _, sentence := range s.sentences {
					checkSentence(t, locale, sentence)
				}
			}
		}
	}
	if !slices.Equal(counts["en"], counts["zh-CN"]) {
		t.Errorf("the languages differ in places, people, threads: %v", counts)
	}
}

// bare is a place's name without its article, as it is said in the middle of a sentence.
func bare(title string) string { return strings.TrimPrefix(title, "The ") }

var (
	pronoun   = regexp.MustCompile(`^(He|She|It|They|His|Her|Its|Their)\b`)
	pronounZh = regexp.MustCompile(`^([他她它]|这里|那里)`)
)

// A sentence is told alone: it names what it speaks of, and it is neither a scrap nor a page.
func checkSentence(t *testing.T, locale, s string) {
	t.Helper()
	if pronoun.MatchString(s) || pronounZh.MatchString(s) {
		t.Errorf("does not stand alone: %s", s)
	}
	if locale == "en" {
		if n := len(strings.Fields(s)); n < 6 || n > 30 {
			t.Errorf("%d words: %s", n, s)
		}
		return
	}
	if n := utf8.RuneCountInString(s); n < 12 || n > 75 {
		t.Errorf("%d characters: %s", n, s)
	}
}

func TestBundledCast(t *testing.T) {
	p := lowWater(t)
	en, zh := p.In("en"), p.In("zh-CN")
	if len(en.Characters) < 10 || len(en.Characters) != len(zh.Characters) {
		t.Fatalf("%d and %d characters", len(en.Characters), len(zh.Characters))
	}
	kinds := map[string]int{}
	for i, a := range en.DeclaredSchema.Attributes {
		kinds[a.Type]++
		if b := zh.DeclaredSchema.Attributes[i]; b.ID != a.ID || !han(b.Name) || !han(b.Description) {
			t.Errorf("attribute %s in Chinese: %+v", a.ID, b)
		}
	}
	if kinds["string"] < 2 || kinds["enum"] < 1 || kinds["number"] < 1 {
		t.Errorf("kinds of attributes: %v", kinds)
	}
	for _, v := range []View{en, zh} {
		for _, c := range v.Characters {
			var fields map[string]any
			if err := json.Unmarshal(c.Fields, &fields); err != nil || len(c.Aliases) == 0 {
				t.Errorf("%s: fields %s (%v), aliases %v", c.ID, c.Fields, err, c.Aliases)
			}
			for _, key := range []string{"calling", "temperament", "keepsake", "origin", "health"} {
				if fields[key] == nil {
					t.Errorf("%s in %s has no %s", c.ID, v.Locale, key)
				}
			}
			if n := len(sentences(c.Description)); n < 4 {
				t.Errorf("%s in %s is described in %d sentences", c.ID, v.Locale, n)
			}
			for _, alias := range append([]string{c.Name, c.ID}, c.Aliases...) {
				if r := sdk.ResolveCharacter(v.Characters, alias, false); !r.Found() || r.Character.ID != c.ID {
					t.Errorf("%q does not find %s: %s", alias, c.ID, r.Problem())
				}
			}
		}
	}
}

func TestBundledLorebook(t *testing.T) {
	p := lowWater(t)
	for _, locale := range p.Locales {
		v := p.In(locale)
		if len(v.Lorebook) < 15 {
			t.Errorf("%s: %d entries", locale, len(v.Lorebook))
		}
		for _, e := range v.Lorebook {
			if title, _ := e.Extra["title"].(string); title == "" {
				t.Errorf("%s: %s has no title", locale, e.ID)
			}
			for _, key := range e.Keys {
				got := Activate([]sdk.LorebookEntry{e}, "… "+key+" …", nil)
				if len(got) != 1 || locale == "zh-CN" && !han(key) {
					t.Errorf("%s: key %q of %s", locale, key, e.ID)
				}
			}
		}
	}
	for locale, line := range map[string]string{
		"en":    "I show Constable Grandage the green key from his dumpling tin.",
		"zh-CN": "我把馄饨罐子里那把绿钥匙拿给郭巡警看。",
	} {
		var told []string
		for _, a := range Activate(p.In(locale).Lorebook, line, nil) {
			told = append(told, a.Entry.ID)
		}
		if want := []string{"dry-things", "the-return", "the-countdown", "eel-stew", "green-key"}; !slices.Equal(told, want) {
			t.Errorf("%s: %q tells %v, want %v", locale, line, told, want)
		}
	}
}

// Neither language shows through in the other, and nothing looks like mark-up or a template.
func TestBundledTextIsCleanInBothLanguages(t *testing.T) {
	latin := regexp.MustCompile(`[A-Za-z]{2,}`)
	for _, locale := range lowWater(t).Locales {
		v := lowWater(t).In(locale)
		texts := []string{v.Record.Name, v.Record.Summary, v.Record.Lore, v.Record.Opening, v.Record.Greeting, v.Record.Tone, strings.Join(v.Record.Tags, "\n")}
		for _, c := range v.Characters {
			var fields map[string]any
			if err := json.Unmarshal(c.Fields, &fields); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, c.Name, strings.Join(c.Aliases, "\n"), c.Description)
			for _, f := range fields {
				if s, ok := f.(string); ok {
					texts = append(texts, s)
				}
			}
		}
		for _, e := range v.Lorebook {
			texts = append(append(texts, e.Content, e.Extra["title"].(string)), e.Keys...)
		}
		for _, text := range texts {
			if text == "" || strings.ContainsAny(text, "{}<>*_|`") || strings.Contains(text, "\n- ") {
				t.Errorf("%s: mark-up or nothing in %q", locale, clip(text, 60))
			}
			if locale == "en" && han(text) {
				t.Errorf("Chinese in the English text %q", clip(text, 60))
			}
			if found := latin.FindString(text); locale == "zh-CN" && found != "" {
				t.Errorf("%q in the Chinese text %q", found, clip(text, 60))
			}
		}
	}
}

func han(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

package storyteller

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// knownSlots are the slots that some part of the teller fills.
var knownSlots = []string{"A", "B", "he", "him", "his", "himself", "place", "there", "world", "epithet", "thing", "topic", "thread",
	"said", "doing", "where", "me", "value", "who", "other", "absent", "here", "away", "slot", "label"}

// knownTags are the tags that a scene can have.
var knownTags = append([]string{"in", "out", "alone", "one", "two", "lonely", "old", "future", "now", "immortal"}, slices.Concat(hours, []string{"day"})...)

func init() {
	for _, k := range placeKinds {
		knownTags = append(knownTags, k.tag)
	}
}

func wordFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := wordFiles.ReadFile(path.Join("words", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func poolsOf(t *testing.T, tongue string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, f := range []string{"acts", "after", "talk", "voices", "scene", "moments", "tasks"} {
		var pools map[string][]string
		if err := yaml.Unmarshal(wordFile(t, tongue+"/"+f+".yaml"), &pools); err != nil {
			t.Fatalf("%s/%s: %v", tongue, f, err)
		}
		for name, lines := range pools {
			if all[name] != nil {
				t.Errorf("%s: pool %s stands in two files", tongue, name)
			}
			all[name] = lines
		}
	}
	return all
}

// Every phrase can be read, uses only slots and tags that exist, and is written in its own language's punctuation.
func TestWordsAreSound(t *testing.T) {
	asciiInChinese := regexp.MustCompile(`[\p{Han}][,.;:!?"']|[,.;:!?"'][\p{Han}]|[\p{Han}] [\p{Han}]|[，。；：！？、]{2}`)
	doubledInEnglish := regexp.MustCompile(`[,.;:!?]{2}|\s[,.;:!?]|[\p{Han}]|["']\s|[^\\]"`)
	for _, tongue := range []tongue{english, chinese} {
		check := func(where, line string) {
			p, err := parsePhrase(tongue, line)
			if err != nil {
				t.Errorf("%s %s: %v", tongue, where, err)
				return
			}
			for _, tag := range slices.Concat(p.need, p.veto) {
				if !slices.Contains(knownTags, tag) {
					t.Errorf("%s %s: unknown tag %q in %q", tongue, where, tag, line)
				}
			}
			for _, part := range p.parts {
				switch {
				case part.slot == "":
					bad := doubledInEnglish
					if tongue == chinese {
						bad = asciiInChinese
					}
					if m := bad.FindString(part.text); m != "" && !strings.HasPrefix(where, "form.name") {
						t.Errorf("%s %s: %q in %q", tongue, where, m, line)
					}
				case strings.HasPrefix(part.slot, "+"):
					if bankOf(tongue).pools[part.slot[1:]] == nil {
						t.Errorf("%s %s: unknown pool %q", tongue, where, part.slot)
					}
				case !slices.Contains(knownSlots, part.slot):
					t.Errorf("%s %s: unknown slot %q in %q", tongue, where, part.slot, line)
				case part.arg != "" && part.arg != "," && part.arg != "a" && tongue == english && verbs().base[part.arg] == false && part.arg != "be" && part.arg != "have" && part.arg != "do" && part.arg != "go":
					t.Errorf("%s %s: %q is no verb that can be bent, in %q", tongue, where, part.arg, line)
				}
			}
		}
		for name, lines := range poolsOf(t, tongue.String()) {
			seen := map[string]bool{}
			for _, l := range lines {
				check(name, l)
				if seen[l] {
					t.Errorf("%s %s: twice %q", tongue, name, l)
				}
				seen[l] = true
			}
		}
		for _, d := range bankOf(tongue).devices {
			if len(d.pools[stageSeed]) == 0 || len(d.pools[stagePursue]) == 0 || len(d.pools[stageGone]) == 0 || len(d.keys) == 0 {
				t.Errorf("%s device %s has no beginning, no way through, no end or no key", tongue, d.id)
			}
			for stage, phrases := range d.pools {
				for _, p := range phrases {
					check("device "+d.id+" "+stage, p.source)
					if stage == stageSeed && !containsAnyOf(fold(p.source), d.keys) {
						t.Errorf("%s device %s: the beginning %q names none of its keys", tongue, d.id, p.source)
					}
					if len(p.grams) == 0 {
						t.Errorf("%s device %s: %q is too short to be recognised in the story", tongue, d.id, p.source)
					}
				}
			}
		}
	}
}

// What one language can say the other can say too.
func TestBothLanguagesHaveTheSameWords(t *testing.T) {
	en, zh := poolsOf(t, "en"), poolsOf(t, "zh")
	for name := range en {
		if zh[name] == nil {
			t.Errorf("zh lacks pool %s", name)
		}
	}
	for name := range zh {
		if en[name] == nil {
			t.Errorf("en lacks pool %s", name)
		}
	}
	for i, d := range bankOf(english).devices {
		if z := bankOf(chinese).devices; i >= len(z) || z[i].id != d.id {
			t.Errorf("device %s is not at the same place in both languages", d.id)
		}
	}
	for class := range classes(bankOf(english).lexicon) {
		if !classes(bankOf(chinese).lexicon)[class] {
			t.Errorf("zh has no verbs for %s", class)
		}
	}
}

func classes(l lexicon) map[verb]bool {
	out := map[verb]bool{}
	for _, c := range l.class {
		out[c] = true
	}
	return out
}

// Every pool that the code asks for by name exists.
func TestPoolsAskedForExist(t *testing.T) {
	for _, tongue := range []tongue{english, chinese} {
		b := bankOf(tongue)
		for class := range classes(b.lexicon) {
			name := "do." + string(class)
			if b.pools[name] == nil && b.pools[name+".around"] == nil && b.pools[name+".arrive"] == nil && b.pools[name+".nowhere"] == nil {
				t.Errorf("%s: nothing tells of %s", tongue, class)
			}
		}
		if strings.TrimSpace(b.fallback) == "" {
			t.Errorf("%s: no place to fall back to", tongue)
		}
	}
}

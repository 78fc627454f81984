package storyteller

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// bundledWorlds are the worlds that ship with the program, one per language, as far as their files can be read here. The
// storyteller depends on none of them: what is tested is that it does well with them as they are today.
func bundledWorlds(t testing.TB) []testWorld {
	t.Helper()
	var out []testWorld
	manifests, _ := filepath.Glob("../../../worlds/bundled/*/world.yaml")
	for _, m := range manifests {
		dir := filepath.Dir(m)
		for _, locale := range []string{"en", "zh-CN"} {
			suffix := ""
			if locale != "en" {
				suffix = "." + locale
			}
			lore, err := os.ReadFile(filepath.Join(dir, "WORLD"+suffix+".md"))
			if err != nil {
				continue
			}
			w := testWorld{id: filepath.Base(dir), locale: locale, lore: string(lore)}
			var manifest struct {
				OpeningScenario string `yaml:"openingScenario"`
			}
			readYAML(filepath.Join(dir, "world"+suffix+".yaml"), &manifest)
			w.opening = manifest.OpeningScenario
			var cast []struct {
				Name, Type, Description string
				Aliases                 []string
				Fields                  map[string]any
			}
			readYAML(filepath.Join(dir, "characters", "characters"+suffix+".yaml"), &cast)
			var lines []string
			for _, c := range cast {
				line := "- " + c.Name
				if len(c.Aliases) > 0 {
					line += " (aka " + strings.Join(c.Aliases, ", ") + ")"
				}
				line += fmt.Sprintf(" [%s] %s", c.Type, strings.Join(strings.Fields(c.Description), " "))
				for _, k := range []string{"calling", "temperament", "keepsake"} {
					if v, ok := c.Fields[k].(string); ok {
						line += " · " + k + ": " + v
					}
				}
				lines = append(lines, line)
			}
			w.profiles = strings.Join(lines, "\n")
			w.player = `{"id":"p1","name":"Wren Alder","type":"player","fields":{"calling":"a letter-carrier","temperament":"stubborn","keepsake":"half of a torn map","health":10}}`
			if locale != "en" {
				w.player = `{"id":"p1","name":"陆青云","type":"player","fields":{"calling":"送信的","temperament":"倔强","keepsake":"半张地图","health":10}}`
			}
			out = append(out, w)
		}
	}
	return out
}

func readYAML(file string, into any) {
	if data, err := os.ReadFile(file); err == nil {
		_ = yaml.Unmarshal(data, into) // a world that cannot be read is another test's business
	}
}

// A session in every bundled world: all passages are sound, and nothing is said again too soon.
func TestBundledWorlds(t *testing.T) {
	worlds := append(bundledWorlds(t), saltmere(t), wugang(t))
	for _, w := range worlds {
		t.Run(w.id+" "+w.locale, func(t *testing.T) {
			built, _ := worldOf(t, w)
			if len(built.places) == 0 || len(built.people) == 0 || len(built.all) < 10 {
				t.Fatalf("%d places, %d people, %d facts", len(built.places), len(built.people), len(built.all))
			}
			lines := []string{"", "I look around", "What is wrong here?", "", "I ask %p about %l", "I go to %l", "I ask who is here", "I wait", "I give %p my coat", "I search the place", "Hello, %p", "I go to %m", "What can I do?", "I ask %b about %l", "Put the lantern down on the counter", "I ask %p whose window that is", "I throw away the letter", "wait"}
			if tongueOf(w.locale) == chinese {
				lines = []string{"", "四下看看", "这里出了什么事？", "", "向%p打听%l", "去%l", "这里有谁？", "我等一等", "把外衣给%p", "搜一搜这里", "你好，%p", "去%m", "我能做什么？", "问%b关于%l的事", "把灯放在柜台上", "问%p那扇窗是谁家的", "把信扔掉", "等"}
			}
			beast := built.people[0].name
			for _, p := range built.people {
				if p.mute {
					beast = p.name
				}
			}
			if w.id == "low-water" && beast == built.people[0].name {
				t.Error("the goose is taken for a person")
			}
			fill := strings.NewReplacer("%b", beast, "%p", built.people[0].name, "%l", built.places[len(built.places)-1].name, "%m", built.places[len(built.places)/2].name)
			g := &game{world: w}
			var past [][]segment
			for i, line := range lines {
				segs := g.play(t, fill.Replace(line))
				checkPassage(t, tongueOf(w.locale), segs, i == 0)
				checkFresh(t, past, segs)
				for _, s := range segs {
					if e := built.named(s.Speaker); s.Kind == dialogue && e != nil && e.mute {
						t.Errorf("%q: %s has no words: %s", line, s.Speaker, s.Text)
					}
				}
				past = append(past, segs)
			}
		})
	}
}

package worlds

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/covel/covel/plugins/sdk"
)

// loadsOrExplains is what must hold for any package: it loads into views that can be stored, or every problem names file,
// message and fix in valid text.
func loadsOrExplains(t *testing.T, files map[string]string) {
	t.Helper()
	p, err := Load(world(files), "tarn")
	if err == nil {
		for _, locale := range append([]string{""}, p.Locales...) {
			checkView(t, p.In(locale))
		}
		return
	}
	var list Errors
	if !errors.As(err, &list) || len(list) == 0 || len(list) > maxProblems+1 {
		t.Fatalf("error %v", err)
	}
	for _, e := range list {
		if e.File == "" || e.Message == "" || e.Fix == "" || !utf8.ValidString(e.Error()) {
			t.Fatalf("problem %+v", e)
		}
	}
}

// seedBad adds every file of testdata/bad and of the bundled worlds that has the name.
func seedBad(f *testing.F, file string) {
	for _, root := range []fs.FS{os.DirFS("testdata/bad"), Bundled()} {
		found, err := fs.Glob(root, "*/"+file)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range found {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data))
		}
	}
}

func FuzzManifest(f *testing.F) {
	seedBad(f, "world.yaml")
	f.Add("\xff\xfe\x00")
	f.Add("? [a]\n: b\n!!binary x: !!set {}\n")
	f.Fuzz(func(t *testing.T, text string) { loadsOrExplains(t, map[string]string{"world.yaml": text}) })
}

func FuzzManifestTranslation(f *testing.F) {
	seedBad(f, "world.zh-CN.yaml")
	main, err := fs.ReadFile(Bundled(), "low-water/world.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		loadsOrExplains(t, map[string]string{"world.yaml": string(main), "world.zh-CN.yaml": text})
	})
}

const fuzzSchema = goodManifest + `characterSchema:
  types: [npc]
  attributes:
    - {id: mood, name: Mood, type: enum, category: bio, options: [calm, cross]}
    - {id: bag, name: Bag, type: array, category: equipment, itemType: number}
    - {id: ties, name: Ties, type: map, category: social, valueType: boolean}
    - {id: home, name: Home, type: object, category: bio, subSchema: [{id: roof, name: Roof, type: string, category: bio}]}
`

func FuzzCharactersJSON(f *testing.F) {
	seedBad(f, "characters/characters.json")
	f.Add(`[{"id":"a","name":"陆青云","type":"npc","fields":{"mood":"calm","bag":[1,2e9],"ties":{"x":true},"home":{"roof":"\ud83d"}}}]`)
	f.Add(`[{"id":"a","id":"a","name":9007199254740993}] x`)
	f.Fuzz(func(t *testing.T, text string) {
		loadsOrExplains(t, map[string]string{"world.yaml": fuzzSchema, "characters/characters.json": text})
	})
}

func FuzzCharactersYAML(f *testing.F) {
	seedBad(f, "characters/characters.yaml")
	seedBad(f, "characters/characters.zh-CN.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		loadsOrExplains(t, map[string]string{"world.yaml": fuzzSchema, "characters/characters.yaml": text, "characters/characters.zh-CN.yaml": text})
	})
}

func FuzzLorebook(f *testing.F) {
	seedBad(f, "data/lorebook.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		loadsOrExplains(t, map[string]string{"data/lorebook.yaml": text, "data/lorebook.fr.yaml": text})
	})
}

func FuzzActivate(f *testing.F) {
	f.Add("龙胆", "我看见龙胆来了")
	f.Add("E\u0301lodie", "élodie\xff")
	f.Add("ﷺ", "ﷺﷺ")
	f.Fuzz(func(t *testing.T, key, text string) {
		book := []sdk.LorebookEntry{selective("e", key)}
		fires := len(Activate(book, text, nil)) == 1
		if folded := []rune(foldLore(key)); len(folded) <= MaxKeyRunes && len([]rune(foldLore(text))) < maxScanRunes && fires != naiveFires(key, text) {
			t.Fatalf("key %q in %q fires: %v", key, text, fires)
		}
	})
}

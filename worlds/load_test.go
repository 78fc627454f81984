package worlds

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/covel/covel/plugins/sdk"
)

var update = flag.Bool("update", false, "write the golden reports anew")

// report loads a package and prints everything that was said about it.
func report(fsys fs.FS, dir string) string {
	var r problems
	load(fsys, dir, &r)
	var b strings.Builder
	if err := r.err(dir); err != nil {
		var list Errors
		errors.As(err, &list)
		for _, e := range list {
			b.WriteString("error   " + e.Error() + "\n")
		}
	}
	for _, w := range sortProblems(r.warnings) {
		b.WriteString("warning " + w.Error() + "\n")
	}
	return b.String()
}

// Every bad package of testdata/bad has its full report beside it: file, line, field, what is wrong, the fix.
func TestBadPackages(t *testing.T) {
	entries, err := os.ReadDir("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		cases++
		t.Run(entry.Name(), func(t *testing.T) {
			got := report(os.DirFS("testdata/bad"), entry.Name())
			golden := filepath.Join("testdata/bad", entry.Name()+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("report of %s:\n%s\nwant:\n%s", entry.Name(), got, want)
			}
			pack, err := Load(os.DirFS("testdata/bad"), entry.Name())
			var one *Error
			if pack != nil || !errors.As(err, &one) || one.File == "" || one.Message == "" || one.Fix == "" {
				t.Errorf("Load gave pack %v and error %v", pack != nil, err)
			}
		})
	}
	if cases < 15 {
		t.Errorf("only %d bad packages", cases)
	}
}

const goodManifest = `schemaVersion: "1.0"
id: tarn
name: The Tarn
summary: A small lake.
defaultLocale: en
`

func world(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range map[string]string{"world.yaml": goodManifest, "WORLD.md": "The pier creaks.\n"} {
		out["tarn/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range files {
		out["tarn/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func mustLoad(t *testing.T, files map[string]string) *Pack {
	t.Helper()
	p, err := Load(world(files), "tarn")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMinimalWorld(t *testing.T) {
	v := mustLoad(t, nil).In("en")
	if v.Record.ID != "tarn" || v.Record.Lore != "The pier creaks." || v.DeclaredSchema != nil || v.Characters == nil || v.Lorebook == nil {
		t.Errorf("view of the smallest world: %+v", v)
	}
	if v.AccentColor != derivedAccent("tarn") || !accentForm.MatchString(v.AccentColor) {
		t.Errorf("derived accent %q", v.AccentColor)
	}
}

func TestWholeWorld(t *testing.T) {
	p := mustLoad(t, map[string]string{
		"world.yaml": goodManifest + `version: 2.1.0
supportedLocales: [en, zh-CN]
tags: [lake, quiet]
author: {name: A. Writer, url: "https://example.org", links: [{label: Home, url: "https://example.org/home"}]}
license: CC0-1.0
homepage: https://example.org/tarn
accentColor: oklch(0.55 0.13 214.5)
defaultViewMode: stage
openingScenario: You arrive.
greeting: Hello.
tone: dry
pluginPolicy: {requires: [action-check@1], requested: [dice], packs: [{id: all, label: All of it}]}
pluginSettings: {dice: {sides: 6, names: [a, b]}}
characterSchema:
  types: [npc, ghost]
  attributes:
    - {id: mood, name: Mood, type: enum, category: bio, options: [calm, cross], defaultValue: calm}
    - {id: home, name: Home, type: object, category: bio, subSchema: [{id: kind, name: Kind, type: enum, category: bio, options: [hut, boat]}]}
    - {id: luck, name: Luck, type: number, category: stats, min: 0, max: 6, defaultValue: 3}
`,
		"world.zh-CN.yaml": `name: 小湖
tags: [湖, null]
author: {links: [{label: 主页}]}
openingScenario: 你到了。
pluginPolicy: {packs: [{id: all, label: 全部}]}
characterSchema:
  attributes:
    - {id: home, name: 住处, subSchema: [{id: kind, name: 样式, options: [茅屋, 船]}]}
    - {id: mood, name: 心情, options: [生气, 平静]}
`,
		"WORLD.zh-CN.md":                   "码头吱呀作响。",
		"characters/characters.json":       `[{"id":"ilse","name":"Ilse \ud83d\udc09","aliases":["The Rower"],"type":"npc","description":"A rower.","fields":{"mood":"cross","luck":2,"home":{"kind":"boat","age":7},"scar":"left"}}]`,
		"characters/characters.zh-CN.json": `[{"id":"ilse","name":"伊尔瑟","aliases":["船家","划船的"],"fields":{"scar":"左边"}}]`,
		"data/lorebook.yaml":               "- {id: bell, keys: [bell], strategy: selective, content: It rings., extra: {title: The bell, scanDepth: 2}}\n",
		"data/lorebook.zh-CN.yaml":         "- {id: bell, keys: [钟, 钟声], content: 钟响了。, extra: {title: 钟}}\n",
	})
	for _, w := range p.Warnings {
		if !strings.Contains(w.Field, "scar") {
			t.Errorf("unexpected warning: %v", w)
		}
	}
	zh, en := p.In("zh-CN"), p.In("en")
	checks := []struct {
		what      string
		got, want any
	}{
		{"name", zh.Record.Name, "小湖"},
		{"untranslated summary", zh.Record.Summary, "A small lake."},
		{"tags with a kept item", strings.Join(zh.Record.Tags, ","), "湖,quiet"},
		{"lore", zh.Record.Lore, "码头吱呀作响。"},
		{"locale", zh.Record.Locale + zh.Locale, "zh-CNzh-CN"},
		{"opening", zh.Record.Opening, "你到了。"},
		{"link", zh.Author.Links[0].Label, "主页"},
		{"pack", zh.PluginPolicy.Packs[0].Label, "全部"},
		{"view mode", zh.Record.Metadata["defaultViewMode"], "stage"},
		{"settings", string(zh.PluginSettings["dice"]["names"]), `["a","b"]`},
		{"attribute", zh.DeclaredSchema.Attributes[0].Name, "心情"},
		{"default follows its option", zh.DeclaredSchema.Attributes[0].DefaultValue, "生气"},
		{"fields follow their options", string(zh.Characters[0].Fields), `{"home":{"age":7,"kind":"船"},"luck":2,"mood":"平静","scar":"左边"}`},
		{"aliases", strings.Join(zh.Characters[0].Aliases, ","), "船家,划船的"},
		{"lore keys", strings.Join(zh.Lorebook[0].Keys, ","), "钟,钟声"},
		{"lore depth stays", zh.Lorebook[0].Extra["scanDepth"], 2.0},
		{"main name", en.Characters[0].Name, "Ilse 🐉"},
		{"main fields", string(en.Characters[0].Fields), `{"home":{"age":7,"kind":"boat"},"luck":2,"mood":"cross","scar":"left"}`},
		{"main default", en.DeclaredSchema.Attributes[0].DefaultValue, "calm"},
		{"main keys", strings.Join(en.Lorebook[0].Keys, ","), "bell"},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if r := sdk.ResolveCharacter(zh.Characters, "划船的", false); !r.Found() {
		t.Error("a translated alias does not resolve")
	}
}

// A translated file holds only text; everything else in it is reported and changes nothing.
func TestTranslationChangesOnlyText(t *testing.T) {
	p := mustLoad(t, map[string]string{
		"world.yaml":       goodManifest + "supportedLocales: [en, zh]\naccentColor: \"#112233\"\ncharacterSchema: {types: [npc], attributes: [{id: luck, name: Luck, type: number, category: stats, max: 6}]}\n",
		"world.zh.yaml":    "id: other\naccentColor: \"#ff0000\"\nsummary: 7\ncharacterSchema: {types: [路人], attributes: [{id: luck, name: 运气, max: 7, type: string}, {id: hat, name: 帽}]}\n",
		"WORLD.zh-Hant.md": "繁體",
	})
	zh := p.In("zh")
	if zh.Record.ID != "tarn" || zh.AccentColor != "#112233" || zh.Record.Summary != "A small lake." ||
		zh.DeclaredSchema.Types[0] != "npc" || *zh.DeclaredSchema.Attributes[0].Max != 6 || len(zh.DeclaredSchema.Attributes) != 1 {
		t.Errorf("a translation changed the world: %+v", zh)
	}
	if zh.DeclaredSchema.Attributes[0].Name != "运气" {
		t.Errorf("the text was not taken: %+v", zh.DeclaredSchema.Attributes[0])
	}
	if zh.Record.Lore != "The pier creaks." {
		t.Errorf("zh reads %q, the lore of another script", zh.Record.Lore)
	}
	if len(p.Warnings) < 6 {
		t.Errorf("only %d warnings:\n%v", len(p.Warnings), p.Warnings)
	}
}

func TestTextBorder(t *testing.T) {
	p := mustLoad(t, map[string]string{
		"world.yaml":                 "\xef\xbb\xbf" + strings.ReplaceAll(goodManifest, "\n", "\r\n"),
		"WORLD.md":                   "\xef\xbb\xbfThe pier\r\nis \xff broken\x00.\r\n",
		"characters/characters.json": `[{"id":"a","name":"Lone \ud800 half","type":"npc","description":"nul \u0000 inside"}]`,
	})
	v := p.In("")
	if v.Record.Lore != "The pier\nis \uFFFD broken\uFFFD." {
		t.Errorf("lore %q", v.Record.Lore)
	}
	if c := v.Characters[0]; c.Name != "Lone \uFFFD half" || c.Description != "nul \uFFFD inside" {
		t.Errorf("character %+v", c)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Line != 2 || p.Warnings[0].File != "tarn/WORLD.md" {
		t.Errorf("warnings %v", p.Warnings)
	}
}

// Text of a world is kept as it is: it is for the page to show it as text (fault case BL-18).
func TestScriptsStayText(t *testing.T) {
	evil := `<img src=x onerror=alert(1)> [x](javascript:alert(1)) {{ world.lore }}`
	p := mustLoad(t, map[string]string{
		"world.yaml": strings.Replace(goodManifest, "The Tarn", `"`+evil+`"`, 1),
		"WORLD.md":   evil,
	})
	if v := p.In("en"); v.Record.Name != evil || v.Record.Lore != evil {
		t.Errorf("name %q, lore %q", v.Record.Name, v.Record.Lore)
	}
	for _, accent := range []string{"red;} * {display:none", "url(https://x)", "#12345", "oklch(0.5 0.1 20); x", "oklch(5 0.1 20)", "#1122334"} {
		if accentForm.MatchString(accent) {
			t.Errorf("accent %q was accepted", accent)
		}
	}
	for _, accent := range []string{"#4a7c83", "oklch(0.6 0.11 200)", "oklch(62.5% 0.1 20.5)", "oklch(1 0 0)"} {
		if !accentForm.MatchString(accent) {
			t.Errorf("accent %q was refused", accent)
		}
	}
}

func TestPackageLimits(t *testing.T) {
	tests := []struct {
		why   string
		files fstest.MapFS
		dir   string
		want  string
	}{
		{"no such folder", fstest.MapFS{}, "tarn", "tarn: the folder cannot be read: file does not exist."},
		{"outside the folder", world(nil), "../tarn", "../tarn: it is no path inside the world folder."},
		{"absolute", world(nil), "/tarn", "/tarn: it is no path inside the world folder."},
		{"large file", world(map[string]string{"WORLD.md": strings.Repeat("a", maxTextBytes+1)}), "tarn", "tarn/WORLD.md: it cannot be read: it is larger than 4 MiB."},
	}
	many := world(nil)
	for i := range maxFiles {
		many["tarn/media/"+strings.Repeat("x", 1+i%50)+string(rune('一'+i))] = &fstest.MapFile{}
	}
	tests = append(tests, struct {
		why   string
		files fstest.MapFS
		dir   string
		want  string
	}{"many files", many, "tarn", "tarn: the package has more than 2000 files or 256 MiB."})
	for _, tt := range tests {
		_, err := Load(tt.files, tt.dir)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.why, err, tt.want)
		}
	}
}

func TestReportIsBounded(t *testing.T) {
	p := strings.Builder{}
	p.WriteString(goodManifest)
	for i := range 5_000 {
		p.WriteString("k" + string(rune('一'+i)) + ": 1\n")
	}
	_, err := Load(world(map[string]string{"world.yaml": p.String()}), "tarn")
	var list Errors
	if !errors.As(err, &list) || len(list) != maxProblems+1 || !strings.Contains(list[maxProblems].Message, "4900 more") {
		t.Errorf("%d problems, last %v", len(list), list[len(list)-1])
	}
}

func TestLongLoreWarns(t *testing.T) {
	for _, tt := range []struct {
		lore string
		want int
	}{{strings.Repeat("湖", loreBudget), 0}, {strings.Repeat("湖", loreBudget+1), 1}, {strings.Repeat("lake", loreBudget), 0}} {
		if got := len(mustLoad(t, map[string]string{"WORLD.md": tt.lore}).Warnings); got != tt.want {
			t.Errorf("%d bytes of lore: %d warnings, want %d", len(tt.lore), got, tt.want)
		}
	}
}

// The digest names content and nothing else: not times, not order, not hidden files.
func TestDigest(t *testing.T) {
	base := mustLoad(t, map[string]string{"media/a.png": "1"})
	if len(base.Digest) != 64 || strings.ToLower(base.Digest) != base.Digest {
		t.Errorf("digest %q", base.Digest)
	}
	touched := world(map[string]string{"media/a.png": "1", ".DS_Store": "x", ".git/HEAD": "x"})
	touched["tarn/WORLD.md"].ModTime = time.Unix(1, 0)
	if p, err := Load(touched, "tarn"); err != nil || p.Digest != base.Digest {
		t.Errorf("digest changed with time and hidden files: %v", err)
	}
	seen := map[string]string{base.Digest: "base"}
	for why, files := range map[string]map[string]string{
		"other bytes":      {"media/a.png": "2"},
		"other name":       {"media/b.png": "1"},
		"one more overlay": {"media/a.png": "1", "world.zh-CN.yaml": "name: 湖\n"},
		"split bytes":      {"media/a.png": "", "media/b.png": "1"},
	} {
		d := mustLoad(t, files).Digest
		if first, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", why, first)
		}
		seen[d] = why
	}
}

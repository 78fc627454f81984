package worlds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustOpen(t *testing.T, dirs ...string) *Library {
	t.Helper()
	l, err := Open(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func writePack(t *testing.T, root, dir, manifest string) {
	t.Helper()
	for name, text := range map[string]string{"world.yaml": manifest, "WORLD.md": "Lore.\n"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(list []Summary) string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID+"="+s.Name)
	}
	return strings.Join(out, " ")
}

func TestLibraryRoots(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	named := func(id, name string) string {
		return strings.Replace(strings.Replace(goodManifest, "tarn", id, 1), "The Tarn", name, 1)
	}
	writePack(t, first, "any-folder", named("tarn", "One"))
	writePack(t, first, "fen", named("fen", "Fen"))
	writePack(t, second, "tarn", named("tarn", "Two"))
	writePack(t, second, "broken", "id: fen\n")
	writePack(t, second, ".hidden", named("hidden", "Hidden"))
	writePack(t, second, "twin-a", named("fen", "Twin A"))
	writePack(t, second, "twin-b", named("fen", "Twin B"))
	if err := os.Symlink(filepath.Join(first, "fen"), filepath.Join(second, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, first, filepath.Join(first, "does-not-exist"), second)
	if got, want := ids(l.List("en")), "fen=Fen low-water=Low Water tarn=Two"; got != want {
		t.Errorf("worlds %q, want %q", got, want)
	}
	var failed []string
	for _, e := range l.Errors() {
		var list Errors
		if !errors.As(e, &list) || e.Root != second {
			t.Errorf("error %v", e)
		}
		failed = append(failed, e.Dir)
	}
	if got := strings.Join(failed, " "); got != "broken twin-a twin-b" {
		t.Errorf("packages that did not load: %q", got)
	}
	if !strings.Contains(l.Errors()[1].Error(), "twin-b has the id fen too") {
		t.Errorf("duplicate: %v", l.Errors()[1])
	}
	if p, ok := l.Get("fen"); !ok || p.ID != "fen" {
		t.Error("Get does not find fen")
	}
	if _, ok := l.Get("hidden"); ok {
		t.Error("a hidden folder is a world")
	}
}

func TestLibraryRefusesAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worlds")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(file); err == nil {
		t.Errorf("a file was opened as a folder of worlds: %s", ids(l.List("en")))
	}
}

// Nothing outside the package is read, whatever the links in it say.
func TestLinksAreNotFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	writePack(t, root, "tarn", goodManifest)
	secret := filepath.Join(outside, "lorebook.yaml")
	if err := os.WriteFile(secret, []byte("- {id: a, content: secret}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "tarn", "data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(root, "tarn", "WORLD.zh-CN.md")); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, root)
	p, ok := l.Get("tarn")
	if !ok {
		t.Fatalf("errors: %v", l.Errors())
	}
	if v := p.In("zh-CN"); len(v.Lorebook) != 0 || v.Record.Lore != "Lore." {
		t.Errorf("read through a link: %+v", v)
	}
	if len(p.Warnings) != 2 {
		t.Errorf("warnings: %v", p.Warnings)
	}
}

func TestListIsLocalised(t *testing.T) {
	l := mustOpen(t)
	for locale, want := range map[string]string{"en": "Low Water", "zh-CN": "水落", "zh": "水落", "zh-Hant": "Low Water", "fr": "Low Water"} {
		s := l.List(locale)
		if len(s) != 1 || s[0].Name != want || s[0].Tags == nil || len(s[0].SupportedLocales) != 2 {
			t.Errorf("%s: %+v", locale, s)
		}
	}
}

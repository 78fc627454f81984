// Package worlds reads world packages: a folder with world.yaml, the lore in WORLD.md, people and a lorebook, each in
// one language with sibling files for the others. It checks everything at once and names file, line, field and fix; what
// loads is complete. The package also carries the bundled worlds and decides which lorebook entries a passage wakes.
package worlds

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/covel/covel/plugins/sdk"
)

// The files of a package. Each but the lore may have siblings <name>.<locale>.<ext> that hold only text.
const (
	manifestFile = "world.yaml"
	loreFile     = "WORLD.md"
	lorebookFile = "data/lorebook.yaml"
)

var characterFiles = []string{"characters/characters.yaml", "characters/characters.json"}

// Pack is a world package in all its languages. It is immutable.
type Pack struct {
	ID            string
	Version       string
	DefaultLocale string
	Locales       []string // those the world is written in, as declared; defaultLocale is among them
	Digest        string   // lower-case hex SHA-256 over all files by path
	Warnings      Errors   // what was read but may not be meant
	views         map[string]View
}

// In is the world in one language: the asked one, else one of the same language and script, else defaultLocale.
// View.Locale says which it is. The view shares its parts with the package: readers do not write to it.
func (p *Pack) In(locale string) View {
	if found := pickLocale(locale, p.Locales); found != "" {
		return p.views[found]
	}
	return p.views[p.DefaultLocale]
}

// Load reads the package in the folder dir of fsys. Everything wrong with it is reported at once as Errors; a package
// with an error gives no Pack. Links are not followed. Invalid UTF-8 becomes U+FFFD with a warning.
func Load(fsys fs.FS, dir string) (*Pack, error) {
	var report problems
	pack := load(fsys, dir, &report)
	if err := report.err(dir); err != nil {
		return nil, err
	}
	pack.Warnings = sortProblems(report.warnings)
	return pack, nil
}

// load gives nil or an incomplete pack when it reported an error.
func load(fsys fs.FS, dir string, report *problems) *Pack {
	root, err := fs.Sub(fsys, dir)
	if err != nil {
		report.fail(Error{File: dir, Message: "it is no path inside the world folder.", Fix: "name a folder without .. or a leading /."})
		return nil
	}
	files := listFiles(root, dir, report)
	if files == nil {
		return nil
	}
	l := &loader{files: files, report: report}
	head := l.open(manifestFile, manifestTexts)
	if head.tree == nil {
		if !files.has(manifestFile) {
			report.fail(Error{File: files.name(manifestFile), Message: "the file is missing.", Fix: "a world needs world.yaml with id, name, summary and defaultLocale."})
		}
		return nil
	}
	main := readManifest(head.in("").at(), nil)
	if main.DefaultLocale == "" {
		return nil // reported, and without it no text has a language
	}
	l.main, l.locales = main.DefaultLocale, l.declared(main, head)
	people, book := l.openCharacters(), l.open(lorebookFile, lorebookTexts)
	l.reportStrays(head, people, book)

	pack := &Pack{ID: main.ID, Version: main.Version, DefaultLocale: main.DefaultLocale, Locales: l.locales, Digest: files.digest(), views: map[string]View{}}
	// The main language goes first: what is wrong there is not blamed on a translation.
	order := append([]string{main.DefaultLocale}, slices.DeleteFunc(slices.Clone(l.locales), func(s string) bool { return s == main.DefaultLocale })...)
	for _, locale := range order {
		m := main
		overlay := locale
		if locale == main.DefaultLocale {
			overlay = ""
		} else {
			m = readManifest(head.in(locale).at(), main)
		}
		view := View{
			Locale: locale, DefaultLocale: main.DefaultLocale, SupportedLocales: l.locales, Version: main.Version,
			Record: sdk.WorldRecord{
				ID: m.ID, Name: m.Name, Summary: m.Summary, Locale: locale, Tags: m.Tags,
				Lore: l.lore(locale), Opening: m.Opening, Tone: m.Tone, Greeting: m.Greeting,
			},
			DeclaredSchema: m.Schema, Characters: []sdk.Character{}, Lorebook: []sdk.LorebookEntry{},
			PluginPolicy: m.Policy, PluginSettings: m.PluginSettings, AccentColor: m.AccentColor,
			Author: m.Author, License: m.License, Homepage: m.Homepage, Digest: pack.Digest,
		}
		if m.DefaultViewMode != "" {
			view.Record.Metadata = map[string]any{"defaultViewMode": m.DefaultViewMode}
		}
		if people.tree != nil {
			view.Characters = readCharacters(people.in(overlay).at(), m.Schema, main.Schema)
		}
		if book.tree != nil {
			view.Lorebook = readLorebook(book.in(overlay).at())
		}
		pack.views[locale] = view
	}
	return pack
}

// loader is the work of reading one package.
type loader struct {
	files   *files
	report  *problems
	main    string // defaultLocale
	locales []string
}

func (l *loader) untranslated(file, locale string) {
	l.report.warn(Error{File: l.files.name(file), Message: "there is no " + locale + " translation; its text stays in the main language.", Fix: "add " + variantName(file, locale) + "."})
}

// sheet is a main file with its language files.
type sheet struct {
	l      *loader
	file   string
	tree   *yaml.Node // nil when the file is missing or broken
	texts  textPlaces
	over   map[string]*yaml.Node // by locale
	overIn map[string]string     // locale → file
}

func (l *loader) open(file string, texts textPlaces) *sheet {
	s := &sheet{l: l, file: file, texts: texts, over: map[string]*yaml.Node{}, overIn: l.files.variants(file)}
	text, ok := l.files.text(file)
	if ok {
		s.tree = parseTree(l.files.name(file), text, l.report)
	}
	for _, locale := range sortedKeys(s.overIn) {
		if text, ok := l.files.text(s.overIn[locale]); ok {
			s.over[locale] = parseTree(l.files.name(s.overIn[locale]), text, l.report)
		}
	}
	return s
}

// openCharacters opens the one file of people there may be.
func (l *loader) openCharacters() *sheet {
	yamlFile, jsonFile := characterFiles[0], characterFiles[1]
	if !l.files.has(jsonFile) {
		return l.open(yamlFile, characterTexts)
	}
	if l.files.has(yamlFile) {
		l.report.fail(Error{File: l.files.name(jsonFile), Message: yamlFile + " is there as well.", Fix: "keep one of the two files."})
	}
	return l.open(jsonFile, characterTexts)
}

// in is the sheet in one language, "" for the main one.
func (s *sheet) in(locale string) *source {
	name := s.l.files.name(s.file)
	if locale != "" {
		if found := pickLocale(locale, sortedKeys(s.over)); found != "" && s.over[found] != nil {
			return translate(s.tree, s.over[found], s.texts, name, s.l.files.name(s.overIn[found]), s.l.report)
		}
		s.l.untranslated(s.file, locale)
	}
	return &source{file: name, root: s.tree, report: s.l.report}
}

// declared are the languages of the world: supportedLocales, or without it every language that has a manifest or lore.
func (l *loader) declared(main *manifest, head *sheet) []string {
	if len(main.SupportedLocales) > 0 {
		return main.SupportedLocales
	}
	out := []string{main.DefaultLocale}
	for _, locale := range append(sortedKeys(head.overIn), sortedKeys(l.files.variants(loreFile))...) {
		if !slices.Contains(out, locale) {
			out = append(out, locale)
		}
	}
	return out
}

// reportStrays warns about language files that no declared language reads.
func (l *loader) reportStrays(sheets ...*sheet) {
	all := map[string]map[string]string{loreFile: l.files.variants(loreFile)}
	for _, s := range sheets {
		all[s.file] = s.overIn
	}
	for _, file := range sortedKeys(all) {
		read := map[string]bool{}
		for _, locale := range l.locales {
			if file == loreFile || locale != l.main {
				read[pickLocale(locale, sortedKeys(all[file]))] = true
			}
		}
		for _, locale := range sortedKeys(all[file]) {
			if !read[locale] {
				l.report.warn(Error{File: l.files.name(all[file][locale]), Message: "no language of the world reads this file.", Fix: "add " + locale + " to supportedLocales, or write the texts of defaultLocale into the main file."})
			}
		}
	}
}

// lore is WORLD.<locale>.md, else one of the same language and script, else WORLD.md.
func (l *loader) lore(locale string) string {
	variants := l.files.variants(loreFile)
	file := loreFile
	if found := pickLocale(locale, sortedKeys(variants)); found != "" {
		file = variants[found]
	} else if locale != l.main && l.files.has(loreFile) {
		l.untranslated(loreFile, locale)
	}
	text, ok := l.files.text(file)
	text = strings.TrimSpace(text)
	if !ok || text == "" {
		l.report.fail(Error{File: l.files.name(file), Message: "there is no lore for " + locale + ".", Fix: "write the world's places, people and open threads into " + loreFile + "."})
		return ""
	}
	if n := loreTokens(text); n > loreBudget {
		l.report.warn(Error{File: l.files.name(file), Message: "the lore is longer than a prompt holds; its end will be cut off.", Fix: "move details into " + lorebookFile + ", where they are told when they matter."})
	}
	return text
}

func variantName(file, locale string) string {
	ext := path.Ext(file)
	return strings.TrimSuffix(file, ext) + "." + locale + ext
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

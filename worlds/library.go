package worlds

import (
	"embed"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// The prefix "all:" is left out on purpose: hidden files are no part of a world.
//
//go:embed bundled
var bundledFiles embed.FS

// bundledRoot is how the root of the bundled worlds is called in errors.
const bundledRoot = "bundled"

// Bundled is the folder of the worlds that ship with the program.
func Bundled() fs.FS {
	sub, err := fs.Sub(bundledFiles, bundledRoot)
	if err != nil {
		panic("worlds: the bundled worlds are missing: " + err.Error())
	}
	return sub
}

// Library holds the worlds of all roots. It is immutable and safe for use from several goroutines.
type Library struct {
	packs  map[string]*Pack
	errors []*PackageError
}

// PackageError says which package of which root did not load. Err is an Errors.
type PackageError struct {
	Root string // as given to Open, "bundled" for the program's own
	Dir  string // the folder in it
	Err  error
}

func (e *PackageError) Error() string {
	return "world package " + e.Dir + " in " + e.Root + " did not load:\n" + e.Err.Error()
}

// Unwrap gives the Errors.
func (e *PackageError) Unwrap() error { return e.Err }

// Open reads the bundled worlds and then the worlds of each folder in dirs: every direct child that is a folder, not a
// link and not hidden, is a package. A later root wins per id. A package that does not load is among Errors and takes
// nothing with it: an earlier root's world of the same id stays. A folder that does not exist is an empty root; one that
// cannot be read is an error.
func Open(dirs ...string) (*Library, error) {
	l := &Library{packs: map[string]*Pack{}}
	if err := l.add(bundledRoot, Bundled()); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Wrap(err, "open the worlds folder")
		}
		err = l.add(dir, root.FS())
		root.Close()
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Library) add(name string, root fs.FS) error {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return errors.Wrapf(err, "read the worlds folder %s", name)
	}
	found := map[string][]*Pack{}
	dirs := map[*Pack]string{}
	for _, entry := range entries { // sorted by name
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		pack, err := Load(root, entry.Name())
		if err != nil {
			l.errors = append(l.errors, &PackageError{Root: name, Dir: entry.Name(), Err: err})
			continue
		}
		found[pack.ID] = append(found[pack.ID], pack)
		dirs[pack] = entry.Name()
	}
	for _, id := range sortedKeys(found) {
		if same := found[id]; len(same) > 1 {
			for i, pack := range same {
				other := dirs[same[(i+1)%len(same)]]
				l.errors = append(l.errors, &PackageError{Root: name, Dir: dirs[pack], Err: Errors{{
					File: dirs[pack] + "/" + manifestFile, Field: "id",
					Message: "the package in " + other + " has the id " + id + " too; neither was taken.", Fix: "give one of them another id.",
				}}})
			}
			continue
		}
		l.packs[id] = found[id][0]
	}
	return nil
}

// Errors are the packages that did not load, in the order they were met.
func (l *Library) Errors() []*PackageError { return slices.Clone(l.errors) }

// Get finds a world by its id.
func (l *Library) Get(id string) (*Pack, bool) {
	p, ok := l.packs[id]
	return p, ok
}

// Summary is what a list of worlds shows of one, in one language.
type Summary struct {
	ID               string   `json:"id"`
	Version          string   `json:"version,omitempty"`
	Name             string   `json:"name"`
	Summary          string   `json:"summary"`
	Tags             []string `json:"tags"`
	Locale           string   `json:"locale"` // the language of these texts
	DefaultLocale    string   `json:"defaultLocale"`
	SupportedLocales []string `json:"supportedLocales"`
	AccentColor      string   `json:"accentColor"`
	Author           *Author  `json:"author,omitempty"`
	License          string   `json:"license,omitempty"`
	Homepage         string   `json:"homepage,omitempty"`
	Digest           string   `json:"digest"`
}

// Summary is the list entry of the world in this language.
func (v View) Summary() Summary {
	return Summary{
		ID: v.Record.ID, Version: v.Version, Name: v.Record.Name, Summary: v.Record.Summary, Tags: append([]string{}, v.Record.Tags...),
		Locale: v.Locale, DefaultLocale: v.DefaultLocale, SupportedLocales: v.SupportedLocales, AccentColor: v.AccentColor,
		Author: v.Author, License: v.License, Homepage: v.Homepage, Digest: v.Digest,
	}
}

// List gives every world by id, each in the nearest language it has.
func (l *Library) List(locale string) []Summary {
	out := make([]Summary, 0, len(l.packs))
	for _, id := range sortedKeys(l.packs) {
		out = append(out, l.packs[id].In(locale).Summary())
	}
	return out
}

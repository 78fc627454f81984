package registry

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// Source is a package to load: files, and the entry when it is compiled into the program.
type Source struct {
	ID       string // the folder's name
	FS       fs.FS
	Register func(*sdk.Covel) // nil for a folder on disk
	Bundled  bool             // its id cannot be taken by another source
	Err      error            // the files could not be opened
}

// Bundled is the source of a package that is compiled in.
func Bundled(id string, p sdk.Package) Source {
	return Source{ID: id, FS: p.FS, Register: p.Register, Bundled: true}
}

// Folder is the source of a package folder on disk. Nothing outside the folder can be read through it.
func Folder(dir string) Source {
	s := Source{ID: filepath.Base(filepath.Clean(dir))}
	root, err := os.OpenRoot(dir)
	if err != nil {
		s.Err = errors.Wrap(withoutPath(err), "the folder cannot be opened")
		return s
	}
	s.FS = root.FS()
	return s
}

// Folders are the packages under a directory, by name; hidden folders and files are none. A directory that does not exist
// has no packages.
func Folders(dir string) ([]Source, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "read the plugin folder")
	}
	var out []Source
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() { // Stat: a link to a package is one
			continue
		}
		out = append(out, Folder(path))
	}
	slices.SortFunc(out, func(a, b Source) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// withoutPath keeps the reason of an error about a path; where the user's folder lies is nobody's business.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

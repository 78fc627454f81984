package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/covel/covel/plugins/schema"
)

// Limits of a package (reference: plugins.md §26).
const (
	maxFiles      = 2_000
	maxTotalBytes = 200 << 20
	maxTextBytes  = 1 << 20 // of a manifest, locale file, schema or UI spec
)

// folder is the package's files: what is there, by path, and the digest over all of it.
type folder struct {
	fsys     fs.FS
	paths    []string // sorted
	problems *[]Problem
}

func (f *folder) add(file, fix, format string, args ...any) {
	*f.problems = append(*f.problems, Problem{File: file, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// scan lists the files. Hidden files and node_modules are no part of a package; links and devices are refused.
func (f *folder) scan() {
	err := fs.WalkDir(f.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			f.add(name, "", "cannot be read: %s", err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		base := path.Base(name)
		if name != "." && (strings.HasPrefix(base, ".") || base == "node_modules") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
		case !d.Type().IsRegular():
			f.add(name, "Copy the file into the package", "is not a regular file; links are not followed")
		case len(f.paths) == maxFiles:
			f.add(".", "Remove what the plugin does not need", "the package has more than %d files", maxFiles)
			return fs.SkipAll
		default:
			f.paths = append(f.paths, name)
		}
		return nil
	})
	if err != nil {
		f.add(".", "", "cannot be read: %s", err)
	}
	slices.Sort(f.paths)
}

// digest is the SHA-256 over every path, length and content.
func (f *folder) digest() string {
	h := sha256.New()
	left := int64(maxTotalBytes)
	for _, name := range f.paths {
		sum := sha256.New()
		n, err := f.copy(sum, name, left)
		left -= n
		switch {
		case err != nil:
			f.add(name, "", "cannot be read: %s", err)
			return ""
		case left < 0:
			f.add(".", "Remove what the plugin does not need", "the package has more than %d MiB", maxTotalBytes>>20)
			return ""
		}
		fmt.Fprintf(h, "%d:%s:%x\n", len(name), name, sum.Sum(nil))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (f *folder) copy(w io.Writer, name string, most int64) (int64, error) {
	file, err := f.fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return io.Copy(w, io.LimitReader(file, most+1))
}

func (f *folder) has(name string) bool {
	_, ok := slices.BinarySearch(f.paths, name)
	return ok
}

// text reads a file that people write: UTF-8, at most 1 MiB, without a byte order mark, lines ending in \n.
func (f *folder) text(name string) (string, bool) {
	var b bytes.Buffer
	if _, err := f.copy(&b, name, maxTextBytes); err != nil {
		f.add(name, "", "cannot be read: %s", err)
		return "", false
	}
	switch {
	case b.Len() > maxTextBytes:
		f.add(name, "", "is larger than %d KiB", maxTextBytes>>10)
		return "", false
	case !utf8.Valid(b.Bytes()):
		f.add(name, "Save it as UTF-8", "is not UTF-8 text")
		return "", false
	case bytes.IndexByte(b.Bytes(), 0) >= 0:
		f.add(name, "Save it as plain text", "contains the character U+0000")
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(b.String(), "\ufeff"), "\r\n", "\n"), true
}

// file reads a path the manifest names at n: package-relative, with one of the endings, and there.
func (f *folder) file(n node, endings ...string) (string, bool) {
	name, ok := n.text()
	if !ok {
		return "", false
	}
	clean := strings.TrimPrefix(name, "./")
	switch {
	case !fs.ValidPath(clean) || clean == "." || strings.Contains(clean, `\`):
		n.problem("Paths are relative to the package folder, without .. and without a leading slash", "%q is not a path inside the package", name)
		return "", false
	case !slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(clean, e) }):
		n.problem("", "%q must be a %s file", name, strings.Join(endings, ", "))
		return "", false
	case !f.has(clean):
		n.problem("Create the file or correct the path", "there is no file %q in the package", clean)
		return "", false
	}
	return clean, true
}

// json reads a JSON file the manifest names.
func (f *folder) json(n node) json.RawMessage {
	name, ok := f.file(n, ".json")
	if !ok {
		return nil
	}
	text, ok := f.text(name)
	if !ok {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		n.problem("", "%s is not valid JSON: %s", name, jsonPlace(text, err))
		return nil
	}
	return v
}

// schema reads a JSON Schema the manifest names and compiles it.
func (f *folder) schema(n node) json.RawMessage {
	raw := f.json(n)
	if raw == nil {
		return nil
	}
	if _, err := schema.Compile(raw); err != nil {
		n.problem("", "%s: %s", n.yaml.Value, err)
		return nil
	}
	return raw
}

// jsonPlace adds the line to a JSON error.
func jsonPlace(text string, err error) string {
	syntax, ok := err.(*json.SyntaxError)
	if !ok || syntax.Offset < 1 || int(syntax.Offset) > len(text) {
		return err.Error()
	}
	return fmt.Sprintf("line %d: %s", 1+strings.Count(text[:syntax.Offset-1], "\n"), err)
}

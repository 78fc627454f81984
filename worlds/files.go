package worlds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits of a package on disk. They are guesses on the generous side: the largest book known has some thousand entries
// and stays below 3 MiB.
const (
	maxFiles      = 2_000
	maxTotalBytes = 256 << 20
	maxTextBytes  = 4 << 20
)

var errTooLarge = errors.New("too large")

// files are the regular files of one package. Symlinks and hidden files are not among them, so nothing outside the
// package can be named.
type files struct {
	root   fs.FS
	dir    string // for messages
	known  map[string]bool
	paths  []string // in the order of fs.WalkDir
	report *problems
}

// listFiles walks a package. A package over the limits is reported and gives nil.
func listFiles(root fs.FS, dir string, report *problems) *files {
	f := &files{root: root, dir: dir, known: map[string]bool{}, report: report}
	var total int64
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			report.warn(Error{File: f.name(name), Message: "it is a link or a special file and was not read.", Fix: "put a copy of the file into the package."})
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		f.known[name] = true
		f.paths = append(f.paths, name)
		if len(f.paths) > maxFiles || total > maxTotalBytes {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		e := Error{File: dir, Message: "the folder cannot be read: " + cause(err) + ".", Fix: "check that it exists and that its files may be read."}
		if errors.Is(err, errTooLarge) {
			e.Message = fmt.Sprintf("the package has more than %d files or %d MiB.", maxFiles, maxTotalBytes>>20)
			e.Fix = "leave out what the world does not use."
		}
		report.fail(e)
		return nil
	}
	return f
}

// cause is the reason of a file error without the path of the machine.
func cause(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

func (f *files) name(file string) string { return path.Join(f.dir, file) }

func (f *files) has(file string) bool { return f.known[file] }

// text reads a file as text: without a byte order mark, with \n line ends, and with U+FFFD for invalid UTF-8 and U+0000
// (decisions: "Text"), which is warned about. ok is false when the file is missing or was reported as unreadable.
func (f *files) text(file string) (_ string, ok bool) {
	if !f.has(file) {
		return "", false
	}
	data, err := f.read(file, maxTextBytes)
	if err != nil {
		f.report.fail(Error{File: f.name(file), Message: "it cannot be read: " + cause(err) + ".", Fix: "check the file's size and permissions."})
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := badTextLine(data); line > 0 {
		f.report.warn(Error{File: f.name(file), Line: line, Message: "it holds bytes that are not UTF-8 text; they were read as U+FFFD.", Fix: "save the file as UTF-8."})
	}
	return strings.ReplaceAll(cleanText(string(data)), "\r\n", "\n"), true
}

// read refuses what is larger than limit, whatever size the directory told.
func (f *files) read(file string, limit int64) ([]byte, error) {
	r, err := f.root.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return data, err
}

// cleanText is the border rule for text: invalid UTF-8 and U+0000 become U+FFFD.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// badTextLine is the line of the first byte that cleanText replaces, 0 when there is none.
func badTextLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == 0 || (r == utf8.RuneError && n == 1) {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[n:]
	}
	return 0
}

// digest is the lower-case hex SHA-256 over all files by path: for each a line with the length of its path, the path, its
// size and its own SHA-256.
func (f *files) digest() string {
	sum := sha256.New()
	for _, file := range f.paths {
		r, err := f.root.Open(file)
		if err == nil {
			one := sha256.New()
			var n int64
			n, err = io.Copy(one, io.LimitReader(r, maxTotalBytes))
			fmt.Fprintf(sum, "%d %s %d %x\n", len(file), file, n, one.Sum(nil))
			r.Close()
		}
		if err != nil {
			f.report.fail(Error{File: f.name(file), Message: "it cannot be read: " + cause(err) + ".", Fix: "check the file's permissions."})
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// variants are the language files beside a main file: for "data/lorebook.yaml" the files "data/lorebook.<locale>.yaml",
// by canonical locale. A middle part that is no language tag is not a variant.
func (f *files) variants(main string) map[string]string {
	ext := path.Ext(main)
	prefix := strings.TrimSuffix(main, ext) + "."
	out := map[string]string{}
	for _, p := range f.paths {
		middle, found := strings.CutPrefix(p, prefix)
		middle, isExt := strings.CutSuffix(middle, ext)
		locale, isTag := canonicalLocale(middle)
		if !found || !isExt || !isTag {
			continue
		}
		if first, taken := out[locale]; taken {
			f.report.fail(Error{File: f.name(p), Message: fmt.Sprintf("%s is already the %s text of %s.", first, locale, main), Fix: "keep one of the two files."})
			continue
		}
		out[locale] = p
	}
	return out
}

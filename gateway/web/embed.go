// Package web is the browser client: a React application (src/) and the handler that serves its build.
//
// The build is not part of the repository. `make web` writes it to dist/, from where it is embedded into the
// binary; without it the handler answers every request with a page that says so.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var built embed.FS

// policy is the content security policy of every page, one line. It allows no inline script or style, nothing from
// another origin and no frame; the browser tests run under the same file and fail on any violation.
//
//go:embed csp.txt
var policy string

// Handler serves the embedded client:
//
//   - hashed files under /assets/ with their type and an immutable cache; a missing one is 404, never the index;
//   - the other files of the build, to be checked again on each use;
//   - the index for the client's own routes (see isRoute), and for nothing else;
//   - 405 for every method but GET and HEAD.
//
// It knows nothing of /api, which is to be routed before it. Safe for concurrent use.
func Handler() http.Handler {
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		// fs.Sub fails only for an invalid path, and this one is a constant.
		return missing{}
	}
	return handlerFor(dist)
}

// handlerFor serves any build; an FS without a readable index.html is one that was never made.
func handlerFor(dist fs.FS) http.Handler {
	files := map[string]file{}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir(): // notes of the build, for no browser
			return fs.SkipDir
		case hidden || entry.IsDir():
			return nil
		}
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		files["/"+name] = newFile(name, content)
		return nil
	})
	index, ok := files["/index.html"]
	if err != nil || !ok {
		return missing{}
	}
	delete(files, "/index.html")
	return client{files: files, index: index}
}

type client struct {
	files map[string]file
	index file
}

func (c client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if !isRead(w, r) {
		return
	}
	if f, ok := c.files[r.URL.Path]; ok {
		f.serve(w, r, strings.HasPrefix(r.URL.Path, "/assets/"))
		return
	}
	if isRoute(r.URL.Path) {
		c.index.serve(w, r, false)
		return
	}
	http.Error(w, "There is no such page.", http.StatusNotFound)
}

// isRoute says whether a path is one of the client's own pages: /, /worlds/{id} and /sessions/{id}. They are those of
// src/App.tsx.
func isRoute(p string) bool {
	if p == "/" {
		return true
	}
	for _, prefix := range []string{"/worlds/", "/sessions/"} {
		if id, ok := strings.CutPrefix(p, prefix); ok && id != "" && !strings.Contains(id, "/") {
			return true
		}
	}
	return false
}

// file is one file of the build, ready to be sent.
type file struct {
	name        string
	contentType string
	plain       []byte
	zipped      []byte // nil when compression gains nothing
	tag         string
}

func newFile(name string, content []byte) file {
	sum := sha256.Sum256(content)
	f := file{name: name, contentType: typeOf(name), plain: content, tag: hex.EncodeToString(sum[:8])}
	if zipped := compress(content); isText(f.contentType) && len(zipped) < len(content) {
		f.zipped = zipped
	}
	return f
}

func (f file) serve(w http.ResponseWriter, r *http.Request, forever bool) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	if forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.tag
	if f.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body, tag = f.zipped, f.tag+"-gzip"
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(body))
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	// Writing to a buffer cannot fail.
	_, _ = z.Write(content)
	_ = z.Close()
	return out.Bytes()
}

// typeOf names the types of a build's files. A table of our own: the system's differs from machine to machine.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json", ".webmanifest":
		return "application/json"
	case ".png":
		return "image/png"
	case ".woff2":
		return "font/woff2"
	default:
		return "application/octet-stream"
	}
}

func isText(contentType string) bool {
	return strings.HasPrefix(contentType, "text/") || contentType == "image/svg+xml" || contentType == "application/json"
}

// protect sets what every answer carries.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", strings.TrimSpace(policy))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func isRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "Pages are only read.", http.StatusMethodNotAllowed)
	return false
}

// missing answers for a binary that was built without the client.
type missing struct{}

const missingPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Covel</title></head>
<body>
<h1>The web client is not built</h1>
<p>This server was built without its pages. Run <code>make web</code> and build it again, or play in the terminal with <code>covel play</code>.</p>
<h1 lang="zh-CN">网页客户端尚未构建</h1>
<p lang="zh-CN">此服务器构建时没有包含网页。请运行 <code>make web</code> 后重新构建，或在终端中使用 <code>covel play</code>。</p>
</body>
</html>
`

func (missing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if !isRead(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(missingPage))
	}
}

package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

var script = strings.Repeat("console.log('陆青云 龙胆 🐉');\n", 20)

func build() fstest.MapFS {
	return fstest.MapFS{
		".gitkeep":              {},
		".vite/manifest.json":   {Data: []byte("{}")},
		"index.html":            {Data: []byte("<!doctype html><title>Covel</title>")},
		"theme.js":              {Data: []byte("theme()")},
		"icon.svg":              {Data: []byte("<svg/>")},
		"assets/index-AbC1.js":  {Data: []byte(script)},
		"assets/index-AbC1.css": {Data: []byte("p{}")},
	}
}

func get(t *testing.T, h http.Handler, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHandlerServes(t *testing.T) {
	h := handlerFor(build())
	const (
		again   = "no-cache"
		forever = "public, max-age=31536000, immutable"
		html    = "text/html; charset=utf-8"
	)
	for _, c := range []struct {
		target string
		status int
		kind   string
		cache  string
		text   string
	}{
		{"/", 200, html, again, "Covel"},
		{"/worlds/mist", 200, html, again, "Covel"},
		{"/sessions/mist-abc123", 200, html, again, "Covel"},
		{"/sessions/%E9%99%86%E9%9D%92%E4%BA%91", 200, html, again, "Covel"},
		{"/assets/index-AbC1.js", 200, "text/javascript; charset=utf-8", forever, script},
		{"/assets/index-AbC1.css", 200, "text/css; charset=utf-8", forever, "p{}"},
		{"/theme.js", 200, "text/javascript; charset=utf-8", again, "theme()"},
		{"/icon.svg", 200, "image/svg+xml", again, "<svg/>"},
		{"/assets/index-Old.js", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/assets/", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/sessions/", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/sessions/a/b", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/elsewhere", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/.vite/manifest.json", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/.gitkeep", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/index.html", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/../embed.go", 404, "text/plain; charset=utf-8", "", "no such page"},
		{"/api/health", 404, "text/plain; charset=utf-8", "", "no such page"},
	} {
		t.Run(c.target, func(t *testing.T) {
			r := get(t, h, http.MethodGet, c.target)
			if r.StatusCode != c.status {
				t.Errorf("status %d, want %d", r.StatusCode, c.status)
			}
			if got := r.Header.Get("Content-Type"); got != c.kind {
				t.Errorf("type %q, want %q", got, c.kind)
			}
			if got := r.Header.Get("Cache-Control"); got != c.cache {
				t.Errorf("cache %q, want %q", got, c.cache)
			}
			if got := body(t, r); !strings.Contains(got, c.text) {
				t.Errorf("body %q does not hold %q", got, c.text)
			}
		})
	}
}

func TestEveryAnswerIsProtected(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"built":   handlerFor(build()),
		"missing": handlerFor(fstest.MapFS{".gitkeep": {}}),
	} {
		for _, target := range []string{"/", "/assets/index-AbC1.js", "/nowhere"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				r := get(t, h, method, target)
				csp := r.Header.Get("Content-Security-Policy")
				for _, want := range []string{
					"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
					"img-src 'self' data:", "frame-ancestors 'none'", "base-uri 'none'",
				} {
					if !strings.Contains(csp, want) {
						t.Errorf("%s %s %s: the policy %q lacks %q", name, method, target, csp, want)
					}
				}
				if strings.Contains(csp, "unsafe") || strings.ContainsAny(csp, "\r\n*") {
					t.Errorf("%s %s %s: the policy %q is too wide, or no single line", name, method, target, csp)
				}
				if got := r.Header.Get("X-Content-Type-Options"); got != "nosniff" {
					t.Errorf("%s %s %s: X-Content-Type-Options %q", name, method, target, got)
				}
				if got := r.Header.Get("Referrer-Policy"); got != "no-referrer" {
					t.Errorf("%s %s %s: Referrer-Policy %q", name, method, target, got)
				}
			}
		}
	}
}

func TestCompressedAndChecked(t *testing.T) {
	h := handlerFor(build())
	const target = "/assets/index-AbC1.js"
	plain := get(t, h, http.MethodGet, target)
	zipped := get(t, h, http.MethodGet, target, "Accept-Encoding", "br, gzip")
	if got := zipped.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("encoding %q, want gzip", got)
	}
	if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("a plain answer has encoding %q and varies by %q", plain.Header.Get("Content-Encoding"), plain.Header.Get("Vary"))
	}
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(unzipped, []byte(script)) {
		t.Errorf("unzipped %q, want %q", unzipped, script)
	}
	if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
		t.Error("two encodings share one ETag")
	}
	again := get(t, h, http.MethodGet, "/", "If-None-Match", get(t, h, http.MethodGet, "/").Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("status %d for a known page, want 304", again.StatusCode)
	}
}

func TestOnlyReads(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"built":   handlerFor(build()),
		"missing": handlerFor(fstest.MapFS{}),
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			r := get(t, h, method, "/")
			if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %s gives %d, allow %q", name, method, r.StatusCode, r.Header.Get("Allow"))
			}
		}
		if got := body(t, get(t, h, http.MethodHead, "/")); got != "" {
			t.Errorf("%s: HEAD has the body %q", name, got)
		}
	}
}

func TestMissingBuildSaysSo(t *testing.T) {
	for name, dist := range map[string]fstest.MapFS{
		"nothing":      {".gitkeep": {}},
		"half a build": {"assets/index.js": {Data: []byte("x")}},
	} {
		r := get(t, handlerFor(dist), http.MethodGet, "/sessions/mist-abc")
		text := body(t, r)
		if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "make web") {
			t.Errorf("%s: status %d, body %q", name, r.StatusCode, text)
		}
		if got := r.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: cache %q, want no-store", name, got)
		}
	}
}

// The embedded folder may hold a build or not: either way the handler answers.
func TestEmbeddedFolder(t *testing.T) {
	r := get(t, Handler(), http.MethodGet, "/")
	if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", r.StatusCode)
	}
}

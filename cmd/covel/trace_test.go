package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covel/covel/events/trace"
	tracefiles "github.com/covel/covel/events/trace/sqlite"
)

type traced struct {
	SessionID string
	Turns     []*trace.Node
}

func each(n *trace.Node, visit func(*trace.Node)) {
	visit(n)
	for _, c := range n.Children {
		each(c, visit)
	}
}

// The trace is read beside a running server, through it, and from a folder at rest.
func TestTrace(t *testing.T) {
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	p := playing(t, srv.url, "first", "陆青云")
	p.do(say("line-0", "我去看看水边的灯。"))
	p.do(say("line-1", "我敲门。"))

	reading := func(t *testing.T) {
		tree := fromJSON[traced](t, ran(t, "trace", "first", "--data", data, "--json"))
		if len(tree.Turns) != 1 || tree.SessionID != "first" {
			t.Fatalf("%+v", tree)
		}
		kinds := map[trace.Kind]int{}
		each(tree.Turns[0], func(n *trace.Node) { kinds[n.Kind]++ })
		if n := tree.Turns[0]; n.Status != "committed" || n.Usage == nil || n.Calls != 2 || kinds[trace.KindRun] != 2 || kinds[trace.KindStage] != 2 || kinds[trace.KindStep] != 2 || kinds[trace.KindModel] != 2 || kinds[trace.KindTool] != 1 {
			t.Errorf("%+v %v", n, kinds)
		}
		out := ran(t, "trace", "first", "--data", data, "--turn", "1")
		if strings.Count(out, "\nturn ")+1 != 4 || !strings.Contains(out, "\n    run narrator  success") || !strings.Contains(out, "      step 1\n        model story  success") {
			t.Errorf("turn 1:\n%s", out)
		}
		if strings.Contains(out, "cost") {
			t.Errorf("nobody knows the price, and there is a cost:\n%s", out)
		}
		one := fromJSON[traced](t, ran(t, "trace", "first", "--data", data, "--turn", tree.Turns[0].Name, "--json"))
		if len(one.Turns) != 1 || one.Turns[0].Name != tree.Turns[0].Name {
			t.Errorf("by id: %+v", one)
		}
		lines := strings.Split(strings.TrimSpace(ran(t, "trace", "first", "--data", data, "--entries")), "\n")
		found := false
		for _, line := range lines {
			e := fromJSON[trace.Entry](t, line)
			found = found || e.Type == trace.LLMCalling && strings.Contains(string(e.Payload), "我敲门。")
		}
		if !found {
			t.Errorf("no prompt among %d entries", len(lines))
		}
		if msg := failed(t, "trace", "first", "--data", data, "--turn", "99"); !strings.Contains(msg, `"99"`) {
			t.Error(msg)
		}
		if msg := failed(t, "trace", "third", "--data", data); !strings.Contains(msg, `"third"`) {
			t.Error(msg)
		}
	}
	flush := func() {
		t.Helper()
		if err := srv.trace.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	t.Run("beside a server", reading)
	t.Run("through it", func(t *testing.T) {
		seen, before := 0, ""
		for range 100 {
			res, err := http.Get(srv.url + "/api/sessions/first/trace?limit=20" + before)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			page := fromJSON[struct {
				Items      []trace.Entry
				NextCursor string
			}](t, string(b))
			seen += len(page.Items)
			if page.NextCursor == "" {
				break
			}
			before = "&before=" + page.NextCursor
		}
		all, err := tracefiles.Read(t.Context(), filepath.Join(data, tracefiles.DirName), trace.Query{SessionID: "first"})
		if err != nil || seen != len(all) || seen < 60 {
			t.Errorf("%d entries in pages, %d in the files (%v)", seen, len(all), err)
		}
	})
	srv.stop(t)
	t.Run("at rest", reading)

	// A damaged file is said, and nothing else fails.
	files, err := filepath.Glob(filepath.Join(data, tracefiles.DirName, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Repeat("x", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, warned, err := run(t, "trace", "first", "--data", data)
	if err == nil || !strings.Contains(warned, filepath.Base(files[0])) {
		t.Errorf("%v %q", err, warned)
	}
	srv = startServer(t, data, bundledGame())
	p, _ = join(t, srv.url, "first")
	p.do(say("line-2", "我再敲一次。"))
	flush()
	if out := ran(t, "trace", "first", "--data", data); !strings.Contains(out, "committed") {
		t.Errorf("after the damage:\n%s", out)
	}
	ran(t, "sessions", "delete", "first", "--data", data)
	if msg := failed(t, "trace", "first", "--data", data); !strings.Contains(msg, "no trace") {
		t.Error(msg)
	}
	if !json.Valid([]byte(ran(t, "sessions", "list", "--data", data, "--json"))) {
		t.Error("no JSON")
	}
}

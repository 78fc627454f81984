package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/events/sqlite"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// ran executes a command line that must succeed, and gives what it printed.
func ran(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, err := run(t, args...)
	if err != nil {
		t.Fatalf("covel %s: %v\n%s", strings.Join(args, " "), err, errs)
	}
	return out
}

// failed executes a command line that must not, and gives its error.
func failed(t testing.TB, args ...string) string {
	t.Helper()
	out, _, err := run(t, args...)
	if err == nil {
		t.Fatalf("covel %s succeeded:\n%s", strings.Join(args, " "), out)
	}
	return err.Error()
}

func fromJSON[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return v
}

// free is an address that nothing listens on.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Every command that reads works beside a running server and on a stopped folder alike, and changes nothing; delete goes
// through the server when there is one.
func TestCommandsBesideAServerAndWithoutOne(t *testing.T) {
	data := t.TempDir()
	home := filepath.Join(data, "home")
	srv := startServer(t, data, bundledGame())
	playing(t, srv.url, "first", "陆青云").do(say("line", "我去看看水边的灯。"))
	playing(t, srv.url, "second", "Élodie")
	before := len(stored(t, data, "first"))

	reading := func(t *testing.T) {
		type list struct{ Items []sessionRecord }
		items := fromJSON[list](t, ran(t, "sessions", "list", "--data", data, "--json")).Items
		if len(items) != 2 || items[0].ID != "second" || items[1].Turns != 1 || items[1].WorldName != "Low Water" || items[1].Phase != "playing" {
			t.Errorf("sessions: %+v", items)
		}
		if out := ran(t, "sessions", "list", "--data", data); strings.Count(out, "\n") != 3 || !strings.Contains(out, "first") {
			t.Errorf("sessions:\n%s", out)
		}
		shown := fromJSON[shownSession](t, ran(t, "sessions", "show", "first", "--data", data, "--json", "--messages", "2"))
		if len(shown.Messages) != 2 || shown.Messages[0].Text != "我去看看水边的灯。" || shown.Version != uint64(before) || shown.Last == nil {
			t.Errorf("session: %+v", shown)
		}
		if out := ran(t, "sessions", "show", "first", "--data", data); !strings.Contains(out, "陆青云") || !strings.Contains(out, "我去看看水边的灯。") {
			t.Errorf("session:\n%s", out)
		}
		if msg := failed(t, "sessions", "show", "third", "--data", data); !strings.Contains(msg, `"third"`) {
			t.Error(msg)
		}

		all := strings.Split(strings.TrimSpace(ran(t, "events", "cat", "first", "--data", data)), "\n")
		if len(all) != before || !strings.Contains(all[0], "SessionCreated") || !strings.Contains(strings.Join(all, "\n"), "“我去看看水边的灯。”") {
			t.Errorf("events:\n%s", strings.Join(all, "\n"))
		}
		lines := strings.Split(strings.TrimSpace(ran(t, "events", "cat", "first", "--data", data, "--json", "--from", "3")), "\n")
		if len(lines) != before-2 {
			t.Errorf("%d events from version 3, want %d", len(lines), before-2)
		}
		for i, line := range lines {
			e := fromJSON[struct {
				Version                 uint64
				Type, ID                string
				Metadata, Data          map[string]any
				SchemaVersion, Position int
				RecordedAt, Raw, Error  string
			}](t, line)
			if e.Version != uint64(i+3) || e.Type == "" || e.Data == nil || e.Metadata == nil || e.Error != "" || e.RecordedAt == "" {
				t.Errorf("event %d: %s", i, line)
			}
		}
		if msg := failed(t, "events", "cat", "third", "--data", data); !strings.Contains(msg, `"third"`) {
			t.Error(msg)
		}

		worlds := fromJSON[struct {
			Items  []struct{ ID, Name string }
			Errors []worldFailure
		}](t, ran(t, "worlds", "list", "--home", home, "--locale", "zh-CN", "--json"))
		if len(worlds.Items) != 1 || worlds.Items[0].Name != "水落" || worlds.Errors == nil || len(worlds.Errors) != 0 {
			t.Errorf("worlds: %+v", worlds)
		}
		if out := ran(t, "worlds", "list", "--home", home, "--locale", "en"); !strings.Contains(out, "Low Water") {
			t.Errorf("worlds:\n%s", out)
		}

		report := fromJSON[struct {
			OK       bool
			Findings []finding
		}](t, ran(t, "doctor", "--data", data, "--home", home, "--addr", free(t), "--json"))
		if !report.OK || len(report.Findings) < 8 {
			t.Errorf("doctor: %+v", report)
		}
		if got := len(stored(t, data, "first")); got != before {
			t.Errorf("reading appended %d events", got-before)
		}
	}
	t.Run("beside a server", reading)
	if out := ran(t, "doctor", "--data", data, "--home", home); !strings.Contains(out, srv.url) {
		t.Errorf("doctor does not see the server:\n%s", out)
	}
	srv.stop(t)
	t.Run("on a stopped folder", reading)

	// Deleting: on the stopped folder, then beside a server. The read models forget too, and the id is not used again.
	if msg := failed(t, "sessions", "delete", "third", "--data", data); !strings.Contains(msg, `"third"`) {
		t.Error(msg)
	}
	if out := ran(t, "sessions", "delete", "second", "--data", data); !strings.Contains(out, "second") {
		t.Error(out)
	}
	srv = startServer(t, data, bundledGame())
	list, err := srv.api.Sessions(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "first" {
		t.Errorf("the server lists %+v, %v", list, err)
	}
	if msg := failed(t, "sessions", "delete", "third", "--data", data); !strings.Contains(msg, "session_not_found") {
		t.Error(msg)
	}
	ok := fromJSON[struct{ OK bool }](t, ran(t, "sessions", "delete", "first", "--data", data, "--json"))
	if list, err := srv.api.Sessions(t.Context()); err != nil || len(list) != 0 || !ok.OK {
		t.Errorf("the server lists %+v, %v", list, err)
	}
	if out := ran(t, "sessions", "list", "--data", data); strings.Count(out, "\n") != 1 {
		t.Errorf("sessions:\n%s", out)
	}
}

// Rule DEC Fault latch: the operator resumes a plugin that was paused.
func TestResumePlugin(t *testing.T) {
	data := t.TempDir()
	var broken atomic.Bool
	broken.Store(true)
	notes := sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: notes\nkind: core\nversion: 1.0.0\ndescription: Keeps notes.\n" +
			"runtime: { type: function, schedule: { stage: post-turn }, function: { handler: keep } }\n---\n")}},
		Register: func(covel *sdk.Covel) {
			covel.RegisterHandler("keep", func(context.Context, *sdk.Runtime) (sdk.Result, error) {
				if broken.Load() {
					return sdk.Result{}, errors.New("坏了")
				}
				return sdk.Result{Outcome: sdk.Success}, nil
			})
		},
	}
	srv := startServer(t, data, bundledGame(), registry.Bundled("notes", notes))
	table := playing(t, srv.url, "first", "陆青云") // the opening was the first input
	table.do(say("one", "一"))
	if paused := view(t, srv.url, "first").PausedPlugins; len(paused) != 0 {
		t.Errorf("after two inputs %v are paused", paused)
	}
	if msg := failed(t, "sessions", "resume-plugin", "first", "notes", "--data", data); !strings.Contains(msg, "plugin_not_paused") {
		t.Error(msg)
	}
	table.do(say("two", "二"))
	if paused := view(t, srv.url, "first").PausedPlugins; !slices.Equal(paused, []string{"notes"}) {
		t.Fatalf("after three inputs %v are paused", paused)
	}
	broken.Store(false)
	if out := ran(t, "sessions", "resume-plugin", "first", "notes", "--data", data); !strings.Contains(out, "notes runs again in first") {
		t.Error(out)
	}
	if paused := view(t, srv.url, "first").PausedPlugins; len(paused) != 0 {
		t.Errorf("%v are paused still", paused)
	}
	if msg := failed(t, "sessions", "resume-plugin", "third", "notes", "--data", data, "--json"); !strings.Contains(msg, "session_not_found") {
		t.Error(msg)
	}
}

// A folder where nothing was played yet is no riddle, and looking at it makes nothing.
func TestCommandsWithoutALog(t *testing.T) {
	data := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "show", "x"}, {"sessions", "delete", "x"}, {"events", "cat", "x"}} {
		if msg := failed(t, append(args, "--data", data)...); !strings.Contains(msg, data) || !strings.Contains(msg, "no log") {
			t.Errorf("%v: %s", args, msg)
		}
	}
	out := ran(t, "doctor", "--data", data, "--home", data, "--addr", free(t))
	if !strings.Contains(out, "there is none yet") {
		t.Error(out)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}

// What a crash left in the data folder does not lead the commands to a server that is none of theirs.
func TestAStaleAddressIsSeenThrough(t *testing.T) {
	mine, others := t.TempDir(), t.TempDir()
	srv := startServer(t, others, bundledGame())
	playing(t, srv.url, "theirs", "陆青云")
	p := startProgram(t, mine, normal)
	playing(t, p.url, "mine", "Élodie")
	p.kill()
	b, err := os.ReadFile(filepath.Join(mine, addressFile))
	if err != nil {
		t.Fatalf("a killed server leaves its address behind: %v", err)
	}
	stale := fromJSON[address](t, string(b))
	stale.URL = srv.url // another server has taken the port since
	if b, err = json.Marshal(stale); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, addressFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	ran(t, "sessions", "delete", "mine", "--data", mine)
	if v := view(t, srv.url, "theirs"); v.Seq == 0 {
		t.Error("the other server lost its session")
	}
	if out := ran(t, "sessions", "list", "--data", mine); strings.Contains(out, "mine") {
		t.Error(out)
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	data := t.TempDir()
	home := filepath.Join(data, "home")
	srv := startServer(t, data, bundledGame())
	playing(t, srv.url, "first", "陆青云")
	srv.stop(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "worlds", "broken", "world.yaml"), "schemaVersion: \"1.0\"\nid: broken\nname: 7\n")
	write(filepath.Join(home, "plugins", "broken", "PLUGIN.md"), "---\nid: broken\nkind: strange\n---\n")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	damage(t, filepath.Join(data, sqlite.FileName))
	doctor := func(args ...string) map[string][]finding {
		t.Helper()
		out, _, err := run(t, append([]string{"doctor", "--data", data, "--home", home, "--json"}, args...)...)
		if err == nil {
			t.Error("the exit status is 0")
		}
		found := map[string][]finding{}
		for _, f := range fromJSON[struct{ Findings []finding }](t, out).Findings {
			if f.Level == wrong {
				if f.Advice == "" {
					t.Errorf("%s: %s: no advice", f.Check, f.Text)
				}
				found[f.Check] = append(found[f.Check], f)
			}
		}
		return found
	}
	found := doctor("--addr", taken.Addr().String(), "--model", "openai:gpt")
	for check, says := range map[string]string{
		"log": "damaged", "worlds": "world.yaml", "plugins": "PLUGIN.md", "server": taken.Addr().String(), "model": "no key",
	} {
		if len(found[check]) == 0 || !strings.Contains(found[check][0].Text, says) {
			t.Errorf("%s: %+v, want something about %q", check, found[check], says)
		}
	}
	if len(found) != 5 {
		t.Errorf("found %+v", found)
	}
	file := filepath.Join(data, "a-file")
	write(file, "")
	data = file
	if f := doctor("--addr", free(t))["data folder"]; len(f) != 1 {
		t.Errorf("a file as the data folder: %+v", f)
	}
}

// damage changes a byte of a story in a closed log.
func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(string(b), "The rain has stopped")
	if i < 0 {
		t.Fatal("the story does not stand in the file")
	}
	b[i] ^= 0x20
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDoctorCallsTheModelWhenAsked(t *testing.T) {
	data := t.TempDir()
	out := ran(t, "doctor", "--data", data, "--home", data, "--addr", free(t), "--call-model", "--pace", "0")
	if !strings.Contains(out, "answered after") {
		t.Error(out)
	}
	script := filepath.Join(data, "model.txt")
	if err := os.WriteFile(script, []byte("reply\n  fault permanent \"no such model\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := run(t, "doctor", "--data", data, "--home", data, "--addr", free(t), "--call-model", "--model", "scripted:"+script)
	if err == nil || !strings.Contains(out, "no such model") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBenchPrintsFiguresAndTargets(t *testing.T) {
	dir := t.TempDir()
	type figures struct{ Figures []figure }
	met := func(args ...string) (n int) {
		t.Helper()
		for _, f := range fromJSON[figures](t, ran(t, append([]string{"bench"}, args...)...)).Figures {
			if f.Name == "" || f.Value <= 0 {
				t.Errorf("%+v", f)
			}
			if f.Target != "" && f.Met != nil {
				n++
			}
		}
		return n
	}
	if n := met("append", "--dir", dir, "--seconds", "0.3", "--json"); n != 2 {
		t.Errorf("%d targets of appends", n)
	}
	if n := met("turn", "--dir", dir, "--turns", "3", "--json"); n != 3 {
		t.Errorf("%d targets of turns", n)
	}
	for _, want := range []string{"≤ 5 ms", "twelve runtimes over four stages"} {
		if out := ran(t, "bench", "turn", "--dir", dir, "--turns", "2"); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	twelve := fromJSON[figures](t, ran(t, "bench", "turn", "--dir", dir, "--turns", "2", "--json")).Figures
	if !slices.ContainsFunc(twelve, func(f figure) bool { return f.Name == "runtimes per turn" && f.Value == 12 }) {
		t.Errorf("no game with twelve runtimes: %+v", twelve)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, args := range [][]string{{"append", "--seconds", "0"}, {"append", "--bytes", "0"}, {"turn", "--turns", "0"}} {
		failed(t, append([]string{"bench"}, append(args, "--dir", dir)...)...)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const examples = "../../docs/examples"

// runProgram runs the real program to its end.
func runProgram(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(args)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// The sessions that ship as examples are played to their end by the offline storyteller.
func TestExamplesPlay(t *testing.T) {
	for file, speaks := range map[string]string{"first-session.txt": "Low Water", "first-session.zh.txt": "水落"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			out, errs, code := runProgram(t, "", "play", "--script", filepath.Join(examples, file), "--data", data, "--home", data, "--pace", "0")
			if code != 0 || !strings.Contains(out, speaks) || errs != "" {
				t.Fatalf("exit %d: %s\n%s", code, errs, out)
			}
			folds := folded(t, data)
			if len(folds) != 1 || folds[0].Session().CompletedPlayerTurns < 3 || folds[0].Session().Open != nil {
				t.Errorf("%+v", folds)
			}
			if _, err := os.Stat(filepath.Join(data, addressFile)); !os.IsNotExist(err) {
				t.Errorf("the address of a server that is gone: %v", err)
			}
		})
	}
}

func folded(t *testing.T, data string) []*sessionFold {
	t.Helper()
	store, err := readLog(data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	folds, err := foldSessions(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return folds
}

// A script whose turn does not commit, whose input is refused, or whose expectation is not met ends with exit status 1 and
// the line that went wrong.
func TestScriptsThatFail(t *testing.T) {
	for _, c := range []struct{ name, model, script, says string }{
		{"a turn that does not commit", "otherwise bundled\nat-end otherwise\nreply narrator\n  narration Once upon a time.\nreply narrator\n  fault permanent \"out of ink\"\n",
			"form characterName=陆青云\n# the line that fails\nI look around.\nand on\n", "line 3: the turn was not committed: the model failed: out of ink"},
		{"an opening that fails", "otherwise bundled\nreply narrator\n  fault permanent \"out of ink\"\n", "form characterName=陆青云\n", "line 1: the turn was not committed"},
		{"a set-up that fails", "reply\n  fault permanent \"out of ink\"\n", "form characterName=陆青云\n", "could not be started"},
		{"a name that is taken", normal, "form characterName=Old Tull\n", "line 1: not accepted"},
		{"a field that is not there", normal, "form name=陆青云\n", "it has characterName"},
		{"no form", normal, "form characterName=陆青云\nform characterName=Mara\n", "line 2: no form is open"},
		{"a suggestion that is not there", normal, "form characterName=陆青云\nsuggestion 9\n", "line 2: suggestion 9: there are 3"},
		{"a choice that is not there", normal, "form characterName=陆青云\nchoose left\n", "line 2: no open question"},
		{"an expectation", normal, "form characterName=陆青云\nexpect contains \"dragons\"\n", "line 2: expected \"dragons\""},
		{"a script that cannot be read", normal, "suggestion two\n", "line 1: suggestion"},
		{"an unknown world", normal, "world nowhere\nhello\n", "world_not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			model, script := filepath.Join(data, "model.txt"), filepath.Join(data, "script.txt")
			for file, text := range map[string]string{model: c.model, script: c.script} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, code := runProgram(t, "", "play", "--script", script, "--data", data, "--home", data, "--model", "scripted:"+model)
			if code != 1 || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, %q, want 1 and %q\n%s", code, errs, c.says, out)
			}
		})
	}
}

// A session whose model calls were recorded is played again without the model, word for word.
func TestRecordedSessionIsReplayed(t *testing.T) {
	dir := t.TempDir()
	recording := filepath.Join(dir, "录音.jsonl")
	play := func(data string, model ...string) string {
		args := append([]string{"play", "--script", "../../docs/examples/first-session.txt", "--data", filepath.Join(dir, data), "--home", dir}, model...)
		out, errs, code := runProgram(t, "", args...)
		if code != 0 || errs != "" {
			t.Fatalf("exit %d: %s\n%s", code, errs, out)
		}
		return sessionIDs.ReplaceAllString(out, "session ID")
	}
	told := play("first", "--pace", "0", "--record", recording)
	if again := play("second", "--model", "replay:"+recording); again != told {
		t.Errorf("replayed:\n%s\nwas told:\n%s", again, told)
	}
}

var sessionIDs = regexp.MustCompile(`session low-water-\w+`)

// Lines that come through a pipe play like typed ones: the form field by field, suggestions by number, commands.
func TestPlayThroughAPipe(t *testing.T) {
	data := t.TempDir()
	input := "/help\nOld Tull\n陆青云\nI look around. 四处看看。\n2\n9\n/act knock at the door\n/dance\n/retry\n"
	out, errs, code := runProgram(t, input, "play", "--data", data, "--home", data, "--model", "scripted:"+scriptFile(t, normal), "--locale", "en")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s\n%s", code, errs, out)
	}
	for _, says := range []string{
		"Low Water", "/quit", "Who are you?", "Your name (required)", "Not accepted", "> I am 陆青云.", "> I look around. 四处看看。",
		"> Who are you waiting for?", "There is no suggestion 9.", "> knock at the door", "There is no command /dance.", "Not accepted: no line waits", "covel play --session low-water-",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is missing", says)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	folds := folded(t, data)
	if len(folds) != 1 || folds[0].Session().CompletedPlayerTurns != 3 {
		t.Fatalf("%+v", folds)
	}

	// It goes on from there, in the other language, on a server that runs already.
	srv := startServer(t, data, bundledGame())
	out, errs, code = runProgram(t, "再看看。\n/undo\n/redo\n/again\n/undo\n/undo\n/steer 我敲门。\n/quit\nnever\n", "play", "--data", data, "--home", data, "--session", folds[0].id, "--locale", "zh-CN")
	if code != 0 || errs != "" || !strings.Contains(out, "第 3 回合") || !strings.Contains(out, "> 再看看。") || strings.Contains(out, "never") {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
	// Back, forward, another take, twice back, and on from there.
	if got := strings.Count(out, "【故事现在停在这里】"); got != 4 || !strings.Contains(out, "> 我敲门。") || strings.Contains(out, "没有被接受") {
		t.Errorf("the story moved %d times:\n%s", got, out)
	}
	if v := view(t, srv.url, folds[0].id); v.Session.CompletedPlayerTurns != 3 || len(v.Tree.Turns) != 6 {
		t.Errorf("%d turns counted on the running server, %d in the tree:\n%s", v.Session.CompletedPlayerTurns, len(v.Tree.Turns), out)
	}
	out, errs, code = runProgram(t, "1\n/quit\n", "play", "--server", srv.url, "--locale", "en")
	if code != 0 || errs != "" {
		t.Errorf("exit %d: %s\n%s", code, errs, out)
	}
}

// The server is killed in the middle of a page and comes back: the game in the terminal goes on where it was.
func TestPlayAcrossARestart(t *testing.T) {
	data, addr := t.TempDir(), free(t)
	p := startProgramAt(t, addr, data, narratorStalls(1, "  narration The lamp in the\n"))
	playing(t, p.url, "low-water-1", "陆青云").close()
	watch, _ := join(t, p.url, "low-water-1")

	game := command([]string{"play", "--server", p.url, "--session", "low-water-1", "--locale", "en", "--home", data})
	game.Stdin = strings.NewReader("I look for the lamp. 灯呢？\n/retry\n")
	var out bytes.Buffer
	game.Stdout, game.Stderr = &out, &out
	if err := game.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = game.Process.Kill() })
	defer timer.Stop()
	watch.until("the first words", func(m message) bool { return m.is("narrative.delta") })
	p.kill()
	p = startProgramAt(t, addr, data, normal)
	if err := game.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, says := range []string{"The connection dropped", "Connected again", "The turn was interrupted.", "Your line is kept: I look for the lamp. 灯呢？", "The rain has stopped"} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is missing", says)
		}
	}
	if v := view(t, p.url, "low-water-1"); v.Session.CompletedPlayerTurns != 1 || count(lines(v), "I look for the lamp. 灯呢？") != 1 {
		t.Errorf("%d turns, lines %q", v.Session.CompletedPlayerTurns, lines(v))
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func scriptFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A data folder that another program holds without answering is told apart from a running server.
func TestPlayOnALockedFolder(t *testing.T) {
	data := t.TempDir()
	srv := startServer(t, data, bundledGame())
	if err := os.Remove(filepath.Join(srv.data, addressFile)); err != nil {
		t.Fatal(err)
	}
	if msg := failed(t, "play", "--data", data, "--home", data, "--world", "low-water"); !strings.Contains(msg, "--server") {
		t.Error(msg)
	}
}

// The memory store keeps nothing and leaves nothing.
func TestMemoryStore(t *testing.T) {
	data, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ran(t, "play", "--script", filepath.Join(examples, "first-session.txt"), "--store", "memory", "--data", data, "--home", data, "--pace", "0")
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, err := readLog(data); err == nil {
		t.Error("the memory store wrote a log")
	}
}

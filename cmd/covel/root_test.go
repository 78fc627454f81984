package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Everything has help with an example, and every flag says what it is for.
func TestHelpTeaches(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.Short == "" || c.Long == "" && c.Example == "" {
			t.Errorf("%s: short %q, long %q", c.CommandPath(), c.Short, c.Long)
		}
		if len(c.Commands()) == 0 && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root())
	for _, args := range [][]string{{"--help"}, {"play", "--help"}, {"worlds"}, {"sessions"}, {"events"}, {"bench"}} {
		if out := ran(t, args...); !strings.Contains(out, "Usage:") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if out := ran(t, "play", "--help"); !strings.Contains(out, "expect contains") {
		t.Error("the help of play does not describe scripts")
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"dance"}, `unknown command "dance"`},
		{[]string{"serve", "now"}, `"now"`},
		{[]string{"serve", "--colour", "red"}, "--colour"},
		{[]string{"serve", "--addr", "here"}, "HOST:PORT"},
		{[]string{"serve", "--addr", "0.0.0.0:7420"}, "loopback"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--instruction-locale", "zh-TW"}, "--instruction-locale"},
		{[]string{"serve", "--model", "magic"}, "magic"},
		{[]string{"serve", "--model", "scripted:/nowhere.txt"}, "nowhere.txt"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--store", "paper"}, "paper"},
		{[]string{"serve", "--pace", "slow"}, "slow"},
		{[]string{"worlds", "dance"}, `"dance"`},
		{[]string{"worlds", "list", "all"}, `"all"`},
		{[]string{"sessions", "show"}, "one session id"},
		{[]string{"sessions", "show", "a", "b"}, "one session id"},
		{[]string{"sessions", "delete"}, "one session id"},
		{[]string{"sessions", "resume-plugin", "x"}, "a plugin id"},
		{[]string{"sessions", "resume-plugin", "x", "y"}, "no server runs"},
		{[]string{"sessions", "burn", "x"}, `"burn"`},
		{[]string{"events", "cat"}, "one session id"},
		{[]string{"events", "cat", "x", "--from", "-1"}, "--from"},
		{[]string{"bench", "dance"}, `"dance"`},
		{[]string{"play", "--world", "a", "--session", "b"}, "world"},
		{[]string{"play", "--script", "/nowhere.txt"}, "nowhere.txt"},
		{[]string{"play", "--server", "http://127.0.0.1:1"}, "no server answers"},
		{[]string{"doctor", "please"}, `"please"`},
	} {
		data := t.TempDir()
		if msg := failed(t, append(c.args, "--home", data, "--data", data)...); !strings.Contains(msg, c.says) {
			t.Errorf("covel %s: %s, want something about %s", strings.Join(c.args, " "), msg, c.says)
		}
	}
}

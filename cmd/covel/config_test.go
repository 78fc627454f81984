package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// read fills the flags of a command line and gives the value of one.
func read(t *testing.T, flag string, args ...string) (string, error) {
	t.Helper()
	c := root()
	var value string
	for _, sub := range c.Commands() {
		if sub.Name() == "serve" {
			sub.RunE = func(c *cobra.Command, _ []string) error {
				value = c.Flag(flag).Value.String()
				return nil
			}
		}
	}
	c.SetArgs(append([]string{"serve"}, args...))
	err := c.Execute()
	return value, err
}

// A setting comes from the flag, else the environment, else the file, else it has its default.
func TestPrecedence(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("addr: 127.0.0.1:3\nmodel: openai:file\npace: 5ms\nverbose: true\nlocale: zh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag, want string
		env              map[string]string
		args             []string
	}{
		{name: "default", flag: "addr", want: "127.0.0.1:7420", args: []string{"--home", t.TempDir()}},
		{name: "file", flag: "addr", want: "127.0.0.1:3", args: []string{"--home", home}},
		{name: "file found by the environment", flag: "addr", want: "127.0.0.1:3", env: map[string]string{"COVEL_HOME": home}},
		{name: "environment over file", flag: "addr", want: "127.0.0.1:2", env: map[string]string{"COVEL_ADDR": "127.0.0.1:2"}, args: []string{"--home", home}},
		{name: "flag over environment and file", flag: "addr", want: "127.0.0.1:1", env: map[string]string{"COVEL_ADDR": "127.0.0.1:2"}, args: []string{"--home", home, "--addr", "127.0.0.1:1"}},
		{name: "a flag that says the default", flag: "addr", want: "127.0.0.1:7420", env: map[string]string{"COVEL_ADDR": "127.0.0.1:2"}, args: []string{"--addr", "127.0.0.1:7420"}},
		{name: "a duration in the file", flag: "pace", want: "5ms", args: []string{"--home", home}},
		{name: "a truth in the file", flag: "verbose", want: "true", args: []string{"--home", home}},
		{name: "a name with a dash", flag: "instruction-locale", want: "zh", env: map[string]string{"COVEL_INSTRUCTION_LOCALE": "zh"}, args: []string{"--home", home}},
		{name: "an empty variable counts", flag: "model-url", want: "", env: map[string]string{"COVEL_MODEL_URL": ""}, args: []string{"--home", home}},
		{name: "a flag of all commands", flag: "data", want: "elsewhere", env: map[string]string{"COVEL_DATA": "elsewhere"}, args: []string{"--home", home}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			got, err := read(t, c.flag, c.args...)
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ name, file, env, says string }{
		{name: "no YAML", file: "addr: [", says: "config.yaml"},
		{name: "a list", file: "addr: [1]", says: "addr"},
		{name: "no duration", file: "pace: soon", says: "config.yaml: pace"},
		{name: "a bad variable", env: "never", says: "COVEL_PACE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.env != "" {
				t.Setenv("COVEL_PACE", c.env)
			}
			if _, err := read(t, "pace", "--home", home); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want something about %s", err, c.says)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	t.Setenv("HOME", "/nowhere/else")
	for _, c := range []struct {
		args       []string
		home, data string
	}{
		{nil, "/nowhere/else/.covel", "/nowhere/else/.covel/data"},
		{[]string{"--home", "/h"}, "/h", "/h/data"},
		{[]string{"--home", "/h", "--data", "/d"}, "/h", "/d"},
	} {
		r := root()
		if err := r.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if homeDir(r) != c.home || dataDir(r) != c.data {
			t.Errorf("%v: %s, %s", c.args, homeDir(r), dataDir(r))
		}
	}
}

// The store comes from --store, COVEL_STORE and config.yaml like every setting, and from STORE_BACKEND as it was named before.
func TestStoreBackend(t *testing.T) {
	ask := func() string {
		c := root()
		var got string
		for _, sub := range c.Commands() {
			if sub.Name() == "serve" {
				sub.RunE = func(c *cobra.Command, _ []string) error { got = storeBackend(c); return nil }
			}
		}
		c.SetArgs([]string{"serve", "--home", t.TempDir()})
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ask(); got != "sqlite" {
		t.Error(got)
	}
	t.Setenv("STORE_BACKEND", "memory")
	if got := ask(); got != "memory" {
		t.Error(got)
	}
	t.Setenv("COVEL_STORE", "sqlite")
	if got := ask(); got != "sqlite" {
		t.Error(got)
	}
}

// The key of a model comes from the environment only.
func TestModelKey(t *testing.T) {
	c := serveCommand()
	t.Setenv("OPENAI_API_KEY", "one-key")
	cfg, err := modelConfig(c)
	if err != nil || cfg.Slots["story"].Key.Reveal() != "one-key" {
		t.Errorf("%v", err)
	}
	t.Setenv("COVEL_MODEL_KEY", "our-key")
	if cfg, err = modelConfig(c); err != nil || cfg.Slots["story"].Key.Reveal() != "our-key" {
		t.Errorf("%v", err)
	}
}

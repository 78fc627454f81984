package turnscript

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/covel/covel/events/memory"
)

const notes = `
-- plugins/notes/PLUGIN.md --
---
description: Keeps notes.
contributes:
  tools: [ring]
  hooks: [{ event: TurnStart, enforce: normal }]
runtime:
  type: function
  schedule: { stage: post-turn }
  function: { handler: keep }
---
`

// A script that does not hold says where and why, whatever is wrong with it.
func TestWhatAScriptSaysOfItsMistakes(t *testing.T) {
	for name, c := range map[string]struct{ script, where, says string }{
		"unknown command":            {"start\nplay 1", "x.turn:2", `there is no command "play"; the commands are advance, again, allow, crash`},
		"a step without a command":   {"  set a b 1", "x.turn:1", "there is none above it"},
		"unknown thing to do":        {"player dances", "x.turn:1", `a player cannot "dances"; a player can abandon, act, answer`},
		"unknown mark":               {"player at dawn say 走", "x.turn:1", `nothing is marked "dawn"`},
		"unknown thing to show":      {"show moon", "x.turn:1", `there is no "moon" to show; there is data, jobs`},
		"no duration":                {"advance clock soon", "x.turn:1", "write advance clock DURATION"},
		"unknown crash":              {"crash during ExecutionCommitted", "x.turn:1", "write crash, crash before TYPE, crash after TYPE"},
		"a crash at no event":        {"crash before Breakfast", "x.turn:1", `there is no event "Breakfast"`},
		"a crash that never comes":   {"crash before JobQueued\nstart", "x.turn:2", "no JobQueued ever came"},
		"unknown fault":              {"store sleeps", "x.turn:1", "write store fails|loses acknowledgement"},
		"a fault at no event":        {"store fails at Breakfast", "x.turn:1", `there is no event "Breakfast"`},
		"a fault that never comes":   {"store fails at JobQueued\nstart", "x.turn:2", "the store never came to this: fails JobQueued"},
		"unknown restart":            {"restart slowly", "x.turn:1", "write restart, restart gracefully"},
		"unknown version":            {"install v2", "x.turn:1", "-- v2/plugins/… --"},
		"unknown credentials":        {"credentials story lost", "x.turn:1", "write credentials SLOT missing|present"},
		"unknown allowance":          {"allow moons=3", "x.turn:1", "write allow [session] ALLOWANCE=N"},
		"together with something":    {"together\n  start", "x.turn:2", "one player command per indented line"},
		"unknown function":           {"function 无人\n  done", "x.turn:1", "have no function 无人; they have function notes, hook notes TurnStart, tool ring"},
		"unknown step":               {"function notes\n  set log bell 1\n  sing", "x.turn:3", `a function has no step "sing"; its steps are actions, activation, ask`},
		"a step of another role":     {"hook notes TurnStart\n  set log bell 1", "x.turn:2", `a hook has no step "set"; its steps are abort, error`},
		"no JSON":                    {"function notes\n  set log bell {", "x.turn:2", "that is no JSON; write set NAMESPACE KEY JSON"},
		"a step with too little":     {"function notes\n  read log", "x.turn:2", "something is missing; write read NAMESPACE KEY"},
		"a step with too much":       {"function notes\n  done now", "x.turn:2", `it takes nothing, got "now"`},
		"no wait":                    {"tool ring\n  wait long", "x.turn:2", "write wait DURATION"},
		"unknown step of a model":    {"model teller\n  sing", "x.turn:1", `"sing" is no directive`},
		"nobody's gate":              {"pass mid", "x.turn:1", `nobody has the gate "mid"`},
		"nobody called it":           {"start\nfunction notes\n  done\n", "x.turn:2", "function notes was never called for this"},
		"nobody asked the model":     {"model teller\n  narration 灯。\n", "x.turn:1", "model teller was never called for this"},
		"nothing to answer":          {"start\nplayer answer {}", "x.turn:2", "no question is open"},
		"nothing suspended":          {"start\nplayer tell notes 1", "x.turn:2", `"notes" has suspended nothing`},
		"no job":                     {"start\nplayer cancel-job notes", "x.turn:2", `"notes" has no job`},
		"nobody said it":             {"start\nplayer goto 走", "x.turn:2", `nobody said "走"`},
		"nothing to repeat":          {"again", "x.turn:1", "nobody has sent anything yet"},
		"an expectation":             {"start\nexpect\n  ExecutionStarted\n  月亮升起", "x.turn:4", `nothing says "月亮升起"`},
		"an expectation in order":    {"start\nexpect\n  ExecutionCommitted\n  ExecutionStarted", "x.turn:4", `nothing says "ExecutionStarted"`},
		"an expectation of nothing":  {"start\nexpect", "x.turn:2", "write expect WORDS"},
		"an expectation of no thing": {"start\nexpect no ExecutionStarted", "x.turn:2", "but there is: ExecutionStarted"},
		"a file that is no plugin":   {"start\n-- notes.md --\nhello", "x.turn:0", "write plugins/<id>/<file>"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parse("x.turn", []byte(c.script+"\n"+notes))
			if err == nil {
				synctest.Test(t, func(t *testing.T) { _, err = newStage(t, s, memory.New(memory.Options{})).play() })
			}
			if err == nil {
				t.Fatal("it played")
			}
			if !strings.HasPrefix(err.Error(), c.where+": ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %s", err)
			}
		})
	}
}

// The page about the language names everything that can be written.
func TestThePageIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/turn-scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	named := func(what, word string) {
		if !strings.Contains(text, "`"+word+"`") && !strings.Contains(text, "`"+word+" ") {
			t.Errorf("docs/turn-scripts.md does not name the %s %q", what, word)
		}
	}
	for name := range verbs {
		named("command", name)
	}
	for name := range acts {
		named("player's", name)
	}
	for name := range steps {
		named("step", name)
	}
	for name := range sights {
		named("sight", name)
	}
}

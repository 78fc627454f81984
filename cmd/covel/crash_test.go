package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/gateway/play"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// The real program is killed with SIGKILL (fault case BL-12) at chosen points of a player's turn and of the set-up, three
// times in a row on one data folder. Each restart must find the player's line in the log once, no half commit, no turn left
// open, a session that can be played, and right counts.

const rounds = 3

// narratorStalls is a model whose narrator tells good pages and then falls silent, saying first.
func narratorStalls(good int, first string) string {
	var b strings.Builder
	b.WriteString("otherwise bundled\n")
	for range good {
		b.WriteString("reply narrator\n  narration A quiet page. 灯亮着。\n")
	}
	b.WriteString("reply narrator\n" + first + "  stall\n")
	return b.String()
}

// guideStalls is a model whose guide falls silent after some good pages.
func guideStalls(good int) string {
	var b strings.Builder
	b.WriteString("otherwise bundled\n")
	for range good {
		b.WriteString(`reply guide
  tool generate-guide {"scene":"A lane","recap":"It rained.","decision":"What now?","suggestions":[{"type":"ask","text":"Who is there now?"},{"type":"act","text":"I open the door."},{"type":"observe","text":"I look at the lamp."}]}
`)
	}
	b.WriteString("reply guide\n  stall\n")
	return b.String()
}

const normal = "otherwise bundled\n"

// crash is one point at which the program dies.
type crash struct {
	name string
	// model of a process whose first pages are to be good.
	model func(good int) string
	// reached says that the point has come and the test kills the program; nil when the program kills itself.
	reached func(message) bool
	// at is where the program kills itself: before|after:TYPE, at the append of that type that belongs to the crash.
	at string
	// kept: the turn was committed before the crash.
	kept bool
}

func always(script string) func(int) string { return func(int) string { return script } }

var turnCrashes = []crash{
	{name: "after the input was stored", model: always(normal), at: "after:ActionsSubmitted"},
	{name: "after the input was accepted", model: func(good int) string { return narratorStalls(good, "") }, reached: func(m message) bool { return m.Type == "ack" && m.Status == "accepted" }},
	{name: "in mid-stream", model: func(good int) string { return narratorStalls(good, "  narration The lamp in the\n") }, reached: func(m message) bool { return m.is("narrative.delta") }},
	{name: "between stages", model: guideStalls, reached: func(m message) bool {
		return m.is("runtime.started") && strings.Contains(string(m.Event.Payload), `"stage":"post-turn"`)
	}},
	{name: "just before the commit", model: always(normal), at: "before:ExecutionCommitted"},
	{name: "just after the commit", model: always(normal), at: "after:ExecutionCommitted", kept: true},
}

func TestKilledInAPlayersTurn(t *testing.T) {
	for _, point := range turnCrashes {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			const id = "low-water-1"
			turns := 0
			var said []string
			var last string // the line that the crash took
			for round := range rounds + 1 {
				// Appends of this kind that come before the one that kills: those of the set-up in the first process, and
				// of the retry in the others.
				before := map[string]int{"ActionsSubmitted": 2, "ExecutionCommitted": 3}
				if round > 0 {
					before = map[string]int{"ActionsSubmitted": 1, "ExecutionCommitted": 1}
					if point.kept {
						before["ExecutionCommitted"] = 0
					}
				}
				var env []string
				script := point.model(1)
				if round == rounds {
					script = normal
				} else if point.at != "" {
					_, typ, _ := strings.Cut(point.at, ":")
					env = append(env, fmt.Sprintf("%s=%s:%d", killAt, point.at, before[typ]+1))
				}
				p := startProgram(t, data, script, env...)
				var s *socket
				if round == 0 {
					s = playing(t, p.url, id, "陆青云")
				} else {
					turns++
					s = recovered(t, p, data, id, last, point.kept, kernel.RetryTurn, turns)
				}
				said = append(said, fmt.Sprintf("I wait for the %d. time. 我等着。", round+1))
				last = said[len(said)-1]
				if round == rounds {
					s.do(say("line-4", last))
					v := view(t, p.url, id)
					if got := lines(v)[1:]; !slices.Equal(got, said) { // the first is the answer to the form
						t.Errorf("lines in the history: %q, want %q", got, said)
					}
					if v.Session.CompletedPlayerTurns != rounds+1 {
						t.Errorf("%d turns, want %d", v.Session.CompletedPlayerTurns, rounds+1)
					}
					break
				}
				s.send(say(fmt.Sprintf("line-%d", round), last))
				die(p, s, point)
			}
		})
	}
}

// setupCrash is a crash in the request that answers the form: the set-up's commit and then the opening.
type setupCrash struct {
	crash
	skip    int // commits of the request before the one that counts
	commits int // commits that the recovery makes
}

var setupCrashes = []setupCrash{
	{crash: crash{name: "after the answer was stored", model: always(normal), at: "after:ActionsSubmitted"}, commits: 2},
	{crash: crash{name: "just before the commit of the set-up", model: always(normal), at: "before:ExecutionCommitted"}, commits: 2},
	{crash: crash{name: "just after the commit of the set-up", model: always(normal), at: "after:ExecutionCommitted"}, commits: 1},
	{crash: crash{name: "in mid-stream of the opening", model: turnCrashes[2].model, reached: turnCrashes[2].reached}, commits: 1},
	{crash: crash{name: "between stages of the opening", model: guideStalls, reached: turnCrashes[3].reached}, commits: 1},
	{crash: crash{name: "just before the commit of the opening", model: always(normal), at: "before:ExecutionCommitted"}, skip: 1, commits: 1},
	{crash: crash{name: "just after the commit of the opening", model: always(normal), at: "after:ExecutionCommitted", kept: true}, skip: 1},
}

func TestKilledInTheSetUp(t *testing.T) {
	for _, point := range setupCrashes {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			id := func(round int) string { return fmt.Sprintf("low-water-%d", round) }
			name := func(round int) string { return fmt.Sprintf("陆青云 %d", round) }
			for round := range rounds + 1 {
				good := min(round, 1) // the recovery tells one opening; the commits and inputs before the crash:
				before := map[string]int{"ActionsSubmitted": 1, "ExecutionCommitted": 1 + point.skip}
				if round > 0 && !point.kept {
					before["ActionsSubmitted"]++
					before["ExecutionCommitted"] += point.commits
				}
				if point.kept {
					good = 0
				}
				var env []string
				script := point.model(good)
				if round == rounds {
					script = normal
				} else if point.at != "" {
					_, typ, _ := strings.Cut(point.at, ":")
					env = append(env, fmt.Sprintf("%s=%s:%d", killAt, point.at, before[typ]+1))
				}
				p := startProgram(t, data, script, env...)
				if round > 0 {
					s := recovered(t, p, data, id(round-1), "I am "+name(round-1)+".", point.kept, kernel.StartSession, 0)
					v := view(t, p.url, id(round-1))
					if v.Session.Phase != projections.PhasePlaying || len(v.Characters) == 0 {
						t.Fatalf("round %d: %+v", round, v.Session)
					}
					if n := slices.IndexFunc(v.Characters, func(c play.Character) bool { return c.Name == name(round-1) }); n < 0 {
						t.Errorf("round %d: the player's character is missing", round)
					}
					if round == rounds {
						s.do(say("line", "I look around. 四处看看。"))
						if v := view(t, p.url, id(round-1)); v.Session.CompletedPlayerTurns != 1 {
							t.Errorf("%d turns after the first line", v.Session.CompletedPlayerTurns)
						}
						break
					}
					s.close()
				}
				s := open(t, p.url, id(round))
				s.send(answer(t, "form", view(t, p.url, id(round)), map[string]any{"characterName": name(round)}))
				die(p, s, point.crash)
			}
		})
	}
}

// die waits for the point, kills the program if it does not do so itself, and waits until it is gone.
func die(p *program, s *socket, point crash) {
	p.t.Helper()
	if point.reached != nil {
		s.until(point.name, point.reached)
		p.kill()
	} else {
		p.gone()
	}
	if p.cmd.ProcessState.Success() || strings.Contains(p.stderr.String(), "panic") {
		p.t.Fatalf("the program ended by itself: %s %s", p.cmd.ProcessState, p.stderr.String())
	}
	s.close()
}

// recovered looks at a session after a restart, before anybody has asked for it, then sends what starts the work again and
// gives a socket of the session, which now has so many turns.
func recovered(t *testing.T, p *program, data, id, line string, kept bool, retry string, turns int) *socket {
	t.Helper()
	state := closed(t, data, id) // the due scan closes what the dead process left open
	log := stored(t, data, id)
	checkWhole(t, log)
	if n := submissions(t, log, line); n != 1 {
		t.Errorf("%q stands in the log %d times", line, n)
	}
	v := view(t, p.url, id)
	inHistory := 0
	for _, l := range lines(v) {
		if l == line {
			inHistory++
		}
	}
	s, _ := join(t, p.url, id)
	if kept {
		if inHistory != 1 || v.Execution.State != "completed" {
			t.Errorf("the committed line stands in the history %d times; execution %+v", inHistory, v.Execution)
		}
		s.send(map[string]any{"type": retry, "requestId": fmt.Sprintf("again-%d", state.Version), "payload": map[string]any{}})
		if m := s.next(); m.Type != "error" || m.Code != "nothing_to_retry" && m.Code != "already_started" {
			t.Errorf("a retry of a committed turn: %+v", m)
		}
	} else {
		x := v.Execution
		if x.State != "interrupted" || x.Retry == nil || x.Retry.Type != retry {
			t.Errorf("execution after the restart: %+v, retry %+v", x, x.Retry)
		}
		setupDone := v.Session.Phase == projections.PhasePlaying && retry == kernel.StartSession
		switch { // the answer of a set-up that was committed is history already; any other line is kept as a draft
		case setupDone && inHistory != 1, !setupDone && inHistory != 0:
			t.Errorf("%q stands in the history %d times before it committed", line, inHistory)
		case !setupDone && (x.Input == nil || x.Input.Text != line):
			t.Errorf("the line is not kept: %+v", x.Input)
		}
		all := s.do(map[string]any{"type": retry, "requestId": fmt.Sprintf("again-%d", state.Version), "payload": map[string]any{}})
		if len(all) == 0 {
			t.Error("nothing happened")
		}
	}
	v = view(t, p.url, id)
	if n := count(lines(v), line); n != 1 {
		t.Errorf("%q stands in the history %d times", line, n)
	}
	if n := submissions(t, stored(t, data, id), line); n != 1 {
		t.Errorf("%q stands in the log %d times after the retry", line, n)
	}
	if v.Session.CompletedPlayerTurns != uint32(turns) || v.Execution.State != "completed" {
		t.Errorf("%d turns, want %d; execution %+v", v.Session.CompletedPlayerTurns, turns, v.Execution)
	}
	checkWhole(t, stored(t, data, id))
	return s
}

func count(list []string, x string) (n int) {
	for _, y := range list {
		if x == y {
			n++
		}
	}
	return n
}

// submissions counts how often a line was stored as input.
func submissions(t *testing.T, log []events.Recorded, line string) (n int) {
	t.Helper()
	for _, r := range log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := msg.(*eventsv1.ActionsSubmitted); ok && in.Rendered == line {
			n++
		}
	}
	return n
}

// checkWhole checks that every execution has one end, and that path events stand only beside a commit: no half commit.
func checkWhole(t *testing.T, log []events.Recorded) {
	t.Helper()
	started, ends, path := map[string]bool{}, map[string]string{}, map[string]int{}
	for _, r := range log {
		x := r.Metadata.GetCausationId()
		if x == "" {
			continue
		}
		switch r.Type {
		case "ExecutionStarted":
			started[x] = true
		case "ExecutionCommitted", "ExecutionFailed", "ExecutionAborted":
			if ends[x] != "" {
				t.Errorf("execution %s ended twice: %s and %s", x, ends[x], r.Type)
			}
			ends[x] = r.Type
		default:
			if e, _ := events.Lookup(r.Type); e.Effect == events.OnCommit {
				path[x]++
			}
		}
	}
	for x := range started {
		if ends[x] == "" {
			t.Errorf("execution %s has no end", x)
		}
	}
	for x, n := range path {
		if ends[x] != "ExecutionCommitted" {
			t.Errorf("%d events of execution %s, which ended as %q", n, x, ends[x])
		}
	}
}

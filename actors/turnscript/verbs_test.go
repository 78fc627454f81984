package turnscript

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// verbs are the commands of a script.
var verbs map[string]func(*stage, line)

func init() {
	verbs = map[string]func(*stage, line){
		"start":    func(st *stage, _ line) { st.send(kernel.Command{Type: kernel.StartSession}) },
		"player":   player,
		"model":    func(st *stage, l line) { st.must(st.cast.reply(l.rest, l.block)) },
		"pass":     func(st *stage, l line) { st.must(st.cast.pass(l.rest)) },
		"function": func(st *stage, l line) { st.cast.part("function "+l.rest, l.block) },
		"guard":    func(st *stage, l line) { st.cast.part("guard "+l.rest, l.block) },
		"tool":     func(st *stage, l line) { st.cast.part("tool "+l.rest, l.block) },
		"advance":  advance,
		"crash":    crash,
		"restart":  restart,
		"store":    storeFault,
		"expect":   expect,
		"show":     show,
	}
}

func (st *stage) must(err error) {
	if err != nil {
		st.fail("%v", err)
	}
}

// player is what a player does: say, act, answer, stop, retry, pause, resume-session, end.
func player(st *stage, l line) {
	what, rest, _ := strings.Cut(l.rest, " ")
	switch what {
	case "say", "act", "command":
		st.send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: what, Text: rest}}})
	case "answer":
		open := st.state().Interactions.Open("")
		if len(open) == 0 {
			st.fail("no question is open")
		}
		q := open[len(open)-1].InteractionRef
		st.send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Interaction: &q, Fields: projections.RawJSON(rest)}}})
	case "stop":
		a, err := st.node.Stop(context.Background(), sessionID)
		st.must(err)
		st.script.answer(a)
	case "retry":
		st.send(kernel.Command{Type: kernel.RetryTurn})
	case "undo":
		st.send(kernel.Command{Type: kernel.MoveHead})
	case "regenerate":
		st.send(kernel.Command{Type: kernel.Regenerate})
	case "goto": // the turn whose line it was
		st.send(kernel.Command{Type: kernel.MoveHead, TurnID: st.turnOf(rest)})
	case "name":
		line, name, _ := strings.Cut(rest, " ")
		st.send(kernel.Command{Type: kernel.NameTurn, TurnID: st.turnOf(line), Text: name})
	case "revise": // the newest page
		state := st.state()
		st.send(kernel.Command{Type: kernel.ReviseMessage, MessageID: state.History.At(state.History.Len() - 1).ID, Text: rest})
	case "pause", "resume", "end":
		a, err := st.node.ChangeStatus(context.Background(), sessionID, kernel.ChangeKind(what))
		st.must(err)
		st.script.answer(a)
	case "retry-setup", "waive-setup":
		kind := map[string]kernel.ChangeKind{"retry-setup": kernel.SetupRetry, "waive-setup": kernel.SetupWaive}[what]
		a, err := st.node.DecideSetup(context.Background(), sessionID, rest, kind)
		st.must(err)
		st.script.answer(a)
	default:
		st.fail("the player cannot %q", what)
	}
}

// turnOf gives the newest turn that was begun with a line, wherever it stands in the tree.
func (st *stage) turnOf(line string) (id string) {
	for r, err := range st.store.ReadStream(context.Background(), kernel.StreamOf(sessionID), 1) {
		st.must(err)
		msg, err := events.Decode(r.Event)
		st.must(err)
		if m, ok := msg.(*eventsv1.ActionsSubmitted); ok && m.Rendered == line {
			id = m.ExecutionId
		}
	}
	if id == "" {
		st.fail("nobody said %q", line)
	}
	return id
}

func advance(st *stage, l line) {
	d, err := time.ParseDuration(strings.TrimPrefix(l.rest, "clock "))
	st.must(err)
	time.Sleep(d)
}

// crash takes the node away now, or at an append: "crash before ExecutionCommitted", "crash after ActionsSubmitted".
func crash(st *stage, l line) {
	when, typ, armed := strings.Cut(l.rest, " ")
	if !armed {
		st.crash()
		return
	}
	hit := func(evs []events.Event) bool {
		return slices.ContainsFunc(evs, func(e events.Event) bool { return e.Type == typ })
	}
	st.store.mu.Lock()
	defer st.store.mu.Unlock()
	switch when {
	case "before":
		st.store.before = hit
	case "after":
		st.store.after = hit
	default:
		st.fail("crash, crash before TYPE, crash after TYPE")
	}
}

// restart starts a new node on the same store and looks at the session, which closes nothing by itself.
func restart(st *stage, l line) {
	if l.rest == "gracefully" {
		st.close()
	} else {
		st.crash()
	}
	st.open()
	_ = st.state()
}

// storeFault: "store loses acknowledgement" of the next append.
func storeFault(st *stage, l line) {
	if l.rest != "loses acknowledgement" {
		st.fail("the store can only lose an acknowledgement")
	}
	st.store.mu.Lock()
	defer st.store.mu.Unlock()
	st.store.lose = true
}

// expect holds the newest events, answers and notes against lines: each line's words must stand in one of them, in the
// order of the lines. "expect no WORDS": none has them.
func expect(st *stage, l line) {
	if words, none := strings.CutPrefix(l.rest, "no "); none {
		for _, line := range st.newest {
			if containsAll(line, words) {
				st.fail("but there is: %s", line)
			}
		}
		return
	}
	wanted := l.block
	if l.rest != "" {
		wanted = append([]string{l.rest}, wanted...)
	}
	rest := append(slices.Clone(st.script.heard), st.newest...)
	for _, w := range wanted {
		at := slices.IndexFunc(rest, func(line string) bool { return containsAll(line, w) })
		if at < 0 {
			st.fail("nothing says %q", w)
		}
		rest = rest[at+1:]
	}
}

func containsAll(line, words string) bool {
	for _, w := range strings.Fields(words) {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// show writes a part of the state into the transcript: "show request teller", "show session", "show data notes log".
func show(st *stage, l line) {
	what, rest, _ := strings.Cut(l.rest, " ")
	switch what {
	case "request":
		st.cast.mu.Lock()
		defer st.cast.mu.Unlock()
		all := st.cast.requests[rest]
		if len(all) == 0 {
			st.script.note("%s asked nothing", rest)
			return
		}
		for _, m := range all[len(all)-1].Messages {
			if m.Role != model.System {
				st.script.note("%s: %s", m.Role, strings.ReplaceAll(m.Content, "\n", " / "))
			}
		}
	case "requests":
		st.cast.mu.Lock()
		defer st.cast.mu.Unlock()
		st.script.note("%s asked %d times", rest, len(st.cast.requests[rest]))
	case "session":
		s := st.state().Session
		st.script.note("%s, %s, %d player turns counted", s.Status, s.Phase, s.CompletedPlayerTurns)
		for _, su := range s.Setup {
			st.script.note("setup %s: %s, attempt %d %s %s", su.RuntimeID, su.Status, su.Attempts, su.Reason, su.LastError)
		}
		if s.Draft != nil {
			st.script.note("draft: %s", s.Draft.Rendered)
		}
	case "story":
		for _, m := range st.state().History.Tail(1000) {
			st.script.note("%s: %s", m.Role, strings.ReplaceAll(m.Shown(), "\n", " / "))
		}
	case "tree":
		tree := st.state().Tree
		for _, x := range tree.Turns {
			mark := ""
			if slices.ContainsFunc(tree.OnPath(), func(y projections.Take) bool { return y.TurnID == x.TurnID }) {
				mark = " on the path"
			}
			st.script.note("turn %s, one of %d takes, after %s%s %s", x.TurnID, len(tree.Takes(x.TurnID)), orNothing(x.Before), mark, x.Name)
		}
	case "data":
		plugin, ns, _ := strings.Cut(rest, " ")
		for _, r := range st.state().PluginData.List(plugin, ns) {
			st.script.note("%s %s/%s = %s (revision %s)", plugin, r.Namespace, r.Key, r.Value, strconv.FormatUint(r.Revision, 10))
		}
	default:
		st.fail("cannot show %q", what)
	}
}

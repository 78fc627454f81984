package turnscript

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func start(st *stage, _ line) { st.send(kernel.Command{Type: kernel.StartSession}) }

// again sends the newest command once more, with the same request id: what a client does that heard nothing.
func again(st *stage, _ line) {
	if st.last == nil {
		st.fail("nobody has sent anything yet")
	}
	st.send(*st.last)
}

// together sends commands from several connections at once: nothing settles between them.
func together(st *stage, l line) {
	st.story.atOnce()
	for _, s := range l.block {
		rest, ok := strings.CutPrefix(s.text, "player ")
		if !ok {
			st.at.number = s.number
			st.badly()
		}
		player(st, line{number: s.number, verb: "player", rest: rest})
	}
	st.settle()
	st.story.inOrder()
}

// acts are what a player can do. rest is what follows the word.
var acts map[string]func(st *stage, cmd kernel.Command, rest string)

func init() {
	speak := func(kind string) func(*stage, kernel.Command, string) {
		return func(st *stage, cmd kernel.Command, rest string) {
			cmd.Type, cmd.Actions = kernel.SubmitActions, []projections.Action{{Kind: kind, Text: rest}}
			st.send(cmd)
		}
	}
	status := func(kind kernel.ChangeKind) func(*stage, kernel.Command, string) {
		return func(st *stage, _ kernel.Command, _ string) {
			st.answer(st.node().ChangeStatus(context.Background(), sessionID, kind))
		}
	}
	setup := func(kind kernel.ChangeKind) func(*stage, kernel.Command, string) {
		return func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().DecideSetup(context.Background(), sessionID, rest, kind))
		}
	}
	job := func(kind kernel.ChangeKind) func(*stage, kernel.Command, string) {
		return func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().ChangeJob(context.Background(), sessionID, st.jobOf(rest).ID, kind))
		}
	}
	acts = map[string]func(*stage, kernel.Command, string){
		"say": speak("say"), "act": speak("act"), "command": speak("command"),
		"use": func(st *stage, cmd kernel.Command, rest string) { // a plugin's kind of action: text, or fields as JSON
			kind, what, _ := strings.Cut(rest, " ")
			a := projections.Action{Kind: kind, Text: what}
			if strings.HasPrefix(what, "{") {
				a.Text, a.Fields = "", st.json(what)
			}
			cmd.Type, cmd.Actions = kernel.SubmitActions, []projections.Action{a}
			st.send(cmd)
		},
		"interject": func(st *stage, cmd kernel.Command, rest string) {
			cmd.Type, cmd.Actions = kernel.Interject, []projections.Action{{Kind: "say", Text: rest}}
			st.send(cmd)
		},
		"seat": changeSeat,
		"settings": func(st *stage, _ kernel.Command, rest string) {
			var c kernel.SettingsChange
			st.into(rest, &c)
			st.answer(st.node().ChangeSettings(context.Background(), sessionID, c))
		},
		"answer": answerForm,
		"stop": func(st *stage, _ kernel.Command, _ string) {
			st.answer(st.node().Stop(context.Background(), sessionID))
		},
		"retry":      func(st *stage, cmd kernel.Command, _ string) { cmd.Type = kernel.RetryTurn; st.send(cmd) },
		"undo":       func(st *stage, cmd kernel.Command, _ string) { cmd.Type = kernel.MoveHead; st.send(cmd) },
		"regenerate": func(st *stage, cmd kernel.Command, _ string) { cmd.Type = kernel.Regenerate; st.send(cmd) },
		"goto": func(st *stage, cmd kernel.Command, rest string) { // the turn whose line it was
			cmd.Type, cmd.TurnID = kernel.MoveHead, st.turnOf(rest)
			st.send(cmd)
		},
		"name": func(st *stage, cmd kernel.Command, rest string) {
			line, name, _ := strings.Cut(rest, " ")
			cmd.Type, cmd.TurnID, cmd.Text = kernel.NameTurn, st.turnOf(line), name
			st.send(cmd)
		},
		"revise": func(st *stage, cmd kernel.Command, rest string) { // the newest page
			state := st.state()
			cmd.Type, cmd.MessageID, cmd.Text = kernel.ReviseMessage, state.History.At(state.History.Len()-1).ID, rest
			st.send(cmd)
		},
		"pause": status(kernel.Pause), "resume": status(kernel.Resume), "end": status(kernel.End),
		"close-gathering": func(st *stage, _ kernel.Command, _ string) {
			st.answer(st.node().ChangeGathering(context.Background(), sessionID, kernel.CloseGathering, ""))
		},
		"withdraw": func(st *stage, cmd kernel.Command, _ string) {
			st.answer(st.node().ChangeGathering(context.Background(), sessionID, kernel.WithdrawSubmission, cmd.SeatID))
		},
		"enable": func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().EnablePlugin(context.Background(), sessionID, rest))
		},
		"disable": func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().DisablePlugin(context.Background(), sessionID, rest))
		},
		"resume-plugin": func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().ResumePlugin(context.Background(), sessionID, rest))
		},
		"retry-setup": setup(kernel.SetupRetry), "waive-setup": setup(kernel.SetupWaive),
		"run": func(st *stage, cmd kernel.Command, rest string) {
			id, payload, _ := strings.Cut(rest, " ")
			cmd.Type, cmd.Targets = kernel.RunRuntimes, []projections.Target{{RuntimeID: id, Payload: st.json(payload)}}
			st.send(cmd)
		},
		"rerun": func(st *stage, cmd kernel.Command, rest string) {
			cmd.Type, cmd.SourceTurnID = kernel.RunRuntimes, st.state().Session.Last.ID
			ids, line, of := strings.Cut(rest, " of ")
			if of {
				cmd.SourceTurnID = st.turnOf(line)
			}
			for _, id := range strings.Fields(ids) {
				cmd.Targets = append(cmd.Targets, projections.Target{RuntimeID: id})
			}
			st.send(cmd)
		},
		"cancel-job": job(kernel.CancelJobChange), "retry-job": job(kernel.RetryJobChange),
		"tell": func(st *stage, cmd kernel.Command, rest string) {
			id, data, _ := strings.Cut(rest, " ")
			cmd.Type, cmd.SuspensionID, cmd.Answer = kernel.ResumeSuspension, st.suspensionOf(id), st.json(data)
			st.send(cmd)
		},
		"abandon": func(st *stage, _ kernel.Command, rest string) {
			st.answer(st.node().AbandonSuspension(context.Background(), sessionID, st.suspensionOf(rest)))
		},
	}
}

func player(st *stage, l line) {
	var cmd kernel.Command
	rest := l.rest
	for {
		word, after, _ := strings.Cut(rest, " ")
		value, following, _ := strings.Cut(after, " ")
		switch word {
		case "as":
			cmd.SeatID = value
		case "id":
			cmd.RequestID = value
		case "at":
			v, ok := st.marks[value]
			if !ok {
				st.fail("nothing is marked %q", value)
			}
			cmd.Base = &v
		default:
			act, ok := acts[word]
			if !ok {
				st.fail("a player cannot %q; a player can %s", word, strings.Join(sortedKeys(acts), ", "))
			}
			act(st, cmd, after)
			return
		}
		rest = following
	}
}

// elsewhere appends an event behind the node's back, as another writer of the log does: "elsewhere SeatChanged {…}".
func elsewhere(st *stage, l line) {
	typ, body, _ := strings.Cut(l.rest, " ")
	entry, ok := events.Lookup(typ)
	if !ok {
		st.fail("there is no event %q", typ)
	}
	msg := entry.New()
	if err := protojson.Unmarshal([]byte(body), msg); err != nil {
		st.badly()
	}
	at, err := st.disk.StreamVersion(context.Background(), kernel.StreamOf(sessionID))
	st.must(err)
	ev, err := events.Encode(events.NewID(kernel.StreamOf(sessionID), "elsewhere", int(at), 0), &eventsv1.Metadata{AppendEnd: uint64(at) + 1}, msg)
	st.must(err)
	_, err = st.disk.Append(context.Background(), kernel.StreamOf(sessionID), at, []events.Event{ev})
	st.must(err)
}

func (st *stage) answer(a kernel.Answer, err error) {
	st.must(err)
	st.heard(st.story.answerer())(a)
}

func (st *stage) json(text string) projections.RawJSON {
	if text != "" && !json.Valid([]byte(text)) {
		st.fail("%s is no JSON", text)
	}
	return projections.RawJSON(text)
}

// into reads JSON whose names are those of the fields; one that does not exist is a mistake of the script.
func (st *stage) into(text string, v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		st.fail("%s: %v", text, err)
	}
}

// changeSeat is what an owner, or somebody with an invite, does at the table: "seat OP SEAT JSON". The script knows no invites
// and tokens: those of a seat are made of its name.
func changeSeat(st *stage, _ kernel.Command, rest string) {
	op, rest, _ := strings.Cut(rest, " ")
	seat, edit, _ := strings.Cut(rest, " ")
	ops := []kernel.SeatOp{kernel.SeatAdd, kernel.SeatEdited, kernel.SeatInvite, kernel.SeatFree, kernel.SeatRemove, kernel.SeatTake}
	c := kernel.SeatChange{Op: kernel.SeatOp(op), SeatID: seat, Invite: hashed("invite " + seat), Token: hashed("token " + seat)}
	if !slices.Contains(ops, c.Op) || seat == "" {
		st.fail("write player seat add|edit|invite|free|remove|take SEAT [JSON]")
	}
	if edit != "" {
		st.into(edit, &c.Edit)
	}
	st.answer(st.node().ChangeSeat(context.Background(), sessionID, c))
}

func hashed(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func answerForm(st *stage, cmd kernel.Command, rest string) {
	open := st.state().Interactions.Open("")
	if len(open) == 0 {
		st.fail("no question is open")
	}
	q := open[len(open)-1].InteractionRef
	cmd.Type, cmd.Actions = kernel.SubmitActions, []projections.Action{{Interaction: &q, Fields: st.json(rest)}}
	st.send(cmd)
}

// turnOf gives the newest turn that was begun with a line, wherever it stands in the tree.
func (st *stage) turnOf(line string) (id string) {
	for r, err := range st.disk.ReadStream(context.Background(), kernel.StreamOf(sessionID), 1) {
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

// jobOf gives the newest job of a runtime.
func (st *stage) jobOf(runtime string) projections.Job {
	jobs := st.state().Jobs
	for _, j := range slices.Backward(jobs) {
		if j.RuntimeID == runtime {
			return *j
		}
	}
	st.fail("%q has no job", runtime)
	return projections.Job{}
}

// suspensionOf gives the item of a runtime that waits, else the newest that ended.
func (st *stage) suspensionOf(runtime string) string {
	s := st.state().Suspensions
	if x, ok := s.Of(runtime); ok {
		return x.ID
	}
	for _, x := range slices.Backward(s.Closed) {
		if x.RuntimeID == runtime {
			return x.ID
		}
	}
	st.fail("%q has suspended nothing", runtime)
	return ""
}

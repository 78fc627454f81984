package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

var lines = []string{"我等。", "Look at the lamp", "龍が来た🐉", "去码头", "ＡＩ"}

// verbs are all that may happen. Each gives a remark on what it came to, "" for nothing.
var verbs = map[string]func(w *world, s step) string{}

func init() {
	maps.Copy(verbs, map[string]func(w *world, s step) string{
		// what clients do
		"say": func(w *world, s step) string {
			return w.command(s, session.Command{Type: session.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: lines[s.args[1]%5] + fmt.Sprint(w.ids)}}})
		},
		"play": func(w *world, s step) string { // a line, and all that comes of it
			remark := verbs["say"](w, s)
			w.settle(s.args[2]%2 == 0, s.args[2])
			return remark
		},
		"chat": func(w *world, s step) string { // a line, and another one as soon as its turn runs
			to := w.shell(s.args[0])
			remark := verbs["say"](w, s)
			for range 12 {
				if w.shells[to.at] != to || len(to.turns) > 0 || len(to.ops) == 0 {
					break
				}
				to.deliver(0, noFault)
			}
			if len(to.turns) > 0 && s.args[1]%2 == 0 {
				to.turns[len(to.turns)-1].advance(0, s.args[1])
			}
			return remark + "; " + verbs["interject"](w, s)
		},
		"table": func(w *world, s step) string { // somebody takes a second seat or leaves it, and the seats gather or do not
			seat := &eventsv1.Seat{Id: "seat-2", Name: "龙胆", Role: "player", Control: []string{"human", "human", "open"}[s.args[1]%3]}
			change := []proto.Message{&eventsv1.SeatChanged{Seat: seat}}
			if was, ok := w.log.top().Session.SeatByID(seat.Id); ok {
				seat.Primary = was.Primary
				if keys := w.log.top().Session.KeysOf(seat.Id); was.Control != seat.Control && keys.Invite+keys.Token != "" {
					change = append(change, &eventsv1.SeatKeysChanged{SeatId: seat.Id})
				}
			}
			w.outside(change...)
			gathering := []string{projections.GatheringOn, projections.GatheringOn, ""}[s.args[2]%3]
			w.outside(&eventsv1.SettingsChanged{Settings: &eventsv1.Settings{Gathering: gathering, GatherTimeoutMs: uint64(s.args[1]%2) * 50_000}})
			return fmt.Sprintf("the second seat is %s, gathering %q", seat.Control, gathering)
		},
		"say-2": func(w *world, s step) string {
			return w.command(s, session.Command{Type: session.SubmitActions, SeatID: "seat-2", Actions: []projections.Action{{Kind: "say", SeatID: "seat-2", Text: "我守门。" + fmt.Sprint(w.ids)}}})
		},
		"close-table": func(w *world, s step) string { return w.changeStatus(s, session.Change{Kind: session.CloseGathering}) },
		"withdraw": func(w *world, s step) string {
			return w.changeStatus(s, session.Change{Kind: session.WithdrawSubmission, SeatID: []string{"seat-1", "seat-2"}[s.args[1]%2]})
		},
		"start": func(w *world, s step) string { return w.command(s, session.Command{Type: session.StartSession}) },
		"answer": func(w *world, s step) string {
			q, ok := pick(w.log.top().Interactions.Open(""), s.args[1])
			if !ok {
				return ""
			}
			ref := q.InteractionRef
			return w.command(s, session.Command{Type: session.SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
		},
		"retry": func(w *world, s step) string { return w.command(s, session.Command{Type: session.RetryTurn}) },
		"run": func(w *world, s step) string {
			return w.command(s, session.Command{Type: session.RunRuntimes, Targets: []projections.Target{{RuntimeID: "dice"}}})
		},
		"again": func(w *world, s step) string {
			latest := w.log.top().Latest
			r, ok := pick(latest.Runs, s.args[1])
			if !ok {
				return ""
			}
			return w.command(s, session.Command{Type: session.RunRuntimes, Targets: []projections.Target{{RuntimeID: r.RuntimeID}}, SourceTurnID: latest.TurnID})
		},
		"again-failed": func(w *world, s step) string { // what failed, up to three of it at once
			failed := session.FailedRuns(w.log.top())
			if len(failed) == 0 {
				return ""
			}
			var targets []projections.Target
			for i := range min(1+int(s.args[2]%3), len(failed)) {
				targets = append(targets, projections.Target{RuntimeID: failed[(int(s.args[1])+i)%len(failed)]})
			}
			return w.command(s, session.Command{Type: session.RunRuntimes, Targets: targets, SourceTurnID: w.log.top().Latest.TurnID})
		},
		"run-any": func(w *world, s step) string { // whatever there is, by name, or what is not there
			targets := []projections.Target{{RuntimeID: cast[int(s.args[1])%len(cast)].ID, Payload: projections.RawJSON(`{"side":20}`)}}
			if s.args[2]%3 == 0 {
				targets = append(targets, projections.Target{RuntimeID: []string{"nobody", "dice", targets[0].RuntimeID}[s.args[2]/3%3]})
			}
			return w.command(s, session.Command{Type: session.RunRuntimes, Targets: targets})
		},
		"hear": func(w *world, s step) string { // a run takes up a line that it was told, or says that it does not
			to := w.shells[slot(s.args[0])]
			if to == nil || len(to.turns) == 0 {
				return ""
			}
			return to.turns[len(to.turns)-1].hear(s.args[1], s.args[2])
		},
		"hooks": func(w *world, s step) string {
			w.hooks = s.args[1]%3 > 0
			return fmt.Sprintf("hooks are asked: %v", w.hooks)
		},
		"sick": func(w *world, s step) string {
			w.sick = []string{"", "oracle", "guide", "teller", "memory", "painter"}[s.args[1]%6]
			return fmt.Sprintf("the hooks of %q fail", w.sick)
		},
		"resume-plugin": func(w *world, s step) string {
			id := cast[int(s.args[1])%len(cast)].PluginID
			if to := w.shells[slot(s.args[0])]; to != nil && len(to.paused) > 0 && s.args[2]%4 > 0 {
				id = to.paused[int(s.args[1])%len(to.paused)]
			}
			return w.changeStatus(s, session.Change{Kind: session.ResumePlugin, PluginID: id}) + " " + id
		},
		"resume": func(w *world, s step) string {
			id, ok := pick(w.itemIDs(s.args[1]%5 == 0), s.args[1]/5)
			if !ok {
				return ""
			}
			return w.command(s, session.Command{Type: session.ResumeSuspension, SuspensionID: id, Answer: projections.RawJSON([]string{`"go"`, `"again"`, `"go"`, `"nonsense"`}[s.args[2]%4])})
		},
		"abandon": func(w *world, s step) string {
			id, ok := pick(w.itemIDs(s.args[1]%5 == 0), s.args[1]/5)
			if !ok {
				return ""
			}
			return w.changeStatus(s, session.Change{Kind: session.AbandonSuspension, SuspensionID: id})
		},
		"undo": func(w *world, s step) string { return w.command(s, session.Command{Type: session.MoveHead}) },
		"move": func(w *world, s step) string {
			x, ok := pick(w.log.top().Tree.Turns, s.args[1])
			if !ok {
				return ""
			}
			return w.command(s, session.Command{Type: session.MoveHead, TurnID: x.TurnID})
		},
		"regenerate": func(w *world, s step) string {
			id := ""
			if x, ok := pick(w.log.top().Tree.OnPath(), s.args[1]); ok && s.args[2]%2 == 0 {
				id = x.TurnID
			}
			return w.command(s, session.Command{Type: session.Regenerate, TurnID: id})
		},
		"revise": func(w *world, s step) string {
			h := w.log.top().History
			if h.Len() == 0 {
				return ""
			}
			return w.command(s, session.Command{Type: session.ReviseMessage, MessageID: h.At(int(s.args[1]) % h.Len()).ID, Text: []string{"改过的一页。", ""}[s.args[2]%2]})
		},
		"name": func(w *world, s step) string {
			x, ok := pick(w.log.top().Tree.Turns, s.args[1])
			if !ok {
				return ""
			}
			return w.command(s, session.Command{Type: session.NameTurn, TurnID: x.TurnID, Text: "雨夜"})
		},
		"repeat": func(w *world, s step) string {
			a, ok := pick(w.asks, s.args[1])
			if !ok || a.cmd == nil {
				return ""
			}
			if s.args[2]%5 == 0 { // the same id for something else
				other := &ask{cmd: &session.Command{}}
				*other.cmd = *a.cmd
				other.cmd.BodyHash = "bb"
				w.asks = append(w.asks, other)
				return "with another body: " + w.submit(other, w.shell(s.args[0]))
			}
			return w.submit(a, w.shell(s.args[0]))
		},
		"stale": func(w *world, s step) string {
			base := w.log.head() - min(w.log.head(), 1)
			return w.command(s, session.Command{Type: session.SubmitActions, Base: &base, Actions: []projections.Action{{Kind: "say", Text: "旧"}}})
		},
		"stop":    func(w *world, s step) string { return w.stop(s) },
		"pause":   func(w *world, s step) string { return w.changeStatus(s, session.Change{Kind: session.Pause}) },
		"unpause": func(w *world, s step) string { return w.changeStatus(s, session.Change{Kind: session.Resume}) },
		"end": func(w *world, s step) string {
			if s.args[1]%4 > 0 {
				return ""
			}
			return w.changeStatus(s, session.Change{Kind: session.End})
		},
		"setup-retry": func(w *world, s step) string {
			return w.changeStatus(s, session.Change{Kind: session.SetupRetry, Runtime: []string{"opener", "maker"}[s.args[1]%2]})
		},
		"setup-waive": func(w *world, s step) string {
			return w.changeStatus(s, session.Change{Kind: session.SetupWaive, Runtime: []string{"opener", "maker"}[s.args[1]%2]})
		},
		"cancel-job": func(w *world, s step) string {
			id, ok := pick(w.jobIDs(), s.args[1])
			if !ok {
				return ""
			}
			return w.changeStatus(s, session.Change{Kind: session.CancelJobChange, JobID: id})
		},
		"retry-job": func(w *world, s step) string {
			id, ok := pick(w.jobIDs(), s.args[1])
			if !ok {
				return ""
			}
			return w.changeStatus(s, session.Change{Kind: session.RetryJobChange, JobID: id})
		},
		"run-job": func(w *world, s step) string {
			rt, _ := runtimeOf("imager")
			view := w.log.top().Session
			q := job.Queued("", job.Manual, rt, view, job.FreezeManual(json.RawMessage(`{}`), nil))
			w.ids++
			q.RequestId, q.BodyHash, q.Plugin.Digest = fmt.Sprintf("j%d", w.ids-int(s.args[1]%2)), []byte{0xaa}, w.digest
			return w.changeStatus(s, session.Change{Kind: session.RunJobChange, SeatID: "seat-1", Run: &session.ManualJob{Queued: q, BodyHash: "aa"}})
		},
		// what the world does
		"deliver": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			f := w.fault
			k := s.args[1]
			if s.args[2]%4 > 0 {
				k = 0 // mostly in order
			}
			if n := len(to.ops) + len(to.seen); n > 0 && int(k)%n < len(to.ops) && to.ops[int(k)%n].append != nil {
				w.fault = noFault
			} else {
				f = noFault
			}
			return to.deliver(k, f)
		},
		"calm": func(w *world, s step) string { w.settle(s.args[0] == 0, s.args[1]); return "everything is delivered" },
		"turn": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil || len(to.turns) == 0 {
				return ""
			}
			return to.turns[int(s.args[1])%len(to.turns)].advance(s.args[1], s.args[2])
		},
		"job": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil || len(to.jobs) == 0 {
				return ""
			}
			ids := sortedKeys(to.jobs)
			return "job " + to.jobs[ids[int(s.args[1])%len(ids)]].advance(s.args[1], s.args[2])
		},
		"fault": func(w *world, s step) string {
			w.fault = fault(1 + s.args[1]%uint32(faults-1))
			return "the next append: " + []string{"", "is refused", "lands unseen", "is lost", "hangs"}[w.fault]
		},
		"zombie": func(w *world, s step) string {
			if len(w.log.zombies) == 0 {
				return ""
			}
			a := w.log.zombies[0]
			w.log.zombies = w.log.zombies[1:]
			if s.args[1]%3 == 0 {
				return "a hanging append is gone for good"
			}
			how, _ := w.append(a)
			return fmt.Sprintf("a hanging append comes through: %v", how == done)
		},
		"crash": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			to.die()
			if s.args[1]%2 == 1 { // with the memory of its node
				w.latches[to.at] = latch.Latch{}
			}
			return to.name + " dies"
		},
		"fuse": func(w *world, s step) string {
			to := w.shell(s.args[0])
			to.fuse = 1 + int(s.args[1]%24)
			return fmt.Sprintf("%s will die %d points from here", to.name, to.fuse)
		},
		"wake": func(w *world, s step) string {
			to := w.shell(s.args[0])
			to.feed(session.Wake{OwnerAlive: w.ownerAlive(to, to.state.Hot), JobOwnersAlive: w.jobOwners(to, to.state.Hot)})
			return to.name
		},
		"read": func(w *world, s step) string { return w.shell(s.args[0]).name },
		"idle": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			to.feed(session.IdleTimeout{})
			return fmt.Sprintf("%s: %s", to.name, to.state.Phase)
		},
		"drain": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			to.feed(session.Drain{})
			return to.name
		},
		"tick": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			to.feed(session.Tick{})
			return to.name
		},
		"foreign": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			to.feed(session.Foreign{})
			return to.name
		},
		"late": func(w *world, s step) string {
			to := w.shells[slot(s.args[0])]
			if to == nil {
				return ""
			}
			in, ok := pick(to.past, s.args[1])
			if !ok {
				return ""
			}
			to.feed(in)
			return fmt.Sprintf("%s hears %T once more", to.name, in)
		},
		"time": func(w *world, s step) string { return w.pass(time.Duration(1+s.args[1]%40) * time.Second) },
		"week": func(w *world, s step) string { return w.pass(8 * 24 * time.Hour) },
		"lie": func(w *world, s step) string {
			w.lies = !w.lies
			return fmt.Sprintf("who lives is told wrongly: %v", w.lies)
		},
		"keys": func(w *world, s step) string {
			w.keyless = !w.keyless
			return fmt.Sprintf("models cannot be called: %v", w.keyless)
		},
		"upgrade": func(w *world, s step) string {
			w.digest = []string{"d1", "d2"}[s.args[1]%2]
			return "the plugins' code is " + w.digest
		},
		"busy": func(w *world, s step) string {
			at := slot(s.args[0])
			var places []job.Place
			if s.args[1]%2 == 0 {
				w.pools[at], places = w.pools[at].Want("elsewhere", []string{"x1", "x2", "x3", "x4"})
			} else {
				w.pools[at], places = w.pools[at].Forget("elsewhere")
			}
			w.grantedElsewhere(at, places)
			return fmt.Sprintf("%d places of the node are taken", w.pools[at].Running())
		},
		"look":   func(w *world, s step) string { w.look(); return "folds are compared" },
		"forget": func(w *world, s step) string { w.snapshots = nil; return "the snapshots are gone" },
	})
}

// grantedElsewhere leaves other sessions what is theirs.
func (w *world) grantedElsewhere(at int, places []job.Place) {
	for _, p := range places {
		if p.Holder != "elsewhere" {
			w.granted(at, []job.Place{p})
		}
	}
}

func (w *world) pass(d time.Duration) string {
	w.now = w.now.Add(d)
	w.timers()
	return w.now.Format("02 15:04:05")
}

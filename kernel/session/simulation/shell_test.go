package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// shell is the twin of the session actor: one activation, what is under way for it, and its children. It carries effects out
// one by one and may die between any two of them.
type shell struct {
	w     *world
	at    int // its node
	name  string
	state session.State
	dead  bool
	fuse  int // it dies so many points from now; 0 never

	ops   []op
	turns []*child // the live one last; others were cancelled and go on until they notice
	jobs  map[string]*child
	seen  []events.Version // what the log is known to have reached, on its way to the activation
	known events.Version
	tick  time.Time
	asked bool // somebody asked for more than a look

	follows  bool // a follower is there, and has seen everything up to shown
	shown    events.Version
	inFlight int
	last     *session.Append   // the append that was sent last
	past     []session.Input   // what was delivered before
	paused   []string          // plugins, as everybody was told
	settles  []session.Awaited // what clients were told last to be waited for
}

// op is something under way outside of the activation.
type op struct {
	append *session.Append
	input  session.Input
	refold *session.Refold
	keep   *projections.State // a snapshot that is being written
}

func (o op) String() string {
	switch {
	case o.append != nil:
		return fmt.Sprintf("append %s at %d", o.append.Kind, o.append.Expected)
	case o.refold != nil:
		return "fold"
	case o.keep != nil:
		return fmt.Sprintf("snapshot of %d", o.keep.Version)
	}
	return fmt.Sprintf("%T", o.input)[len("session."):]
}

func (w *world) open(at int) *shell {
	if s := w.shells[at]; s != nil {
		return s
	}
	w.ids++
	s := &shell{w: w, at: at, name: fmt.Sprintf("a%d", w.ids), jobs: map[string]*child{}}
	w.shells[at] = s
	var effects []session.Effect
	s.state, effects = session.New(session.Owner{Node: fmt.Sprint("n", at), Activation: s.name}, w.latches[at])
	s.paused = w.latches[at].Paused()
	s.carryOut(effects)
	return s
}

// point is where the process may die.
func (s *shell) point() {
	if s.fuse > 0 && !s.dead {
		if s.fuse--; s.fuse == 0 {
			s.die()
		}
	}
}

// die ends the activation at once. What it has sent may still be written.
func (s *shell) die() {
	if s.dead {
		return
	}
	s.dead = true
	for _, o := range s.ops {
		if o.append != nil {
			s.w.log.zombies = append(s.w.log.zombies, *o.append)
		}
	}
	s.w.forget(s)
}

// forget is what a node does when an activation is gone.
func (w *world) forget(s *shell) {
	if w.shells[s.at] == s {
		w.shells[s.at] = nil
	}
	var places []job.Place
	w.pools[s.at], places = w.pools[s.at].Forget(s.name)
	w.granted(s.at, places)
}

func (w *world) granted(at int, places []job.Place) {
	for _, p := range places {
		if s := w.shells[at]; s != nil && s.name == p.Holder {
			s.ops = append(s.ops, op{input: session.JobGranted{JobID: p.Job}})
		} else {
			var more []job.Place
			w.pools[at], more = w.pools[at].Release(p)
			w.granted(at, more)
		}
	}
}

// feed gives the activation an input and carries out what it asks for.
func (s *shell) feed(in session.Input) {
	if s.point(); s.dead {
		return
	}
	switch in.(type) {
	case session.Submit, session.ChangeStatus, session.Wake, session.Tick, session.StopTurn:
		s.asked = true
	case session.TurnEnded, session.Settled:
		s.past = append(s.past, in)
	}
	s.failures(in)
	s.w.ids++
	before := s.state.Phase
	var effects []session.Effect
	s.state, effects = session.Step(s.state, session.Env{
		FreshID: fmt.Sprintf("fresh-%d", s.w.ids), Now: s.w.now, ModelReady: func(slot string) bool { return !s.w.keyless },
		Digest: func(string) string { return s.w.digest },
	}, in)
	if _, ok := in.(session.Recovered); ok && before == session.Recovering {
		told := slices.ContainsFunc(effects, func(e session.Effect) bool { _, ok := e.(session.Reset); return ok })
		if s.follows && s.shown != s.state.Hot.Version && !told {
			s.w.book.Blame("%s was read anew at version %d and its followers, who stand at %d, were not told", s.name, s.state.Hot.Version, s.shown)
		}
		s.follows, s.shown = true, s.state.Hot.Version
	}
	s.carryOut(effects)
	if s.dead {
		return
	}
	s.inOrder()
	// as the actor: its own appends it hears of here first, anything beyond them was written by another
	if s.known > s.state.Hot.Version && s.state.InFlight == nil && s.state.Phase != session.Recovering && s.state.Phase != session.Stopped {
		if _, again := in.(session.Foreign); !again {
			s.feed(session.Foreign{})
		}
	}
}

// inOrder holds what must be true of an activation between any two inputs.
func (s *shell) inOrder() {
	blame := s.w.book.Blame
	hot := s.state.Hot
	if hot.Version > s.w.log.head() {
		blame("%s stands at version %d of %d", s.name, hot.Version, s.w.log.head())
	} else if hot.Version > 0 && hot.LastID != s.w.log.states[hot.Version].LastID {
		blame("%s holds another event at version %d than the log", s.name, hot.Version)
	}
	if len(s.state.Queue) > session.MaxQueue+1 { // one may have gone back
		blame("%d commands are queued", len(s.state.Queue))
	}
	if n := len(s.jobs); n > job.PoolSize {
		blame("%d jobs run on one node", n)
	}
	if s.state.InFlight != nil && s.inFlight == 0 && s.state.Phase != session.Stopped {
		blame("%s waits for an append that was not sent", s.name)
	}
}

func (s *shell) carryOut(effects []session.Effect) {
	for _, e := range effects {
		if s.point(); s.dead {
			return
		}
		s.carry(e)
	}
}

func (s *shell) carry(e session.Effect) {
	w := s.w
	switch e := e.(type) {
	case session.DoAppend:
		s.send(e.Append)
	case session.Settle:
		settled := session.Settled{ExecutionID: e.Command.ExecutionID, Installed: &session.Installed{Runtimes: cast, Versions: versions, Digests: w.digests()}}
		if x, ok := s.state.Hot.Suspensions.Find(e.Command.SuspensionID); ok && e.Command.Type == session.ResumeSuspension {
			settled = session.Settled{ExecutionID: e.Command.ExecutionID}
			if x.PluginDigest != w.digest {
				settled.OutOfDate = "plugin-changed"
			}
		}
		s.ops = append(s.ops, op{input: settled})
	case session.StartTurn:
		for _, c := range s.turns {
			if !c.cancelled {
				w.book.Blame("%s starts a turn while %s goes on", s.name, c.exec.ID)
			}
		}
		s.turns = append(s.turns, s.newChild(e.Execution, e.View, e.Paused, nil))
	case session.CancelTurn:
		for _, c := range slices.Clone(s.turns) {
			if c.exec.ID == e.ExecutionID {
				c.cancel()
			}
		}
	case session.StartJob:
		if s.jobs[e.Job.ID] != nil {
			w.book.Blame("%s starts job %s twice", s.name, e.Job.ID)
		}
		j := e.Job
		s.jobs[e.Job.ID] = s.newChild(e.Execution, e.View, e.Paused, &j)
	case session.CancelJob:
		if c := s.jobs[e.JobID]; c != nil {
			c.cancel()
		}
	case session.WantJobs:
		var places []job.Place
		w.pools[s.at], places = w.pools[s.at].Want(s.name, e.IDs)
		w.granted(s.at, places)
	case session.ReleaseJob:
		var places []job.Place
		w.pools[s.at], places = w.pools[s.at].Release(job.Place{Holder: s.name, Job: e.JobID})
		w.granted(s.at, places)
	case session.WakeAt:
		s.tick = e.At
	case session.Reply:
		w.heard(s, e.Token, e.Reply)
	case session.Reset:
		s.follows = false
		if s.state.Phase != session.Recovering { // they ask anew at once
			s.follows, s.shown = true, s.state.Hot.Version
		}
	case session.Refold:
		s.ops = append(s.ops, op{refold: &e})
	case session.Publish:
		s.published(e)
	case session.SaveSnapshot:
		state := e.State
		s.ops = append(s.ops, op{keep: &state})
	case session.TellTurn:
		s.tell(e)
	case session.SettleWait:
		s.settles = e.Jobs
	case session.KeepLatch:
		w.latches[s.at] = e.Latch
	case session.PluginPaused:
		s.pluginPaused(e)
	case session.Passivate:
		s.left()
	default:
		panic(fmt.Sprintf("simulation: unknown effect %T", e))
	}
}

// send takes an append to the store. It is a repeat of the one before only with the same bytes.
func (s *shell) send(a session.Append) {
	if !s.asked {
		s.w.book.Blame("%s was only looked at and appends (%s)", s.name, a.Kind)
	}
	for _, o := range s.ops {
		if o.append != nil {
			s.w.book.Blame("%s has two appends under way", s.name)
		}
	}
	if a.Attempt > 0 {
		same := s.last != nil && s.last.Expected == a.Expected && slices.EqualFunc(s.last.Events, a.Events, func(x, y events.Event) bool {
			return x.ID == y.ID && string(x.Data) == string(y.Data)
		})
		if !same {
			s.w.book.Blame("%s repeats an append with another one", s.name)
		}
	}
	s.last = &a
	s.inFlight++
	s.ops = append(s.ops, op{append: &a})
}

func (s *shell) published(e session.Publish) {
	if s.follows && len(e.Events) > 0 && e.Events[0].Version != s.shown+1 {
		s.w.book.Blame("%s shows version %d to followers who stand at %d", s.name, e.Events[0].Version, s.shown)
	}
	for _, r := range e.Events {
		if int(r.Version) > len(s.w.log.recorded) || s.w.log.recorded[r.Version-1].ID != r.ID {
			s.w.book.Blame("%s shows an event at version %d that the log does not have", s.name, r.Version)
		}
		s.shown = r.Version
		if r.Type == "ExecutionCommitted" && s.w.sick != "" && !slices.Contains(s.paused, s.w.sick) && e.After.Session.Last != nil { // hooks that look on are asked
			s.ops = append(s.ops, op{input: session.HooksTold{Input: e.After.Session.Last.LogicalTurnID, Health: map[string]string{s.w.sick: "it threw"}}})
		}
	}
	if e.After.Version != s.shown {
		s.w.book.Blame("%s shows a state of version %d after version %d", s.name, e.After.Version, s.shown)
	}
}

// left is the end of an activation that goes by itself.
func (s *shell) left() {
	for _, a := range s.w.asks {
		for _, t := range a.tokens {
			if t.shell == s && t.finals == 0 {
				s.w.book.Blame("%s leaves without an answer to %s", s.name, a)
			}
		}
	}
	if slices.ContainsFunc(s.turns, func(c *child) bool { return !c.cancelled }) || len(s.jobs) > 0 {
		s.w.book.Blame("%s leaves while something runs in it", s.name)
	}
	for _, o := range s.ops {
		if o.keep != nil {
			s.w.keep(*o.keep)
		}
	}
	s.ops = slices.DeleteFunc(s.ops, func(o op) bool { return o.keep != nil })
	s.die()
}

// deliver lets one of the things under way come to its end.
func (s *shell) deliver(k uint32, f fault) string {
	if n := len(s.ops) + len(s.seen); n == 0 {
		return ""
	} else if i := int(k) % n; i >= len(s.ops) {
		v := s.seen[0]
		s.seen = s.seen[1:]
		s.known = max(s.known, v)
		s.noticed()
		return fmt.Sprintf("%s hears of version %d", s.name, v)
	} else {
		o := s.ops[i]
		s.ops = append(s.ops[:i:i], s.ops[i+1:]...)
		return s.name + ": " + o.String() + s.complete(o, f)
	}
}

func (s *shell) noticed() {
	if s.known > s.state.Hot.Version && s.state.InFlight == nil && s.state.Phase != session.Recovering && s.state.Phase != session.Stopped {
		s.feed(session.Foreign{})
	}
}

func (s *shell) complete(o op, f fault) string {
	switch {
	case o.append != nil:
		return s.store(*o.append, f)
	case o.refold != nil:
		state := s.w.fold(o.refold.Whole)
		s.ops = append(s.ops, op{input: session.Recovered{State: state, OwnerAlive: s.w.ownerAlive(s, state), JobOwnersAlive: s.w.jobOwners(s, state)}})
		return fmt.Sprintf(" at %d", state.Version)
	case o.keep != nil:
		s.w.keep(*o.keep)
		return ""
	}
	s.feed(o.input)
	return ""
}

func (s *shell) store(a session.Append, f fault) string {
	s.inFlight--
	switch f {
	case refuses:
		s.feed(session.AppendRefused{Error: "disk full"})
		return ": refused"
	case losesIt:
		s.feed(session.AppendUnknown{})
		return ": lost, unknown"
	case hangs:
		s.w.log.zombies = append(s.w.log.zombies, a)
		s.feed(session.AppendUnknown{})
		return ": hangs, unknown"
	}
	how, last := s.w.append(a)
	if how == wrongVersion {
		s.feed(session.AppendLost{})
		return ": wrong version"
	}
	if f == landsUnseen {
		s.feed(session.AppendUnknown{})
		return fmt.Sprintf(": written to %d, unknown", last.Version)
	}
	s.feed(session.AppendDone{RecordedAt: last.RecordedAt, Position: uint64(last.Position)})
	return fmt.Sprintf(": written to %d", last.Version)
}

func (w *world) ownerAlive(self *shell, state projections.State) bool {
	open := state.Session.Open
	return open != nil && w.alive(self, open.Activation)
}

func (w *world) jobOwners(self *shell, state projections.State) map[string]bool {
	out := map[string]bool{}
	for _, j := range state.Jobs.Open() {
		if j.Status == projections.JobRunning && w.alive(self, j.Owner) {
			out[j.ID] = true
		}
	}
	return out
}

// alive says whether another activation lives; when it lies, the other way round.
func (w *world) alive(self *shell, name string) bool {
	if name == self.name {
		return false
	}
	lives := slices.ContainsFunc(w.shells[:], func(s *shell) bool { return s != nil && s.name == name })
	return lives != w.lies
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

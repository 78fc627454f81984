package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/session/reference"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

const streamOf = "session-s1"

// world is one simulated life.
type world struct {
	log       log
	book      *reference.Book
	shells    [2]*shell // activations of the session on two nodes
	pools     [2]job.Pool
	now       time.Time
	snapshots []*kept
	asks      []*ask
	token     uint64
	ids       int
	digest    string                        // of the plugins' code that is installed
	keyless   bool                          // models cannot be called
	lies      bool                          // who asks whether another lives is told the opposite
	fault     fault                         // of the next append
	hooks     bool                          // there are hooks: they refuse and leave out
	sick      string                        // the plugin whose hooks fail
	latches   [2]latch.Latch                // what the nodes remember of faults
	invites   []string                      // that were handed out, as the session knows them
	taken     map[string]int                // how often a seat was taken with an invite
	faulty    [2]map[string]map[string]bool // by node and plugin: the inputs it failed
	sabotage  sabotage
	agreed    events.Version // up to which fold and reference were held against each other
}

// sabotage is a way in which what surrounds the kernel is broken, for the test that a breach is found.
type sabotage string

const (
	sound       sabotage = ""
	noFence     sabotage = "a store without a fence"
	halfAppends sabotage = "a store that drops the last event of an append"
	deaf        sabotage = "answers that are lost"
	twice       sabotage = "answers that come twice"
	forgetful   sabotage = "a snapshot of another version"
)

var sabotages = []sabotage{noFence, halfAppends, deaf, twice, forgetful}

// ask is something a client wants, with all that became of it.
type ask struct {
	cmd    *session.Command
	change *session.Change
	stop   bool
	tokens []*tok
	final  *session.Answer
}

type tok struct {
	id     uint64
	shell  *shell
	finals int
}

func (a *ask) String() string {
	switch {
	case a.cmd != nil:
		return a.cmd.Type + " " + a.cmd.RequestID
	case a.change != nil:
		return string(a.change.Kind)
	}
	return "stop"
}

func newWorld(sab sabotage, flip reference.Rule) *world {
	w := &world{
		book: reference.New(), now: epoch, digest: "d1", sabotage: sab,
		taken: map[string]int{},
		pools: [2]job.Pool{job.NewPool(job.PoolSize), job.NewPool(job.PoolSize)},
	}
	w.book.Flip(flip)
	w.log.states = []projections.State{{}}
	evs, err := session.Create(session.Creation{
		SessionID: "s1", Incarnation: "inc", Pack: pack, PackDigest: "d", Plugins: plugins(), Runtimes: cast,
	})
	if err != nil {
		panic(err)
	}
	w.append(session.Append{Events: evs})
	w.log.noFence, w.log.halves = sab == noFence, sab == halfAppends
	return w
}

// play plays a script to its end and lets everything come to rest. It gives what the steps came to.
func (w *world) play(steps []step) (remarks []string) {
	for _, s := range steps {
		remarks = append(remarks, verbs[s.verb](w, s))
		if len(w.book.Breaches()) > 0 {
			return remarks
		}
		w.agree()
	}
	w.rest()
	return remarks
}

// agree holds the fold of the log against the reference.
func (w *world) agree() {
	if w.agreed == w.log.head() {
		return
	}
	w.agreed = w.log.head()
	for _, d := range w.book.Agree(w.log.top()) {
		w.book.Blame("%s", d)
	}
}

// shell gives the activation a step is about: mostly the first; closed ones are opened.
func (w *world) shell(pick uint32) *shell { return w.open(slot(pick)) }

func slot(pick uint32) int {
	if pick%100 < 88 {
		return 0
	}
	return 1
}

// command makes a new command and sends it.
func (w *world) command(s step, cmd session.Command) string {
	w.ids++
	cmd.RequestID = fmt.Sprintf("q%d", w.ids)
	cmd.BodyHash = "aa"
	a := &ask{cmd: &cmd}
	w.asks = append(w.asks, a)
	return w.submit(a, w.shell(s.args[0]))
}

func (w *world) submit(a *ask, to *shell) string {
	cmd := *a.cmd
	w.ids++
	w.token++
	cmd.ExecutionID, cmd.Tokens = fmt.Sprintf("exec-%d", w.ids), []uint64{w.token}
	t := &tok{id: w.token, shell: to}
	a.tokens = append(a.tokens, t)
	to.feed(session.Submit{Command: cmd})
	return fmt.Sprintf("%s to %s%s", a, to.name, a.heard())
}

func (a *ask) heard() string {
	switch {
	case a.final == nil:
		return ""
	case a.final.Refusal != nil:
		return ": " + a.final.Refusal.Code
	}
	return ": " + string(a.final.Status)
}

func (w *world) changeStatus(s step, c session.Change) string {
	to := w.shell(s.args[0])
	w.ids++
	w.token++
	c.ID, c.Token = fmt.Sprintf("change-%d", w.ids), w.token
	a := &ask{change: &c, tokens: []*tok{{id: w.token, shell: to}}}
	w.asks = append(w.asks, a)
	to.feed(session.ChangeStatus{Change: c})
	return fmt.Sprintf("%s at %s%s", a, to.name, a.heard())
}

// heard is a client that gets an answer.
func (w *world) heard(from *shell, token uint64, answer session.Answer) {
	if w.sabotage == deaf && token%5 == 0 {
		return
	}
	for _, a := range w.asks {
		for _, t := range a.tokens {
			if t.id == token {
				w.answered(a, t, from, answer)
				if w.sabotage == twice && token%5 == 0 {
					w.answered(a, t, from, answer)
				}
				return
			}
		}
	}
	w.book.Blame("an answer to nobody: %d", token)
}

func (w *world) answered(a *ask, t *tok, from *shell, answer session.Answer) {
	if from != t.shell {
		w.book.Blame("%s is answered by %s", a, from.name)
	}
	if answer.Status == session.Queued {
		if t.finals > 0 {
			w.book.Blame("%s is queued after its answer", a)
		}
		return
	}
	if t.finals++; t.finals > 1 {
		w.book.Blame("%s is answered %d times", a, t.finals)
	}
	if answer.Status == session.Accepted && answer.Version > w.log.head() {
		w.book.Blame("%s is accepted at version %d of %d", a, answer.Version, w.log.head())
	}
	if a.cmd != nil {
		w.commandAnswered(a, from, answer)
	}
	if c := a.change; c != nil && c.Seat != nil && c.Seat.Op == session.SeatTake && answer.Status == session.Accepted {
		if w.taken[c.Seat.Invite]++; w.taken[c.Seat.Invite] > 1 {
			w.book.Blame("an invite was used %d times", w.taken[c.Seat.Invite])
		}
	}
	if a.final == nil || answer.Status == session.Accepted {
		a.final = &answer
	}
}

// commandAnswered holds the answer to a command against the log: accepted is what stands there, once; refused is what
// does not.
func (w *world) commandAnswered(a *ask, from *shell, answer session.Answer) {
	version, execution, known := w.book.Request(a.cmd.SeatID, a.cmd.RequestID)
	switch {
	case answer.Status == session.Accepted && !known:
		w.book.Blame("%s is accepted and not in the log", a)
	case answer.Status == session.Accepted && answer.ExecutionID != "" && answer.ExecutionID != execution:
		w.book.Blame("%s is accepted as %s, the log has it as %s", a, answer.ExecutionID, execution)
	case answer.Status == session.Accepted && uint64(answer.Version) < version:
		w.book.Blame("%s is accepted at version %d, the log has it at %d", a, answer.Version, version)
	case answer.Refusal != nil && known && a.cmd.BodyHash == "aa" && from.state.Hot.Version == w.log.head():
		switch answer.Refusal.Code {
		case "busy", "server_shutting_down", "request_id_conflict":
		default:
			w.book.Blame("%s is refused (%s) and stands in the log at version %d", a, answer.Refusal.Code, version)
		}
	}
}

// stop is the player's stop: what runs then does not commit.
func (w *world) stop(s step) string {
	to := w.shell(s.args[0])
	running := ""
	if st := to.state; st.Execution != "" && st.Ended == nil {
		running = st.Execution
	} else if f := st.InFlight; f != nil && (f.Kind == session.AppendAccept || f.Kind == session.AppendOpen) && to.inFlight > 0 {
		running = f.Events[len(f.Events)-1].Metadata.GetCausationId()
	}
	w.token++
	a := &ask{stop: true, tokens: []*tok{{id: w.token, shell: to}}}
	w.asks = append(w.asks, a)
	to.feed(session.StopTurn{Token: w.token})
	if running != "" && a.final != nil && a.final.Status == session.Accepted {
		w.book.Doom(running, "it was stopped")
	}
	return fmt.Sprintf("%s at %s%s %s", a, to.name, a.heard(), running)
}

// kept is a snapshot, written out and read back, and as far as it was folded on. Folding is a function of state and event: what
// was folded once need not be folded again.
type kept struct {
	state projections.State
	whole bool // it does not lead on: the log has to be read from its beginning
}

// on folds the snapshot on to the head of the log.
func (k *kept) on(l *log) error {
	for !k.whole && int(k.state.Version) < len(l.recorded) {
		next, err := projections.Apply(k.state, l.recorded[k.state.Version])
		if isWholeNeeded(err) {
			k.whole = true
			return nil
		}
		if err != nil {
			return err
		}
		k.state = next
	}
	return nil
}

// keep stores a snapshot, and holds it against the fold of the whole log.
func (w *world) keep(state projections.State) {
	b, err := state.Encode()
	if err != nil {
		w.book.Blame("a snapshot cannot be written: %v", err)
		return
	}
	if w.sabotage == forgetful && state.Version > 12 {
		if back, err := projections.DecodeState(w.log.encoded(state.Version - 1)); err == nil {
			back.Version = state.Version
			b, _ = back.Encode()
		}
	} else if whole := w.log.encoded(state.Version); !bytes.Equal(b, whole) {
		w.book.Blame("the snapshot of version %d is not the fold of the log\nsnapshot %s\nfold     %s", state.Version, b, whole)
	}
	back, err := projections.DecodeState(b)
	if err != nil {
		w.book.Blame("a snapshot cannot be read: %v", err)
		return
	}
	w.snapshots = append(w.snapshots, &kept{state: back})
}

// look folds the log from every snapshot and holds it against the whole fold.
func (w *world) look() {
	want := w.log.encoded(w.log.head())
	for _, k := range w.snapshots {
		if err := k.on(&w.log); err != nil {
			w.book.Blame("a snapshot does not lead on: %v", err)
			return
		}
		if k.whole {
			continue
		}
		if got, _ := k.state.Encode(); !bytes.Equal(got, want) {
			w.book.Blame("folding from a snapshot does not give the fold of the whole log\nfrom  %s\nwhole %s", got, want)
			return
		}
	}
	for _, s := range w.shells {
		if s == nil || s.state.Hot.Version == 0 {
			continue
		}
		live, _ := s.state.Hot.Encode()
		if want := w.log.encoded(s.state.Hot.Version); !bytes.Equal(live, want) {
			w.book.Blame("what %s holds at version %d is not the fold of the log\nlive %s\nfold %s", s.name, s.state.Hot.Version, live, want)
		}
	}
}

func isWholeNeeded(err error) bool { return errors.Is(err, projections.ErrWholeNeeded) }

// settle delivers everything that is under way until nothing is. What runs comes to what luck says, or well.
func (w *world) settle(well bool, luck uint32) {
	for n := 0; ; n++ {
		if n > 5000 {
			w.book.Blame("the session does not come to rest: %s", w.where())
			return
		}
		moved := false
		for _, s := range w.shells {
			if s == nil || len(w.book.Breaches()) > 0 {
				continue
			}
			switch {
			case len(s.ops)+len(s.seen) > 0:
				s.deliver(0, noFault)
			case len(s.turns) > 0:
				s.turns[0].advance(0, outcomeOf(n, well, luck))
			case len(s.jobs) > 0:
				s.jobs[sortedKeys(s.jobs)[0]].advance(0, outcomeOf(n, well, luck))
			default:
				continue
			}
			moved = true
		}
		if !moved {
			return
		}
	}
}

// outcomeOf gives a run's outcome: a good one, or any.
func outcomeOf(n int, well bool, luck uint32) uint32 {
	if !well {
		return (uint32(n)*7 + luck*131) % 1000
	}
	for how := uint32(n) + luck; ; how++ {
		if how%50 != 49 && newDice(0, how).roll(20) > 6 {
			return how
		}
	}
}

// rest is the end of a life: faults cease, everybody is told the truth, clients repeat what got no answer, and time passes.
// Then nothing may be open that anybody could end.
func (w *world) rest() {
	w.fault, w.lies, w.keyless, w.hooks, w.sick = noFault, false, false, false, ""
	for at := range w.pools {
		var places []job.Place
		w.pools[at], places = w.pools[at].Forget("elsewhere")
		w.granted(at, places)
	}
	for _, s := range w.shells {
		if s != nil {
			s.fuse = 0
		}
	}
	for len(w.log.zombies) > 0 {
		w.append(w.log.zombies[0])
		w.log.zombies = w.log.zombies[1:]
	}
	for round := range 8 {
		w.settle(true, 0)
		if w.log.top().Session.Settings.Gathering != "" { // nobody waits for others any more
			w.outside(&eventsv1.SettingsChanged{Settings: &eventsv1.Settings{}})
		}
		for _, s := range w.shells {
			if s != nil {
				s.noticed()
			}
		}
		w.settle(true, 0)
		for _, a := range w.asks {
			if a.cmd != nil && a.final == nil && round < 4 {
				w.submit(a, w.open(0))
				w.settle(true, 0)
			}
		}
		for at := range w.shells {
			if at == 0 || w.shells[at] != nil {
				s := w.open(at)
				w.settle(true, 0)
				if w.shells[at] == s {
					s.feed(session.Wake{OwnerAlive: w.ownerAlive(s, s.state.Hot), JobOwnersAlive: w.jobOwners(s, s.state.Hot)})
				}
				w.settle(true, 0)
			}
		}
		w.now = w.now.Add(65 * time.Second)
		w.timers()
		w.settle(true, 0)
		if len(w.book.Breaches()) > 0 {
			return
		}
	}
	w.ended()
}

// ended holds what must be true when all is said and done.
func (w *world) ended() {
	blame := w.book.Blame
	w.agree()
	w.look()
	top := w.log.top()
	if top.Session.Open != nil {
		blame("execution %s stays open; %s", top.Session.Open.ID, w.where())
	}
	for _, x := range top.Suspensions.Waiting {
		if x.Claim != nil {
			blame("suspension %s stays claimed", x.ID)
		}
	}
	for _, j := range top.Jobs.Open() {
		blame("job %s of %s stays %s; %s", j.ID, j.RuntimeID, j.Status, w.where())
	}
	if n := len(top.Session.Gathering.Submissions); n > 0 && top.Session.Status != projections.StatusPaused {
		blame("%d submissions wait for nobody; %s", n, w.where())
	}
	for _, s := range w.shells {
		if s == nil {
			continue
		}
		st := s.state
		if st.Phase != session.Idle || st.InFlight != nil || len(st.Queue)+len(st.Changes) > 0 || st.Current != nil || st.Execution != "" || st.Working() || len(st.Jobs) > 0 || len(st.Said) > 0 || st.Stop != "" || len(s.settles) > 0 {
			blame("%s does not come to rest: %s", s.name, w.where())
		}
		if st.Hot.Version != w.log.head() {
			blame("%s stays at version %d of %d", s.name, st.Hot.Version, w.log.head())
		}
	}
	for _, a := range w.asks {
		for _, t := range a.tokens {
			if t.finals == 0 && !t.shell.dead {
				blame("%s has no answer from %s, which lives", a, t.shell.name)
			}
		}
		if a.cmd != nil && a.final == nil {
			blame("%s has no answer", a)
		}
	}
	for at := range w.pools {
		if n := w.pools[at].Running(); n > 0 {
			blame("%d places of a node are taken by nobody", n)
		}
	}
	if top.Session.Phase == projections.PhasePlaying && top.Session.Last != nil && top.Session.Last.End == projections.EndCommitted && top.Session.Last.Next != "" && top.Session.Status == projections.StatusActive {
		w.openingFollows()
	}
}

// openingFollows: the opening that was to follow and did not comes when the client asks for it.
func (w *world) openingFollows() {
	before := w.log.head()
	w.command(step{}, session.Command{Type: session.StartSession})
	w.settle(true, 0)
	if w.log.head() == before {
		w.book.Blame("the opening never comes: %s", w.where())
	}
}

func (w *world) where() string {
	out := ""
	for _, s := range w.shells {
		if s != nil {
			st := s.state
			out += fmt.Sprintf("%s is %s at version %d of %d: %d queued, %d changes, current %v, execution %q, ended %v, working %v, stop %q, in flight %v, jobs %v, owner alive %v, under way %v; ",
				s.name, st.Phase, st.Hot.Version, w.log.head(), len(st.Queue), len(st.Changes), st.Current != nil, st.Execution, st.Ended != nil, st.Working(), st.Stop, st.InFlight != nil, st.JobPhases(), st.OwnerAlive, s.ops)
		}
	}
	return out
}

// outside appends what another process has decided, at once.
func (w *world) outside(msgs ...proto.Message) {
	w.ids++
	a := session.Append{Expected: w.log.head()}
	for i, msg := range msgs {
		ev, err := events.Encode(events.NewID(streamOf, "outside", w.ids, i), &eventsv1.Metadata{AppendEnd: uint64(w.log.head()) + uint64(len(msgs))}, msg)
		if err != nil {
			panic(err)
		}
		a.Events = append(a.Events, ev)
	}
	w.append(a)
}

// timers rings those that are due.
func (w *world) timers() {
	for _, s := range w.shells {
		if s != nil && !s.tick.IsZero() && !s.tick.After(w.now) {
			s.tick = time.Time{}
			s.ops = append(s.ops, op{input: session.Tick{}})
		}
	}
}

func pick[T any](list []T, k uint32) (T, bool) {
	if len(list) == 0 {
		var none T
		return none, false
	}
	return list[int(k)%len(list)], true
}

func (w *world) jobIDs() []string {
	var out []string
	for _, j := range w.log.top().Jobs {
		out = append(out, j.ID)
	}
	return out
}

// itemIDs are the questions that wait, or those that were closed.
func (w *world) itemIDs(closed bool) []string {
	var out []string
	for _, x := range w.log.top().Suspensions.Waiting {
		out = append(out, x.ID)
	}
	if closed {
		for _, x := range w.log.top().Suspensions.Closed {
			out = append(out, x.ID)
		}
	}
	return out
}

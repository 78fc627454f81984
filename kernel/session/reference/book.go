// Package reference is the second opinion about a session: a small model that is told of every append, as it stands in the
// log, and says which rule it breaks. It knows the events and nothing of the code that writes or folds them, so that a
// mistake there is not made here as well. It serves the simulations of the pure session and of the real actors.
package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Book is the model of one session. The zero value is of no use; New makes one.
type Book struct {
	breaches []string
	version  uint64
	ids      map[uuid.UUID]bool

	status, phase string
	open          *execution            // in the foreground
	executions    map[string]*execution // every one that ever started
	inputs        map[string]*line      // by execution
	draft         *line
	requests      map[string]*request // by seat and request id
	doomed        map[string]string   // executions that must not commit: why
	counted       map[string]bool     // logical turns
	jobs          map[string]*job
	items         map[string]*item  // suspensions
	waits         map[string]*chain // turns that wait, by logical turn id
	path          *path
	at            []*path // by version
	quiet         []bool  // by version: nothing was open there
	seats         []seat
	seatsEver     []string
	settings      string
	advanceLimit  uint32           // of the settings
	lastRound     map[string]round // by logical turn

	flipped Rule
}

// Rule names a rule that can be turned around, for the test that a wrong rule is found.
type Rule string

// Rules that can be turned around.
const (
	RuleCountOnce     Rule = "a turn counts once"
	RuleLineOnce      Rule = "a line of the player stands in the history once its execution commits"
	RuleHeadVoids     Rule = "a move of the head leaves nothing open"
	RuleClaimEnds     Rule = "a claim ends with its execution"
	RuleOneOfARuntime Rule = "one job of a runtime runs"
	RuleDraftKept     Rule = "the line of an execution that did not commit is kept"
	RuleRevisionShown Rule = "a revised row shows its new text"
	RuleKeysVoid      Rule = "a seat that changes hands has new keys"
	RuleRounds        Rule = "an input goes on for as many rounds as it may"
	RuleSaidShown     Rule = "a line said into a turn stands in the history with it"
)

// Flippable are all of them.
var Flippable = []Rule{RuleCountOnce, RuleLineOnce, RuleHeadVoids, RuleClaimEnds, RuleOneOfARuntime, RuleDraftKept, RuleRevisionShown, RuleKeysVoid, RuleRounds, RuleSaidShown}

type execution struct {
	id, origin, phase, logicalTurnID, jobID, suspensionID, sourceTurnID string
	ended                                                               string // "", committed, failed, aborted
}

type line struct {
	id, text string
	actions  int
}

type request struct {
	version   uint64
	execution string
	waits     bool // for those of other seats
}

// New gives the book of a session that has no events yet.
func New() *Book {
	return &Book{
		ids: map[uuid.UUID]bool{}, executions: map[string]*execution{}, inputs: map[string]*line{}, requests: map[string]*request{},
		doomed: map[string]string{}, counted: map[string]bool{}, jobs: map[string]*job{}, items: map[string]*item{}, waits: map[string]*chain{},
		lastRound: map[string]round{}, path: &path{}, at: []*path{{}}, quiet: []bool{true},
	}
}

// Flip turns a rule around.
func (b *Book) Flip(r Rule) { b.flipped = r }

// Breaches are the rules that were broken so far, in words.
func (b *Book) Breaches() []string { return b.breaches }

// Blame adds a breach that somebody else saw.
func (b *Book) Blame(format string, args ...any) {
	b.breaches = append(b.breaches, fmt.Sprintf(format, args...))
}

// Doom says that an execution must not commit: it was stopped, or its session ended.
func (b *Book) Doom(execution, why string) {
	if _, known := b.doomed[execution]; !known {
		b.doomed[execution] = why
	}
}

// Committed says whether an execution has committed.
func (b *Book) Committed(execution string) bool {
	e := b.executions[execution]
	return e != nil && e.ended == "committed"
}

// Request gives the version and the execution under which a request stands in the log, of whichever seat where none is given.
func (b *Book) Request(seat, id string) (version uint64, execution string, ok bool) {
	r := b.requests[seat+"\x00"+id]
	for i := 0; r == nil && seat == "" && i < len(b.seatsEver); i++ {
		r = b.requests[b.seatsEver[i]+"\x00"+id]
	}
	if r == nil {
		return 0, "", false
	}
	return r.version, r.execution, true
}

// fact is one event of an append.
type fact struct {
	events.Recorded
	msg proto.Message
}

// Append takes the events of one append.
func (b *Book) Append(recorded []events.Recorded) {
	var facts []fact
	for i, r := range recorded {
		msg, err := events.Decode(r.Event)
		if err != nil {
			b.Blame("version %d: %v", r.Version, err)
			return
		}
		if uint64(r.Version) != b.version+uint64(i)+1 {
			b.Blame("version %d follows version %d", r.Version, b.version+uint64(i))
		}
		if end := r.Metadata.GetAppendEnd(); end != uint64(recorded[len(recorded)-1].Version) {
			b.Blame("version %d says its append ends at %d, it ends at %d", r.Version, end, recorded[len(recorded)-1].Version)
		}
		if b.ids[r.ID] {
			b.Blame("version %d has the id of an older event", r.Version)
		}
		b.ids[r.ID] = true
		facts = append(facts, fact{r, msg})
	}
	b.whole(facts)
	due := b.turnsEnding(facts)
	moves, table := false, b.seats
	for _, f := range facts {
		b.version++
		b.session(f)
		b.sit(f)
		b.gather(f)
		b.input(f)
		b.job(f, facts)
		b.suspension(f, facts)
		b.follow(f, facts)
		moves = moves || f.Type == "HeadMoved"
		b.at = append(b.at, b.path)
		b.quiet = append(b.quiet, b.open == nil)
	}
	for i, f := range facts[1:] { // inside of an append nobody stops, but where it leaves for elsewhere
		if f.Type != "HeadMoved" {
			b.quiet[len(b.quiet)-len(facts)+i] = false
		}
	}
	b.countedAll(due, facts)
	b.tableInOrder(table, facts)
	if moves == (b.flipped != RuleHeadVoids) && moves {
		b.nothingOpen()
	} else if b.flipped == RuleHeadVoids && moves && len(b.openJobs())+len(b.Waiting()) == 0 && b.hadOpen(facts) {
		b.Blame("version %d: a move of the head ended what was open", b.version)
	}
}

func (b *Book) hadOpen(facts []fact) bool {
	return slices.ContainsFunc(facts, func(f fact) bool {
		return f.Type == "JobCancelled" || f.Type == "SuspensionVoided"
	})
}

// whole: what counts with a commit stands in the append of that commit, and an execution in the background begins and ends
// in one.
func (b *Book) whole(facts []fact) {
	commits := map[string]bool{}
	for _, f := range facts {
		if m, ok := f.msg.(*eventsv1.ExecutionCommitted); ok {
			commits[m.ExecutionId] = true
		}
	}
	for _, f := range facts {
		entry, _ := events.Lookup(f.Type)
		id := f.Metadata.GetCausationId()
		if entry.Effect == events.OnCommit && id != "" && !commits[id] {
			b.Blame("version %d: %s of execution %s stands in an append without its commit", f.Version, f.Type, id)
		}
	}
}

func (b *Book) session(f fact) {
	switch m := f.msg.(type) {
	case *eventsv1.SessionCreated:
		if b.version != 1 {
			b.Blame("the session is created at version %d", b.version)
		}
		b.status, b.phase = "active", m.Phase
		p := *b.path
		for _, su := range m.SetupRuntimes {
			p.setup = put(p.setup, setup{su.RuntimeId, su.Status, su.Generation, su.Attempts, su.MaxAttempts})
		}
		b.path = &p
	case *eventsv1.SessionPaused:
		b.became("paused", b.status == "active")
	case *eventsv1.SessionResumed:
		b.became("active", b.status == "paused")
	case *eventsv1.SessionEnded:
		b.became("ended", b.status != "ended")
	case *eventsv1.PhaseAdvanced:
		if b.phase != "setup" || m.Phase != "playing" {
			b.Blame("version %d: the phase goes from %s to %s", b.version, b.phase, m.Phase)
		}
		b.phase = m.Phase
	case *eventsv1.ExecutionStarted:
		b.started(m)
	case *eventsv1.ExecutionCommitted:
		b.ended(m.ExecutionId, "committed")
	case *eventsv1.ExecutionFailed:
		b.ended(m.ExecutionId, "failed")
	case *eventsv1.ExecutionAborted:
		b.ended(m.ExecutionId, "aborted")
	}
}

func (b *Book) became(status string, allowed bool) {
	if !allowed {
		b.Blame("version %d: a session that is %s becomes %s", b.version, b.status, status)
	}
	b.status = status
}

func (b *Book) started(m *eventsv1.ExecutionStarted) {
	if b.executions[m.ExecutionId] != nil {
		b.Blame("version %d: execution %s starts twice", b.version, m.ExecutionId)
	}
	e := &execution{
		id: m.ExecutionId, origin: m.Origin, phase: m.Phase, logicalTurnID: m.LogicalTurnId, jobID: m.JobId, suspensionID: m.SuspensionId, sourceTurnID: m.SourceTurnId,
	}
	b.executions[m.ExecutionId] = e
	if b.open != nil {
		b.Blame("version %d: execution %s starts while %s is open", b.version, m.ExecutionId, b.open.id)
	}
	if b.status != "active" && m.JobId == "" {
		b.Blame("version %d: execution %s starts in a session that is %s", b.version, m.ExecutionId, b.status)
	}
	b.open = e
	b.rounds(m)
}

func (b *Book) ended(id, how string) {
	e := b.executions[id]
	switch {
	case e == nil || b.open != e:
		b.Blame("version %d: execution %s ends (%s) and is not open", b.version, id, how)
		return
	case how == "committed" && b.doomed[id] != "":
		b.Blame("version %d: execution %s commits, but %s", b.version, id, b.doomed[id])
	case how == "committed" && e.jobID != "" && b.status != "active":
		b.Blame("version %d: the result of job %s commits in a session that is %s", b.version, e.jobID, b.status)
	}
	e.ended, b.open = how, nil
}

// remember takes a request that the log knows now.
func (b *Book) remember(seat, id, execution string) {
	if id == "" {
		return
	}
	key := seat + "\x00" + id
	if r := b.requests[key]; r != nil && r.waits { // it was gathered, and its turn begins
		r.execution, r.waits = execution, false
		return
	} else if r != nil {
		b.Blame("version %d: request %s of %s stands in the log twice", b.version, id, seat)
	}
	b.requests[key] = &request{version: b.version, execution: execution}
}

// gathered are the submissions that wait for those of other seats.
func (b *Book) gathered() int {
	n := 0
	for _, r := range b.requests {
		if r.waits {
			n++
		}
	}
	return n
}

// gather keeps a submission; one of a seat at most waits, and each leaves once.
func (b *Book) gather(f fact) {
	switch m := f.msg.(type) {
	case *eventsv1.SubmissionGathered:
		if m.Replaces != "" {
			b.leaves(f, m.SeatId, m.Replaces)
		}
		for key, r := range b.requests {
			if r.waits && strings.HasPrefix(key, m.SeatId+"\x00") {
				b.Blame("version %d: two submissions of %s wait", f.Version, m.SeatId)
			}
		}
		b.remember(m.SeatId, m.RequestId, "")
		if r := b.requests[m.SeatId+"\x00"+m.RequestId]; r != nil {
			r.waits = true
		}
	case *eventsv1.SubmissionWithdrawn:
		b.leaves(f, m.SeatId, m.RequestId)
	}
}

func (b *Book) leaves(f fact, seat, id string) {
	r := b.requests[seat+"\x00"+id]
	if r == nil || !r.waits {
		b.Blame("version %d: the submission %s of %s leaves and does not wait", f.Version, id, seat)
		return
	}
	r.waits = false
}

// input follows the lines of the player: of each accepted one exactly one is in the log, and it is shown, or kept as a
// draft, or taken up by a retry.
func (b *Book) input(f fact) {
	switch m := f.msg.(type) {
	case *eventsv1.ActionsSubmitted:
		b.remember(m.SeatId, m.RequestId, m.ExecutionId)
		for _, g := range m.Gathered {
			b.remember(g.SeatId, g.RequestId, m.ExecutionId)
		}
		if m.Type == "run_runtimes" {
			return
		}
		in := &line{m.InputMessageId, m.Rendered, len(m.Actions)}
		if in.actions == 0 && b.draft != nil {
			in = b.draft
		}
		b.inputs[m.ExecutionId], b.draft = in, nil
	case *eventsv1.SuspensionClaimed:
		b.remember(m.SeatId, m.RequestId, m.ExecutionId)
	case *eventsv1.InterjectionMerged:
		b.remember(m.Request.GetSeatId(), m.Request.GetRequestId(), f.Metadata.GetCausationId())
	case *eventsv1.HeadMoved:
		b.remember(m.Request.GetSeatId(), m.Request.GetRequestId(), "")
	case *eventsv1.BranchNamed:
		b.remember(m.Request.GetSeatId(), m.Request.GetRequestId(), "")
	case *eventsv1.LoreEdited:
		b.remember(m.Request.GetSeatId(), m.Request.GetRequestId(), "")
	case *eventsv1.MessageRevised:
		b.remember(m.Request.GetSeatId(), m.Request.GetRequestId(), "")
	case *eventsv1.JobQueued:
		b.remember(m.SeatId, m.RequestId, m.JobId)
	case *eventsv1.ExecutionFailed:
		b.keep(m.ExecutionId)
	case *eventsv1.ExecutionAborted:
		b.keep(m.ExecutionId)
	}
}

func (b *Book) keep(execution string) {
	if in := b.inputs[execution]; in != nil && in.actions > 0 && b.flipped != RuleDraftKept {
		b.draft = in
	}
}

package reference

import (
	"slices"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// job is one piece of background work. edges says what may follow.
type job struct {
	runtime, status, execution string
	settle                     bool
	attempt                    uint32
}

var edges = map[string][]string{
	"queued":  {"running", "timed_out", "cancelled", "stale"},
	"running": {"queued", "succeeded", "failed", "timed_out", "cancelled", "stale", "orphaned"},
}

func (b *Book) job(f fact, facts []fact) {
	switch m := f.msg.(type) {
	case *eventsv1.JobQueued:
		if b.jobs[m.JobId] != nil {
			b.Blame("version %d: job %s is queued twice", f.Version, m.JobId)
		}
		b.jobs[m.JobId] = &job{runtime: m.RuntimeId, status: "queued", settle: m.Settle}
	case *eventsv1.JobRequeued:
		b.jobBecomes(f, m.JobId, "queued")
	case *eventsv1.JobStarted:
		b.jobStarts(f, m)
	case *eventsv1.JobSucceeded:
		b.jobBecomes(f, m.JobId, "succeeded")
		if e := b.executions[commitOf(facts)]; e == nil || e.jobID != m.JobId {
			b.Blame("version %d: job %s succeeds and its writes are not in the append", f.Version, m.JobId)
		}
	case *eventsv1.JobFailed:
		b.jobBecomes(f, m.JobId, "failed")
	case *eventsv1.JobTimedOut:
		b.jobBecomes(f, m.JobId, "timed_out")
	case *eventsv1.JobCancelled:
		b.jobBecomes(f, m.JobId, "cancelled")
	case *eventsv1.JobStale:
		b.jobBecomes(f, m.JobId, "stale")
	case *eventsv1.JobOrphaned:
		b.jobBecomes(f, m.JobId, "orphaned")
	case *eventsv1.ExecutionCommitted:
		b.jobCommits(f, m.ExecutionId, facts)
	}
}

// jobCommits: what a job wrote stands only with the end of that job, while it runs as this very execution.
func (b *Book) jobCommits(f fact, execution string, facts []fact) {
	e := b.executions[execution]
	if e == nil || e.jobID == "" {
		return
	}
	if j := b.jobs[e.jobID]; j == nil || j.status != "running" || j.execution != execution {
		b.Blame("version %d: the writes of job %s commit, which does not run as %s", f.Version, e.jobID, execution)
	}
	ends := slices.ContainsFunc(facts, func(x fact) bool {
		id, ok := x.msg.(interface{ GetJobId() string })
		return ok && (x.Type == "JobSucceeded" || x.Type == "JobFailed") && id.GetJobId() == e.jobID
	})
	if !ends {
		b.Blame("version %d: the writes of job %s commit and it does not end", f.Version, e.jobID)
	}
}

func (b *Book) jobStarts(f fact, m *eventsv1.JobStarted) {
	for id, j := range b.jobs {
		if id == m.JobId || j.status != "running" {
			continue
		}
		mine := b.jobs[m.JobId]
		if mine != nil && j.runtime == mine.runtime {
			b.Blame("version %d: two jobs of %s run", f.Version, j.runtime)
		}
		if mine != nil && j.settle && mine.settle {
			b.Blame("version %d: two settle jobs run", f.Version)
		}
	}
	if b.flipped == RuleOneOfARuntime {
		b.Blame("version %d: a job of a runtime runs", f.Version)
	}
	if b.status != "active" {
		b.Blame("version %d: job %s starts in a session that is %s", f.Version, m.JobId, b.status)
	}
	if j := b.jobBecomes(f, m.JobId, "running"); j != nil {
		if m.Attempt != j.attempt+1 {
			b.Blame("version %d: attempt %d of job %s follows attempt %d", f.Version, m.Attempt, m.JobId, j.attempt)
		}
		j.attempt, j.execution = m.Attempt, m.ExecutionId
	}
}

func (b *Book) jobBecomes(f fact, id, status string) *job {
	j := b.jobs[id]
	if j == nil || !slices.Contains(edges[j.status], status) {
		was := "unknown"
		if j != nil {
			was = j.status
		}
		b.Blame("version %d: job %s goes from %s to %s", f.Version, id, was, status)
		return nil
	}
	j.status = status
	return j
}

func (b *Book) openJobs() []string {
	var out []string
	for id, j := range b.jobs {
		if edges[j.status] != nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// item is a suspension.
type item struct {
	runtime, turn, claim, end string
}

// chain is a turn that waits for the player: what its end counts and queues.
type chain struct {
	counts bool
	held   [][]byte
}

// Waiting are the suspensions that have no end, in order of their ids.
func (b *Book) Waiting() []string {
	var out []string
	for id, x := range b.items {
		if x.end == "" {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (b *Book) suspension(f fact, facts []fact) {
	switch m := f.msg.(type) {
	case *eventsv1.SuspensionSaved:
		if b.items[m.SuspensionId] != nil {
			b.Blame("version %d: suspension %s is saved twice", f.Version, m.SuspensionId)
		}
		for id, x := range b.items {
			if x.end == "" && x.runtime == m.RuntimeId {
				b.Blame("version %d: %s waits as %s already", f.Version, m.RuntimeId, id)
			}
		}
		b.items[m.SuspensionId] = &item{runtime: m.RuntimeId, turn: m.LogicalTurnId}
		c := b.waits[m.LogicalTurnId]
		if c == nil {
			c = &chain{}
			b.waits[m.LogicalTurnId] = c
		}
		c.counts = c.counts || m.Counts
		for _, h := range m.Held {
			c.held = append(c.held, h.Data)
		}
	case *eventsv1.SuspensionClaimed:
		x := b.items[m.SuspensionId]
		switch {
		case x == nil || x.end != "":
			b.Blame("version %d: suspension %s is claimed and does not wait", f.Version, m.SuspensionId)
		case x.claim != "":
			b.Blame("version %d: suspension %s is claimed twice", f.Version, m.SuspensionId)
		default:
			x.claim = m.ExecutionId
		}
	case *eventsv1.SuspensionContinued:
		b.itemEnds(f, m.SuspensionId, "continued", facts)
	case *eventsv1.SuspensionResolved:
		b.itemEnds(f, m.SuspensionId, "resolved", facts)
	case *eventsv1.SuspensionVoided:
		b.itemEnds(f, m.SuspensionId, "voided", facts)
	case *eventsv1.SuspensionExpired:
		b.itemEnds(f, m.SuspensionId, "expired", facts)
	case *eventsv1.SuspensionAbandoned:
		b.itemEnds(f, m.SuspensionId, "abandoned", facts)
	case *eventsv1.ExecutionCommitted:
		b.release(m.ExecutionId)
	case *eventsv1.ExecutionFailed:
		b.release(m.ExecutionId)
	case *eventsv1.ExecutionAborted:
		b.release(m.ExecutionId)
	}
}

// itemEnds: an item ends once. One that is being answered is ended by that answer's commit alone.
func (b *Book) itemEnds(f fact, id, how string, facts []fact) {
	x := b.items[id]
	if x == nil || x.end != "" {
		b.Blame("version %d: suspension %s is %s and does not wait", f.Version, id, how)
		return
	}
	answered := how == "continued" || how == "resolved"
	if by := commitOf(facts); answered && (x.claim == "" || x.claim != by) || !answered && x.claim != "" && x.claim != by {
		b.Blame("version %d: suspension %s is %s while %q goes on with it", f.Version, id, how, x.claim)
	}
	x.end = how
}

func (b *Book) release(execution string) {
	for _, x := range b.items {
		if x.claim == execution && b.flipped != RuleClaimEnds {
			x.claim = ""
		}
	}
}

// turnsEnding gives the turns that must be counted in this append: one of the player that commits with its line and waits
// for nobody, and one whose last item ends here.
func (b *Book) turnsEnding(facts []fact) map[string]bool {
	due := map[string]bool{}
	saved := map[string]bool{}
	ends := map[string]bool{}
	input := map[string]*line{}
	open := b.open
	for _, f := range facts {
		switch m := f.msg.(type) {
		case *eventsv1.SuspensionSaved:
			saved[m.LogicalTurnId] = true
		case *eventsv1.ActionsSubmitted:
			input[m.ExecutionId] = &line{actions: len(m.Actions)}
		case *eventsv1.ExecutionStarted:
			open = &execution{id: m.ExecutionId, origin: m.Origin, phase: m.Phase, logicalTurnID: m.LogicalTurnId}
		}
		if id, ok := f.msg.(interface{ GetSuspensionId() string }); ok && endsItem(f.Type) {
			ends[id.GetSuspensionId()] = true
		}
	}
	if id := commitOf(facts); id != "" && open != nil && open.id == id && open.origin == "player" && open.phase == "playing" {
		in := b.inputs[id]
		if in != nil && in.actions > 0 && !saved[open.logicalTurnID] && !b.counted[open.logicalTurnID] {
			due[open.logicalTurnID] = true
		}
	}
	for turn, c := range b.waits {
		left, ended := false, false
		for id, x := range b.items {
			if x.turn == turn && x.end == "" {
				left = left || !ends[id]
				ended = ended || ends[id]
			}
		}
		if !ended || left || saved[turn] {
			continue
		}
		if c.counts && !b.counted[turn] {
			due[turn] = true
		}
		for _, h := range c.held {
			if !slices.ContainsFunc(facts, func(f fact) bool { return string(f.Data) == string(h) }) {
				b.Blame("the turn %s ends and what it held back is not in the append after version %d", turn, b.version)
			}
		}
		delete(b.waits, turn)
	}
	return due
}

func endsItem(typ string) bool {
	switch typ {
	case "SuspensionContinued", "SuspensionResolved", "SuspensionVoided", "SuspensionExpired", "SuspensionAbandoned":
		return true
	}
	return false
}

// countedAll holds what was counted against what was due.
func (b *Book) countedAll(due map[string]bool, facts []fact) {
	for _, f := range facts {
		m, ok := f.msg.(*eventsv1.PlayerTurnCounted)
		switch {
		case !ok:
		case !due[m.LogicalTurnId]:
			b.Blame("version %d: the turn %s is counted and has not ended", f.Version, m.LogicalTurnId)
		default:
			delete(due, m.LogicalTurnId)
		}
	}
	for turn := range due {
		b.Blame("version %d: the turn %s has ended and is not counted", b.version, turn)
	}
}

func (b *Book) nothingOpen() {
	for _, id := range b.openJobs() {
		b.Blame("version %d: the head has moved and job %s is open", b.version, id)
	}
	for _, id := range b.Waiting() {
		b.Blame("version %d: the head has moved and suspension %s waits", b.version, id)
	}
}

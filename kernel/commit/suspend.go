package commit

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// OriginResume is the origin of an execution that goes on with a suspension.
const OriginResume = "resume"

// DefaultSuspensionTTL is how long a question waits (reference: api-and-protocol.md §4.13, "Expiry").
const DefaultSuspensionTTL = 7 * 24 * time.Hour

// Reasons of a resume that does not commit.
const (
	ReasonResume    = "resume-failed"
	ReasonOutOfDate = "suspension-out-of-date"
)

// Reasons a suspension is void.
const (
	VoidSuspendedAgain = "suspended-again" // a newer item of the same runtime took its place
	VoidTurnPlayed     = "turn-played"
	VoidPluginChanged  = "plugin-changed"
	VoidRecordChanged  = "record-changed"
	VoidSetupSettled   = "setup-settled"
	VoidUnreadable     = "another-version"
)

var suspensionIDs = uuid.MustParse("1c3f2f8e-6d0a-5f0b-9d0e-6a6d3f1f7c11")

// OutOfDate says why an item may not be resumed any more, "" when it may (seed: tools.txt, "Things to note" of suspend:
// another turn, another version of the plugin, a record that was changed by another execution). Which code is installed now
// is not in the log: who asks the registry adds VoidPluginChanged.
func OutOfDate(s projections.State, x projections.Suspension) string {
	if p := s.Suspensions.Played; p != nil && p.Version > x.Version && p.LogicalTurnID != x.LogicalTurnID {
		return VoidTurnPlayed
	}
	active := false
	for _, p := range s.Session.Plugins {
		active = active || p.ID == x.PluginID
	}
	if !active {
		return VoidPluginChanged
	}
	if x.Stage == stageSetup {
		if su, ok := s.Session.SetupOf(x.RuntimeID); !ok || su.Status != projections.SetupPending {
			return VoidSetupSettled
		}
	}
	if changedSince(s, x.Noted) != "" {
		return VoidRecordChanged
	}
	if _, err := turn.DecodeContinuation(x.Continuation); err != nil {
		return VoidUnreadable
	}
	return ""
}

// resumeFailure refuses the commit of a resume whose run failed, or whose item is out of date by now: nothing is written,
// the claim ends with the execution, and the question stays (seed: turn-pipeline.txt, "A resume's commit transaction first
// checks the record contents noted at the suspension, and writes nothing when one changed").
func resumeFailure(in In) (Out, bool) {
	id := in.Execution.SuspensionID
	if id == "" {
		return Out{}, false
	}
	x, ok := in.State.Suspensions.Find(id)
	if !ok {
		return Failure(in, ReasonOutOfDate, "the suspension does not wait any more"), true
	}
	if x.Claim == nil || x.Claim.ExecutionID != in.Execution.ID {
		return Failure(in, ReasonOutOfDate, "the suspension is not claimed by this execution any more"), true
	}
	if why := OutOfDate(in.State, x); why != "" {
		return Failure(in, ReasonOutOfDate, "the suspension is out of date: "+why), true
	}
	for _, r := range in.Results {
		if r.RuntimeID == x.RuntimeID && (r.Committable() || r.Status == turn.Suspended) {
			return Out{}, false
		}
		if r.RuntimeID == x.RuntimeID {
			return Failure(in, ReasonResume, r.ShownError(r.Error)), true
		}
	}
	return Failure(in, ReasonResume, "the resumed run gave no result"), true
}

// suspended is a run that waits, with what it keeps written out.
type suspended struct {
	turn.Result
	continuation *eventsv1.Continuation
}

// suspend takes a run that waits for the player. What cannot be saved is refused like a write.
func (p *planner) suspend(r turn.Result) error {
	switch {
	case r.Suspension == nil:
		return errors.New("suspended without saying what it waits for")
	case len(r.Suspension.ResumeSchema) > 0 && !json.Valid(r.Suspension.ResumeSchema):
		return errors.New("suspended with a resumeSchema that is not JSON")
	}
	c, err := turn.EncodeContinuation(r)
	if err != nil {
		return err
	}
	if _, err := proto.Marshal(c); err != nil { // a name that is no text
		return errors.Wrap(err, "what it keeps cannot be saved")
	}
	p.suspended = append(p.suspended, suspended{r, c})
	return nil
}

// handled closes what the commit is done with: the item it resumed, and older items of runtimes that suspend now.
func (p *planner) handled() []Fact {
	s := p.in.State.Suspensions
	var ends []Ending
	for _, r := range p.suspended {
		old, ok := s.Of(r.RuntimeID)
		switch {
		case !ok:
		case old.ID == p.in.Execution.SuspensionID:
			ends = append(ends, Ending{ID: old.ID, End: projections.SuspensionContinued, Next: p.suspensionID(r.Result), RunID: r.RunID})
		default:
			ends = append(ends, Ending{ID: old.ID, End: projections.SuspensionVoided, Reason: VoidSuspendedAgain, RunID: r.RunID})
		}
	}
	if x, ok := s.Find(p.in.Execution.SuspensionID); ok && !p.suspends(x.RuntimeID) {
		ends = append(ends, Ending{ID: x.ID, End: projections.SuspensionResolved})
	}
	going := map[string]bool{}
	if len(p.suspended) > 0 {
		going[p.in.Execution.LogicalTurnID] = true
	}
	facts, session := end(p.in.State, ends, going)
	p.session = session
	return facts
}

func (p *planner) suspends(runtimeID string) bool {
	for _, r := range p.suspended {
		if r.RuntimeID == runtimeID {
			return true
		}
	}
	return false
}

func (p *planner) suspensionID(r turn.Result) string {
	return uuid.NewSHA1(suspensionIDs, []byte(p.in.Execution.ID+"\x00"+r.RunID)).String()
}

// saved keeps the runs that wait. counts says whether the execution would have counted its turn; held is what it would have
// queued (seed: turn-pipeline.txt §2.3, "When the turn has a suspension").
func (p *planner) saved(counts bool, held []Fact) []Fact {
	msgs := make([]proto.Message, len(p.facts))
	for i, f := range p.facts {
		msgs[i] = f.Message
	}
	after := p.in.State.Preview(msgs...)
	e, s := p.in.Execution, p.in.State.Session
	ttl := p.in.SuspensionTTL
	if ttl == 0 {
		ttl = DefaultSuspensionTTL
	}
	root := projections.Suspension{
		RootID: e.ID, Origin: e.Origin, Locale: s.Locale, TurnNumber: s.CompletedPlayerTurns, Frozen: projections.FrozenStart{History: e.Version, Policy: p.in.Policy},
	}
	if x, ok := p.in.State.Suspensions.Find(e.SuspensionID); ok {
		root = x
	}
	var out []Fact
	for i, r := range p.suspended {
		ev := &eventsv1.SuspensionSaved{
			SuspensionId: p.suspensionID(r.Result), RootId: root.RootID, ExecutionId: e.ID, RunId: r.RunID, RuntimeId: r.RuntimeID, PluginId: r.PluginID,
			PluginVersion: r.Suspension.PluginVersion, PluginDigest: r.Suspension.PluginDigest, Stage: string(r.Stage), Phase: e.Phase,
			Origin: root.Origin, LogicalTurn: e.LogicalTurn, LogicalTurnId: e.LogicalTurnID, TurnNumber: root.TurnNumber, Locale: root.Locale,
			Reason: errorText(r.Suspension.Reason), ResumeSchema: r.Suspension.ResumeSchema, Counts: counts, Continuation: r.continuation, Spent: spentOf(p.in.Spent),
			Frozen: &eventsv1.Frozen{History: uint64(root.Frozen.History), Policy: root.Frozen.Policy},
		}
		if ttl > 0 {
			ev.TtlMs = uint64(ttl.Milliseconds())
		}
		for _, n := range noted(after, r.Result) {
			ev.Noted = append(ev.Noted, &eventsv1.NotedRecord{Kind: n.Kind, Key: n.Key, Digest: n.Digest})
		}
		if i == 0 {
			ev.Held = hold(held)
		}
		out = append(out, Fact{Message: ev, RunID: r.RunID, PluginID: r.PluginID})
	}
	return out
}

func spentOf(s allowance.Spent) *eventsv1.Spent {
	return &eventsv1.Spent{
		ModelCalls: uint32(s.ModelCalls), ToolCalls: uint32(s.ToolCalls), Subagents: uint32(s.Subagents), DurationMs: uint64(s.Time.Milliseconds()),
	}
}

// spentByChain is what the chain of a resumed execution has spent by its end, whatever the end; nil for any other execution
// and for one that spent nothing (seed: turn-pipeline.txt, "an unchanged failed resume writes no continuation").
func spentByChain(in In) *eventsv1.Spent {
	x, ok := in.State.Suspensions.Find(in.Execution.SuspensionID)
	if in.Execution.SuspensionID == "" || ok && in.Spent == allowance.Before(x.Spent) {
		return nil
	}
	return spentOf(in.Spent)
}

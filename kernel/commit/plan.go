// Package commit turns the results of an execution into the events of one append, or into the reason why nothing of it
// is written. It is the only way from a proposal to the log.
package commit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// In is what a commit is planned from. State is the state at the commit; only session-scope events were appended since
// the execution froze its view.
type In struct {
	State     projections.State
	Pack      worlds.View
	Execution projections.Execution
	Results   []turn.Result
	Deferred  []turn.Deferred // queued as jobs with the commit
	// Digests of the code that ran, by plugin: a job of it runs with the same, or is stale.
	Digests map[string]string
	// SuspensionTTL is how long a question waits: 0 the default, below 0 for ever.
	SuspensionTTL time.Duration
	// Topics may be emitted: an active plugin declares them.
	Topics map[string]bool
}

// Fact is one event to append, with the run that asked for it.
type Fact struct {
	Message  proto.Message
	RunID    string
	PluginID string
}

// Out is the outcome. With Failed set, Facts holds only the ExecutionFailed.
type Out struct {
	Facts  []Fact
	Failed bool
	Next   string // what the same request goes on with: "" or NextOpening
}

// NextOpening: the set-up is complete, the opening follows in the same request.
const NextOpening = "opening"

// Reasons an execution does not commit.
const (
	ReasonStory    = "story-failed"    // the story runtime failed or gave no text
	ReasonProposal = "proposal-failed" // a write that belongs to the story, to a setup step, or to an execution without a story was refused
	ReasonInternal = "internal"
)

// Plan checks every proposal in execution order and gives the events of the commit (seed: turn-pipeline.txt, "Atomic
// boundary of a commit"). A refused write of an auxiliary run beside a committed story drops that run and what needs it;
// any other refused write fails the execution.
func Plan(in In) Out {
	if out, failed := resumeFailure(in); failed {
		return out
	}
	if out, failed := storyFailure(in); failed {
		return out
	}
	p := newPlanner(in)
	for _, r := range in.Results {
		if !r.Committable() && r.Status != turn.Suspended {
			continue
		}
		if up := p.droppedNeed(r); up != "" {
			why := fmt.Sprintf("needs %s, whose writes were refused", up)
			if !p.droppable(r) {
				return blame(in, r, r.RuntimeID+" "+why)
			}
			p.dropped[r.RuntimeID] = why
			continue
		}
		facts, err := p.take(r)
		if err == nil {
			p.facts = append(p.facts, facts...)
			continue
		}
		if !p.droppable(r) {
			return blame(in, r, fmt.Sprintf("%s: %v", r.RuntimeID, err))
		}
		p.dropped[r.RuntimeID] = err.Error()
	}
	return p.finish()
}

type planner struct {
	in       In
	hasStory bool
	world    sdk.World
	records  records
	facts    []Fact
	dropped  map[string]string // runtime id → why

	suspended []suspended         // runs that wait for the player
	session   projections.Session // the clock as the commit goes
}

func newPlanner(in In) *planner {
	p := &planner{in: in, session: in.State.Session, world: world.Model(in.State), records: records{}, dropped: map[string]string{}}
	for _, r := range in.Results {
		p.hasStory = p.hasStory || (r.Story && r.Status == turn.Succeeded)
	}
	return p
}

// storyFailure refuses the commit before any write when a story runtime failed or ended without text. A story that was
// skipped by its guard or a gate, or waits for the player, is no failure.
func storyFailure(in In) (Out, bool) {
	for _, r := range in.Results {
		if !r.Story || r.Status == turn.Skipped || r.Status == turn.Suspended {
			continue
		}
		if r.Status == turn.Failed {
			return Failure(in, ReasonStory, r.Error), true
		}
		if StoryText(r.Segments) == "" {
			return Failure(in, ReasonStory, r.RuntimeID+" ended without a story"), true
		}
	}
	return Out{}, false
}

// droppable says whether a refused write costs only its own run (reference: api-and-protocol.md §4.6).
func (p *planner) droppable(r turn.Result) bool {
	return p.hasStory && !r.Story && r.Stage != manifest.Setup
}

// droppedNeed names the runs of which the run needs one, when all of them were dropped.
func (p *planner) droppedNeed(r turn.Result) string {
	for _, group := range r.Needs {
		kept := func(id string) bool { _, dropped := p.dropped[id]; return !dropped }
		if len(group) > 0 && !slices.ContainsFunc(group, kept) {
			return strings.Join(group, ", ")
		}
	}
	return ""
}

// take gives the facts of a run; of one that waits for the player nothing is written, what it staged is kept with it.
func (p *planner) take(r turn.Result) ([]Fact, error) {
	if r.Status == turn.Suspended {
		return nil, p.suspend(r)
	}
	return p.write(r)
}

// write gives the facts of one run, or the first refusal; a run's writes are all or nothing.
func (p *planner) write(r turn.Result) ([]Fact, error) {
	w := writer{planner: p, run: r, world: p.world, records: maps.Clone(p.records)}
	for i, pr := range r.Proposals {
		if why, refused := r.Refused[i]; refused {
			return nil, fmt.Errorf("%s: refused by a hook: %s", pr.Type, why)
		}
		if err := w.proposal(pr); err != nil {
			return nil, fmt.Errorf("%s: %w", pr.Type, err)
		}
	}
	p.world, p.records = w.world, w.records
	return w.facts, nil
}

func (p *planner) finish() Out {
	p.facts = append(p.facts, p.seats()...)
	p.facts = append(p.facts, p.handled()...)
	next := ""
	if p.in.Execution.Origin != OriginBackground {
		var clock []Fact
		clock, next = p.clock()
		p.facts = append(p.facts, clock...)
	}
	jobs := p.jobs()
	if len(p.suspended) > 0 {
		p.facts = append(p.facts, p.saved(p.countsTurn(), jobs)...)
		jobs = nil
	}
	if len(p.in.Results) > 0 {
		p.facts = append(p.facts, Fact{Message: results(p.in.Execution.ID, p.in.Results, p.dropped)})
	}
	p.facts = append(p.facts, jobs...)
	usage := &eventsv1.Usage{}
	done := &eventsv1.ExecutionCommitted{ExecutionId: p.in.Execution.ID, Outcomes: outcomes(p.in.Results, p.dropped, usage), Usage: usage, Next: next}
	p.facts = append(p.facts, Fact{Message: done})
	return Out{Facts: p.facts, Next: next}
}

// seats binds new player characters to the primary seat; the first becomes the one it plays, when it plays none (seed:
// tools.txt, "Duplicate check": "A new player character is bound to the default seat automatically").
func (p *planner) seats() []Fact {
	seat, ok := p.in.State.Session.PrimarySeat()
	if !ok {
		return nil
	}
	bound := len(seat.CharacterIDs)
	for _, f := range p.facts {
		up, ok := f.Message.(*eventsv1.CharacterUpserted)
		if !ok || up.Record.Type != world.PlayerType || p.hasPlayer(up.Record.Id) || slices.Contains(seat.CharacterIDs, up.Record.Id) {
			continue
		}
		seat.CharacterIDs = append(slices.Clone(seat.CharacterIDs), up.Record.Id)
		if seat.CurrentCharacterID == "" {
			seat.CurrentCharacterID = up.Record.Id
		}
	}
	if len(seat.CharacterIDs) == bound {
		return nil
	}
	return []Fact{{Message: &eventsv1.SeatChanged{Seat: &eventsv1.Seat{
		Id: seat.ID, Name: seat.Name, Role: seat.Role, Control: seat.Control, CharacterIds: seat.CharacterIDs,
		CurrentCharacterId: seat.CurrentCharacterID, Primary: seat.Primary,
	}}}}
}

// hasPlayer says whether the session had this player character before the commit, or a seat plays it.
func (p *planner) hasPlayer(id string) bool {
	c, known := p.in.State.Characters.Find(id)
	return known && c.Type == world.PlayerType || slices.ContainsFunc(p.in.State.Session.Seats, func(s projections.Seat) bool {
		return slices.Contains(s.CharacterIDs, id)
	})
}

// outcomes tells how each run ended and adds up what they cost. Errors come from anywhere, so their text is made clean.
func outcomes(results []turn.Result, dropped map[string]string, total *eventsv1.Usage) []*eventsv1.RuntimeOutcome {
	var out []*eventsv1.RuntimeOutcome
	for _, r := range results {
		u := &eventsv1.Usage{
			InputTokens: uint64(r.Usage.InputTokens), OutputTokens: uint64(r.Usage.OutputTokens),
			CachedInputTokens: uint64(r.Usage.CachedInputTokens), ModelCalls: uint32(r.Usage.ModelCalls), ToolCalls: uint32(r.Usage.ToolCalls),
		}
		total.InputTokens += u.InputTokens
		total.OutputTokens += u.OutputTokens
		total.CachedInputTokens += u.CachedInputTokens
		total.ModelCalls += u.ModelCalls
		total.ToolCalls += u.ToolCalls
		o := &eventsv1.RuntimeOutcome{
			RuntimeId: r.RuntimeID, PluginId: r.PluginID, RunId: r.RunID, Status: string(r.Status), StopReason: r.StopReason,
			SkipReason: errorText(r.SkipReason), Error: errorText(r.Error), Usage: u, Finalizer: r.Finalizer,
		}
		if why, ok := dropped[r.RuntimeID]; ok {
			o.Status, o.Error, o.Dropped = string(turn.Failed), errorText(why), true
		}
		out = append(out, o)
	}
	return out
}

// blame fails the execution because of one run, whose try it was.
func blame(in In, r turn.Result, message string) Out {
	in.Results = slices.Clone(in.Results)
	for i := range in.Results {
		if in.Results[i].RunID == r.RunID {
			in.Results[i].Status, in.Results[i].Error = turn.Failed, message
		}
	}
	return Failure(in, ReasonProposal, message)
}

// Failure gives the events of an execution that writes nothing of its own. A failed try of a setup runtime uses up an
// attempt all the same (seed: turn-pipeline.txt, "A few writes happen outside this transaction").
func Failure(in In, reason, message string) Out {
	usage := &eventsv1.Usage{}
	message = errorText(message)
	ev := &eventsv1.ExecutionFailed{
		ExecutionId: in.Execution.ID, Reason: reason, Error: message, Usage: usage,
		Outcomes: outcomes(in.Results, nil, usage), SetupAttempts: setupAttempts(in, message), Draft: Draft(in.Results),
	}
	return Out{Facts: []Fact{{Message: ev}}, Failed: true}
}

// Abort gives the events of an execution that was stopped. By the player's stop no attempt is used up; an execution that
// died with its process uses one for each setup runtime that was due.
func Abort(in In, reason string) Out {
	ev := &eventsv1.ExecutionAborted{ExecutionId: in.Execution.ID, Reason: reason, Draft: Draft(in.Results)}
	return Out{Facts: []Fact{{Message: ev}}, Failed: true}
}

// Draft keeps the prose of a story that did not commit, whole or partial; nil when there is none. What other runs wrote
// was never meant for the player.
func Draft(results []turn.Result) []byte {
	for _, r := range results {
		if !r.Story {
			continue
		}
		prose := r.Draft
		if prose == "" {
			prose = StoryText(r.Segments)
		}
		if prose = text.Clean(prose); prose != "" {
			b, _ := json.Marshal(map[string]string{"text": prose}) // of strings: cannot fail
			return b
		}
	}
	return nil
}

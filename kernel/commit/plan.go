// Package commit turns the results of an execution into the events of one append, or into the reason why nothing of it
// is written. It is the only way from a proposal to the log.
package commit

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/compaction"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
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
	// Spent is what the execution has used of its allowance, with what its chain had used before.
	Spent allowance.Spent
	// Policy is the runtime that the execution asks for turn-policy@1, "" for none.
	Policy string
	// Usage is what providers of extension points asked of models: no run's.
	Usage turn.Usage
	// Said are the lines of players that runs of this execution may have merged.
	Said []Said
	// Compaction of the history that the turn made, nil for none.
	Compaction *compaction.Result
	// Digests of the code that ran, by plugin: a job of it runs with the same, or is stale.
	Digests map[string]string
	// SuspensionTTL is how long a question waits: 0 the default, below 0 for ever.
	SuspensionTTL time.Duration
	// Topics may be emitted: an active plugin declares them. The values are the schemas of their data, nil for any.
	Topics map[string]json.RawMessage
	// DimensionProvider is the one plugin that provides world.dimensions@1, "" when there is none or more than one.
	DimensionProvider string
}

// Fact is one event to append, with the run that asked for it.
type Fact struct {
	Message  proto.Message
	RunID    string
	PluginID string
	AtOnce   bool // not a part of the execution: it stands whether that commits or not
}

// Out is the outcome. With Failed set, Facts holds only the ExecutionFailed.
type Out struct {
	Facts  []Fact
	Failed bool
	// Malformed names plugins whose proposals broke the rules of their type, with the first that did.
	Malformed map[string]string
	Next      string // what the same request goes on with: "", NextOpening or NextAdvance
}

// What a request goes on with after a commit.
const (
	NextOpening = "opening" // the set-up is complete
	NextAdvance = "advance" // the story asked for another round
)

// Reasons an execution does not commit.
const (
	ReasonStory    = "story-failed"    // the story runtime failed or gave no text
	ReasonProposal = "proposal-failed" // a write that belongs to the story, to a setup step, or to an execution without a story was refused
	ReasonInternal = "internal"
)

// Plan checks every proposal in execution order and gives the events of the commit (seed: turn-pipeline.txt, "Atomic
// boundary of a commit"). A run, the calls below it and its operations are a unit: all of it is written, or nothing. A
// refused unit beside a committed story is dropped with what depends on it; any other refusal fails the execution.
func Plan(in In) Out {
	if out, failed := resumeFailure(in); failed {
		return out
	}
	in.Results = slices.DeleteFunc(slices.Clone(in.Results), func(r turn.Result) bool { return r.Seed }) // committed before
	if out, failed := storyFailure(in); failed {
		return out
	}
	p := newPlanner(in)
	for _, r := range in.Results {
		refusal := p.unit(r)
		switch {
		case refusal == nil:
		case p.droppable(r):
			p.drop(r, refusal)
		default:
			return blame(in, r, refusal)
		}
	}
	return p.finish()
}

type planner struct {
	in       In
	hasStory bool
	stand    stand
	facts    []Fact
	dropped  map[string]string // runtime id → why

	suspended []suspended         // runs that wait for the player
	session   projections.Session // the clock as the commit goes

	verdicts verdicts
	gone     map[string]bool // ids of runs and operations that do not commit
	ops      []*eventsv1.OperationOutcome
}

// stand is what a commit has come to so far: what later proposals are held against.
type stand struct {
	world      sdk.World
	records    records
	dimensions projections.Dimensions
	media      map[string]bool // files that runs of this execution have stored
}

// clone is a savepoint: what is written to one does not show in the other.
func (s stand) clone() stand {
	s.records, s.media = maps.Clone(s.records), maps.Clone(s.media)
	return s
}

func newPlanner(in In) *planner {
	p := &planner{
		in: in, session: in.State.Session, dropped: map[string]string{}, verdicts: verdicts{}, gone: map[string]bool{},
		stand: stand{world: world.Model(in.State), records: records{}, dimensions: in.State.Dimensions, media: map[string]bool{}},
	}
	for _, r := range in.Results {
		p.hasStory = p.hasStory || (r.Story && r.Status == turn.Succeeded)
	}
	return p
}

// storyFailure refuses the commit before any write when a story runtime failed or ended without text. A story that was
// skipped by its guard or a gate, or that waits for the player, is no failure.
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

func (p *planner) finish() Out {
	p.facts = append(p.facts, p.obligation()...)
	p.facts = append(p.facts, p.exports()...)
	p.facts = append(p.facts, p.seats()...)
	p.facts = append(p.facts, p.handled()...)
	p.facts = append(p.facts, p.compacted()...)
	next := ""
	if p.in.Execution.Origin != OriginBackground {
		var clock []Fact
		clock, next = p.clock()
		if next == "" && p.advances() {
			next = NextAdvance
		}
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
	ran, usage := outcomes(p.in, p.dropped, p.verdicts)
	done := &eventsv1.ExecutionCommitted{ExecutionId: p.in.Execution.ID, Outcomes: ran, Usage: usage, Next: next, Operations: p.ops, Spent: spentByChain(p.in)}
	p.facts = append(p.facts, Fact{Message: done})
	return Out{Facts: p.facts, Next: next, Malformed: malformed(p.in.Results, p.verdicts)}
}

package turn

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// MaxEventDepth bounds the chain of events that runs of one stage may set off.
const MaxEventDepth = 8

// raised is the emission of a topic that wins at its depth, and everyone who emitted it there.
type raised struct {
	event    sdk.EmittedEvent
	emitters []string
}

// follow gives the event runtimes that the topics raised since the last look set off, each once in an execution. At each
// depth the first emission of a topic wins, and a payload that is dropped for it is reported; failed runs raise nothing;
// what is raised beyond MaxEventDepth sets off nobody. A retry sets off nobody at all (seed: turn-pipeline.txt §4.3,
// tools.txt, "The scope of de-duplication"; reference: plugins.md §7.4, api-and-protocol.md §2.5, "No widening by event
// subscribers").
func (s State) follow() (State, []manifest.Runtime, []Diagnostic) {
	fresh := s.Results[s.looked:]
	s.looked = len(s.Results)
	s.raised = map[string]raised{}
	if s.plan.Phase == projections.PhaseSetup || s.plan.retry() {
		return s, nil, nil
	}
	topics, hazards := s.gather(fresh)
	if s.depth >= MaxEventDepth {
		s.raised = map[string]raised{}
		if len(topics) == 0 {
			return s, nil, nil
		}
		return s, nil, []Diagnostic{{Code: HazardEventDepth, Message: fmt.Sprintf("events set off runs %d deep; what these raise sets off nobody", MaxEventDepth), Data: map[string]string{"topic": topics[0]}}}
	}
	var out []manifest.Runtime
	for _, r := range s.plan.Active {
		if r.Schedule.Trigger == manifest.TriggerEvent && !r.Schedule.SubagentOnly && ShouldTrigger(r, s.plan.Session, s.plan.LogicalTurn, topics) && !s.ran(r.ID) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byID)
	return s, out, hazards
}

// gather collects what runs have raised, in commit order: recursive calls before their callers.
func (s State) gather(results []Result) (topics []string, hazards []Diagnostic) {
	for _, r := range results {
		if !r.Committable() {
			continue
		}
		more, dropped := s.gather(r.Nested)
		topics, hazards = append(topics, more...), append(hazards, dropped...)
		for _, e := range r.Events {
			won, known := s.raised[e.Topic]
			if !known {
				won.event = e
				topics = append(topics, e.Topic)
			} else {
				hazards = append(hazards, Diagnostic{
					Code: HazardEventDropped, RuntimeID: r.RuntimeID, Data: map[string]string{"topic": e.Topic, "depth": strconv.Itoa(s.depth + 1)},
					Message: fmt.Sprintf("%s was emitted before at this depth; the payload of %s reaches nobody", e.Topic, r.RuntimeID),
				})
			}
			if !slices.Contains(won.emitters, r.RuntimeID) {
				won.emitters = append(won.emitters, r.RuntimeID)
			}
			s.raised[e.Topic] = won
		}
	}
	return topics, hazards
}

// cause is what sets off an event runtime: what was raised at this depth; in a retry, what its source turn raised.
func (s State) cause(r manifest.Runtime) (raised, bool) {
	if r.Schedule.Trigger != manifest.TriggerEvent {
		return raised{}, false
	}
	if s.plan.retry() {
		for _, seed := range s.seeds {
			for _, e := range seed.Events {
				if e.Topic == r.Schedule.Topic {
					return raised{event: e}, true
				}
			}
		}
	}
	cause, ok := s.raised[r.Schedule.Topic]
	return cause, ok
}

// ran says whether a runtime has had its turn in this execution: a result, or a job that is to be queued.
func (s State) ran(id string) bool {
	return slices.ContainsFunc(s.Results, func(r Result) bool { return r.RuntimeID == id }) ||
		slices.ContainsFunc(s.Deferred, func(d Deferred) bool { return d.Run.Runtime.ID == id })
}

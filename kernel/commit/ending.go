package commit

import (
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

const stageSetup = string(manifest.Setup)

// Ending is the end of one suspension.
type Ending struct {
	ID     string
	End    string // projections.SuspensionResolved, …
	Reason string // voided: why
	Next   string // continued: the item the chain goes on with
	RunID  string // what caused it
}

// EndSuspensions gives the facts that end items outside of a commit: abandoned, expired, voided. An item that does not wait
// is left out.
func EndSuspensions(s projections.State, ends ...Ending) []Fact {
	facts, _ := end(s, ends, nil)
	return facts
}

// end ends items in order. The exit that ends a turn, in which no item waits any more, counts it and queues what waited; a
// chain that goes on does not end its turn (seed: turn-pipeline.txt §2.3, "a whole chain of suspensions counts once, when it
// ends"). going are turns that get a new item in the same append. It also gives the clock after the facts.
func end(s projections.State, ends []Ending, going map[string]bool) ([]Fact, projections.Session) {
	session := s.Session
	waiting := map[string]int{} // by logical turn
	for _, x := range s.Suspensions.Waiting {
		waiting[x.LogicalTurnID]++
	}
	done := map[string]bool{}
	var facts []Fact
	for _, e := range ends {
		x, ok := s.Suspensions.Find(e.ID)
		if !ok || done[e.ID] {
			continue
		}
		done[e.ID] = true
		waiting[x.LogicalTurnID]--
		last := waiting[x.LogicalTurnID] == 0 && !going[x.LogicalTurnID]
		facts = append(facts, Fact{Message: endEvent(e, last), RunID: e.RunID, PluginID: x.PluginID})
		if su, ok := abandonedAttempt(session, x, e); ok {
			facts = append(facts, Fact{Message: &eventsv1.SetupRuntimeChanged{Setup: su}, PluginID: x.PluginID})
			session.Setup = replaceSetup(session.Setup, su)
		}
		if !last {
			continue
		}
		held, _ := s.Suspensions.HeldOf(x.LogicalTurnID)
		if held.Counts && session.LastCounted != x.LogicalTurnID {
			session.CompletedPlayerTurns++
			session.LastCounted = x.LogicalTurnID
			facts = append(facts, Fact{Message: &eventsv1.PlayerTurnCounted{
				LogicalTurnId: x.LogicalTurnID, CompletedPlayerTurns: session.CompletedPlayerTurns,
			}})
		}
		facts = append(facts, release(held.Events)...)
	}
	return facts, session
}

func endEvent(e Ending, last bool) proto.Message {
	switch e.End {
	case projections.SuspensionResolved:
		return &eventsv1.SuspensionResolved{SuspensionId: e.ID, Last: last}
	case projections.SuspensionContinued:
		return &eventsv1.SuspensionContinued{SuspensionId: e.ID, NextId: e.Next}
	case projections.SuspensionExpired:
		return &eventsv1.SuspensionExpired{SuspensionId: e.ID, Last: last}
	case projections.SuspensionAbandoned:
		return &eventsv1.SuspensionAbandoned{SuspensionId: e.ID, Last: last}
	}
	return &eventsv1.SuspensionVoided{SuspensionId: e.ID, Reason: e.Reason, Last: last}
}

// abandonedAttempt records the try of a setup runtime that got no answer (seed: turn-pipeline.txt §2.1, "When its suspended
// item is abandoned, expires or is voided, the attempt is recorded as failed").
func abandonedAttempt(s projections.Session, x projections.Suspension, e Ending) (*eventsv1.SetupRuntime, bool) {
	if x.Stage != stageSetup || e.End == projections.SuspensionResolved || e.End == projections.SuspensionContinued {
		return nil, false
	}
	why := "its question was " + e.End
	return setupAfter(s, turn.Result{RuntimeID: x.RuntimeID, Stage: manifest.Setup, Status: turn.Failed, Error: why}, why)
}

// hold packs facts that the end of the turn appends. They are events of this program: they can be written.
func hold(facts []Fact) []*eventsv1.HeldEvent {
	var out []*eventsv1.HeldEvent
	for _, f := range facts {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(f.Message)
		if err != nil {
			panic("commit: hold " + events.TypeOf(f.Message) + ": " + err.Error())
		}
		out = append(out, &eventsv1.HeldEvent{Type: events.TypeOf(f.Message), Data: b, RunId: f.RunID, PluginId: f.PluginID})
	}
	return out
}

// release unpacks them. What this program cannot read any more it cannot run either.
func release(held []projections.HeldEvent) []Fact {
	var out []Fact
	for _, h := range held {
		entry, ok := events.Lookup(h.Type)
		if !ok {
			continue
		}
		msg := entry.New()
		if proto.Unmarshal(h.Data, msg) == nil {
			out = append(out, Fact{Message: msg, RunID: h.RunID, PluginID: h.PluginID})
		}
	}
	return out
}

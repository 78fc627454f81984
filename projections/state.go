// Package projections holds the pure folds. Apply takes a state and one recorded event and gives the next state; it reads
// nothing but its arguments: no clock, no plugin, no schema, no world file. The same fold serves a session in memory and
// every read model, so that a rule is written once.
package projections

import (
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Fingerprint names the meaning of the folds. Change it whenever a fold gives another state for the same events: stored
// snapshots and read models made by an older meaning are then thrown away and built anew.
const Fingerprint = "covel-fold-1"

// State is the hot state of one session: an immutable value with shared structure. The zero value is a stream without
// events.
type State struct {
	Version      events.Version // of the last event applied
	LastID       string         // id of that event, for clients that resume
	Session      Session
	History      History
	Interactions Interactions
	Characters   Characters
	Lorebook     Lorebook
	PluginData   PluginData

	// staged holds path events of an execution that has not committed yet (events.OnCommit), in order.
	staged []stagedEvent
}

type stagedEvent struct {
	execution string
	recorded  events.Recorded
	msg       proto.Message
}

// ErrOutOfOrder: the event is not the next one of the stream.
var ErrOutOfOrder = errors.New("projections: event is not the next of its stream")

// Apply folds one event. An event that cannot be decoded, or is not the next of its stream, is an error and the state is
// returned unchanged.
func Apply(s State, r events.Recorded) (State, error) {
	if r.Version != s.Version+1 {
		return s, errors.Wrapf(ErrOutOfOrder, "stream %s: have version %d, got %d", r.Stream, s.Version, r.Version)
	}
	msg, err := events.Decode(r.Event)
	if err != nil {
		return s, errors.Wrapf(err, "stream %s version %d", r.Stream, r.Version)
	}
	return ApplyDecoded(s, r, msg), nil
}

// ApplyDecoded is Apply for an event that is already decoded and known to be the next one.
func ApplyDecoded(s State, r events.Recorded, msg proto.Message) State {
	s.Version = r.Version
	s.LastID = r.ID.String()
	execution := r.Metadata.GetCausationId()
	if e, _ := events.Lookup(r.Type); e.Effect == events.OnCommit && execution != "" {
		s.staged = append(s.staged[:len(s.staged):len(s.staged)], stagedEvent{execution, r, msg})
		return s
	}
	switch m := msg.(type) {
	case *eventsv1.ExecutionCommitted:
		if in := s.Session.pendingInput(m.ExecutionId); in != nil {
			s.History = s.History.appendPlayer(r, *in)
		}
		var rest []stagedEvent
		for _, st := range s.staged {
			if st.execution == m.ExecutionId {
				s = s.apply(st.recorded, st.msg)
			} else {
				rest = append(rest, st)
			}
		}
		s.staged = rest
	case *eventsv1.ExecutionFailed:
		s.staged = dropStaged(s.staged, m.ExecutionId)
	case *eventsv1.ExecutionAborted:
		s.staged = dropStaged(s.staged, m.ExecutionId)
	}
	return s.apply(r, msg)
}

func dropStaged(staged []stagedEvent, execution string) []stagedEvent {
	var rest []stagedEvent
	for _, st := range staged {
		if st.execution != execution {
			rest = append(rest, st)
		}
	}
	return rest
}

func (s State) apply(r events.Recorded, msg proto.Message) State {
	s.Session = s.Session.apply(r, msg)
	s.History = s.History.apply(r, msg)
	s.Interactions = s.Interactions.apply(r, msg)
	s.Characters = s.Characters.apply(r, msg)
	s.Lorebook = s.Lorebook.apply(msg)
	s.PluginData = s.PluginData.apply(r, msg)
	return s
}

// Package projections holds the pure folds. Apply takes a state and one recorded event and gives the next state; it reads
// nothing but its arguments: no clock, no plugin, no schema, no world file. The same fold serves a session in memory and
// every read model, so that a rule is written once.
package projections

import (
	"slices"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Fingerprint names the meaning of the folds. Change it whenever a fold gives another state for the same events: stored
// snapshots and read models made by an older meaning are then thrown away and built anew.
const Fingerprint = "covel-fold-13"

// State is the hot state of one session: an immutable value with shared structure. The zero value is a stream without
// events.
type State struct {
	Version     events.Version // of the last event applied
	LastID      string         // id of that event, for clients that resume
	Session     Session
	Suspensions Suspensions
	Jobs        Jobs
	Tree        Tree
	Path

	// staged holds the path events (events.OnCommit) of executions that have not ended yet.
	staged *stagedEvent
	// rows: this is the fold of Rows, which keeps no path.
	rows bool
}

// Path is what follows the head of a session (events of path scope), beside the clock, which stands in Session. A fold of
// path events belongs here: a move of the head then takes it along.
type Path struct {
	History      History
	Latest       Latest
	Interactions Interactions
	Characters   Characters
	Lorebook     Lorebook
	PluginData   PluginData
	Exports      Exports
	Dimensions   Dimensions
	Assets       Assets
}

// stagedEvent waits for the commit of its execution. Events point at the one that was staged before them, so that staging
// shares all of what an older state holds.
type stagedEvent struct {
	before   *stagedEvent
	recorded events.Recorded
	msg      proto.Message
}

func (e *stagedEvent) execution() string { return e.recorded.Metadata.GetCausationId() }

// inOrder gives the staged events, oldest first.
func (e *stagedEvent) inOrder() []*stagedEvent {
	var out []*stagedEvent
	for ; e != nil; e = e.before {
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}

// without gives what is staged for other executions.
func (e *stagedEvent) without(execution string) *stagedEvent {
	var rest *stagedEvent
	for _, x := range e.inOrder() {
		if x.execution() != execution {
			rest = &stagedEvent{rest, x.recorded, x.msg}
		}
	}
	return rest
}

// ErrOutOfOrder: the event is not the next one of the stream.
var ErrOutOfOrder = errors.New("projections: event is not the next of its stream")

// Apply folds one event. An event that is not the next of its stream (ErrOutOfOrder), cannot be decoded, or has no meaning
// (ErrNoMeaning) is an error, and the state is returned unchanged. ErrWholeNeeded: the state came from a snapshot and the
// event goes back to before it; fold from the beginning instead.
func Apply(s State, r events.Recorded) (State, error) {
	if r.Version != s.Version+1 {
		return s, errors.Wrapf(ErrOutOfOrder, "stream %s: have version %d, got %d", r.Stream, s.Version, r.Version)
	}
	msg, err := events.Decode(r.Event)
	if err != nil {
		return s, errors.Wrapf(err, "stream %s version %d", r.Stream, r.Version)
	}
	if err := understand(msg); err != nil {
		return s, errors.Wrapf(err, "stream %s version %d: %s", r.Stream, r.Version, r.Type)
	}
	if m, ok := msg.(*eventsv1.HeadMoved); ok {
		if s, err = s.moved(r, m); err != nil {
			return s, errors.Wrapf(err, "stream %s version %d", r.Stream, r.Version)
		}
	}
	return s.next(r, msg), nil
}

// next folds an event that is known to be the next one and to have a meaning. A path event of an execution waits for the
// commit; one outside of executions counts at once.
func (s State) next(r events.Recorded, msg proto.Message) State {
	s.Version = r.Version
	s.LastID = r.ID.String()
	s.History.begun = s.History.Dropped + s.History.Len()
	if e, _ := events.Lookup(r.Type); e.Effect == events.OnCommit && r.Metadata.GetCausationId() != "" {
		s.staged = &stagedEvent{s.staged, r, msg}
		return s
	}
	switch m := msg.(type) {
	case *eventsv1.ExecutionCommitted:
		if in := s.Session.pendingInput(m.ExecutionId); in != nil {
			s.History = s.History.appendPlayer(r, *in)
		}
		for _, st := range s.staged.inOrder() {
			if st.execution() == m.ExecutionId {
				s = s.apply(st.recorded, st.msg)
			}
		}
		s.staged = s.staged.without(m.ExecutionId)
		s.Tree = s.Tree.played(s.Session, m.ExecutionId)
	case *eventsv1.ActionsSubmitted:
		s = s.marked(r.Version-1, carriesLine(m.Type) && (len(m.Actions) > 0 || s.Session.Draft != nil))
	case *eventsv1.ExecutionFailed:
		s.staged = s.staged.without(m.ExecutionId)
	case *eventsv1.ExecutionAborted:
		s.staged = s.staged.without(m.ExecutionId)
	}
	return s.apply(r, msg)
}

func (s State) apply(r events.Recorded, msg proto.Message) State {
	open := s.Session.Open
	s.Suspensions = s.Suspensions.apply(r, msg, open)
	if s.Jobs.background(msg) {
		s.Session.UpdatedAt = r.RecordedAt
	} else {
		s.Session = s.Session.apply(r, msg)
	}
	s.Jobs = s.Jobs.apply(r, msg)
	s.History = s.History.apply(r, msg, s.anchor(r, open))
	s.Latest = s.Latest.apply(r, msg, open)
	s.Tree = s.Tree.apply(msg)
	s.Interactions = s.Interactions.apply(r, msg)
	s.Characters = s.Characters.apply(r, msg)
	s.Lorebook = s.Lorebook.apply(msg)
	s.PluginData = s.PluginData.apply(r, msg)
	s.Exports = s.Exports.apply(r, msg)
	s.Dimensions = s.Dimensions.Apply(msg)
	s.Assets = s.Assets.apply(r, msg)
	return s
}

// Preview gives the state as it would be if the events counted now. Versions and times of what they write are empty: it is
// for looking at content before it is appended.
func (s State) Preview(msgs ...proto.Message) State {
	for _, msg := range msgs {
		s = s.apply(events.Recorded{}, msg)
	}
	return s
}

// anchor is what rows of the execution hang on: for one that goes on from another turn that turn, and its story when it
// is the newest (seed: turn-pipeline.txt, "Plugin messages are linked to the original story anchor").
func (s State) anchor(r events.Recorded, open *Execution) Anchor {
	if open == nil || open.ID != r.Metadata.GetCausationId() || open.SourceTurnID == "" {
		return Anchor{}
	}
	a := Anchor{SourceTurnID: open.SourceTurnID}
	if s.Latest.TurnID == open.SourceTurnID {
		a.AnchorID = s.Latest.AnchorID
	}
	return a
}

package projections

import (
	"slices"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// MaxTurnsBack is how many player turns, and how many points to go back to, a session remembers. Older ones stay in the log.
const MaxTurnsBack = 100

// ErrWholeNeeded: the event moves the head to before the snapshot that this state was read from.
var ErrWholeNeeded = errors.New("projections: the head moves to before the snapshot; fold from the beginning")

// Tree tells how the player turns of a session stand to each other. Nothing in the log is rewritten: a turn that the head
// left stays reachable (design §8).
type Tree struct {
	Turns []Take  `json:"turns,omitempty"` // in the order in which they were played
	Head  string  `json:"head,omitempty"`  // the newest turn of the path, "" before the first
	Marks []*Mark `json:"marks,omitempty"` // where the head may go, by version; never changed once they are in
	Base  *Mark   `json:"base,omitempty"`  // before the input that is being played
	// Point is the version the head moved to when nothing was played since; 0 otherwise.
	Point events.Version `json:"point,omitempty"`
	// Since is the version behind which all rows of the path are younger than the last move of the head; 0: it never moved.
	Since events.Version `json:"since,omitempty"`
	// Visible are the ranges of versions of the path up to Since.
	Visible []Range `json:"visible,omitempty"`
}

// Take is one player turn. Turns with the same base are takes of the same moment.
type Take struct {
	TurnID string         `json:"turnId"`
	Before string         `json:"before,omitempty"` // the turn before it on its path
	Base   events.Version `json:"base"`             // the end of what went before
	Tip    events.Version `json:"tip,omitempty"`    // where the head was when it last left the path of this turn; 0 while it is there
	Name   string         `json:"name,omitempty"`
}

// Mark is a point the head may go to: the end of a logical turn, with nothing open.
type Mark struct {
	Version     events.Version `json:"version"`
	Head        string         `json:"head,omitempty"`
	Turns       uint32         `json:"turns"` // completed player turns
	LastCounted string         `json:"lastCounted,omitempty"`
	Since       events.Version `json:"since,omitempty"`
	Visible     []Range        `json:"visible,omitempty"`
	Latest      Latest         `json:"latest,omitzero"` // its anchor

	path   *Path // nil when the mark was read from a snapshot
	setup  []SetupRuntime
	ledger []LedgerEntry
}

// Range is a stretch of versions, both ends included.
type Range struct {
	From events.Version `json:"from"`
	To   events.Version `json:"to"`
}

// Take finds a turn.
func (t Tree) Take(turnID string) (Take, bool) {
	for _, x := range t.Turns {
		if x.TurnID == turnID {
			return x, true
		}
	}
	return Take{}, false
}

// Takes gives the turns of the same moment as this one, itself included, oldest first.
func (t Tree) Takes(turnID string) (out []Take) {
	of, ok := t.Take(turnID)
	for _, x := range t.Turns {
		if ok && x.Base == of.Base && x.Before == of.Before {
			out = append(out, x)
		}
	}
	return out
}

// Told is how many takes there are of the moment whose input is being played; 0 when none is.
func (t Tree) Told() (n int) {
	for _, x := range t.Turns {
		if t.Base != nil && x.Base == t.Base.Version && x.Before == t.Head {
			n++
		}
	}
	return n
}

// OnPath gives the turns of the path, newest first, as far as they are remembered.
func (t Tree) OnPath() (out []Take) {
	for id := t.Head; id != ""; {
		x, ok := t.Take(id)
		if !ok {
			break
		}
		out = append(out, x)
		id = x.Before
	}
	return out
}

// EndOf gives the version at which a turn and what followed from it stood when its path was last played: for a turn of the
// path the base of the next one, the newest version for the newest turn.
func (t Tree) EndOf(turnID string, newest events.Version) (events.Version, bool) {
	next := newest
	for _, x := range t.OnPath() {
		if x.TurnID == turnID {
			return next, true
		}
		next = x.Base
	}
	x, ok := t.Take(turnID)
	return x.Tip, ok && x.Tip != 0
}

// Mark finds a point by its version.
func (t Tree) Mark(at events.Version) (*Mark, bool) {
	i, ok := slices.BinarySearchFunc(t.Marks, at, func(m *Mark, at events.Version) int { return int(m.Version) - int(at) })
	if !ok {
		return nil, false
	}
	return t.Marks[i], true
}

// CanMove says whether the head can go to a mark without folding the log from its beginning.
func (m *Mark) CanMove() bool { return m.path != nil }

// Shows says whether a row of this version is part of the path.
func (t Tree) Shows(v events.Version) bool {
	return v > t.Since || slices.ContainsFunc(t.Visible, func(r Range) bool { return r.From <= v && v <= r.To })
}

// marked remembers the point before an input of the playing phase. Nothing is open there: an input waits for its turn.
func (s State) marked(at events.Version, input bool) State {
	if s.Session.Phase != PhasePlaying || s.Session.Open != nil || !input {
		s.Tree.Base = nil
		return s
	}
	s.Tree.Base = s.mark(at)
	if m, ok := s.Tree.Mark(s.Tree.Point); ok { // takes of one moment have the same base
		s.Tree.Base = m
	}
	return s
}

func (s State) mark(at events.Version) *Mark {
	path := s.Path
	return &Mark{
		Version: at, Head: s.Tree.Head, Turns: s.Session.CompletedPlayerTurns, LastCounted: s.Session.LastCounted,
		Since: s.Tree.Since, Visible: s.Tree.Visible, Latest: s.Latest.anchor(), path: &path, setup: s.Session.Setup, ledger: s.Session.Ledger,
	}
}

// played adds the player turn that has just committed. Further rounds of one input belong to its first turn.
func (t Tree) played(s Session, execution string) Tree {
	t.Point = 0
	if t.Base == nil || s.Open == nil || s.Open.ID != execution || s.Open.Origin != "player" {
		return t
	}
	turns := append(slices.Clone(t.Turns), Take{TurnID: execution, Before: t.Head, Base: t.Base.Version})
	t.Turns = turns[max(0, len(turns)-MaxTurnsBack):]
	t = t.keep(t.Base)
	t.Head, t.Base = execution, nil
	return t
}

// bare drops what only the state of a session needs.
func (t Tree) bare() Tree {
	t.Marks = slices.Clone(t.Marks)
	for i, m := range t.Marks {
		if m.path != nil {
			plain := *m
			plain.path, plain.setup, plain.ledger = nil, nil, nil
			t.Marks[i] = &plain
		}
	}
	return t
}

func (t Tree) keep(m *Mark) Tree {
	if _, known := t.Mark(m.Version); known {
		return t
	}
	marks := append(t.Marks[:len(t.Marks):len(t.Marks)], m)
	slices.SortFunc(marks, func(a, b *Mark) int { return int(a.Version) - int(b.Version) })
	t.Marks = marks[max(0, len(marks)-MaxTurnsBack):]
	return t
}

func (t Tree) apply(msg proto.Message) Tree {
	switch m := msg.(type) {
	case *eventsv1.BranchNamed:
		t.Turns = slices.Clone(t.Turns)
		for i := range t.Turns {
			if t.Turns[i].TurnID == m.TurnId {
				t.Turns[i].Name = m.Name
			}
		}
	case *eventsv1.MessageRevised, *eventsv1.LoreEdited:
		t.Point = 0 // what follows the head has changed there
	}
	return t
}

// moved goes to another point: what follows the head is as it was there, the point that is left can be gone back to.
func (s State) moved(r events.Recorded, m *eventsv1.HeadMoved) (State, error) {
	to, known := s.Tree.Mark(events.Version(m.To))
	switch {
	case !known:
		return s, errors.Wrapf(ErrNoMeaning, "there is no point to go to at version %d", m.To)
	case s.rows:
		s = s.headed(r, to)
		s.Latest = to.Latest
		return s, nil
	case to.path == nil:
		return s, errors.Wrapf(ErrWholeNeeded, "version %d", m.To)
	}
	s = s.headed(r, to)
	s.Path = *to.path
	s.Session.Setup, s.Session.Ledger = to.setup, to.ledger
	return s, nil
}

// headed is the part of a move that needs no more than the mark.
func (s State) headed(r events.Recorded, to *Mark) State {
	left, t := s.mark(r.Version-1), s.Tree
	if m, ok := t.Mark(t.Point); ok { // nothing was played there
		left = m
	}
	t.Turns = slices.Clone(t.Turns)
	on := map[string]bool{}
	for _, x := range t.OnPath() {
		on[x.TurnID] = true
	}
	t = t.keep(left)
	t.Head, t.Base = to.Head, nil
	for _, x := range t.OnPath() {
		delete(on, x.TurnID)
	}
	for i := range t.Turns {
		switch {
		case on[t.Turns[i].TurnID]:
			t.Turns[i].Tip = left.Version
		case slices.ContainsFunc(t.OnPath(), func(x Take) bool { return x.TurnID == t.Turns[i].TurnID }):
			t.Turns[i].Tip = 0
		}
	}
	t.Visible = append(slices.Clone(to.Visible), Range{to.Since + 1, to.Version})
	t.Since, t.Point = r.Version-1, to.Version
	s.Tree = t
	s.Session.CompletedPlayerTurns, s.Session.LastCounted = to.Turns, to.LastCounted
	return s
}

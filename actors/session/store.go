package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/safego"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// Snapshots keeps hot states between activations. Load gives the newest that fits the folds, and ok false when there is
// none; a snapshot is an optimisation and its failures are no failures of the session.
type Snapshots interface {
	Load(ctx context.Context, sessionID string) (s projections.State, ok bool, err error)
	Save(ctx context.Context, sessionID string, s projections.State) error
}

// ValidateTimeout bounds what form validators may take; what they say later is not heard.
const ValidateTimeout = 5 * time.Second

// AppendTimeout bounds one append; past it the outcome is unknown.
const AppendTimeout = 15 * time.Second

// append runs outside of Receive: while it is under way the session answers reads and stops.
func (s *session) append(c actor.Context, a kernel.Append) {
	self, root, ctx := c.Self(), c.ActorSystem().Root, s.ctx
	stream := kernel.StreamOf(s.SessionID)
	safego.Go("append", func() {
		in := kernel.Input(kernel.AppendUnknown{}) // a panic in the store leaves the outcome unknown
		defer func() { root.Send(self, input{in}) }()
		if a.Attempt > 0 {
			wait := time.NewTimer(min(50*time.Millisecond<<min(a.Attempt, 7), 5*time.Second))
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-ctx.Done():
				return
			}
		}
		call, cancel := context.WithTimeout(ctx, AppendTimeout)
		defer cancel()
		done, err := s.Store.Append(call, stream, a.Expected, a.Events)
		switch {
		case err == nil:
			s.Log.Debug("appended", "session", s.SessionID, "why", a.Kind, "events", len(a.Events), "version", uint64(a.Expected)+uint64(len(a.Events)))
			in = kernel.AppendDone{RecordedAt: done.RecordedAt, Position: uint64(done.Position)}
		case errors.Is(err, events.ErrWrongVersion):
			in = kernel.AppendLost{}
		case errors.Is(err, events.ErrUnknown):
			s.Log.Warn("outcome of an append is unknown", "session", s.SessionID, "attempt", a.Attempt, "error", err)
		case call.Err() != nil:
		default:
			s.Log.Error("append refused", "session", s.SessionID, "error", err)
			in = kernel.AppendRefused{Error: refusalText(err)}
		}
	})
}

// refusalText is what a player reads of an append that the store refused: never the words of a database.
func refusalText(err error) string {
	if errors.Is(err, events.ErrInvalid) { // our own words: what is too large, or no event
		return err.Error()
	}
	return "the server cannot save anything at the moment"
}

// settle asks validators, which are plugin code, outside of Receive. A command that answers nothing has nothing to ask.
func (s *session) settle(c actor.Context, cmd kernel.Command) {
	self, root, ctx, view := c.Self(), c.ActorSystem().Root, s.ctx, s.state.Hot
	if cmd.Type == kernel.ResumeSuspension {
		settled := kernel.Settled{ExecutionID: cmd.ExecutionID}
		if s.OutOfDate != nil {
			settled.OutOfDate = s.OutOfDate(view, cmd.SuspensionID)
		}
		c.Send(self, input{settled})
		return
	}
	var installed *kernel.Installed
	if s.Installed != nil {
		installed = s.Installed(view)
	}
	if !slices.ContainsFunc(cmd.Actions, func(a projections.Action) bool { return a.Interaction != nil }) {
		c.Send(self, input{kernel.Settled{ExecutionID: cmd.ExecutionID, Installed: installed}})
		return
	}
	var once sync.Once
	settled := func(issues []kernel.Issue) {
		once.Do(func() {
			root.Send(self, input{kernel.Settled{ExecutionID: cmd.ExecutionID, Issues: issues, Installed: installed}})
		})
	}
	late := time.AfterFunc(ValidateTimeout, func() {
		settled([]kernel.Issue{{Message: "the form's own check took too long; try again"}})
	})
	safego.Go("settle", func() {
		issues := []kernel.Issue{{Message: "the form's own check failed; try again"}}
		defer func() { late.Stop(); settled(issues) }()
		call, cancel := context.WithTimeout(ctx, ValidateTimeout)
		defer cancel()
		issues = s.Validate(call, view, cmd)
	})
}

// refold reads the stream from the newest fitting snapshot on, or whole.
func (s *session) refold(c actor.Context, whole bool) {
	self, root, ctx := c.Self(), c.ActorSystem().Root, s.ctx
	safego.Go("refold", func() {
		snapshots := s.Snapshots
		if whole {
			snapshots = nil
		}
		state, err := Fold(ctx, s.Store, snapshots, s.SessionID)
		if err != nil {
			root.Send(self, unreadable{err})
			return
		}
		open := state.Session.Open
		root.Send(self, input{kernel.Recovered{State: state, OwnerAlive: open != nil && s.OwnerAlive(ownerOf(state)), JobOwnersAlive: s.jobOwners(state)}})
	})
}

// Fold gives the state of a session from its newest fitting snapshot and the events after it; where these go back to
// before the snapshot, from the beginning. A read never appends.
func Fold(ctx context.Context, store events.Store, snapshots Snapshots, sessionID string) (projections.State, error) {
	state, err := foldFrom(ctx, store, snapshots, sessionID)
	if errors.Is(err, projections.ErrWholeNeeded) {
		return foldFrom(ctx, store, nil, sessionID)
	}
	return state, err
}

func foldFrom(ctx context.Context, store events.Store, snapshots Snapshots, sessionID string) (projections.State, error) {
	var state projections.State
	if snapshots != nil {
		if sn, ok, err := snapshots.Load(ctx, sessionID); err == nil && ok {
			// A snapshot of another life of the log names an event that does not stand there.
			for r, err := range store.ReadStreamBackward(ctx, kernel.StreamOf(sessionID), sn.Version) {
				if err == nil && r.Version == sn.Version && r.ID.String() == sn.LastID {
					state = sn
				}
				break
			}
		}
	}
	for r, err := range store.ReadStream(ctx, kernel.StreamOf(sessionID), state.Version+1) {
		if err != nil {
			return state, errors.Wrapf(err, "read session %s", sessionID)
		}
		if state, err = projections.Apply(state, r); err != nil {
			return state, errors.Wrapf(err, "fold session %s", sessionID)
		}
	}
	return state, nil
}

func (s *session) saveSnapshot(state projections.State) {
	if s.Snapshots == nil {
		return
	}
	background := s.Background
	if background == nil {
		background = safego.Go
	}
	background("snapshot", func() {
		ctx, cancel := context.WithTimeout(context.Background(), AppendTimeout)
		defer cancel()
		if err := s.Snapshots.Save(ctx, s.SessionID, state); err != nil {
			s.Log.Warn("snapshot not saved", "session", s.SessionID, "error", err)
		}
	})
}

// Package session is the shell of kernel/session: one actor per session. It carries out the effects that the pure machine
// asks for, feeds the outcomes back, and shows what was appended to those who follow. It decides nothing.
package session

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
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

// Deps is what a session actor needs from outside.
type Deps struct {
	SessionID  string
	Self       kernel.Owner
	Store      events.Store
	Snapshots  Snapshots // may be nil
	NewID      func() string
	OwnerAlive func(kernel.Owner) bool
	// Validate asks plugin form validators about the answers of a command.
	Validate func(ctx context.Context, view projections.State, cmd kernel.Command) []kernel.Issue
	// Turn gives the actor that runs an execution. It tells its parent kernel.Progress and kernel.TurnEnded.
	Turn      func(kernel.StartTurn) *actor.Props
	CancelMsg func(reason string) any // what cancels a turn actor
	// Gone is called once when this activation will take no more messages.
	Gone      func()
	IdleAfter time.Duration // passivation; 0 means never
	Log       *slog.Logger
}

// AppendTimeout bounds one append; past it the outcome is unknown.
const AppendTimeout = 15 * time.Second

// Props makes the actor.
func Props(d Deps) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &session{Deps: d} },
		// A turn that panics is not restarted: its execution fails.
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })),
		// A session that panics starts over from the log.
		actor.WithGuardian(actor.NewOneForOneStrategy(10, 10*time.Second, func(any) actor.Directive { return actor.RestartDirective })))
}

type session struct {
	Deps
	state     kernel.State
	replies   map[uint64]func(kernel.Answer)
	lastToken uint64
	followers []*Subscription
	live      *kernel.Live
	turn      *actor.PID
	ctx       context.Context
	cancel    context.CancelFunc
	broken    error // the stream cannot be folded
	waiting   []envelope
	seen      uint64 // how far the log is known to have come
	asked     time.Time
	idleTimer *time.Timer
	gone      bool
}

// envelope is a read that waits for the recovery.
type envelope struct {
	msg    any
	sender *actor.PID
}

type input struct{ in kernel.Input }

type idle struct{}

type released struct{}

type turnGone struct{ pid *actor.PID }

type unreadable struct{ err error }

func (s *session) Receive(c actor.Context) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("session panicked", "session", s.SessionID, "panic", r, "stack", string(debug.Stack()))
			panic(r)
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.replies = map[uint64]func(kernel.Answer){}
		s.armIdle(c)
		var effects []kernel.Effect
		s.state, effects = kernel.New(s.Self)
		s.run(c, effects)
	case *actor.Restarting:
		s.closeFollowers("restarted")
		s.cancel()
	case *actor.Stopping:
		s.leave()
	case *actor.Stopped:
		if s.idleTimer != nil {
			s.idleTimer.Stop()
		}
		s.cancel()
	case idle:
		s.followers = slices.DeleteFunc(s.followers, (*Subscription).over)
		if len(s.followers) == 0 && time.Since(s.asked) >= s.IdleAfter/2 {
			s.step(c, kernel.IdleTimeout{})
		}
		s.armIdle(c)
	case *actor.Terminated: // overtakes what the turn sent before it ended
		c.Send(c.Self(), turnGone{m.Who})
	case turnGone:
		s.turnStopped(c, m.pid)
	case input:
		s.step(c, m.in)
		s.notice(c)
	case unreadable:
		s.quarantine(c, m.err)
	case released:
		s.leave()
		c.Poison(c.Self())
	case kernel.Progress:
		s.progress(m)
	case kernel.TurnEnded:
		s.step(c, m)
	case Submit:
		c.Respond(Received{})
		m.Command.Tokens = []uint64{s.token(m.Reply)}
		s.command(c, m.Command.Tokens[0], kernel.Submit{Command: m.Command})
	case ChangeStatus:
		c.Respond(Received{})
		t := s.token(m.Reply)
		s.command(c, t, kernel.ChangeStatus{Change: kernel.Change{Kind: m.Kind, ID: s.NewID(), Token: t}})
	case StopTurn:
		c.Respond(Received{})
		t := s.token(m.Reply)
		s.command(c, t, kernel.StopTurn{Token: t})
	case Read, Follow:
		s.read(c, envelope{m, c.Sender()})
	case Wake:
		alive := s.state.Hot.Session.Open != nil && s.OwnerAlive(ownerOf(s.state.Hot))
		s.step(c, kernel.Wake{OwnerAlive: alive})
	case Seen:
		s.seen = max(s.seen, m.Version)
		s.notice(c)
	case Leave:
		if s.broken != nil {
			s.leave()
			c.Poison(c.Self())
			return
		}
		s.step(c, kernel.Drain{})
	}
}

// notice holds what the log is known to have reached against what this activation knows. Its own appends it hears of here
// first; anything beyond them was written by another activation.
func (s *session) notice(c actor.Context) {
	if s.seen > uint64(s.state.Hot.Version) && s.state.InFlight == nil && s.state.Phase != kernel.Recovering {
		s.step(c, kernel.Foreign{})
	}
}

// armIdle asks for a look at whether the session is still used. The time is jittered, so that sessions do not leave
// together. (The library's own receive timeout races with its actor.)
func (s *session) armIdle(c actor.Context) {
	if s.IdleAfter <= 0 || s.gone || s.broken != nil {
		return
	}
	self, root := c.Self(), c.ActorSystem().Root
	s.idleTimer = time.AfterFunc(s.IdleAfter/2+rand.N(s.IdleAfter), func() { root.Send(self, idle{}) })
}

func (s *session) token(reply func(kernel.Answer)) uint64 {
	s.asked = time.Now()
	s.lastToken++
	s.replies[s.lastToken] = reply
	return s.lastToken
}

func (s *session) command(c actor.Context, token uint64, in kernel.Input) {
	if s.broken != nil {
		s.answer(kernel.Reply{Token: token, Reply: kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{
			Code: "session_unreadable", Message: "the session's log cannot be read: " + s.broken.Error(),
		}}})
		return
	}
	s.step(c, in)
}

func (s *session) step(c actor.Context, in kernel.Input) {
	if s.gone {
		return
	}
	var effects []kernel.Effect
	s.state, effects = kernel.Step(s.state, kernel.Env{FreshID: s.NewID()}, in)
	s.run(c, effects)
	if _, ok := in.(kernel.Recovered); ok {
		s.answerReads(c)
	}
}

func (s *session) run(c actor.Context, effects []kernel.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case kernel.DoAppend:
			s.append(c, e.Append)
		case kernel.Settle:
			s.settle(c, e.Command)
		case kernel.StartTurn:
			s.startTurn(c, e)
		case kernel.CancelTurn:
			if s.turn != nil {
				c.Send(s.turn, s.CancelMsg(e.Reason))
			}
		case kernel.Reply:
			s.answer(e)
		case kernel.Publish:
			s.publish(Update{Publish: &e})
			if s.live != nil && s.state.Execution == "" {
				s.live = nil
			}
		case kernel.Reset:
			s.closeFollowers(e.Reason)
		case kernel.Refold:
			s.refold(c)
		case kernel.SaveSnapshot:
			s.saveSnapshot(e.State)
		case kernel.Passivate:
			s.leave()
			c.Poison(c.Self())
		}
	}
}

func (s *session) answer(e kernel.Reply) {
	reply := s.replies[e.Token]
	if reply == nil {
		return
	}
	if e.Reply.Status != kernel.Queued {
		delete(s.replies, e.Token)
	}
	reply(e.Reply)
}

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
			in = kernel.AppendDone{RecordedAt: done.RecordedAt, Position: uint64(done.Position)}
		case errors.Is(err, events.ErrWrongVersion):
			in = kernel.AppendLost{}
		case errors.Is(err, events.ErrUnknown):
			s.Log.Warn("outcome of an append is unknown", "session", s.SessionID, "attempt", a.Attempt, "error", err)
		case call.Err() != nil:
		default:
			s.Log.Error("append refused", "session", s.SessionID, "error", err)
			in = kernel.AppendRefused{Error: errors.Cause(err).Error()}
		}
	})
}

// settle asks validators, which are plugin code, outside of Receive.
func (s *session) settle(c actor.Context, cmd kernel.Command) {
	self, root, ctx, view := c.Self(), c.ActorSystem().Root, s.ctx, s.state.Hot
	safego.Go("settle", func() {
		done := kernel.Settled{ExecutionID: cmd.ExecutionID, Issues: []kernel.Issue{{Message: "the form's own check failed; try again"}}}
		defer func() { root.Send(self, input{done}) }()
		done.Issues = s.Validate(ctx, view, cmd)
	})
}

// refold reads the stream from the newest fitting snapshot on.
func (s *session) refold(c actor.Context) {
	self, root, ctx := c.Self(), c.ActorSystem().Root, s.ctx
	safego.Go("refold", func() {
		state, err := Fold(ctx, s.Store, s.Snapshots, s.SessionID)
		if err != nil {
			root.Send(self, unreadable{err})
			return
		}
		open := state.Session.Open
		root.Send(self, input{kernel.Recovered{State: state, OwnerAlive: open != nil && s.OwnerAlive(ownerOf(state))}})
	})
}

// Fold gives the state of a session from its newest fitting snapshot and the events after it. A read never appends.
func Fold(ctx context.Context, store events.Store, snapshots Snapshots, sessionID string) (projections.State, error) {
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
	safego.Go("snapshot", func() {
		ctx, cancel := context.WithTimeout(context.Background(), AppendTimeout)
		defer cancel()
		if err := s.Snapshots.Save(ctx, s.SessionID, state); err != nil {
			s.Log.Warn("snapshot not saved", "session", s.SessionID, "error", err)
		}
	})
}

func (s *session) startTurn(c actor.Context, e kernel.StartTurn) {
	s.live = &kernel.Live{ExecutionID: e.Execution.ID, RequestID: e.Execution.RequestID}
	s.turn = c.Spawn(s.Turn(e))
	c.Watch(s.turn)
}

// turnStopped sees a turn actor end. If it did not report its outcome, it panicked.
func (s *session) turnStopped(c actor.Context, who *actor.PID) {
	if s.turn == nil || !who.Equal(s.turn) {
		return
	}
	s.turn = nil
	defer func() {
		if s.live != nil && s.state.Execution != s.live.ExecutionID {
			s.live = nil
		}
	}()
	if s.live != nil && s.state.Execution == s.live.ExecutionID && s.state.Ended == nil {
		s.step(c, kernel.TurnEnded{ExecutionID: s.state.Execution, Crash: "the turn stopped unexpectedly"})
	}
}

func (s *session) progress(p kernel.Progress) {
	if s.live == nil || s.live.ExecutionID != p.ExecutionID {
		return
	}
	next := s.live.Apply(p)
	s.live = &next
	s.publish(Update{Progress: &p})
}

func (s *session) publish(u Update) {
	alive := s.followers[:0]
	for _, f := range s.followers {
		if f.push(u) {
			alive = append(alive, f)
		}
	}
	clear(s.followers[len(alive):])
	s.followers = alive
}

func (s *session) closeFollowers(reason string) {
	s.publish(Update{Reset: reason})
	s.followers = nil
}

// read answers at once, whatever the session does; only while the log is being folded there is nothing to answer: what is
// known then may be behind, and a follower would not be told of the difference.
func (s *session) read(c actor.Context, e envelope) {
	s.asked = time.Now()
	if s.state.Phase == kernel.Recovering && s.state.InFlight == nil && s.broken == nil {
		s.waiting = append(s.waiting, e)
		return
	}
	view := View{State: s.state.Hot, Working: s.state.Working(), Err: s.broken}
	if s.live != nil {
		live := *s.live
		view.Live = &live
	}
	if f, ok := e.msg.(Follow); ok && s.broken == nil {
		s.followers = append(s.followers, f.Subscription)
	}
	c.Send(e.sender, view)
}

func (s *session) answerReads(c actor.Context) {
	waiting := s.waiting
	s.waiting = nil
	for _, e := range waiting {
		if s.broken == nil && s.state.Hot.Version == 0 { // a stream that is gone
			c.Send(e.sender, View{Err: ErrNotFound})
			continue
		}
		s.read(c, e)
	}
}

// ErrNotFound: there is no such session.
var ErrNotFound = errors.New("session: not found")

// quarantine keeps a session whose log cannot be read from doing anything; the others go on.
func (s *session) quarantine(c actor.Context, err error) {
	s.Log.Error("session cannot be folded", "session", s.SessionID, "error", err)
	s.broken = err
	for t, reply := range s.replies {
		delete(s.replies, t)
		reply(kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{Code: "session_unreadable", Message: err.Error()}})
	}
	s.closeFollowers("unreadable")
	s.answerReads(c)
	self, root := c.Self(), c.ActorSystem().Root
	s.idleTimer = time.AfterFunc(QuarantineFor, func() { root.Send(self, released{}) })
}

// QuarantineFor is how long a session that cannot be read answers so before the next request tries again.
const QuarantineFor = 5 * time.Second

func (s *session) leave() {
	if s.gone {
		return
	}
	s.gone = true
	s.closeFollowers("moved")
	for t, reply := range s.replies {
		delete(s.replies, t)
		reply(kernel.Answer{Status: kernel.Refused, Refusal: &kernel.Refusal{Code: "server_shutting_down", Message: "the session is being moved; send the request again"}})
	}
	s.Gone()
}

func ownerOf(s projections.State) kernel.Owner {
	return kernel.Owner{Node: s.Session.Open.Node, Activation: s.Session.Open.Activation}
}

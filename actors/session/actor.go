// Package session is the shell of kernel/session: one actor per session. It carries out the effects that the pure machine
// asks for, feeds the outcomes back, and shows what was appended to those who follow. It decides nothing.
package session

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/actors/hook"
	jobs "github.com/covel/covel/actors/job"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/latch"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
)

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
	// Installed tells what the session's plugins bring with them now; nil when nobody looks. It must not block.
	Installed func(view projections.State) *kernel.Installed
	// OutOfDate says why the code that is installed now cannot go on with a suspension, "" when it can; nil: it always can.
	OutOfDate func(view projections.State, suspensionID string) string
	// SuspensionTTL is how long a question waits: 0 the default, below 0 for ever.
	SuspensionTTL time.Duration
	// AdvanceLimit is the host's limit of rounds within one input; 0 the default.
	AdvanceLimit uint32
	// Turn gives the actor that runs an execution. It tells its parent kernel.Progress and kernel.TurnEnded.
	Turn      func(kernel.StartTurn) *actor.Props
	CancelMsg func(reason string) any // what cancels a turn actor, also a job's
	SayMsg    func(line turn.Interjection) any
	// Choose resolves a choice of plugins; nil: none are installed.
	Choose kernel.Choose
	// Kinds finds the action kinds that the plugins of a session declare; nil: there are none. It must not block.
	Kinds func(view projections.State) kernel.Kinds
	// Job gives the actor that runs a job; it tells its parent kernel.TurnEnded. Pool has the node's places for jobs; without
	// one no job starts.
	Job        func(kernel.StartJob) *actor.Props
	Pool       *actor.PID
	ModelReady func(slot string) bool       // whether a model can be used now; nil: every one can
	Digest     func(pluginID string) string // of the code that is installed now; nil: nobody knows
	// Gone is called once when this activation will take no more messages.
	Gone func()
	// Background runs work that outlives the activation, such as the last snapshot; nil is safego.Go. It is called before Gone.
	Background func(name string, work func())
	IdleAfter  time.Duration // passivation; 0 means never
	Trace      *trace.Writer // may be nil
	// Latch is what the node remembers of the session's plugins beyond an activation, KeepLatch what it is to remember from now
	// on; nil: it remembers nothing. They must not block.
	Latch     func() latch.Latch
	KeepLatch func(latch.Latch)
	// Ended is called when an append that ends the session was published; it must not block. May be nil.
	Ended func(projections.State)
	Log   *slog.Logger
}

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
	jobs      map[string]*actor.PID // by job id
	due       *time.Timer           // the Tick that was asked for
	ctx       context.Context
	cancel    context.CancelFunc
	broken    error              // the stream cannot be folded
	tell      func(kernel.Input) // from other goroutines
	waiting   []envelope
	seen      uint64 // how far the log is known to have come
	asked     time.Time
	timer     *time.Timer // idle, or the end of the quarantine
	gone      bool
	after     map[string]hook.AfterCommit // by execution, until it has ended
	began     map[string]time.Time        // executions that run here, by id
}

type input struct{ in kernel.Input }

type idle struct{}

type released struct{}

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
		self, root := c.Self(), c.ActorSystem().Root
		s.tell = func(in kernel.Input) { root.Send(self, input{in}) }
		s.replies = map[uint64]func(kernel.Answer){}
		s.jobs, s.began, s.after = map[string]*actor.PID{}, map[string]time.Time{}, map[string]hook.AfterCommit{}
		s.forgetJobs(c)
		s.armIdle(c)
		var effects []kernel.Effect
		var known latch.Latch
		if s.Latch != nil {
			known = s.Latch()
		}
		s.state, effects = kernel.New(s.Self, known)
		s.run(c, effects)
	case *actor.Restarting:
		s.dismiss("restarted", "busy", "the session had to start over; send the request again")
		s.end()
	case *actor.Stopping:
		s.leave()
	case *actor.Stopped:
		s.end()
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
		s.jobStopped(c, m.pid)
	case jobs.Granted:
		s.step(c, kernel.JobGranted{JobID: m.Job})
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
	case hook.AfterCommit:
		s.after[m.ExecutionID] = m
	case kernel.InterjectionRefused:
		s.step(c, m)
	case kernel.TurnEnded:
		s.Log.Debug("turn ended", "session", s.SessionID, "execution", m.ExecutionID, "runtimes", len(m.Results))
		s.step(c, m)
	case Submit:
		c.Respond(Received{})
		m.Command.Tokens = []uint64{s.token(m.Reply)}
		s.command(c, m.Command.Tokens[0], kernel.Submit{Command: m.Command})
	case ChangeStatus:
		c.Respond(Received{})
		t := s.token(m.Reply)
		s.command(c, t, kernel.ChangeStatus{Change: kernel.Change{
			Kind: m.Kind, Runtime: m.Runtime, SuspensionID: m.SuspensionID, JobID: m.JobID, PluginID: m.PluginID, SeatID: m.SeatID, Run: m.Run, Seat: m.Seat, Settings: m.Settings, Plugins: m.Plugins, ID: s.NewID(), Token: t,
		}})
	case StopTurn:
		c.Respond(Received{})
		t := s.token(m.Reply)
		s.command(c, t, kernel.StopTurn{Token: t})
	case Read, Follow:
		s.read(c, envelope{m, c.Sender()})
	case Wake:
		alive := s.state.Hot.Session.Open != nil && s.OwnerAlive(ownerOf(s.state.Hot))
		s.step(c, kernel.Wake{OwnerAlive: alive, JobOwnersAlive: s.jobOwners(s.state.Hot)})
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
	s.state, effects = kernel.Step(s.state, s.env(), in)
	s.run(c, effects)
	if _, ok := in.(kernel.Recovered); ok {
		s.Log.Debug("session taken up", "session", s.SessionID, "version", s.state.Hot.Version)
		s.answerReads(c)
	}
}

func (s *session) env() kernel.Env {
	env := kernel.Env{FreshID: s.NewID(), Now: time.Now(), ModelReady: s.ModelReady, Digest: s.Digest, SuspensionTTL: s.SuspensionTTL, AdvanceLimit: s.AdvanceLimit, Choose: s.Choose}
	if s.Kinds != nil {
		env.Kinds = s.Kinds(s.state.Hot)
	}
	return env
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
		case kernel.TellTurn:
			if s.turn != nil {
				c.Send(s.turn, s.SayMsg(e.Interjection))
			}
		case kernel.StartJob:
			s.startJob(c, e)
		case kernel.CancelJob:
			if pid := s.jobs[e.JobID]; pid != nil {
				c.Send(pid, s.CancelMsg(e.Reason))
			}
		case kernel.WantJobs:
			s.pool(c, jobs.Want{From: c.Self(), Jobs: e.IDs})
		case kernel.ReleaseJob:
			s.pool(c, jobs.Release{From: c.Self(), Job: e.JobID})
		case kernel.WakeAt:
			s.tickAt(c, e.At)
		case kernel.Reply:
			s.answer(e)
		case kernel.Publish:
			s.publish(Update{Publish: &e})
			s.committed(e)
			if s.live != nil && s.state.Execution == "" {
				s.live = nil
			}
		case kernel.KeepLatch:
			if s.KeepLatch != nil {
				s.KeepLatch(e.Latch)
			}
		case kernel.SettleWait:
			s.publish(Update{Progress: settling(e)})
		case kernel.PluginPaused:
			s.plugin(e)
		case kernel.Reset:
			s.closeFollowers(e.Reason)
		case kernel.Refold:
			s.refold(c, e.Whole)
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

// ErrNotFound: there is no such session.
var ErrNotFound = errors.New("session: not found")

func ownerOf(s projections.State) kernel.Owner {
	return kernel.Owner{Node: s.Session.Open.Node, Activation: s.Session.Open.Activation}
}

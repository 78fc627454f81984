package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/projections"
)

// SnapshotEvery is how many versions lie between two snapshots of a session.
const SnapshotEvery = 64

// New gives the state of an activation that has not read its stream yet; its first effect is Refold. l is what the node
// remembers of the session's plugins.
func New(self Owner, l latch.Latch) (State, []Effect) {
	return State{Phase: Recovering, Self: self, Latch: l}, []Effect{Refold{}}
}

// step gathers effects while a state moves on.
type step struct {
	State
	env     Env
	effects []Effect
}

func (s *step) do(e ...Effect) { s.effects = append(s.effects, e...) }

// Step moves a session on. It never blocks, never fails and never asks for anything outside its arguments; an input that
// does not fit the state is dropped or refused, as the state table of design §5 says.
func Step(state State, env Env, in Input) (State, []Effect) {
	s := &step{State: state, env: env}
	switch in := in.(type) {
	case Recovered:
		s.recovered(in)
	case Submit:
		s.sweep, s.awake = true, true
		s.submit(in.Command)
	case Settled:
		s.settled(in)
	case TurnEnded:
		if !s.jobEnded(in) {
			s.turnEnded(in)
		}
	case InterjectionRefused:
		s.unheard(in)
	case JobGranted:
		s.jobGranted(in.JobID)
	case Tick:
		s.wakeAt = time.Time{}
		s.sweep, s.awake = true, true
	case ChangeStatus:
		s.sweep, s.awake = true, true
		s.change(in.Change)
	case HooksTold:
		s.hooksTold(in)
	case StopTurn:
		s.stop(in.Token)
	case AppendDone:
		s.appended(in)
	case AppendLost:
		s.lost()
	case AppendUnknown:
		s.unknown()
	case AppendRefused:
		s.refused(in.Error)
	case Foreign:
		s.foreign()
	case Wake:
		s.sweep, s.awake, s.ownersAlive = true, true, in.JobOwnersAlive
		s.OwnerAlive = s.OwnerAlive && in.OwnerAlive
		s.closeOpen = s.Phase == Recovering || s.dead() || s.leftOff() // before the fold nobody can tell; recovered does
	case IdleTimeout:
		if s.quiet() && len(s.Queue) == 0 && !s.closeOpen {
			s.leave()
		}
	case Drain:
		s.drain()
	default:
		panic(fmt.Sprintf("session: unknown input %T", in))
	}
	s.haltOverdue()
	s.pump()
	if s.Execution == "" && len(s.Said) > 0 { // it ended in another way than by its own commit
		s.tellHeard("")
	}
	s.tellSettleWait()
	s.offerJobs()
	return s.State, s.effects
}

// pump starts what can be started now: one append at a time, the end of a turn before anything else, then changes, then
// what the newest request goes on with, then what a dead owner left, then the next command.
func (s *step) pump() {
	for s.InFlight == nil && s.Phase != Recovering && s.Phase != Uncertain && s.Phase != Stopped {
		switch {
		case s.tellWaiting():
		case s.Ended != nil:
			s.endExecution()
		case s.nextChange() >= 0:
			s.startChange()
		case s.jobStep():
		case s.ready != nil:
			s.accept()
		case s.Phase == Settling && s.waits:
			if !s.barrierPassed(s.Current.ExecutionID) {
				return
			}
			s.waits = false
			s.do(Settle{*s.Current})
		case s.Phase != Idle && s.Phase != Draining:
			return
		case s.goesOn():
			if !s.advance() {
				return
			}
		case s.dead() && (s.closeOpen || len(s.Queue) > 0): // also on the way out: a job that has returned waits for it
			s.closeDead()
		case s.draining && s.jobsUnderWay():
			return
		case s.draining:
			s.leave()
			return
		case s.leftOff() && (s.closeOpen || len(s.Queue) > 0):
			s.stopAdvance(AbortInterrupted)
		case s.expired():
			s.expire()
		case s.gathered():
			s.startGathered()
		case len(s.Queue) > 0:
			s.startNext()
		default:
			return
		}
	}
}

// dead says whether an execution is open in the log and nobody living runs it.
func (s *step) dead() bool {
	open := s.Hot.Session.Open
	return open != nil && open.ID != s.Execution && !s.OwnerAlive
}

// quiet says whether nothing of this activation is under way.
func (s *step) quiet() bool {
	return s.Phase == Idle && len(s.Hot.Jobs.Open()) == 0 && len(s.Jobs) == 0 && s.InFlight == nil && s.Current == nil && s.Execution == "" && len(s.Changes) == 0 && !s.goesOn()
}

// leave ends the activation; nobody is left without an answer.
func (s *step) leave() {
	s.dismiss(gone)
	s.tellHeard("")
	for _, c := range s.Changes {
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: gone})
	}
	s.Changes = nil
	if s.Hot.Version > 0 {
		s.do(SaveSnapshot{s.Hot})
	}
	s.Phase = Stopped
	s.do(Passivate{})
}

// recovered takes up the fold of the log, at the start and after losing an append.
func (s *step) recovered(in Recovered) {
	if s.Phase != Recovering || s.InFlight != nil {
		return
	}
	if s.Hot.Version > 0 && s.Hot.Version != in.State.Version && !s.told { // another wrote while the log was read
		s.do(Reset{"wrong-version"})
	}
	s.Hot, s.told, s.saved = in.State, false, in.State.Version
	if s.draining { // what an append gave back is not begun any more
		s.dismiss(gone)
	}
	s.OwnerAlive = in.OwnerAlive
	s.jobsRecovered(in)
	s.closeOpen = s.closeOpen && (s.dead() || s.leftOff())
	open := s.Hot.Session.Open
	if s.Execution != "" {
		if open == nil || open.ID != s.Execution { // somebody else ended it
			if s.Ended == nil {
				s.do(CancelTurn{s.Execution, AbortLost})
			}
			s.Execution, s.Ended, s.Stop = "", nil, ""
		} else if s.Ended == nil { // its frozen view is no longer what the stream says
			s.Stop = AbortLost
			s.do(CancelTurn{s.Execution, AbortLost})
			s.Phase = Running
			return
		} else {
			s.Stop = AbortLost
		}
	} else if !s.goesOn() { // what was to be stopped does not come
		s.Stop = ""
	}
	s.Phase = Idle
	if s.draining {
		s.Phase = Draining
	}
}

// appended folds what the append in flight wrote and goes on from it.
func (s *step) appended(in AppendDone) {
	if s.InFlight == nil {
		return
	}
	done := *s.InFlight
	s.InFlight = nil
	if s.Phase == Uncertain {
		s.Phase = s.resume
	}
	recorded := make([]events.Recorded, len(done.Events))
	for i, ev := range done.Events {
		r := events.Recorded{
			Event: ev, Stream: s.stream(), Version: done.Expected + events.Version(i) + 1,
			Position: events.Position(in.Position) - events.Position(len(done.Events)-1-i), RecordedAt: in.RecordedAt,
		}
		recorded[i] = r
		next, err := projections.Apply(s.Hot, r)
		if err != nil { // this binary encoded it a moment ago
			panic(fmt.Sprintf("session: own event does not fold: %v", err))
		}
		s.Hot = next
	}
	s.do(Publish{recorded, s.Hot})
	if slices.ContainsFunc(recorded, func(r events.Recorded) bool { return r.Type == "HeadMoved" }) {
		s.do(Reset{"head-moved"}) // what followers have is not what is shown any more
	}
	if uint64(s.saved)/SnapshotEvery != uint64(s.Hot.Version)/SnapshotEvery && s.Hot.Session.Open == nil {
		s.saved = s.Hot.Version
		s.do(SaveSnapshot{s.Hot})
	}
	switch done.Kind {
	case AppendAccept:
		cmd := s.Current
		s.Current = nil
		s.reply(cmd.Tokens, Answer{Status: Accepted, Version: s.Hot.Version, ExecutionID: cmd.ExecutionID})
		s.outrun()
		if cmd.stopped {
			s.Stop = AbortPlayer
		}
		s.startTurn()
	case AppendHead, AppendGather:
		if cmd := s.Current; cmd != nil {
			s.Current = nil
			s.reply(cmd.Tokens, Answer{Status: Accepted, Version: s.Hot.Version})
			s.outrun()
		}
		s.Phase = Idle
	case AppendOpen:
		s.startTurn()
	case AppendCommit:
		s.tellHeard(s.Execution)
		s.Committed, s.Execution, s.Ended = s.Execution, "", nil
		s.committedInput()
		if !s.goesOn() { // else a stop that came meanwhile still counts
			s.Stop = ""
		}
		s.Phase = Idle
	case AppendClose:
		s.closeOpen = false
		s.committedInput()
		s.Phase = Idle
	case AppendChange:
		s.changed(*done.Change)
		s.endLatch()
	case AppendJob:
		s.jobAppended(*done.Job)
	}
	if s.draining && s.Phase == Idle {
		s.Phase = Draining
	}
}

// lost gives way to another activation: nothing of the append was written; everything is read anew and what waited is
// tried again from the new state.
func (s *step) lost() {
	if s.InFlight == nil {
		return
	}
	lost := *s.InFlight
	s.InFlight = nil
	s.requeue() // also a command that was being settled while something else was appended
	switch lost.Kind {
	case AppendChange:
		s.Changes = append([]Change{*lost.Change}, s.Changes...)
	case AppendJob:
		s.jobUndone(*lost.Job)
	case AppendAccept, AppendHead, AppendGather, AppendExpire, AppendOpen, AppendCommit, AppendClose: // decided anew from what the refold finds
	}
	s.Phase, s.told = Recovering, true
	s.do(Reset{"wrong-version"}, Refold{})
}

// foreign follows the stream: an event of another activation makes this one stop and refold.
func (s *step) foreign() {
	if s.InFlight != nil || s.Phase == Recovering || s.Phase == Stopped {
		return // the append in flight will find out by itself
	}
	if s.Current != nil {
		s.requeue()
	}
	s.Phase, s.told = Recovering, true
	s.do(Reset{"wrong-version"}, Refold{})
}

func (s *step) requeue() {
	if s.Current == nil {
		return
	}
	if s.Current.gathered == nil { // else it waits in the log
		s.Queue = append([]Command{*s.Current}, s.Queue...)
	}
	s.Current, s.ready = nil, nil
}

// unknown repeats the very same append until its outcome is known.
func (s *step) unknown() {
	if s.InFlight == nil {
		return
	}
	if s.Phase != Uncertain {
		s.resume = s.Phase
		s.Phase = Uncertain
	}
	again := *s.InFlight
	again.Attempt++
	s.InFlight = &again
	s.do(DoAppend{again})
}

// refused: the store says it wrote nothing and will not. The request fails with its reason; a turn that cannot commit
// stays open in the log until the store writes again.
func (s *step) refused(message string) {
	if s.InFlight == nil {
		return
	}
	failed := *s.InFlight
	s.InFlight = nil
	if s.Phase == Uncertain {
		s.Phase = s.resume
	}
	refusal := &Refusal{Code: "internal", Message: "nothing was saved: " + message}
	switch failed.Kind {
	case AppendAccept, AppendHead, AppendGather:
		if s.Current == nil || s.Current.gathered != nil { // what waits is tried again when somebody asks for something
			s.sweep = false
		}
		if s.Current != nil {
			s.reply(s.Current.Tokens, Answer{Status: Refused, Refusal: refusal})
			s.Current = nil
		}
	case AppendChange:
		s.reply([]uint64{failed.Change.Token}, Answer{Status: Refused, Refusal: refusal})
		return
	case AppendExpire: // it is tried again when somebody asks for something
		s.sweep = false
		return
	case AppendJob: // tried again when the session is woken next
		s.jobUndone(*failed.Job)
		s.awake = false
		return
	case AppendOpen: // its request ends with the next command
		s.Committed, s.Stop = "", ""
	case AppendCommit:
		s.Execution, s.Ended, s.Stop = "", nil, ""
		s.do(Reset{"log-refused"})
	case AppendClose: // tried again when somebody asks for something
		s.closeOpen, s.awake = false, false
		s.dismiss(refusal)
	}
	s.Phase = Idle
	if s.draining {
		s.Phase = Draining
	}
}

func (s *step) drain() {
	if s.draining || s.Phase == Stopped {
		return
	}
	s.draining = true
	s.dismiss(gone)
	s.haltJobs(job.HaltShutdown)
	if s.at() == Settling && s.Current != nil && !s.accepting() {
		s.reply(s.Current.Tokens, Answer{Status: Refused, Refusal: gone})
		s.settleNoMore(Draining)
	}
	if s.Execution != "" && s.Ended == nil && s.Stop == "" {
		s.Stop = AbortShutdown
		s.do(CancelTurn{s.Execution, AbortShutdown})
	}
	if s.Phase == Idle {
		s.Phase = Draining
	}
	if s.Phase == Recovering && s.Hot.Version == 0 && s.InFlight == nil {
		s.leave()
	}
}

// accepting says whether what the current command comes to is being appended.
func (s *step) accepting() bool {
	return s.InFlight != nil && (s.InFlight.Kind == AppendAccept || s.InFlight.Kind == AppendHead || s.InFlight.Kind == AppendGather)
}

var gone = &Refusal{Code: "server_shutting_down", Message: "the server is shutting down; send the request again when it is back"}

// dismiss refuses what waits in the queue. What the log has accepted already gets that answer instead.
func (s *step) dismiss(refusal *Refusal) {
	for _, c := range s.Queue {
		if c = s.withSeat(c); !s.known(&c) {
			s.reply(c.Tokens, Answer{Status: Refused, Refusal: refusal})
		}
	}
	s.Queue = nil
}

func (s *step) reply(tokens []uint64, a Answer) {
	for _, t := range tokens {
		if t != 0 {
			s.do(Reply{t, a})
		}
	}
}

func (s *step) stream() string { return StreamOf(s.Hot.Session.ID) }

// StreamOf names the stream of a session.
func StreamOf(sessionID string) string { return "session-" + sessionID }

package session

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

const (
	originPlayer       = commit.OriginPlayer
	originContinuation = commit.OriginContinuation
)

// started is the event that opens an execution.
func (s *step) started(id, origin, requestID string) *eventsv1.ExecutionStarted {
	ev := &eventsv1.ExecutionStarted{
		ExecutionId: id, Origin: origin, LogicalTurn: s.Hot.Session.NextLogicalTurn(), LogicalTurnId: id,
		RequestId: requestID, Node: s.Self.Node, Activation: s.Self.Activation, Phase: s.Hot.Session.Phase,
		Plugins: pluginRefs(s.Hot.Session.Plugins),
	}
	if origin != commit.OriginBackground { // a job is no execution that waits
		ev.Settle, s.barrier = s.barrier.report(), nil
	}
	return ev
}

// turnEnded takes the outcome of the live execution; the commit follows as soon as no append is in flight.
func (s *step) turnEnded(in TurnEnded) {
	if in.ExecutionID != s.Execution || s.Ended != nil {
		return
	}
	s.Ended = &in
}

// endExecution plans the end of the live execution and appends it: a commit, a failure or an abort.
func (s *step) endExecution() {
	open := s.Hot.Session.Open
	if open == nil || open.ID != s.Execution {
		s.Execution, s.Ended, s.Stop = "", nil, ""
		s.Phase = Idle
		return
	}
	in := commit.In{
		State: s.Hot, Pack: s.Ended.Pack, Execution: *open, Results: s.Ended.Results, Deferred: s.Ended.Deferred, Compaction: s.Ended.Compaction,
		Spent: s.Ended.Spent, Usage: s.Ended.Usage, Policy: s.Ended.Policy, Topics: s.Ended.Topics,
		Said: s.saidLines(), Digests: s.Ended.Digests, SuspensionTTL: s.env.SuspensionTTL, DimensionProvider: s.Ended.DimensionProvider,
	}
	var out commit.Out
	switch {
	case s.Stop == AbortLost:
		out = commit.Failure(in, AbortLost, "another activation of the session wrote in between")
	case s.Stop != "":
		out = commit.Abort(in, s.Stop)
	case s.Ended.Refused != "":
		out = commit.Abort(in, s.Ended.Refused)
	case s.Ended.Crash != "":
		out = commit.Failure(in, commit.ReasonInternal, s.Ended.Crash)
	default:
		out = commit.Plan(in)
	}
	if s.report = nil; s.Stop == "" && s.Ended.Refused == "" {
		report := faults(*s.Ended, out)
		s.report = &report
	}
	s.Phase = Committing
	s.appendFacts(AppendCommit, open.ID, *open, out.Facts)
}

// closeDead ends an execution whose owner is gone; its input stays as a draft.
func (s *step) closeDead() {
	open := *s.Hot.Session.Open
	ev := &eventsv1.ExecutionAborted{ExecutionId: open.ID, Reason: AbortInterrupted, SetupAttempts: commit.InterruptedAttempts(s.Hot)}
	s.Phase = Recovering
	s.appendFacts(AppendClose, open.ID, open, []commit.Fact{{Message: ev}})
}

// change appends a session-scope change, at once if no append is in flight.
func (s *step) change(c Change) {
	if s.Phase == Stopped || s.draining {
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: gone})
		return
	}
	s.Changes = append(s.Changes[:len(s.Changes):len(s.Changes)], c)
}

func (s *step) startChange() {
	at := s.nextChange()
	c := s.Changes[at]
	s.Changes = slices.Delete(slices.Clone(s.Changes), at, at+1)
	if endsSuspension(c) {
		s.endSuspension(c)
		return
	}
	if c.Kind == ResumePlugin {
		s.resumePlugin(c)
		return
	}
	if c.Kind == ChangeSeat || c.Kind == ChangeSettings || c.Kind == ChangePlugins {
		s.atTable(c)
		return
	}
	status := s.Hot.Session.Status
	var msgs []proto.Message
	switch {
	case c.Kind == CancelJobChange || c.Kind == RetryJobChange || c.Kind == RunJobChange:
		if s.knownJob(c) {
			return
		}
		ev, refusal := s.decideJob(c)
		if refusal != nil {
			s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: refusal})
			return
		}
		msgs = append(msgs, ev)
	case c.Kind == SetupRetry || c.Kind == SetupWaive:
		setup, refusal := decideSetup(s.Hot.Session, c)
		if refusal != nil {
			s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: refusal})
			return
		}
		if setup != nil {
			msgs = append(msgs, &eventsv1.SetupRuntimeChanged{Setup: setup})
			break
		}
		s.reply([]uint64{c.Token}, Answer{Status: Accepted, Version: s.Hot.Version, Repeat: true})
		return
	case status == projections.StatusEnded && c.Kind != End:
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: &Refusal{Code: "session_ended", Message: "the session has ended; that is final"}})
		return
	case c.Kind == CloseGathering || c.Kind == WithdrawSubmission:
		ev, refusal := decideGathering(s.Hot.Session, c)
		if refusal != nil {
			s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: refusal})
			return
		}
		if ev == nil {
			s.reply([]uint64{c.Token}, Answer{Status: Accepted, Version: s.Hot.Version, Repeat: true})
			return
		}
		msgs = append(msgs, ev)
	case c.Kind == Pause && status == projections.StatusActive:
		msgs = append(msgs, &eventsv1.SessionPaused{})
	case c.Kind == Resume && status == projections.StatusPaused:
		msgs = append(msgs, &eventsv1.SessionResumed{})
	case c.Kind == End && status != projections.StatusEnded:
		for _, x := range s.Hot.Session.Gathering.Submissions {
			msgs = append(msgs, withdrawal(x, whyEnded).Message)
		}
		msgs = append(msgs, &eventsv1.SessionEnded{})
		s.haltJobs(job.HaltEnded)
		if s.Execution != "" && s.Ended == nil && s.Stop == "" {
			s.Stop = AbortEnded
			s.do(CancelTurn{s.Execution, AbortEnded})
		}
	default: // it is so already
		s.reply([]uint64{c.Token}, Answer{Status: Accepted, Version: s.Hot.Version, Repeat: true})
		return
	}
	s.append(AppendChange, c.ID, msgs...)
	s.InFlight.Change = &c
}

// atTable appends a change of the seats, the settings or the plugins. Like every change of the session itself it waits for no turn.
func (s *step) atTable(c Change) {
	var msgs []proto.Message
	var refusal *Refusal
	switch {
	case s.Hot.Session.Status == projections.StatusEnded:
		refusal = notActive(projections.StatusEnded)
	case c.Kind == ChangeSettings:
		msgs, refusal = decideSettings(s.Hot.Session.Settings, *c.Settings)
	case c.Kind == ChangePlugins:
		msgs, refusal = decidePlugins(s.Hot.Session, *c.Plugins, s.env)
	default:
		msgs, c.SeatID, refusal = decideSeat(s.Hot, *c.Seat)
	}
	switch {
	case refusal != nil:
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: refusal})
	case len(msgs) == 0:
		s.reply([]uint64{c.Token}, Answer{Status: Accepted, Version: s.Hot.Version, SeatID: c.SeatID, Repeat: true})
	default:
		s.append(AppendChange, c.ID, msgs...)
		s.InFlight.Change = &c
	}
}

// decideSetup gives the new state of a blocked setup runtime, nil when it is so already (seed: turn-pipeline.txt, "A
// blocked runtime must first be unblocked through the retry endpoint").
func decideSetup(s projections.Session, c Change) (*eventsv1.SetupRuntime, *Refusal) {
	su, ok := s.SetupOf(c.Runtime)
	if !ok {
		return nil, &Refusal{Code: "setup_runtime_not_found", Message: "the session has no such setup step"}
	}
	out := &eventsv1.SetupRuntime{
		RuntimeId: su.RuntimeID, Status: projections.SetupPending, Generation: su.Generation + 1, MaxAttempts: su.MaxAttempts, PluginVersion: su.PluginVersion,
	}
	switch {
	case su.Status == projections.SetupBlocked && c.Kind == SetupRetry:
		return out, nil
	case su.Status == projections.SetupBlocked:
		out.Status, out.Resolution, out.Generation, out.Attempts = projections.SetupDone, "waived", su.Generation, su.Attempts
		return out, nil
	case su.Status == projections.SetupPending && c.Kind == SetupRetry, su.Resolution == "waived" && c.Kind == SetupWaive:
		return nil, nil
	}
	return nil, &Refusal{Code: "setup_not_blocked", Message: "the setup step is not blocked"}
}

// stop is the player's stop: nothing of a running execution commits; a wait ends; after the commit it has no effect, but
// nothing further follows in that request.
func (s *step) stop(token uint64) {
	ok := Answer{Status: Accepted, Version: s.Hot.Version}
	switch {
	case s.Execution != "" && s.Ended == nil:
		if s.Stop == "" {
			s.Stop = AbortPlayer
			s.do(CancelTurn{s.Execution, AbortPlayer})
		}
	case s.InFlight != nil && s.InFlight.Kind == AppendAccept: // remembered with the command: the append decides whether it begins
		stopped := *s.Current
		stopped.stopped = true
		s.Current = &stopped
	case s.Execution != "" || s.goesOn() || s.InFlight != nil && s.InFlight.Kind == AppendOpen:
		s.Stop = AbortPlayer // remembered: the append decides
	case s.at() == Settling && s.Current != nil && s.Current.gathered == nil && !s.accepting():
		s.refuse(*s.Current, AbortPlayer, "stopped before it began")
		s.settleNoMore(Idle)
	default:
		ok = Answer{Status: Refused, Refusal: &Refusal{Code: "no_running_turn", Message: "there is no turn to stop"}}
	}
	s.reply([]uint64{token}, ok)
}

// at is the phase, also while the outcome of an append is not known.
func (s *step) at() Phase {
	if s.Phase == Uncertain {
		return s.resume
	}
	return s.Phase
}

// settleNoMore drops the current command, which was answered, while it is settled.
func (s *step) settleNoMore(to Phase) {
	s.Current, s.ready = nil, nil
	if s.Phase == Uncertain {
		s.resume = to
		return
	}
	s.Phase = to
}

// append starts an append of events outside of or at the start of an execution.
func (s *step) append(kind AppendKind, key string, msgs ...proto.Message) {
	facts := make([]commit.Fact, len(msgs))
	for i, m := range msgs {
		facts[i].Message = m
	}
	exec := projections.Execution{LogicalTurn: s.Hot.Session.NextLogicalTurn()}
	s.appendFacts(kind, key, exec, facts)
}

// appendFacts encodes facts and starts the append. Ids follow from what the append is for, so that a repeat is the same
// append; the ordinal keeps the start of one execution, its end, and the end another gave it apart.
func (s *step) appendFacts(kind AppendKind, key string, exec projections.Execution, facts []commit.Fact) {
	ordinal := 0
	switch kind {
	case AppendCommit:
		ordinal = 1
	case AppendClose: // its owner may live after all, and must not take this end for its own
		ordinal = 3
	}
	s.appendAs(kind, key, ordinal, exec, facts)
}

func (s *step) appendAs(kind AppendKind, key string, ordinal int, exec projections.Execution, facts []commit.Fact) {
	a := Append{Kind: kind, Expected: s.Hot.Version}
	for i, f := range facts {
		meta := &eventsv1.Metadata{
			CorrelationId: exec.RequestID, CausationId: exec.ID, LogicalTurn: exec.LogicalTurn, RunId: f.RunID, PluginId: f.PluginID,
			AppendEnd: uint64(a.Expected) + uint64(len(facts)),
		}
		if f.AtOnce {
			meta.CausationId = ""
		}
		ev, err := events.Encode(events.NewID(s.stream(), key, ordinal, i), meta, f.Message)
		if err != nil {
			panic("session: " + err.Error()) // every fact is in the catalogue
		}
		a.Events = append(a.Events, ev)
	}
	s.InFlight = &a
	s.do(DoAppend{a})
}

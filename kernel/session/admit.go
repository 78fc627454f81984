package session

import (
	"cmp"
	"encoding/hex"
	"slices"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// submit admits a command, queues it, or refuses it.
func (s *step) submit(cmd Command) {
	cmd = s.withSeat(cmd)
	if s.draining || s.Phase == Stopped {
		s.reply(cmd.Tokens, Answer{Status: Refused, Refusal: gone})
		return
	}
	if s.Phase == Recovering || s.Phase == Uncertain {
		// Nothing is known yet: it waits, whatever it is.
		s.enqueue(cmd)
		return
	}
	if s.known(&cmd) || s.joinSaid(cmd) || s.taken(cmd) || s.conflicts(&cmd) {
		return
	}
	s.enqueue(cmd)
}

// conflicts refuses a command whose base is no longer the head. Once admitted, what the turn that was running then writes is
// no surprise to its sender; a request of somebody else that was accepted in between is: of all commands for one version one is
// taken (fault case BL-10).
func (s *step) conflicts(cmd *Command) bool {
	if cmd.Base == nil || *cmd.Base == s.Hot.Version || cmd.admitted && !s.acceptedSince(*cmd.Base) {
		cmd.admitted = true
		return false
	}
	why := "the story has gone on since what you saw; look at the newer events and send it again"
	if *cmd.Base > s.Hot.Version {
		why = "the base is ahead of the story; read it anew and send it again"
	}
	s.refuse(*cmd, "conflict", why)
	return true
}

// acceptedSince says whether a request was accepted after a version.
func (s *step) acceptedSince(v events.Version) bool {
	known := s.Hot.Session.Requests
	return len(known) > 0 && known[len(known)-1].Version > v
}

// outrun refuses what waits with a base that the request just accepted has gone beyond: its sender need not wait for the turn.
func (s *step) outrun() {
	var kept []Command
	for _, cmd := range s.Queue {
		if !s.conflicts(&cmd) {
			kept = append(kept, cmd)
		}
	}
	s.Queue = kept
}

func (s *step) enqueue(cmd Command) {
	for i := range s.Queue {
		if s.Queue[i].RequestID == cmd.RequestID && s.Queue[i].SeatID == cmd.SeatID {
			s.join(&s.Queue[i], cmd)
			return
		}
	}
	if len(s.Queue) >= MaxQueue {
		s.refuse(cmd, "busy", "too many requests wait in this session; try again when its turn has ended")
		return
	}
	s.Queue = append(s.Queue[:len(s.Queue):len(s.Queue)], cmd)
	if s.Phase != Idle || s.InFlight != nil || len(s.Queue) > 1 {
		s.reply(cmd.Tokens, Answer{Status: Queued, Ahead: len(s.Queue) - 1})
	}
}

// known answers a command whose request id was used before: the same body gets the first outcome, another one an error. One
// that was gathered is in the log, and does not wait with the turn of all.
func (s *step) known(cmd *Command) bool {
	if cur := s.Current; cur != nil && cur.gathered == nil && cur.RequestID == cmd.RequestID && cur.SeatID == cmd.SeatID {
		joined := *cur
		s.join(&joined, *cmd)
		s.Current = &joined
		return true
	}
	req, ok := s.Hot.Session.FindRequest(cmd.SeatID, cmd.RequestID)
	if !ok {
		return false
	}
	if req.BodyHash != cmd.BodyHash {
		s.refuse(*cmd, "request_id_conflict", "this requestId was used for another request")
		return true
	}
	s.reply(cmd.Tokens, Answer{Status: Accepted, Version: req.Version, ExecutionID: req.ExecutionID, Repeat: true})
	return true
}

func (s *step) join(first *Command, again Command) {
	if first.BodyHash != again.BodyHash {
		s.refuse(again, "request_id_conflict", "this requestId was used for another request")
		return
	}
	first.Tokens = append(first.Tokens[:len(first.Tokens):len(first.Tokens)], again.Tokens...)
	s.reply(again.Tokens, Answer{Status: Queued})
}

// startNext takes the next command out of the queue and settles it, if it may run at all.
func (s *step) startNext() {
	cmd := s.withSeat(s.Queue[0])
	s.Queue = s.Queue[1:]
	if s.known(&cmd) || s.conflicts(&cmd) { // accepted while it waited, or not looked at before
		return
	}
	if cmd.stopped {
		s.refuse(cmd, AbortPlayer, "stopped before it began")
		return
	}
	resolved, refusal := Check(s.Hot, cmd, s.env.Kinds)
	if refusal == nil {
		refusal = s.pausedPlugin(cmd)
	}
	if resolved.Type == Interject { // nothing runs that it could be said into
		resolved.Type = SubmitActions
	}
	if refusal == nil && s.Hot.Session.Open != nil { // its owner lives elsewhere
		refusal = &Refusal{Code: "busy", Message: "a turn of this session is running elsewhere; try again shortly"}
	}
	if refusal != nil {
		s.turnedAway(cmd, refusal, "")
		s.reply(cmd.Tokens, Answer{Status: Refused, Refusal: refusal})
		return
	}
	s.Current = &resolved
	s.Phase = Settling
	if s.waits = !gathers(s.Hot.Session, resolved); !s.waits { // no turn begins
		s.do(Settle{resolved})
	}
}

// settled ends the settling of the current command. What was asked before the command began to wait anew, or is told once
// more while its acceptance is appended, is out of date.
func (s *step) settled(in Settled) {
	asked := s.at() == Settling && s.Current != nil && !s.waits && !s.accepting()
	if asked && s.Current.ExecutionID == in.ExecutionID && s.ready == nil {
		s.ready = &in
	}
}

// accept appends the input of the current command and the start of its execution, in one. From here the input survives
// any crash.
func (s *step) accept() {
	issues, stale, installed := s.ready.Issues, s.ready.OutOfDate, s.ready.Installed
	s.ready = nil
	if s.Current.gathered != nil && !s.stillGathered() {
		s.Current = nil
		s.Phase = Idle
		return
	}
	waits := s.Current.gathered == nil && gathers(s.Hot.Session, *s.Current)
	if !waits && !s.barrierPassed(s.Current.ExecutionID) { // queued while it was looked at
		s.waits = true
		return
	}
	cmd, refusal := Check(s.Hot, *s.Current, s.env.Kinds) // things may have changed while it waited
	if refusal == nil {
		refusal = checkInstalled(cmd, installed)
	}
	if len(issues) > 0 {
		refusal = &Refusal{Code: "form_rejected", Message: "some answers need another look", Issues: issues}
	}
	if installed != nil {
		s.installedNow(installed.Digests)
	}
	if refusal == nil {
		refusal = s.pausedPlugin(cmd)
	}
	if refusal == nil && stale != "" {
		refusal = outOfDate(stale)
	}
	if refusal != nil && s.Current.gathered != nil {
		s.gatherAnew(len(issues) > 0)
		return
	}
	if refusal != nil {
		s.turnedAway(cmd, refusal, stale)
		s.reply(s.Current.Tokens, Answer{Status: Refused, Refusal: refusal})
		s.Current = nil
		s.Phase = Idle
		return
	}
	s.Current = &cmd
	if cmd.Type == ResumeSuspension {
		s.claim(cmd)
		return
	}
	if goesElsewhere(cmd.Type) {
		s.goElsewhere(cmd)
		return
	}
	if waits {
		s.gather(cmd)
		return
	}
	hash, _ := hex.DecodeString(cmd.BodyHash)
	submitted := &eventsv1.ActionsSubmitted{
		Gathered: gatheredRequests(cmd), RequestId: cmd.RequestID, BodyHash: hash, Type: cmd.Type, SeatId: cmd.SeatID, Rendered: Rendered(s.Hot, cmd.Actions),
		ExecutionId: cmd.ExecutionID, InputMessageId: "m-" + cmd.ExecutionID,
	}
	for _, a := range cmd.Actions {
		submitted.Actions = append(submitted.Actions, actionEvent(a))
	}
	var started *eventsv1.ExecutionStarted
	switch {
	case cmd.Type == RunRuntimes:
		started = s.named(cmd)
	case cmd.Type == StartSession && s.Hot.Session.Phase == projections.PhasePlaying: // the opening that a crash or a failure left out
		started = s.started(cmd.ExecutionID, originContinuation, cmd.RequestID)
	default:
		started = s.started(cmd.ExecutionID, originPlayer, cmd.RequestID)
	}
	if cmd.Type != RunRuntimes { // a single execution
		started.AdvanceLimit = s.advanceLimit()
	}
	facts := append(s.setupFacts(installed), commit.Fact{Message: submitted}, commit.Fact{Message: started})
	s.appendFacts(AppendAccept, cmd.ExecutionID, projections.Execution{
		ID: cmd.ExecutionID, LogicalTurn: started.LogicalTurn, RequestID: cmd.RequestID,
	}, facts)
}

// setupFacts tell what became of the setup runtimes since the last execution. They stand whether this one commits or not
// (seed: turn-pipeline.txt, "A few writes happen outside this transaction").
func (s *step) setupFacts(installed *Installed) (facts []commit.Fact) {
	if installed == nil {
		return nil
	}
	for _, su := range turn.SetupChanges(s.Hot.Session, installed.Runtimes, installed.Versions) {
		facts = append(facts, commit.Fact{AtOnce: true, Message: &eventsv1.SetupRuntimeChanged{Setup: &eventsv1.SetupRuntime{
			RuntimeId: su.RuntimeID, Status: su.Status, Generation: su.Generation, Attempts: su.Attempts, MaxAttempts: su.MaxAttempts,
			LastError: su.LastError, Resolution: su.Resolution, Reason: su.Reason, PluginVersion: su.PluginVersion,
		}}})
	}
	return facts
}

func (s *step) startTurn() {
	open := s.Hot.Session.Open
	s.Execution = open.ID
	s.Phase = Running
	if s.Stop == "" && s.draining {
		s.Stop = AbortShutdown
	}
	s.beginInput(cmp.Or(open.LogicalTurnID, open.ID))
	s.do(StartTurn{*open, s.Hot, s.Latch.Paused()})
	if s.Stop != "" {
		s.do(CancelTurn{open.ID, s.Stop})
	}
}

// withSeat gives a command that names no seat the primary one, and a repeat the seat its first sending was given: the story
// may follow another seat since.
func (s *step) withSeat(cmd Command) Command {
	if cmd.SeatID != "" && !cmd.seatless {
		return cmd
	}
	cmd.seatless = true
	if seat, ok := s.seatBefore(cmd); ok {
		cmd.SeatID = seat
	} else if seat, ok := s.Hot.Session.PrimarySeat(); ok {
		cmd.SeatID = seat.ID
	}
	return cmd
}

func (s *step) seatBefore(cmd Command) (string, bool) {
	for _, x := range s.Hot.Session.Requests {
		if x.ID == cmd.RequestID {
			return x.SeatID, true
		}
	}
	waiting := slices.Clone(s.Queue)
	if s.Current != nil {
		waiting = append(waiting, *s.Current)
	}
	for _, x := range s.Said {
		waiting = append(waiting, x.Command)
	}
	for _, x := range waiting {
		if x.seatless && x.RequestID == cmd.RequestID && x.SeatID != "" {
			return x.SeatID, true
		}
	}
	return "", false
}

func (s *step) refuse(cmd Command, code, message string) {
	s.reply(cmd.Tokens, Answer{Status: Refused, Refusal: &Refusal{Code: code, Message: message}})
}

func actionEvent(a projections.Action) *eventsv1.Action {
	ev := &eventsv1.Action{Kind: a.Kind, SeatId: a.SeatID, CharacterId: a.CharacterID, Source: a.Source, Text: a.Text, Fields: a.Fields}
	if a.Interaction != nil {
		ev.Interaction = &eventsv1.InteractionRef{TurnId: a.Interaction.TurnID, InteractionId: a.Interaction.InteractionID, Type: a.Interaction.Type}
	}
	return ev
}

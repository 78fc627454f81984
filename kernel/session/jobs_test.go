package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// finishJob ends the oldest job at work, if the test lets it.
func (s *sim) finishJob() bool {
	if len(s.working) == 0 || s.jobResult == nil {
		return false
	}
	w := s.working[0]
	end := s.jobResult(w)
	if end == nil {
		return false
	}
	s.working = s.working[1:]
	s.inbox = append(s.inbox, *end)
	return true
}

// extract is a runtime whose run a turn defers.
func extract(settle bool) manifest.Runtime {
	return manifest.Runtime{
		ID: "memory/extract", PluginID: "memory", Type: "function", Effects: manifest.Effects{Writes: []string{"plugin-data:self:blocks"}},
		Schedule: manifest.Schedule{Stage: manifest.PostTurn, Detached: &manifest.Detached{Settle: settle, MaxSettleWaitMs: 5_000, MaxQueueMs: 60_000, MaxExecutionMs: 10_000}},
	}
}

// deferring plays turns that leave a job each behind.
func deferring(rt manifest.Runtime) func(StartTurn) TurnEnded {
	return func(st StartTurn) TurnEnded {
		end := play(st)
		if st.Execution.Phase == projections.PhasePlaying && st.Execution.Origin == originPlayer {
			end.Deferred = []turn.Deferred{{Run: turn.Run{Runtime: rt}, Activation: job.Stage}}
		}
		return end
	}
}

// remembered is the result of a job that wrote one block named after its source turn.
func remembered(w StartJob) *TurnEnded {
	p, err := sdk.Propose(sdk.PluginDataWrite{Namespace: "blocks", Key: w.Job.SourceTurnID, Value: json.RawMessage(`"记住了"`)})
	if err != nil {
		panic(err)
	}
	return &TurnEnded{ExecutionID: w.Execution.ID, Pack: packView, Results: []turn.Result{{
		RuntimeID: w.Job.RuntimeID, PluginID: w.Job.PluginID, RunID: w.Execution.ID + "/r", Stage: manifest.PostTurn, Status: turn.Succeeded, Proposals: []sdk.Proposal{p},
	}}}
}

// playing gives a session in play whose turns defer rt; its jobs go on until the test ends them.
func playing(t *testing.T, rt manifest.Runtime) *sim {
	s := newSim(t)
	s.activate()
	s.run()
	s.request(Command{RequestID: "q1", Type: StartSession})
	s.run()
	ref := s.fold().Interactions.Open("maker")[0].InteractionRef
	s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	s.run()
	s.result = deferring(rt)
	return s
}

func (s *sim) say(id, text string) Answer {
	return s.send(Command{RequestID: id, Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: text}}})
}

// at moves the clock to a moment and delivers the tick that was asked for.
func (s *sim) at(now time.Time) {
	s.now = now
	if !s.wakeAt.IsZero() && !s.wakeAt.After(now) {
		s.feed(Tick{})
	}
	s.run()
}

func (s *sim) types(from int) string {
	var out []string
	for _, r := range s.log[from:] {
		out = append(out, r.Type)
	}
	return strings.Join(out, " ")
}

func (s *sim) only(t *testing.T) projections.Job {
	t.Helper()
	if len(s.state.Hot.Jobs) != 1 {
		t.Fatalf("%d jobs", len(s.state.Hot.Jobs))
	}
	return *s.state.Hot.Jobs[0]
}

func (s *sim) message(t *testing.T, r events.Recorded) any {
	t.Helper()
	msg, err := events.Decode(r.Event)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// Rule TP:248: the job stands in the commit of its turn, with the turn's number and line; Rule TP:231: so does a follower's.
// Rule TP:376: queuing wakes the session's worker.
func TestAJobIsQueuedWithItsTurn(t *testing.T) {
	s := playing(t, extract(false))
	from := len(s.log)
	s.say("l1", "我去码头。")
	if got := s.types(from); !strings.Contains(got, "JobQueued ExecutionCommitted JobStarted") {
		t.Fatalf("log: %s", got)
	}
	j := s.only(t)
	last := s.state.Hot.Session.Last
	if j.SourceTurnID != last.ID || j.LogicalTurn != 1 || j.Incarnation != "inc" || j.PluginDigest != "d1" || j.Status != projections.JobRunning || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	if f, err := job.Thaw(j.Input); err != nil || f.Rendered != "我去码头。" {
		t.Errorf("%+v %v", f, err)
	}
	s.check()
}

// Rule TP:343: a turn that is rolled back queues nothing.
func TestARolledBackTurnQueuesNothing(t *testing.T) {
	s := playing(t, extract(false))
	whole := s.result
	s.result = func(st StartTurn) TurnEnded {
		end := whole(st)
		end.Results[len(end.Results)-1].Status = turn.Failed
		return end
	}
	s.say("l1", "我去码头。")
	if len(s.state.Hot.Jobs) != 0 {
		t.Errorf("%+v", s.state.Hot.Jobs[0])
	}
}

// Rule TP:415–417: the next execution waits until the settle jobs have ended, and they are committed before it starts.
func TestTheNextTurnWaitsForSettleJobs(t *testing.T) {
	s := playing(t, extract(true))
	s.say("l1", "我去码头。")
	first := s.only(t)
	from := len(s.log)
	a := s.say("l2", "我点亮灯。")
	if s.state.Phase != Settling || a.Status == Accepted {
		t.Fatalf("phase %s, answer %+v", s.state.Phase, a)
	}
	s.jobResult = func(w StartJob) *TurnEnded {
		if w.Job.ID == first.ID {
			return remembered(w)
		}
		return nil
	}
	s.run()
	if got := s.types(from); !strings.HasPrefix(got, "ExecutionStarted PluginDataChanged ExecutionResults ExecutionCommitted JobSucceeded ActionsSubmitted ExecutionStarted") {
		t.Errorf("log: %s", got)
	}
	if s.state.Hot.Session.CompletedPlayerTurns != 2 {
		t.Errorf("%d turns", s.state.Hot.Session.CompletedPlayerTurns)
	}
	s.check()
}

// Rule TP:421: whoever waits at the barrier is told so at once, and everybody for which jobs and how long; the end of the wait is told
// too, whether the turn begins, its command is stopped, the session leaves, or another activation writes.
func TestTheWaitIsTold(t *testing.T) {
	for name, end := range map[string]func(*sim){
		"the job ends":  func(s *sim) { s.jobResult = remembered },
		"the limit":     func(s *sim) { s.at(s.now.Add(5 * time.Second)) },
		"a stop":        func(s *sim) { s.feed(StopTurn{}) },
		"a drain":       func(s *sim) { s.jobResult = remembered; s.feed(Drain{}) },
		"another write": func(s *sim) { s.feed(Foreign{}); s.jobResult = remembered },
		"a paused session": func(s *sim) {
			s.feed(ChangeStatus{Change{Kind: Pause, ID: "pause"}})
			s.jobResult = remembered
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := playing(t, extract(true))
			s.say("l1", "我去码头。")
			j := s.only(t)
			a := s.say("l2", "我点亮灯。")
			want := SettleWait{ExecutionID: s.state.Current.ExecutionID, Jobs: []Awaited{{j.ID, "memory/extract", "memory"}}, Until: s.now.Add(5 * time.Second)}
			if a.Status != Queued || a.Ahead != 0 || a.SettleWait == nil || fmt.Sprint(*a.SettleWait) != fmt.Sprint(want) {
				t.Fatalf("the sender hears %+v", a)
			}
			if fmt.Sprint(s.settles) != fmt.Sprint([]SettleWait{want}) || fmt.Sprint(s.state.Settles) != fmt.Sprint(want) {
				t.Fatalf("told %v", s.settles)
			}
			end(s)
			s.run()
			last := s.settles[len(s.settles)-1]
			if last.ExecutionID != want.ExecutionID || len(last.Jobs) > 0 || len(s.state.Settles.Jobs) > 0 {
				t.Errorf("in the end told %v", s.settles)
			}
			queued := 0
			for _, a := range s.heard[s.token] {
				if a.Status == Queued {
					queued++
				}
			}
			if name != "another write" && queued != 1 {
				t.Errorf("queued %d times", queued)
			}
		})
	}
}

// Rule TP:424: past the earliest limit the timeout is recorded and the execution begins; Rule TP:429: the job is neither ended
// by it nor done: it is committed after the turn.
func TestTheWaitHasALimit(t *testing.T) {
	s := playing(t, extract(true))
	s.say("l1", "我去码头。")
	first := s.only(t)
	s.say("l2", "我点亮灯。")
	if want := s.now.Add(5 * time.Second); !s.wakeAt.Equal(want) {
		t.Fatalf("woken at %v, want %v", s.wakeAt, want)
	}
	hold := s.result
	s.result = func(st StartTurn) TurnEnded { // while the turn runs the job returns
		s.working = nil
		s.feed(*remembered(StartJob{Job: first, Execution: projections.Execution{ID: first.ExecutionID}}))
		if j, _ := s.state.Hot.Jobs.Find(first.ID); j.Status != projections.JobRunning {
			t.Errorf("committed while a turn ran: %+v", j)
		}
		return hold(st)
	}
	from := len(s.log)
	s.at(s.now.Add(5 * time.Second))
	started, ok := s.message(t, s.log[from+1]).(*eventsv1.ExecutionStarted)
	if !ok || fmt.Sprint(started.Settle.GetTimedOut()) != fmt.Sprint([]string{first.ID}) {
		t.Fatalf("log %s: %v", s.types(from), started)
	}
	if j, _ := s.state.Hot.Jobs.Find(first.ID); j.Status != projections.JobSucceeded {
		t.Errorf("after the turn: %+v", j)
	}
	s.check()
}

// Rule TP:425: a job that cannot be started is not waited for, and named once.
func TestJobsThatCannotStartAreNotWaitedFor(t *testing.T) {
	rt := extract(true)
	rt.Function.Model = "fast"
	s := playing(t, rt)
	s.ready = func(slot string) bool { return slot != "fast" }
	s.say("l1", "我去码头。")
	if j := s.only(t); j.Status != projections.JobQueued {
		t.Fatalf("%+v", j)
	}
	from := len(s.log)
	if a := s.say("l2", "我点亮灯。"); a.Status != Accepted {
		t.Fatalf("%+v", a)
	}
	skipped := 0
	for _, r := range s.log[from:] {
		if m, ok := s.message(t, r).(*eventsv1.ExecutionStarted); ok && len(m.Settle.GetSkipped()) > 0 {
			skipped++
		}
	}
	if skipped != 1 {
		t.Errorf("told %d times", skipped)
	}
	// Rule TP:376: when the model can be used again, whoever wakes the session starts the job.
	s.ready = nil
	s.feed(Wake{})
	s.run()
	if j := s.state.Hot.Jobs[0]; j.Status != projections.JobRunning {
		t.Errorf("%+v", j)
	}
}

// Rule TP:376: a turn that waits at the barrier wakes the worker for the job it waits for.
func TestTheBarrierStartsWhatItWaitsFor(t *testing.T) {
	rt := extract(true)
	rt.Function.Model = "fast"
	s := playing(t, rt)
	s.ready = func(slot string) bool { return slot != "fast" }
	s.say("l1", "我去码头。")
	if j := s.only(t); j.Status != projections.JobQueued {
		t.Fatalf("%+v", j)
	}
	s.ready = nil
	s.say("l2", "我点亮灯。")
	if j := s.only(t); s.state.Phase != Settling || j.Status != projections.JobRunning {
		t.Errorf("phase %s, %+v", s.state.Phase, j)
	}
}

// Rule TP:401: maintenance is not affected by full slots: with no place for any job a queue limit that passed, and an owner that
// died, are written all the same.
func TestMaintenanceNeedsNoPlace(t *testing.T) {
	for name, c := range map[string]struct {
		full bool // before the job was given a place
		want string
	}{
		"waits too long": {true, projections.JobTimedOut},
		"owner died":     {false, projections.JobOrphaned},
	} {
		t.Run(name, func(t *testing.T) {
			s := playing(t, extract(false))
			s.full = c.full
			s.say("l1", "我去码头。")
			s.full = true
			s.activate()
			s.now = s.now.Add(2 * time.Minute)
			s.feed(Wake{})
			s.run()
			if j := s.only(t); j.Status != c.want {
				t.Errorf("%+v", j)
			}
		})
	}
}

// Rule REF api-and-protocol.md §4.15: a player stop ends only the wait, not the job.
func TestAStopEndsTheWait(t *testing.T) {
	s := playing(t, extract(true))
	s.say("l1", "我去码头。")
	s.say("l2", "我点亮灯。")
	s.feed(StopTurn{})
	s.run()
	if s.state.Phase != Idle || len(s.working) != 1 || s.only(t).Status != projections.JobRunning {
		t.Fatalf("phase %s, %d at work", s.state.Phase, len(s.working))
	}
	s.jobResult = remembered
	s.run()
	if j := s.only(t); j.Status != projections.JobSucceeded {
		t.Errorf("%+v", j)
	}
}

// Rule TP:368: past maxExecutionMs the run is stopped; Rule TP:251: what it still gives is not committed.
func TestAJobThatTakesTooLong(t *testing.T) {
	s := playing(t, extract(false))
	s.say("l1", "我去码头。")
	w := s.working[0]
	s.at(s.now.Add(10 * time.Second))
	j := s.only(t)
	if j.Status != projections.JobTimedOut || j.Reason != job.ReasonExecution || len(s.working) != 0 || len(s.state.Jobs) != 0 {
		t.Fatalf("%+v, %d at work", j, len(s.working))
	}
	from := len(s.log)
	s.feed(*remembered(w))
	s.run()
	if len(s.log) != from || len(s.granted) != 0 {
		t.Errorf("after the late result: %s, places %v", s.types(from), s.granted)
	}
}

// Rule TP:199: the work of a job does not join the turn that is running: its commit waits for its own place in the session.
// Rule TP:369: the wait for the commit is not counted, however long a turn takes.
func TestTheWaitForTheCommitIsNotCounted(t *testing.T) {
	s := playing(t, extract(false))
	s.say("l1", "我去码头。")
	w := s.working[0]
	s.working = nil
	whole := s.result
	s.result = func(st StartTurn) TurnEnded {
		s.feed(*remembered(w))
		s.now = s.now.Add(time.Hour)
		s.feed(Tick{})
		return whole(st)
	}
	s.say("l2", "我点亮灯。")
	if j, _ := s.state.Hot.Jobs.Find(w.Job.ID); j.Status != projections.JobSucceeded {
		t.Errorf("%+v", j)
	}
}

// Rule TP:376: recovery wakes the worker of its session.
// Rule TP:382–384: after a restart a queued job goes on, one past its queue limit is timed out, a running one is orphaned; a
// read alone changes nothing.
func TestAfterARestart(t *testing.T) {
	queued := func(t *testing.T) *sim {
		rt := extract(false)
		rt.Function.Model = "fast"
		s := playing(t, rt)
		s.ready = func(string) bool { return false }
		s.say("l1", "我去码头。")
		s.ready = nil
		return s
	}
	for name, c := range map[string]struct {
		s     func(*testing.T) *sim
		after time.Duration
		want  string
	}{
		"queued":          {queued, 0, projections.JobRunning},
		"queued too long": {queued, 2 * time.Minute, projections.JobTimedOut},
		"running": {func(t *testing.T) *sim {
			s := playing(t, extract(false))
			s.say("l1", "我去码头。")
			return s
		}, 0, projections.JobOrphaned},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.s(t)
			s.now = s.now.Add(c.after)
			from := len(s.log)
			s.activate()
			s.run()
			if len(s.log) != from {
				t.Fatalf("a read appended %s", s.types(from))
			}
			s.feed(Wake{})
			s.run()
			if j := s.only(t); j.Status != c.want {
				t.Errorf("%+v", j)
			}
			s.check()
		})
	}
	t.Run("its owner lives elsewhere", func(t *testing.T) {
		s := playing(t, extract(false))
		s.say("l1", "我去码头。")
		id := s.only(t).ID
		s.activate()
		s.run()
		s.feed(Wake{JobOwnersAlive: map[string]bool{id: true}})
		s.run()
		if j := s.only(t); j.Status != projections.JobRunning {
			t.Fatalf("%+v", j)
		}
		s.feed(Wake{})
		s.run()
		if j := s.only(t); j.Status != projections.JobOrphaned {
			t.Errorf("%+v", j)
		}
	})
}

// Rule TP:390: a drain puts back what has not reached its commit; Rule TP:392: what returned is committed first;
// Rule TP:403: nothing is started any more.
func TestADrainAndItsJobs(t *testing.T) {
	s := playing(t, extract(false))
	s.say("l1", "我去码头。")
	s.feed(Drain{})
	s.run()
	if j := s.only(t); s.state.Phase != Stopped || j.Status != projections.JobQueued || j.Attempt != 1 || s.types(len(s.log)-1) != "JobRequeued" {
		t.Fatalf("phase %s: %+v", s.state.Phase, j)
	}
	s.activate()
	s.run()
	s.feed(Wake{})
	s.run()
	if j := s.only(t); j.Status != projections.JobRunning || j.Attempt != 2 {
		t.Fatalf("%+v", j)
	}
	s.feed(*remembered(s.working[0])) // the commit is under way when the drain comes
	s.feed(Drain{})
	s.run()
	if j := s.only(t); s.state.Phase != Stopped || j.Status != projections.JobSucceeded {
		t.Errorf("phase %s: %+v", s.state.Phase, j)
	}
	s.check()
}

// Rule TP:390: a drain waits for no end that cannot be written: one behind the open execution of an activation that lives
// elsewhere is left to be found.
func TestADrainBehindAnotherActivation(t *testing.T) {
	s := playing(t, extract(false))
	s.say("l1", "我去码头。")
	job := *remembered(s.working[0])
	ev, err := events.Encode(events.NewID(StreamOf("s1"), "elsewhere", len(s.log), 0), &eventsv1.Metadata{AppendEnd: uint64(len(s.log) + 1)}, &eventsv1.ExecutionStarted{
		ExecutionId: "elsewhere", Origin: originPlayer, Phase: projections.PhasePlaying, LogicalTurn: 9, LogicalTurnId: "elsewhere", Node: "n2", Activation: "a2",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.write(events.Version(len(s.log)), []events.Event{ev})
	s.feed(Foreign{})
	s.inbox = nil
	s.feed(Recovered{State: s.fold(), OwnerAlive: true})
	s.feed(job)
	s.run()
	if j := s.only(t); s.state.Phase != Idle || j.Status != projections.JobRunning {
		t.Fatalf("phase %s: %+v", s.state.Phase, j)
	}
	s.feed(Drain{})
	s.run()
	if s.state.Phase != Stopped {
		t.Errorf("phase %s", s.state.Phase)
	}
}

// Rule TP:241: a result is dropped when the session was paused or ended meanwhile.
func TestAResultOfAPausedOrEndedSessionIsDropped(t *testing.T) {
	for _, kind := range []ChangeKind{Pause, End} {
		s := playing(t, extract(false))
		s.say("l1", "我去码头。")
		w := s.working[0]
		s.feed(ChangeStatus{Change{Kind: kind, ID: "c1"}})
		s.working = nil
		s.inbox = append(s.inbox, *remembered(w))
		s.run()
		if j := s.only(t); j.Status != projections.JobStale || j.Reason != job.ReasonInactive {
			t.Errorf("%s: %+v", kind, j)
		}
		if _, written := s.state.Hot.PluginData.Get("memory", "blocks", w.Job.SourceTurnID); written {
			t.Errorf("%s: the result was written", kind)
		}
	}
}

// Rule TP:250: before a job starts, and before it commits, the code that is installed must still be what it was queued for.
func TestAJobOfCodeThatWasReplaced(t *testing.T) {
	for name, before := range map[string]bool{"while it waits": true, "while it runs": false} {
		s := playing(t, extract(false))
		now := map[bool]string{true: "d2", false: "d1"}[before]
		s.digest = func(string) string { return now }
		s.say("l1", "我去码头。")
		if ran := len(s.working) > 0; ran == before {
			t.Fatalf("%s: ran %t", name, ran)
		}
		now = "d2"
		s.jobResult = remembered
		s.run()
		if j := s.only(t); j.Status != projections.JobStale || j.Reason != job.ReasonPluginChanged || before && j.Attempt != 0 {
			t.Errorf("%s: %+v", name, j)
		}
		if _, written := s.state.Hot.PluginData.Get("memory", "blocks", s.only(t).SourceTurnID); written {
			t.Errorf("%s: the result was written", name)
		}
	}
}

// Rule DESIGN §5: a session with open work does not passivate.
func TestASessionWithJobsStays(t *testing.T) {
	s := playing(t, extract(false))
	s.say("l1", "我去码头。")
	s.feed(IdleTimeout{})
	if s.state.Phase == Stopped {
		t.Fatal("it left while a job ran")
	}
	s.jobResult = remembered
	s.run()
	s.feed(IdleTimeout{})
	if s.state.Phase != Stopped {
		t.Error("it stays for nothing")
	}
}

// Rule TP:348: what the guard rejects ends the job and writes nothing.
// Rule TL:673: a background run that suspends fails its job, and nothing is committed. Rule TP:352: nor is what it may not
// write.
func TestWhatAJobMayNotDo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*turn.Result)
		want   string
	}{
		"suspend":     {func(r *turn.Result) { r.Status, r.Suspension = turn.Suspended, &turn.Suspension{Reason: "谁？"} }, job.ReasonSuspended},
		"emit":        {func(r *turn.Result) { r.Events = []sdk.EmittedEvent{{Topic: "scene.set"}} }, job.ReasonEffects},
		"fail":        {func(r *turn.Result) { r.Status, r.Error = turn.Failed, "boom" }, job.ReasonFailed},
		"not run":     {func(r *turn.Result) { r.RuntimeID = "other" }, job.ReasonFailed},
		"bad payload": {func(r *turn.Result) { r.Proposals[0].Payload = json.RawMessage(`{"namespace":"blocks"}`) }, job.ReasonCommit},
	} {
		t.Run(name, func(t *testing.T) {
			s := playing(t, extract(false))
			s.jobResult = func(w StartJob) *TurnEnded {
				end := remembered(w)
				c.change(&end.Results[0])
				return end
			}
			s.say("l1", "我去码头。")
			j := s.only(t)
			if j.Status != projections.JobFailed || j.Reason != c.want {
				t.Errorf("%+v", j)
			}
			if len(s.state.Hot.PluginData.List("memory", "")) != 0 {
				t.Error("something was written")
			}
			s.check()
		})
	}
}

// checkJobs holds what must be true of the jobs of every log: each began at most once per attempt and ended at most once, and
// what it wrote stands there if and only if it succeeded.
func (s *sim) checkJobs() {
	s.t.Helper()
	s.check()
	queued, ended, wrote := map[string]string{}, map[string]string{}, map[string]bool{}
	open := map[string]bool{}
	for _, r := range s.log {
		msg, _ := events.Decode(r.Event)
		end := ""
		switch m := msg.(type) {
		case *eventsv1.JobQueued:
			queued[m.JobId] = m.SourceTurnId
		case *eventsv1.JobStarted:
			if open[m.JobId] || ended[m.JobId] != "" {
				s.t.Fatalf("job %s began twice, or after its end", m.JobId)
			}
			open[m.JobId] = true
		case *eventsv1.JobRequeued:
			open[m.JobId] = false
		case *eventsv1.PluginDataChanged:
			for _, c := range m.Changes {
				if m.PluginId == "memory" {
					wrote[c.Key] = true
				}
			}
		case interface{ GetJobId() string }:
			if status := job.StatusAfter(msg); status != "" {
				end = status
				if was := ended[m.GetJobId()]; was != "" {
					s.t.Fatalf("job %s ended %s and then %s", m.GetJobId(), was, status)
				}
				ended[m.GetJobId()] = status
			}
		}
		_ = end
	}
	for id, source := range queued {
		if (ended[id] == projections.JobSucceeded) != wrote[source] && !retried(s, id) {
			s.t.Fatalf("job %s is %q and its write is there: %v", id, ended[id], wrote[source])
		}
	}
}

// retried says whether another job was queued for the same work: then either may have written it.
func retried(s *sim, id string) bool {
	mine, _ := s.fold().Jobs.Find(id)
	return slices.ContainsFunc(s.fold().Jobs, func(j *projections.Job) bool { return j.ID != id && j.SourceTurnID == mine.SourceTurnID })
}

// jobScript plays two turns that leave a settle job each behind, and sees them through.
func (s *sim) jobScript() {
	s.result, s.jobResult = deferring(extract(true)), remembered
	s.script()
	s.feed(Wake{})
	s.run()
}

// Rule DESIGN §16: a crash between any two effects loses no job and commits none twice; what ran when the process died is
// orphaned, everything else succeeds.
func TestCrashBetweenAnyTwoEffectsOfJobs(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.jobScript)
	clean.checkJobs()
	if n := len(clean.state.Hot.Jobs); n != 2 {
		t.Fatalf("%d jobs", n)
	}
	for at := 1; at <= clean.points; at++ {
		s := newSim(t)
		s.crashAt = at
		s.survive(s.jobScript)
		s.checkJobs()
		if got := len(s.state.Hot.Jobs); got != 2 || len(s.state.Hot.Jobs.Open()) != 0 {
			t.Fatalf("crash before point %d: %d jobs, %d open", at, got, len(s.state.Hot.Jobs.Open()))
		}
		if t.Failed() {
			t.Fatalf("crash before point %d of %d", at, clean.points)
		}
	}
	t.Logf("%d crash points", clean.points)
}

// The same with a fault of the store at every append.
func TestStoreFaultAtEveryAppendOfJobs(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.jobScript)
	for _, kind := range []fault{unknownWritten, unknownNotWritten, refusedByStore, foreignBefore} {
		for at := 1; at <= clean.appends; at++ {
			s := newSim(t)
			s.fault = func(n int, _ Append) fault {
				if n == at {
					return kind
				}
				return noFault
			}
			s.survive(s.jobScript)
			s.checkJobs()
			for _, j := range s.state.Hot.Jobs {
				if j.Status != projections.JobSucceeded && kind != refusedByStore {
					t.Errorf("fault %d at append %d: %s is %s", kind, at, j.ID, j.Status)
				}
			}
			if t.Failed() {
				t.Fatalf("fault %d at append %d of %d", kind, at, clean.appends)
			}
		}
	}
}

// Rule TP:376: so does a job that the player tries again.
// Rule TP:422: when the turn is about to start it is looked at again, so that a job queued since is waited for too.
func TestAJobQueuedWhileTheLineIsLookedAt(t *testing.T) {
	s := playing(t, extract(true))
	s.say("l1", "我去码头。")
	s.jobResult = func(w StartJob) *TurnEnded {
		return &TurnEnded{ExecutionID: w.Execution.ID, Pack: packView, Crash: "broken"}
	}
	s.run()
	failed := s.only(t)
	if failed.Status != projections.JobFailed {
		t.Fatalf("%+v", failed)
	}
	s.jobResult = nil
	s.token++
	s.feed(Submit{Command{RequestID: "l2", BodyHash: "00", Type: SubmitActions, Tokens: []uint64{s.token}, ExecutionID: "exec-l2",
		Actions: []projections.Action{{Kind: "say", Text: "我点亮灯。"}}}})
	if s.state.Phase != Settling {
		t.Fatalf("phase %s", s.state.Phase)
	}
	s.feed(ChangeStatus{Change{Kind: RetryJobChange, JobID: failed.ID, ID: "job-again"}})
	s.run()
	if len(s.working) != 1 || s.state.Phase != Settling || len(s.heard[s.token]) > 0 && s.heard[s.token][0].Status == Accepted {
		t.Fatalf("phase %s, %d jobs at work, %+v", s.state.Phase, len(s.working), s.heard[s.token])
	}
	from := len(s.log)
	s.jobResult = remembered
	s.run()
	if got := s.types(from); !strings.Contains(got, "JobSucceeded ActionsSubmitted ExecutionStarted") {
		t.Errorf("log: %s", got)
	}
}

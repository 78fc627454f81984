package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// asking gives the results of a turn in which the seer asks: in a turn of the player it suspends, and what an answer says
// decides how its resume ends.
func asking(st StartTurn) TurnEnded {
	end := play(st)
	if st.Execution.Phase != projections.PhasePlaying || st.Execution.Origin == originContinuation {
		return end
	}
	p, err := sdk.Propose(sdk.PluginDataWrite{Namespace: "n", Key: "答", Value: []byte(`"` + st.Execution.LogicalTurnID + `"`)})
	if err != nil {
		panic(err)
	}
	r := turn.Result{
		RuntimeID: "seer", PluginID: "seer", RunID: st.Execution.ID + "/seer", Stage: manifest.PostTurn, Status: turn.Suspended,
		Suspension: &turn.Suspension{Reason: "然后？", ResumeSchema: []byte(`{"enum":["go","again","fail"]}`)}, Proposals: []sdk.Proposal{p},
	}
	x, ok := st.View.Suspensions.Find(st.Execution.SuspensionID)
	if !ok {
		end.Results = append(end.Results, r)
		return end
	}
	switch string(x.Claim.Answer) {
	case `"go"`:
		r.Status, r.Suspension = turn.Succeeded, nil
	case `"fail"`:
		r.Status, r.Suspension, r.Proposals, r.Error = turn.Failed, nil, nil, "墨水用完了"
	}
	end.Results = []turn.Result{r}
	return end
}

// answering is a client that plays a turn, lets its question be asked again, and answers in the end.
func (s *sim) answering() {
	s.request(Command{RequestID: "q1", Type: StartSession})
	s.settleDown()
	if open := s.fold().Interactions.Open("maker"); len(open) == 1 {
		ref := open[0].InteractionRef
		s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	}
	s.settleDown()
	s.request(Command{RequestID: "q3", Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: "我去码头。"}}})
	s.settleDown()
	for attempt := 0; ; attempt++ {
		if attempt > 20 {
			s.t.Fatal("the question is never answered")
		}
		s.settleDown()
		waiting := s.state.Hot.Suspensions.Waiting
		if len(waiting) == 0 {
			return
		}
		answer := `"again"`
		if waiting[0].ExecutionID != waiting[0].RootID {
			answer = `"go"`
		}
		s.ids++
		s.send(Command{RequestID: fmt.Sprint("answer-", s.ids), Type: ResumeSuspension, SuspensionID: waiting[0].ID, Answer: projections.RawJSON(answer)})
	}
}

// checkAnswered holds what the answering script must have led to, whatever happened on the way.
func (s *sim) checkAnswered() {
	s.t.Helper()
	s.check()
	st := s.fold()
	saved, counted := map[string]int{}, 0
	for _, r := range s.log {
		switch r.Type {
		case "SuspensionSaved":
			msg, _ := events.Decode(r.Event)
			saved[msg.(*eventsv1.SuspensionSaved).SuspensionId]++
		case "PlayerTurnCounted":
			counted++
		}
	}
	for id, n := range saved {
		if _, ended := st.Suspensions.Ended(id); n != 1 || !ended {
			s.t.Errorf("item %s: saved %d times, ended %v", id, n, ended)
		}
	}
	if len(saved) != 2 || counted != 1 || st.Session.CompletedPlayerTurns != 1 || len(st.Suspensions.Waiting)+len(st.Suspensions.Held) != 0 {
		s.t.Errorf("%d items, %d counts, %d turns, %+v", len(saved), counted, st.Session.CompletedPlayerTurns, st.Suspensions)
	}
	if rec, ok := st.PluginData.Get("seer", "n", "答"); !ok || rec.Revision != 1 || st.History.Stories != 2 {
		s.t.Errorf("written %+v, %d stories", rec, st.History.Stories)
	}
}

func newAsking(t testing.TB) *sim {
	s := newSim(t)
	s.result = asking
	return s
}

// Rule TP:193: the item, the question's end and what is written are one append each. Rule TP:209: a resume may suspend again.
// Rule REF api-and-protocol.md §4.13: a claim of a dead process is released.
// A crash between any two effects of suspending, suspending again and resuming: no item is lost, none is there twice, and the
// turn counts once.
func TestCrashBetweenSuspendAndResume(t *testing.T) {
	clean := newAsking(t)
	clean.survive(clean.answering)
	clean.checkAnswered()
	for at := 1; at <= clean.points; at++ {
		s := newAsking(t)
		s.crashAt = at
		s.survive(s.answering)
		if !s.crashed {
			t.Fatalf("point %d was not reached", at)
		}
		s.checkAnswered()
		if t.Failed() {
			t.Fatalf("crash before point %d of %d", at, clean.points)
		}
	}
	t.Logf("%d crash points", clean.points)
}

// A store fault at every append of the same script, of every kind.
func TestStoreFaultWhileSuspending(t *testing.T) {
	clean := newAsking(t)
	clean.survive(clean.answering)
	for kind, name := range map[fault]string{
		unknownWritten: "unknown, written", unknownNotWritten: "unknown, not written", refusedByStore: "refused", foreignBefore: "foreign event before",
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; at <= clean.appends; at++ {
				s := newAsking(t)
				s.fault = func(n int, _ Append) fault {
					if n == at {
						return kind
					}
					return noFault
				}
				s.survive(s.answering)
				s.checkAnswered()
				if t.Failed() {
					t.Fatalf("fault at append %d of %d", at, clean.appends)
				}
			}
		})
	}
}

// waitingSim is a session whose turn waits for an answer.
func waitingSim(t testing.TB) (*sim, projections.Suspension) {
	s := newAsking(t)
	s.activate()
	s.run()
	s.request(Command{RequestID: "q1", Type: StartSession})
	open := s.fold().Interactions.Open("maker")
	ref := open[0].InteractionRef
	s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	s.request(Command{RequestID: "q3", Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: "我去码头。"}}})
	if n := len(s.state.Hot.Suspensions.Waiting); n != 1 {
		t.Fatalf("%d items wait", n)
	}
	return s, s.state.Hot.Suspensions.Waiting[0]
}

func code(a Answer) string {
	if a.Refusal == nil {
		return string(a.Status)
	}
	return a.Refusal.Code
}

// Rule REF api-and-protocol.md §4.13: the order of the checks: is it there, is it over, does the answer fit, may the session
// play, is it up to date; nothing is stored for an answer that is refused.
func TestOrderOfTheChecksOfAResume(t *testing.T) {
	s, x := waitingSim(t)
	answer := func(id, data string) string {
		s.ids++
		return code(s.send(Command{RequestID: fmt.Sprint("a-", s.ids), Type: ResumeSuspension, SuspensionID: id, Answer: projections.RawJSON(data)}))
	}
	pause := func(kind ChangeKind) {
		s.token++
		s.ids++
		s.feed(ChangeStatus{Change{Kind: kind, ID: fmt.Sprint("c", s.ids), Token: s.token}})
		s.run()
	}
	pause(Pause)
	before := len(s.log)
	for _, c := range []struct{ id, data, want string }{
		{"nobody", `"go"`, "suspension_not_found"}, {x.ID, `"maybe"`, "form_rejected"}, {x.ID, ``, "form_rejected"}, {x.ID, `"go"`, "session_not_active"},
	} {
		if got := answer(c.id, c.data); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.id, c.data, got, c.want)
		}
	}
	if len(s.log) != before {
		t.Error("a refused answer wrote something")
	}
	pause(Resume)
	if got := answer(x.ID, `"fail"`); got != "accepted" || s.state.Hot.Session.Last.Reason != commit.ReasonResume {
		t.Errorf("a failing answer: %s %+v", got, s.state.Hot.Session.Last)
	}
	if got := answer(x.ID, `"go"`); got != "accepted" {
		t.Errorf("tried again: %s", got)
	}
	if got := answer(x.ID, `"maybe"`); got != "suspension_closed" {
		t.Errorf("answered already: %s", got)
	}
	s.check()
}

// Rule REF api-and-protocol.md §1.14: an item that an execution works on is refused to everybody else, also to be given up.
func TestAClaimedItemIsRefused(t *testing.T) {
	s, x := waitingSim(t)
	submit := func(request string) uint64 {
		s.token++
		s.ids++
		s.feed(Submit{Command{RequestID: request, BodyHash: "aa", Type: ResumeSuspension, SuspensionID: x.ID, Answer: projections.RawJSON(`"go"`),
			ExecutionID: fmt.Sprint("exec-", s.ids), Tokens: []uint64{s.token}}})
		return s.token
	}
	last := func(token uint64) string { return code(s.heard[token][len(s.heard[token])-1]) }
	first := submit("a1")
	if got := last(submit("a2")); got != "suspension_claimed" {
		t.Errorf("while the first is settled: %s", got)
	}
	for len(s.inbox) > 0 {
		in := s.inbox[0]
		s.inbox = s.inbox[1:]
		s.feed(in)
	}
	if got := last(first); got != "accepted" {
		t.Fatalf("the first: %s", got)
	}
	if got := last(submit("a3")); got != "suspension_claimed" {
		t.Errorf("while it runs: %s", got)
	}
	s.token++
	give := s.token
	s.feed(ChangeStatus{Change{Kind: AbandonSuspension, SuspensionID: x.ID, ID: "give-up", Token: give}})
	if len(s.heard[give]) != 0 {
		t.Errorf("given up while it runs: %s", last(give))
	}
	s.run()
	if got := last(give); got != "suspension_closed" {
		t.Errorf("given up after its end: %s", got)
	}
	s.check()
}

// Rule TP:359: an abandoned item ends its turn; Rule TP:361: one that is out of date is void and refused.
func TestAbandonAndVoid(t *testing.T) {
	t.Run("abandon", func(t *testing.T) {
		s, x := waitingSim(t)
		s.token++
		s.feed(ChangeStatus{Change{Kind: End, ID: "end", Token: s.token}})
		s.run()
		s.token++
		s.feed(ChangeStatus{Change{Kind: AbandonSuspension, SuspensionID: x.ID, ID: "give-up", Token: s.token}})
		s.run()
		st := s.fold()
		if end, _ := st.Suspensions.Ended(x.ID); end.End != projections.SuspensionAbandoned || st.Session.CompletedPlayerTurns != 1 {
			t.Errorf("%+v, %d turns", end, st.Session.CompletedPlayerTurns)
		}
		s.check()
	})
	t.Run("void", func(t *testing.T) {
		s, x := waitingSim(t)
		s.foreign(&eventsv1.PluginDataChanged{PluginId: "seer", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "答", Value: []byte("1"), Revision: 1}}})
		if got := code(s.send(Command{RequestID: "a1", Type: ResumeSuspension, SuspensionID: x.ID, Answer: projections.RawJSON(`"go"`)})); got != "suspension_out_of_date" {
			t.Fatalf("got %s", got)
		}
		st := s.fold()
		if end, _ := st.Suspensions.Ended(x.ID); end.Reason != commit.VoidRecordChanged || st.Session.CompletedPlayerTurns != 1 {
			t.Errorf("%+v, %d turns", end, st.Session.CompletedPlayerTurns)
		}
		if rec, _ := st.PluginData.Get("seer", "n", "答"); string(rec.Value) != "1" {
			t.Errorf("the newer write is gone: %s", rec.Value)
		}
		s.check()
	})
	t.Run("void by the code that is installed", func(t *testing.T) {
		s, x := waitingSim(t)
		s.token++
		s.feed(Submit{Command{RequestID: "a1", BodyHash: "aa", Type: ResumeSuspension, SuspensionID: x.ID, Answer: projections.RawJSON(`"go"`), ExecutionID: "exec-v", Tokens: []uint64{s.token}}})
		s.inbox = []Input{Settled{ExecutionID: "exec-v", OutOfDate: commit.VoidPluginChanged}}
		s.run()
		if end, _ := s.fold().Suspensions.Ended(x.ID); end.Reason != commit.VoidPluginChanged || code(s.heard[s.token][len(s.heard[s.token])-1]) != "suspension_out_of_date" {
			t.Errorf("%+v %+v", end, s.heard[s.token])
		}
		s.check()
	})
}

// foreign writes an event as another activation would and lets this one see it.
func (s *sim) foreign(msg *eventsv1.PluginDataChanged) {
	s.ids++
	ev, err := events.Encode(events.NewID(StreamOf("s1"), fmt.Sprint("foreign-", s.ids), 0, 0), &eventsv1.Metadata{AppendEnd: uint64(len(s.log) + 1)}, msg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(events.Version(len(s.log)), []events.Event{ev})
	s.feed(Foreign{})
	s.run()
}

// Rule REF api-and-protocol.md §4.13 "Expiry": an item expires after its time; a look alone ends nothing, a wake does.
func TestExpiry(t *testing.T) {
	s, x := waitingSim(t)
	s.activate()
	s.run()
	feed := func(in Input, now time.Time) {
		s.ids++
		var effects []Effect
		s.state, effects = Step(s.state, Env{FreshID: fmt.Sprint("fresh-", s.ids), Now: now}, in)
		s.do(effects)
		s.run()
	}
	late := x.ExpiresAt.Add(time.Second)
	feed(StopTurn{}, late)
	feed(Wake{}, x.ExpiresAt.Add(-time.Second))
	if len(s.fold().Suspensions.Waiting) != 1 {
		t.Fatal("it expired before its time, or by a look")
	}
	feed(Wake{}, late)
	st := s.fold()
	if end, _ := st.Suspensions.Ended(x.ID); end.End != projections.SuspensionExpired || st.Session.CompletedPlayerTurns != 1 {
		t.Errorf("%+v, %d turns", end, st.Session.CompletedPlayerTurns)
	}
	if got := code(s.send(Command{RequestID: "a1", Type: ResumeSuspension, SuspensionID: x.ID, Answer: projections.RawJSON(`"go"`)})); got != "suspension_closed" {
		t.Errorf("answered after it expired: %s", got)
	}
	s.check()
}

// Rule TP:181: going on after a suspension has the origin resume.
// Rule TL:675: the execution that goes on keeps the turn's number and id, and says what it goes on with.
func TestAResumeKeepsTheTurn(t *testing.T) {
	s, x := waitingSim(t)
	s.send(Command{RequestID: "a1", Type: ResumeSuspension, SuspensionID: x.ID, Answer: projections.RawJSON(`"go"`)})
	var started *eventsv1.ExecutionStarted
	var names []string
	for _, r := range s.log {
		msg, _ := events.Decode(r.Event)
		if m, ok := msg.(*eventsv1.ExecutionStarted); ok {
			started = m
		}
		names = append(names, r.Type)
	}
	if started.Origin != commit.OriginResume || started.LogicalTurnId != x.LogicalTurnID || started.LogicalTurn != x.LogicalTurn || started.SuspensionId != x.ID || started.SourceTurnId != x.ExecutionID {
		t.Errorf("%+v", started)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "SuspensionClaimed ExecutionStarted PluginDataChanged SuspensionResolved PlayerTurnCounted") {
		t.Errorf("%s", got)
	}
}

package commit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// waits is a run that suspended with the writes it had staged.
func waits(r turn.Result) turn.Result {
	r.Status, r.StopReason = turn.Suspended, "suspended"
	r.Suspension = &turn.Suspension{Reason: "你叫什么？", ResumeSchema: []byte(`{"type":"object"}`), PluginVersion: "1", PluginDigest: "d"}
	return r
}

// apply appends what a commit gives, as the session does.
func apply(t testing.TB, s projections.State, execution string, out Out) projections.State {
	t.Helper()
	msgs := make([]proto.Message, len(out.Facts))
	for i, f := range out.Facts {
		msgs[i] = f.Message
	}
	return fold(t, s, execution, msgs...)
}

// resuming is a state in which an execution goes on with an item.
func resuming(t testing.TB, s projections.State, execution, id string) projections.State {
	t.Helper()
	x, ok := s.Suspensions.Find(id)
	if !ok {
		t.Fatalf("no item %s in %+v", id, s.Suspensions)
	}
	return fold(t, activate(s), execution,
		&eventsv1.SuspensionClaimed{SuspensionId: id, ExecutionId: execution, RequestId: "r-" + execution, Answer: []byte(`{"name":"龙胆"}`)},
		&eventsv1.ExecutionStarted{ExecutionId: execution, Origin: OriginResume, LogicalTurn: x.LogicalTurn, LogicalTurnId: x.LogicalTurnID, Phase: x.Phase, SuspensionId: id})
}

// only gives the one item that waits.
func only(t testing.TB, s projections.State) projections.Suspension {
	t.Helper()
	if len(s.Suspensions.Waiting) != 1 {
		t.Fatalf("%d items wait: %+v", len(s.Suspensions.Waiting), s.Suspensions)
	}
	return s.Suspensions.Waiting[0]
}

func brief(out Out) string {
	var list []string
	for _, f := range out.Facts {
		switch m := f.Message.(type) {
		case *eventsv1.ExecutionResults:
		case *eventsv1.SuspensionSaved:
			list = append(list, "saved "+m.RuntimeId)
		case *eventsv1.SuspensionResolved:
			list = append(list, fmt.Sprint("resolved last=", m.Last))
		case *eventsv1.SuspensionVoided:
			list = append(list, fmt.Sprint("voided ", m.Reason, " last=", m.Last))
		case *eventsv1.SuspensionContinued:
			list = append(list, "continued")
		case *eventsv1.SuspensionAbandoned:
			list = append(list, fmt.Sprint("abandoned last=", m.Last))
		case *eventsv1.SuspensionExpired:
			list = append(list, fmt.Sprint("expired last=", m.Last))
		case *eventsv1.JobQueued:
			list = append(list, "queued "+m.RuntimeId)
		default:
			list = append(list, tell(f))
		}
	}
	return strings.Join(list, " | ")
}

func ended(ids ...Fact) string { return brief(Out{Facts: ids}) }

// painting is a job that a turn defers.
var painting = turn.Deferred{Activation: job.Stage, Run: turn.Run{RunID: "run-p", Runtime: manifest.Runtime{
	ID: "painter", PluginID: "painter", Type: "function", Schedule: manifest.Schedule{Stage: manifest.PostTurn, Detached: &manifest.Detached{}},
}}}

// Rule TP:193: the item is part of the commit. Rule TP:359: a turn with a suspension is not counted and queues no job; the
// exit that ends it does both: the resume, the last of several, abandoned, expired, void. Rule REF api-and-protocol.md §4.13:
// of several items only the last counts.
func TestTheExitOfATurnCountsAndQueues(t *testing.T) {
	suspend := func(t *testing.T, results ...turn.Result) projections.State {
		s := playing(t)
		in := in(s, results...)
		in.Deferred = []turn.Deferred{painting}
		out := Plan(in)
		if got := brief(out); strings.Contains(got, "count") || strings.Contains(got, "queued") || !strings.Contains(got, "saved oracle") {
			t.Fatalf("a turn that waits: %s", got)
		}
		return apply(t, s, "e1", out)
	}
	t.Run("resumed", func(t *testing.T) {
		s := suspend(t, teller(), waits(ran("oracle", note("old", "2"))))
		x := only(t, s)
		if x.LogicalTurnID != "turn-1" || x.RootID != "e1" || x.Locale != "zh-CN" || len(s.Suspensions.Held) != 1 {
			t.Errorf("%+v", x)
		}
		s = resuming(t, s, "e2", x.ID)
		out := Plan(in(s, ran("oracle", note("old", "2"))))
		expect(t, "resume", brief(out), "data oracle n/old=2 r1 | resolved last=true | count turn-1 1 | queued painter | ledger oracle 1@1 | committed e2")
		s = apply(t, s, "e2", out)
		if len(s.Suspensions.Waiting)+len(s.Suspensions.Held) != 0 || s.Session.CompletedPlayerTurns != 1 {
			t.Errorf("%+v", s.Suspensions)
		}
	})
	t.Run("the last of two", func(t *testing.T) {
		s := suspend(t, teller(), waits(ran("oracle")), waits(ran("seer")))
		a, b := s.Suspensions.Waiting[0], s.Suspensions.Waiting[1]
		s = resuming(t, s, "e2", a.ID)
		out := Plan(in(s, ran("oracle")))
		expect(t, "the first", brief(out), "resolved last=false | ledger oracle 1@0 | committed e2")
		s = apply(t, s, "e2", out)
		expect(t, "the last", ended(EndSuspensions(s, Ending{ID: b.ID, End: projections.SuspensionAbandoned})...), "abandoned last=true | count turn-1 1 | queued painter")
	})
	for _, end := range []string{projections.SuspensionAbandoned, projections.SuspensionExpired} {
		t.Run(end, func(t *testing.T) {
			s := suspend(t, teller(), waits(ran("oracle")))
			expect(t, end, ended(EndSuspensions(s, Ending{ID: only(t, s).ID, End: end})...), end+" last=true | count turn-1 1 | queued painter")
		})
	}
	t.Run("void", func(t *testing.T) {
		s := suspend(t, teller(), waits(ran("oracle")))
		expect(t, "void", ended(EndSuspensions(s, Ending{ID: only(t, s).ID, End: projections.SuspensionVoided, Reason: VoidTurnPlayed})...),
			"voided turn-played last=true | count turn-1 1 | queued painter")
		expect(t, "an item that is not there", ended(EndSuspensions(s, Ending{ID: "gone", End: projections.SuspensionExpired})...), "")
	})
}

// Rule TP:209: a resumed run that suspends again handles the old item first and saves the new one; the jobs move along and
// the chain counts once, at its end.
func TestSuspendingAgainGoesOnWithTheChain(t *testing.T) {
	s := playing(t)
	first := in(s, teller(), waits(ran("oracle")))
	first.Deferred = []turn.Deferred{painting}
	s = apply(t, s, "e1", Plan(first))
	x := only(t, s)
	s = resuming(t, s, "e2", x.ID)
	out := Plan(in(s, waits(ran("oracle"))))
	expect(t, "again", brief(out), "continued | saved oracle | committed e2")
	s = apply(t, s, "e2", out)
	y := only(t, s)
	if y.ID == x.ID || y.RootID != "e1" || y.TurnNumber != 0 || len(s.Suspensions.Held) != 1 || len(s.Suspensions.Held[0].Events) != 1 {
		t.Errorf("%+v %+v", y, s.Suspensions.Held)
	}
	s = resuming(t, s, "e3", y.ID)
	out = Plan(in(s, ran("oracle")))
	expect(t, "the end", brief(out), "resolved last=true | count turn-1 1 | queued painter | ledger oracle 1@1 | committed e3")
}

// Rule TP:208: an older item of the same runtime is void in the append that saves the new one, and its own turn ends.
func TestANewItemVoidsTheOldOne(t *testing.T) {
	s := playing(t)
	s = apply(t, s, "e1", Plan(in(s, teller(), waits(ran("oracle")))))
	s = fold(t, s, "e2",
		&eventsv1.ActionsSubmitted{RequestId: "r2", Type: "submit_actions", Rendered: "再走。", ExecutionId: "e2", InputMessageId: "m-e2", Actions: []*eventsv1.Action{{Kind: "say", Text: "再走。"}}},
		&eventsv1.ExecutionStarted{ExecutionId: "e2", Origin: OriginPlayer, LogicalTurn: 1, LogicalTurnId: "turn-2", RequestId: "r2", Phase: projections.PhasePlaying})
	out := Plan(in(s, teller(), waits(ran("oracle"))))
	if got := brief(out); !strings.Contains(got, "voided suspended-again last=true | count turn-1 1 | ") || !strings.HasSuffix(got, "saved oracle | committed e2") || strings.Contains(got, "turn-2 ") {
		t.Errorf("%s", got)
	}
	s = apply(t, s, "e2", out)
	if x := only(t, s); x.LogicalTurnID != "turn-2" || s.Session.CompletedPlayerTurns != 1 {
		t.Errorf("%+v", x)
	}
}

// Rule TP:361: what the saved writes would change is noted; a record changed by somebody else makes the item out of date, and
// its old writes never overwrite the new ones. Rule TP:208: the commit checks it once more and writes nothing.
func TestARecordThatChangedMeanwhile(t *testing.T) {
	s := playing(t)
	p := ran("p", note("old", "2"), raw("character.upsert", `{"id":"npc-1","name":"龙胆","type":"npc"}`),
		raw("lorebook.upsert", `{"entries":[{"id":"潮","content":"x","strategy":"constant"}]}`), raw("character.schema.set", `{"types":["npc"],"attributes":[]}`))
	p.Exports = []turn.Export{{RuntimeID: "p/b", PluginID: "p", Name: "事实", Value: []byte(`1`)}}
	s = apply(t, s, "e1", Plan(in(s, teller(), ran("p/b", note("other", "1")), waits(p))))
	x := only(t, s)
	if len(x.Noted) != 5 {
		t.Fatalf("noted: %+v", x.Noted)
	}
	expect(t, "untouched", OutOfDate(activate(s), x), "")
	for name, change := range map[string]proto.Message{
		"the record":    &eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "old", Value: []byte(`9`), Revision: 5}}},
		"its removal":   &eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "old", Removed: true, Revision: 5}}},
		"the character": &eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-1", Name: "龙胆", Type: "npc", Version: 3}},
		"the schema":    &eventsv1.CharacterSchemaSet{Version: 2, Types: []string{"npc"}},
		"the entry": &eventsv1.LorebookUpserted{Owner: &eventsv1.LorebookOwner{Kind: "plugin", PluginId: "p"},
			Entries: []*eventsv1.LorebookEntry{{Id: "潮", Content: "y", Strategy: "constant"}}},
		"the export": &eventsv1.OutputExported{PluginId: "p", RuntimeId: "p/b", Name: "事实", Value: []byte(`2`), Revision: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := resuming(t, activate(fold(t, s, "", change)), "e2", x.ID)
			expect(t, "why", OutOfDate(s, x), VoidRecordChanged)
			out := Plan(in(s, ran("p", note("old", "2"))))
			expect(t, "commit", brief(out), "failed e2 suspension-out-of-date: the suspension is out of date: record-changed")
		})
	}
	same := fold(t, s, "", &eventsv1.PluginDataChanged{PluginId: "q", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "old", Value: []byte(`9`), Revision: 1}}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-2", Name: "Maud", Type: "npc", Version: 7}})
	expect(t, "other records", OutOfDate(activate(same), x), "")
}

// activate makes the plugins of the tests active ones of the session.
func activate(s projections.State) projections.State {
	for _, id := range []string{"p", "oracle", "seer", "ask"} {
		s.Session.Plugins = append(s.Session.Plugins, projections.PluginRef{ID: id})
	}
	return s
}

// Rule TL:671: another turn of the player, a plugin that is gone, and a continuation of another version make an item void.
func TestOutOfDate(t *testing.T) {
	s := playing(t)
	s = apply(t, s, "e1", Plan(in(s, teller(), waits(ran("oracle")))))
	x := only(t, s)
	expect(t, "not active any more", OutOfDate(s, x), VoidPluginChanged)
	s = activate(s)
	expect(t, "good", OutOfDate(s, x), "")
	old := x
	c := &eventsv1.Continuation{Version: turn.ContinuationVersion + 1}
	old.Continuation, _ = proto.Marshal(c)
	expect(t, "of another version", OutOfDate(s, old), VoidUnreadable)
	manual := fold(t, s, "e2", &eventsv1.ExecutionStarted{ExecutionId: "e2", Origin: "manual", LogicalTurnId: "e2", Phase: projections.PhasePlaying}, &eventsv1.ExecutionCommitted{ExecutionId: "e2"})
	expect(t, "a manual run in between", OutOfDate(manual, x), "")
	played := fold(t, s, "e2", &eventsv1.ExecutionStarted{ExecutionId: "e2", Origin: OriginPlayer, LogicalTurnId: "turn-2", Phase: projections.PhasePlaying}, &eventsv1.ExecutionCommitted{ExecutionId: "e2"})
	expect(t, "another turn", OutOfDate(played, x), VoidTurnPlayed)
}

// Rule TP:145: a suspended setup uses up no try; one whose item is abandoned, expires or is void counts as failed and is
// pending again, or blocked when its tries are used up. Rule TP:144: after a resume the done signal and the phase are in the
// commit of the resume. Rule REF api-and-protocol.md §4.13: a failed resume is no try of its own.
func TestSuspendedSetup(t *testing.T) {
	s := settingUp(t, pending("ask", 1, 2))
	out := Plan(in(s, waits(step("ask"))))
	expect(t, "suspended", brief(out), "saved ask | committed e1")
	s = activate(apply(t, s, "e1", out))
	x := only(t, s)
	if su, _ := s.Session.SetupOf("ask"); su.Status != projections.SetupPending || su.Attempts != 1 {
		t.Errorf("%+v", su)
	}
	for _, end := range []string{projections.SuspensionAbandoned, projections.SuspensionExpired, projections.SuspensionVoided} {
		got := ended(EndSuspensions(s, Ending{ID: x.ID, End: end})...)
		if !strings.Contains(got, "setup ask blocked try 2 of 2  attempts-used-up its question was "+end) {
			t.Errorf("%s: %s", end, got)
		}
	}
	fresh := s
	fresh.Session.Setup = []projections.SetupRuntime{{RuntimeID: "ask", Status: projections.SetupPending, MaxAttempts: 3}}
	if got := ended(EndSuspensions(fresh, Ending{ID: x.ID, End: projections.SuspensionAbandoned})...); !strings.Contains(got, "setup ask pending try 1 of 3") {
		t.Errorf("with tries left: %s", got)
	}
	if got := InterruptedAttempts(resuming(t, s, "e2", x.ID)); len(got) != 0 {
		t.Errorf("a resume that died: %v", got)
	}
	s = resuming(t, s, "e2", x.ID)
	expect(t, "a failed resume", brief(Plan(in(s, with(step("ask"), breaks)))), "failed e2 resume-failed: 超时")
	got := brief(Plan(in(s, with(step("ask"), done))))
	expect(t, "done", got, "resolved last=true | setup ask done try 2 of 2 completed | phase playing | ledger ask 1@0 | committed e2 opening")
}

// Rule TP:214: what a suspended run has read decides at its own commit; the saved item keeps no trace of it, and its resume
// depends on no run of before.
func TestASavedItemNamesNoProducer(t *testing.T) {
	s := playing(t)
	out := Plan(in(s, ran("maker", note("制", "1")), teller(), reading(needing(waits(ran("oracle", note("签", "2"))), []string{"maker"}), "run-maker")))
	saved := 0
	for _, f := range out.Facts {
		if m, ok := f.Message.(*eventsv1.SuspensionSaved); ok {
			saved++
			if text := m.String(); strings.Contains(text, "maker") {
				t.Errorf("the item says %s", text)
			}
		}
	}
	expect(t, "items", saved, 1)
	s = activate(apply(t, s, "e1", out))
	s = resuming(t, s, "e2", only(t, s).ID)
	expect(t, "resume", brief(Plan(in(s, ran("oracle", note("签", "2"))))), "data oracle n/签=2 r1 | resolved last=true | count turn-1 1 | ledger oracle 1@1 | committed e2")
}

// Rule TP:214: a continuation that depends on a dropped producer is discarded at the source commit; its turn ends at once.
func TestAContinuationOfADroppedProducerIsDiscarded(t *testing.T) {
	s := playing(t)
	out := Plan(in(s, teller(), ran("maker", raw("nonsense", `{}`)), needing(waits(ran("oracle")), []string{"maker"})))
	if got := brief(out); strings.Contains(got, "saved") || !strings.Contains(got, "count turn-1 1") {
		t.Errorf("%s", got)
	}
	if got := lines(outcomesOf(out)); !strings.Contains(got, "oracle failed dropped: needs maker") {
		t.Errorf("%s", got)
	}
}

// Rule TP:193: a rolled-back execution leaves no item. A story that waits is no failed story.
func TestARolledBackExecutionLeavesNoItem(t *testing.T) {
	s := playing(t)
	out := Plan(in(s, with(teller(), func(r *turn.Result) { r.Status, r.Error = turn.Failed, "模型没有回答" }), waits(ran("oracle"))))
	if !out.Failed || strings.Contains(brief(out), "saved") {
		t.Errorf("%s", brief(out))
	}
	out = Plan(in(s, with(waits(teller()), func(r *turn.Result) { r.Segments = nil })))
	expect(t, "a story that waits", brief(out), "saved "+teller().RuntimeID+" | committed e1")
}

// What cannot be saved is refused like a write: hostile names and schemas never break the session.
func TestHostileSuspensions(t *testing.T) {
	for name, change := range map[string]func(*turn.Result){
		"no suspension":        func(r *turn.Result) { r.Suspension = nil },
		"a schema that is not": func(r *turn.Result) { r.Suspension.ResumeSchema = []byte(`{"type":`) },
		"a type that is no text": func(r *turn.Result) {
			r.Proposals = append(r.Proposals, raw("plugin.\xff", `{}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := playing(t)
			out := Plan(in(s, teller(), with(waits(ran("oracle")), change)))
			if got := lines(outcomesOf(out)); !strings.Contains(got, "oracle failed dropped") || strings.Contains(brief(out), "saved") {
				t.Errorf("%s\n%s", got, brief(out))
			}
			apply(t, s, "e1", out)
		})
	}
}

// The time to live is kept with the item; below 0 it waits for ever.
func TestTimeToLive(t *testing.T) {
	for ttl, want := range map[time.Duration]uint64{0: 604_800_000, time.Minute: 60_000, -1: 0} {
		in := in(playing(t), teller(), waits(ran("oracle")))
		in.SuspensionTTL = ttl
		for _, f := range Plan(in).Facts {
			if m, ok := f.Message.(*eventsv1.SuspensionSaved); ok && m.TtlMs != want {
				t.Errorf("%s: %d", ttl, m.TtlMs)
			}
		}
	}
}

// What a turn holds back may be of a newer program: what cannot be read is left out.
func TestReleaseLeavesOutWhatItCannotRead(t *testing.T) {
	facts := release([]projections.HeldEvent{{Type: "Unheard", Data: []byte{1}}, {Type: "JobQueued", Data: []byte{0xff}},
		{Type: "SessionEnded", RunID: "r", PluginID: "p"}})
	if len(facts) != 1 || events.TypeOf(facts[0].Message) != "SessionEnded" || facts[0].RunID != "r" {
		t.Errorf("%+v", facts)
	}
}

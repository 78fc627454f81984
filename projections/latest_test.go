package projections_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func results(execution string, runs ...*eventsv1.RunResult) proto.Message {
	return &eventsv1.ExecutionResults{ExecutionId: execution, Results: runs}
}

func gave(runtime, status, output string) *eventsv1.RunResult {
	return &eventsv1.RunResult{RuntimeId: runtime, PluginId: runtime, RunId: "run/" + runtime, Status: status, Output: []byte(output)}
}

func storyRow(id string) proto.Message {
	return &eventsv1.NarrativeAppended{MessageId: id, RuntimeId: "narrator", PluginId: "narrator", Kind: "story", Text: "雨停了。"}
}

func playing(execution string, change func(*eventsv1.ExecutionStarted)) proto.Message {
	m := &eventsv1.ExecutionStarted{ExecutionId: execution, Origin: "player", LogicalTurn: 3, LogicalTurnId: execution, Phase: "playing"}
	if change != nil {
		change(m)
	}
	return m
}

func runsText(l projections.Latest) []string {
	var out []string
	for _, r := range l.Runs {
		out = append(out, fmt.Sprintf("%s %s %s", r.RuntimeID, r.Status, r.Output))
	}
	return out
}

// Rule TP:325: seeds are results of the source turn and of committed retries of it; what did not commit gives none.
func TestLatestTurnKeepsWhatItsRunsGave(t *testing.T) {
	s := begin(t).in("e1", playing("e1", nil), storyRow("m1"), results("e1", gave("narrator", "success", `{"a":1}`), gave("paint", "failed", "")), committed("e1"))
	first := s.state()
	expect(t, "turn", first.Latest.TurnID+" "+first.Latest.AnchorID, "e1 m1")
	expect(t, "runs", runsText(first.Latest), []string{`narrator success {"a":1}`, "paint failed "})

	retry := func(id string) proto.Message {
		return playing(id, func(m *eventsv1.ExecutionStarted) {
			m.Origin, m.SourceTurnId, m.Targets = "manual", "e1", []*eventsv1.RuntimeTarget{{RuntimeId: "paint"}}
		})
	}
	s.in("e2", retry("e2"), results("e2", gave("paint", "failed", "")), &eventsv1.ExecutionFailed{ExecutionId: "e2"})
	expect(t, "a retry that did not commit", runsText(s.state().Latest), runsText(first.Latest))
	s.in("e3", retry("e3"), results("e3", gave("paint", "success", `"龙胆"`)), committed("e3"))
	expect(t, "a retry that did", runsText(s.state().Latest), []string{`narrator success {"a":1}`, `paint success "龙胆"`})
	s.in("e4", playing("e4", func(m *eventsv1.ExecutionStarted) { m.Targets = []*eventsv1.RuntimeTarget{{RuntimeId: "x"}} }), results("e4", gave("x", "success", "1")), committed("e4"))
	expect(t, "a run by name alone", s.state().Latest.TurnID, "e1")
	s.in("e5", playing("e5", nil), results("e5", gave("narrator", "success", "2")), committed("e5"))
	expect(t, "the next turn", runsText(s.state().Latest), []string{"narrator success 2"})
}

// Rule TP:330: messages of a retry are linked to the story of the turn that is tried again.
func TestRowsOfARetryHangOnTheStory(t *testing.T) {
	s := begin(t).in("e1", playing("e1", nil), storyRow("m1"), committed("e1")).
		in("e2", playing("e2", func(m *eventsv1.ExecutionStarted) { m.SourceTurnId = "e1" }),
			&eventsv1.MessageAppended{MessageId: "m2", RuntimeId: "paint", PluginId: "p", Role: "assistant", Text: "画好了"}, committed("e2")).state()
	m, _ := s.History.Find("m2")
	expect(t, "anchor", m.Anchor, projections.Anchor{SourceTurnID: "e1", AnchorID: "m1"})
	story, _ := s.History.Find("m1")
	expect(t, "the story's own", story.Anchor, projections.Anchor{})
}

// Rule TP:998: a compaction changes nothing of the trigger ledger.
// Rule TP:1008: the count of the player's messages reads the log, compacted or not.
func TestACompactionCountsNothing(t *testing.T) {
	ran := &eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "narrator", Runs: 1, LastCompletedTurns: 1}}}
	x := begin(t).in("e1", say("e1", "r1", "我去码头。"), playing("e1", nil), storyRow("m1"), ran, committed("e1"))
	before := x.state()
	after := x.in("e2", playing("e2", nil), &eventsv1.HistoryCompacted{
		PluginId: "p", ThroughMessageId: "m1", MessageCount: 2, Summaries: []*eventsv1.HistorySummary{{Id: "a", Content: "雨停了。"}},
	}, committed("e2")).state()
	expect(t, "what is left", len(after.History.Uncompacted()), 0)
	expect(t, "ledger", after.Session.Ledger, before.Session.Ledger)
	expect(t, "runs", after.Session.LedgerOf("narrator").Runs, uint32(1))
	expect(t, "player rows", after.History.Players, 1)
}

// Rule TP:1011: what a player submits is one row of the user's, however many actions and answers it has.
// Rule TP:1012: no row of the assistant's mirrors it.
func TestThePlayersInputIsOneRow(t *testing.T) {
	in := say("e1", "r1", "我叫陆青云。\n我去码头。")
	in.Actions = []*eventsv1.Action{{Kind: "say", Text: "我叫陆青云。", Interaction: &eventsv1.InteractionRef{InteractionId: "sheet"}}, {Kind: "act", Text: "我去码头。"}}
	s := begin(t).in("e1", in, playing("e1", nil), committed("e1")).state()
	expect(t, "rows", rowTexts(s), []string{"user: 我叫陆青云。\n我去码头。"})
	expect(t, "player rows", s.History.Players, 1)
}

// Rule TP:991–993: an interjection is a user row after the turn's player row; a turn that does not commit writes none; the
// player message count does not count it.
func TestInterjectionRows(t *testing.T) {
	said := &eventsv1.InterjectionMerged{MessageId: "i1", Text: "等等！", SeatId: "seat-1"}
	s := begin(t).in("e1", say("e1", "r1", "我去码头。"), playing("e1", nil), said, storyRow("m1"), committed("e1")).state()
	expect(t, "rows", rowTexts(s), []string{"user: 我去码头。", "user: 等等！", "assistant: 雨停了。"})
	m, _ := s.History.Find("i1")
	expect(t, "row", m.Role+" "+m.Source, "user player-interjection")
	expect(t, "player rows", s.History.Players, 1)
	s = begin(t).in("e1", say("e1", "r1", "我去码头。"), playing("e1", nil), said, &eventsv1.ExecutionAborted{ExecutionId: "e1"}).state()
	expect(t, "rows of a turn that was stopped", rowTexts(s), nil)
}

// A run by name leaves the line that did not commit where it is, and what became of it is still known.
func TestDraftSurvivesARunByName(t *testing.T) {
	named := &eventsv1.ActionsSubmitted{RequestId: "r2", Type: "run_runtimes", ExecutionId: "e2"}
	s := begin(t).in("e1", say("e1", "r1", "我去码头。"), playing("e1", nil), &eventsv1.ExecutionFailed{ExecutionId: "e1", Error: "断线"}).
		in("e2", named, playing("e2", func(m *eventsv1.ExecutionStarted) { m.Origin = "manual" }), committed("e2")).state()
	if s.Session.Draft == nil || s.Session.Draft.Rendered != "我去码头。" || s.Session.Unfinished == nil || s.Session.Unfinished.Error != "断线" {
		t.Errorf("draft %+v of %+v", s.Session.Draft, s.Session.Unfinished)
	}
	if _, ok := s.Session.FindRequest("", "r2"); !ok || s.History.Players != 0 {
		t.Error("the request is forgotten, or the line was written")
	}
}

// Rule DEC Seats, roles, gathering: seats and settings change at once, also while a turn runs; every gathered request is
// remembered.
func TestTableEvents(t *testing.T) {
	s := begin(t).in("e1", playing("e1", nil)).in("",
		&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-2", Name: "龙胆", Role: "host", Control: "open"}},
		&eventsv1.SettingsChanged{Settings: &eventsv1.Settings{Gathering: "on", Allowances: &eventsv1.Allowances{ModelCalls: 3}}})
	st := s.state()
	expect(t, "seats", len(st.Session.Seats), 2)
	expect(t, "settings", st.Session.Settings, projections.Settings{Gathering: "on", Allowances: projections.Allowances{ModelCalls: 3}})
	expect(t, "seats after one left", len(s.in("", &eventsv1.SeatRemoved{SeatId: "seat-2"}).state().Session.Seats), 1)
	two := say("e2", "r1", "一起走")
	two.Gathered = []*eventsv1.GatheredRequest{{RequestId: "r2", SeatId: "seat-2", BodyHash: []byte{0xbb}}}
	req, ok := begin(t).in("e2", two).state().Session.FindRequest("seat-2", "r2")
	expect(t, "the second request", fmt.Sprintln(ok, req.ExecutionID, req.BodyHash), "true e2 bb\n")
}

// Rule TP:409: the notice stays until a later player's or continuation execution commits; one that does not commit, and a
// retry, leave it.
func TestNoticeOfOperationsStaysUntilTheNextCommit(t *testing.T) {
	failed := func(execution string) proto.Message {
		return &eventsv1.ExecutionCommitted{ExecutionId: execution, Operations: []*eventsv1.OperationOutcome{
			{Id: "op-1", Summary: "龙胆入册", Status: projections.OperationFailed}, {Id: "op-2", Summary: "x", Status: projections.OperationApplied},
		}}
	}
	s := begin(t).in("e1", playing("e1", nil), failed("e1"))
	told := func() (out []string) {
		for _, o := range s.state().Session.NotApplied {
			out = append(out, o.Summary)
		}
		return out
	}
	expect(t, "after the turn", told(), []string{"龙胆入册"})
	s.in("e2", playing("e2", nil), &eventsv1.ExecutionFailed{ExecutionId: "e2"})
	expect(t, "after one that did not commit", told(), []string{"龙胆入册"})
	s.in("e3", playing("e3", func(m *eventsv1.ExecutionStarted) { m.Origin, m.SourceTurnId = "manual", "e1" }), committed("e3"))
	expect(t, "after a retry", told(), []string{"龙胆入册"})
	s.in("e4", playing("e4", func(m *eventsv1.ExecutionStarted) { m.Origin = "continuation" }), committed("e4"))
	expect(t, "after a continuation", told(), []string(nil))
}

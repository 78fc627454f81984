package projections_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:1009: summaries and the marker are one event; prompts begin after it, and the messages themselves stay.
// Rule TP:1008: counts of messages and of runs read the log and the ledger, whatever prompts leave out.
func TestHistoryCompacted(t *testing.T) {
	var s projections.State
	add := func(msgs ...proto.Message) {
		for _, m := range msgs {
			ev, err := events.Encode(events.NewID("session-s", "x", int(s.Version), 0), nil, m)
			if err != nil {
				t.Fatal(err)
			}
			if s, err = projections.Apply(s, events.Recorded{Event: ev, Version: s.Version + 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	story := func(id string) proto.Message {
		return &eventsv1.NarrativeAppended{MessageId: id, RuntimeId: "narrator", Text: "龙胆 " + id}
	}
	add(&eventsv1.SessionCreated{SessionId: "s", Phase: "playing"}, story("1"), story("2"), story("3"),
		&eventsv1.PlayerTurnCounted{LogicalTurnId: "t3", CompletedPlayerTurns: 3},
		&eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "narrator", Runs: 3, LastCompletedTurns: 3}}})
	left := func() (ids []string) {
		for _, m := range s.History.Uncompacted() {
			ids = append(ids, m.ID)
		}
		return ids
	}
	add(&eventsv1.HistoryCompacted{PluginId: "p", ThroughMessageId: "2", MessageCount: 2, Summaries: []*eventsv1.HistorySummary{{Id: "a", Content: "开始"}}}, story("4"))
	if d := cmp.Diff([]string{"3", "4"}, left()); d != "" || s.History.Len() != 4 {
		t.Error(d, s.History.Len())
	}
	if ledger := s.Session.LedgerOf("narrator"); s.Session.CompletedPlayerTurns != 3 || s.History.Stories != 4 || ledger.Runs != 3 || ledger.LastCompletedTurns != 3 {
		t.Errorf("%d turns, %d stories, %+v", s.Session.CompletedPlayerTurns, s.History.Stories, ledger)
	}
	// A merge alone moves nothing, and an older marker does not bring messages back.
	add(&eventsv1.HistoryCompacted{PluginId: "p", Summaries: []*eventsv1.HistorySummary{{Id: "a", Content: "merged"}}})
	add(&eventsv1.HistoryCompacted{PluginId: "p", ThroughMessageId: "1", Summaries: []*eventsv1.HistorySummary{{Id: "a", Content: "merged"}}})
	if d := cmp.Diff([]string{"3", "4"}, left()); d != "" || s.History.Summaries[0].Content != "merged" {
		t.Error(d, s.History.Summaries)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := projections.DecodeState(b)
	if err != nil || len(back.History.Uncompacted()) != 2 || back.History.Summaries[0].ID != "a" {
		t.Errorf("%+v %v", back.History.Summaries, err)
	}
	// Rows that are not kept any more count as compacted, not as left.
	for i := range projections.HotMessages + 10 {
		add(story(string(rune('a'+i%20)) + "x"))
	}
	if n := len(s.History.Uncompacted()); n != projections.HotMessages {
		t.Errorf("%d rows are left of %d", n, projections.HotMessages)
	}
}

package commit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// fold is the state that messages lead to. Those of an execution count at its commit.
func fold(t testing.TB, s projections.State, execution string, msgs ...proto.Message) projections.State {
	t.Helper()
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID("session-s1", execution, int(s.Version), i), &eventsv1.Metadata{CausationId: execution, LogicalTurn: 1}, m)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = projections.Apply(s, events.Recorded{Event: ev, Stream: "session-s1", Version: s.Version + 1, RecordedAt: time.Unix(1_700_000_000, 0).UTC()}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// session is a session of a world with three people, a schema, and a record of plugin p.
func session(t testing.TB, phase string, setup ...*eventsv1.SetupRuntime) projections.State {
	return fold(t, projections.State{}, "",
		&eventsv1.SessionCreated{
			SessionId: "s1", WorldId: "w", Locale: "zh-CN", Phase: phase, SetupRuntimes: setup,
			Seats: []*eventsv1.Seat{{Id: "seat-1", Name: "甲", Role: "player", Control: "human", Primary: true}, {Id: "seat-2", Role: "player", Control: "human", CharacterIds: []string{"pc-2"}}},
		},
		&eventsv1.CharacterSchemaSet{Version: 1, Types: []string{"npc"}, Attributes: []byte(`[{"id":"hp","name":"HP","type":"number","category":"stats","max":100}]`)},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-1", Name: "龙胆", Aliases: []string{"E\u0301lodie"}, Type: "npc", Fields: []byte(`{"hp":60}`), Version: 2}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-2", Name: "Maud", Type: "npc", Version: 1}},
		&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "pc-2", Name: "Ольга", Type: "player", Version: 1}},
		&eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "old", Value: []byte(`1`), Revision: 4}}},
	)
}

// playing is that session in the middle of a player's turn.
func playing(t testing.TB) projections.State {
	return fold(t, session(t, projections.PhasePlaying), "e1",
		&eventsv1.ActionsSubmitted{RequestId: "r1", Type: "submit_actions", Rendered: "我去码头。", ExecutionId: "e1", InputMessageId: "m-e1", Actions: []*eventsv1.Action{{Kind: "say", Text: "我去码头。"}}},
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: OriginPlayer, LogicalTurn: 1, LogicalTurnId: "turn-1", RequestId: "r1", Phase: projections.PhasePlaying})
}

func in(s projections.State, results ...turn.Result) In {
	return In{State: s, Pack: worlds.View{}, Execution: *s.Session.Open, Results: results, Topics: map[string]json.RawMessage{"scene.set": nil}}
}

// ran is a run that ended well.
func ran(id string, proposals ...sdk.Proposal) turn.Result {
	plugin, _, _ := strings.Cut(id, "/")
	return turn.Result{RuntimeID: id, PluginID: plugin, RunID: "run-" + id, Stage: manifest.PostTurn, Status: turn.Succeeded, StopReason: "completed", Proposals: proposals}
}

func with(r turn.Result, change func(*turn.Result)) turn.Result {
	change(&r)
	return r
}

func needing(r turn.Result, groups ...[]string) turn.Result {
	r.Needs = groups
	return r
}

// teller is a run that told a page of story.
func teller(segments ...sdk.StorySegment) turn.Result {
	if len(segments) == 0 {
		segments = []sdk.StorySegment{{Kind: "narration", Text: "雨停了。"}}
	}
	r := ran("narrator", propose(sdk.NarrativeAppend{Segments: segments, Kind: "story"}))
	r.Stage, r.Story, r.Segments = manifest.Narrative, true, segments
	return r
}

func propose(p sdk.Payload) sdk.Proposal {
	pr, err := sdk.Propose(p)
	if err != nil {
		panic(err)
	}
	return pr
}

func raw(typ, payload string) sdk.Proposal {
	return sdk.Proposal{Type: typ, Payload: json.RawMessage(payload)}
}

func note(key, value string) sdk.Proposal {
	return raw("plugin.data", `{"namespace":"n","key":"`+key+`","value":`+value+`}`)
}

// bad is a proposal that no commit takes.
var bad = raw("plugin.data", `{"namespace":"_jobs","key":"k","value":1}`)

// told is an outcome as lines, one for each fact.
func told(out Out) []string {
	var lines []string
	for _, f := range out.Facts {
		lines = append(lines, tell(f))
	}
	return lines
}

func tell(f Fact) string {
	switch m := f.Message.(type) {
	case *eventsv1.NarrativeAppended:
		line := fmt.Sprintf("story %s %q present %v", m.MessageId, m.Text, m.Presence)
		for _, s := range m.Segments {
			line += fmt.Sprintf(" [%s %s=%s %q]", s.Kind, s.Speaker, s.CharacterId, s.Text)
		}
		if m.Truncated {
			line += " truncated"
		}
		return line
	case *eventsv1.MessageAppended:
		return fmt.Sprintf("message %s %s %q", m.MessageId, m.Role, m.Text)
	case *eventsv1.InteractionRequested:
		return fmt.Sprintf("ask %s %s %s %s by %s %s", m.TurnId, m.InteractionId, m.Type, m.MessageId, m.RuntimeId, m.Block)
	case *eventsv1.UIRendered:
		return fmt.Sprintf("render %s %s", m.MessageId, m.Render)
	case *eventsv1.DomainEventEmitted:
		return fmt.Sprintf("emit %s %s by %s", m.Topic, m.Data, m.RuntimeId)
	case *eventsv1.PluginDataChanged:
		line := "data " + m.PluginId
		for _, c := range m.Changes {
			line += fmt.Sprintf(" %s/%s=%s", c.Namespace, c.Key, c.Value)
			if c.Removed {
				line += "removed"
			}
			line += fmt.Sprintf(" r%d", c.Revision)
		}
		return line
	case *eventsv1.DimensionsInitialized:
		line := "dimensions of " + m.PluginId
		for _, d := range m.Dimensions {
			line += fmt.Sprintf(" %s=%s v%d", d.Id, d.Value, d.Version)
		}
		return line
	case *eventsv1.DimensionsUpdated:
		line := "values"
		for _, v := range m.Values {
			line += fmt.Sprintf(" %s=%s v%d", v.Id, v.Value, v.Version)
		}
		if r := m.Receipt; r != nil {
			line += fmt.Sprintf(" %s %s turn %d of %s v%d read", r.Status, r.Source.ResultId, r.Source.TurnNumber, r.SourceTurnId, r.Version)
			for _, v := range r.ReadVersions {
				line += fmt.Sprintf(" %s@%d", v.Id, v.Version)
			}
			for _, d := range r.Definitions {
				line += " rule " + d.Definition.UpdateRule
			}
		}
		return line
	case *eventsv1.AssetGenerated:
		return fmt.Sprintf("asset %.4s %s %s %d %s by %s", m.Ref.Id, m.Modality, m.Ref.Mime, m.Ref.Size, m.Meta, m.RuntimeId)
	case *eventsv1.CharacterSchemaSet:
		return fmt.Sprintf("schema v%d %v %s", m.Version, m.Types, m.Attributes)
	case *eventsv1.CharacterUpserted:
		c := m.Record
		return fmt.Sprintf("character %s %s %q %s %q %s v%d", c.Id, c.Name, c.Aliases, c.Type, c.Description, c.Fields, c.Version)
	case *eventsv1.LorebookUpserted:
		line := "lore " + m.Owner.Kind + " " + m.Owner.PluginId
		for _, e := range m.Entries {
			line += fmt.Sprintf(" %s %v %q %s %s %d %v %s", e.Id, e.Keys, e.Content, e.Strategy, e.Position, e.InsertionOrder, e.Enabled, e.Extra)
		}
		return line
	case *eventsv1.SeatChanged:
		return fmt.Sprintf("seat %s %s %v plays %s", m.Seat.Id, m.Seat.Name, m.Seat.CharacterIds, m.Seat.CurrentCharacterId)
	case *eventsv1.SetupRuntimeChanged:
		return setupLine(m.Setup)
	case *eventsv1.PhaseAdvanced:
		return "phase " + m.Phase
	case *eventsv1.PlayerTurnCounted:
		return fmt.Sprintf("count %s %d", m.LogicalTurnId, m.CompletedPlayerTurns)
	case *eventsv1.TriggerLedgerUpdated:
		line := "ledger"
		for _, e := range m.Entries {
			line += fmt.Sprintf(" %s %d@%d", e.RuntimeId, e.Runs, e.LastCompletedTurns)
		}
		return line
	case *eventsv1.ExecutionCommitted:
		return strings.TrimSpace("committed " + m.ExecutionId + " " + m.Next)
	case *eventsv1.ExecutionFailed:
		line := fmt.Sprintf("failed %s %s: %s", m.ExecutionId, m.Reason, m.Error)
		for _, a := range m.SetupAttempts {
			line += fmt.Sprintf("; %s try %d %q", a.RuntimeId, a.Attempts, a.LastError)
			if a.Blocked {
				line += " blocked " + a.Reason
			}
		}
		if len(m.Draft) > 0 {
			line += "; draft " + string(m.Draft)
		}
		return line
	case *eventsv1.ExecutionAborted:
		return strings.TrimSpace(fmt.Sprintf("aborted %s %s %s", m.ExecutionId, m.Reason, m.Draft))
	}
	return fmt.Sprintf("%T", f.Message)
}

func setupLine(s *eventsv1.SetupRuntime) string {
	return strings.TrimSpace(fmt.Sprintf("setup %s %s try %d of %d %s %s %s", s.RuntimeId, s.Status, s.Attempts, s.MaxAttempts, s.Resolution, s.Reason, s.LastError))
}

// outcomesOf tells what became of each run.
func outcomesOf(out Out) []string {
	var list []*eventsv1.RuntimeOutcome
	switch m := out.Facts[len(out.Facts)-1].Message.(type) {
	case *eventsv1.ExecutionCommitted:
		list = m.Outcomes
	case *eventsv1.ExecutionFailed:
		list = m.Outcomes
	}
	var lines []string
	for _, o := range list {
		line := o.RuntimeId + " " + o.Status
		if o.Dropped {
			line += " dropped"
		}
		if len(o.LostReads) > 0 {
			line += fmt.Sprint(" lost ", o.LostReads)
		}
		if o.Error != "" {
			line += ": " + o.Error
		}
		lines = append(lines, line)
	}
	return lines
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.ReplaceAll(g, "\n", "\n     "), strings.ReplaceAll(w, "\n", "\n     "))
	}
}

func lines(l []string) string { return strings.Join(l, "\n") }

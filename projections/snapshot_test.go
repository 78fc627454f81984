package projections_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

var update = flag.Bool("update", false, "write the golden files anew")

// chronicle is a log in which every kind of event occurs, up to the middle of an execution.
func chronicle(t testing.TB) *story {
	return begin(t).
		in("", &eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: "npc-1", Name: "龙胆", Aliases: []string{"E\u0301lodie"}, Type: "npc", Fields: []byte(`{"b": 1, "a": "<>"}`), Version: 1}},
			&eventsv1.LorebookUpserted{Owner: &eventsv1.LorebookOwner{Kind: "world"}, Entries: []*eventsv1.LorebookEntry{{Id: "潮", Keys: []string{"潮"}, Content: "退潮", Strategy: "selective", Enabled: true, Extra: []byte(`{"title":"潮"}`)}}},
			&eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-1", Role: "player", Control: "human", CharacterIds: []string{"pc"}, CurrentCharacterId: "pc", Primary: true}}).
		in("e1", say("e1", "r1", "我去码头。"), started("e1"),
			&eventsv1.CharacterSchemaSet{Version: 1, Types: []string{"npc"}, Attributes: []byte(`[{"id":"hp"}]`)}, form("e1", "p", "谁"), told("e1", "雨停了。"),
			&eventsv1.UIRendered{MessageId: "m-e1-story", RuntimeId: "narrator", PluginId: "narrator", Render: []byte(`{"parts":[{"t":"🐉"}]}`)},
			&eventsv1.PluginDataChanged{PluginId: "p", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: "k", Value: []byte(`{"x":[1, 2]}`), Revision: 1}}},
			&eventsv1.DomainEventEmitted{Topic: "scene.set", Data: []byte(`{}`)},
			&eventsv1.SetupRuntimeChanged{Setup: &eventsv1.SetupRuntime{RuntimeId: "a", Status: "done", Resolution: "completed"}}, &eventsv1.PhaseAdvanced{Phase: "playing"},
			&eventsv1.PlayerTurnCounted{LogicalTurnId: "e1", CompletedPlayerTurns: 1}, &eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "narrator", Runs: 1, LastCompletedTurns: 1}}},
			committed("e1")).
		in("", queued("j1", "memory/extract"), &eventsv1.JobStarted{JobId: "j1", Node: "n", Activation: "a", Attempt: 1, ExecutionId: "x1"}).
		in("e2", answer("e2", "e1", "谁", `{"n":"陆青云"}`), started("e2"), failed("e2")).
		in("", &eventsv1.SessionPaused{}, &eventsv1.SessionResumed{}).
		in("e3", again("e3", "retry_turn"), started("e3"), told("e3", "还没有。"))
}

// The meaning of the folds is what this state looks like. A change here changes what stored snapshots and read models hold:
// give Fingerprint a new name and run the test with -update.
func TestFingerprintNamesTheMeaning(t *testing.T) {
	body := encode(t, chronicle(t).state())
	body = append(body[:len(body)-4:len(body)-4], '\n') // without the checksum
	const file = "testdata/meaning.golden"
	if *update {
		if err := os.WriteFile(file, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(body, want) {
		return
	}
	if bytes.Contains(want, []byte(`"fingerprint":"`+projections.Fingerprint+`"`)) {
		t.Errorf("the folds have another meaning under the same Fingerprint %q:\n got %s\nwant %s", projections.Fingerprint, body, want)
	} else {
		t.Errorf("Fingerprint is new; run with -update")
	}
}

func TestDamagedSnapshots(t *testing.T) {
	body := encode(t, chronicle(t).state())
	if _, err := projections.DecodeState(body); err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"nothing": nil, "cut off": body[:len(body)-1], "cut short": body[:3], "longer": append(bytes.Clone(body), 'x'), "not ours": []byte(`{"fingerprint":"` + projections.Fingerprint + `"}`)}
	for i := 0; i < len(body); i += 13 { // a single changed bit anywhere
		b := bytes.Clone(body)
		b[i] ^= 1
		damaged["bit in byte "+string(rune('0'+i%10))+" of "+string(body[max(0, i-6):i])] = b
	}
	for name, b := range damaged {
		if s, err := projections.DecodeState(b); !errors.Is(err, projections.ErrStaleSnapshot) || s.Version != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
